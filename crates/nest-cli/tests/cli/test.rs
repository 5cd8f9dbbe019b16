//! `nest test`: conversations that go as written, and that do not; what they cover; what cannot be
//! tested; and that nothing stays behind.

use std::fs;
use std::time::{Duration, Instant};

use crate::common::Place;
use crate::common::greet::{GREET, KNOWN, greet, quick};

#[test]
fn a_conversation_is_held_in_every_model() {
    let place = greet();
    place.write("README.md", "# Not a case\n");
    place.write(
        "other.md",
        "# other: of another\n\nspec: other.nest\n\n```client\n```\n",
    );
    let ended = place
        .nest(&["test", "--quick", "greet.nest"])
        .with_status(0);
    let ended = ended
        .out_has("ok      known.md")
        .out_has("6 passed, 0 failed, 0 skipped");
    assert!(!ended.out.contains("other.md"), "{}", ended.out);
    ended
        .out_has("rules        2 of 3, 66%")
        .out_has("transitions  2 of 5, 40%")
        .out_has("other     7  never ran")
        .out_has("name in DEFAULT KNOWN  \"I am a\\n\", \"I am a\\n\"");
}

#[test]
fn a_page_may_name_its_models() {
    let place = greet();
    let named = |names: &str| {
        let text = KNOWN.replace("greet.nest\n", &format!("greet.nest\nmodels: {names}\n"));
        place.write("known.md", text);
    };
    let both = [
        "test",
        "--quick",
        "--model",
        "script",
        "--model",
        "event",
        "greet.nest",
    ];
    named("event thread");
    let ended = place.nest(&both).with_status(0);
    ended
        .out_has("skipped 1: the page names other models: event, thread")
        .out_has("1 passed, 0 failed, 1 skipped");
    named("script");
    place
        .nest(&[&both[..], &["--format", "json"]].concat())
        .with_status(0)
        .out_has("{\"cell\":\"script\",\"line\":null,\"outcome\":\"passed\"")
        .out_has("{\"cell\":\"event\",\"line\":null,\"outcome\":\"skipped\"");
    named("event threads");
    place.nest(&both).with_status(1).out_has(
        "known.md:4: page\n    models: knows script, process, prefork, thread, event, uring, not threads",
    );
}

#[test]
fn a_missing_trace_is_written() {
    let place = greet();
    let (steps, trace) = KNOWN.split_once("\n```trace").unwrap();
    let line = "its trace was written from what the server did";
    place.write("known.md", steps);
    place
        .nest(&quick(&["greet.nest"]))
        .with_status(1)
        .out_has("known.md:5: page\n    client (no name) has no trace; nest test --write adds it");
    // The page may leave out the model that makes the trace, and the command as well.
    let write = [
        "test",
        "--quick",
        "--model",
        "event",
        "greet.nest",
        "--write",
    ];
    place.nest(&write).with_status(0).out_has(line);
    assert_eq!(place.read("known.md"), format!("{steps}\n```trace{trace}"));
    let again = place.nest(&write).with_status(0);
    assert!(!again.out.contains(line), "{}", again.out);
    assert_eq!(place.read("known.md"), format!("{steps}\n```trace{trace}"));
    // Nothing is written while the replies differ.
    let wrong = steps.replace("Hello.", "Hullo.");
    place.write("known.md", &wrong);
    place.nest(&write).with_status(1).out_has(
        "known.md:7: page\n    no trace is written: whole (conversation 1): output differs",
    );
    assert_eq!(place.read("known.md"), wrong);
    // What a pattern describes is not frozen, and only the client without a trace gets one.
    let bob = "```client bob\nsend \"hi\\n\"\nexpect~ \"Wh.*\\n\"\n```\n";
    place.write("known.md", format!("{KNOWN}\n{bob}").replace('\n', "\r\n"));
    place.nest(&write).with_status(0).out_has(line);
    let made = "```trace bob\nopen\nstates START DEFAULT last=DEFAULT\ntake other \"hi\\n\"\nreply ...\nend eof\n```\n";
    let whole = format!("{KNOWN}\n{bob}\n{made}").replace('\n', "\r\n");
    assert_eq!(place.read("known.md"), whole);
    place
        .nest(&["test", "--write", "--generate", "greet.nest"])
        .with_status(2);
}

#[test]
fn a_conversation_is_cut_and_the_servers_are_watched() {
    let place = greet();
    let ended = place.nest(&["test", "--model", "event", "--format", "json", "greet.nest"]);
    let ended = ended.with_status(0);
    let lines: Vec<serde_json::Value> = ended
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let cells: Vec<&str> = lines[0]["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["cell"].as_str().unwrap())
        .collect();
    for cell in [
        "event tcp4",
        "event crowd",
        "event bystanders",
        "event limit+1",
    ] {
        assert!(cells.contains(&cell), "no {cell} in {cells:?}");
    }
    assert_eq!(lines[1]["summary"]["failed"], 0);
    assert_eq!(lines[2]["coverage"]["percent"], 40);
    assert_eq!(lines[2]["coverage"]["missing"].as_array().unwrap().len(), 3);
}

#[test]
fn what_differs_is_shown_with_its_line() {
    let place = greet();
    place.write("known.md", KNOWN.replace("take who", "take other"));
    place
        .nest(&quick(&["greet.nest"]))
        .with_status(1)
        .out_has("FAILED  known.md")
        .out_has("known.md:18: script")
        .out_has("- take other \"Who?\\n\"")
        .out_has("+ take who \"Who?\\n\"");
    place.write(
        "known.md",
        KNOWN.replace("expect \"Hello.", "expect \"Hullo."),
    );
    place
        .nest(&["test", "--quick", "--model", "event", "greet.nest"])
        .with_status(1)
        .out_has("known.md:7: event tcp4")
        .out_has("- \"Hullo.\\n\"")
        .out_has("+ \"Hello.\\n\"");
}

#[test]
fn what_a_client_sent_does_not_reach_the_terminal_as_a_control() {
    let place = greet();
    let say = "fprintf(stderr, \"\\x1b[31m\\xc2\\x9b\\xe2\\x80\\xae\\xff\\\\x\\ncaf\\xc3\\xa9\\n\"); abort();";
    place.write(
        "greet.nest",
        GREET
            .replacen(
                "%%",
                "%{\n#include <stdio.h>\n#include <stdlib.h>\n%}\n%%",
                1,
            )
            .replace("$reply(\"You are %s.\\n\", name);", say),
    );
    let ended = place
        .nest(&quick(&["greet.nest"]))
        .with_status(1)
        .out_has("\\x1b[31m\\xc2\\x9b\\xe2\\x80\\xae\\xff\\x\n")
        .out_has("caf\u{e9}\n");
    let control = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!ended.out.contains(control), "{:?}", ended.out);
}

#[test]
fn a_server_that_hangs_is_noticed() {
    let place = greet();
    place.write(
        "greet.nest",
        GREET.replace("$reply(\"You are %s.\\n\", name);", "for (;;) { }"),
    );
    let hung = ["--timeout", "2s", "--model", "event", "greet.nest"];
    place
        .nest(&quick(&hung))
        .with_status(1)
        .out_has("known.md:9: script\n    whole (conversation 1): the server did not come to its end within 2 s")
        .out_has("- \"You are al.\\n\"")
        .out_has("skipped 1: a server had already kept this page waiting");
    place
        .nest(&[&["test", "--quick"], &hung[..]].concat())
        .with_status(1)
        .out_has("known.md:9: event tcp4\n    expect: within 2 s it received less");
    // A process that was killed is there until it runs again.
    let limit = Instant::now() + PROMPT;
    while runs_below(&place) {
        assert!(Instant::now() < limit, "its server runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    // A pattern that can match in very many ways hangs, too.
    place.write(
        "greet.nest",
        GREET.replace("You are %s", &format!("%s{}", "a".repeat(40))),
    );
    place.write(
        "known.md",
        KNOWN.replace(" \"You are al.", "~ \"((a|a|l)*)*"),
    );
    place
        .nest(&quick(&["--timeout", "1s", "greet.nest"]))
        .with_status(1)
        .err_has("a pattern takes too long to compare, in known.md: ");
    place
        .nest(&quick(&["--timeout", "0s", "greet.nest"]))
        .with_status(2)
        .err_has("write a time of at most 24h, as in 500ms");
}

#[test]
fn a_server_that_is_slow_does_not_hang() {
    let place = Place::new();
    let slow = |ms: u32| {
        format!(
            "%{{\n#include <time.h>\n%}}\n%%\ngo = \"go\\n\" {{ nanosleep(&(struct timespec){{.tv_nsec = {ms} * 1000000l}}, NULL); $reply(\"done\\n\"); }}\n"
        )
    };
    let page = |times: usize| {
        format!(
            "# It takes its time\n\nspec: slow.nest\n\n```client\nsend \"{}\"\nexpect \"{}\"\n```\n\n```trace\nopen\nstates START DEFAULT last=DEFAULT\n{}end eof\n```\n",
            "go\\n".repeat(times),
            "done\\n".repeat(times),
            "take go \"go\\n\"\nreply \"done\\n\"\n".repeat(times)
        )
    };
    // Seven messages together take longer than each may.
    place.write("slow.nest", slow(900));
    place.write("slow.md", page(7));
    place
        .nest(&quick(&["--timeout", "6s", "slow.nest"]))
        .with_status(0);
    // So do sixteen clients of a server that serves one after the other.
    place.write("slow.nest", slow(400));
    place.write("slow.md", page(1));
    let crowd = ["test", "--timeout", "6s", "--model", "event", "slow.nest"];
    place
        .nest(&crowd)
        .with_status(0)
        .out_has("passed, 0 failed");
}

#[test]
fn a_server_is_built_of_all_its_c() {
    let place = Place::new();
    place.write("part.h", "int twice(int);\n");
    place.write(
        "part.c",
        "#include \"part.h\"\nint twice(int n) { return 2 * n; }\n",
    );
    place.write(
        "sum.nest",
        "%{\n#include \"part.h\"\n%}\n%%\nsum = \"?\\n\" { $reply(\"%d\\n\", twice(21)); }\n",
    );
    place.write(
        "sum.md",
        "# sum\n\nspec: sum.nest\n\n```client\nsend \"?\\n\"\nexpect \"42\\n\"\n```\n\n```trace\nopen\n\
         states START DEFAULT last=DEFAULT\ntake sum \"?\\n\"\nreply \"42\\n\"\nend eof\n```\n",
    );
    place
        .nest(&quick(&["sum.nest", "part.c"]))
        .with_status(0)
        .out_has("1 passed");
    place
        .nest(&quick(&["sum.nest"]))
        .with_status(1)
        .err_has("twice");
}

#[test]
fn what_a_machine_lacks_is_said() {
    let place = greet();
    place.program(
        "cc",
        "#!/bin/sh\ncase \"$*\" in *-fsanitize*) exit 1;; esac\nexec /usr/bin/env cc \"$@\"\n",
    );
    let cc = place.path("cc").display().to_string();
    place
        .nest(&["test", "--model", "script", "--cc", &cc, "greet.nest"])
        .with_status(0)
        .err_has("cannot link with -fsanitize=address: tested without");
    place.write("greet.nest", format!("%option inetd\n{GREET}"));
    place
        .nest(&["test", "--quick", "greet.nest"])
        .with_status(0)
        .err_has("tested only without sockets")
        .out_has("1 passed");
    place
        .nest(&["test", "--model", "event", "greet.nest"])
        .with_status(2)
        .err_has("not tested as event, only as script");
}

#[test]
fn what_servers_wrote_is_kept() {
    let place = greet();
    let ended = place.nest(&quick(&["--keep", "greet.nest"])).with_status(0);
    let at = ended.err.find("the output of the servers is in ").unwrap();
    let folder = ended.err[at..].lines().next().unwrap();
    let folder = std::path::Path::new(folder.rsplit(' ').next().unwrap());
    assert!(fs::read_dir(folder).unwrap().count() > 0);
    fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

#[test]
fn too_little_is_a_failure() {
    let place = greet();
    place
        .nest(&quick(&["--min-coverage", "40", "greet.nest"]))
        .with_status(0);
    place
        .nest(&quick(&["--min-coverage", "41", "greet.nest"]))
        .with_status(1)
        .err_has("the coverage is 40%, but --min-coverage requires 41%");
    place
        .nest(&quick(&["--min-coverage", "101", "greet.nest"]))
        .with_status(2);
}

#[test]
fn without_python_it_is_said() {
    let place = greet();
    let output = place
        .command(&quick(&["greet.nest"]))
        .env("PATH", place.path("nowhere"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("python3, version 3.8 or newer, is needed"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_written_is_said_at_once() {
    let place = greet();
    place
        .nest(&quick(&["--generate", "-o", "none/here.md", "greet.nest"]))
        .with_status(1)
        .err_has("cannot write into none");
    place
        .nest(&quick(&["--generate", "-o", "here.txt", "greet.nest"]))
        .with_status(2)
        .err_has("must end in .md");
    place
        .nest(&quick(&["--force", "greet.nest"]))
        .with_status(2);
    place.write("a b.nest", GREET);
    place
        .nest(&quick(&["--generate", "-o", "here.md", "a b.nest"]))
        .with_status(1)
        .err_has("a page cannot name a b.nest");
}

/// Whether a process runs a file below this directory.
fn runs_below(place: &Place) -> bool {
    let below = fs::canonicalize(place.path(".")).unwrap();
    fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let exe = fs::read_link(entry.path().join("exe"));
        exe.is_ok_and(|exe| exe.starts_with(&below))
    })
}

/// An interrupt takes a second or two, on a busy machine some more; what it ends would go on for 60 s.
const PROMPT: Duration = Duration::from_secs(20);

#[test]
fn an_interrupt_ends_the_compiler() {
    let place = greet();
    let script = "#!/bin/sh\nsleep 60 &\necho $! >> began\nwait\n";
    place.program("cc", script);
    let cc = place.path("cc").display().to_string();
    let mut child = place
        .command(&quick(&["--cc", &cc, "greet.nest"]))
        .spawn()
        .unwrap();
    let limit = Instant::now() + crate::common::LIMIT;
    let began = || fs::read_to_string(place.path("began")).unwrap_or_default();
    while began().lines().count() < 2 {
        assert!(Instant::now() < limit, "it does not come so far");
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    crate::common::kill(child.id(), "TERM");
    assert!(!child.wait().unwrap().success());
    let runs = |id: &str| {
        let words = fs::read_to_string(format!("/proc/{id}/cmdline"));
        words.is_ok_and(|words| words.starts_with("sleep"))
    };
    while began().lines().any(runs) {
        assert!(begun.elapsed() < PROMPT, "a compiler runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
}

#[test]
fn an_interrupt_leaves_no_server() {
    for signal in ["INT", "TERM", "KILL"] {
        let place = greet();
        let slow = KNOWN.replace("send \"Who?", "pass 10s\nsend \"Who?");
        place.write("known.md", slow);
        let temporary = place.path("tmp");
        fs::create_dir(&temporary).unwrap();
        let mut child = place
            .command(&["test", "--quick", "--model", "process", "greet.nest"])
            .env("TMPDIR", &temporary)
            .spawn()
            .unwrap();
        let limit = Instant::now() + crate::common::LIMIT;
        let until = |what: &dyn Fn() -> bool| {
            while !what() {
                assert!(Instant::now() < limit, "{signal}: it does not come so far");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        until(&|| runs_below(&place));
        crate::common::kill(child.id(), signal);
        let status = child.wait().unwrap();
        assert!(!status.success());
        until(&|| !runs_below(&place));
        if signal != "KILL" {
            assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
        }
    }
}

#[test]
fn an_interrupt_leaves_no_files() {
    let place = greet();
    let temporary = place.path("tmp");
    for milliseconds in [300, 1500, 3000, 4500] {
        fs::create_dir(&temporary).unwrap();
        let mut child = place
            .command(&[
                "test",
                "--quick",
                "--generate",
                "--force",
                "greet.nest",
                "known.md",
            ])
            .env("TMPDIR", &temporary)
            .env("XDG_CACHE_HOME", place.path("fresh"))
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        crate::common::kill(child.id(), "INT");
        child.wait().unwrap();
        let left = fs::read_dir(&temporary)
            .unwrap()
            .flatten()
            .map(|e| e.file_name());
        // Those of the C compiler are its own.
        let left: Vec<_> = left
            .filter(|n| n.to_string_lossy().starts_with("nest-"))
            .collect();
        assert!(left.is_empty(), "{milliseconds}: {left:?}");
        fs::remove_dir_all(&temporary).unwrap();
    }
}

#[test]
fn two_at_once_do_not_meet() {
    let place = greet();
    let start = || {
        let mut command = place.command(&["test", "--quick", "--model", "event", "greet.nest"]);
        command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    for child in [start(), start()] {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }
}
