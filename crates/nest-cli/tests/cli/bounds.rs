//! `nest check --bounds`: what it says, that the server says the same, that tools can read it, and
//! what fails by it.

use crate::common::Place;

const SPEC: &str = r#"%option threadServer 10
%option inputBuffer 1K
%state NAME
NL \r?\n
%%
char name[33];
START { $reply("your name?\n"); $seen(NAME); }
NAME: hello = [a-z]{1,30} NL { $reply("hello ", $1, "\n"); $clear(NAME); }
!NAME: line = [^\n]* "\n" { $reply($0); }
!NAME: TIMEOUT(20s) { $close(); }
"#;

/// A client may say nothing for ever.
const STAYS: &str = "%option readTimeout none\n%%\nping = \"PING\\n\" { $reply(\"pong\\n\"); }\n\
                     TIMEOUT(20s) { $reply(\"there?\\n\"); }\n";

#[test]
fn messages_times_and_memory_are_said() {
    let place = Place::new();
    place.write("spec.nest", SPEC);
    let ended = place
        .nest(&["check", "--bounds", "spec.nest"])
        .with_status(0);
    let begins = concat!(
        "Messages                longest\n",
        "  line 8    hello            32\n",
        "  line 9    line   inputBuffer, 1024\n",
    );
    // The widths of the columns are those of the widest cells.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&ended.out);
    assert!(said.starts_with(&words(begins)), "{}", ended.out);
    for part in [
        "Reading held a silent client an unfinished message",
        "NAME 32 5m, idleTimeout 30s, readTimeout",
        "START 1024 20s, TIMEOUT in line 10 30s, readTimeout",
        "Waiting in actions in at most",
        "$reply START, hello, line 30s, writeTimeout",
        "Memory of a connection, at most process prefork thread event uring",
        "session record 64 64 64 64",
        "per-connection variables 64 64 64 64",
        "queued output (outputBuffer) 128K 128K 128K 128K",
        "stack of an action - - 256K 256K",
        "not included:",
    ] {
        assert!(said.contains(part), "{part}\n{}", ended.out);
    }
    ended.err_has("spec.nest: no errors");
}

/// One source: the sum of what is listed is what the server says that it takes.
#[test]
fn the_figures_are_those_of_the_server() {
    let place = Place::new();
    place.write("spec.nest", SPEC);
    let words = ["check", "--bounds", "--format", "json", "--model", "thread"];
    let ended = place
        .nest(&[&words[..], &["spec.nest"]].concat())
        .with_status(0);
    assert_eq!(ended.err, "");
    let lines: Vec<&str> = ended.out.lines().collect();
    let [line] = lines[..] else {
        panic!("{}", ended.out)
    };
    let all: serde_json::Value = serde_json::from_str(line).unwrap();
    let bounds = &all["bounds"];
    assert_eq!(bounds["input_buffer"], 1024);
    assert_eq!(bounds["messages"][0]["longest"], 32);
    assert!(bounds["messages"][1]["longest"].is_null());
    assert_eq!(bounds["reading"][0]["states"][0][0], "NAME");
    assert_eq!(bounds["reading"][1]["silence"], "ends");
    assert_eq!(bounds["reading"][1]["silence_ms"], 20_000);
    assert_eq!(bounds["waits"][0]["limits"][0], "writeTimeout");
    let memory = bounds["memory"].as_array().unwrap();
    let [of] = &memory[..] else {
        panic!("{}", ended.out)
    };
    assert_eq!(of["model"], "thread");
    let items = of["items"].as_array().unwrap();
    let sum: u64 = items.iter().map(|i| i["bytes"].as_u64().unwrap()).sum();
    assert_eq!(of["bytes"], sum);
    let bytes = sum * of["clients"].as_u64().unwrap();
    place.nest(&["build", "spec.nest"]).with_status(0);
    let server = std::process::Command::new(place.path("spec"))
        .arg("--check-config")
        .output()
        .unwrap();
    let said = String::from_utf8(server.stdout).unwrap();
    let shown = format!("10 clients need at most {}K", bytes.div_ceil(1024));
    assert!(said.contains(&shown), "{shown}\n{said}");
}

#[test]
fn what_is_not_allowed_fails_and_is_named() {
    let place = Place::new();
    place.write("spec.nest", SPEC);
    place.write("stays.nest", STAYS);
    let memory = |most: &str| {
        let words = ["check", "--max-connection-memory", most, "--model", "event"];
        place.nest(&[&words[..], &["spec.nest"]].concat())
    };
    assert_eq!(memory("1M").with_status(0).out, "");
    memory("100K")
        .with_status(1)
        .err_has("a connection of the event server can use ")
        .err_has("--max-connection-memory allows 100K")
        .err_has("stack of an action 256K; queued output 128K (lower outputBuffer)");
    memory("0").with_status(2).err_has("write bytes, as in 512");
    let deadlines = |file: &str| place.nest(&["check", "--require-deadlines", file]);
    assert_eq!(deadlines("spec.nest").with_status(0).out, "");
    deadlines("stays.nest")
        .with_status(1)
        .err_has("stays for ever where the states are DEFAULT")
        .err_has("no action of TIMEOUT in line 4 closes")
        .err_has("a client that does not finish its message stays for ever: readTimeout is none");
    place.write(
        "own.nest",
        "%%\nSTART { $timeout(none); }\n\"a\\n\" { $close(); }\n",
    );
    deadlines("own.nest")
        .with_status(1)
        .err_has("no TIMEOUT rule, and $timeout disables idleTimeout (START)");
    place.write("bad.nest", "%%\n\"A\" { $9; }\n");
    place
        .nest(&["check", "--bounds", "bad.nest"])
        .with_status(1)
        .out_has("E0402");
}

/// What other files are to define is not needed for sizes, and what is not used takes nothing.
#[test]
fn functions_of_other_files_may_be_missing() {
    let place = Place::new();
    let spec = "%{\nlong work(const char *);\nextern int more;\n%}\n%%\n\
                [a-z]+ \"\\n\" { char *p = $keep(9); $reply(\"%ld %p\\n\", work($1) + more, p); }\n";
    place.write("other.nest", spec);
    place.write("spec.nest", SPEC);
    let of = |file: &str| {
        place
            .nest(&["check", "--bounds", "--model", "event", file])
            .with_status(0)
    };
    of("other.nest")
        .out_has("$keep (keepLimit)")
        .out_has("the text of a $reply with a format");
    let spec = of("spec.nest").out;
    assert!(
        !spec.contains("$keep") && !spec.contains("process"),
        "{spec}"
    );
}

/// The environment sets options of servers; bounds are those that are built in.
#[test]
fn what_is_built_in_counts() {
    let place = Place::new();
    place.write("spec.nest", SPEC);
    let words = ["check", "--max-connection-memory", "700K", "spec.nest"];
    let status = place
        .command(&words)
        .env("NEST_OUTPUTBUFFER", "100M")
        .status()
        .unwrap();
    assert!(status.success());
}

/// The witness of a match without a limit: nothing decides it, and then the client closes.
#[test]
fn a_match_without_bound_is_shown() {
    let place = Place::new();
    let spec = "%{\nint n;\n%}\n%state D\n%%\n!D: go = \"GO\\n\" { $seen(D); }\n\
                D: data = (.|\\n)* \".\\n\" { n++; $clear(D); }\n";
    place.write("spec.nest", spec);
    place
        .nest(&["check", "spec.nest"])
        .with_status(0)
        .out_has("warning[W0304]: a match without a limit")
        .out_has("after \"GO\\n\", when a client has sent \"a\", every further byte belongs");
    let ended = place
        .nest(&["check", "--replay", "1", "spec.nest"])
        .with_status(0)
        .out_has("Then it closes:");
    assert!(!ended.out.contains("data"), "{}", ended.out);
}
