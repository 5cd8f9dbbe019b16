//! The automaton of the first message: when there is one, and that it decides as the rules do.

use nest_diag::Code;
use nest_machine::first::first;
use nest_machine::{Machine, Overrides, compile};
use nest_pattern::Dfa;
use nest_syntax::Alone;

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

/// What becomes of `input`: the length of the message once it is decided, 0 if none can come,
/// nothing if it may go on.
fn decide(dfa: &Dfa, input: &[u8]) -> Option<usize> {
    let (mut state, mut end) = (dfa.start, 0);
    for (n, byte) in input.iter().enumerate() {
        state = dfa.step(state, *byte);
        if dfa.accepts(state) {
            end = n + 1;
        }
        if !dfa.is_live(state) {
            return Some(end);
        }
    }
    None
}

/// The same by the algorithm of the language, one rule after the other.
fn by_rules(m: &Machine, input: &[u8]) -> Option<usize> {
    let dfas: Vec<&Dfa> = m.rules.iter().map(|r| r.dfa.as_ref().unwrap()).collect();
    let mut states: Vec<u32> = dfas.iter().map(|dfa| dfa.start).collect();
    let mut end = 0;
    for (n, byte) in input.iter().enumerate() {
        let (mut live, mut early) = (false, false);
        for ((dfa, state), rule) in dfas.iter().zip(&mut states).zip(&m.rules) {
            *state = dfa.step(*state, *byte);
            if dfa.accepts(*state) {
                end = n + 1;
                early |= rule.early;
            }
            live |= dfa.is_live(*state);
        }
        if early || !live {
            return Some(end);
        }
    }
    None
}

/// All inputs over the letters up to this length.
fn inputs(letters: &[u8], length: usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    let mut done = 0;
    while all[done].len() < length {
        for letter in letters {
            let mut longer = all[done].clone();
            longer.push(*letter);
            all.push(longer);
        }
        done += 1;
    }
    all
}

#[test]
fn one_set_is_decided_as_by_its_rules() {
    for rules in [
        "\"a\" { }\n\"aab\" { }\n\"b\"+ { }\n",
        "\"a\"* \"b\" { }\n\"ab\" NOW { }\n\"ba\"+ { }\n",
        "[ab]{2,4} \"c\" { }\n\"ab\" { }\n\"c\" \"a\"*? \"c\" { }\n",
        "\"a\" [^c]* \"c\" { }\n\"aa\" NOW { }\n",
        "(\"ab\"|\"abab\") { }\n\"abc\"? \"a\" { }\n",
    ] {
        let m = machine(&format!("%%\n{rules}"));
        let dfa = first(&m).unwrap();
        for input in inputs(b"abc", 7) {
            assert_eq!(
                decide(&dfa, &input),
                by_rules(&m, &input),
                "{rules}{:?}",
                String::from_utf8_lossy(&input)
            );
        }
    }
}

#[test]
fn of_several_sets_the_first_decides() {
    let m = machine(
        "%state A B\n%%\nSTART { if (1 > 0) $seen(A); else $seen(B); }\n\
         A: \"a\" { }\nB: \"aab\" { }\nB: \"b\" \"c\"* \"d\" { }\n",
    );
    let dfa = first(&m).unwrap();
    for (input, decided) in [
        ("a", Some(1)),
        ("b", None),
        ("bccc", None),
        ("bcd", Some(3)),
        ("bca", Some(0)),
        ("c", Some(0)),
    ] {
        assert_eq!(decide(&dfa, input.as_bytes()), decided, "{input}");
    }
}

#[test]
fn only_rules_that_may_come_first_are_followed() {
    let m = machine(
        "%option backtracking yes\n%state LATER\n%%\n\
         !LATER: \"a\" { $seen(LATER); }\nLATER: (.)\\1 { $close(); }\n",
    );
    assert_eq!(decide(&first(&m).unwrap(), b"a"), Some(1));
}

#[test]
fn servers_that_do_not_wait_are_refused() {
    let helper = "%{\nvoid far(struct nest_session *s);\n\
                  static void near(struct nest_session *s) { nest_reply(s, \"x\"); }\n%}\n";
    for (text, code) in [
        ("%%\nSTART { $reply(\"x\"); }\n\"a\" { }\n", Code::E0701),
        (
            "%%\nSTART { if (1 > 0) $reply(\"x\"); else $close(); }\n\"a\" { }\n",
            Code::E0701,
        ),
        ("%%\nSTART { $readLine(80); }\n\"a\" { }\n", Code::E0701),
        ("%%\nSTART { $close(); }\n\"a\" { }\n", Code::E0701),
        ("%state A\n%%\nA: \"a\" { }\n", Code::E0701),
        ("%%\nEND { }\n", Code::E0701),
        ("%%\nTIMEOUT(5s) { $close(); }\n", Code::E0701),
        (
            &format!("{helper}%%\nSTART {{ near($self); }}\n\"a\" {{ }}\n"),
            Code::E0701,
        ),
        (
            &format!("{helper}%%\nSTART {{ far($self); }}\n\"a\" {{ }}\n"),
            Code::E0701,
        ),
        (
            "%option backtracking yes\n%%\n\"b\" { }\n(.)\\1 { }\n",
            Code::E0702,
        ),
        ("%%\n([a-z]{1,99} [^q]{1,99}){1,50} { }\n", Code::E0702),
    ] {
        assert_eq!(first(&machine(text)).unwrap_err().code, code, "{text}");
    }
    for text in [
        "%%\nSTART { if (1 > 0) $close(); }\n\"a\" { }\n",
        "%%\nint n;\nSTART { n = 1; $timeout(5s); }\n\"a\" { }\n",
    ] {
        first(&machine(text)).unwrap();
    }
}
