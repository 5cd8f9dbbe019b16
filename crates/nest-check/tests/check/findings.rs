//! Each check: specifications that cause a finding, with the messages that a client sends to see it,
//! and similar specifications that cause none.

use crate::spent::processor;
use nest_check::check;
use nest_diag::Code;
use nest_machine::{Machine, Overrides, compile};
use nest_pattern::sim;
use nest_syntax::Alone;
use rustix::time::ClockId;
use std::time::Duration;

fn machine(text: &str) -> Machine {
    let compiled = compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled
        .machine
        .unwrap_or_else(|| panic!("{text}\n{:#?}", compiled.diagnostics))
}

/// Checks a specification. `expected` has `CODE RULE: MESSAGES` for each finding.
#[track_caller]
fn finds(text: &str, expected: &[&str]) {
    let mut found = Vec::new();
    for finding in check(&machine(text)) {
        let d = &finding.diagnostic;
        let mut place = &text[d.span.start as usize..d.span.end as usize];
        // The name of the rule, if it has one, stands before its pattern.
        let before = text[..d.span.start as usize].trim_end();
        if let Some(named) = before.strip_suffix('=') {
            let named = named.trim_end();
            place = &named[named.rfind([' ', '\n']).map_or(0, |n| n + 1)..];
        }
        let witness = finding.witness.map_or("-".to_string(), |w| w.to_string());
        found.push(format!("{} {place}: {witness}", d.code.name()));
    }
    assert_eq!(found, expected, "{text}");
}

#[test]
fn rules_that_are_never_active() {
    finds(
        "%state A\n%%\nA: a = \"a\" { $clear(A); }\nb = \"b\" { $seen(A); }\n",
        &[],
    );
    finds(
        "%state A\n%%\nSTART { $seen(A); }\nDEFAULT: d = \"d\" { }\nA: a = \"a\" { }\n",
        &["W0202 d: -"],
    );
    finds("%%\nSTART { $close(); }\na = \"a\" { }\n", &["W0202 a: -"]);
    // Two states that are never marked together, in a rule and in a TIMEOUT rule.
    finds(
        "%state A B\n%%\na = \"a\" { $next(A); }\nA: b = \"b\" { $next(B); }\nB: d = \"d\" { $next(A); }\n\
         A && B: c = \"c\" { }\nA && B: TIMEOUT(3s) { }\n",
        &["W0202 c: -", "W0202 3s: -"],
    );
    // They are set together on one path through the action.
    finds(
        "%{\nint x;\n%}\n%state A B\n%%\na = \"a\" { $seen(A); if (x) $seen(B); }\nA && B: c = \"c\" { }\n",
        &[],
    );
    // A C function may set them.
    finds(
        "%{\nvoid f(nest_session *);\n%}\n%state A B\n%%\na = \"a\" { f($self); }\nA && B: c = \"c\" { }\n",
        &[],
    );
    // W0201 reports this rule already.
    finds("%state A\n%%\nA: a = \"a\" { }\nb = \"b\" { }\n", &[]);
    // A function of the specification is followed: this one sets no state.
    finds(
        "%{\nstatic void f(nest_session *s) { nest_reply(s, \"x\"); }\n%}\n%state A\n%%\n\
         A: a = \"a\" { }\nb = \"b\" { f($self); }\n",
        &[],
    );
    // The rule that sets the state is itself never active.
    finds(
        "%state A B\n%%\nSTART { $seen(A); }\nA: a = \"a\" { }\n!A: b = \"b\" { $seen(B); }\n\
         B: c = \"c\" { }\n",
        &["W0202 b: -", "W0202 c: -"],
    );
}

#[test]
fn rules_that_never_take_anything() {
    finds("%%\na = \"a\" { }\nb = [a-z] { }\n", &[]);
    finds("%%\na = [a-z] { }\nb = \"b\" { }\n", &["W0203 b: \"b\""]);
    finds(
        "%%\na = [a-m] { }\nb = [n-z] { }\nc = [a-z] { }\n",
        &["W0203 c: \"a\""],
    );
    // Its match is longer than that of the other rule.
    finds("%%\na = [a-z]+ \"\\n\" { }\nb = \"b\\nc\" { }\n", &[]);
    // It matches where the other rule is not active.
    let some = "%state A\n%%\nA: a = [a-z] { $clear(A); }\nb = \"b\" { $seen(A); }\n";
    finds(some, &[]);
    // Only after another message.
    let behind = "%state A\n%%\n!A: a = \"go\\n\" { $seen(A); }\nA: { b = [a-z]+ \"\\n\" { }\n\
                  c = \"c\\n\" { } }\n";
    finds(behind, &["W0203 c: \"go\\n\", \"c\\n\""]);
}

#[test]
fn actions_behind_which_a_conversation_can_only_end() {
    let text = "%state A B\n%%\nSTART { $seen(A); }\nA: a = \"a\" { $next(B); }\n";
    finds(text, &["W0204 a: \"a\""]);
    let closes = "%state A B\n%%\nSTART { $seen(A); }\nA: a = \"a\" { $next(B); $close(); }\n";
    finds(closes, &[]);
    let timer = format!("{text}B: TIMEOUT(2s) {{ $close(); }}\n");
    finds(&timer, &[]);
    // The action may also leave the states as they are: that depends on the value of x.
    let either =
        "%{\nint x;\n%}\n%state A B\n%%\nSTART { $seen(A); }\nA: a = \"a\" { if (x) $next(B); }\n";
    finds(either, &[]);
    let start = "%state A\n%%\nSTART { $seen(A); }\n!A: a = \"a\" { }\n";
    finds(start, &["W0204 {: ", "W0202 a: -"]);
    let timers =
        "%state A B\n%%\n!B: a = \"a\" { $seen(A); }\nA && !B: TIMEOUT(1500ms) { $seen(B); }\n";
    finds(timers, &["W0204 1500ms: \"a\", 1500ms of silence"]);
}

#[test]
fn ambiguous_rules_are_found() {
    finds(
        "%%\na = [0-9]+ [a-z]? \"\\n\" { }\nb = [0-9a-f]+ \"\\n\" { }\n",
        &["W0205 b: \"0\\n\""],
    );
    // A special case before the general rule. In the other order it never matches.
    finds("%%\na = \"ab\\n\" { }\nb = [a-z]+ \"\\n\" { }\n", &[]);
    finds(
        "%%\na = [a-z]+ \"\\n\" { }\nb = \"ab\\n\" { }\n",
        &["W0203 b: \"ab\\n\""],
    );
    // No message matches both, or none at the same length.
    finds("%%\na = [a-c]+ \"\\n\" { }\nb = [d-f]+ \"\\n\" { }\n", &[]);
    finds(
        "%%\na = \"ab\" [a-z]* \"\\n\" { }\nb = \"a\" [b-z0-9] { }\n",
        &[],
    );
    // Never active together; both active in one of the states, after another message.
    let rules = |cond: &str| {
        format!(
            "%state A\n%%\nA: a = [a-c]+ \"\\n\" {{ $clear(A); }}\n{cond}b = [b-d]+ \"\\n\" {{ }}\n\
             !A: go = \"go\\n\" {{ $seen(A); }}\n"
        )
    };
    finds(&rules("!A: "), &[]);
    finds(&rules(""), &["W0205 b: \"go\\n\", \"b\\n\""]);
    // A third rule matches all messages that both match, or all that only one of them matches.
    finds(
        "%%\nx = \"b\\n\" { }\na = [ab] \"\\n\" { }\nb = [bc] \"\\n\" { }\n",
        &[],
    );
    finds(
        "%%\nx = \"a\\n\" { }\na = [ab] \"\\n\" { }\nb = [bc] \"\\n\" { }\n",
        &[],
    );
    // If a rule is ambiguous with several others, one of them is reported.
    finds(
        "%%\na = [ad] [x-z] \"\\n\" { }\nb = [be] [x-z] \"\\n\" { }\nc = [a-c] \"z\\n\" { }\n",
        &["W0205 c: \"az\\n\""],
    );
    // The general rule matches the first line; the special case is longer, so the order never decides.
    finds(
        "%%\na = \"4\" (.|\\n){2} \"\\n\" { }\nb = .* \"\\n\" { }\n",
        &[],
    );
    // A command before the rule for any text, though it may be longer than that.
    let rules = |command: &str| {
        let text = "b = [^\\n]{1,20} \"\\n\" { }\n";
        format!("%%\na = {command} [^\\n]{{1,20}} \"\\n\" {{ }}\n{text}")
    };
    finds(&rules("\"/me \""), &[]);
    finds(&rules("\"/\" [mM] [eE] \" \""), &[]);
    finds(&rules("[0-9/]"), &["W0205 b: \"0a\\n\""]);
    // The later one is a command, too.
    finds(
        "%%\na = \"go \" [a-z]+ \"\\n\" { }\nb = \"go \" [a-f0-9]+ \"\\n\" { }\n",
        &["W0205 b: \"go a\\n\""],
    );
    // At the client's end of file.
    finds(
        "%%\na = \"a\" \"b\"? { }\nb = \"a\" \"c\"? { }\n",
        &["W0205 b: \"a\""],
    );
}

#[test]
fn answers_that_wait() {
    finds(
        "%%\na = [0-9]+ { $reply(\"n\\n\"); }\n",
        &["W0302 a: \"0\""],
    );
    finds("%%\na = [0-9]+ \"\\n\" { $reply(\"n\\n\"); }\n", &[]);
    finds(
        "%%\na = [0-9]{1,3} \"\\n\"? { $close(); }\n",
        &["W0302 a: \"0\""],
    );
    // This message is not always answered: it may be part of a longer exchange.
    finds(
        "%{\nint x;\n%}\n%%\na = [0-9]+ { if (x) $reply(\"n\\n\"); }\nb = \"\\n\" { $reply(\"x\\n\"); }\n",
        &[],
    );
    // Another rule may continue.
    let two = "%%\na = \"a\" \"\\n\"? { $reply(\"1\\n\"); }\n";
    finds(two, &["W0302 a: \"a\""]);
    let other = "%state S\n%%\na = \"a\\n\" { $reply(\"1\\n\"); }\nS: b = \"a\\nb\\n\" { $reply(\"2\\n\"); }\n\
                 s = \"s\\n\" { $seen(S); }\n";
    finds(other, &["W0302 a: \"s\\n\", \"a\\n\""]);
    // Greedy and lazy.
    finds(
        "%%\nd = \"D\" (.|\\n)* \"\\n.\\n\" { $reply(\"ok\\n\"); }\n",
        &["W0302 d: \"D\\n.\\n\""],
    );
    finds(
        "%%\nd = \"D\" (.|\\n)*? \"\\n.\\n\" { $reply(\"ok\\n\"); }\n",
        &[],
    );
    // With `framing message` a message ends with its packet.
    finds(
        "%option framing message\n%%\na = [0-9]+ { $reply(\"n\\n\"); }\n",
        &[],
    );
}

#[test]
fn line_ends_that_are_left_behind() {
    let text = "%%\nh = \"hello\" { $reply(\"hi\\n\"); }\nb = \"bye\\n\" { $close(); }\n";
    finds(text, &["W0303 h: \"hello\\n\""]);
    finds(&format!("{text}e = \"\\r\"? \"\\n\" {{ }}\n"), &[]);
    // Another rule matches messages that are not lines.
    finds(&format!("{text}t = [0-9] {{ }}\n"), &[]);
    // Another rule matches the rest of the line.
    let rest = "%%\nh = \"hello \" { }\nb = [a-f]+ \"\\n\" { $close(); }\n";
    finds(rest, &[]);
}

/// A rule with NOW decides before rules that would wait, and no other rule matches what it matched.
#[test]
fn now_decides() {
    let other = "o = [^\\n]* \"\\n\" { $reply(\"o\"); }\n";
    // The first rule does not wait, no longer match wins, and another rule matches what follows.
    let get = "%state A\n%%\nA: a = [^\\n]* \"\\n\" { $clear(A); $reply($1); }\n!A: {\n";
    finds(
        &format!("{get}g = \"get \" NOW {{ $seen(A); }}\n{other}}}\n"),
        &[],
    );
    finds(
        &format!("{get}g = \"get \" {{ $seen(A); }}\n{other}}}\n"),
        &["W0206 g: \"get \\n\""],
    );
    finds(
        &format!("%%\nn = \"n\" NOW {{ $reply(\"n\"); }}\n{other}"),
        &[],
    );
    // It wins over rules whose messages begin with its match, whether they come before or after it.
    let taken = ["W0203 w: \"now\\n\""];
    finds(
        &format!("%%\nn = \"n\" NOW {{ }}\nw = \"now\\n\" {{ }}\n{other}"),
        &taken,
    );
    finds(
        &format!("%%\nw = \"now\\n\" {{ }}\nn = \"n\" NOW {{ }}\n{other}"),
        &taken,
    );
    finds(
        &format!("%%\nw = [mn] \"ow\\n\" {{ }}\nn = \"n\" NOW {{ }}\n{other}"),
        &[],
    );
    // If both match at the same byte, the rule that is written first wins.
    finds(
        &format!("%%\nw = \"n\" {{ }}\nn = [mn] NOW {{ }}\n{other}"),
        &[],
    );
    finds(
        &format!("%%\nw = \"n\" {{ }}\nn = \"n\" NOW {{ }}\n{other}"),
        &["W0203 n: \"n\""],
    );
    // A rule that would wait for another does not: the other decides before it.
    finds(
        "%%\na = \"a\" \"b\"? { $reply(\"a\"); }\n",
        &["W0302 a: \"a\""],
    );
    finds(
        "%%\na = \"a\" { $reply(\"a\"); }\nb = \"ab\" { }\nn = [ax] NOW { }\n",
        &["W0203 b: \"ab\""],
    );
    // A match without a limit is limited if another rule decides.
    finds("%%\nd = \"D\" (.|\\n)* \"E\" { }\n", &["W0304 d: \"D\""]);
    finds(
        "%%\nd = \"D\" (.|\\n)* \"E\" { }\nn = (.|\\n)*? \"F\" NOW { }\n",
        &[],
    );
}

#[test]
fn now_where_it_does_not_do_what_it_seems_to() {
    let other = "o = [^\\n]* \"\\n\" { }\n";
    finds(
        &format!("%%\nn = [0-9]+ NOW {{ }}\n{other}"),
        &["W0305 n: \"0\""],
    );
    finds(
        &format!("%%\nn = \"a\" [0-9]{{2,3}} NOW {{ }}\n{other}"),
        &["W0305 n: \"a00\""],
    );
    // The match ends with a fixed byte, is lazy, or prefers a shorter first alternative.
    finds(&format!("%%\nn = [0-9]+ \" \" NOW {{ }}\n{other}"), &[]);
    finds(&format!("%%\nn = [0-9]+? NOW {{ }}\n{other}"), &[]);
    finds(&format!("%%\nn = (\"a\" | \"ab\") NOW {{ }}\n{other}"), &[]);
    // No other rule is live where it matches.
    finds(
        &format!("%%\nn = \"a\\n\" NOW {{ }}\n{other}"),
        &["W0306 n: -"],
    );
    finds("%%\nn = \"ab\" NOW { }\nm = \"ac\" { }\n", &["W0306 n: -"]);
    // In another state there is such a rule.
    finds(
        "%state A\n%%\nn = \"ab\" NOW { $seen(A); }\nA: m = \"abc\" { }\n!A: k = \"c\" { }\n",
        &["W0203 m: \"ab\", \"abc\""],
    );
    // The rules that are live at the NOW rules, k and l, are never selected: no W0306.
    finds(
        "%%\nn = \"ab\" NOW { }\nm = \"a\" [bc] NOW { }\nk = \"abc\" { }\nl = \"acd\" { }\n",
        &["W0203 k: \"abc\"", "W0203 l: \"acd\""],
    );
}

/// The last message of the witness waits, and is decided when the client closes; those before it are
/// decided at once.
#[test]
fn witnesses_of_waiting_wait() {
    let text = "%state A B\n%%\n!A: go = \"go\" \"\\n\" { $seen(A); }\nA && !B: on = [0-9]{2} \"\\n\" { $seen(B); }\n\
                B: w = \"w\" [a-z]* { $reply($0); }\n";
    let m = machine(text);
    let found = check(&m);
    let witness = found[0]
        .witness
        .clone()
        .expect("it is known how to come there");
    assert_eq!(witness.to_string(), "\"go\\n\", \"00\\n\", \"w\"");
    let rules: Vec<sim::Rule> = m
        .rules
        .iter()
        .map(|r| sim::Rule {
            nfa: r.nfa.clone(),
            dfa: r.dfa.clone(),
            early: r.early,
        })
        .collect();
    let mut engine = sim::Engine::new(&rules, 8192);
    let active = [vec![0], vec![1], vec![2]];
    for (at, act) in witness.acts.iter().enumerate() {
        let nest_check::Act::Send(bytes) = act else {
            panic!("{act}")
        };
        engine.begin(active[at].clone(), false);
        engine.feed(bytes);
        assert_eq!(engine.decide().is_some(), at < 2, "{act}");
    }
    engine.end_of_file();
    assert!(matches!(
        engine.decide().map(|d| d.outcome),
        Some(sim::Outcome::Run {
            rule: 2,
            length: 1,
            ..
        })
    ));
}

/// 62 states and 500 rules that are all active at once, then 500 rules of which a few are. The limit
/// of 10 s allows for an unoptimised build on a busy machine.
#[test]
fn large_specifications_take_little_time() {
    let names: Vec<String> = (0..62).map(|i| format!("S{i}")).collect();
    for cond in ["", "S"] {
        let rules: String = (0..500)
            .map(|i| {
                let (at, to) = (i % 62, (i * 7 + i / 62 + 1) % 62);
                let cond = if cond.is_empty() { String::new() } else { format!("S{at}: ") };
                format!("{cond}\"r{i} \" [a-z]+ \"\\n\" {{ if ($len(2) > 3) $next(S{to}); $reply($2); }}\n")
            })
            .collect();
        let text = format!(
            "%state {}\n%%\nSTART {{ $seen(S0); }}\n{rules}",
            names.join(" ")
        );
        let m = machine(&text);
        let began = processor(ClockId::ThreadCPUTime);
        let found = check(&m);
        let took = processor(ClockId::ThreadCPUTime) - began;
        assert_eq!(found.len(), 0);
        assert!(took < Duration::from_secs(10), "{took:?}");
        println!("{took:?}");
    }
}

#[test]
fn rules_that_never_match_in_a_whole_line() {
    // The rule in the state never gets the rest of the line.
    finds(
        "%state G\n%%\nget = \"get \" { $seen(G); }\n\
         G: name = [a-z]+ \"\\n\" { $clear(G); $reply($1); }\nother = [^\\n]* \"\\n\" { $reply(\"?\"); }\n",
        &["W0206 get: \"get \\n\""],
    );
    // Another line end; a catch-all whose lines contain no carriage return.
    finds(
        "%state G\n%%\nget = \"get\" { $seen(G); }\n\
         G: name = [a-z]+ \"\\n\" { $clear(G); }\nother = [^\\r\\n]* \\r?\\n { }\n",
        &["W0206 get: \"get\\n\""],
    );
    // Only behind another message.
    finds(
        "%state G\n%%\nbegin = \"begin\\n\" { $seen(G); }\n\
         G: get = \"get \" { $clear(G); }\nG: other = [^\\n]* \"\\n\" { $reply(\"?\"); }\n",
        &["W0206 get: \"begin\\n\", \"get \\n\""],
    );
}

#[test]
fn rules_that_do_match_in_a_whole_line() {
    let quiet = |text: &str| {
        let found = check(&machine(text));
        let codes: Vec<Code> = found.iter().map(|f| f.diagnostic.code).collect();
        assert!(!codes.contains(&Code::W0206), "{text}\n{codes:?}");
    };
    let prefix = "get = \"get \" { $seen(G); }\n";
    let name = "G: name = [a-z]+ \"\\n\" { $clear(G); }\n";
    // The catch-all is not active everywhere.
    quiet(&format!(
        "%state G H\n%%\nhold = \"h\\n\" {{ $seen(H); }}\n{prefix}{name}!H: other = [^\\n]* \"\\n\" {{ }}\n"
    ));
    // It does not match such lines.
    quiet(&format!(
        "%state G\n%%\n{prefix}{name}other = [^g\\n][^\\n]* \"\\n\" {{ }}\n"
    ));
    quiet(&format!(
        "%state G\n%%\n{prefix}{name}other = [^\\n]{{1,6}} \"\\n\" {{ }}\n"
    ));
    quiet(&format!(
        "%state G\n%%\n{prefix}{name}other = [^ \\n]* \"\\n\" {{ }}\n"
    ));
    // The other rule is not a catch-all, but a longer command.
    quiet(&format!(
        "%state G\n%%\n{prefix}{name}all = \"get \" [^\\n]* \"\\n\" {{ }}\n"
    ));
    // The end of a message decides.
    quiet(&format!(
        "%option framing message\n%state G\n%%\n{prefix}{name}other = [^\\n]* \"\\n\" {{ }}\n"
    ));
    // A last line without an end.
    quiet("%%\nlast = [^\\n]+ { }\nline = [^\\n]* \"\\n\" { }\n");
    // The rule does not match lines.
    quiet("%%\nbinary = \"\\x01\\x02\" { }\nother = [^\\n]* \"\\n\" { }\n");
    // The rule itself matches whole lines.
    quiet("%%\nget = \"get\\n\" { }\nother = [^\\n]* \"\\n\" { }\n");
}
