//! `nest graph`: writes pictures of a protocol to standard output or a file.
//!
//! Must not know: the contents of a picture.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use nest_diag::nearest;
use nest_graph::{Conversation, FORMATS, Format, MOST_STATES};
use nest_machine::matching::words;
use nest_machine::{Machine, Rule};

use crate::args::{Graph as Args, Spec};
use crate::compile::inspect;
use crate::findings;
use crate::generate::write_file;
use crate::overwrite;
use crate::term::{self, Failure};

/// `nest graph`.
pub fn graph(args: &Args) -> Result<ExitCode, Failure> {
    let format = format(args)?;
    let spec = Spec {
        file: args.file.clone(),
        model: None,
    };
    let (sources, machine, all) = inspect(&spec)?;
    let picture = if let Some(name) = &args.rule {
        automaton(&machine, name, format)?
    } else {
        let mut talk = Conversation::of(&machine, &sources, &all);
        if let Some(n) = args.replay {
            let Some(finding) = n.checked_sub(1).and_then(|n| all.get(n)) else {
                return Err(findings::none(n, all.len()));
            };
            let Some(witness) = &finding.witness else {
                let what = format!("finding {n} has no conversation");
                return Err(Failure::new(what));
            };
            if !talk.show(witness) {
                let what = format!(
                    "the conversation of finding {n} cannot be drawn, because there are too many \
                     sets of states; nest check --replay {n} plays it"
                );
                return Err(Failure::new(what));
            }
        }
        format.conversation(&talk)
    };
    match args
        .output
        .as_deref()
        .filter(|path| *path != Path::new("-"))
    {
        None => term::print(picture),
        Some(path) => {
            overwrite::refuse("the picture", path, [args.file.as_path()])?;
            write_file(path, picture.as_bytes())
                .map_err(|e| Failure::io(format!("cannot write {}", path.display()), &e))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// As it was asked for, or as the file is called.
fn format(args: &Args) -> Result<&'static Format, Failure> {
    if let Some(format) = args.format.as_deref().and_then(Format::named) {
        return Ok(format);
    }
    let Some(path) = args.output.as_deref().filter(|p| p.extension().is_some()) else {
        return Ok(&FORMATS[0]);
    };
    let ending = path.extension().and_then(OsStr::to_str);
    ending.and_then(Format::ending).ok_or_else(|| {
        let endings = FORMATS.iter().filter_map(|f| f.endings.first());
        let all: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
        let (last, others) = all.split_last().expect("there are formats");
        Failure::Usage(format!(
            "{}: unknown file name extension; use {} or {last}, or add --format",
            path.display(),
            others.join(", ")
        ))
    })
}

fn automaton(m: &Machine, name: &str, format: &Format) -> Result<String, Failure> {
    let number = rule(m, name)?;
    if let Some(backtracking) = &m.rules[number].backtracking {
        return Err(Failure::new(format!(
            "the rule {name} has no automaton: libpcre2 matches it, because of {}",
            backtracking.construct
        )));
    }
    let Some(found) = nest_graph::automaton(m, number) else {
        return Err(Failure::new(format!(
            "the rule {name} has no automaton of its own, because it would be too large; \
             nest check --explain-matching shows more"
        )));
    };
    if !format.large && found.drawn() > MOST_STATES {
        return Err(Failure::new(format!(
            "the automaton of {name} has {} states, too many for a picture; \
             --format dot has them for Graphviz, --format json for programs",
            words::number(found.states.len())
        )));
    }
    Ok(format.automaton(&found))
}

/// The rule with this name or line.
fn rule(m: &Machine, name: &str) -> Result<usize, Failure> {
    if let Some(n) = m.rules.iter().position(|rule| rule.label == name) {
        return Ok(n);
    }
    let line = name.strip_prefix("line ").unwrap_or(name).parse::<usize>();
    if let Ok(line) = line {
        let there = |rule: &&Rule| rule.line == line && rule.file == m.file;
        let all: Vec<&Rule> = m.rules.iter().filter(there).collect();
        match all.as_slice() {
            [_] => {
                let found = m.rules.iter().position(|rule| there(&rule));
                return found.ok_or(Failure::Reported);
            }
            [] => {}
            _ => {
                return Err(Failure::Usage(format!(
                    "{} rules begin in line {line}; give the rule you mean a name",
                    all.len()
                )));
            }
        }
        if m.timers.iter().any(|t| t.line == line && t.file == m.file) {
            return Err(Failure::Usage(format!(
                "the rule in line {line} is a TIMEOUT, which has no pattern"
            )));
        }
    }
    let known = m.rules.iter().map(|rule| rule.label.as_str());
    let hint =
        nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(Failure::Usage(format!("there is no rule {name}{hint}")))
}
