//! A specification compiled and its findings shown: `nest check`, and the first step of the others.
//!
//! Must not know: what is done with the machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nest_check::{Finding, Incomplete, Witness};
use nest_diag::{Allows, Diagnostic, SourceMap, render_text};
use nest_machine::{Machine, Overrides};

use crate::args::{Check, Format, Spec};
use crate::bounds;
use crate::findings;
use crate::matching;
use crate::replay::replay;
use crate::source::{self, Files};
use crate::term::{self, Failure, Progress};

/// What compiling came to, nothing said yet.
struct Outcome {
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    machine: Option<Machine>,
    allows: Allows,
    /// How many warnings were allowed.
    allowed: usize,
    /// What the checker could not tell.
    incomplete: Vec<Incomplete>,
}

impl Outcome {
    /// Adds the checker's findings, in order. For each of all, what a client does to see it.
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

/// `nest check`.
pub fn check(args: &Check) -> Result<ExitCode, Failure> {
    let mut outcome = outcome(&args.spec, &[], false, &mut BTreeSet::new());
    let witnesses = outcome.check();
    if let Some(n) = args.replay {
        let Some(witness) = n.checked_sub(1).and_then(|n| witnesses.get(n)) else {
            return Err(findings::none(n, witnesses.len()));
        };
        let Some(witness) = witness else {
            let what = format!("finding {n} is about no conversation: there is nothing to see");
            return Err(Failure::new(what));
        };
        let machine = outcome.machine.as_ref().ok_or(Failure::Reported)?;
        replay(&args.spec, machine, witness)?;
        return Ok(ExitCode::SUCCESS);
    }
    let explained = outcome.machine.as_ref().filter(|_| args.explain_matching);
    match args.format {
        Format::Json => {
            let found = &outcome.diagnostics;
            term::print(findings::json(&outcome.sources, found, &witnesses));
            term::print(findings::incomplete_json(&outcome.incomplete));
            if let Some(machine) = explained {
                term::print(matching::json(machine));
            }
        }
        Format::Text => {
            let colour = term::colour_out();
            findings::number(&args.spec.file, &mut outcome.diagnostics, &witnesses);
            term::print(render_text(&outcome.sources, &outcome.diagnostics, colour));
            if let Some(machine) = explained {
                term::print(matching::text(machine, term::width()));
            }
            summarise(&args.spec.file, &outcome);
        }
    }
    match &outcome.machine {
        Some(machine) => bounds::say(machine, args),
        None => Err(Failure::Reported),
    }
}

/// Compiles; findings go to standard error. `more`: C files that belong to the server. `inputs`
/// gets every file that was read or asked for.
pub fn compile(
    spec: &Spec,
    more: &[PathBuf],
    trace: bool,
    inputs: &mut BTreeSet<PathBuf>,
) -> Result<Machine, Failure> {
    let outcome = outcome(spec, more, trace, inputs);
    if !outcome.diagnostics.is_empty() {
        say(&spec.file, &outcome);
    }
    outcome.machine.ok_or(Failure::Reported)
}

/// All findings, on standard error.
fn say(file: &Path, outcome: &Outcome) {
    let colour = term::colour_err();
    term::say(render_text(&outcome.sources, &outcome.diagnostics, colour));
    summarise(file, outcome);
}

/// Compiles and checks: the machine, and all findings in the order of `nest check`. Errors go to
/// standard error.
pub fn inspect(spec: &Spec) -> Result<(SourceMap, Machine, Vec<Finding>), Failure> {
    let mut outcome = outcome(spec, &[], false, &mut BTreeSet::new());
    let witnesses = outcome.check();
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

/// The same of what was compiled before, in another model: its warnings were shown.
pub fn compile_again(spec: &Spec, more: &[PathBuf]) -> Result<Machine, Failure> {
    let outcome = outcome(spec, more, true, &mut BTreeSet::new());
    match outcome.machine {
        Some(machine) => Ok(machine),
        None => compile(spec, more, true, &mut BTreeSet::new()),
    }
}

fn outcome(spec: &Spec, more: &[PathBuf], trace: bool, inputs: &mut BTreeSet<PathBuf>) -> Outcome {
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
        trace,
        // What cannot be read is the C compiler's to say.
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

/// One line that counts.
fn summarise(file: &Path, outcome: &Outcome) {
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
