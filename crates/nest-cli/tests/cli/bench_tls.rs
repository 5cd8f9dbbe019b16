//! `nest bench` over TLS: what encrypts, certificates that are not trusted, and what is not encrypted.

use crate::common::Place;

/// Its answers say whether the connection is encrypted.
const TELLS: &str = "NL \"\\r\"?\"\\n\"\n%%\n\
    START { $reply(\"who?\\n\"); }\n\
    \"I \" [a-z]{1,16} NL { $reply($2, $tls() == NEST_TLS_ON ? \" unseen\\n\" : \" seen\\n\"); }\n\
    \"BYE\" NL { $reply(\"bye\\n\"); $close(); }\n";
const PLAIN: &str = "NL \"\\r\"?\"\\n\"\n%%\n\
    \"I \" [a-z]{1,16} NL { $reply($2, \"\\n\"); }\n\
    \"BYE\" NL { $reply(\"bye\\n\"); $close(); }\n";

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn a_specification_that_encrypts_is_loaded_over_tls() {
    let place = Place::new();
    place.write("tells.nest", format!("%option tls c.pem k.pem\n{TELLS}"));
    let bench = "tells.nest --models event,thread --clients 4";
    let (ended, new) =
        place.bench_until(&format!("{bench} --report page.html --rate 100"), |new| {
            let mut servers = new["servers"].as_array().unwrap().iter();
            servers.all(|server| server["tls"]["handshakes"].as_u64() > Some(0))
        });
    let wanted = "  over TLS; resumption is off, so each connection makes a full handshake:\n";
    for wanted in [wanted, "\n  event    TLS 1.3, ", "\n  thread   TLS 1.3, "] {
        assert!(ended.out.contains(wanted), "{}", ended.out);
    }
    ended.err_has("connections are encrypted; clients trust the certificate ");
    for server in new["servers"].as_array().unwrap() {
        assert_eq!(server["tls"]["resumed"], 0);
    }
    assert_eq!(new["options"][1], "--tls self");
    assert!(place.read("page.html").contains("<h2>Encryption</h2>"));
    // In clear its answers are others, and no certificate is needed.
    let ended = place.nest(&words(&format!("bench {bench} --time 300ms --tls none")));
    let ended = ended.with_status(0);
    assert!(!ended.out.contains("TLS"), "{}", ended.out);
}

#[test]
fn a_load_over_tls_has_all_forms() {
    let place = Place::new();
    place.write("plain.nest", PLAIN);
    place.write("rough", "slow 50%\nhostile 50%\n");
    let bench = "bench plain.nest --models event --clients 4 --tls self";
    for (more, wanted) in [
        ("--time 300ms --keep-alive --idle 5", "resumption is off"),
        ("--time 300ms --pipeline 4", "resumption is off"),
        ("--time 300ms --profile rough", "resumption is off"),
        ("--time 300ms --tls-resume", "clients resume sessions"),
    ] {
        let ended = place
            .nest(&words(&format!("{bench} {more}")))
            .with_status(0);
        assert!(ended.out.contains(wanted), "{more}: {}", ended.out);
    }
}

/// The certificate of a file, for the models and for a server that nest has not built.
#[test]
fn another_server_is_loaded_over_tls() {
    let place = Place::new();
    place.write("plain.nest", PLAIN);
    let other = "build --tls plain.nest -o other --model process";
    place.nest(&words(other)).with_status(0);
    let run = |command: &str| {
        let done = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(place.path("."))
            .status();
        assert!(done.unwrap().success(), "{command}");
    };
    for name in ["one", "two"] {
        run(&format!(
            "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout {name}.pem -out c.pem \
             2> /dev/null && cat c.pem >> {name}.pem"
        ));
    }
    let program = place.path("other").display().to_string();
    // Its configuration, because an option has a blank and the command is split at blanks.
    place.write(
        "start",
        format!("#!/bin/sh\nexec {program} --set listen=127.0.0.1:$1 --set \"tls=$2 $2\"\n"),
    );
    let bench = "bench plain.nest --models event --clients 4 --time 300ms";
    let start = format!(
        "other=sh {} {{port}} {{cert}}",
        place.path("start").display()
    );
    let mut all = words(bench);
    all.extend(["--tls", "one.pem", "--vs-tls", &start]);
    let ended = place.nest(&all).with_status(0);
    assert!(
        ended.out.contains("\n  other    TLS 1.3, "),
        "{}",
        ended.out
    );
    let clear = format!("clear={program} --port {{port}}");
    let more = ["--tls", "one.pem", "--vs", &clear];
    let ended = place.nest(&[&words(bench)[..], &more].concat());
    let ended = ended.with_status(0);
    assert!(
        ended.out.contains("\n  clear    in clear\n"),
        "{}",
        ended.out
    );
    // A certificate that is not trusted, and a server that does not encrypt.
    let untrusted = format!("tls={0} {0}", place.path("two.pem").display());
    let more = ["--tls", "one.pem", "--", "--set", &untrusted];
    place
        .nest(&[&words(bench)[..], &more].concat())
        .with_status(1)
        .err_has("error: event: the TLS handshake failed: its certificate is not the one that clients trust\n");
    let more = ["--tls", "one.pem", "--vs-tls", &clear];
    place
        .nest(&[&words(bench)[..], &more].concat())
        .with_status(1)
        .err_has("error: clear: the TLS handshake failed: ");
}

#[test]
fn what_does_not_apply_is_said() {
    let place = Place::new();
    place.write("plain.nest", PLAIN);
    place.write("empty.pem", "");
    let vs = ["--vs-tls", "x=y {port}"];
    let clear = ["--vs", "x=y {port} {cert}"];
    for (more, status, reason) in [
        (
            &["--tls-resume"][..],
            2,
            "--tls-resume: the servers of this run do not encrypt; add --tls self",
        ),
        (
            &vs,
            2,
            "--vs-tls x: the servers of this run do not encrypt; add --tls self",
        ),
        (
            &clear,
            2,
            "write --vs-tls for a server that has the certificate",
        ),
        (&["--tls", "none.pem"], 1, "--tls: cannot read "),
        (
            &["--tls", "empty.pem"],
            1,
            "empty.pem: it has no certificate in PEM",
        ),
    ] {
        let ended = place.nest(&[&["bench", "plain.nest"][..], more].concat());
        ended.with_status(status).err_has(reason);
    }
}
