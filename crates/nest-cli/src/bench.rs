//! `nest bench`: which concurrency model serves a specification best, measured.
//!
//! Builds a server of each model, makes conversations from the specification, and measures the servers
//! in rounds, one after another, until the figures are steady or the time is over. Must not know: how
//! clients are played, how figures are compared.

mod answers;
mod encryption;
mod foreign;
mod garbage;
mod measuring;
mod outcome;
mod profile;
mod replayed;
mod servers;
#[cfg(test)]
mod specification;
mod talks;
mod words;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use nest_bench::{Crowd, Random, Talk};
use nest_machine::reach::Reach;
use nest_machine::{Feature, Framing, MODELS, Machine};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::args::{Bench, Cc, Spec};
use crate::build;
use crate::cc::Compiler;
use crate::compile::{compile, compile_again, selected};
use crate::obtain::cached;
use crate::recording::Recorded;
use crate::signals::{self, Hold};
use crate::source;
use crate::term::{self, Failure, Progress};
use crate::test::SCRIPT;
use crate::test::script::{Script, Secrecy};

use encryption::Encryption;
use measuring::Run;
use profile::Profile;
use servers::Recipe;
use talks::Maker;

/// Open files of this program beside the connections of clients.
const OTHER_FILES: u64 = 64;
/// How long the server without sockets may take.
const SCRIPTED: Duration = Duration::from_secs(60);

/// `nest bench`.
pub fn bench(args: &Bench) -> Result<ExitCode, Failure> {
    let hold = Hold::new()?;
    servers::adopt();
    let result = measured(args);
    if signals::caught() {
        hold.release();
        return Err(Failure::Reported);
    }
    hold.release();
    result.map(|()| ExitCode::SUCCESS)
}

fn measured(args: &Bench) -> Result<(), Failure> {
    if source::is_stdin(&args.file) {
        return Err(Failure::Usage("nest bench needs a file".into()));
    }
    if let Some(folder) = args.folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::Usage(format!(
            "{} is not a directory",
            folder.display()
        )));
    }
    if args.json.is_some() && args.json == args.report {
        return Err(Failure::Usage(
            "--json and --report name the same file; choose two names".into(),
        ));
    }
    let old = args.compare.as_deref().map(outcome::read).transpose()?;
    for place in args.report.iter().chain(&args.json) {
        outcome::writable(place)?;
    }
    let machine = compile(
        &spec(args, None),
        &args.more,
        selected(true, encryption::is_added(args)),
        &mut BTreeSet::new(),
    )?;
    if machine.features.contains(Feature::Inetd) {
        return Err(Failure::Usage(
            "this server is started by inetd: there is no model to choose".into(),
        ));
    }
    let profile = profile(args, &machine)?;
    let replayed = replayed::of(args, &profile)?;
    let encrypts = |all: &Vec<Recorded>| all.iter().any(|talk| talk.tls.is_some());
    let recorded = replayed.as_ref().is_some_and(encrypts);
    let encryption = encryption::chosen(args, &machine, recorded)?;
    let secrecy = encryption::secrecy(encryption.as_ref());
    let talks = conversations(args, &machine, &profile, replayed, secrecy)?;
    encryption::suits(args, &talks, secrecy)?;
    let clients = usize::try_from(args.clients).unwrap_or_default();
    let crowd = profile.crowd(clients);
    connections(args.clients as usize + args.idle as usize + crowd.0 + crowd.1)?;
    let recipes = recipes(args, &machine, encryption.as_ref(), crowd.0 + crowd.1)?;
    let garbage = garbage::of(&machine, &talks, args.seed, crowd.1);
    let whole = machine.settings.framing == Framing::Message;
    let run = |talks: &[Talk], own: bool| {
        let bench = Run {
            args,
            talks,
            crowd: Crowd {
                slow: crowd.0,
                hostile: crowd.1,
                garbage: &garbage,
                whole,
            },
            sources: profile.sources(),
            clients,
        };
        for recipe in recipes.iter().filter(|recipe| own || !recipe.own) {
            bench.verify(recipe)?;
        }
        let mut all = bench.rounds(&recipes)?;
        bench.loads(&recipes, &mut all)?;
        Ok(all)
    };
    let (all, cuts) = foreign::equal_work(talks, args.keep_alive, run)?;
    outcome::show(args, &all, cuts, clients, old.as_ref())
}

/// Lets this program have so many connections at a time. A server that nest builds does the same for itself.
fn connections(count: usize) -> Result<(), Failure> {
    let need = count as u64 + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|most| most >= need) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(need),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|_| {
        Failure::new(format!(
            "{count} clients need {need} open files, more than the system allows; choose fewer clients, or \
             raise the limit: ulimit -n {need}"
        ))
    })
}

fn spec(args: &Bench, model: Option<&str>) -> Spec {
    Spec {
        file: args.file.clone(),
        model: model.map(str::to_owned),
    }
}

/// Builds the server of a model, or takes it from the cache. `trace`: for learning.
fn built(args: &Bench, model: &str, trace: bool) -> Result<PathBuf, Failure> {
    let _progress = Progress::start(format!("building the server for {model}"));
    let spec = spec(args, Some(model));
    let cc = Cc {
        link: args.link.clone(),
        debug: false,
        sanitize: None,
    };
    let recipe = build::Recipe {
        spec: &spec,
        more: &args.more,
        features: selected(trace, encryption::is_added(args)),
        cc: &cc,
    };
    let machine = compile_again(&spec, &args.more, recipe.features)?;
    let prepared = recipe.prepared(&machine, Compiler::new(&cc)?);
    cached(&recipe, &prepared, &mut BTreeSet::new())
}

/// What the profile says.
fn profile(args: &Bench, machine: &Machine) -> Result<Profile, Failure> {
    let Some(path) = &args.profile else {
        return Ok(Profile::default());
    };
    let name = path.display().to_string();
    let text = source::at_most(path, profile::MOST_BYTES);
    let text = text.map_err(|e| Failure::io(format!("cannot read {name}"), &e))?;
    Profile::read(machine, &name, &text).map_err(Failure::new)
}

/// The conversations of the specification, or those that were recorded.
fn conversations(
    args: &Bench,
    machine: &Machine,
    profile: &Profile,
    replayed: Option<Vec<Recorded>>,
    secrecy: Secrecy,
) -> Result<Vec<Talk>, Failure> {
    let reach = Reach::of(machine);
    let script = Script {
        server: built(args, SCRIPT, true)?,
        arguments: args.arguments.clone(),
        timeout: SCRIPTED,
        branches: None,
        secrecy,
    };
    let _progress = Progress::start("making conversations");
    let mut maker = Maker {
        m: machine,
        reach: &reach,
        script: &script,
        messages: usize::try_from(args.messages).unwrap_or(1),
        profile,
        random: Random(args.seed),
        times: 0,
    };
    let recorded = replayed.as_ref().map(Vec::len);
    let mut talks = match replayed {
        Some(replayed) => maker.replay(replayed)?,
        None => maker.make()?,
    };
    if talks.is_empty() && recorded.is_some() {
        return Err(Failure::new(
            "no message of these recordings is always answered in the same way, whatever other clients \
             do: there is nothing to measure",
        ));
    }
    if talks.is_empty() {
        return Err(Failure::new(
            "no message was found that this server always answers in the same way, whatever other \
             clients do: there is nothing to measure",
        ));
    }
    if args.keep_alive {
        talks.retain(|talk| talk.again.is_some());
        if talks.is_empty() {
            return Err(Failure::new(
                "--keep-alive: no conversation can be repeated over the same connection",
            ));
        }
    }
    if machine.features.contains(Feature::Channels) {
        term::note(
            "nobody is at the other end of second connections: messages that need one are measured as \
             far as they are answered without it",
        );
    }
    if let Some(recorded) = recorded.filter(|recorded| *recorded > talks.len()) {
        term::note(format!(
            "{} of {recorded} recorded conversations are not played: what they are answered is not always \
             the same, or cannot be repeated",
            recorded - talks.len()
        ));
    }
    let messages: usize = talks.iter().map(Talk::asks).sum();
    term::note(format!(
        "{} conversations with {messages} messages, {} of them may be repeated over a connection",
        talks.len(),
        talks.iter().filter(|talk| talk.again.is_some()).count()
    ));
    Ok(talks)
}

/// How the servers are started. `crowd`: the number of slow and hostile clients.
fn recipes(
    args: &Bench,
    machine: &Machine,
    encryption: Option<&Encryption>,
    crowd: usize,
) -> Result<Vec<Recipe>, Failure> {
    let all = MODELS.iter().filter(|model| !model.option.is_empty());
    let mut recipes = Vec::new();
    for model in all {
        let named = args.models.iter().any(|name| name == model.name);
        if !args.models.is_empty() && !named {
            continue;
        }
        if signals::caught() {
            return Err(Failure::Reported);
        }
        let server = built(args, model.name, false)?;
        let clients = args.clients + args.idle + u32::try_from(crowd).unwrap_or_default();
        let few = machine.settings.max_clients.min(model.clients) < clients;
        let mut settings = encryption::settings(encryption, machine);
        settings.extend(few.then(|| format!("maxClients={clients}")));
        recipes.push(Recipe {
            name: model.name.to_owned(),
            command: servers::arguments(&servers::real(&server), &settings, &args.arguments),
            own: true,
            tls: encryption.map(|encryption| encryption.trust.clone()),
        });
    }
    let peers = args.vs.iter().map(|vs| (vs, None));
    let peers = peers.chain(args.vs_tls.iter().map(|vs| (vs, encryption)));
    for ((name, command), encryption) in peers {
        if recipes.iter().any(|recipe| recipe.name == *name) {
            return Err(Failure::Usage(format!(
                "--vs {name}: there is a server of this name"
            )));
        }
        let file = encryption.map_or("", |encryption| &encryption.file);
        let words = command.iter().map(|word| word.replace("{cert}", file));
        recipes.push(Recipe {
            name: name.clone(),
            command: words.collect(),
            own: false,
            // Many servers do not send a close_notify.
            tls: encryption.map(|encryption| encryption.trust.lax()),
        });
    }
    Ok(recipes)
}
