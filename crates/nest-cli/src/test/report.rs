//! Prints the results of the conversations page by page, in order, and then their coverage.
//!
//! Must not know: how conversations are run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use nest_c::Owner;
use nest_c::branches::{Branch, Outcome};
use nest_check::{Act, Coverage, Heard, Share, Talks};
use nest_machine::Machine;
use nest_machine::reach::{Reach, Step};
use serde_json::{Value, json};

use super::runner::{Cell, Page};
use super::shown::shown;
use crate::args::Format;
use crate::term::{self, ERROR, FAINT, GOOD, STRONG};

/// With more rules than this, only those that did not run in all their sets are listed.
const LISTED: usize = 24;
/// The maximum number of transitions, and of failures per page, that are shown; JSON contains all.
const SHOWN: usize = 12;
/// The maximum number of different failures per page.
const DIFFERENT: usize = 3;

/// Collects and prints results.
pub struct Report {
    format: Format,
    file: PathBuf,
    /// In the order in which they are printed.
    pages: Vec<PathBuf>,
    reported: usize,
    waiting: BTreeMap<PathBuf, Page>,
    counts: BTreeMap<&'static str, usize>,
    skipped: BTreeMap<String, usize>,
    heard: Vec<Trace>,
}

impl Report {
    /// For these pages.
    pub fn new(format: Format, file: &Path, pages: &[PathBuf]) -> Report {
        Report {
            format,
            file: file.to_owned(),
            pages: pages.to_vec(),
            reported: 0,
            waiting: BTreeMap::new(),
            counts: BTreeMap::new(),
            skipped: BTreeMap::new(),
            heard: Vec::new(),
        }
    }

    /// Records a page, and prints all pages that are next in order.
    pub fn page(&mut self, page: Page) {
        self.waiting.insert(page.page.clone(), page);
        while let Some(page) = self
            .pages
            .get(self.reported)
            .and_then(|p| self.waiting.remove(p))
        {
            self.reported += 1;
            self.report(&page);
        }
    }

    /// The complete traces of all conversations.
    pub fn heard(&self) -> impl Iterator<Item = Vec<Heard>> {
        self.heard.iter().map(lines)
    }

    /// The acts of the clients in them, one for each rule that ran.
    pub fn acts(&self, m: &Machine) -> Vec<Vec<Act>> {
        self.heard.iter().map(|trace| acts(m, trace)).collect()
    }

    /// Whether anything failed or was not run.
    pub fn failed(&self) -> bool {
        self.count("failed") > 0 || self.reported < self.pages.len()
    }

    fn count(&self, outcome: &str) -> usize {
        self.counts.get(outcome).copied().unwrap_or(0)
    }

    fn report(&mut self, page: &Page) {
        for cell in &page.cells {
            let outcome = match cell.outcome.as_str() {
                "passed" => "passed",
                "skipped" => "skipped",
                _ => "failed",
            };
            *self.counts.entry(outcome).or_default() += 1;
            if let Some(reason) = cell.reason.as_ref().filter(|_| outcome == "skipped") {
                *self.skipped.entry(reason.clone()).or_default() += 1;
            }
        }
        self.heard.extend(page.heard.iter().cloned());
        let name = shown(&page.page);
        match self.format {
            Format::Json => {
                let ok = page.cells.iter().all(|c| c.outcome != "failed");
                let what = json!({"page": name, "ok": ok, "seconds": page.seconds, "cells": page.cells,
                           "written": page.written});
                term::print(format_args!("{what}\n"));
            }
            Format::Text => term::print(reported(&name, page)),
        }
    }

    /// Prints the closing lines.
    pub fn close(&self, m: &Machine, reach: &Reach, coverage: &Coverage, kept: Option<&Path>) {
        let [passed, failed, skipped] = ["passed", "failed", "skipped"].map(|o| self.count(o));
        match self.format {
            Format::Json => {
                let summary = json!({"passed": passed, "failed": failed, "skipped": skipped});
                term::print(format_args!("{}\n", json!({"summary": summary})));
                let all = as_json(m, coverage);
                term::print(format_args!("{}\n", json!({"coverage": all})));
            }
            Format::Text => {
                let mut text = String::new();
                for (reason, count) in &self.skipped {
                    let _ = writeln!(text, "{FAINT}skipped {count}: {reason}{FAINT:#}");
                }
                let _ = writeln!(
                    text,
                    "{passed} passed, {failed} failed, {skipped} skipped\n"
                );
                text.push_str(&as_text(&self.file, m, reach, coverage));
                term::print(text);
            }
        }
        if let Some(kept) = kept {
            term::note(format!(
                "the output of the servers is in {}",
                kept.display()
            ));
        }
    }
}

/// A trace: each line is a list of words.
type Trace = Vec<Vec<Value>>;

fn word(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// The acts of a client that produce this trace.
fn acts(m: &Machine, trace: &Trace) -> Vec<Act> {
    let act = |line: &Vec<Value>| match word(line.first()).as_str() {
        "take" => {
            let bytes = word(line.get(2));
            let bytes = bytes
                .chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'));
            Some(Act::Send(bytes.collect()))
        }
        "timeout" => {
            let label = word(line.get(1));
            let timer = m.timers.iter().find(|t| t.label == label)?;
            Some(Act::Silence(timer.after))
        }
        _ => None,
    };
    trace.iter().filter_map(act).collect()
}

/// A trace, as far as it counts for coverage.
fn lines(trace: &Trace) -> Vec<Heard> {
    let line = |line: &Vec<Value>| match word(line.first()).as_str() {
        "take" => Some(Heard::Take(word(line.get(1)))),
        "timeout" => Some(Heard::Timeout(word(line.get(1)))),
        "states" => {
            let names = line.get(1).and_then(Value::as_array)?;
            let names = names.iter().map(|name| word(Some(name)));
            Some(Heard::States(names.collect(), word(line.get(2))))
        }
        _ => None,
    };
    trace.iter().filter_map(line).collect()
}

/// A page: a line, and what failed.
fn reported(name: &str, page: &Page) -> String {
    let bad: Vec<&Cell> = page
        .cells
        .iter()
        .filter(|c| c.outcome == "failed")
        .collect();
    let mut text = String::new();
    let held = page.cells.iter().filter(|c| c.outcome != "skipped").count();
    let took = format!("{:.1} s", page.seconds);
    if bad.is_empty() {
        let variants = if held == 1 { "variant" } else { "variants" };
        let _ = writeln!(
            text,
            "{GOOD}ok{GOOD:#}      {name}  {FAINT}{held} {variants}, {took}{FAINT:#}"
        );
        if page.written {
            text.push_str("        its trace was written from what the server did: read whether it is right\n");
        }
        return text;
    }
    let of = format!("{} of {held} variants, {took}", bad.len());
    let _ = writeln!(text, "{ERROR}FAILED{ERROR:#}  {name}  {FAINT}{of}{FAINT:#}");
    let mut alike: Vec<(Option<usize>, &str, Vec<&str>)> = Vec::new();
    for cell in bad {
        let reason = cell.reason.as_deref().unwrap_or_default();
        match alike
            .iter_mut()
            .find(|(line, same, _)| *line == cell.line && *same == reason)
        {
            Some((_, _, cells)) => cells.push(&cell.cell),
            None => alike.push((cell.line, reason, vec![&cell.cell])),
        }
    }
    for (line, reason, cells) in alike.iter().take(DIFFERENT) {
        let place = line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
        let cells = cells.join(", ");
        let _ = writeln!(text, "  {STRONG}{place}{STRONG:#}: {FAINT}{cells}{FAINT:#}");
        for part in reason.lines() {
            let style = match part.trim_start().as_bytes() {
                [b'-', b' ', ..] => AnsiColor::Red.on_default(),
                [b'+', b' ', ..] => AnsiColor::Green.on_default(),
                _ => anstyle::Style::new(),
            };
            let _ = writeln!(text, "    {style}{part}{style:#}");
        }
    }
    if alike.len() > DIFFERENT {
        let more = alike.len() - DIFFERENT;
        let _ = writeln!(
            text,
            "    {FAINT}and {more} more failures in other variants{FAINT:#}"
        );
    }
    let both = |reason: &str| ["- ", "+ "].map(|sign| reason.contains(&format!("\n  {sign}")));
    if alike
        .iter()
        .any(|(_, reason, _)| both(reason) == [true, true])
    {
        let legend = "-: what the page says, +: what the server did";
        let _ = writeln!(text, "    {FAINT}{legend}{FAINT:#}");
    }
    text
}

fn percent(share: Share) -> String {
    format!("{} of {}, {}%", share.met, share.all, share.percent())
}

/// Rules and TIMEOUT rules that can run.
fn listed(m: &Machine, coverage: &Coverage) -> Vec<Step> {
    let all = coverage.all_steps();
    let rules = (0..m.rules.len()).map(Step::Rule);
    let steps = rules.chain((0..m.timers.len()).map(Step::Timer));
    steps.filter(|step| all.contains(step)).collect()
}

fn as_text(file: &Path, m: &Machine, reach: &Reach, coverage: &Coverage) -> String {
    let mut text = format!("{STRONG}Coverage of {}{STRONG:#}\n", file.display());
    let mut row = |name: &str, share: Option<Share>, what: &str| {
        if let Some(share) = share.filter(|share| share.all > 0) {
            let _ = writeln!(
                text,
                "  {name:<12} {:<18} {FAINT}{what}{FAINT:#}",
                percent(share)
            );
        }
    };
    row(
        "rules",
        Some(coverage.rules()),
        "that ran, TIMEOUT rules among them",
    );
    row("states", Some(coverage.states()), "that were marked");
    row("sets", coverage.sets(), "of states that hold together");
    row(
        "transitions",
        coverage.transitions(),
        "rules, each in every set in which it can run",
    );
    row(
        "branches",
        Some(coverage.branches()),
        "of actions: outcomes of conditions, labels of switches",
    );
    if reach.sets.is_empty() {
        text.push_str("  START's action ends every conversation: there is nothing to cover.\n");
    }
    if !coverage.is_complete() {
        text.push_str("  There are too many sets of states: only rules and states are counted.\n");
    }
    let steps = listed(m, coverage);
    let few = steps.len() <= LISTED;
    let labels: Vec<(String, usize)> = steps.iter().map(|s| coverage.label(*s)).collect();
    let widest = labels.iter().map(|l| l.0.len()).max().unwrap_or(0).max(4);
    let mut rows = String::new();
    for (step, (label, line)) in steps.iter().zip(&labels) {
        let share = coverage.of_step(*step);
        let branches = coverage.branches_of(owner(*step));
        let branches = branches.filter(|branches| branches.all > 0 && share.met > 0);
        let partly = branches.is_some_and(|branches| branches.met < branches.all);
        if !few && share.met == share.all && !partly {
            continue;
        }
        let style = if share.met == 0 {
            ERROR
        } else {
            anstyle::Style::new()
        };
        let what = match (share.met, coverage.is_complete()) {
            (0, _) => "never ran".to_owned(),
            (_, false) => "ran".to_owned(),
            (met, true) => format!("in {met} of {} sets", share.all),
        };
        let counted = branches.map_or_else(String::new, |branches| {
            let partly = if partly { "partly: " } else { "" };
            format!(", {partly}{} of {} branches", branches.met, branches.all)
        });
        let _ = writeln!(
            rows,
            "  {style}{label:<widest$} {line:>5}  {what}{counted}{style:#}"
        );
    }
    if !rows.is_empty() {
        let _ = writeln!(
            text,
            "\n  {FAINT}{:<widest$} {:>5}{FAINT:#}\n{rows}",
            "rule", "line"
        );
    }
    let states = coverage.missing_states();
    if !states.is_empty() {
        let _ = writeln!(text, "  never marked: {}\n", states.join(", "));
    }
    let missing = coverage.missing();
    if !missing.is_empty() {
        let _ = writeln!(text, "  not covered:");
    }
    let mut talks = Talks::new(m, reach);
    for (set, step) in missing.iter().take(SHOWN) {
        let label = coverage.label(*step).0;
        let example = example(m, &mut talks, *set, *step);
        let _ = writeln!(text, "    {label} in {}{example}", coverage.name(*set));
    }
    text.push_str(&unshown(missing.len()));
    text.push_str(&branches(m, coverage));
    if coverage.strange() > 0 {
        let _ = writeln!(
            text,
            "  {} sets of states occurred to which no visible action leads: other C code sets them",
            coverage.strange()
        );
    }
    text
}

fn owner(step: Step) -> Owner {
    match step {
        Step::Rule(n) => Owner::Rule(n),
        Step::Timer(n) => Owner::Timer(n),
    }
}

/// A line about those of a list that are not shown.
fn unshown(all: usize) -> String {
    match all.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("    {FAINT}and {more} more; --format json lists all{FAINT:#}\n"),
    }
}

/// The branches that did not run, of actions that ran, and the actions whose branches are not counted.
fn branches(m: &Machine, coverage: &Coverage) -> String {
    let mut text = String::new();
    let mut missing = coverage.missing_branches();
    missing.retain(|branch| coverage.has_run(branch.owner));
    if !missing.is_empty() {
        text.push_str("  branches that did not run:\n");
    }
    for branch in missing.iter().take(SHOWN) {
        let mut line = format!("line {}", branch.line);
        if branch.file != m.file {
            let _ = write!(line, " of {}", branch.file);
        }
        let (owner, what) = (coverage.owner(branch.owner), missed(branch));
        let _ = writeln!(text, "    {owner}, {line}: {what}");
    }
    text.push_str(&unshown(missing.len()));
    for (owner, why) in coverage.unmeasured() {
        let owner = coverage.owner(owner);
        let _ = writeln!(text, "  the branches of {owner} are not counted: {why}");
    }
    text
}

/// What a branch that did not run means.
fn missed(branch: &Branch) -> String {
    let statement = |keyword| match keyword {
        "do" => "do … while",
        other => other,
    };
    match &branch.outcome {
        Outcome::True(keyword) => format!("the `{}` was never true", statement(keyword)),
        Outcome::False(keyword) => format!("the `{}` was never false", statement(keyword)),
        Outcome::Label(label) => format!("the `{label}` never ran"),
    }
}

/// The acts of a client that might cover a transition.
fn example(m: &Machine, talks: &mut Talks, set: usize, step: Step) -> String {
    let before = talks.to(set);
    let whole = before.and_then(|before| match step {
        Step::Rule(rule) => Some(before.and(talks.message(set, rule)?)),
        Step::Timer(timer) => Some(before.silence(m.timers[timer].after)),
    });
    whole.map_or_else(String::new, |whole| format!("  {FAINT}{whole}{FAINT:#}"))
}

fn as_json(m: &Machine, coverage: &Coverage) -> Value {
    let share = |share: Share| json!({"met": share.met, "all": share.all});
    let steps = listed(m, coverage);
    let rules: Vec<Value> = steps
        .iter()
        .map(|step| {
            let (label, line) = coverage.label(*step);
            let branches = coverage.branches_of(owner(*step)).map(share);
            json!({"rule": label, "line": line, "sets": share(coverage.of_step(*step)),
                   "branches": branches})
        })
        .collect();
    let missing: Vec<Value> = coverage
        .missing()
        .into_iter()
        .map(|(set, step)| {
            let (label, line) = coverage.label(step);
            json!({"rule": label, "line": line, "in": coverage.name(set)})
        })
        .collect();
    let branches: Vec<Value> = coverage
        .missing_branches()
        .into_iter()
        .map(|branch| {
            json!({"rule": coverage.owner(branch.owner), "file": branch.file, "line": branch.line,
                   "what": missed(branch)})
        })
        .collect();
    let unmeasured: Vec<Value> = coverage
        .unmeasured()
        .into_iter()
        .map(|(owner, why)| json!({"rule": coverage.owner(owner), "why": why}))
        .collect();
    let unmarked: BTreeSet<&str> = coverage.missing_states().into_iter().collect();
    json!({
        "complete": coverage.is_complete(),
        "rules": share(coverage.rules()),
        "states": share(coverage.states()),
        "sets": coverage.sets().map(share),
        "transitions": coverage.transitions().map(share),
        "branches": share(coverage.branches()),
        "percent": coverage.whole().percent(),
        "each": rules,
        "missing": missing,
        "missing_branches": branches,
        "unmeasured": unmeasured,
        "unmarked": unmarked,
    })
}
