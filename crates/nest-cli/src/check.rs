//! `nest check`: findings, and what else a specification is asked for.
//!
//! Must not know: how findings are made, what is done with the machine.

use std::process::ExitCode;

use nest_diag::render_text;

use crate::args::{Check, Format};
use crate::bounds;
use crate::compile::{checked, summarise};
use crate::findings;
use crate::matching;
use crate::replay::replay;
use crate::term::{self, Failure};

/// `nest check`.
pub fn check(args: &Check) -> Result<ExitCode, Failure> {
    let (mut outcome, witnesses) = checked(&args.spec);
    if let Some(n) = args.replay {
        let Some(witness) = n.checked_sub(1).and_then(|n| witnesses.get(n)) else {
            return Err(findings::none(n, witnesses.len()));
        };
        let Some(witness) = witness else {
            let what = format!("finding {n} has no conversation");
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
