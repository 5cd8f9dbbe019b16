//! Files as servers write them, and files that are none.
#![allow(clippy::unwrap_used)]

use nest_trace::{Filter, Kind, Role, Trace, check, line, perfetto};
use serde_json::Value;

const RECORDS: u64 = 5;
const STRIDE: usize = 4096;
const HEADER: usize = 4096;

const START: u8 = 1;
const ACCEPT: u8 = 7;
const MATCH: u8 = 9;
const BEGIN: u8 = 11;
const END: u8 = 12;
const WAIT: u8 = 13;
const RESUME: u8 = 14;
const OVER: u8 = 19;
const CLOSE: u8 = 20;
const NOTHING: u16 = 0xffff;

/// A file of a server with one worker, and what its rings get.
struct File {
    bytes: Vec<u8>,
    next: Vec<u64>,
    time: u64,
}

impl File {
    fn new() -> File {
        File::with_threads(1)
    }

    fn with_threads(threads: usize) -> File {
        let names = "server s\nfile s.nest\nmodel event\ntool nest 1\nreason open\nreason closed\n\
                     state START\nstate DEFAULT\nrule hi\ntimer line 9\n";
        let mut bytes = b"nestring".to_vec();
        for number in [1, HEADER, 1 + threads, RECORDS as usize, STRIDE, 32] {
            bytes.extend(u32::try_from(number).unwrap().to_le_bytes());
        }
        bytes.extend(1000u64.to_le_bytes());
        bytes.extend(1_700_000_000_000_000_000u64.to_le_bytes());
        for number in [1, threads, 64, names.len()] {
            bytes.extend(u32::try_from(number).unwrap().to_le_bytes());
        }
        bytes.extend(names.bytes());
        bytes.resize(HEADER + (1 + threads) * STRIDE, 0);
        File {
            bytes,
            next: vec![0; 1 + threads],
            time: 1000,
        }
    }

    fn add(&mut self, ring: usize, kind: u8, role: u8, what: u16, connection: u64, value: u64) {
        let n = self.next[ring];
        let at = HEADER + ring * STRIDE;
        let record = at + 64 + usize::try_from(n % RECORDS).unwrap() * 32;
        let mut bytes = u32::try_from(n + 1).unwrap().to_le_bytes().to_vec();
        bytes.extend([kind, role]);
        bytes.extend(what.to_le_bytes());
        self.time += 10;
        for number in [self.time, connection, value] {
            bytes.extend(number.to_le_bytes());
        }
        self.bytes[record..record + 32].copy_from_slice(&bytes);
        self.next[ring] = n + 1;
        self.bytes[at..at + 8].copy_from_slice(&(n + 1).to_le_bytes());
    }

    /// Of the connection 7 in the worker.
    fn seven(&mut self, kind: u8) {
        let (role, what) = match kind {
            BEGIN => (1, 0),
            MATCH => (0, 0),
            OVER => (0, 1),
            _ => (0, NOTHING),
        };
        self.add(1, kind, role, what, 7, 3);
    }

    fn read(&self) -> Trace {
        Trace::read(&self.bytes).unwrap()
    }
}

fn conversation(kinds: &[u8]) -> File {
    let mut file = File::new();
    for kind in kinds {
        file.seven(*kind);
    }
    file
}

#[test]
fn events_of_all_rings_are_in_the_order_of_time() {
    let mut file = File::new();
    file.add(0, START, 0, NOTHING, 0, 100);
    file.add(1, START, 0, NOTHING, 0, 101);
    file.seven(ACCEPT);
    file.seven(MATCH);
    file.seven(BEGIN);
    let trace = file.read();
    assert_eq!(trace.server, "s");
    assert_eq!(trace.lost, [0, 0]);
    let lines: Vec<String> = trace.events.iter().map(|e| line(&trace, e)).collect();
    assert_eq!(
        lines,
        [
            "    0.000000010 supervisor  -    start   process 100",
            "    0.000000020 worker 0    -    start   process 101",
            "    0.000000030 worker 0    #7   accept  descriptor 3",
            "    0.000000040 worker 0    #7   match   hi, 3 bytes",
            "    0.000000050 worker 0    #7   begin   hi",
        ]
    );
    assert_eq!(trace.events[4].role, Some(Role::Rule));
}

#[test]
fn a_ring_keeps_the_last_events() {
    let mut file = conversation(&[ACCEPT, MATCH, BEGIN, WAIT, RESUME, END, MATCH]);
    let trace = file.read();
    assert_eq!(trace.lost, [0, 2]);
    assert_eq!(trace.events[0].kind, Kind::Begin);
    // A record whose writer was killed meanwhile is missing, the others are there.
    file.bytes[HEADER + STRIDE + 64 + 3 * 32] = 0;
    let torn = file.read();
    assert_eq!(torn.events.len(), trace.events.len() - 1);
    assert_eq!(torn.lost, [0, 3]);
}

#[test]
fn filters_combine() {
    let mut file = conversation(&[ACCEPT, BEGIN, END]);
    file.add(1, ACCEPT, 0, NOTHING, 8, 3);
    file.add(0, START, 0, NOTHING, 0, 3);
    let trace = file.read();
    let count = |filter: Filter| filter.of(&trace).count();
    assert_eq!(count(Filter::default()), 5);
    let seven = Filter {
        connections: vec![7],
        ..Filter::default()
    };
    assert_eq!(count(seven.clone()), 3);
    let kinds = vec![Kind::Accept];
    assert_eq!(count(Filter { kinds, ..seven }), 1);
    for (worker, events) in [
        ((0, None), 4),
        ((0, Some(0)), 4),
        ((0, Some(1)), 0),
        ((1, None), 0),
    ] {
        let workers = vec![worker];
        assert_eq!(
            count(Filter {
                workers,
                ..Filter::default()
            }),
            events
        );
    }
    let (from, to) = (Some(20), Some(30));
    assert_eq!(
        count(Filter {
            from,
            to,
            ..Filter::default()
        }),
        2
    );
    let last = Some(10);
    assert_eq!(
        count(Filter {
            last,
            ..Filter::default()
        }),
        2
    );
}

#[test]
fn the_oracle_finds_what_cannot_have_happened() {
    let found = |kinds: &[u8]| check(&conversation(kinds).read());
    assert_eq!(found(&[ACCEPT, MATCH, BEGIN, WAIT, RESUME]).len(), 0);
    assert_eq!(found(&[ACCEPT, MATCH, BEGIN, END, OVER]).len(), 0);
    assert_eq!(found(&[ACCEPT, OVER, CLOSE]).len(), 0);
    for (kinds, what) in [
        (&[ACCEPT, END][..], "no action runs"),
        (&[ACCEPT, MATCH, END], "has not begun"),
        (&[ACCEPT, BEGIN, BEGIN], "an action runs"),
        (&[ACCEPT, BEGIN, WAIT, END], "the action waits"),
        (&[ACCEPT, OVER, BEGIN], "the conversation has ended"),
        (&[ACCEPT, CLOSE], "closed before its end"),
        (&[BEGIN], "no such connection"),
        (&[ACCEPT, ACCEPT], "exists already"),
        (&[ACCEPT, OVER, CLOSE, BEGIN], "no such connection"),
    ] {
        let found = found(kinds);
        assert!(found.len() == 1 && found[0].contains(what), "{found:?}");
    }
    // The first events were overwritten: nothing is known of the connection before its next action.
    let begins = [ACCEPT, MATCH, BEGIN, END, MATCH, BEGIN, END, MATCH, BEGIN];
    assert_eq!(check(&conversation(&begins).read()).len(), 0);
}

#[test]
fn a_server_that_ended_in_order_has_closed_every_connection() {
    let mut file = conversation(&[ACCEPT]);
    file.add(0, 6, 0, NOTHING, 0, 0);
    let found = check(&file.read());
    assert_eq!(found, ["connection #7 is not closed at the end: Rest"]);
}

/// The rings of a file are copied one behind the other while its server runs: those of the threads have
/// events whose begin was recorded behind the end of the loop's copy.
#[test]
fn what_threads_did_behind_the_end_of_the_loop_is_passed_over() {
    let running = || {
        let mut file = File::with_threads(2);
        for kind in [ACCEPT, BEGIN, WAIT] {
            file.seven(kind);
        }
        for kind in [RESUME, WAIT] {
            file.add(2, kind, 0, NOTHING, 7, 0);
        }
        file.seven(RESUME);
        // Missing in the loop's ring: END, MATCH, BEGIN, WAIT; and all of the connection 8 so far.
        for (kind, connection) in [(RESUME, 7), (RESUME, 8), (WAIT, 8)] {
            file.add(2, kind, 0, NOTHING, connection, 0);
        }
        file
    };
    let mut file = running();
    assert_eq!(check(&file.read()), Vec::<String>::new());
    file.add(0, 6, 0, NOTHING, 0, 0); // the server has ended, so nothing is missing
    assert_eq!(check(&file.read()).len(), 4);
    let mut file = running();
    file.seven(END); // in the loop's ring, so what came before it is there
    assert_eq!(check(&file.read()).len(), 3);
}

#[test]
fn what_came_before_a_gap_is_passed_over() {
    let mut file = conversation(&[ACCEPT, BEGIN, WAIT, RESUME, END]);
    file.bytes[HEADER + STRIDE + 64 + 2 * 32] = 0;
    let trace = file.read();
    assert_eq!((trace.lost[1], trace.since[1]), (1, trace.events[2].time));
    assert_eq!(check(&trace).len(), 0);
}

#[test]
fn slices_of_perfetto_pair_up_whatever_is_missing() {
    let kinds = [
        ACCEPT, MATCH, BEGIN, WAIT, RESUME, END, MATCH, BEGIN, END, OVER, CLOSE,
    ];
    for from in 0..kinds.len() {
        for to in from..kinds.len() {
            let trace = conversation(&kinds[from..to]).read();
            let text = perfetto(&[(&trace, trace.events.clone())]);
            let json: Value = serde_json::from_str(&text).unwrap();
            let mut open = [0i32; 2];
            for event in json["traceEvents"].as_array().unwrap() {
                match event["ph"].as_str().unwrap() {
                    "B" => open[0] += 1,
                    "E" => open[0] -= 1,
                    "b" => open[1] += 1,
                    "e" => open[1] -= 1,
                    _ => {}
                }
                assert!((0..2).contains(&open[0]) && open[1] >= 0, "{text}");
            }
            assert_eq!(open, [0, 0], "{text}");
        }
    }
}

fn refused(bytes: &[u8], what: &str) {
    let error = Trace::read(bytes).unwrap_err();
    assert!(error.contains(what) && !error.contains('\n'), "{error}");
}

#[test]
fn what_is_no_trace_is_refused_by_one_line() {
    let file = conversation(&[ACCEPT, MATCH, BEGIN]);
    refused(b"", "its header was never written");
    refused(&[0; 4096], "its header was never written");
    refused(b"nest", "its header was never written");
    refused(b"#!/bin/sh\n", "not the trace of a server");
    for n in 8..file.bytes.len() {
        refused(&file.bytes[..n], "is truncated: it");
    }
    let with = |at: usize, byte: u8| {
        let mut bytes = file.bytes.clone();
        bytes[at] = byte;
        bytes
    };
    refused(&with(8, 9), "has version 9 of the format");
    refused(&with(16, 9), "do not fit together");
    refused(&with(28, 9), "do not fit together");
    refused(&with(60, 255), "its names are not in their form");
    refused(&with(64, 0xff), "its names are no text");
    let ring = HEADER + STRIDE + 64;
    refused(&with(ring + 4, 99), "event 1 of worker 0 has no meaning");
    refused(
        &with(ring + 32 + 6, 5),
        "event 2 of worker 0 has no meaning",
    );
    refused(&with(ring + 15, 0xff), "event 1 of worker 0 has no meaning");
    refused(&with(ring + 32 + 9, 0xff), "event 3 of worker 0 is earlier");
}

/// Whatever bytes a file has, reading it ends, by a trace or by one line.
#[test]
fn damaged_files_never_end_the_reader() {
    let mut file = conversation(&[ACCEPT, MATCH, BEGIN, END, OVER, CLOSE]);
    file.add(0, START, 0, NOTHING, 0, 3);
    let mut random = 0x2545_f491_4f6c_dd1du64;
    let mut next = |most: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % most as u64).unwrap()
    };
    let spots = [
        0..300,
        HEADER..HEADER + 64 + 160,
        HEADER + STRIDE..HEADER + STRIDE + 224,
    ];
    let mut read = 0;
    for _ in 0..20_000 {
        let mut bytes = file.bytes.clone();
        for _ in 0..=next(3) {
            let spot = &spots[next(3)];
            bytes[spot.start + next(spot.len())] = u8::try_from(next(256)).unwrap();
        }
        match Trace::read(&bytes) {
            Err(error) => assert!(!error.contains('\n')),
            Ok(trace) => {
                read += 1;
                let _ = check(&trace);
                let _ = perfetto(&[(&trace, trace.events.clone())]);
            }
        }
    }
    assert!(read > 1000, "{read}");
}
