//! Coverage: what is counted of traces, against what can be reached.

use nest_check::{Coverage, Heard, Share, Talks, words};
use nest_machine::reach::{Reach, Step};
use nest_machine::{Machine, Overrides};
use nest_syntax::Alone;

fn machine(text: &str) -> Machine {
    let compiled = nest_machine::compile("t.nest", text, &mut Alone, &Overrides::default());
    compiled.machine.unwrap()
}

fn states(names: &str, last: &str) -> Heard {
    let names = names.split_whitespace().map(str::to_owned).collect();
    Heard::States(names, last.to_owned())
}

fn take(name: &str) -> Heard {
    Heard::Take(name.to_owned())
}

fn share(met: usize, all: usize) -> Share {
    Share { met, all }
}

const GREET: &str = "%state KNOWN\n%%\nchar name[9];\n\
    name = \"I am \" [a-z]{1,8} \"\\n\" { $seen(KNOWN); $reply(\"Hello.\\n\"); }\n\
    KNOWN: who = \"Who?\\n\" { $reply(\"You.\\n\"); }\n\
    other = [^\\n]* \"\\n\" { $reply(\"What?\\n\"); }\n\
    KNOWN: TIMEOUT(5s) { $close(); }\n";

#[test]
fn what_was_heard_is_counted_once() {
    let m = machine(GREET);
    let reach = Reach::of(&m);
    let mut coverage = Coverage::new(&m, &reach);
    assert_eq!(coverage.transitions(), Some(share(0, 6)));
    let trace = [
        states("START DEFAULT", "DEFAULT"),
        take("other"),
        take("other"),
        take("name"),
        states("START DEFAULT KNOWN", "KNOWN"),
        take("who"),
    ];
    for _ in 0..3 {
        coverage.hear(&trace);
    }
    assert_eq!(coverage.rules(), share(3, 4));
    assert_eq!(coverage.states(), share(2, 2));
    assert_eq!(coverage.sets(), Some(share(2, 2)));
    assert_eq!(coverage.transitions(), Some(share(3, 6)));
    assert_eq!(coverage.of_step(Step::Rule(2)), share(1, 2));
    let missing: Vec<String> = coverage
        .missing()
        .into_iter()
        .map(|(set, step)| format!("{} in {}", coverage.label(step).0, coverage.name(set)))
        .collect();
    assert_eq!(
        missing,
        [
            "name in DEFAULT KNOWN",
            "other in DEFAULT KNOWN",
            "TIMEOUT in DEFAULT KNOWN"
        ]
    );
    coverage.hear(&[
        states("START DEFAULT KNOWN", "KNOWN"),
        Heard::Timeout("line 7".to_owned()),
    ]);
    assert_eq!(coverage.transitions(), Some(share(4, 6)));
    assert_eq!(coverage.strange(), 0);
}

#[test]
fn percent_are_of_what_there_is() {
    assert_eq!(share(199, 200).percent(), 99);
    assert_eq!(share(200, 200).percent(), 100);
    assert_eq!(share(0, 0).percent(), 100);
}

#[test]
fn states_that_no_action_marks_are_said() {
    let m = machine(GREET);
    let reach = Reach::of(&m);
    let mut coverage = Coverage::new(&m, &reach);
    // A read point that only ends is none.
    coverage.hear(&[states("START KNOWN", "KNOWN")]);
    assert_eq!(coverage.strange(), 0);
    coverage.hear(&[states("START KNOWN", "KNOWN"), take("who")]);
    assert_eq!(coverage.strange(), 1);
}

#[test]
fn too_many_sets_leave_rules_and_states() {
    let names: Vec<String> = (0..16).map(|n| format!("S{n}")).collect();
    let mut text = format!("%state {}\n%%\n", names.join(" "));
    for (n, name) in names.iter().enumerate() {
        text.push_str(&format!("\"{n:02}\\n\" {{ $seen({name}); }}\n"));
    }
    let m = machine(&text);
    let reach = Reach::of(&m);
    let mut coverage = Coverage::new(&m, &reach);
    coverage.hear(&[states("START DEFAULT", "DEFAULT"), take("line 3")]);
    assert!(!coverage.is_complete());
    assert_eq!((coverage.sets(), coverage.transitions()), (None, None));
    assert_eq!(coverage.whole(), share(1, 16));
    assert_eq!(coverage.states(), share(1, 17));
    assert!(coverage.missing().is_empty());
}

#[test]
fn words_of_the_c_become_messages() {
    let m = machine(
        "%{\nstatic const char *secret = \"sesame\"; /* \"not this\" */\n%}\n%%\n\
         pass = \"PASS \" [a-z]{1,20} \"\\n\" { if (secret[0] == $2[0]) $close(); }\n",
    );
    assert_eq!(words(&m), [b"sesame".to_vec()]);
    let reach = Reach::of(&m);
    let mut talks = Talks::new(&m, &reach);
    let message = talks.message_with(0, 0, b"sesame");
    assert_eq!(message, Some(b"PASS sesame\n".to_vec()));
    assert!(talks.takes(0, 0, b"PASS x\n") && !talks.takes(0, 0, b"PASS x"));
    assert_eq!(talks.message_with(0, 0, b"SESAME"), None);
    assert_eq!(talks.variants(0, 0), [b"PASS z\n".to_vec()]);
}
