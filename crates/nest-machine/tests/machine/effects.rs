//! What actions do to states: every way through C, and no more where it can be followed.

use nest_c::effects::{Closes, Effect, Effects, Path, answers};
use nest_machine::{Machine, Overrides, compile};
use nest_syntax::Alone;

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

/// Of an action in a specification with the states A (4), B (8), C (16), and the C `before` it.
fn of(before: &str, action: &str) -> Effect {
    let text = format!("%{{\n{before}\n%}}\n%state A B C\n%%\n\"x\" {{ {action} }}\n");
    Effects::of(&machine(&text).source()).rules.remove(0)
}

/// `+A -B ?C =A close`: marks, clears, may mark or clear, last, ends; `[A!B]` before: only there.
fn described(path: &Path) -> String {
    let names = |mask: u64| {
        let all = ["START", "DEFAULT", "A", "B", "C"].iter().enumerate();
        all.filter(|(n, _)| mask >> n & 1 == 1)
            .map(|(_, s)| *s)
            .collect::<Vec<_>>()
    };
    let mut text = Vec::new();
    let guard: Vec<String> = names(path.held)
        .iter()
        .map(|s| (*s).to_string())
        .chain(names(path.lacked).iter().map(|s| format!("!{s}")))
        .collect();
    if !guard.is_empty() {
        text.push(format!("[{}]", guard.join(" ")));
    }
    for (sign, mask) in [
        ("+", path.set),
        ("-", path.clear),
        ("?+", path.may_set),
        ("?-", path.may_clear),
    ] {
        text.extend(names(mask).iter().map(|s| format!("{sign}{s}")));
    }
    if path.last.of != 0 {
        let same = if path.last.same { "?" } else { "" };
        text.push(format!("={}{same}", names(path.last.of).join("|")));
    }
    match path.closes {
        Closes::No => {}
        Closes::May => text.push("close?".to_string()),
        Closes::Yes => text.push("close".to_string()),
    }
    text.join(" ")
}

#[track_caller]
fn check_with(before: &str, action: &str, expected: &[&str]) {
    let effect = of(before, action);
    let mut found: Vec<String> = effect.paths.iter().map(described).collect();
    let mut expected: Vec<String> = expected.iter().map(|s| (*s).to_string()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{action}");
    assert!(effect.exact, "{action}");
}

#[track_caller]
fn check(action: &str, expected: &[&str]) {
    check_with("int x;", action, expected);
}

/// The one path that stands for a text whose order is not clear.
#[track_caller]
fn check_unclear(before: &str, action: &str, expected: &str) {
    let effect = of(before, action);
    let found: Vec<String> = effect.paths.iter().map(described).collect();
    assert_eq!(
        (found, effect.exact),
        (vec![expected.to_string()], false),
        "{action}"
    );
}

const ANYTHING: &str = "?+START ?+DEFAULT ?+A ?+B ?+C ?-START ?-DEFAULT ?-A ?-B ?-C \
                        =START|DEFAULT|A|B|C? close?";

#[test]
fn straight_code_is_exact() {
    check("", &[""]);
    check("$reply(\"x\");", &[""]);
    check("$seen(A);", &["+A =A"]);
    check("$seen(A, B); $clear(A);", &["+B -A =B"]);
    check("$clear(A); $seen(A);", &["+A =A"]);
    check("$next(C);", &["+C -DEFAULT -A -B =C"]);
    check("$clear(*);", &["-DEFAULT -A -B -C"]);
    check("$close();", &["close"]);
    check("$seen(A); return; $seen(B);", &["+A =A"]);
    check("$seen(A); $return; $seen(B);", &["+A =A"]);
}

#[test]
fn branches_are_ways_of_their_own() {
    check("if (x) { $seen(A); }", &["", "+A =A"]);
    check("if (x) $seen(A); else $clear(A);", &["+A =A", "-A"]);
    check("if (x) return; $seen(A);", &["", "+A =A"]);
    check(
        "if (x && $len(0) > 3) $close(); $seen(B);",
        &["+B =B", "+B =B close"],
    );
    check("x ? $seen(A) : $seen(B);", &["+A =A", "+B =B"]);
    check("x && ($seen(A), 1);", &["", "+A =A"]);
    check("if (x) { $reply(\"x\"); } $seen(A);", &["+A =A"]);
    check(
        "switch (x) { case 1: $seen(A); case 2: $seen(B); break; case 3: $clear(A); }",
        &["", "+A +B =B", "+B =B", "-A"],
    );
    check(
        "switch (x) { case 1: $seen(A); break; default: $seen(B); }",
        &["+A =A", "+B =B"],
    );
    check(
        "#if X\n$seen(A);\n#else\n$seen(B);\n#endif\n",
        &["+A =A", "+B =B"],
    );
}

#[test]
fn a_state_that_is_asked_for_decides() {
    check("if ($isset(A)) { $seen(B); }", &["[!A]", "[A] +B =B"]);
    check(
        "if (!$isset(A) || $isset(B)) $close();",
        &["[!A] close", "[A !B]", "[A B] close"],
    );
    check(
        "$seen(A); if ($isset(A)) $seen(B); else $close();",
        &["+A +B =B"],
    );
    check("if ($isset(A)) $reply(\"a\"); else $reply(\"b\");", &[""]);
    check("$seen(A); if ($LASTSEEN(B)) $close();", &["+A =A"]);
    check_with(
        "static void f(nest_session *s) { if (nest_isset(s, t_STATE_A)) nest_close(s); }",
        "f($self);",
        &["[!A]", "[A] close"],
    );
}

#[test]
fn loops_and_jumps() {
    check("while (x) { $seen(A); }", &["", "+A =A"]);
    check(
        "for (;;) { if (x) { $seen(A); break; } if (x > 2) return; }",
        &["", "+A =A"],
    );
    check("while (1) { if (x) break; $seen(A); }", &["", "+A =A"]);
    check(
        "do { $seen(A); if (x) continue; $seen(B); } while (x);",
        &["+A +B =A", "+A +B =B", "+A =A"],
    );
    check(
        "for (int i = 0; i < 3; i++) { $seen(A); $clear(A); }",
        &["", "-A =A"],
    );
    check(
        "if (x) goto out; $seen(A); out: $seen(B);",
        &["+A +B =B", "+B =B"],
    );
    check("again: $seen(A); if (x) goto again;", &["+A =A"]);
    check("$block { x = 1; } $seen(A);", &["+A =A"]);
    // A switch that enters a loop.
    check(
        "switch (x) { case 0: do { $seen(A); case 1: $seen(B); } while (x); }",
        &["", "+A +B =B", "+B =B"],
    );
}

#[test]
fn functions_that_are_given_the_session() {
    let helper = "static void deep(nest_session *self) { nest_close(self); }\n\
                  static int mark(int n, nest_session *self) {\n\
                      if (n > 3) { deep(self); return -1; }\n\
                      nest_seen(self, t_STATE_B);\n\
                      return 0;\n\
                  }\n\
                  static void say(nest_session *self) { nest_reply(self, \"x\"); }\n";
    check_with(helper, "say($self); $seen(A);", &["+A =A"]);
    check_with(helper, "mark(3, $self);", &["+B =B", "close"]);
    check_with(
        helper,
        "if (mark(3, $self) < 0) return; $seen(A);",
        &["+A +B =A", "+A =A close", "+B =B", "close"],
    );
    // Functions that call each other.
    let circle = "static void even(nest_session *self, int n);\n\
                  static void odd(nest_session *self, int n) {\n\
                      nest_seen(self, t_STATE_A);\n\
                      if (n) even(self, n - 1);\n\
                  }\n\
                  static void even(nest_session *self, int n) {\n\
                      nest_clear(self, 3);\n\
                      if (n) odd(self, n - 1);\n\
                  }\n";
    check_with(circle, "odd($self, 3);", &["+A =A", "+A -B =A"]);
    check_with(circle, "even($self, 3);", &["+A -B =A", "-B"]);
    // Nobody comes back.
    let endless = "static void spin(nest_session *self) { for (;;) { nest_flush(self); } }";
    check_with(endless, "spin($self); $seen(A);", &[]);
    // Under conditions both may be meant.
    let two = "#if X\nstatic void f(nest_session *s) { nest_seen(s, t_STATE_A); }\n#else\n\
               static void f(nest_session *s) { nest_close(s); }\n#endif\n";
    check_with(two, "f($self);", &["+A =A", "close"]);
}

#[test]
fn other_functions_with_the_session_may_do_anything() {
    let unknown = "void other(nest_session *self);";
    for action in [
        "other($self);",
        "nest_session *kept[1]; kept[0] = $self;",
        "nest_session *s = $self; nest_seen(s, t_STATE_A);",
        "void *p = (void *)$self;",
        "$seen(A); other($self);",
        "struct { void (*f)(nest_session *); } t; t.f($self);",
    ] {
        check_unclear(unknown, action, ANYTHING);
    }
    check_unclear("#define OUT nest_close(nest_self)", "OUT;", ANYTHING);
    check_unclear(
        "#define A_(s) nest_seen(s, t_STATE_A)",
        "A_($self);",
        ANYTHING,
    );
    check_unclear("#define OUT return", "if (1) OUT; $seen(A);", ANYTHING);
    check_unclear(
        "#define IN if (0) OUT\n#define OUT return",
        "IN; $seen(A);",
        ANYTHING,
    );
    let hidden = "static void f(nest_session *self) { FAIL; }";
    let macros = "#define FAIL { nest_close(self); return; }";
    check_unclear(&format!("{macros}\n{hidden}"), "f($self);", ANYTHING);
    // These hide nothing.
    let harmless = "#define SAY(text) nest_reply(self, text)\n#define TWICE(n) ((n) * 2)\n\
                    static void f(nest_session *self) { SAY(\"x\"); }";
    check_with(
        harmless,
        "f($self); int n = TWICE(3); $seen(A);",
        &["+A =A"],
    );
}

#[test]
fn what_cannot_be_followed_may_come_in_any_order() {
    check_unclear(
        "#define EACH(x) for (int x = 0; x < 3; x++)",
        "EACH(i) { $seen(A); }",
        "?+A =A?",
    );
    check_unclear(
        "int x;",
        "x = ({ $seen(A); 1; }) + ({ $clear(A, B); 2; });",
        "?+A ?-A ?-B =A?",
    );
    check_unclear(
        "#include <setjmp.h>\njmp_buf b;",
        "if (setjmp(b)) $close(); $seen(A);",
        "?+A =A? close?",
    );
    let odd = "static void f(nest_session *self, int n) { EACH(i) { nest_seen(self, t_STATE_C); } }\n\
               #define EACH(x) for (int x = 0; x < 3; x++)";
    check_unclear(odd, "f($self, 1);", "?+C =C?");
    // A macro of a file of the user's may leave the action.
    check_with("#include \"mine.h\"", "check(1); $seen(A);", &["", "+A =A"]);
    check_with("#include <mine.h>", "check(1); $seen(A);", &["+A =A"]);
    // A state that is not known by its name.
    check_with(
        "static void f(nest_session *self, unsigned n) { nest_clear(self, n); }",
        "f($self, 2);",
        &["?-START ?-DEFAULT ?-A ?-B ?-C"],
    );
}

#[test]
fn deep_and_long_texts_are_survived() {
    let deep = format!("{}$seen(A);{}", "if (x) {".repeat(3000), "}".repeat(3000));
    check_unclear("int x;", &deep, "?+A =A?");
    let loops = format!("{}$seen(A);{}", "while (x) {".repeat(60), "}".repeat(60));
    assert!(!of("int x;", &loops).paths.is_empty());
    let states: Vec<String> = (0..40).map(|n| format!("S{n}")).collect();
    let each: Vec<String> = states
        .iter()
        .map(|s| format!("if (x) $seen({s});"))
        .collect();
    let text = format!(
        "%{{\nint x;\n%}}\n%state {}\n%%\n\"x\" {{ {} }}\n",
        states.join(" "),
        each.join("\n")
    );
    let effect = Effects::of(&machine(&text).source()).rules.remove(0);
    assert!(!effect.exact && effect.paths.len() <= 64);
    let may = effect
        .paths
        .iter()
        .fold(0, |all, p| all | p.may_set | p.set);
    assert_eq!(may, ((1 << 40) - 1) << 2);
}

#[test]
fn whether_every_way_answers() {
    let helper = "int x;\nstatic void say(nest_session *self) { nest_reply(self, \"x\"); }\n\
                  static void other(nest_session *self) { if (x) nest_reply(self, \"x\"); }\n\
                  static void more(nest_session *self) { nest_skip(self, 3); }";
    for (action, expected) in [
        ("$reply(\"x\");", true),
        ("$close();", true),
        ("if (x) $reply(\"x\");", false),
        ("if (x) $reply(\"x\"); else $fileReply(\"x\");", true),
        ("say($self);", true),
        ("other($self);", false),
        ("for (int i = 0; i < x; i++) { $reply(\"x\"); }", false),
        ("$seen(A);", false),
        // More of the message comes.
        ("$read(3); $reply(\"x\");", false),
        ("more($self); $reply(\"x\");", false),
    ] {
        let text = format!("%{{\n{helper}\n%}}\n%state A\n%%\n\"x\" {{ {action} }}\n");
        assert_eq!(answers(&machine(&text).source()), [expected], "{action}");
    }
}
