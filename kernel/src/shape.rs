//! The values that the loader and the BPF programs exchange, as bytes: the layout of `bpf/types.h`.
//!
//! Must not know: what is done with them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bytes of `Host` in a name, and of the path.
pub const HOST: usize = 40;
const PATH: usize = 88;
/// A name.
pub const NAME: usize = HOST + PATH;
/// A block of an answer, and the most blocks of one.
pub const BLOCK: usize = 1024;
/// See `BLOCK`.
pub const BLOCKS: usize = 32;
/// An entry.
pub const ENTRY: usize = 56 + 4 * BLOCKS;
/// What a program reads and writes at once; the 304 of an entry begins at a multiple of it.
pub const PIECE: usize = 64;
/// A record of the access log.
const RECORD: usize = 48;
/// The head of an answer is at most so long: the date is written into its first bytes.
pub const HEAD: usize = 1024;

/// A name as the programs look for it.
pub type Name = [u8; NAME];

/// How a request ends its connection; it is the last byte of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closing {
    /// HTTP/1.1 with `Connection: close`.
    Asked,
    /// HTTP/1.0 without `Connection: keep-alive`.
    Old,
}

/// How the requests of this name end their connection, if they do.
pub fn closing(name: &Name) -> Option<Closing> {
    match name[NAME - 1] {
        1 => Some(Closing::Asked),
        2 => Some(Closing::Old),
        _ => None,
    }
}

/// `Host` and path of a name; nothing if they are no text.
pub fn parts(name: &[u8]) -> Option<(&str, &str)> {
    let trim = |bytes: &'_ [u8]| bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let (host, path) = (name.get(..HOST)?, name.get(HOST..NAME - 1)?);
    let host = std::str::from_utf8(&host[..trim(host)]).ok()?;
    let path = std::str::from_utf8(&path[..trim(path)]).ok()?;
    Some((host, path))
}

/// A question of the programs: the name, and whether its 304 is asked for as well.
pub fn question(bytes: &[u8]) -> Option<(Name, bool)> {
    let name = Name::try_from(bytes.get(..NAME)?).ok()?;
    Some((name, number(bytes, NAME)? != 0))
}

/// The conditional requests that a server answers with 304, as bits of `Conditions::forms`.
pub mod form {
    /// The server was asked about the others.
    pub const ASKED: u32 = 1;
    /// `If-None-Match: "x"`
    pub const STRONG: u32 = 2;
    /// `If-None-Match: W/"x"`
    pub const WEAK: u32 = 4;
    /// `If-None-Match` with several tags.
    pub const LIST: u32 = 8;
    /// `If-None-Match: *`
    pub const ANY: u32 = 16;
    /// `If-Modified-Since` with the date in `Last-Modified`.
    pub const SINCE: u32 = 32;
    /// The same date beside `If-None-Match`.
    pub const BESIDE: u32 = 64;
}

/// How conditional requests for an answer are answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// See `form`; 0: the server was not asked.
    pub forms: u32,
    /// Where the `ETag` is in the head of the answer, and its length, from quote to quote.
    pub tag: (u32, u32),
    /// Where the value of `Last-Modified` is in the head.
    pub since: u32,
    /// Where the 304 is, behind the answer.
    pub start: u32,
    /// Its bytes.
    pub size: u32,
    /// Where the date is in it; 0: nowhere.
    pub date: u32,
}

/// A prepared answer, apart from its bytes.
#[derive(Debug)]
pub struct Entry {
    /// Differs each time that the index is used again.
    pub generation: u32,
    /// Bytes of head and body.
    pub size: u32,
    /// Bytes of the head.
    pub head: u32,
    /// Where the date is in it; 0: nowhere.
    pub date: u32,
    /// How conditional requests are answered.
    pub conditions: Conditions,
    /// Where the bytes are.
    pub blocks: Vec<u32>,
}

impl Entry {
    /// The bytes in the map.
    pub fn bytes(&self) -> [u8; ENTRY] {
        let mut out = [0; ENTRY];
        let mut put = |at: usize, value: u32| out[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(0, self.generation);
        put(4, self.size);
        put(8, self.head);
        put(12, self.date);
        let conditions = &self.conditions;
        put(24, conditions.forms);
        put(28, conditions.tag.0);
        put(32, conditions.tag.1);
        put(36, conditions.since);
        put(40, conditions.start);
        put(44, conditions.size);
        put(48, conditions.date);
        for (i, block) in self.blocks.iter().take(BLOCKS).enumerate() {
            put(56 + 4 * i, *block);
        }
        out
    }
}

/// When an entry was last sent, by the clock of the programs.
pub fn used(entry: &[u8; ENTRY]) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&entry[16..24]);
    u64::from_ne_bytes(bytes)
}

/// `owed` of a connection: how many promised answers are not sent.
pub fn owed(connection: &[u8; CONNECTION]) -> u32 {
    number(connection, 16).unwrap_or(0)
}

/// A connection.
pub const CONNECTION: usize = 80;

/// The two ends of an answer without a socket, and what is known of it.
pub const FLOW: usize = 36;
/// See `FLOW`.
pub const SINGLE: usize = 64;
/// A client that has said nothing for so long has gone, in nanoseconds. The kernel asks after a second.
const GONE: u64 = 3_000_000_000;

/// Whether the client of an answer without a socket may lack a part of it. `now`: by the clock of the programs.
pub fn lacks(single: &[u8; SINGLE], now: u64) -> bool {
    let mut sent = [0; 8];
    sent.copy_from_slice(&single[..8]);
    let freed = number(single, 52) != Some(0);
    !freed && now.saturating_sub(u64::from_ne_bytes(sent)) < GONE
}

/// One answer in the access log.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The client.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// Which entry was sent.
    pub index: u32,
    /// Its generation.
    pub generation: u32,
    /// The request was HEAD.
    pub head: bool,
    /// The answer is 304.
    pub unchanged: bool,
    /// How many bytes were sent.
    pub bytes: u32,
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(four))
}

impl Record {
    /// Reads a record; nothing if it is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < RECORD {
            return None;
        }
        let address: [u8; 16] = bytes[8..24].try_into().ok()?;
        let four: [u8; 4] = bytes[8..12].try_into().ok()?;
        let address = if number(bytes, 24)? == 2 {
            IpAddr::V4(Ipv4Addr::from(four))
        } else {
            IpAddr::V6(Ipv6Addr::from(address)).to_canonical()
        };
        Some(Record {
            address,
            port: u16::try_from(number(bytes, 28)?).ok()?,
            index: number(bytes, 32)?,
            generation: number(bytes, 36)?,
            head: number(bytes, 40)? & 1 != 0,
            unchanged: number(bytes, 40)? & 2 != 0,
            bytes: number(bytes, 44)?,
        })
    }

    /// The client with its port, as servers write it.
    pub fn peer(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }

    /// The line of the request. `name`: of what was asked for, if it is still known.
    pub fn request(&self, name: Option<&Name>) -> String {
        let path = name
            .and_then(|name| parts(name))
            .map_or("-", |(_, path)| path);
        let method = if self.head { "HEAD" } else { "GET" };
        let old = name.and_then(closing) == Some(Closing::Old);
        let version = if old { "1.0" } else { "1.1" };
        format!("{method} {path} HTTP/{version}")
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        if self.unchanged { 304 } else { 200 }
    }
}

/// What the programs count, in their order: the name in metrics, what it is.
pub const COUNTS: [(&str, &str); 15] = [
    ("connections", "Connections of the port"),
    ("answers", "Requests that the kernel answered"),
    ("answer_bytes", "Bytes of these answers"),
    ("unchanged", "Answers among them that say 304 Not Modified"),
    (
        "passed",
        "Requests that the server got and whose answer was followed",
    ),
    ("missed", "Requests among them for names that are not kept"),
    (
        "fields",
        "Requests among them with a field that may change the answer",
    ),
    (
        "renewed",
        "Requests among them that only renew the server's idle timer",
    ),
    (
        "full",
        "Requests among them for which the send buffer had no space",
    ),
    (
        "handed_over",
        "Connections that were handed over to the server for good",
    ),
    (
        "held",
        "Ends of streams that waited until an answer was sent",
    ),
    ("trimmed", "Segments whose repeated bytes were removed"),
    (
        "broken",
        "Connections that ended because an answer could not be sent whole",
    ),
    ("unlogged", "Records of the access log that were lost"),
    (
        "singles",
        "Answers among them that ended their connection before the server had it",
    ),
];

/// The count of this name.
pub fn count(counts: &[u64], name: &str) -> u64 {
    let at = COUNTS.iter().position(|(count, _)| *count == name);
    at.and_then(|at| counts.get(at)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{
        Closing, Conditions, ENTRY, Entry, GONE, HOST, NAME, Record, SINGLE, closing, lacks, parts,
        question, used,
    };

    #[test]
    fn an_entry_has_the_layout_of_the_programs() {
        let entry = Entry {
            generation: 1,
            size: 2,
            head: 3,
            date: 4,
            conditions: Conditions {
                forms: 7,
                tag: (8, 9),
                since: 10,
                start: 11,
                size: 12,
                date: 13,
            },
            blocks: vec![5, 6],
        };
        let bytes = entry.bytes();
        assert_eq!(bytes.len(), ENTRY);
        let words: Vec<u32> = bytes
            .chunks(4)
            .map(|c| u32::from_ne_bytes(c.try_into().unwrap()))
            .collect();
        assert_eq!(
            words[..16],
            [1, 2, 3, 4, 0, 0, 7, 8, 9, 10, 11, 12, 13, 0, 5, 6]
        );
        assert_eq!(used(&bytes), 0);
    }

    #[test]
    fn a_record_is_read() {
        let mut bytes = [0u8; 48];
        bytes[8..12].copy_from_slice(&[10, 0, 0, 1]);
        bytes[24..28].copy_from_slice(&2u32.to_ne_bytes());
        bytes[28..32].copy_from_slice(&4711u32.to_ne_bytes());
        bytes[32..36].copy_from_slice(&7u32.to_ne_bytes());
        bytes[44..48].copy_from_slice(&500u32.to_ne_bytes());
        let record = Record::read(&bytes).unwrap();
        assert_eq!(record.peer().to_string(), "10.0.0.1:4711");
        assert_eq!((record.index, record.bytes), (7, 500));
        assert_eq!((record.head, record.unchanged), (false, false));
        assert_eq!(record.request(None), "GET - HTTP/1.1");
        assert_eq!(record.status(), 200);
        bytes[40] = 3;
        let record = Record::read(&bytes).unwrap();
        assert_eq!((record.head, record.unchanged), (true, true));
        let mut name = [0u8; NAME];
        name[HOST..HOST + 2].copy_from_slice(b"/a");
        name[NAME - 1] = 2;
        assert_eq!(record.request(Some(&name)), "HEAD /a HTTP/1.0");
        assert_eq!(record.status(), 304);
        assert_eq!(Record::read(&bytes[..40]), None);
    }

    #[test]
    fn a_client_may_lack_a_part_until_it_has_all_or_is_gone() {
        let mut single = [0u8; SINGLE];
        single[..8].copy_from_slice(&1000u64.to_ne_bytes());
        assert!(lacks(&single, 999) && lacks(&single, 999 + GONE) && !lacks(&single, 1000 + GONE));
        single[52] = 1;
        assert!(!lacks(&single, 1000));
    }

    #[test]
    fn a_name_has_two_parts() {
        let mut name = [0u8; NAME];
        name[..4].copy_from_slice(b"host");
        name[40..42].copy_from_slice(b"/a");
        assert_eq!(parts(&name), Some(("host", "/a")));
        assert_eq!(closing(&name), None);
        for (byte, kind) in [(1, Closing::Asked), (2, Closing::Old)] {
            let mut last = name;
            last[NAME - 1] = byte;
            assert_eq!(parts(&last), Some(("host", "/a")));
            assert_eq!(closing(&last), Some(kind));
        }
        let mut asked = [0u8; NAME + 4];
        asked[..NAME].copy_from_slice(&name);
        assert_eq!(question(&asked), Some((name, false)));
        asked[NAME] = 1;
        assert_eq!(question(&asked), Some((name, true)));
        assert_eq!(question(&name), None);
    }
}
