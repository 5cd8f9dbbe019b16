//! What waits: TIMEOUT rules, durations, `$block`, and what of the runtime they select.

use nest_diag::Code;
use nest_machine::{Feature, Machine, Overrides, compile};
use nest_syntax::Alone;

fn compiled(text: &str) -> (Vec<Code>, Option<Machine>) {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let codes = compiled.diagnostics.iter().map(|d| d.code).collect();
    (codes, compiled.machine)
}

#[track_caller]
fn good(text: &str) -> Machine {
    let (codes, machine) = compiled(text);
    assert_eq!(codes, [], "{text}");
    machine.expect(text)
}

/// What an action with this text draws.
fn action(text: &str) -> Vec<Code> {
    compiled(&format!(
        "%{{\nint cold(void);\n#define EACH(i) for (int i = 0; i < 3; i++)\n%}}\n%%\nint hits;\n\
         \"a\" {{ {text} }}\n"
    ))
    .0
}

#[test]
fn timers_stand_beside_the_rules() {
    let m = good(
        "%state A\n%%\nTIMEOUT(5s) { $seen(A); }\n\nA: {\n  TIMEOUT(1500ms) { $close(); }\n}\n",
    );
    let timers: Vec<(&str, usize, u32)> = m
        .timers
        .iter()
        .map(|t| (t.label.as_str(), t.line, t.after))
        .collect();
    assert_eq!(timers, [("line 3", 3, 5000), ("line 6", 6, 1500)]);
    assert!(m.rules.is_empty());
    assert_eq!(m.timers[0].cond, nest_machine::Cond::True);
    assert_eq!(m.timers[1].cond, nest_machine::Cond::State(2));
}

#[test]
fn the_time_of_a_timeout() {
    for (time, ms) in [
        ("1ms", 1),
        ("999ms", 999),
        ("1s", 1000),
        ("90s", 90_000),
        ("5m", 300_000),
        ("24h", 86_400_000),
    ] {
        let m = good(&format!("%%\nTIMEOUT({time}) {{ $close(); }}\n"));
        assert_eq!(m.timers[0].after, ms, "{time}");
    }
    for time in [
        "",
        "5",
        "0s",
        "none",
        "25h",
        "86400001ms",
        "5 s",
        "-5s",
        "5S",
        "1.5s",
        "s",
        "5sec",
        "1m30s",
        "99999999999999999999s",
        "\u{661}s",
    ] {
        let (codes, _) = compiled(&format!("%%\nTIMEOUT({time}) {{ $close(); }}\n"));
        assert_eq!(codes, [Code::E0211], "{time}");
    }
}

#[test]
fn nothing_matched_where_a_timeout_fires() {
    for text in ["$reply($1);", "$reply($0);", "f($len(1));"] {
        let (codes, _) = compiled(&format!("%%\nTIMEOUT(5s) {{ {text} }}\n"));
        assert_eq!(codes, [Code::E0402], "{text}");
    }
}

#[test]
fn a_time_has_a_unit_or_is_an_expression() {
    for text in [
        "$sleep(5s);",
        "$sleep( 200ms );",
        "$sleep(hits);",
        "$sleep(hits * 1000);",
        "$sleep(cold() ? 5s : 1m);",
        "$timeout(24h);",
        "$timeout(none);",
    ] {
        assert_eq!(action(text), [], "{text}");
    }
    for text in [
        "$sleep(5);",
        "$sleep(0);",
        "$sleep(0s);",
        "$timeout(25h);",
        "$timeout(0);",
        "$sleep((5));",
        "$timeout(-1);",
        "$sleep(5 s);",
        "$sleep(none);",
        "$timeoutOf(1, none);",
        "$waitFor(1, NEST_READABLE, none);",
    ] {
        assert_eq!(action(text), [Code::E0408], "{text}");
    }
    for text in ["$sleep();", "$sleep;", "$timeout(1s, 2s);"] {
        assert_eq!(action(text), [Code::E0403], "{text}");
    }
}

#[test]
fn arguments_that_may_be_left_out() {
    for text in [
        "$readLine();",
        "$readLine(80);",
        "$fileReply($0);",
        "$fileReply($0, 1);",
        "$fileReply($0, 1, 2);",
        "$fileReceive(\"x\");",
        "$fileReceive(\"x\", 5, NEST_SYNC);",
    ] {
        assert_eq!(action(text), [], "{text}");
    }
    for text in [
        "$readLine(1, 2);",
        "$fileReply();",
        "$fileReply($0, 1, 2, 3);",
        "$fileReceive();",
        "$fileReceive(\"x\", NEST_SYNC);",
        "$fileReply($0, , 2);",
        "$read();",
        "$readInto(p);",
        "$fileOpen(\"x\");",
        "$pending(1);",
    ] {
        assert_eq!(action(text), [Code::E0403], "{text}");
    }
}

#[test]
fn what_a_block_may_hold() {
    for text in [
        "$block { hits = cold(); }",
        "$block{;}",
        "hits = ({ $block { cold(); } 5; });",
        "int n; $block { n = cold() + (int)$len(0); $log(NEST_INFO, \"%s %s\", $0, $peer()); } hits = n;",
        "if (hits) $block { cold(); } else hits = 1;",
        "if (hits) { $block { cold(); } } else $block { hits = 2; }",
        "for (;;) { $block { cold(); } if (hits) break; }",
        "$block { for (;;) { if (cold()) break; else continue; } }",
        "$block { do { switch (cold()) { case 1: break; default: continue; } } while (0); }",
        "$block { EACH(i) { if (cold()) break; } }",
        "$block { hits = _Generic(hits, int: 1, default: 2); }",
        "$block { int a[] = { 1, 2 }; hits = a[0] ? 1 : 2; (void)\"return\"; /* goto */ }",
        "$block { cold(); } $block { cold(); }",
        "$block { cold(); } $close();",
        "while (cold()) { $block { hits++; } continue; }",
        "switch (hits) { case 1: $block { cold(); } break; default: ; }",
    ] {
        assert_eq!(action(text), [], "{text}");
    }
}

#[test]
fn what_a_block_may_not_hold() {
    for text in [
        "$block { $reply(\"x\"); }",
        "$block { f($self); }",
        "$block { $sleep(5s); }",
        "$block { $close(); }",
        "$block { $clear(*); }",
        "$block { $keep(4); }",
        "$block { { if (cold()) { $readLine(); } } }",
    ] {
        let codes = action(text);
        assert!(codes.contains(&Code::E0409), "{text}: {codes:?}");
    }
    assert_eq!(action("$block { $block { cold(); } }"), [Code::E0409]);
    assert_eq!(
        action("$block { $reply(\"x\"); $flush(); }"),
        [Code::E0409; 2]
    );
}

#[test]
fn a_block_is_not_left() {
    for text in [
        "$block { return; }",
        "$block { $return; }",
        "$block { if (hits) { goto out; } } out: ;",
        "for (;;) { $block { break; } }",
        "for (;;) { $block { continue; } }",
        "for (;;) { $block { switch (hits) { case 1: continue; } } }",
        "for (;;) { $block { if (cold()) { break; } } }",
        "for (;;) { $block { { break; } } }",
        "switch (hits) { case 1: $block { case 2: cold(); } }",
        "switch (hits) { $block { default: cold(); } }",
        "goto in; $block { in: cold(); }",
        "$block { for (;;) { return; } }",
    ] {
        let codes = action(text);
        assert!(
            !codes.is_empty() && codes.iter().all(|c| *c == Code::E0410),
            "{text}: {codes:?}"
        );
    }
}

#[test]
fn hostile_blocks_are_read_in_time() {
    let started = std::time::Instant::now();
    for text in [
        "$block { ".repeat(4_000),
        format!("{}{}", "$block { ".repeat(4_000), "}".repeat(4_000)),
        format!(
            "$block {{ {}break;{} }}",
            "for (;;) {".repeat(4_000),
            "}".repeat(4_000)
        ),
        format!("$block {{ {} }}", "if (x) break; a: ".repeat(4_000)),
        format!("$block {{ {}", "f((".repeat(4_000)),
        format!("$block {{ {} }}", "M(x) { break; } ".repeat(4_000)),
    ] {
        let _ = action(&text);
    }
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

#[test]
fn a_block_has_braces() {
    for text in [
        "$block;",
        "$block(cold());",
        "$block cold();",
        "$block",
        "hits = $block { cold(); };",
        "while ($block { cold(); }) { }",
    ] {
        assert_eq!(action(text), [Code::E0403], "{text}");
    }
}

#[test]
fn a_server_has_what_it_names() {
    let features = |text: &str| good(text).features;
    let none = features("%%\n\"a\" { $reply($0); $sleep(1s); $readLine(); }\nTIMEOUT(1s) { }\n");
    assert_eq!(none, nest_machine::Features::default());
    assert!(features("%%\n\"a\" { $timeout(1s); }\n").contains(Feature::Timeout));
    assert!(features("%%\n\"a\" { $block { } }\n").contains(Feature::Blocks));
    assert!(features("%%\n\"a\" { $keep(1); }\n").contains(Feature::Keep));
    assert!(features("%%\nTIMEOUT(1s) { $fileReply(\"x\"); }\n").contains(Feature::Files));
    let uploads = features("%%\n\"a\" { $fileDrop($fileCreate(\"x\")); }\n");
    assert!(uploads.contains(Feature::Files) && uploads.contains(Feature::Uploads));
    assert!(!uploads.contains(Feature::Lists));
    let lists = features("%%\n\"a\" { nest_files l; $fileList(\"x\", &l); }\n");
    assert!(lists.contains(Feature::Files) && lists.contains(Feature::Lists));
    assert!(!lists.contains(Feature::Uploads));
    let helper = |call: &str| {
        features(&format!(
            "%{{\nstatic void f(nest_session *s) {{ {call}; }}\n%}}\n%%\n\"a\" {{ f($self); }}\n"
        ))
    };
    assert!(helper("nest_timeout(s, 5)").contains(Feature::Timeout));
    assert!(helper("nest_file_receive(s, \"x\", 5, 0)").contains(Feature::Files));
    assert!(helper("nest_file_create(s, \"x\")").contains(Feature::Uploads));
    assert!(helper("nest_block_begin(s)").contains(Feature::Blocks));
    assert!(helper("nest_keep(s, 1)").contains(Feature::Keep));
    assert_eq!(
        helper("puts(\"nest_timeout nest_file_open\") /* nest_block_begin */"),
        nest_machine::Features::default()
    );
    let overrides = Overrides {
        beside: vec!["void f(nest_session *s) { nest_timeout(s, 5); }".to_string()],
        ..Overrides::default()
    };
    let beside = compile(
        "t.nest",
        "%%\n\"a\" { f($self); }\n",
        &mut Alone,
        &overrides,
    );
    let features = beside.machine.expect("no error").features;
    assert!(features.contains(Feature::Timeout));
}

#[test]
fn options_of_time_and_place() {
    let m = good(
        "%option readTimeout 5s\n%option idleTimeout none\n%option logging requests\n%option inetd\n\
         %option fileRoot \"/srv/a b\"\n%option helpers 8\n%%\n\"a\" { }\n",
    );
    let initial = |name: &str| {
        m.settings
            .run
            .iter()
            .find(|o| o.info.name == name)
            .map(|o| o.initial.as_str())
    };
    assert_eq!(initial("readTimeout"), Some("5s"));
    assert_eq!(initial("idleTimeout"), Some("none"));
    assert_eq!(initial("writeTimeout"), Some("30s"));
    assert_eq!(initial("fileRoot"), Some("/srv/a b"));
    assert_eq!(initial("helpers"), Some("8"));
    assert_eq!(initial("serverPort"), None);
    let expected = [Feature::Log, Feature::Requests, Feature::Inetd];
    assert_eq!(m.features, expected.into_iter().collect());
    for (option, code) in [
        ("readTimeout 5", Code::E0602),
        ("readTimeout 25h", Code::E0602),
        ("readTimeout", Code::E0602),
        ("idleTimeout 1s 2s", Code::E0602),
        ("drainTimeout never", Code::E0602),
        ("logging everything", Code::E0602),
        ("helpers 0", Code::E0602),
        ("helpers 65", Code::E0602),
        ("inetd yes", Code::E0602),
        ("inetd\n%option serverPort 80", Code::E0604),
        ("inetd\n%option listen *:80", Code::E0604),
        ("inetd\n%option standAlone", Code::E0604),
        ("inetd\n%option mode debug", Code::E0604),
        ("traceFile x", Code::E0604),
        ("mode production\n%option traceSize 1M", Code::E0604),
        ("mode loud", Code::E0602),
        ("priorities 1", Code::E0602),
        ("priorities 9", Code::E0602),
        ("threadServer 9\n%option priorities 2", Code::E0218),
        ("priorities 3\n%option quota 8/1", Code::E0219),
        ("priorities 2\n%option quota 8/0", Code::E0602),
        ("priorities 2\n%option quota x", Code::E0602),
        ("quota 8/1", Code::E0220),
        ("processors 0", Code::E0602),
        ("processors 65", Code::E0602),
        ("processors 4..2", Code::E0602),
        ("processors 2..", Code::E0602),
        ("threadServer 9\n%option processors 2", Code::E0604),
        ("processors 2\n%option actionTimeout 1s", Code::E0604),
        ("threadServer 9\n%option completion sync", Code::E0604),
        ("processServer 9\n%option helpers 2", Code::E0604),
        ("preforkServer 9\n%option dispatchers 2", Code::E0604),
        ("threadServer 9\n%option clientsPerWorker 5", Code::E0604),
        ("eventServer 9\n%option clientsPerWorker 5", Code::E0604),
        ("eventServer 9\n%option perAddress 10", Code::E0604),
        (
            "perAddress 10 /24 /64\n%option processServer 9",
            Code::E0604,
        ),
        ("listenPriority 1", Code::E0220),
        ("priorities 2\n%option listenPriority 3", Code::E0222),
        ("priorities 2\n%option listenPriority 1/2", Code::E0222),
        (
            "priorities 2\n%option listenPriority 1/2\n%option listen *:80 proxy",
            Code::E0222,
        ),
        // What the server itself would refuse when it starts.
        ("helpers +2", Code::E0602),
        ("dispatchers +2", Code::E0602),
        ("perAddress 20 /+24", Code::E0602),
        ("preforkServer 9 spare +1..2", Code::E0602),
        ("listen *:+80", Code::E0602),
        ("listen *:000080", Code::E0602),
        ("listen [fe80::1]:80", Code::E0602),
        ("listen [fe80::1%]:80", Code::E0602),
        ("listen [::1%eth0]:80", Code::E0602),
        ("mode debug\n%option traceSize 1K", Code::E0602),
    ] {
        let (codes, _) = compiled(&format!("%option {option}\n%%\n\"a\" {{ }}\n"));
        assert_eq!(codes, [code], "{option}");
    }
    for (action, code) in [("0", Code::E0221), ("3", Code::E0221), ("-1", Code::E0221)] {
        let text = format!("%option priorities 2\n%%\n\"a\" {{ $priority({action}); }}\n");
        assert_eq!(compiled(&text).0, [code], "{action}");
    }
    let (codes, _) = compiled("%%\n\"a\" { $priority(1); }\n");
    assert_eq!(codes, [Code::E0220]);
    let m = good("%option priorities 3\n%%\nint n;\n\"a\" { $priority(n); $priority(3); }\n");
    assert_eq!(m.settings.classes, 3);
    let quota = m.settings.run.iter().find(|o| o.info.name == "quota");
    assert_eq!(quota.map(|o| o.initial.as_str()), Some("4/2/1"));
    good("%option listen systemd 127.0.0.1:80 [fe80::1%eth0]:80\n%%\n\"a\" { }\n");
    for (length, fits) in [(106, true), (107, false)] {
        let path = "p".repeat(length);
        let (codes, _) = compiled(&format!("%option listen unix:{path}\n%%\n\"a\" {{ }}\n"));
        assert_eq!(codes.is_empty(), fits, "{length}");
    }
    good("%option eventServer 9\n%option completion sync\n%option perAddress 9\n%%\n\"a\" { }\n");
    good(
        "%option preforkServer 9\n%option clientsPerWorker 5\n%option perAddress none\n%%\n\"a\" { }\n",
    );
    let loops = "%option eventServer 9\n%option dispatchers 2\n%option helpers 2\n%%\n\"a\" { }\n";
    let overrides = Overrides {
        model: Some("thread".to_string()),
        ..Overrides::default()
    };
    let tried = compile("t.nest", loops, &mut Alone, &overrides);
    assert!(tried.machine.is_some(), "another model is only tried");
}
