//! Where answers are not exact in a way that may hide findings, that is said, and only there.

use nest_check::{Report, report};
use nest_diag::Code;
use nest_machine::{Overrides, compile};
use nest_syntax::Alone;

#[track_caller]
fn incomplete(text: &str, expected: &[&str]) -> Report {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let machine = compiled.machine.expect("nothing is wrong with it");
    let report = report(&machine);
    let reported: Vec<&str> = report.incomplete.iter().map(|u| u.why.as_str()).collect();
    assert_eq!(reported, expected, "{text}");
    report
}

#[test]
fn what_is_exact_says_nothing() {
    let all = incomplete(
        "%state A\n%%\n!A: a = \"a\\n\" { if ($len(0) > 1) $seen(A); }\nA: b = [^\\n]* \"\\n\" { $close(); }\n",
        &[],
    );
    assert!(all.is_whole(Code::W0203) && !all.is_whole(Code::W0101));
    // Without states nothing depends on what an action does to them.
    incomplete(
        "%{\nvoid f(nest_session *);\n%}\n%%\na = \"a\\n\" { f($self); }\n",
        &[],
    );
}

#[test]
fn actions_that_are_not_clear() {
    let text = "%{\nvoid f(nest_session *);\n%}\n%state A\n%%\na = \"a\\n\" { f($self); }\nA: b = \"b\\n\" { }\n";
    let one = "the effect of the action of `a` on states is not known exactly";
    let all = incomplete(text, &[one]);
    assert_eq!(all.incomplete[0].codes, [Code::W0202, Code::W0204]);
    assert!(!all.is_whole(Code::W0202) && all.is_whole(Code::W0203));
    let two = "the effect of the action of START, and of 1 more, on states is not known exactly";
    incomplete(&text.replace("%%\n", "%%\nSTART { f($self); }\n"), &[two]);
}

#[test]
fn more_sets_than_are_looked_at() {
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("S{n}")).collect();
        let rule = |n| format!("\"{n}\\n\" {{ $seen(S{n}); }}\nS{n}: \"-{n}\\n\" {{ }}\n");
        let rules: String = (0..count).map(rule).collect();
        format!("%state {}\n%%\n{rules}", names.join(" "))
    };
    incomplete(&many(8), &[]);
    incomplete(
        &many(13),
        &["conversations can reach more than 4,096 sets of states"],
    );
}

#[test]
fn automata_that_are_too_large() {
    let large = "[ab]* \"a\" [ab]{13} \"\\n\"";
    let text = format!("%%\na = {large} {{ }}\n{large} {{ }}\n");
    let all = incomplete(
        &text,
        &["the automaton of `a` and of one more rule would have more than 2,000 states"],
    );
    assert!(!all.is_whole(Code::W0302) && all.is_whole(Code::W0204));
    // Only rules with NOW may lack a warning about NOW.
    let codes = |all: &Report| all.incomplete[0].codes.contains(&Code::W0306);
    let marked = format!("{text}\"c\" NOW {{ }}\n");
    let of_marked = incomplete(&marked, &[all.incomplete[0].why.as_str()]);
    assert!(!codes(&all) && codes(&of_marked));
}

#[test]
fn rules_that_only_libpcre2_matches() {
    let text = "%option backtracking yes\n%%\na = ([a-z]) \\1 \"\\n\" { }\nb = [a-z]{2} \"\\n\" { }\n\
                c = \"x\" \\b [^\\n]* \"\\n\" { }\nd = \"xx\\n\" { }\n";
    let why = "only libpcre2 matches `a` and one more rule, and nest cannot look into that";
    let all = incomplete(text, &[why]);
    assert!(!all.is_whole(Code::W0203) && all.is_whole(Code::W0204));
    // What the rules between seem to take is not reported either.
    let codes: Vec<Code> = all.findings.iter().map(|f| f.diagnostic.code).collect();
    assert_eq!(codes, []);
    // The option alone changes nothing.
    incomplete(
        "%option backtracking yes\n%%\na = ([a-z])+ \"\\n\" { }\n",
        &[],
    );
}

#[test]
fn rules_that_have_too_much_in_common() {
    let text = |n| format!("%%\n(a{{97}})+ \"\\n\" {{ }}\n(a{{{n}}})+ \"\\n\" {{ }}\n");
    // Of 97 times 101 bytes.
    let why = "comparing the rules would take too long";
    let all = incomplete(&text(101), &[why]);
    assert!(!all.is_whole(Code::W0205));
    incomplete(&text(2 * 97), &[]);
}
