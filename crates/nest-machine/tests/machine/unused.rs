//! States that are marked and never asked for, or the other way round: by directives, and by
//! functions that have the session.

use nest_machine::{Overrides, compile};
use nest_syntax::Alone;

/// Messages of W0201 about a specification with the states A and B, the C `before` it.
#[track_caller]
fn says(before: &str, rules: &str, expected: &[&str]) {
    let text = format!("%{{\n{before}\n%}}\n%state A B\n%%\n{rules}\n");
    let found = compile("t.nest", &text, &mut Alone, &Overrides::default());
    let reported: Vec<&str> = found
        .diagnostics
        .iter()
        .map(|d| d.message.as_str())
        .collect();
    assert!(found.machine.is_some(), "{text}\n{reported:?}");
    assert_eq!(reported, expected, "{text}");
}

const BOTH: [&str; 2] = [
    "the state `A` is tested and never set",
    "the state `B` is not used",
];

#[test]
fn directives_mark_and_ask() {
    says("", "A: \"a\" { }", &BOTH);
    says(
        "",
        "\"a\" { if ($isset(A)) $seen(B); }",
        &[BOTH[0], "the state `B` is set and never tested"],
    );
    says(
        "",
        "START { $next(A); }\nA: \"a\" { $seen(B); }\nEND { if ($isset(B)) $reply(\"b\"); }",
        &[],
    );
}

#[test]
fn functions_mark_and_ask() {
    let helper =
        |body: &str| format!("static void f(int n, nest_session *s) {{ (void)n; {body} }}");
    let calls = "A: \"a\" { f(1, $self); }";
    says(&helper("nest_reply(s, \"x\");"), calls, &BOTH);
    says(
        &helper("nest_seen(s, t_STATE_A);"),
        calls,
        &["the state `B` is not used"],
    );
    says(
        &helper("if (nest_isset(s, t_STATE_B)) nest_seen(s, 2);"),
        calls,
        &["the state `B` is tested and never set"],
    );
    // Through another; not what is never called.
    let two = "static void g(nest_session *s) { nest_seen(s, t_STATE_A); }\n";
    says(
        &format!("{two}{}", helper("g(s);")),
        calls,
        &["the state `B` is not used"],
    );
    says(
        &format!("{two}{}", helper("nest_reply(s, \"x\");")),
        calls,
        &BOTH,
    );
    // END's functions ask, too.
    let asks = helper("if (nest_isset(s, t_STATE_B)) nest_reply(s, \"b\");");
    says(
        &asks,
        "START { $seen(A, B); }\nA: \"a\" { }\nEND { f(1, $self); }",
        &[],
    );
    // Which one is not clear; who has it is not known.
    says(
        &helper("if (nest_isset(s, (unsigned)n)) nest_seen(s, t_STATE_A);"),
        calls,
        &["the state `B` is tested and never set"],
    );
    says(
        &helper("nest_seen(s, (unsigned)n);"),
        calls,
        &["the state `B` is set and never tested"],
    );
    says(
        &helper("if (nest_lastseen(s) == 3) nest_seen(s, t_STATE_A);"),
        calls,
        &["the state `B` is tested and never set"],
    );
    says("void f(int n, nest_session *s);", calls, &[]);
    says(
        &helper("other = s;").replace("static", "static nest_session *other;\nstatic"),
        calls,
        &[],
    );
    // A macro that asks.
    let hidden = "#define HAS(x) nest_isset(s, x)\n";
    let body = helper("if (HAS(t_STATE_B)) nest_seen(s, t_STATE_A);");
    says(
        &format!("{hidden}{body}"),
        calls,
        &["the state `B` is tested and never set"],
    );
}
