//! Random rule sets and conversations: the same decisions as by libpcre2, at the same bytes.
//!
//! `support/sample.rs` says how many are tried. A failing case is printed smaller, with the two
//! variables that repeat it.

use crate::print::{Macros, pcre};
use crate::random::Random;
use crate::reference::{self, GaveUp};
use crate::sample::Volume;
use crate::{generate, pcre2::Regex, shrink};
use nest_diag::Code;
use nest_pattern::sim::{Decision, Engine, Outcome, Rule, Together};
use nest_pattern::{Dfa, Hir, Nfa, backtracking, lower};
use nest_syntax::ast::Pattern;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Conversations for each set of rules.
const PER_SET: u64 = 24;

/// Conversations to try.
const VOLUME: Volume = Volume {
    quick: 24_000,
    sample: 200_000,
    full: 2_000_000,
};

/// A pattern that needs more is left to the thread list.
const BUDGET: usize = 2_000;

/// Steps of libpcre2 for one call; nested loops can need any number.
const MATCH_LIMIT: u32 = 20_000;

/// Rules and a conversation.
#[derive(Clone, Debug, Default)]
pub struct Case {
    pub rules: Vec<Pattern>,
    pub macros: Macros,
    pub caseless: bool,
    pub input: Vec<u8>,
    /// Where the input is cut into pieces.
    pub cuts: Vec<usize>,
    pub eof: bool,
    pub input_buffer: usize,
    /// The condition of each rule: those that share one are active together.
    pub conditions: Vec<u32>,
    /// Whether each rule decides as soon as it accepts.
    pub early: Vec<bool>,
    /// The parts that each rule's action asks for.
    pub requested: Vec<BTreeSet<u32>>,
    /// Which rules are active at the first read point, the second, …; then again from the first.
    pub masks: Vec<u64>,
}

impl Case {
    pub fn active(&self, point: usize) -> Vec<usize> {
        let mask = self.masks[point % self.masks.len()];
        (0..self.rules.len())
            .filter(|r| mask >> r & 1 == 1)
            .collect()
    }

    fn describe(&self) -> String {
        let mut out = String::new();
        for (n, rule) in self.rules.iter().enumerate() {
            let text = pcre(rule, &self.macros, self.caseless);
            writeln!(out, "rule {n}: {text}").expect("a string takes all");
        }
        let input = self.input.escape_ascii();
        let Case {
            cuts,
            eof,
            input_buffer,
            masks,
            conditions,
            early,
            requested,
            ..
        } = self;
        writeln!(out, "input \"{input}\" cut at {cuts:?}, end of file: {eof}").expect("same");
        writeln!(out, "inputBuffer {input_buffer}, active {masks:?}").expect("same");
        writeln!(out, "conditions {conditions:?}, asked for: {requested:?}").expect("same");
        writeln!(out, "early {early:?}").expect("same");
        out
    }
}

/// The rules of a case, ready for both sides.
struct Prepared {
    hirs: Vec<Vec<Hir>>,
    /// With DFAs where they fit.
    fast: Vec<Rule>,
    /// Thread lists only.
    slow: Vec<Rule>,
    /// All of them side by side, if that fits: each with a condition of its own; and as it is when
    /// some share one, and some parts are not asked for.
    together: Vec<(&'static str, Together)>,
    regexes: Vec<Regex>,
    /// The text that a server with `%option backtracking yes` gives to libpcre2; `None`: one of the
    /// rules is too large for it.
    written: Option<Vec<Regex>>,
}

fn prepare(case: &Case) -> Result<Prepared, String> {
    let (mut fast, mut slow, mut regexes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut hirs, mut written) = (Vec::new(), Some(Vec::new()));
    for (rule, early) in case.rules.iter().zip(&case.early) {
        let early = *early;
        let hir = lower(rule, &case.macros, case.caseless).map_err(|d| format!("{d:?}"))?;
        let nfa = Nfa::build(&hir).map_err(|e| e.to_string())?;
        fast.push(Rule {
            nfa: nfa.clone(),
            dfa: if early {
                Dfa::build_early(&nfa, BUDGET)
            } else {
                Dfa::build(&nfa, BUDGET)
            },
            early,
        });
        slow.push(Rule {
            dfa: Dfa::build(&nfa, 0),
            nfa,
            early,
        });
        let text = pcre(rule, &case.macros, case.caseless);
        regexes.push(Regex::new(
            text.as_bytes(),
            rule.elements.len(),
            MATCH_LIMIT,
        )?);
        let ends: Vec<u32> = (0u32..).take(rule.elements.len()).collect();
        match backtracking::text(rule, &case.macros, case.caseless, &ends) {
            Ok(text) => {
                assert!(text.groups.iter().copied().eq(1..=text.captures));
                if let Some(written) = &mut written {
                    let count = rule.elements.len();
                    written.push(Regex::runtime(text.text.as_bytes(), count, MATCH_LIMIT)?);
                }
            }
            Err(why) if why.iter().all(|d| d.code == Code::E0311) => written = None,
            Err(why) => return Err(format!("{why:?}")),
        }
        hirs.push(hir);
    }
    let together = [
        ("merged, cut", Together::build(&fast, BUDGET)),
        (
            "merged with shared conditions, cut",
            Together::with(&fast, &case.requested, &case.conditions, BUDGET),
        ),
    ];
    let fits = together.into_iter().filter_map(|(n, t)| Some((n, t?)));
    let together = fits.collect();
    Ok(Prepared {
        hirs,
        fast,
        together,
        slow,
        regexes,
        written,
    })
}

fn engine_decisions(case: &Case, mut engine: Engine<'_>, cuts: &[usize]) -> Vec<Decision> {
    let mut made: Vec<Decision> = Vec::new();
    engine.begin(case.active(0), false);
    let mut from = 0;
    for to in cuts.iter().copied().chain([case.input.len()]) {
        engine.feed(&case.input[from..to]);
        from = to;
        if to == case.input.len() && case.eof {
            engine.end_of_file();
        }
        while let Some(decision) = engine.decide() {
            made.push(decision);
            match made.last().map(|d| &d.outcome) {
                Some(Outcome::Run { .. }) => engine.begin(case.active(made.len()), false),
                _ => return made,
            }
        }
    }
    made
}

/// What differs, if anything does.
fn difference(case: &Case, ready: &Prepared) -> Result<Option<String>, GaveUp> {
    let expected = reference::decisions(case, &ready.regexes)?;
    if let Some(written) = &ready.written {
        let written = reference::decisions(case, written)?;
        if written != expected {
            return Ok(Some(format!(
                "libpcre2, as written: {written:#?}\nlibpcre2: {expected:#?}"
            )));
        }
    }
    let every: Vec<usize> = (1..case.input.len()).collect();
    let runs = [
        ("DFA, whole", &ready.fast, &[][..]),
        ("DFA, cut", &ready.fast, &case.cuts[..]),
        ("threads, cut everywhere", &ready.slow, &every[..]),
    ];
    let standalone = runs.into_iter().map(|(name, rules, cuts)| {
        let engine = Engine::new(rules, case.input_buffer);
        (name, engine_decisions(case, engine, cuts))
    });
    let product = ready.together.iter().map(|(name, together)| {
        let engine = Engine::product(&ready.fast, together, case.input_buffer);
        (*name, engine_decisions(case, engine, &case.cuts))
    });
    for (name, got) in standalone.chain(product) {
        if got != expected {
            return Ok(Some(format!("{name}: {got:#?}\nlibpcre2: {expected:#?}")));
        }
    }
    Ok(None)
}

fn fails(case: &Case) -> Option<String> {
    difference(case, &prepare(case).ok()?).ok()?
}

/// What was done, in all.
#[derive(Default)]
struct Counts {
    done: u64,
    gave_up: u64,
    with_input: u64,
    rules: u64,
    by_dfa: u64,
    sets: u64,
    product: u64,
}

/// One set of rules and its conversations; what is wrong with the first that fails.
fn try_set(set: u64) -> Result<Counts, String> {
    let mut random = Random::new(set);
    let mut case = generate::rules(&mut random);
    let replay = format!("again: CHECK_SEED={set} CHECK_TRIALS={PER_SET}");
    let ready = prepare(&case).map_err(|e| format!("{e}\n{}{replay}", case.describe()))?;
    let mut counts = Counts {
        rules: ready.fast.len() as u64,
        by_dfa: ready.fast.iter().filter(|r| r.dfa.is_some()).count() as u64,
        sets: 1,
        product: u64::from(!ready.together.is_empty()),
        ..Counts::default()
    };
    for _ in 0..PER_SET {
        generate::conversation(&mut random, &mut case, &ready.hirs);
        counts.done += 1;
        match difference(&case, &ready) {
            Err(GaveUp) => {
                // It would be as slow with the rest.
                counts.gave_up += 1;
                break;
            }
            Ok(None) => counts.with_input += u64::from(!case.input.is_empty()),
            Ok(Some(_)) => {
                let small = shrink::smallest(case, |c| fails(c).is_some());
                let what = fails(&small).expect("it was made from cases that fail");
                return Err(format!("{}{what}\n{replay}", small.describe()));
            }
        }
    }
    Ok(counts)
}

#[test]
fn same_decisions_as_libpcre2() {
    let seeds = VOLUME.seeds(PER_SET);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, all) = (AtomicU64::new(seeds.start), Mutex::new(Counts::default()));
    std::thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                // Poisoned by the first that fails: then all stop.
                while !all.is_poisoned() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let one = try_set(seed);
                    let mut all = all.lock().expect("another set has failed");
                    let one = one.unwrap_or_else(|what| panic!("{what}"));
                    all.done += one.done;
                    all.gave_up += one.gave_up;
                    all.with_input += one.with_input;
                    all.rules += one.rules;
                    all.by_dfa += one.by_dfa;
                    all.sets += one.sets;
                    all.product += one.product;
                }
            });
        }
    });
    let Counts {
        done,
        gave_up,
        with_input: runs,
        rules,
        by_dfa,
        sets,
        product,
    } = all.into_inner().expect("no set failed");
    println!(
        "seeds {seeds:?}: {done} conversations, {gave_up} without a verdict of libpcre2, \
         {by_dfa} of {rules} rules by DFA, {product} of {sets} sets merged"
    );
    if done < 10_000 {
        return;
    }
    // A run that is not a repetition must have tested something.
    assert!(
        gave_up * 100 <= done,
        "libpcre2 gave up on {gave_up} of {done} conversations"
    );
    assert!(
        runs * 2 > done,
        "only {runs} of {done} conversations had input"
    );
    assert!(
        by_dfa * 100 >= rules * 95,
        "only {by_dfa} of {rules} rules fit {BUDGET} states"
    );
    assert!(
        product * 100 >= sets * 80,
        "only {product} of {sets} sets of rules fit {BUDGET} states side by side"
    );
}
