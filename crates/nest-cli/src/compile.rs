//! A specification compiled and its findings shown: the first step of every command.
//!
//! Must not know: how the machine is used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nest_check::{Finding, Incomplete, Witness};
use nest_diag::{Allows, Diagnostic, SourceMap, render_text};
use nest_emit::filter::Filter;
use nest_machine::first::first;
use nest_machine::kept::kept;
use nest_machine::{Feature, Features, Machine, Overrides};
use nest_pattern::Dfa;

use crate::args::Spec;
use crate::findings;
use crate::source::{self, Files};
use crate::term::{self, Failure, Progress};

/// What compiling came to, before anything is printed.
pub struct Outcome {
    /// All source text.
    pub sources: SourceMap,
    /// Findings, in order.
    pub diagnostics: Vec<Diagnostic>,
    /// The machine; none if there was an error.
    pub machine: Option<Machine>,
    allows: Allows,
    /// The number of allowed warnings.
    allowed: usize,
    /// Findings that may be missing.
    pub incomplete: Vec<Incomplete>,
}

impl Outcome {
    /// Adds the findings of the checker in order. Returns for each finding what a client does to
    /// reproduce it.
    fn check(&mut self) -> Vec<Option<Witness>> {
        let Some(machine) = &self.machine else {
            return vec![None; self.diagnostics.len()];
        };
        let reported = std::mem::take(&mut self.diagnostics).into_iter();
        let mut all: Vec<Finding> = reported.map(Finding::from).collect();
        let mut report = nest_check::report(machine);
        all.append(&mut report.findings);
        let looked_for = |code| report.is_whole(code);
        let (all, allowed) = nest_check::settle(all, &self.sources, &mut self.allows, looked_for);
        self.allowed += allowed;
        self.incomplete = report.incomplete;
        let (reported, witnesses) = all.into_iter().map(|f| (f.diagnostic, f.witness)).unzip();
        self.diagnostics = reported;
        witnesses
    }
}

/// The features that `--trace` and `--tls` select.
pub fn selected(trace: bool, tls: bool) -> Features {
    let trace = trace.then_some(Feature::Trace);
    let tls = tls.then_some(Feature::Tls);
    trace.into_iter().chain(tls).collect()
}

/// Compiles; findings go to standard error. `more`: C files that belong to the server. `features`:
/// those that the command selects. `inputs` gets every file that was read or asked for.
pub fn compile(
    spec: &Spec,
    more: &[PathBuf],
    features: Features,
    inputs: &mut BTreeSet<PathBuf>,
) -> Result<Machine, Failure> {
    let outcome = outcome(spec, more, features, inputs);
    if !outcome.diagnostics.is_empty() {
        say(&spec.file, &outcome);
    }
    outcome.machine.ok_or(Failure::Reported)
}

/// The same for a filter: also the automaton of a client's first message. Why a filter cannot have
/// one is an error.
pub fn compile_filter(file: &Path, filter: Filter) -> Result<(Machine, Dfa), Failure> {
    let spec = Spec {
        file: file.to_owned(),
        model: None,
    };
    let mut outcome = outcome(&spec, &[], Features::default(), &mut BTreeSet::new());
    let found = outcome.machine.take().and_then(|machine| {
        let kept = match filter {
            Filter::Persist => kept(&machine),
            Filter::Request | Filter::Check => None,
        };
        let automaton = first(&machine).map_err(|why| outcome.diagnostics.push(why));
        let refused = kept.is_some();
        outcome.diagnostics.extend(kept);
        Some((machine, automaton.ok().filter(|_| !refused)?))
    });
    if !outcome.diagnostics.is_empty() {
        say(file, &outcome);
    }
    found.ok_or(Failure::Reported)
}

/// Prints all findings to standard error.
fn say(file: &Path, outcome: &Outcome) {
    let colour = term::colour_err();
    term::say(render_text(&outcome.sources, &outcome.diagnostics, colour));
    summarise(file, outcome);
}

/// Compiles and checks; for each finding, what a client does to see it.
pub fn checked(spec: &Spec) -> (Outcome, Vec<Option<Witness>>) {
    let mut outcome = outcome(spec, &[], Features::default(), &mut BTreeSet::new());
    let witnesses = outcome.check();
    (outcome, witnesses)
}

/// Compiles and checks: the machine, and all findings in the order of `nest check`. Errors go to
/// standard error.
pub fn inspect(spec: &Spec) -> Result<(SourceMap, Machine, Vec<Finding>), Failure> {
    let (mut outcome, witnesses) = checked(spec);
    let Some(machine) = outcome.machine.take() else {
        say(&spec.file, &outcome);
        return Err(Failure::Reported);
    };
    let all = outcome.diagnostics.into_iter().zip(witnesses);
    let findings = all.map(|(diagnostic, witness)| Finding {
        diagnostic,
        witness,
        once: None,
    });
    Ok((outcome.sources, machine, findings.collect()))
}

/// The same for a specification that was compiled before, in another model: its warnings have been
/// printed.
pub fn compile_again(
    spec: &Spec,
    more: &[PathBuf],
    features: Features,
) -> Result<Machine, Failure> {
    let outcome = outcome(spec, more, features, &mut BTreeSet::new());
    match outcome.machine {
        Some(machine) => Ok(machine),
        None => compile(spec, more, features, &mut BTreeSet::new()),
    }
}

fn outcome(
    spec: &Spec,
    more: &[PathBuf],
    features: Features,
    inputs: &mut BTreeSet<PathBuf>,
) -> Outcome {
    if !source::is_stdin(&spec.file) {
        inputs.insert(spec.file.clone());
    }
    let source = match source::read(&spec.file) {
        Ok(source) => source,
        Err(unreadable) => {
            let source::Unreadable {
                sources,
                diagnostics,
            } = *unreadable;
            return Outcome {
                sources,
                diagnostics,
                machine: None,
                allows: Allows::default(),
                allowed: 0,
                incomplete: Vec::new(),
            };
        }
    };
    let _progress = Progress::start(format!("checking {}", source.name));
    let overrides = Overrides {
        model: spec.model.clone(),
        features,
        // The C compiler reports files that cannot be read.
        beside: more
            .iter()
            .filter_map(|file| std::fs::read(file).ok())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .collect(),
    };
    let mut files = Files::new(&source.name);
    let compiled = nest_machine::compile(&source.name, &source.text, &mut files, &overrides);
    inputs.extend(files.into_requested());
    let failed = compiled.diagnostics.iter().any(Diagnostic::is_error);
    Outcome {
        sources: compiled.sources,
        diagnostics: compiled.diagnostics,
        machine: compiled.machine.filter(|_| !failed),
        allows: compiled.allows,
        allowed: compiled.allowed,
        incomplete: Vec::new(),
    }
}

/// Prints one line that counts the findings.
pub fn summarise(file: &Path, outcome: &Outcome) {
    let diagnostics = &outcome.diagnostics;
    let name = if source::is_stdin(file) {
        source::STDIN.into()
    } else {
        file.to_string_lossy()
    };
    for incomplete in &outcome.incomplete {
        term::note(format!("{name}: {}", findings::incomplete(incomplete)));
    }
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    let count = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    let allowed = match outcome.allowed {
        0 => String::new(),
        n => format!(", {} allowed", count(n, "warning")),
    };
    let reported = match (errors, diagnostics.len() - errors) {
        (0, 0) => format!("{name}: no errors"),
        (0, warnings) => format!("{name}: no errors, {}", count(warnings, "warning")),
        (errors, 0) => format!("{name}: {}", count(errors, "error")),
        (errors, warnings) => {
            format!(
                "{name}: {}, {}",
                count(errors, "error"),
                count(warnings, "warning")
            )
        }
    };
    term::note(reported + &allowed);
}
