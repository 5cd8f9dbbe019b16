//! Connections that begin in clear and become encrypted by `$startTLS()`: `nest run --record` writes where, and
//! `nest bench` makes the handshake there, in conversations that were recorded or made.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use crate::common::{LIMIT, Place, Running};
use nest_bench::{Crowd, Expect, Load, Pace, Request, Talk, Tls, drive};

/// Its answers say whether the connection is encrypted, and whether it may be. Measured servers answer one
/// text otherwise if `@` says so.
const LATER: &str = "%{\n#include <stdlib.h>\n%}\nNL \"\\r\"?\"\\n\"\n%%\n\
    START { $reply(\"hello\\n\"); }\n\
    \"START\" NL {\n\
    \x20   if ($tls() == NEST_TLS_READY) {\n        $reply(\"go\\n\");\n        $startTLS();\n    }\n\
    \x20   else { $reply(\"no\\n\"); }\n}\n\
    \"I \" [a-z]{1,16} NL {\n\
    \x20   int wrong = @ && getenv(\"NEST_TRACE_FD\") == NULL && $tls() == NEST_TLS_ON;\n\
    \x20   $reply($2, wrong ? \" lost\\n\" : $tls() == NEST_TLS_ON ? \" unseen\\n\"\n\
    \x20       : $tls() == NEST_TLS_READY ? \" ready\\n\" : \" seen\\n\");\n}\n\
    \"BYE\" NL { $reply(\"bye\\n\"); $close(); }\n";

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

fn request(send: &str, expect: &str, encrypts: bool) -> Request {
    Request {
        send: send.into(),
        expect: Expect::exact(expect.as_bytes()),
        encrypts,
        ..Request::default()
    }
}

/// A client of a server that has just been started with `--tls self`.
fn talk(server: &mut Running) {
    let line = server.line_with("the certificate is ");
    let name = line.split("the certificate is ").nth(1).unwrap();
    let pem = std::fs::read(name.split(',').next().unwrap()).unwrap();
    let tls = Tls::trusting(&pem, false).unwrap().later();
    let requests = vec![
        request("", "hello\n", false),
        request("I ab\n", "ab ready\n", false),
        request("START\n", "go\n", true),
        request("I cd\n", "cd unseen\n", false),
        request("BYE\n", "bye\n", false),
    ];
    let load = Load {
        to: SocketAddrV4::new(Ipv4Addr::LOCALHOST, server.port()),
        tls: Some(&tls),
        talks: &[Talk::of(requests, true)],
        clients: 1,
        idle: 0,
        crowd: Crowd::default(),
        sources: 1,
        keep: false,
        pipeline: 1,
        cut: false,
        trial: true,
        lenient: false,
        pace: Pace::Closed,
        warm: Duration::ZERO,
        measured: Duration::from_millis(500),
        timeout: LIMIT,
        seed: 1,
    };
    // The last conversation ends when the time does; one must have been whole.
    let limit = Instant::now() + LIMIT;
    while drive(&load, &mut |_| Ok(())).unwrap().requests < 4 {
        assert!(Instant::now() < limit);
    }
}

#[test]
fn the_place_of_a_handshake_is_recorded_and_played() {
    let place = Place::new();
    place.write("a.nest", LATER.replace('@', "0"));
    for model in ["event", "process", "thread"] {
        let folder = format!("talks-{model}");
        let run = format!("run a.nest --record {folder} --tls self --model {model} -- --port 0");
        let mut server = place.start(&words(&run));
        talk(&mut server);
        let note =
            "recordings have in clear what clients send over TLS; only you can read the files";
        server.line_with(note);
        server.signal("TERM");
        server.line_with(&format!("recorded in {folder}"));
        assert_eq!(server.end().code(), Some(0), "{model}");
        let files = std::fs::read_dir(place.path(&folder)).unwrap();
        let files = files.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
        let text = files.into_iter().find(|text| text.contains("BYE")).unwrap();
        // The handshake may take so long that it is a pause.
        let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with("wait")).collect();
        let wanted = [
            "nest recording 1",
            "talk",
            "send \"I ab\\n\"",
            "send \"START\\n\"",
            "tls",
            "send \"I cd\\n\"",
            "send \"BYE\\n\"",
            "end",
        ];
        assert_eq!(lines, wanted, "{model}");
        place.write("one.talk", text);
    }
    let bench = "a.nest --replay one.talk --clients 4 --models event,thread";
    let (ended, new) = place.bench_until(bench, |new| {
        new["servers"][0]["tls"]["handshakes"].as_u64() > Some(0)
    });
    ended
        .err_has("connections begin in clear, and become encrypted where an action calls $startTLS(); clients trust")
        .err_has("1 conversations with 4 messages")
        .err_has("1 of 1 conversations become encrypted")
        .out_has("  over TLS from a handshake in the conversation on; resumption is off")
        .out_has("\n  event    TLS 1.3, ");
    assert_eq!(new["options"][1], "--tls start");
    // What encrypted clients are answered is compared, and the conversation shows where they are.
    place.write("a.nest", LATER.replace('@', "1"));
    place
        .nest(&words(&format!("bench {bench} --time 300ms")))
        .with_status(1)
        .err_has("error: thread: it answered something else\n")
        .err_has(
            "  receive  \"go\\n\"\n  handshake\n  send     \"I cd\\n\"\n  expected \"cd unseen\\n\"\n  \
             received \"cd lost\\n\"",
        );
    // Another specification asks for the handshake elsewhere, or nowhere.
    let other = LATER.replace('@', "0");
    place.write("a.nest", other.replace("\"START\" NL", "\"BEGIN\" NL"));
    place
        .nest(&words(&format!("bench {bench} --time 300ms")))
        .with_status(1)
        .err_has(
            "1 recorded conversations become encrypted where this server does not call $startTLS()",
        );
}

#[test]
fn conversations_that_are_made_become_encrypted() {
    let place = Place::new();
    place.write("a.nest", LATER.replace('@', "0"));
    let option = format!("%option tls c.pem k.pem\n{}", LATER.replace('@', "0"));
    place.write("option.nest", option);
    let more = "--models event --clients 4 --time 300ms";
    for (what, how) in [
        ("a.nest --tls start", "resumption is off"),
        ("option.nest", "resumption is off"),
        ("a.nest --tls start --tls-resume", "clients resume sessions"),
        (
            "a.nest --tls start --keep-alive --pipeline 4",
            "resumption is off",
        ),
    ] {
        let ended = place
            .nest(&words(&format!("bench {what} {more}")))
            .with_status(0)
            .out_has(&format!(
                "over TLS from a handshake in the conversation on; {how}"
            ));
        let count = ended
            .err
            .lines()
            .find(|l| l.ends_with("conversations become encrypted"));
        let keeps = what.contains("keep-alive");
        assert!(
            count.is_some_and(|l| keeps || !l.contains("nest: 0 of")),
            "{}",
            ended.err
        );
    }
    // Without a certificate nothing is encrypted.
    let ended = place.nest(&words(&format!("bench a.nest {more}")));
    let ended = ended.with_status(0);
    assert!(!ended.out.contains("TLS"), "{}", ended.out);
}

#[test]
fn what_does_not_apply_is_said() {
    let place = Place::new();
    place.write("a.nest", LATER.replace('@', "0"));
    place.write("plain.nest", "%%\n\"I ab\\n\" { $reply(\"a\\n\"); }\n");
    let body = "send \"I ab\\n\"\nsend \"START\\n\"\ntls\nsend \"I cd\\n\"\n";
    place.write("r", format!("nest recording 1\ntalk\n{body}end\n"));
    for (arguments, status, reason) in [
        (
            "plain.nest --tls start",
            2,
            "--tls start: no action of this specification calls $startTLS(); write --tls self",
        ),
        (
            "plain.nest --replay r",
            2,
            "the recorded connections become encrypted, but no action of this specification calls $startTLS()",
        ),
        (
            "a.nest --replay r --tls none",
            2,
            "the recorded connections become encrypted behind their beginning; write --tls start",
        ),
        ("a.nest --replay r --tls self", 2, "write --tls start"),
        (
            "a.nest --replay r --vs x=y,{port}",
            2,
            "--vs x: the conversations become encrypted; write --vs-tls",
        ),
    ] {
        let arguments = format!("bench {arguments}");
        let ended = place.nest(&words(&arguments));
        ended.with_status(status).err_has(reason);
    }
}
