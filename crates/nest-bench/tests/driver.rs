//! The driver against servers of this file, which answer, stall, lie, die, hang or flood.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

mod playing;

use nest_bench::{Crowd, Kind, Load, Pace, Request, Talk, Trouble, drive};
use playing::{load, request, run, server};

/// Calls `answer` for each line.
fn lines(mut client: TcpStream, answer: impl Fn(&[u8], &mut TcpStream)) {
    let mut line = Vec::new();
    let mut byte = [0];
    client.set_nodelay(true).unwrap();
    while client.read(&mut byte).is_ok_and(|n| n == 1) {
        line.push(byte[0]);
        if byte[0] == b'\n' {
            answer(&line, &mut client);
            line.clear();
        }
    }
}

fn echo(client: TcpStream) {
    lines(client, |line, to| {
        let _ = to.write_all(line);
    });
}

fn talks() -> Vec<Talk> {
    let texts = ["one\n", "two and more\n", "3\n"];
    let requests: Vec<Request> = texts.iter().map(|text| request(text, text)).collect();
    let mut again = Talk::of(requests.clone(), false);
    again.again = Some(0);
    vec![again, Talk::of(requests[1..].to_vec(), false)]
}

fn kind(load: &Load) -> Kind {
    run(load).err().unwrap().kind
}

#[test]
fn answers_are_counted() {
    let (to, talks) = (server(echo), talks());
    for (keep, pipeline, cut) in [
        (false, 1, false),
        (true, 1, false),
        (false, 2, false),
        (true, 8, false),
        (false, 1, true),
    ] {
        let load = Load {
            keep,
            pipeline,
            cut,
            ..load(to, &talks)
        };
        let measured = run(&load).unwrap();
        assert!(measured.requests > 0, "{keep} {pipeline} {cut}");
        assert_eq!(measured.latency.len(), measured.requests);
        assert_eq!(measured.shares.iter().sum::<u64>(), measured.requests);
    }
}

#[test]
fn a_wrong_answer_ends_it_with_the_conversation() {
    let talks = talks();
    // Every fifth connection loses a byte of its second line.
    let to = server(|client| {
        let lossy = client.peer_addr().unwrap().port() % 5 == 0;
        lines(client, move |line, to| {
            let from = usize::from(lossy && line.len() > 4);
            let _ = to.write_all(&line[from..]);
        });
    });
    let measured = Duration::from_secs(30);
    let load = Load {
        measured,
        ..load(to, &talks)
    };
    let trouble = run(&load).err().unwrap();
    let Kind::Wrong { expected, came } = &trouble.kind else {
        panic!("{trouble}")
    };
    assert_eq!(expected, "\"two and more\\n\"");
    assert_eq!(came, "\"wo and more\\n\", of which byte 1 is wrong");
    assert!(
        trouble
            .to_string()
            .contains("\n  send     \"two and more\\n\"\n")
    );
}

#[test]
fn an_answer_to_the_wrong_client_is_found() {
    let talks = talks();
    let last = std::sync::Arc::new(std::sync::Mutex::new(b"one\n".to_vec()));
    let to = server(move |client| {
        let last = last.clone();
        lines(client, move |line, to| {
            let before = std::mem::replace(&mut *last.lock().unwrap(), line.to_vec());
            let _ = to.write_all(&before);
        });
    });
    let load = Load {
        measured: Duration::from_secs(30),
        ..load(to, &talks)
    };
    assert!(matches!(kind(&load), Kind::Wrong { .. }));
}

/// Of a lenient load only the conversations end, and each of them is played.
#[test]
fn what_is_answered_otherwise_is_noted() {
    let requests = |texts: &[&str]| texts.iter().map(|text| request(text, text)).collect();
    let texts: [&[&str]; 6] = [
        &["one\n", "two\n"],
        &["one\n", "wrong\n", "two\n"],
        &["silent\n"],
        &["one\n", "closed\n"],
        &["long\n", "two\n"],
        &["two\n"],
    ];
    let talks: Vec<Talk> = texts
        .iter()
        .map(|texts| Talk::of(requests(texts), false))
        .collect();
    let to = server(|client| {
        lines(client, |line, to| {
            let _ = match line {
                b"wrong\n" => to.write_all(b"Wrong\n"),
                b"silent\n" => Ok(()),
                b"closed\n" => to.shutdown(std::net::Shutdown::Both),
                b"long\n" => to.write_all(b"long\nmore\n"),
                _ => to.write_all(line),
            };
        });
    });
    let load = Load {
        lenient: true,
        trial: true,
        clients: 12,
        timeout: Duration::from_secs(8),
        ..load(to, &talks)
    };
    let measured = run(&load).unwrap();
    let mut found: Vec<_> = measured.otherwise.iter().map(Trouble::differs).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(
        found,
        [Some((1, 1)), Some((2, 0)), Some((3, 1)), Some((4, 0))]
    );
    assert!(measured.requests > 0);
    // Nothing remains: the load still ends.
    let load = Load {
        talks: &talks[1..2],
        ..load
    };
    assert_eq!(run(&load).unwrap().otherwise[0].differs(), Some((0, 1)));
}

#[test]
fn servers_that_fail_end_it_with_a_reason() {
    let talks = talks();
    let hangs = server(|mut client| {
        let _ = client.read_to_end(&mut Vec::new());
    });
    let limit = Duration::from_secs(5);
    assert_eq!(kind(&load(hangs, &talks)), Kind::Silent(limit));
    let closes = server(|mut client| {
        let _ = client.read(&mut [0; 100]);
    });
    let closed = kind(&load(closes, &talks));
    assert!(matches!(closed, Kind::Closed | Kind::Reset), "{closed:?}");
    let floods = server(|client| {
        lines(client, |line, to| {
            let _ = to.write_all(line);
            while to.write_all(&[b'x'; 1000]).is_ok() {}
        });
    });
    let flood = kind(&load(floods, &talks));
    assert!(
        matches!(flood, Kind::Unasked(_) | Kind::Wrong { .. }),
        "{flood:?}"
    );
    let nobody = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let SocketAddr::V4(address) = listener.local_addr().unwrap() else {
            panic!("not IPv4")
        };
        address
    };
    let refused = kind(&load(nobody, &talks));
    assert_eq!(refused, Kind::Refused("Connection refused".to_owned()));
    let mut ends = talks.clone();
    ends.iter_mut().for_each(|talk| talk.ends = true);
    assert_eq!(kind(&load(server(echo), &ends)), Kind::Open(limit));
}

#[test]
fn ends_and_greetings_are_part_of_a_conversation() {
    let to = server(|mut client| {
        let _ = client.write_all(b"hello\n");
        let mut byte = [0];
        while client
            .read(&mut byte)
            .is_ok_and(|n| n == 1 && byte[0] != b'\n')
        {}
    });
    let talk = Talk::of(vec![request("", "hello\n"), request("quit\n", "")], true);
    let measured = run(&load(to, &[talk])).unwrap();
    assert!(
        measured.requests > 0,
        "{} {} {:?}",
        measured.connections,
        measured.seconds,
        measured.otherwise
    );
    let greets = server(|mut client| {
        let _ = client.write_all(b"12:00\n");
    });
    let talk = Talk::of(vec![request("", "12:00\n")], true);
    let measured = run(&load(greets, &[talk])).unwrap();
    assert!(
        measured.requests > 0,
        "{} {} {:?}",
        measured.connections,
        measured.seconds,
        measured.otherwise
    );
}

#[test]
fn idle_clients_stay_or_are_missed() {
    let talks = talks();
    let all = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = all.clone();
    let to = server(move |client| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        echo(client);
    });
    let load = Load {
        idle: 30,
        keep: true,
        measured: Duration::from_secs(2),
        ..load(to, &talks[..1])
    };
    assert!(run(&load).unwrap().requests > 0);
    assert_eq!(all.load(std::sync::atomic::Ordering::SeqCst), 34);
    // A server that closes a connection on which nothing comes for two seconds.
    let to = server(|client| {
        let limit = Some(Duration::from_secs(2));
        client.set_read_timeout(limit).unwrap();
        let waits = client.peek(&mut [0]).is_ok();
        if waits {
            client.set_read_timeout(None).unwrap();
            echo(client);
        }
    });
    let measured = Duration::from_secs(6);
    let load = Load {
        to,
        measured,
        ..load
    };
    let Err(trouble) = run(&load) else {
        panic!("nobody missed them")
    };
    let wanted = "it closed 30 of 30 idle connections while it was measured";
    assert!(trouble.to_string().starts_with(wanted), "{trouble}");
}

#[test]
fn the_watcher_ends_it() {
    let all = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = all.clone();
    let to = server(move |client| {
        count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        echo(client);
    });
    let talks = talks();
    let load = Load {
        idle: 30,
        ..load(to, &talks)
    };
    let died = Kind::Died("signal 9 ended it".to_owned());
    let result = drive(&load, &mut |_| Err(died.clone().into()));
    assert_eq!(
        result.err().unwrap().to_string(),
        "it ended while it was measured: signal 9 ended it"
    );
    // It was asked before the idle clients came: this one is the first.
    let mut last = TcpStream::connect(to).unwrap();
    last.write_all(b"a\n").unwrap();
    last.read_exact(&mut [0; 2]).unwrap();
    assert_eq!(all.load(std::sync::atomic::Ordering::SeqCst), 1);
}

/// A server that answers nobody in the first 200 ms of each second: at a constant rate, a fifth of the
/// requests must be charged for it, however few clients there are.
#[test]
fn latency_counts_from_the_time_when_a_request_was_due() {
    let base = Instant::now();
    let to = server(move |client| {
        lines(client, move |line, to| {
            let at = base.elapsed().as_millis() % 1000;
            if at < 200 {
                let left = 200 - u64::try_from(at).unwrap();
                std::thread::sleep(Duration::from_millis(left));
            }
            let _ = to.write_all(line);
        });
    });
    let mut talk = Talk::of(vec![request("a\n", "a\n")], false);
    talk.again = Some(0);
    let talks = [talk];
    let load = Load {
        keep: true,
        clients: 8,
        pace: Pace::Rate(500.0),
        warm: Duration::from_millis(100),
        measured: Duration::from_secs(3),
        timeout: Duration::from_secs(20),
        ..load(to, &talks)
    };
    let measured = run(&load).unwrap();
    assert!(measured.unserved <= 1, "{}", measured.unserved);
    assert!(
        (1499..=1501).contains(&measured.requests),
        "{}",
        measured.requests
    );
    // The schedule: a request that is due t ms into a stall waits 200 - t ms. So 10 % of all wait
    // 100 ms or more, and 5 % wait 150 ms or more. A busy machine adds to it, so only the lower limits
    // are exact.
    let at = |share: f64| measured.latency.value_at_quantile(share) as f64 / 1e6;
    assert!(at(0.9) > 95.0, "{}", at(0.9));
    assert!(at(0.95) > 145.0, "{}", at(0.95));
    assert!(at(0.99) > 185.0, "{}", at(0.99));
}

/// Messages that could be sent together are due at their own times nevertheless: whatever moment the measured
/// time begins at, as many count as are due in it.
#[test]
fn a_pipeline_does_not_change_when_requests_are_due() {
    let to = server(echo);
    let mut talk = Talk::of(vec![request("a\n", "a\n"); 8], false);
    talk.again = Some(0);
    let talks = [talk];
    for warm in [20, 45, 70, 95] {
        let load = Load {
            keep: true,
            clients: 2,
            pipeline: 8,
            pace: Pace::Rate(100.0),
            warm: Duration::from_millis(warm),
            measured: Duration::from_millis(500),
            timeout: Duration::from_secs(20),
            ..load(to, &talks)
        };
        let measured = run(&load).unwrap();
        assert!(measured.unserved <= 1, "{warm}: {}", measured.unserved);
        let requests = measured.requests;
        assert!((49..=51).contains(&requests), "{warm}: {requests}");
    }
}

/// Slow clients send bytes one by one, hostile ones stop in the middle or reset; neither counts.
#[test]
fn slow_and_hostile_clients_stay_beside_the_others() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (pieces, rejected) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (single, wrong) = (pieces.clone(), rejected.clone());
    // It closes a connection on which something else than "a\n" comes.
    let to = server(move |mut client| {
        let address = match client.peer_addr().unwrap() {
            SocketAddr::V4(address) => address.ip().octets(),
            SocketAddr::V6(_) => panic!("not IPv4"),
        };
        client.set_nodelay(true).unwrap();
        let (mut buffer, mut line) = ([0; 64], Vec::new());
        while let Ok(n @ 1..) = client.read(&mut buffer) {
            single.fetch_add(usize::from(address[1] == 100 && n == 1), Ordering::SeqCst);
            line.extend(&buffer[..n]);
            while line.starts_with(b"a\n") {
                line.drain(..2);
                let _ = client.write_all(b"a\n");
            }
            if !b"a\n".starts_with(&line) {
                assert_eq!(address[1], 200, "only hostile clients send garbage");
                wrong.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    });
    let mut talk = Talk::of(vec![request("a\n", "a\n"), request("a\n", "a\n")], false);
    talk.again = Some(0);
    let (talks, garbage) = ([talk], [b"xy".to_vec()]);
    let mut load = Load {
        keep: true,
        measured: Duration::from_millis(700),
        crowd: Crowd {
            slow: 2,
            hostile: 3,
            garbage: &garbage,
            whole: false,
        },
        ..load(to, &talks)
    };
    // However busy the machine is, at some time they have all had their turn.
    let limit = Instant::now() + Duration::from_secs(50);
    loop {
        let measured = run(&load).unwrap();
        assert!(measured.requests > 0);
        assert_eq!(measured.shares.len(), 4);
        assert_eq!(measured.latency.len(), measured.requests);
        let crowd = measured.crowd;
        assert_eq!((crowd.slow, crowd.hostile, crowd.otherwise), (2, 3, 0));
        let rejected = rejected.load(Ordering::SeqCst);
        let single = pieces.load(Ordering::SeqCst);
        if crowd.finished > 1 && crowd.ended > 0 && rejected > 0 && single > 4 {
            assert!(crowd.attacks >= crowd.ended);
            break;
        }
        assert!(Instant::now() < limit, "{crowd:?} {rejected} {single}");
        load.seed += 1;
    }
    load.crowd = Crowd::default();
    assert_eq!(run(&load).unwrap().crowd.attacks, 0);
}

#[test]
fn clients_come_from_as_many_addresses_as_they_shall() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let all = seen.clone();
    let to = server(move |client| {
        all.lock().unwrap().insert(client.peer_addr().unwrap().ip());
        echo(client);
    });
    let talks = talks();
    let load = Load {
        sources: 3,
        measured: Duration::from_millis(400),
        ..load(to, &talks[1..])
    };
    let measured = run(&load).unwrap();
    let count = seen.lock().unwrap().len();
    assert!(
        count <= 3 && (count == 3 || measured.connections < 3),
        "{count}"
    );
    // Idle clients have as many, but others.
    run(&Load { idle: 9, ..load }).unwrap();
    let seen = seen.lock().unwrap();
    let idle = seen
        .iter()
        .filter(|ip| ip.to_string().starts_with("127.50."));
    assert_eq!(idle.count(), 3);
}
