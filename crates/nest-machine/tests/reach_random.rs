//! Random specifications, walked at random: whatever is reached is among what reach says, what is
//! said to be certain comes by the way that is told, and what never wins never takes anything.
//!
//! Actions are drawn as trees, written as C for the compiler, and run here as trees; so the reading
//! of C is compared with what was meant. A failure prints the seed.

use nest_machine::reach::{Reach, Step};
use nest_machine::{Overrides, compile};
use nest_syntax::Loader;
use std::fmt::Write;

struct Nothing;

impl Loader for Nothing {
    fn load(&mut self, _from: &str, _path: &str) -> Result<(String, String), String> {
        Err("no file".to_string())
    }
}

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

fn specification(seed: u64) {
    let dice = &mut Dice(seed);
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
    let mut actions = Vec::new();
    let count = 1 + dice.below(5);
    for n in 0..=count {
        let (cond, held, lacked) = condition(dice);
        let mut draw = Draw {
            dice,
            helpers: helpers.len(),
            in_loop: false,
        };
        let body = draw.block(3);
        let _ = if n == 0 {
            write!(text, "START {{ ")
        } else {
            write!(text, "{cond}r{n} = \"{n}\\n\" {{ ")
        };
        write(&mut text, &body, false);
        text.push_str("out: ; }\n");
        actions.push((held, lacked, body));
    }
    let compiled = compile("t.nest", &text, &mut Nothing, &Overrides::default());
    let m = compiled
        .machine
        .unwrap_or_else(|| panic!("seed {seed}\n{text}\n{:#?}", compiled.diagnostics));
    let reach = Reach::of(&m);
    assert!(reach.is_complete(), "seed {seed}\n{text}");
    let known = |states: u64| reach.sets.iter().position(|s| s.states == states);
    for _ in 0..200 {
        let mut now = Now {
            states: 1,
            closes: false,
        };
        run(&mut now, &actions[0].2, &helpers, dice);
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
            let fits = |n: &usize| {
                let (held, lacked, _) = &actions[*n];
                held & !now.states == 0 && lacked & now.states == 0
            };
            let active: Vec<usize> = (1..actions.len()).filter(fits).collect();
            let expected: Vec<usize> = active.iter().map(|n| n - 1).collect();
            assert_eq!(reach.sets[at].rules, expected, "seed {seed}\n{text}");
            let Some(last) = u64::try_from(active.len()).ok().filter(|n| *n > 0) else {
                break;
            };
            let rule = active[usize::try_from(dice.below(last)).expect("small")];
            run(&mut now, &actions[rule].2, &helpers, dice);
        }
    }
    // What is certain comes, however the dice fall.
    for at in (0..reach.sets.len()).filter(|s| reach.sets[*s].certain) {
        let mut now = Now {
            states: 1,
            closes: false,
        };
        run(&mut now, &actions[0].2, &helpers, dice);
        if now.states == 1 {
            now.states = 3;
        }
        for (from, step) in reach.way_to(at) {
            assert_eq!(reach.sets[from].states, now.states, "seed {seed}\n{text}");
            let Step::Rule(rule) = step else {
                panic!("seed {seed}: there is no timer")
            };
            run(&mut now, &actions[rule + 1].2, &helpers, dice);
        }
        let there = reach.sets[at].states == now.states && !now.closes;
        assert!(there, "seed {seed}: set {at}\n{text}\n{:#?}", reach.sets);
    }
}

#[test]
fn random_conversations_stay_within_what_is_reached() {
    let first = match std::env::var("NEST_SEED") {
        Ok(seed) => return specification(seed.parse().expect("a number")),
        Err(_) => std::time::UNIX_EPOCH
            .elapsed()
            .map_or(1, |t| u64::from(t.subsec_nanos())),
    };
    for n in 0..400 {
        specification((first + n) * 2_654_435_761 + 1);
    }
}
