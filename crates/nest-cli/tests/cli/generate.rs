//! `nest test --generate`: the conversations that it finds, and what it says about the others.

use crate::common::Place;
use crate::common::greet::{greet, quick};

#[test]
fn what_is_made_covers_what_it_says() {
    let place = greet();
    place
        .nest(&quick(&["--generate", "greet.nest"]))
        .with_status(0)
        .out_has("greet-cases.md: 1 conversation, which covers 3 transitions more")
        .out_has("now covered: 5 of 5, 100%");
    let first = place.read("greet-cases.md");
    place
        .nest(&[
            "test",
            "--model",
            "event",
            "--min-coverage",
            "100",
            "greet.nest",
        ])
        .with_status(0)
        .out_has("ok      greet-cases.md")
        .out_has("0 failed");
    // What is there stays; the same comes of the same.
    place
        .nest(&quick(&["--generate", "greet.nest"]))
        .with_status(1)
        .err_has("greet-cases.md is there");
    place
        .nest(&quick(&["--generate", "--force", "greet.nest"]))
        .with_status(0);
    assert_eq!(place.read("greet-cases.md"), first);
    place
        .nest(&quick(&["--generate", "-o", "more.md", "greet.nest"]))
        .with_status(0)
        .out_has("everything is covered");
    assert!(!crate::common::there(&place.path("more.md")));
}

#[test]
fn what_cannot_be_tested_takes_no_other_rule_with_it() {
    let place = Place::new();
    // A script keeps less of a reply than that.
    place.write(
        "long.nest",
        "%%\nfirst = \"A\\n\" { $reply(\"a\\n\"); }\n\
         long = \"L\\n\" { for (int i = 0; i < 50000; i++) { $reply(\"0123456789\"); } $reply(\"\\n\"); }\n\
         last = \"Z\\n\" { $reply(\"z\\n\"); }\n",
    );
    place
        .nest(&quick(&["--generate", "long.nest"]))
        .with_status(0)
        .out_has("2 conversations, which cover 2 transitions more")
        .out_has("long in DEFAULT: it differs in script");
}

#[test]
fn what_an_action_reads_is_tried_again_in_another_conversation() {
    let place = Place::new();
    // The first three bytes of the next message belong to the action.
    place.write(
        "skip.nest",
        "%%\ndata = \"DATA\\n\" { $skip(3); $reply(\"stored\\n\"); }\n\
         noop = \"NOOP\\n\" { $reply(\"ok\\n\"); }\n\
         other = [^\\n]* \"\\n\" { $reply(\"what\\n\"); }\n",
    );
    place
        .nest(&quick(&["--generate", "skip.nest"]))
        .with_status(0)
        .out_has("now covered: 3 of 3, 100%");
    let page = place.read("skip-cases.md");
    assert!(
        page.contains("connect\nsend \"NOOP\\n\"\nexpect \"ok"),
        "{page}"
    );
    place
        .nest(&["test", "--quick", "--min-coverage", "100", "skip.nest"])
        .with_status(0);
}

#[test]
fn what_c_compares_is_found_and_what_varies_is_a_pattern() {
    let place = Place::new();
    place.write(
        "door.nest",
        "%state OPEN\n%{\n#include <string.h>\n#include <stdio.h>\nstatic unsigned count;\n%}\n%%\n\
         !OPEN: key = \"key \" [a-z]{1,9} \"\\n\" {\n\
         if (strcmp($2, \"sesame\") == 0) { $seen(OPEN); }\n\
         $reply(\"try %u\\nof you\\n\", ++count);\n}\n\
         OPEN: in = \"in\\n\" { $reply(\"in\\n\"); $close(); }\n\
         OPEN: TIMEOUT(2h) { $reply(\"slow\\n\"); $close(); }\n",
    );
    place
        .nest(&quick(&["--generate", "-o", "sub.md", "door.nest"]))
        .with_status(0)
        .out_has("now covered: 3 of 3, 100%");
    let page = place.read("sub.md");
    assert!(
        page.contains("send \"key sesame\\n\"\nexpect~ \"try [^\\n]*\\nof you\\n\""),
        "{page}"
    );
    assert!(place.read("sub-2.md").contains("pass 7200s"));
    place
        .nest(&["test", "--quick", "--min-coverage", "100", "door.nest"])
        .with_status(0);
}

#[test]
fn what_is_not_reached_is_said() {
    let place = Place::new();
    place.write(
        "odd.nest",
        "%state ODD\n%{\n#include <unistd.h>\nstatic unsigned turn;\n%}\n%%\n\
         !ODD: step = \"s\\n\" { if (getppid() == 0) { $seen(ODD); } $reply(\"ok\\n\"); }\n\
         ODD: late = \"l\\n\" { $reply(\"late\\n\"); }\n\
         crash = \"c\\n\" { if (turn == 0) { __builtin_trap(); } }\n",
    );
    place
        .nest(&quick(&["--generate", "odd.nest"]))
        .with_status(0)
        .out_has("late in DEFAULT ODD: no conversation that was tried leads to these states")
        .out_has("crash in DEFAULT: the server ends there, with signal");
    let page = place.read("odd-cases.md");
    assert!(
        page.contains("send \"s\\n\"") && !page.contains("send \"c"),
        "{page}"
    );
}

#[test]
fn what_varies_becomes_a_pattern() {
    let place = Place::new();
    place.write(
        "varies.nest",
        "%{\n#include <time.h>\nstatic int n = 7;\n%}\nNL \"\\n\"\n%%\n\
         \"date\" NL { $reply(\"Date: \", $date(), \" now\\n\"); }\n\
         \"year\" NL { time_t t = time(NULL); struct tm u; gmtime_r(&t, &u);\n\
         $reply(\"year %d (AD)\\n\", u.tm_year + 1900); }\n\
         \"count\" NL { $reply(\"%d: counted\\n\", n++); }\n\
         \"same\" NL { $reply(\"always 2026\\n\"); }\n\
         \"peer\" NL { $reply(\"you are \", $peer(), \", I think\\n\"); }\n",
    );
    place
        .nest(&quick(&["--generate", "varies.nest"]))
        .with_status(0)
        .out_has("now covered: 5 of 5, 100%");
    let page = place.read("varies-cases.md");
    for line in [
        "expect~ \"Date: [^\\n]* GMT now\\n\"",
        "expect~ \"year [^\\n]* \\\\(AD\\\\)\\n\"",
        "expect~ \"[^\\n]*: counted\\n\"",
        "expect \"always 2026\\n\"",
        "expect~ \"you are [^\\n]*, I think\\n\"",
    ] {
        assert!(page.contains(line), "{line}\n{page}");
    }
    place
        .nest(&quick(&["varies.nest"]))
        .with_status(0)
        .out_has("0 failed");
}
