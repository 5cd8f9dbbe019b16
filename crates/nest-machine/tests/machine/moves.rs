//! Every step between the sets that are reached: those by which they were found, and no others than
//! lead to them.

use nest_c::effects::Effects;
use nest_machine::reach::{Move, Reach, Step, Winners};
use nest_machine::{Machine, Overrides, compile};
use nest_syntax::Alone;
use std::collections::BTreeSet;

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    let machine = compiled.machine;
    machine.unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

fn moves(text: &str) -> (Reach, Option<Vec<Move>>) {
    let m = machine(text);
    let effects = Effects::of(&m.source());
    let reach = Reach::by(&m, &effects, &mut Winners::new(&m));
    let moves = reach.moves(&m, &effects);
    (reach, moves)
}

/// `0 r0 1`: by rule 0 from set 0 to set 1; `~` before what is not certain.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let (_, moves) = moves(text);
    let described = |s: &Move| {
        let set = |n: Option<usize>, none: &str| n.map_or(none.to_string(), |n| n.to_string());
        let by = match s.by {
            None => "start".to_string(),
            Some(Step::Rule(n)) => format!("r{n}"),
            Some(Step::Timer(n)) => format!("t{n}"),
        };
        let certain = if s.certain { "" } else { "~" };
        format!("{certain}{} {by} {}", set(s.from, "-"), set(s.to, "end"))
    };
    let found: BTreeSet<String> = moves
        .expect("all sets are known")
        .iter()
        .map(described)
        .collect();
    let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn steps() {
    check(
        "%state A\n%%\nSTART { $seen(A); }\nA: \"a\" { $clear(A); }\n!A: \"b\" { $close(); }\n\
         !A: TIMEOUT(1s) { $seen(A); }\n",
        &["- start 0", "0 r0 1", "1 r1 end", "1 t0 0"],
    );
    // No START rule, and both ways of an action; a way that states exclude is none.
    check(
        "%state A\n%%\n\"a\" { if ($len(0) > 1) { $seen(A); } else { $close(); } }\n\
         \"b\" { if (!$isset(A)) { $close(); } }\n",
        &[
            "- start 0",
            "0 r0 1",
            "0 r0 end",
            "0 r1 end",
            "1 r0 1",
            "1 r0 end",
            "1 r1 1",
        ],
    );
    check("%%\nSTART { $close(); }\n\"a\" { }\n", &["- start end"]);
    // Which state was marked last, where a condition asks.
    check(
        "%state A B\n%%\n$LASTSEEN(A): \"a\" { $seen(B); }\n!$LASTSEEN(A): \"b\" { $seen(A); }\n",
        &["- start 0", "0 r1 1", "1 r0 2", "2 r1 3", "3 r0 2"],
    );
}

/// What a function elsewhere does cannot be told; its session may even end.
#[test]
fn what_is_not_certain() {
    let text = "%{\nvoid f(nest_session *s);\n%}\n%state A\n%%\n\"a\" { f($self); }\n";
    let (reach, moves) = moves(text);
    let moves = moves.expect("all sets are known");
    let by_rule = |s: &&Move| s.by == Some(Step::Rule(0));
    assert_eq!(
        moves.iter().filter(by_rule).count(),
        reach.sets.len() * (reach.sets.len() + 1)
    );
    assert!(moves.iter().filter(by_rule).all(|s| !s.certain));
}

#[test]
fn every_set_is_led_to_by_its_own_step() {
    let mut text = String::from("%state A B C D E\n%%\nSTART { if (1) { $seen(A); } }\n");
    for (n, state) in ["A", "B", "C", "D", "E"].iter().enumerate() {
        text += &format!("!{state}: \"s{n}\" {{ $seen({state}); }}\n");
        text += &format!("{state} && !B: \"n{n}\" {{ $next({state}, E); }}\n");
    }
    let (reach, moves) = moves(&text);
    let moves = moves.expect("all sets are known");
    assert!(reach.sets.len() > 20);
    for (n, set) in reach.sets.iter().enumerate() {
        let found = moves.iter().find(|s| {
            s.to == Some(n)
                && s.from == set.from.map(|(from, _)| from)
                && s.by == set.from.map(|(_, by)| by)
        });
        assert!(found.is_some(), "{set:?}");
    }
    let known: BTreeSet<&Move> = moves.iter().collect();
    assert_eq!(known.len(), moves.len(), "each step is there once");
}

#[test]
fn too_many_sets() {
    let mut text = String::from("%state");
    (0..13).for_each(|n| text += &format!(" S{n}"));
    text += "\n%%\n";
    (0..13).for_each(|n| text += &format!("\"{n}!\" {{ $seen(S{n}); }}\n"));
    let (reach, moves) = moves(&text);
    assert!(!reach.is_complete() && moves.is_none());
}
