//! `nest bench`: its table and its sentence, wrong answers and servers that fail, and what cannot be
//! measured.

use crate::common::Place;

/// A comparison of one round, which is soon over: it keeps the processors busy.
const SHORT: &[&str] = &[
    "bench",
    "good.nest",
    "--models",
    "event",
    "--clients",
    "4",
    "--time",
    "300ms",
];

/// One of several rounds.
fn rounds() -> Vec<&'static str> {
    [&SHORT[..SHORT.len() - 1], &["2s"]].concat()
}

const GOOD: &str = "%state KNOWN\nNL \"\\r\"?\"\\n\"\n%%\nchar name[17];\n\
    START { $reply(\"who?\\n\"); }\n\
    \"I \" [a-z]{1,16} NL { strlcpy(name, $2, sizeof name); $seen(KNOWN); $reply(\"ok\\n\"); }\n\
    KNOWN: \"WHO\" NL { $reply(name, \"\\n\"); }\n\
    \"BYE\" NL { $reply(\"bye\\n\"); $close(); }\n";

/// A rule whose C code knows whether its answers are learnt: then there is a trace.
fn planted(measured: &str) -> String {
    format!(
        "%{{\n#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n%}}\n%%\n\
         [a-z]{{1,20}} \"\\n\" {{\n    if (getenv(\"NEST_TRACE_FD\") == NULL) {{ {measured} }}\n    \
         $reply($0);\n}}\n"
    )
}

#[test]
fn models_are_compared() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    let words = [
        "bench",
        "good.nest",
        "--models",
        "event,process",
        "--clients",
        "8",
    ];
    let ended = place
        .nest(&[&words[..], &["--time", "2s"]].concat())
        .with_status(0);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert!(lines[0].contains("CPU µs"), "{}", ended.out);
    // A process for each connection cannot be the cheapest.
    assert!(lines[1].trim_start().starts_with("event "), "{}", ended.out);
    assert!(
        lines[2].trim_start().starts_with("process "),
        "{}",
        ended.out
    );
    let last = lines.last().unwrap();
    assert!(
        last.starts_with("event: least processor time a request at 8 clients"),
        "{last}"
    );
    ended.err_has("conversations with");
    for more in [&["--keep-alive"][..], &["--pipeline", "4"]] {
        let ended = place.nest(&[&words[..], &["--time", "300ms"], more].concat());
        ended.with_status(0);
    }
}

#[test]
fn an_answer_to_the_wrong_client_is_found() {
    let place = Place::new();
    place.write(
        "race.nest",
        "%option threadServer 20\n%{\n#include <unistd.h>\nstatic char last[33];\n%}\n%%\n\
         [a-z]{1,32} \"\\n\" { strlcpy(last, $1, sizeof last); usleep(2000); $reply(last, \"\\n\"); }\n",
    );
    let words = [
        "bench",
        "race.nest",
        "--models",
        "thread",
        "--clients",
        "16",
    ];
    let ended = place.nest(&words).with_status(1);
    ended
        .err_has("error: thread: it answered something else\n")
        .err_has("  expected \"")
        .err_has("  received \"");
}

#[test]
fn servers_that_fail_end_it_with_a_reason() {
    for (planted_code, reason) in [
        (
            "$reply(\"x\"); $close(); return;",
            "it answered something else",
        ),
        (
            "$reply($1, \"\\n\\n\"); return;",
            "it sent bytes that nobody asked for",
        ),
        (
            "$close(); return;",
            "it closed a connection before its answer was complete",
        ),
        ("for (;;) { pause(); }", "it did not answer within 5s"),
        (
            "kill(getppid(), 9); kill(getpid(), 9);",
            "signal 9 ended it",
        ),
    ] {
        let place = Place::new();
        place.write("bad.nest", planted(planted_code));
        let words = ["bench", "bad.nest", "--models", "event", "--clients", "4"];
        let ended = place.nest(&words).with_status(1);
        ended.err_has("error: event: ").err_has(reason);
    }
}

#[test]
fn what_cannot_be_measured_is_said() {
    let place = Place::new();
    place.write("mute.nest", "%%\n[^\\n]* \"\\n\" { }\n");
    place
        .nest(&["bench", "mute.nest"])
        .with_status(1)
        .err_has("no message was found that this server always answers in the same way");
    place.write(
        "once.nest",
        "%%\n\"A\\n\" { $reply(\"a\\n\"); $close(); }\n",
    );
    place
        .nest(&["bench", "once.nest", "--keep-alive"])
        .with_status(1)
        .err_has("--keep-alive: no conversation can be repeated over the same connection");
    place
        .nest(&["bench", "once.nest", "--in", "nowhere"])
        .with_status(2)
        .err_has("nowhere is not a directory");
    place
        .nest(&["bench", "-"])
        .with_status(2)
        .err_has("nest bench needs a file");
}

#[test]
fn a_run_is_kept_and_compared() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    let more = [
        "--rate",
        "200",
        "--json",
        "old.json",
        "--report",
        "page.html",
    ];
    let ended = place.nest(&[SHORT, &more].concat()).with_status(0);
    assert!(
        ended.out.contains("event    at      200/s: "),
        "{}",
        ended.out
    );
    assert!(
        ended.out.contains("there is nothing to compare it with"),
        "{}",
        ended.out
    );
    let page = place.read("page.html");
    assert!(page.contains("<svg ") && page.contains("good.nest: which model is best"));
    let text = place.read("old.json");
    let old: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(old["servers"][0]["name"], "event");
    assert_eq!(old["servers"][0]["loads"][0]["asked"], 200.0);
    let more = ["--compare", "old.json"];
    let ended = place.nest(&[SHORT, &more].concat());
    assert!(
        ended.out.contains("of the earlier processor time: "),
        "{}",
        ended.out
    );
    // An earlier run that was far cheaper in more rounds than chance explains.
    let mut cheap = old.clone();
    let mut sample = cheap["servers"][0]["rounds"][0].clone();
    sample["cost"] = 0.001.into();
    cheap["servers"][0]["rounds"] = vec![sample; 10].into();
    cheap["specification"] = "\u{1b}[31m.nest".into();
    place.write("cheap.json", cheap.to_string());
    let ended = place
        .nest(&[&rounds()[..], &["--compare", "cheap.json"]].concat())
        .with_status(1);
    assert!(ended.out.contains(": dearer (p = 0.0"), "{}", ended.out);
    ended
        .err_has("the earlier run was of another specification: \"\\x1b[31m.nest\"\n")
        .err_has("error: a request has become dearer with event");
    for (text, reason) in [
        ("", "has no figures of nest bench: "),
        ("{\"format\": 1}", "has no figures of nest bench: "),
        (
            &text.replacen("\"format\": 1", "\"format\": 7", 1),
            "its format is 7, not 1",
        ),
    ] {
        place.write("bad.json", text);
        let words = [SHORT, &["--compare", "bad.json"]].concat();
        place.nest(&words).with_status(1).err_has(reason);
    }
}

#[test]
fn idle_clients_are_part_of_the_load() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    let more = ["--idle", "40", "--json", "new.json"];
    place.nest(&[SHORT, &more].concat()).with_status(0);
    let new: serde_json::Value = serde_json::from_str(&place.read("new.json")).unwrap();
    assert_eq!(new["options"][1], "--idle 40");
    // It does not serve them all, or not for long enough.
    place.write("good.nest", format!("%option idleTimeout 1s\n{GOOD}"));
    let words = "bench good.nest --models event --clients 4 --idle 40 --time 14s";
    place
        .nest(&words.split(' ').collect::<Vec<_>>())
        .with_status(1)
        .err_has("error: event: it closed 40 of 40 idle connections while it was measured");
}

#[test]
fn another_server_is_measured_beside_the_models() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    place
        .nest(&["build", "good.nest", "-o", "other", "--model", "process"])
        .with_status(0);
    let other = format!("other={} --port {{port}}", place.path("other").display());
    let ended = place
        .nest(&[SHORT, &["--vs", &other]].concat())
        .with_status(0);
    assert!(ended.out.contains("\n  other "), "{}", ended.out);
    place
        .nest(&[SHORT, &["--vs", "dead=/bin/false {port}"]].concat())
        .with_status(1)
        .err_has("dead does not serve: its exit status is 1");
    for wrong in ["other=x", "=x {port}", "other", "event=x {port}"] {
        place
            .nest(&[SHORT, &["--vs", wrong]].concat())
            .with_status(2);
    }
}

/// A server that does not start without an argument that its own code reads.
const CHOOSING: &str = "%{\n#include <stdio.h>\n#include <string.h>\n\
    static const char *word;\n%}\n%%\n\"A\\n\" { $reply(word, \"\\n\"); }\n%%\n\
    if (argc != 2) {\n    fputs(\"give one word\\n\", stderr);\n    return 2;\n}\nword = argv[1];\n";

#[test]
fn servers_are_given_arguments() {
    let place = Place::new();
    place.write("good.nest", CHOOSING);
    place
        .nest(SHORT)
        .with_status(1)
        .err_has("error: the server does not start: give one word\n")
        .err_has("write them at the end, as with nest run: -- ARGUMENT");
    let more = ["--", "--set", "maxClients=100", "--", "hello"];
    place
        .nest(&[SHORT, &more].concat())
        .with_status(0)
        .err_has("conversations with");
}

/// A server that answers some messages otherwise: they are cut for all, and nothing else is.
#[test]
fn where_another_server_answers_otherwise_is_cut() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    let other = GOOD.replace("\"bye\\n\"", "\"Goodbye.\\n\"");
    place.write("other.nest", &other);
    // It answers everything otherwise.
    place.write(
        "all.nest",
        other.replace("ok\\n", "OK\\n").replace("who?", "?"),
    );
    for name in ["other", "all"] {
        let spec = format!("{name}.nest");
        place.nest(&["build", &spec, "-o", name]).with_status(0);
    }
    let command = |name: &str| format!("{name}={} --port {{port}}", place.path(name).display());
    let vs = command("other");
    let more = [
        "--vs",
        &vs,
        "--json",
        "new.json",
        "--report",
        "page.html",
        "--rate",
        "100",
        "--messages",
        "3",
    ];
    let ended = place.nest(&[SHORT, &more].concat()).with_status(0);
    let ended = ended
        .err_has("other answers otherwise: ")
        .err_has("messages remain, for all servers");
    for text in [
        "other answers otherwise than the models. Not measured, for any server: ",
        "The first difference: it answered something else\n",
        "  send     \"BYE",
        "\n  expected \"bye\\n\"\n  received \"Goodbye.\\n\", of which byte 1 is wrong\n",
        "\n  other ",
    ] {
        assert!(ended.out.contains(text), "{text}: {}", ended.out);
    }
    assert!(place.read("page.html").contains("received &quot;Goodbye."));
    let new: serde_json::Value = serde_json::from_str(&place.read("new.json")).unwrap();
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let cut = &new["cuts"][0];
    assert_eq!(cut["server"], "other");
    let (messages, of) = (number(&cut["messages"]), number(&cut["of"][1]));
    assert!(0 < messages && messages < of, "{messages} of {of}");
    assert!(number(&cut["shorter"]) + number(&cut["left_out"]) > 0);
    // Too little remains.
    let vs = command("all");
    let words = [SHORT, &["--vs", &vs]].concat();
    place
        .nest(&words)
        .with_status(1)
        .err_has("error: all answers otherwise so often that only 0 of ")
        .err_has("leave out rules with a profile")
        .err_has("the first difference: it answered something else");
}

/// Answers that are measured are wrong unless the client sends what a profile says.
const CHOOSY: &str = "%{\n#include <stdlib.h>\n%}\n%%\n\
    put = \"PUT \" [0-9]{1,4} \" \" [a-z]{1,9} \"\\n\" {\n\
    \x20   int n = atoi($2), red = strcmp($4, \"red\") == 0, blue = strcmp($4, \"blue\") == 0;\n\
    \x20   int wrong = n < 40 || n > 60 || !(red || blue);\n\
    \x20   $reply(wrong && getenv(\"NEST_TRACE_FD\") == NULL ? \"wrong\\n\" : \"put\\n\");\n}\n\
    \"BAD\\n\" { $reply(getenv(\"NEST_TRACE_FD\") == NULL ? \"wrong\\n\" : \"bad\\n\"); }\n";

#[test]
fn a_profile_chooses_rules_values_and_think_times() {
    let place = Place::new();
    place.write("good.nest", CHOOSY);
    place
        .nest(SHORT)
        .with_status(1)
        .err_has("it answered something else");
    place.write(
        "p",
        "weight 10 0\npart put $2 40..60\npart put $4 red \"blue\"\nthink 40ms..50ms\n",
    );
    let more = ["--profile", "p", "--keep-alive", "--json", "new.json"];
    place.nest(&[SHORT, &more].concat()).with_status(0);
    let new: serde_json::Value = serde_json::from_str(&place.read("new.json")).unwrap();
    assert_eq!(new["options"][2], "--profile p");
    // Four clients that think 40 ms or longer: at most 100 requests a second, and the first of each.
    let rounds = new["servers"][0]["rounds"].as_array().unwrap();
    let rates: Vec<f64> = rounds.iter().filter_map(|r| r["rate"].as_f64()).collect();
    assert!(
        rates.iter().all(|rate| (0.1..120.0).contains(rate)),
        "{rates:?}"
    );
    for (text, reason) in [
        ("weight 10 0\nweight put 0\n", "no message was found that"),
        (
            "\nweight pat 1\n",
            "error: p:2: there is no rule pat; write",
        ),
        (
            "part put $2 10000\n",
            "error: p:1: $2 of put cannot be \"10000\"",
        ),
    ] {
        place.write("p", text);
        let words = [SHORT, &["--profile", "p"]].concat();
        place.nest(&words).with_status(1).err_has(reason);
    }
    place
        .nest(&[SHORT, &["--profile", "none"]].concat())
        .with_status(1)
        .err_has("cannot read none");
}

/// Answers that tell what the server has done before: how much, for whom, for how long.
const TELLTALE: &str = "%{\n#include <time.h>\n\
    static unsigned count, known[26];\nstatic double began;\n\
    static double seconds(void) {\n    struct timespec now;\n    \
    clock_gettime(CLOCK_REALTIME, &now);\n    return now.tv_sec + now.tv_nsec / 1e9;\n}\n%}\n%%\n\
    START { if (began == 0) { began = seconds(); } }\n\
    \"HELLO\\n\" { count++; $reply(\"hello\\n\"); }\n\
    \"COUNT\\n\" { $reply(\"hundreds %u of greetings\\n\", count / 100); }\n\
    \"CLOCK\\n\" { $reply(\"up %d\\n\", (int)((seconds() - began) / 0.3)); }\n\
    \"ADD \" [a-z] \"\\n\" { $reply(known[*$2 - 'a']++ == 0 ? \"added\\n\" : \"known before\\n\"); }\n";

#[test]
fn what_a_server_remembers_of_all_clients_is_learnt() {
    let place = Place::new();
    place.write("tell.nest", TELLTALE);
    // Each of them is the same in conversations that are run once, beside few others.
    let words = "bench tell.nest --models event --clients 8 --time 1s --messages 6";
    let words: Vec<&str> = words.split(' ').collect();
    place
        .nest(&words)
        .with_status(0)
        .err_has("conversations with");
    // What does not depend on it is still compared.
    let wrong = "$reply(getenv(\"NEST_TRACE_FD\") == NULL ? \"hallo\\n\" : \"hello\\n\")";
    let text = TELLTALE.replace("$reply(\"hello\\n\")", wrong);
    let text = text.replace(
        "#include <time.h>",
        "#include <stdlib.h>\n#include <time.h>",
    );
    place.write("tell.nest", text);
    place
        .nest(&words)
        .with_status(1)
        .err_has("  expected \"hello\\n\"");
}

#[test]
fn the_harm_of_slow_and_hostile_clients_is_shown() {
    let place = Place::new();
    place.write("good.nest", GOOD);
    place.write("rough", "slow 50%\nhostile 25%\nsources 300\n");
    let more = ["--profile", "rough", "--json", "rough.json"];
    let ended = place.nest(&[&rounds()[..], &more].concat()).with_status(0);
    let wanted = "  beside 2 slow clients and 1 hostile client, as a multiple of the same without them:\n  event    ";
    assert!(ended.out.contains(wanted), "{}", ended.out);
    let run: serde_json::Value = serde_json::from_str(&place.read("rough.json")).unwrap();
    let server = &run["servers"][0];
    assert_eq!(
        server["calm"].as_array().unwrap().len(),
        server["rounds"].as_array().unwrap().len()
    );
    assert!(server["crowd"]["attacks"].as_u64().unwrap() > 0);
    place.write("rough", "slow half\n");
    place
        .nest(&[SHORT, &more].concat())
        .with_status(1)
        .err_has("rough:1: half is not a share of clients; write one of at most 100%, as in 5%");
}
