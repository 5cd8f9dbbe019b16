//! The driver against servers of this file whose connections begin in clear and become encrypted in the
//! middle of a conversation.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::time::{Duration, Instant};

mod playing;
#[path = "playing/tls.rs"]
mod serving;

use nest_bench::{Crowd, Load, Pace, Talk, Tls};
use playing::{request, run};
use rustls::{ServerConnection, StreamOwned};
use serving::{TRUSTED, config};

/// What a server does when it is asked to encrypt.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Encrypts,
    /// And says something before it is asked.
    Greets,
    /// It says more in clear.
    Adds,
    Hangs,
    Closes,
    /// It answers otherwise when it is encrypted.
    Errs,
    /// It closes the connection behind the handshake.
    Ends,
}

/// Whether a line was answered, and the connection goes on.
fn line(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.last() != Some(&b'\n') {
        (stream.read(&mut byte).ok()? == 1).then(|| line.push(byte[0]))?;
    }
    Some(line)
}

/// Repeats lines, in clear and encrypted, with a mark that says which. `start` encrypts.
fn server(does: Does) -> SocketAddrV4 {
    let config = config(TRUSTED, rustls::ALL_VERSIONS);
    playing::server(move |mut client: TcpStream| {
        client.set_nodelay(true).unwrap();
        loop {
            let Some(said) = line(&mut client) else {
                return;
            };
            if said == b"start\n" {
                break;
            }
            let _ = client.write_all(&[b"clear ", &said[..]].concat());
        }
        let more: &[u8] = if does == Does::Adds { b"and\n" } else { b"" };
        let _ = client.write_all(&[b"go\n", more].concat());
        match does {
            Does::Closes => {
                // What the client sends meanwhile is read, or the system would reset the connection.
                let _ = client.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut client, &mut std::io::sink());
                return;
            }
            Does::Hangs => std::thread::sleep(Duration::from_secs(30)),
            _ => {}
        }
        let mut connection = ServerConnection::new(config.clone()).unwrap();
        if connection.complete_io(&mut client).is_err() {
            return;
        }
        let mut client = StreamOwned::new(connection, client);
        let greeting: &[u8] = if does == Does::Greets {
            b"hello\n"
        } else {
            b""
        };
        let _ = client.write_all(greeting);
        while does != Does::Ends
            && let Some(said) = line(&mut client)
        {
            let mark: &[u8] = if does == Does::Errs {
                b"clear "
            } else {
                b"secret "
            };
            if said == b"quit\n" || client.write_all(&[mark, &said].concat()).is_err() {
                break;
            }
        }
        client.conn.send_close_notify();
        let _ = client.flush();
    })
}

/// Something in clear, the handshake, something encrypted.
fn talk() -> Talk {
    let mut requests = vec![
        request("a\n", "clear a\n"),
        request("start\n", "go\n"),
        request("b\n", "secret b\n"),
        request("c\n", "secret c\n"),
    ];
    requests[1].encrypts = true;
    Talk::of(requests, false)
}

fn tls() -> Tls {
    Tls::trusting(TRUSTED, false).unwrap().later()
}

fn load<'a>(to: SocketAddrV4, talks: &'a [Talk], tls: &'a Tls) -> Load<'a> {
    Load {
        tls: Some(tls),
        timeout: Duration::from_secs(20),
        ..playing::load(to, talks)
    }
}

fn fails(does: Does, talk: Talk) -> String {
    let (talks, tls) = ([talk], tls());
    let load = Load {
        timeout: Duration::from_secs(8),
        ..load(server(does), &talks, &tls)
    };
    run(&load).err().unwrap().to_string()
}

#[test]
fn a_handshake_in_the_middle_is_made_and_counted() {
    let tls = tls();
    let to = server(Does::Encrypts);
    let clear = Talk::of(vec![request("z\n", "clear z\n")], false);
    let mut ends = talk().requests;
    ends.push(request("quit\n", ""));
    let talks = [talk(), clear, Talk::of(ends, true)];
    let base = load(to, &talks, &tls);
    let cut = Load {
        cut: true,
        trial: true,
        ..base.clone()
    };
    let pipelined = Load {
        pipeline: 4,
        idle: 3,
        ..base.clone()
    };
    let open = Load {
        pace: Pace::Rate(100.0),
        ..base.clone()
    };
    for load in [base, cut, pipelined, open] {
        let measured = run(&load).unwrap();
        assert!(measured.requests > 0);
        let made = &measured.encrypted;
        assert!(made.handshakes > 0 && made.later, "{made:?}");
        assert!(made.suite.starts_with("TLS 1.3, "), "{made:?}");
    }
}

/// What is repeated over the same connection stays encrypted.
#[test]
fn a_conversation_goes_on_behind_its_handshake() {
    let (tls, mut talk) = (tls(), talk());
    talk.again = Some(2);
    let talks = [talk];
    let load = Load {
        keep: true,
        measured: Duration::from_secs(2),
        ..load(server(Does::Encrypts), &talks, &tls)
    };
    let measured = run(&load).unwrap();
    assert!(measured.requests > 3 * load.clients as u64);
    assert!(measured.encrypted.handshakes <= load.clients as u64);
}

#[test]
fn what_a_server_says_behind_the_handshake_is_awaited() {
    let mut requests = talk().requests;
    requests.insert(2, request("", "hello\n"));
    let (tls, talks) = (tls(), [Talk::of(requests, false)]);
    let to = server(Does::Greets);
    for pace in [Pace::Closed, Pace::Rate(100.0)] {
        let load = Load {
            pace,
            ..load(to, &talks, &tls)
        };
        assert!(run(&load).unwrap().requests > 0);
    }
    // It is nobody's answer, or not that of the next message, if this was sent before.
    let said = fails(Does::Greets, talk());
    let wanted = [
        "it sent bytes that nobody asked for\n",
        "it answered something else\n",
    ];
    let is_said = wanted.iter().any(|wanted| said.starts_with(wanted));
    assert!(is_said && said.contains("  handshake\n"), "{said}");
}

#[test]
fn the_end_may_follow_a_handshake() {
    let mut talk = talk();
    talk.requests.truncate(2);
    talk.ends = true;
    let (tls, talks) = (tls(), [talk]);
    let measured = run(&load(server(Does::Ends), &talks, &tls)).unwrap();
    assert!(measured.encrypted.handshakes > 0);
}

#[test]
fn failures_show_the_conversation() {
    let shown = "  send     \"a\\n\"\n  receive  \"clear a\\n\"\n  send     \"start\\n\"\n  receive  \"go\\n\"\n";
    for (does, wanted) in [
        (Does::Hangs, "the TLS handshake failed: "),
        (
            Does::Closes,
            "the TLS handshake failed: it closed the connection\n",
        ),
        (Does::Errs, "it answered something else\n"),
    ] {
        let said = fails(does, talk());
        assert!(said.starts_with(wanted), "{said}");
        assert!(said.contains(&format!("{shown}  handshake\n")), "{said}");
    }
    // In clear behind the answer: with it, or where the handshake should begin.
    let said = fails(Does::Adds, talk());
    let with_it =
        said.starts_with("it sent bytes that nobody asked for\n") && said.contains("\"and\\n\"");
    let in_place = said.starts_with("the TLS handshake failed: what it sent is not TLS\n");
    assert!(with_it || in_place, "{said}");
}

#[test]
fn slow_clients_make_the_handshake() {
    let (tls, talks) = (tls(), [talk()]);
    let mut load = Load {
        measured: Duration::from_millis(700),
        crowd: Crowd {
            slow: 2,
            hostile: 2,
            garbage: &[],
            whole: false,
        },
        ..load(server(Does::Encrypts), &talks, &tls)
    };
    let limit = Instant::now() + Duration::from_secs(50);
    loop {
        let crowd = run(&load).unwrap().crowd;
        assert_eq!(crowd.otherwise, 0, "{crowd:?}");
        if crowd.finished > 1 && crowd.attacks > 0 {
            break;
        }
        assert!(Instant::now() < limit, "{crowd:?}");
        load.seed += 1;
    }
}
