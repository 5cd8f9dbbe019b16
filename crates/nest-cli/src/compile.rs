//! A specification compiled and its findings shown: `nest check`, and the first step of the others.
//!
//! Must not know: what is done with the machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nest_check::{Finding, Witness};
use nest_diag::{Diagnostic, SourceMap, render_json, render_text};
use nest_machine::{Machine, Overrides};

use crate::args::{Check, Format, Spec};
use crate::matching;
use crate::replay::replay;
use crate::source::{self, Files};
use crate::term::{self, Failure, Progress};

/// What compiling came to, nothing said yet.
struct Outcome {
    sources: SourceMap,
    diagnostics: Vec<Diagnostic>,
    machine: Option<Machine>,
}

impl Outcome {
    /// Adds the checker's findings, in order. For each of all, what a client does to see it.
    fn check(&mut self) -> Vec<Option<Witness>> {
        let said = std::mem::take(&mut self.diagnostics).into_iter();
        let said = said.map(|diagnostic| Finding {
            diagnostic,
            witness: None,
        });
        let mut all: Vec<Finding> = said.collect();
        all.extend(self.machine.iter().flat_map(nest_check::check));
        all.sort_by_key(|f| {
            (
                f.diagnostic.span.file,
                f.diagnostic.span.start,
                f.diagnostic.code,
            )
        });
        let (said, witnesses) = all.into_iter().map(|f| (f.diagnostic, f.witness)).unzip();
        self.diagnostics = said;
        witnesses
    }
}

/// `nest check`.
pub fn check(args: &Check) -> Result<ExitCode, Failure> {
    let mut outcome = outcome(&args.spec, &[], false, &mut BTreeSet::new());
    let witnesses = outcome.check();
    if let Some(n) = args.replay {
        let Some(witness) = n.checked_sub(1).and_then(|n| witnesses.get(n)) else {
            let count = witnesses.len();
            return Err(Failure::Usage(format!(
                "there is no finding {n}, but {count}"
            )));
        };
        let Some(witness) = witness else {
            let what = format!("finding {n} is about no conversation: there is nothing to see");
            return Err(Failure::new(what));
        };
        replay(&args.spec, witness)?;
        return Ok(ExitCode::SUCCESS);
    }
    let explained = outcome.machine.as_ref().filter(|_| args.explain_matching);
    match args.format {
        Format::Json => {
            term::print(render_json(&outcome.sources, &outcome.diagnostics));
            if let Some(machine) = explained {
                term::print(matching::json(machine));
            }
        }
        Format::Text => {
            let colour = term::colour_out();
            term::print(render_text(&outcome.sources, &outcome.diagnostics, colour));
            if let Some(machine) = explained {
                term::print(matching::text(machine, term::width()));
            }
            summarise(&args.spec.file, &outcome.diagnostics);
        }
    }
    if outcome.machine.is_some() {
        Ok(ExitCode::SUCCESS)
    } else {
        Err(Failure::Said)
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
        term::say(render_text(
            &outcome.sources,
            &outcome.diagnostics,
            term::colour_err(),
        ));
        summarise(&spec.file, &outcome.diagnostics);
    }
    outcome.machine.ok_or(Failure::Said)
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
    inputs.extend(files.into_asked());
    let failed = compiled.diagnostics.iter().any(Diagnostic::is_error);
    Outcome {
        sources: compiled.sources,
        diagnostics: compiled.diagnostics,
        machine: compiled.machine.filter(|_| !failed),
    }
}

/// One line that counts.
fn summarise(file: &Path, diagnostics: &[Diagnostic]) {
    let name = if source::is_stdin(file) {
        source::STDIN.into()
    } else {
        file.to_string_lossy()
    };
    let errors = diagnostics.iter().filter(|d| d.is_error()).count();
    let count = |n: usize, what: &str| match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    };
    term::note(match (errors, diagnostics.len() - errors) {
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
    });
}
