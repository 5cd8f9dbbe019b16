//! The driver over TLS against servers of this file, which serve, refuse, cut the handshake, hang or
//! do not encrypt.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

mod playing;
#[path = "playing/tls.rs"]
mod serving;

use nest_bench::{Crowd, Kind, Load, Pace, Talk, Tls};
use playing::{request, run};
use rustls::{ServerConnection, StreamOwned};
use serving::{TRUSTED, config};

/// Another certificate than the one that clients trust.
const OTHER: &[u8] = include_bytes!("certificates/other.pem");
const LIMIT: Duration = Duration::from_secs(8);

type Encrypted = StreamOwned<ServerConnection, TcpStream>;

/// The same behind TLS with this certificate and these versions.
fn server(
    pem: &'static [u8],
    versions: &'static [&'static rustls::SupportedProtocolVersion],
    serve: impl Fn(Encrypted) + Send + Clone + 'static,
) -> SocketAddrV4 {
    let config = config(pem, versions);
    playing::server(move |client| {
        client.set_nodelay(true).unwrap();
        let connection = ServerConnection::new(config.clone()).unwrap();
        serve(StreamOwned::new(connection, client));
    })
}

/// Calls `answer` for each line, until it says that the connection ends.
fn lines(client: &mut Encrypted, answer: impl Fn(&[u8], &mut Encrypted) -> bool) {
    let (mut buffer, mut line) = ([0; 256], Vec::new());
    while let Ok(n @ 1..) = client.read(&mut buffer) {
        for byte in &buffer[..n] {
            line.push(*byte);
            if *byte == b'\n' {
                if !answer(&line, client) {
                    return;
                }
                line.clear();
            }
        }
    }
}

/// Answers each line with itself, and "quit" with the end.
fn echo(mut client: Encrypted) {
    lines(&mut client, |line, to| {
        line != b"quit\n" && to.write_all(line).is_ok()
    });
    client.conn.send_close_notify();
    let _ = client.flush();
}

/// One that may be repeated, one whose answers do not fit in one record, and one that the server ends.
fn talks() -> Vec<Talk> {
    let long = format!("{}\n", "x".repeat(50_000));
    let requests = vec![request("one\n", "one\n"), request(&long, &long)];
    let mut again = Talk::of(requests, false);
    again.again = Some(0);
    let ends = vec![request("two\n", "two\n"), request("quit\n", "")];
    vec![again, Talk::of(ends, true)]
}

fn tls(resumes: bool) -> Tls {
    Tls::trusting(TRUSTED, resumes).unwrap()
}

fn load<'a>(to: SocketAddrV4, talks: &'a [Talk], tls: &'a Tls) -> Load<'a> {
    Load {
        tls: Some(tls),
        timeout: Duration::from_secs(20),
        ..playing::load(to, talks)
    }
}

fn fails(load: &Load) -> String {
    let load = Load {
        timeout: LIMIT,
        ..load.clone()
    };
    run(&load).err().unwrap().to_string()
}

const ONLY_12: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS12];

#[test]
fn encrypted_answers_are_counted() {
    let talks = talks();
    let tls = tls(false);
    for versions in [rustls::ALL_VERSIONS, ONLY_12] {
        let to = server(TRUSTED, versions, echo);
        for (keep, pipeline, cut, rate) in [
            (false, 1, false, false),
            (true, 1, false, false),
            (true, 8, false, false),
            (false, 1, true, false),
            (false, 1, false, true),
        ] {
            let load = Load {
                keep,
                pipeline,
                cut,
                idle: 3,
                pace: if rate {
                    Pace::Rate(200.0)
                } else {
                    Pace::Closed
                },
                ..load(to, &talks, &tls)
            };
            let measured = run(&load).unwrap_or_else(|e| panic!("{keep} {pipeline} {cut} {e}"));
            assert!(measured.requests > 0, "{keep} {pipeline} {cut}");
            assert_eq!(measured.latency.len(), measured.requests);
            let found = measured.encrypted;
            assert_eq!(found.resumed, 0);
            let version = if versions.len() == 1 {
                "TLS 1.2, "
            } else {
                "TLS 1.3, "
            };
            assert!(
                found.handshakes == 0 || found.suite.starts_with(version),
                "{found:?}"
            );
        }
    }
}

/// Each connection has a handshake, and a session of this load is resumed if that is wanted.
#[test]
fn handshakes_are_counted() {
    let talks = &talks()[1..];
    for versions in [rustls::ALL_VERSIONS, ONLY_12] {
        let to = server(TRUSTED, versions, echo);
        let mut load = load(to, talks, Box::leak(Box::new(tls(true))));
        load.clients = 1;
        // The first connection has nothing to resume; it is a measured one.
        load.warm = Duration::ZERO;
        // However busy the machine is, at some time there is a second one.
        let limit = Instant::now() + Duration::from_secs(50);
        loop {
            let measured = run(&load).unwrap();
            let found = measured.encrypted;
            assert!(
                measured.connections.abs_diff(found.handshakes) <= 1,
                "{found:?}"
            );
            assert!(found.resumed < found.handshakes.max(1), "{found:?}");
            if found.resumed > 0 {
                break;
            }
            assert!(Instant::now() < limit, "{found:?}");
        }
    }
}

/// A handshake is part of the first request of its connection.
#[test]
fn a_slow_handshake_counts_in_the_latency() {
    let talks = &talks()[1..];
    let tls = tls(false);
    let slow = Duration::from_millis(30);
    let to = server(TRUSTED, rustls::ALL_VERSIONS, move |mut client| {
        std::thread::sleep(slow);
        if client.conn.complete_io(&mut client.sock).is_ok() {
            echo(client);
        }
    });
    let measured = run(&Load {
        measured: Duration::from_secs(1),
        ..load(to, talks, &tls)
    });
    let measured = measured.unwrap();
    // Half of the requests are the first of their connections.
    let most = measured.latency.value_at_quantile(0.9);
    assert!(u128::from(most) >= slow.as_nanos() * 9 / 10, "{most}");
}

/// A server may end its half of the stream by a `close_notify` and leave the connection open.
#[test]
fn the_end_is_a_close_notify() {
    let talks = &talks()[1..];
    let tls = tls(false);
    let impolite = Arc::new(AtomicUsize::new(0));
    let count = impolite.clone();
    let half = server(TRUSTED, rustls::ALL_VERSIONS, move |mut client| {
        let quits = std::cell::Cell::new(false);
        lines(&mut client, |line, to| {
            quits.set(line == b"quit\n");
            line != b"quit\n" && to.write_all(line).is_ok()
        });
        client.conn.send_close_notify();
        let _ = client.flush();
        // The client says that it has ended as well.
        if quits.get() && !matches!(client.read(&mut [0; 10]), Ok(0)) {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    assert!(run(&load(half, talks, &tls)).unwrap().requests > 0);
    assert_eq!(impolite.load(Ordering::SeqCst), 0);
    let cuts = server(TRUSTED, rustls::ALL_VERSIONS, |mut client| {
        lines(&mut client, |line, to| {
            line != b"quit\n" && to.write_all(line).is_ok()
        });
    });
    let trouble = run(&load(cuts, talks, &tls)).err().unwrap();
    assert_eq!(
        trouble.to_string(),
        "TLS: it closed a connection without a close_notify\n  send     \"two\\n\"\n  receive  \"two\\n\"\n  \
         send     \"quit\\n\""
    );
    let lax = tls.lax();
    assert!(run(&load(cuts, talks, &lax)).unwrap().requests > 0);
}

#[test]
fn wrong_answers_are_found() {
    let talks = talks();
    let to = server(TRUSTED, rustls::ALL_VERSIONS, |mut client| {
        lines(&mut client, |line, to| {
            to.write_all(if line == b"two\n" { b"tow\n" } else { line })
                .is_ok()
        });
    });
    let trouble = run(&load(to, &talks, &tls(false))).err().unwrap();
    assert!(matches!(trouble.kind, Kind::Wrong { .. }), "{trouble}");
}

#[test]
fn a_server_that_is_not_trusted_ends_it() {
    let (talks, tls) = (talks(), tls(false));
    let to = server(OTHER, rustls::ALL_VERSIONS, echo);
    assert_eq!(
        fails(&load(to, &talks, &tls)),
        "the TLS handshake failed: its certificate is not the one that clients trust"
    );
    let idle = Load {
        idle: 1,
        ..load(to, &talks, &tls)
    };
    assert!(fails(&idle).ends_with("is not the one that clients trust"));
    let error = Tls::trusting(b"nothing", false).unwrap_err();
    assert_eq!(error, "it has no certificate in PEM");
}

#[test]
fn handshakes_that_fail_end_it_with_a_reason() {
    let (talks, tls) = (talks(), tls(false));
    let failed = |to| fails(&load(to, &talks, &tls));
    let closes = playing::server(|mut client| {
        let _ = client.read(&mut [0; 4096]);
    });
    assert_eq!(
        failed(closes),
        "the TLS handshake failed: it closed the connection"
    );
    // In the middle of its first message.
    let cuts = playing::server(|mut client| {
        let _ = client.read(&mut [0; 4096]);
        let _ = client.write_all(&[22, 3, 3, 0, 90, 2, 0]);
    });
    assert_eq!(
        failed(cuts),
        "the TLS handshake failed: it closed the connection"
    );
    let resets = playing::server(|client| {
        // Bytes that nobody has read make the end a reset.
        let _ = client.peek(&mut [0; 10]);
    });
    assert_eq!(
        failed(resets),
        "the TLS handshake failed: it reset the connection"
    );
    let hangs = playing::server(|mut client| {
        let _ = client.read_to_end(&mut Vec::new());
    });
    assert_eq!(
        failed(hangs),
        "the TLS handshake failed: it took longer than 8s"
    );
    let alone = Load {
        idle: 1,
        ..load(hangs, &talks, &tls)
    };
    assert_eq!(
        fails(&alone),
        "the TLS handshake failed: it took longer than 8s"
    );
    let clear = playing::server(|mut client| {
        let _ = client.write_all(b"220 hello, this is in clear\n");
        let _ = client.read_to_end(&mut Vec::new());
    });
    assert_eq!(
        failed(clear),
        "the TLS handshake failed: what it sent is not TLS"
    );
    let refuses = playing::server(|mut client| {
        let _ = client.read(&mut [0; 4096]);
        let _ = client.write_all(&[21, 3, 3, 0, 2, 2, 40]);
        let _ = client.read_to_end(&mut Vec::new());
    });
    assert_eq!(
        failed(refuses),
        "the TLS handshake failed: it sent the alert HandshakeFailure"
    );
    // Clear text behind a complete handshake.
    let lies = server(TRUSTED, rustls::ALL_VERSIONS, |mut client| {
        lines(&mut client, |_, to| {
            to.sock.write_all(b"in clear, in clear\n").is_ok()
        });
    });
    let said = failed(lies);
    assert!(said.starts_with("TLS: what it sent is not TLS\n"), "{said}");
}

/// Slow and hostile clients encrypt as well, except those that do not on purpose.
#[test]
fn slow_and_hostile_clients_encrypt() {
    let mut talk = Talk::of(vec![request("a\n", "a\n")], false);
    talk.again = Some(0);
    let (talks, garbage) = ([talk], [b"xy".to_vec()]);
    let tls = tls(false);
    let to = server(TRUSTED, rustls::ALL_VERSIONS, |mut client| {
        lines(&mut client, |line, to| {
            line == b"a\n" && to.write_all(line).is_ok()
        });
    });
    let mut load = Load {
        keep: true,
        measured: Duration::from_millis(700),
        crowd: Crowd {
            slow: 2,
            hostile: 5,
            garbage: &garbage,
            whole: false,
        },
        ..load(to, &talks, &tls)
    };
    let limit = Instant::now() + Duration::from_secs(50);
    loop {
        let measured = run(&load).unwrap();
        assert!(measured.requests > 0);
        let crowd = measured.crowd;
        assert_eq!(crowd.otherwise, 0, "{crowd:?}");
        if crowd.finished > 1 && crowd.ended > 0 && crowd.attacks > crowd.ended {
            break;
        }
        assert!(Instant::now() < limit, "{crowd:?}");
        load.seed += 1;
    }
}
