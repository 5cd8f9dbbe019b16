//! `nest bench` where something else goes wrong: other servers that do not behave, signals, files that are too
//! large or cannot be written, limits of the system.

use std::path::Path;
use std::time::Duration;

use crate::common::Place;

const SHORT: &[&str] = &[
    "bench",
    "good.nest",
    "--models",
    "event",
    "--clients",
    "4",
    "--time",
    "2s",
];
const GOOD: &str = "%option eventServer 100\nNL \"\\r\"?\"\\n\"\n%%\n\
    \"HI \" [a-z]{1,8} NL { $reply(\"hello \", $2, \"\\n\"); }\n\
    \"BYE\" NL { $reply(\"bye\\n\"); $close(); }\n";

fn good() -> Place {
    let place = Place::new();
    place.write("good.nest", GOOD);
    place
}

#[test]
fn a_daemon_does_not_outlive_the_run() {
    let place = good();
    place.program(
        "daemon",
        "#!/bin/sh\nsetsid sh -c 'echo $$ > new; mv new \"$0\"; exec sleep 1000' \"$1\" > /dev/null 2>&1 &\n\
         until [ -e \"$1\" ]; do sleep 0.01; done\n",
    );
    let (program, pid) = (place.path("daemon"), place.path("pid"));
    let vs = format!("daemon={} {} {{port}}", program.display(), pid.display());
    // What ran before is not ended.
    let words = [SHORT, &["--vs", &vs]].concat();
    place
        .nest_behind("sleep 1000 > /dev/null 2>&1 &\necho $! > other", &words)
        .with_status(1)
        .err_has("daemon does not serve: its exit status is 0; it must stay in the foreground");
    let lives = |name: &str| {
        let pid: u32 = place.read(name).trim().parse().unwrap();
        let lives = Path::new(&format!("/proc/{pid}")).exists();
        if lives {
            crate::common::kill(pid, "KILL");
        }
        lives
    };
    assert_eq!((lives("pid"), lives("other")), (false, true));
}

#[test]
fn what_a_server_prints_is_bounded() {
    let place = good();
    place.program(
        "long",
        "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' a\nprintf 'red \\033[31mend\\n'\nexit 1\n",
    );
    let vs = format!("long={} {{port}}", place.path("long").display());
    let ended = place.nest(&[SHORT, &["--vs", &vs]].concat()).with_status(1);
    let ended = ended.err_has("aaared ?[31mend\n");
    assert!(ended.err.len() < 5000, "{}", ended.err.len());
    // It sees that what it has printed becomes less.
    place.program(
        "flood",
        "#!/bin/sh\nbefore=0\nfor n in $(seq 1000); do\n    head -c 100000 /dev/zero\n    \
         now=$(stat -L -c %s /proc/self/fd/2)\n    [ \"$now\" -lt \"$before\" ] && exit 33\n    \
         before=$now\ndone\nexit 34\n",
    );
    let vs = format!("flood={} {{port}}", place.path("flood").display());
    place
        .nest(&[SHORT, &["--vs", &vs]].concat())
        .with_status(1)
        .err_has("flood does not serve: its exit status is 33; ");
}

#[test]
fn a_signal_ends_the_servers_as_well() {
    let place = good();
    for signal in ["INT", "TERM", "HUP"] {
        let words = "bench good.nest --models event,process --clients 4 --time 60s";
        let mut bench = place.start(&words.split(' ').collect::<Vec<_>>());
        bench.line_with("round 1, ");
        let servers = loop {
            match bench.descendants() {
                none if none.is_empty() => std::thread::sleep(Duration::from_millis(5)),
                some => break some,
            }
        };
        bench.signal(signal);
        assert!(!bench.end().success());
        let left = |pid: &&u32| Path::new(&format!("/proc/{pid}")).exists();
        assert_eq!(servers.iter().find(left), None, "{signal}");
    }
    // It was started by nohup.
    let hang_up = "trap '' HUP\n\
        (until grep -q 'conversations with' said || ! kill -0 $$; do sleep 0.05; done; kill -HUP $$) \
        > /dev/null 2>&1 &\nexec 2> said";
    place.nest_behind(hang_up, SHORT).with_status(0);
}

#[test]
fn results_are_written_as_a_whole_or_not_at_all() {
    let place = good();
    std::fs::create_dir(place.path("folder")).unwrap();
    for option in ["--json", "--report"] {
        let words = [SHORT, &[option, "folder"]].concat();
        let ended = place.nest(&words).with_status(1);
        let ended = ended.err_has("error: cannot write folder: is a directory\n");
        assert!(!ended.err.contains("conversations"), "{}", ended.err);
    }
    place
        .nest(&[SHORT, &["--json", "x", "--report", "x"]].concat())
        .with_status(2)
        .err_has("--json and --report name the same file");
    // With one short conversation no other file is longer than the page.
    place.write("one.talk", "nest recording 1\ntalk\nsend \"BYE\\n\"\nend\n");
    let more = ["--replay", "one.talk", "--report", "page.html"];
    let words = [SHORT, &more].concat();
    place.nest(&words).with_status(0);
    let page = place.read("page.html");
    let full = "trap '' XFSZ\nulimit -f 16";
    place
        .nest_behind(full, &words)
        .with_status(1)
        .err_has("error: cannot write page.html: file too large\n");
    assert!(place.read("page.html") == page, "the old page has changed");
    let all = std::fs::read_dir(place.path(".")).unwrap();
    let mut names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.find(|name| name.contains("page.html.")), None);
    place
        .nest(&[SHORT, &["--json", "/dev/stdout"]].concat())
        .with_status(0)
        .out_has("\n  \"format\": 1,\n");
}

#[test]
fn limits_of_the_system_are_kept_and_said() {
    let place = good();
    let words = "bench good.nest --models event --clients 200 --time 1s";
    let words: Vec<&str> = words.split(' ').collect();
    place.nest_behind("ulimit -Sn 100", &words).with_status(0);
    place
        .nest_behind("ulimit -n 100", &words)
        .with_status(1)
        .err_has(
            "error: 200 clients need 264 open files, more than the system allows; choose fewer",
        );
    for (option, reason) in [("--profile", "64 KB"), ("--compare", "64 MB")] {
        let words = [SHORT, &[option, "/dev/zero"]].concat();
        place
            .nest_behind("ulimit -v 4000000", &words)
            .with_status(1)
            .err_has(&format!("error: /dev/zero has more than {reason}\n"));
    }
}

/// The lowest rate: something is due in the measured time.
#[test]
fn a_low_rate_is_measured() {
    let place = good();
    let more = ["--rate", "1", "--json", "new.json"];
    place.nest(&[SHORT, &more].concat()).with_status(0);
    let new: serde_json::Value = serde_json::from_str(&place.read("new.json")).unwrap();
    let load = &new["servers"][0]["loads"][0];
    assert!(load["answered"].as_f64().unwrap() > 0.0, "{load}");
}
