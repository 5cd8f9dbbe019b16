//! Branches of actions: which are found, how they are counted, and that the C stays the same otherwise.

use nest_c::branches::{Branches, Outcome};
use nest_emit::emit;
use nest_machine::{Feature, Machine, Overrides, compile};
use nest_syntax::Alone;

/// A specification with declarations of C and one action, which begins on line 5.
fn machine(declarations: &str, action: &str, features: &[Feature]) -> Machine {
    let text = format!("%{{\n{declarations}\n%}}\n%%\n\"a\\n\" {{{action}}}\n");
    let overrides = Overrides {
        features: features.iter().copied().collect(),
        ..Overrides::default()
    };
    let compiled = compile("t.nest", &text, &mut Alone, &overrides);
    let found = compiled.diagnostics;
    let machine = compiled.machine;
    machine.unwrap_or_else(|| panic!("{text}\n{found:#?}"))
}

fn actions(machine: &Machine) -> String {
    let files = emit(machine);
    let actions = files.into_iter().find(|file| file.path == "actions.c");
    actions.expect("there are actions").text
}

/// The C of the action when its branches are counted. `W1` stands for a call for branch 1.
fn counted_with(declarations: &str, action: &str) -> String {
    let machine = machine(declarations, action, &[Feature::Branches]);
    let whole = actions(&machine);
    let begin = whole.find("t_rule_0(").expect("there is a function");
    let from = whole[begin..].find("(void)nest_m;\n");
    let from = begin + from.expect("it begins") + "(void)nest_m;\n".len();
    let to = from + whole[from..].find("\n}\n#").unwrap_or(0);
    let lines = whole[from..to].lines();
    let lines = lines.filter(|line| !line.starts_with("#line"));
    let text = lines.collect::<Vec<&str>>().join("\n");
    text.trim().replace("nest__branch(", "W(")
}

fn counted(action: &str) -> String {
    counted_with("", action)
}

/// The branches of an action: lines and what must happen.
fn found(action: &str) -> Vec<String> {
    let machine = machine("", action, &[]);
    let branches = Branches::of(&machine.source());
    assert_eq!(branches.unmeasured, []);
    let shown = branches.all.into_iter().map(|b| match b.outcome {
        Outcome::True(keyword) => format!("{} {keyword}", b.line),
        Outcome::False(keyword) => format!("{} !{keyword}", b.line),
        Outcome::Label(label) => format!("{} {label}", b.line),
    });
    shown.collect()
}

/// Why the branches of an action are not counted; its C is the same as in other servers.
fn refused(declarations: &str, action: &str) -> &'static str {
    let plain = machine(declarations, action, &[]);
    let counting = machine(declarations, action, &[Feature::Branches]);
    assert!(actions(&plain).contains(action));
    assert!(actions(&counting).contains(action));
    let branches = Branches::of(&plain.source());
    assert_eq!(branches.all, []);
    branches.unmeasured[0].1
}

#[test]
fn conditions_have_two_outcomes() {
    assert_eq!(
        counted("if (x) f();"),
        "if ((x) ? W(0) : !W(1)) f();",
        "an if without braces and without else"
    );
    assert_eq!(
        counted("if (x) f(); else if (y, z) g(); else h();"),
        "if ((x) ? W(0) : !W(1)) f(); else if ((y, z) ? W(2) : !W(3)) g(); else h();"
    );
    assert_eq!(
        counted("if (x) if (y) f(); else g();"),
        "if ((x) ? W(0) : !W(1)) if ((y) ? W(2) : !W(3)) f(); else g();"
    );
    assert_eq!(
        counted("while (n--) { f(); } do n++; while (n < 3 || x);"),
        "while ((n--) ? W(0) : !W(1)) { f(); } do n++; while ((n < 3 || x) ? W(2) : !W(3));"
    );
    assert_eq!(
        counted("for (int i = 0; i < n; i++) f(); for (;;) { break; } for (; (n);) g();"),
        "for (int i = 0; (i < n) ? W(0) : !W(1); i++) f(); for (;;) { break; } \
         for (; ((n)) ? W(2) : !W(3);) g();"
    );
    assert_eq!(
        counted("l: if (x = f()) goto l; { if (MACRO(a, b)) ; }"),
        "l: if ((x = f()) ? W(0) : !W(1)) goto l; { if ((MACRO(a, b)) ? W(2) : !W(3)) ; }"
    );
}

#[test]
fn labels_of_a_switch_are_branches() {
    assert_eq!(
        counted("switch (n) { case 1: case A + 1: f(); break; case (x ? 2 : 3): default: ; }"),
        "switch (n) { case 1: W(0); case A + 1: W(1); f(); break; case (x ? 2 : 3): W(2); \
         default: W(3); ; }"
    );
    assert_eq!(
        counted("switch (n) { case 1: l: case 2: { int k = 1; f(k); } default: }"),
        "switch (n) { case 1: W(0); l: case 2: W(1); { int k = 1; f(k); } default: W(2); }"
    );
    // Duff's device.
    assert_eq!(
        counted("switch (n % 2) { case 0: do { f(); case 1: f(); } while (--n > 0); }"),
        "switch (n % 2) { case 0: W(0); do { f(); case 1: W(1); f(); } \
         while ((--n > 0) ? W(2) : !W(3)); }"
    );
    assert_eq!(
        found("switch (n) { case\n  ERANGE /* why */ : f();\ndefault: g(); }"),
        ["5 case ERANGE /* why */ :", "7 default:"]
    );
}

#[test]
fn what_is_always_the_same_is_not_counted() {
    for action in [
        "while (1) { f(); break; }",
        "do { f(); } while (0);",
        "for (; true;) { break; }",
        "if (!0 && (2 > 1)) f();",
        "x = y ? 1 : 2; z = x && y;",
        "n = ({ if (x) f(); 1; });",
    ] {
        assert_eq!(counted(action), action);
    }
    assert_eq!(found("$block { f(); }"), [""; 0]);
    assert_eq!(found("$block { if (x) f(); }"), ["5 if", "5 !if"]);
    assert_eq!(
        counted("if ($1[0] == 'x' && $isset(DEFAULT)) $reply(\"if (x)\\n\");"),
        "if ((nest_part(nest_self, 1)[0] == 'x' && nest_isset(nest_self, t_STATE_DEFAULT)) ? W(0) : !W(1)) \
         nest_reply(nest_self, \"if (x)\\n\");"
    );
}

#[test]
fn lines_stay_where_they_are() {
    let action =
        "\n  if (x // if (y)\n    && y /* ) */\n  )\n    f();\n  else if\n    (z)\n    g();\n";
    assert_eq!(found(action), ["6 if", "6 !if", "10 if", "10 !if"]);
    assert_eq!(
        counted(action),
        "if ((x // if (y)\n    && y /* ) */\n  ) ? W(0) : !W(1))\n    f();\n  else if\n    \
         ((z) ? W(2) : !W(3))\n    g();"
    );
}

#[test]
fn c_that_may_not_be_what_was_parsed_is_left_alone() {
    assert_eq!(
        refused("", "\n#ifdef A\n  if (x)\n#endif\n    f();\n"),
        "it contains #if"
    );
    assert_eq!(
        refused("", " FOREACH(i) if (x) f(i); "),
        "nest cannot parse its C"
    );
    assert_eq!(
        refused("", " switch (n) case 1: f(); "),
        "nest cannot parse its C"
    );
    for action in [
        " switch (n) { if (x) case 1: f(); g(); } ",
        " switch (n) { case 0: while (x) l: case 1: f(); } ",
    ] {
        assert_eq!(
            refused("", action),
            "a label of a switch stands in place of a statement",
            "{action}"
        );
    }
    for declarations in ["#define if(x) if (seen(#x), x)", "# define\tcase g(); case"] {
        assert_eq!(
            refused(declarations, " if (x) f(); "),
            "a macro has the name of a C keyword"
        );
    }
    // A macro of the action's own may contain anything.
    let action = "\n#define LOG if (x) f();\nLOG;\n";
    assert!(counted(action).contains("#define LOG if (x) f();\n"));
}

#[test]
fn other_servers_have_nothing_of_it() {
    for (features, has) in [
        (&[][..], false),
        (&[Feature::Trace], false),
        (&[Feature::Branches], true),
    ] {
        let files = emit(&machine("", "if (x) f();", features));
        let text: String = files.into_iter().map(|file| file.text).collect();
        assert_eq!(text.contains("nest__branch"), has, "{features:?}");
    }
}

#[test]
fn hostile_c_is_counted_without_recursion() {
    const N: usize = 10_000;
    let nested = format!("{} f();", "if (x) ".repeat(N));
    let chain = format!("{} f();", "if (x) f(); else ".repeat(N));
    let blocks = format!("{}{}", "if (x) {".repeat(N), "}".repeat(N));
    let labels: String = (0..N).map(|n| format!("case {n}: ")).collect();
    let labels = format!("switch (n) {{ {labels} f(); }}");
    let broken = format!("{}{}", "if (x) { case 1: while (".repeat(N), "}".repeat(N));
    let unreadable = (0, 1);
    for (action, expected) in [
        (nested, (2 * N, 0)),
        (chain, (2 * N, 0)),
        (blocks, (2 * N, 0)),
        (labels, (N, 0)),
        (broken, unreadable),
    ] {
        let machine = machine("", &action, &[]);
        let branches = Branches::of(&machine.source());
        let found = (branches.all.len(), branches.unmeasured.len());
        assert_eq!(found, expected, "{}", &action[..20]);
    }
}
