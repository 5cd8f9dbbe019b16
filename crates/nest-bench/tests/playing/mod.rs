//! What the tests of the driver share: servers, requests, a load.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use nest_bench::{Crowd, Expect, Load, Measured, Pace, Request, Talk, Trouble, drive};

/// Runs `serve` for each connection, and returns the address.
pub fn server(serve: impl Fn(TcpStream) + Send + Clone + 'static) -> SocketAddrV4 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
        panic!("not IPv4")
    };
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            std::thread::spawn(move || serve(client));
        }
    });
    address
}

pub fn request(send: &str, expect: &str) -> Request {
    Request {
        send: send.into(),
        expect: Expect::exact(expect.as_bytes()),
        ..Request::default()
    }
}

pub fn load(to: SocketAddrV4, talks: &[Talk]) -> Load<'_> {
    Load {
        to,
        tls: None,
        talks,
        clients: 4,
        idle: 0,
        crowd: Crowd::default(),
        sources: 64,
        keep: false,
        pipeline: 1,
        cut: false,
        trial: false,
        lenient: false,
        pace: Pace::Closed,
        warm: Duration::from_millis(20),
        measured: Duration::from_millis(200),
        timeout: Duration::from_secs(5),
        seed: 1,
    }
}

/// Measures again, for a longer time, if nothing was answered: on a busy machine a short time may pass
/// without an answer.
pub fn run(load: &Load) -> Result<Measured, Trouble> {
    let begun = Instant::now();
    let mut load = load.clone();
    loop {
        let result = drive(&load, &mut |_| Ok(()));
        assert!(begun.elapsed() < Duration::from_secs(60), "it hangs");
        let nothing = !load.lenient && result.as_ref().is_ok_and(|m| m.requests == 0);
        if !nothing || load.measured > Duration::from_secs(3) {
            return result;
        }
        load.measured *= 3;
    }
}
