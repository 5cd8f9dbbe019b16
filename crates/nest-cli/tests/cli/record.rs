//! `nest run --record` and `nest bench --replay`: what clients send becomes files, and files become the
//! load; conversations and files that are cut, and what cannot be recorded.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::common::{GOOD, LIMIT, Place, Running, talk};

/// Rules whose actions read, with and without a question before it. Measured servers answer one text
/// otherwise if `@` says so.
const READS: &str = "%{\n#include <stdlib.h>\n%}\nNL \"\\r\"?\"\\n\"\n%%\n\
    put = \"PUT \" [0-9]{1,6} NL {\n\
    \x20   char body[40000];\n\
    \x20   long n = $readInto(body, strtoul($2, NULL, 10));\n\
    \x20   int wrong = @ && getenv(\"NEST_TRACE_FD\") == NULL && n == 4 && memcmp(body, \"ab\\nc\", 4) == 0;\n\
    \x20   $reply(\"%s %ld\\n\", wrong ? \"lost\" : \"got\", n);\n}\n\
    name = \"NAME\" NL {\n\
    \x20   $reply(\"who?\\n\");\n\
    \x20   char *name = $readLine(40);\n\
    \x20   if (name != NULL) {\n        $reply(\"hello \", name, \"\\n\");\n    }\n}\n\
    \"BYE\" NL { $reply(\"bye\\n\"); $close(); }\n";

/// A server that records in `talks`.
fn recording(place: &Place, model: &str) -> Running {
    let words = "run a.nest --record talks --model";
    let words = words.split(' ').chain([model, "--", "--port", "0"]);
    place.start(&words.collect::<Vec<_>>())
}

/// Waits for a file of `talks`; its text.
fn file(place: &Place, number: u32) -> String {
    let name = format!("talks/{number:06}.talk");
    let limit = std::time::Instant::now() + LIMIT;
    while !place.path(&name).exists() {
        assert!(std::time::Instant::now() < limit, "there is no {name}");
        std::thread::sleep(Duration::from_millis(10));
    }
    place.read(&name)
}

/// A recording without its pauses: 10 ms between an answer and the next message are one, although that
/// message had come already, if a busy machine lets the server wait.
fn spoken(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("wait "));
    lines.map(|line| format!("{line}\n")).collect()
}

fn written(body: &str) -> String {
    format!("nest recording 1\ntalk\n{body}end\n")
}

/// Sends a text, and reads until this comes.
fn ask(stream: &mut TcpStream, text: &str, answer: &str) {
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut got = vec![0; answer.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8(got).unwrap(), answer);
}

#[test]
fn what_clients_send_is_recorded_and_played() {
    let place = Place::new();
    place.write("a.nest", READS.replace('@', "0"));
    let large = format!("PUT 30000\n{}", "0123456789".repeat(3000));
    for (n, model) in (0..).step_by(3).zip(["event", "process", "thread"]) {
        let mut server = recording(&place, model);
        let port = server.port();
        let answers = talk(port, "PUT 4\nab\ncNAME\nAlice\nBYE\n");
        assert_eq!(answers, "got 4\nwho?\nhello Alice\nbye\n");
        let body =
            "send \"PUT 4\\nab\\nc\"\nsend \"NAME\\n\"\nsend \"Alice\\n\"\nsend \"BYE\\n\"\n";
        assert_eq!(spoken(&file(&place, n + 1)), written(body), "{model}");
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        ask(&mut stream, "PUT 1\nx", "got 1\n");
        std::thread::sleep(Duration::from_millis(300));
        ask(&mut stream, "PUT 1\ny", "got 1\n");
        drop(stream);
        let paused = file(&place, n + 2);
        let ms = paused.lines().find_map(|line| line.strip_prefix("wait "));
        let ms: u32 = ms.unwrap().parse().unwrap();
        assert!(ms >= 290, "{paused}");
        let body = format!("send \"PUT 1\\nx\"\nwait {ms}\nsend \"PUT 1\\ny\"\n");
        assert_eq!(paused, written(&body));
        assert_eq!(talk(port, &large), "got 30000\n");
        let body = format!("send \"{}\"\n", large.replace('\n', "\\n"));
        assert_eq!(spoken(&file(&place, n + 3)), written(&body), "{model}");
        server.signal("TERM");
        server.line_with("nest: 3 conversations recorded in talks");
        assert_eq!(server.end().code(), Some(0), "{model}");
    }
    // Only this user can read what clients have sent.
    let mode = std::fs::metadata(place.path("talks/000001.talk")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    let words = "bench a.nest --replay talks --clients 4 --time 2s --json new.json --models";
    let words: Vec<&str> = words.split(' ').collect();
    let ended = place.nest(&[&words[..], &["event,thread"]].concat());
    ended
        .with_status(0)
        .err_has("9 conversations with 21 messages")
        .out_has("least processor time a request at 4 clients");
    let new: serde_json::Value = serde_json::from_str(&place.read("new.json")).unwrap();
    assert_eq!(new["options"][0], "--replay talks");
    // What is recorded is what is sent: the one wrong answer is found, in one file, too.
    place.write("a.nest", READS.replace('@', "1"));
    let words = "bench a.nest --replay talks/000001.talk --think 0 --clients 4 --models thread";
    place
        .nest(&words.split(' ').collect::<Vec<_>>())
        .with_status(1)
        .err_has("error: thread: it answered something else\n")
        .err_has(
            "  send     \"PUT 4\\nab\\nc\"\n  expected \"got 4\\n\"\n  received \"lost 4\\n\"",
        );
}

#[test]
fn conversations_that_are_cut_leave_whole_files() {
    let place = Place::new();
    place.write("a.nest", READS.replace('@', "0"));
    for (n, model) in (0..).step_by(2).zip(["event", "process"]) {
        let mut server = recording(&place, model);
        let port = server.port();
        // A client goes in the middle of its answer, and one in the middle of a message.
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        ask(&mut stream, "NAME\n", "who?\n");
        stream.write_all(b"Al").unwrap();
        drop(stream);
        let text = file(&place, n + 1);
        assert!(
            text.starts_with(&written("send \"NAME\\n\"\n").replace("end\n", "")),
            "{text}"
        );
        assert!(text.ends_with("send \"Al\"\nend\n"), "{text}");
        assert_eq!(talk(port, "PUT 2\nokBY"), "got 2\n");
        let text = file(&place, n + 2);
        assert_eq!(spoken(&text), written("send \"PUT 2\\nok\"\nsend \"BY\"\n"));
        // The server is killed while a third one talks: there is no half file.
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        ask(&mut stream, "PUT 1\nx", "got 1\n");
        for pid in server.descendants() {
            crate::common::kill(pid, "KILL");
        }
        server.line_with("nest: 2 conversations recorded in talks; 1 conversation had no end");
        assert_eq!(server.end().code(), Some(128 + 9), "{model}");
        let files = std::fs::read_dir(place.path("talks")).unwrap();
        assert_eq!(files.count(), n as usize + 2, "{model}");
    }
}

#[test]
fn what_is_no_recording_is_refused_with_its_place() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place.write("empty/notes.txt", "no recording");
    place.write("several/1.talk", written("send \"HI\\n\"\n"));
    place.write("several/2.talk", "nest recording 1\ntalk\nsend \"HI\\n\"\n");
    place.write("hidden/.new-1.talk", "half");
    std::fs::create_dir_all(place.path("folders/1.talk")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(place.path("fifo"))
        .status();
    assert!(fifo.unwrap().success());
    for (name, text, reason) in [
        (
            "r",
            "",
            "r:1: the file is empty; its first line must be \"nest recording 1\"",
        ),
        (
            "r",
            "nest recording 2\n",
            "r:1: the recording has version \"2\", but this nest reads version 1",
        ),
        (
            "r",
            "nest recording 1\ntalk\nsend HI\n",
            "r:3: a message stands in quotes; write send \"...\"",
        ),
        (
            "r",
            "\x7fELF\0\0",
            "r:1: this is no recording; its first line must be",
        ),
        ("none", "", "cannot read none: no such file or directory"),
        (
            "empty",
            "",
            "empty has no recordings (*.talk); make some: nest run --record empty FILE",
        ),
        ("hidden", "", "hidden has no recordings (*.talk)"),
        (
            "several",
            "",
            "several/2.talk:3: the recording is cut: its last conversation has no line \"end\"",
        ),
        ("folders", "", "folders/1.talk is not a file"),
        ("fifo", "", "fifo is not a file"),
    ] {
        place.write("r", text);
        let ended = place.nest(&["bench", "a.nest", "--replay", name]);
        ended.with_status(1).err_has(&format!("error: {reason}"));
    }
    // Nothing of it is answered.
    place.write("mute.nest", "%%\n[^\\n]* \"\\n\" { }\n");
    place.write("r", written("send \"HI\\n\"\n"));
    place
        .nest(&["bench", "mute.nest", "--replay", "r"])
        .with_status(1)
        .err_has("no message of these recordings is always answered in the same way");
}

#[test]
fn options_that_do_not_apply_are_errors() {
    let place = Place::new();
    place.write("a.nest", GOOD);
    place.write("r", written("send \"HI\\n\"\n"));
    place.write("words", "slow 5%\nthink 5ms\n");
    place.write("message.nest", format!("%option framing message\n{GOOD}"));
    place.write(
        "stage.nest",
        format!("%{{\nstatic int same(nest_stage *s) {{ return (int)s->in_n; }}\n%}}\n%decode same(same)\n{GOOD}"),
    );
    for (words, reason) in [
        ("run a.nest --record talks --watch", "cannot be used with"),
        ("run - --record talks", "--record needs a file"),
        (
            "run a.nest --record talks --tls self",
            "its connections are encrypted",
        ),
        (
            "run message.nest --record talks",
            "with option framing message",
        ),
        (
            "run stage.nest --record talks",
            "%decode changes what clients send",
        ),
        (
            "bench a.nest --replay r --messages 3",
            "cannot be used with",
        ),
        ("bench a.nest --think 0.5", "--replay"),
        (
            "bench a.nest --replay r --think x",
            "write a number from 0 to 100",
        ),
        (
            "bench a.nest --replay r --think nan",
            "write a number from 0 to 100",
        ),
        (
            "bench a.nest --replay r --profile words",
            "remove the lines weight, part and think from words",
        ),
    ] {
        let ended = place.nest(&words.split(' ').collect::<Vec<_>>());
        ended.with_status(2).err_has(reason);
    }
    assert!(!place.path("talks").exists());
    place.write("talks", "a file");
    let words = ["run", "a.nest", "--record", "talks", "--", "--port", "0"];
    place
        .nest(&words)
        .with_status(1)
        .err_has("error: cannot record in talks: ");
}
