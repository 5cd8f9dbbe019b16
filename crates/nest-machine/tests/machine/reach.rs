//! Which sets of states are reached: all that can be, with the shortest way, and which rules win.

use nest_machine::reach::{Reach, Step};
use nest_machine::{Machine, Overrides, compile};
use nest_syntax::Alone;
use std::time::{Duration, Instant};

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

/// `DEFAULT A: rules r0 r2; by r0`, without START, which always holds; `~` before what is not certain.
fn described(m: &Machine, reach: &Reach) -> Vec<String> {
    let set = |n: usize| {
        let set = &reach.sets[n];
        let states = (1..m.states.len()).filter(|s| set.states >> s & 1 == 1);
        let names: Vec<&str> = states.map(|s| m.states[s].as_str()).collect();
        let rules: Vec<String> = set
            .rules
            .iter()
            .map(|r| m.rules[*r].label.clone())
            .collect();
        let path: Vec<String> = reach
            .path_to(n)
            .iter()
            .map(|(_, step)| match step {
                Step::Rule(r) => m.rules[*r].label.clone(),
                Step::Timer(t) => format!("timer {t}"),
            })
            .collect();
        let certain = if set.certain { "" } else { "~" };
        let last = set
            .last
            .map_or(String::new(), |n| format!(" last={}", m.states[n as usize]));
        let (names, rules, path) = (names.join(" "), rules.join(" "), path.join(" "));
        format!("{certain}{names}{last}: {rules}; {path}")
    };
    (0..reach.sets.len()).map(set).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let m = machine(text);
    let reach = Reach::of(&m);
    assert!(reach.is_complete());
    let mut found = described(&m, &reach);
    found.sort();
    let mut expected: Vec<&str> = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn default_is_marked_when_nothing_else_is() {
    check("%%\nr = \"x\" { }\n", &["DEFAULT: r; "]);
    check("%%\nSTART { }\nr = \"x\" { }\n", &["DEFAULT: r; "]);
    check(
        "%state A\n%%\nSTART { $seen(A); }\nA: r = \"x\" { }\n",
        &["A: r; "],
    );
    check("%%\nSTART { $close(); }\nr = \"x\" { }\n", &[]);
}

#[test]
fn rules_lead_on_by_the_shortest_way() {
    let text = "%state A B\n%%\nDEFAULT: a = \"a\" { $next(A); }\nA: b = \"b\" { $next(B); }\n\
                DEFAULT: ab = \"c\" { $next(B); }\nB: q = \"q\" { $close(); }\n";
    check(text, &["DEFAULT: a ab; ", "A: b; a", "B: q; ab"]);
    let login = "%state U P\n%%\n!U: u = \"u\" { $seen(U); }\nU && !P: p = \"p\" { if ($len(0) > 3) $seen(P); \
                 else $clear(U); }\nP: d = \"d\" { }\n";
    check(
        login,
        &["DEFAULT: u; ", "DEFAULT U: p; u", "~DEFAULT U P: d; u p"],
    );
    // What is certain is told by a way that is, even if it is longer.
    let both = "%{\nint x;\n%}\n%state A B\n%%\nDEFAULT: a = \"a\" { if (x) $next(B); else $next(A); }\n\
                DEFAULT: c = \"c\" { $next(A); }\nA: b = \"b\" { $next(B); }\nB: q = \"q\" { }\n";
    check(both, &["DEFAULT: a c; ", "A: b; c", "B: q; c b"]);
}

#[test]
fn a_rule_that_never_wins_leads_nowhere() {
    let text = "%state A\n%%\nany = [a-z]+ \"\\n\" { }\nab = \"ab\\n\" { $seen(A); }\n";
    check(text, &["DEFAULT: any; "]);
    let wins = "%state A\n%%\nany = [a-y]+ \"\\n\" { }\nab = [xyz]+ \"\\n\" { $seen(A); }\n";
    check(wins, &["DEFAULT: any ab; ", "DEFAULT A: any ab; ab"]);
    // Only where the other is active, too.
    let some = "%state A\n%%\nA: any = [a-z]+ \"\\n\" { }\nab = \"ab\\n\" { $seen(A); }\n";
    check(some, &["DEFAULT: ab; ", "DEFAULT A: any; ab"]);
    // Two rules together take what neither takes alone.
    let two = "%state A\n%%\nc = [ab] { }\nd = [cd] { }\ne = [a-d] { $seen(A); }\n";
    check(two, &["DEFAULT: c d; "]);
}

#[test]
fn the_shortest_timer_fires() {
    let text = "%state A B\n%%\n!A: TIMEOUT(2s) { $seen(B); }\n!A: TIMEOUT(1s) { $seen(A); }\nr = \"x\" { }\n";
    check(text, &["DEFAULT: r; ", "DEFAULT A: r; timer 1"]);
}

#[test]
fn what_was_marked_last_counts_where_it_is_asked_for() {
    let text = "%state A B\n%%\na = \"a\" { $seen(A, B); }\nb = \"b\" { $seen(B, A); }\n\
                $LASTSEEN(A): c = \"c\" { $clear(A, B); }\n";
    check(
        text,
        &[
            "DEFAULT last=DEFAULT: a b; ",
            "DEFAULT A B last=A: a b c; b",
            "DEFAULT A B last=B: a b; a",
            "DEFAULT last=A: a b c; b c",
        ],
    );
    let plain = "%state A B\n%%\na = \"a\" { $seen(A, B); }\nb = \"b\" { $seen(B, A); }\n";
    check(plain, &["DEFAULT: a b; ", "DEFAULT A B: a b; a"]);
}

/// Rules that mark and clear any of `n` states.
fn counter(n: usize) -> String {
    let names: Vec<String> = (0..n).map(|i| format!("S{i}")).collect();
    let rules: String = (0..n)
        .map(|i| {
            format!(
                "!S{i}: \"m{i}\\n\" {{ $seen(S{i}); }}\nS{i}: \"c{i}\\n\" {{ $clear(S{i}); }}\n"
            )
        })
        .collect();
    format!(
        "%state {} NEVER\n%%\n{rules}NEVER: \"n\\n\" {{ }}\n",
        names.join(" ")
    )
}

#[test]
fn too_many_sets_have_bounds() {
    let m = machine(&counter(8));
    let reach = Reach::of(&m);
    assert!(reach.is_complete());
    assert_eq!(reach.sets.len(), 256);
    let m = machine(&counter(20));
    let reach = Reach::of(&m);
    assert!(!reach.is_complete());
    assert_eq!(reach.bounds.held, 3);
    assert_eq!(reach.bounds.marked, (1 << 22) - 1);
    let may: Vec<bool> = m.rules.iter().map(|r| reach.may_hold(&r.cond)).collect();
    assert!(may[..40].iter().all(|may| *may) && !may[40]);
    assert_eq!(reach.together(&[m.rules[0].cond.clone()]), None);
}

#[test]
fn conditions_that_hold_together_are_told() {
    let m = machine(
        "%state A B\n%%\nDEFAULT: \"a\" { $next(A); }\nA: \"b\" { $next(B); }\nA || B: \"c\" { }\n",
    );
    let conditions: Vec<_> = m.rules.iter().map(|r| r.cond.clone()).collect();
    let together: Vec<Vec<usize>> = Reach::of(&m)
        .together(&conditions)
        .unwrap()
        .into_iter()
        .collect();
    assert_eq!(together, [vec![0], vec![1, 2], vec![2]]);
}

/// A helper that is not known may do anything: nothing is left out.
#[test]
fn unknown_functions_lead_everywhere() {
    let m = machine(
        "%{\nvoid f(nest_session *);\n%}\n%state A B\n%%\n\"x\" { f($self); }\nA: \"y\" { }\n",
    );
    let reach = Reach::of(&m);
    assert!(reach.is_complete() && !reach.exact);
    assert_eq!(reach.sets.len(), 16);
    assert!(reach.sets.iter().filter(|s| s.certain).count() == 1);
}

/// 64 states and 500 rules. The bound is that of an unoptimised build on a busy machine.
#[test]
fn large_specifications_take_little_time() {
    let names: Vec<String> = (0..62).map(|i| format!("S{i}")).collect();
    let rules: String = (0..500)
        .map(|i| {
            let (at, to) = (i % 62, (i * 7 + i / 62 + 1) % 62);
            format!("S{at}: \"r{i} \" [a-z]+ \"\\n\" {{ if ($len(2) > 3) {{ $next(S{to}); }} $reply($2); }}\n")
        })
        .collect();
    let text = format!(
        "%state {}\n%%\nSTART {{ $seen(S0); }}\n{rules}",
        names.join(" ")
    );
    let m = machine(&text);
    let began = Instant::now();
    let reach = Reach::of(&m);
    let took = began.elapsed();
    assert!(
        reach.is_complete() && reach.sets.len() == 62,
        "{}",
        reach.sets.len()
    );
    assert!(took < Duration::from_secs(10), "{took:?}");
    println!("{took:?}");
}
