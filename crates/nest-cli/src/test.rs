//! `nest test`: runs the conversation tests beside a specification in every model and measures
//! their coverage.
//!
//! This file builds the servers and counts results; `runner` runs the conversations.

mod branches;
mod explore;
mod generate;
mod pages;
mod proposal;
mod report;
mod runner;
pub mod script;
mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;

use nest_check::Coverage;
use nest_machine::reach::Reach;
use nest_machine::{Feature, Features};

use crate::args::{Cc, Sanitize, Spec, Test};
use crate::build::Recipe;
use crate::cc::Compiler;
use crate::compile::{compile, compile_again};
use crate::obtain::cached;
use crate::signals::{self, Hold};
use crate::source;
use crate::term::{self, Failure, Progress};

use generate::Maker;
use report::Report;
use runner::{Request, Runner};
use script::{Script, Secrecy};

/// The model without sockets, in which time is exact.
pub const SCRIPT: &str = "script";

/// `nest test`.
pub fn test(args: &Test) -> Result<ExitCode, Failure> {
    if source::is_stdin(&args.file) {
        return Err(Failure::Usage(
            "nest test needs a file; its test pages are in the same directory".into(),
        ));
    }
    let (named, more) = pages::divided(&args.more)?;
    let place = args.generate.then(|| generate::output(args)).transpose()?;
    let spec = Spec {
        file: args.file.clone(),
        model: None,
    };
    let hold = Hold::new()?;
    let machine = compile(&spec, &more, selected(), &mut BTreeSet::new())?;
    let mut pages = pages::of(&args.file, &named, args.generate)?;
    if let Some(place) = &place {
        pages.retain(|page| !generate::is_remade(place, page));
    }
    let runner = Runner::new();
    let models = models(&args.model, machine.features.contains(Feature::Inetd))?;
    let mut needed = models.clone();
    if (args.generate || args.write) && !needed.iter().any(|model| model == SCRIPT) {
        needed.push(SCRIPT.to_owned());
    }
    let built = build(args, &more, &needed);
    if signals::caught() {
        // After an interruption nothing is reported. The runner's folder is removed first.
        drop(runner);
        hold.release();
        return Err(Failure::Reported);
    }
    let mut runner = runner?;
    let (servers, without) = built?;
    for name in without {
        term::note(format!(
            "the C compiler cannot link with -fsanitize={name}: tested without"
        ));
    }
    let reach = Reach::of(&machine);
    let mut coverage = Coverage::new(&machine, &reach);
    let marks = branches::file(&runner.folder(), coverage.branch_count())?;
    let mut report = Report::new(args.format, &args.file, &pages);
    let requested = Request {
        nest: std::env::current_exe().map_err(|e| Failure::io("nest cannot find itself", &e))?,
        spec: std::fs::canonicalize(&args.file)
            .map_err(|e| Failure::io(format!("cannot find {}", args.file.display()), &e))?,
        models,
        servers,
        pages,
        quick: args.quick,
        timeout: args.timeout.as_secs_f64(),
        keep: args.keep,
        branches: marks,
        write: args.write,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let kept = if requested.pages.is_empty() {
        None
    } else {
        runner.run(&requested, &mut |page| report.page(page))?
    };
    for trace in report.heard() {
        coverage.hear(&trace);
    }
    if let Some(marks) = &requested.branches {
        coverage.mark(&branches::read(marks)?);
    }
    if !requested.pages.is_empty() {
        report.close(&machine, &reach, &coverage, kept.as_deref());
    }
    if let Some(place) = place {
        if report.failed() {
            term::note("no tests are generated while existing ones fail");
            return Err(Failure::Reported);
        }
        let hold = Hold::new()?;
        let maker = Maker {
            args,
            machine: &machine,
            reach: &reach,
            script: Script {
                server: requested.servers[SCRIPT].clone(),
                arguments: Vec::new(),
                timeout: args.timeout,
                branches: None,
                secrecy: Secrecy::Never,
            },
        };
        let acts = report.acts(&machine);
        let made = maker.make(&mut coverage, &place, acts, &requested, &mut runner);
        drop(runner);
        hold.release();
        made?;
    }
    let percent = coverage.whole().percent();
    let too_little = args
        .min_coverage
        .filter(|least| percent < usize::from(*least));
    if let Some(least) = too_little {
        term::note(format!(
            "the coverage is {percent}%, but --min-coverage requires {least}%"
        ));
    }
    if report.failed() || too_little.is_some() {
        return Err(Failure::Reported);
    }
    Ok(ExitCode::SUCCESS)
}

/// The models to test, in order. The model without sockets is first, because it finds most failures
/// soonest.
fn models(named: &[String], inetd: bool) -> Result<Vec<String>, Failure> {
    if let Some(name) = named.iter().find(|name| inetd && *name != SCRIPT) {
        return Err(Failure::Usage(format!(
            "this server is started by inetd: it is not tested as {name}, only as {SCRIPT}, \
             without sockets"
        )));
    }
    if !named.is_empty() {
        let mut seen = BTreeSet::new();
        let first = named.iter().filter(|name| seen.insert(*name));
        return Ok(first.cloned().collect());
    }
    if inetd {
        term::note("this server is started by inetd: it is tested only without sockets");
        return Ok(vec![SCRIPT.to_owned()]);
    }
    let others = nest_machine::MODELS.iter().map(|m| m.name.to_owned());
    let others = others.filter(|name| name != SCRIPT);
    Ok(std::iter::once(SCRIPT.to_owned()).chain(others).collect())
}

/// The features that tested servers have besides their own.
fn selected() -> Features {
    [Feature::Trace, Feature::Branches].into_iter().collect()
}

/// A server of each model, from the cache if possible, and the sanitizers that are not available.
fn build(
    args: &Test,
    more: &[PathBuf],
    models: &[String],
) -> Result<(BTreeMap<String, PathBuf>, BTreeSet<&'static str>), Failure> {
    let mut servers = BTreeMap::new();
    let mut without = BTreeSet::new();
    for model in models {
        if signals::caught() {
            break;
        }
        let _progress = Progress::start(format!("building the server for {model}"));
        let spec = Spec {
            file: args.file.clone(),
            model: Some(model.clone()),
        };
        let (name, kind) = match model.as_str() {
            "thread" => ("thread", Sanitize::Thread),
            _ => ("address", Sanitize::Address),
        };
        let mut cc = Cc {
            link: args.link.clone(),
            debug: true,
            sanitize: (!args.quick).then_some(kind),
        };
        let mut compiler = Compiler::new(&cc)?;
        if !args.quick && !compiler.can_link() {
            without.insert(name);
            cc.sanitize = None;
            compiler = Compiler::new(&cc)?;
        }
        let recipe = Recipe {
            spec: &spec,
            more,
            features: selected(),
            cc: &cc,
        };
        let machine = compile_again(&spec, more, recipe.features)?;
        let prepared = recipe.prepared(&machine, compiler);
        let server = cached(&recipe, &prepared, &mut BTreeSet::new())?;
        servers.insert(model.clone(), server);
    }
    Ok((servers, without))
}
