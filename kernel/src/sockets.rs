//! The TCP sockets of this network namespace: those that listen on a port, and that of a connection.
//!
//! Must not know: why they are asked for.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state of a listening socket in the tables.
const LISTEN: &str = "0A";

/// A socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listener {
    pub address: SocketAddr,
    pub inode: u64,
}

/// The sockets that listen on a port, IPv4's first. A table that cannot be read has none.
pub fn listeners(port: u16) -> Vec<Listener> {
    tables().flat_map(|text| listed(&text, port)).collect()
}

/// The inode of the socket that has these ports at its own and at the other end.
pub fn connection(own: u16, other: u16) -> Option<u64> {
    let port = |field: &str| u16::from_str_radix(field.rsplit_once(':')?.1, 16).ok();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let same = port(fields.get(1)?)? == own && port(fields.get(2)?)? == other;
        let inode = fields.get(9)?.parse().ok()?;
        (same && inode != 0).then_some(inode)
    };
    tables().find_map(|text| text.lines().skip(1).find_map(line))
}

fn tables() -> impl Iterator<Item = String> {
    let paths = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    paths
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok())
}

/// Those of a table.
fn listed(table: &str, port: u16) -> Vec<Listener> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, at) = fields.get(1)?.rsplit_once(':')?;
        let same = u16::from_str_radix(at, 16).ok()? == port && fields.get(3) == Some(&LISTEN);
        let ip = same.then(|| parse(address))??;
        Some(Listener {
            address: SocketAddr::new(ip, port),
            inode: fields.get(9)?.parse().ok()?,
        })
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// An address as the kernel prints it: words of 32 bits in this machine's order, each in eight digits.
fn parse(text: &str) -> Option<IpAddr> {
    let mut bytes = Vec::new();
    for at in (0..text.len()).step_by(8) {
        let word = u32::from_str_radix(text.get(at..at + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    if let Ok(four) = <[u8; 4]>::try_from(bytes.as_slice()) {
        return Some(Ipv4Addr::from(four).into());
    }
    <[u8; 16]>::try_from(bytes.as_slice())
        .ok()
        .map(|all| Ipv6Addr::from(all).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_is_found_at_its_own_address() {
        for ip in ["127.0.0.3", "::1"] {
            let listener = TcpListener::bind((ip, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let found = listeners(address.port());
            assert!(found.iter().any(|l| l.address == address && l.inode > 0));
        }
    }

    #[test]
    fn lines_of_other_states_and_lines_that_are_none_are_passed_over() {
        let table = "head\n 0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 7\n 1: 0200007F:1F90 0100007F:9000 01 0\nx\n 2: zz:1F90 0 0A 0 0 0 0 0 7\n";
        assert_eq!(listed(table, 8080).len(), 1);
        assert!(listed(table, 8081).is_empty());
    }
}
