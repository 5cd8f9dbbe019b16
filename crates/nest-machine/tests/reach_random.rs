//! Random specifications, walked at random: whatever is reached is among what reach says, what is
//! said to be certain comes by the way that is told, and just those rules take anything, and those
//! TIMEOUT rules fire, of which it is said. `support/sample.rs` says how many are tried; `NEST_WRITE`
//! names a folder where specifications are left.
//!
//! Actions are drawn as trees, written as C for the compiler, and run here as trees; so the reading
//! of C is compared with what was meant. A failure prints the seed.

#[path = "../../../tests/support/sample.rs"]
mod sample;

use nest_machine::reach::{Reach, Step};
use nest_machine::{Machine, Overrides, compile};
use nest_syntax::Alone;
use sample::Volume;
use std::collections::BTreeSet;
use std::fmt::Write;

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % n
    }
}

/// Conversations with each specification.
const WALKS: u64 = 200;

/// Conversations to try.
const VOLUME: Volume = Volume {
    quick: 10_000,
    sample: 300_000,
    full: 1_000_000,
};

/// Declared states; their numbers are behind START and DEFAULT.
const STATES: [&str; 4] = ["A", "B", "C", "D"];

/// A statement. Names are numbers of states.
enum Stmt {
    Seen(usize),
    Clear(usize),
    Next(usize),
    ClearAll,
    Close,
    Reply,
    Return,
    /// `if ($isset(state))`, or if it is none on anything.
    If(Option<usize>, Vec<Stmt>, Vec<Stmt>),
    While(Vec<Stmt>),
    /// Cases, each with or without a break; whether the last is the default.
    Switch(Vec<(Vec<Stmt>, bool)>, bool),
    Break,
    /// Out of the action, to its end.
    Goto,
    /// A helper with this number.
    Call(usize),
}

struct Draw<'d> {
    dice: &'d mut Dice,
    /// Helpers that may be called.
    helpers: usize,
    /// `break` may stand here.
    in_loop: bool,
}

impl Draw<'_> {
    fn block(&mut self, depth: u64) -> Vec<Stmt> {
        let count = self.dice.below(4);
        (0..count).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: u64) -> Stmt {
        let state = 2 + usize::try_from(self.dice.below(4)).expect("small");
        match self.dice.below(if depth == 0 { 13 } else { 20 }) {
            0..=3 => Stmt::Seen(state),
            4..=5 => Stmt::Clear(state),
            6 => Stmt::Next(state),
            7 => Stmt::ClearAll,
            8 => Stmt::Close,
            9 => Stmt::Return,
            10 if self.in_loop => Stmt::Break,
            11 if self.helpers > 0 => {
                let helpers = u64::try_from(self.helpers).expect("small");
                Stmt::Call(usize::try_from(self.dice.below(helpers)).expect("small"))
            }
            12 => Stmt::Goto,
            13..=16 => {
                let asks = (self.dice.below(2) == 0).then_some(state);
                Stmt::If(asks, self.block(depth - 1), self.block(depth - 1))
            }
            17 => {
                let before = std::mem::replace(&mut self.in_loop, true);
                let body = self.block(depth - 1);
                self.in_loop = before;
                Stmt::While(body)
            }
            18 => {
                let before = std::mem::replace(&mut self.in_loop, false);
                let count = 1 + self.dice.below(3);
                let cases = (0..count)
                    .map(|_| (self.block(depth - 1), self.dice.below(2) == 0))
                    .collect();
                self.in_loop = before;
                Stmt::Switch(cases, self.dice.below(2) == 0)
            }
            _ => Stmt::Reply,
        }
    }
}

/// As C: `name` makes the call of a change, so that helpers say it in their way.
fn write(out: &mut String, block: &[Stmt], helper: bool) {
    let state = |s: usize| ["START", "DEFAULT", "A", "B", "C", "D"][s];
    for stmt in block {
        let _ = match stmt {
            Stmt::Seen(s) if helper => write!(out, "nest_seen(self, t_STATE_{}); ", state(*s)),
            Stmt::Seen(s) => write!(out, "$seen({}); ", state(*s)),
            Stmt::Clear(s) if helper => write!(out, "nest_clear(self, {s}); "),
            Stmt::Clear(s) => write!(out, "$clear({}); ", state(*s)),
            Stmt::Next(s) if helper => {
                write!(out, "nest_clear_all(self); nest_seen(self, {s}); ")
            }
            Stmt::Next(s) => write!(out, "$next({}); ", state(*s)),
            Stmt::ClearAll if helper => write!(out, "nest_clear_all(self); "),
            Stmt::ClearAll => write!(out, "$clear(*); "),
            Stmt::Close if helper => write!(out, "nest_close((self)); "),
            Stmt::Close => write!(out, "$close(); "),
            Stmt::Reply if helper => write!(out, "nest_reply(self, \"x\"); "),
            Stmt::Reply => write!(out, "$reply(\"x\"); "),
            Stmt::Return => write!(out, "return; "),
            Stmt::Break => write!(out, "break; "),
            Stmt::Goto => write!(out, "goto out; "),
            Stmt::Call(n) if helper => write!(out, "h{n}(1, self); "),
            Stmt::Call(n) => write!(out, "h{n}(1, $self); "),
            Stmt::If(asks, yes, no) => {
                let _ = match asks {
                    None => write!(out, "if (any()) {{ "),
                    Some(s) if helper => write!(out, "if (nest_isset(self, {s})) {{ "),
                    Some(s) => write!(out, "if ($isset({})) {{ ", state(*s)),
                };
                write(out, yes, helper);
                out.push_str("} else { ");
                write(out, no, helper);
                write!(out, "}} ")
            }
            Stmt::While(body) => {
                out.push_str("while (any()) { ");
                write(out, body, helper);
                write!(out, "}} ")
            }
            Stmt::Switch(cases, default) => {
                out.push_str("switch (any()) { ");
                for (n, (body, breaks)) in cases.iter().enumerate() {
                    if *default && n + 1 == cases.len() {
                        out.push_str("default: ");
                    } else {
                        let _ = write!(out, "case {n}: ");
                    }
                    write(out, body, helper);
                    out.push_str(if *breaks { "break; " } else { "; " });
                }
                write!(out, "}} ")
            }
        };
    }
}

/// A conversation's states, and whether it closes.
#[derive(Clone, Copy)]
struct Now {
    states: u64,
    closes: bool,
}

#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    End,
}

/// Runs a block; what is not asked of states is drawn.
fn run(now: &mut Now, block: &[Stmt], helpers: &[Vec<Stmt>], dice: &mut Dice) -> Flow {
    for stmt in block {
        match stmt {
            Stmt::Seen(s) => now.states |= 1 << s,
            Stmt::Clear(s) => now.states &= !(1 << s),
            Stmt::Next(s) => now.states = now.states & 1 | 1 << s,
            Stmt::ClearAll => now.states &= 1,
            Stmt::Close => now.closes = true,
            Stmt::Reply => {}
            Stmt::Return | Stmt::Goto => return Flow::End,
            Stmt::Break => return Flow::Break,
            Stmt::Call(n) => _ = run(now, &helpers[*n], helpers, dice),
            Stmt::If(asks, yes, no) => {
                let is = match asks {
                    Some(s) => now.states >> s & 1 == 1,
                    None => dice.below(2) == 0,
                };
                let flow = run(now, if is { yes } else { no }, helpers, dice);
                if flow != Flow::On {
                    return flow;
                }
            }
            Stmt::While(body) => {
                while dice.below(2) == 0 {
                    match run(now, body, helpers, dice) {
                        Flow::On => {}
                        Flow::Break => break,
                        Flow::End => return Flow::End,
                    }
                }
            }
            Stmt::Switch(cases, default) => {
                let most = u64::try_from(cases.len()).expect("small") + u64::from(!default);
                let from = usize::try_from(dice.below(most)).expect("small");
                for (body, breaks) in cases.iter().skip(from) {
                    if run(now, body, helpers, dice) == Flow::End {
                        return Flow::End;
                    }
                    if *breaks {
                        break;
                    }
                }
            }
        }
    }
    Flow::On
}

/// A condition: its text, and which states must and must not hold.
fn condition(dice: &mut Dice) -> (String, u64, u64) {
    let (mut text, mut held, mut lacked) = (Vec::new(), 0, 0);
    for (n, name) in STATES.iter().enumerate() {
        match dice.below(5) {
            0 => {
                text.push((*name).to_string());
                held |= 4 << n;
            }
            1 => {
                text.push(format!("!{name}"));
                lacked |= 4 << n;
            }
            _ => {}
        }
    }
    let text = if text.is_empty() {
        String::new()
    } else {
        format!("{}: ", text.join(" && "))
    };
    (text, held, lacked)
}

/// What makes an action run.
#[derive(Clone, Copy)]
enum Kind {
    Start,
    /// So many seconds of silence.
    Timer(u64),
    /// One of these letters and a line feed.
    Letters(u64),
}

/// A rule as it was meant.
struct Drawn {
    kind: Kind,
    held: u64,
    lacked: u64,
    body: Vec<Stmt>,
}

impl Drawn {
    fn fits(&self, states: u64) -> bool {
        self.held & !states == 0 && self.lacked & states == 0
    }
}

/// What is active in a set of states: the rule that takes each letter, those that take any, and the
/// TIMEOUT rule that fires. Rules by their places in `rules`.
struct Active {
    takes: [Option<usize>; 4],
    fires: Option<usize>,
    any: bool,
}

impl Active {
    fn of(rules: &[Drawn], states: u64) -> Active {
        let mut active = Active {
            takes: [None; 4],
            fires: None,
            any: false,
        };
        let mut shortest = u64::MAX;
        for (n, rule) in rules.iter().enumerate().filter(|(_, r)| r.fits(states)) {
            match rule.kind {
                Kind::Start => continue,
                Kind::Timer(after) if after < shortest => {
                    shortest = after;
                    active.fires = Some(n);
                }
                Kind::Timer(_) => {}
                Kind::Letters(set) => {
                    for (bit, taken) in active.takes.iter_mut().enumerate() {
                        if set >> bit & 1 == 1 && taken.is_none() {
                            *taken = Some(n);
                        }
                    }
                }
            }
            active.any = true;
        }
        active
    }
}

/// Leaves a specification to others, and beside it what is said of it: a line for each set, its
/// states, and behind a bar the rules that take anything there.
fn written(folder: &str, seed: u64, text: &str, m: &Machine, reach: &Reach) {
    let mut sets = String::new();
    for set in &reach.sets {
        let names = ["START", "DEFAULT", "A", "B", "C", "D"].iter().enumerate();
        for (_, name) in names.filter(|(n, _)| set.states >> n & 1 == 1) {
            let _ = write!(sets, "{name} ");
        }
        sets.push('|');
        for rule in &set.rules {
            let _ = write!(sets, " {}", m.rules[*rule].label);
        }
        sets.push('\n');
    }
    std::fs::write(format!("{folder}/{seed}.nest"), text).expect("the folder is there");
    std::fs::write(format!("{folder}/{seed}.sets"), sets).expect("the folder is there");
}

fn specification(seed: u64) {
    // Never 0, of which the generator makes nothing else.
    let dice = &mut Dice(seed.wrapping_mul(2_654_435_761) | 1);
    let mut helpers: Vec<Vec<Stmt>> = Vec::new();
    let mut text = String::from("%{\nextern int any(void);\n");
    for n in 0..dice.below(3) {
        let count = helpers.len();
        let mut draw = Draw {
            dice,
            helpers: count,
            in_loop: false,
        };
        let body = draw.block(2);
        let _ = write!(
            text,
            "static void h{n}(int n, nest_session *self) {{ (void)n; "
        );
        write(&mut text, &body, true);
        text.push_str("out: ; }\n");
        helpers.push(body);
    }
    text.push_str("%}\n%state A B C D\n%%\n");
    let mut rules = Vec::new();
    let count = 2 + dice.below(5);
    for n in 0..=count {
        let (cond, held, lacked) = condition(dice);
        let kind = match dice.below(5) {
            _ if n == 0 => Kind::Start,
            0 => Kind::Timer(1 + dice.below(3)),
            _ => Kind::Letters(1 + dice.below(15)),
        };
        let mut draw = Draw {
            dice,
            helpers: helpers.len(),
            in_loop: false,
        };
        let body = draw.block(3);
        let _ = match kind {
            Kind::Start => write!(text, "START {{ "),
            Kind::Timer(after) => write!(text, "{cond}TIMEOUT({after}s) {{ "),
            Kind::Letters(set) => {
                let letters = ('a'..='d').zip(0..).filter(|(_, bit)| set >> bit & 1 == 1);
                let letters: String = letters.map(|(letter, _)| letter).collect();
                write!(text, "{cond}r{n} = [{letters}] \"\\n\" {{ ")
            }
        };
        write(&mut text, &body, false);
        text.push_str("out: ; }\n");
        rules.push(Drawn {
            kind,
            held,
            lacked,
            body,
        });
    }
    let compiled = compile("t.nest", &text, &mut Alone, &Overrides::default());
    let m = compiled
        .machine
        .unwrap_or_else(|| panic!("seed {seed}\n{text}\n{:#?}", compiled.diagnostics));
    let reach = Reach::of(&m);
    assert!(reach.is_complete(), "seed {seed}\n{text}");
    if let Ok(folder) = std::env::var("NEST_WRITE") {
        written(&folder, seed, &text, &m, &reach);
    }
    let known = |states: u64| reach.sets.iter().position(|s| s.states == states);
    // Numbers of pattern rules and of TIMEOUT rules, each in their list.
    let place = |n: usize| {
        let timer = |k: &Drawn| matches!(k.kind, Kind::Timer(_));
        let before = rules[1..n].iter();
        before.filter(|k| timer(k) == timer(&rules[n])).count()
    };
    for _ in 0..WALKS {
        let mut now = Now {
            states: 1,
            closes: false,
        };
        run(&mut now, &rules[0].body, &helpers, dice);
        if now.states == 1 {
            now.states = 3;
        }
        for _ in 0..12 {
            if now.closes {
                break;
            }
            let Some(at) = known(now.states) else {
                panic!(
                    "seed {seed}: {:b} is reached\n{text}\n{:#?}",
                    now.states, reach.sets
                );
            };
            let (set, active) = (&reach.sets[at], Active::of(&rules, now.states));
            let take: BTreeSet<usize> = active.takes.iter().flatten().map(|n| place(*n)).collect();
            let reported: BTreeSet<usize> = set.rules.iter().copied().collect();
            assert_eq!(reported, take, "seed {seed}\n{text}");
            assert_eq!(set.timer, active.fires.map(place), "seed {seed}\n{text}");
            assert_eq!(set.is_stuck(), !active.any, "seed {seed}\n{text}");
            let drawn = usize::try_from(dice.below(5)).expect("small");
            let next = active.takes.get(drawn).copied().unwrap_or(active.fires);
            // No rule takes it, or nothing happens for ever.
            let Some(next) = next else { break };
            run(&mut now, &rules[next].body, &helpers, dice);
        }
    }
    // What is certain comes, however the dice fall.
    for at in (0..reach.sets.len()).filter(|s| reach.sets[*s].certain) {
        let mut now = Now {
            states: 1,
            closes: false,
        };
        run(&mut now, &rules[0].body, &helpers, dice);
        if now.states == 1 {
            now.states = 3;
        }
        for (from, step) in reach.path_to(at) {
            assert_eq!(reach.sets[from].states, now.states, "seed {seed}\n{text}");
            let by = (1..rules.len()).find(|n| match (step, rules[*n].kind) {
                (Step::Rule(rule), Kind::Letters(_)) => place(*n) == rule,
                (Step::Timer(timer), Kind::Timer(_)) => place(*n) == timer,
                _ => false,
            });
            let by = by.expect("it was drawn");
            run(&mut now, &rules[by].body, &helpers, dice);
        }
        let there = reach.sets[at].states == now.states && !now.closes;
        assert!(there, "seed {seed}: set {at}\n{text}\n{:#?}", reach.sets);
    }
}

#[test]
fn random_conversations_stay_within_what_is_reached() {
    for seed in VOLUME.seeds(WALKS) {
        specification(seed);
    }
}
