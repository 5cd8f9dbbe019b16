//! `nest bench`: which concurrency model serves a specification best, measured.
//!
//! Builds a server of each model, makes conversations from the specification, and measures the servers
//! in rounds, one after another, until the figures are steady or the time is over. Must not know: how
//! clients are played, how figures are compared.

mod answers;
mod encryption;
mod foreign;
mod garbage;
mod outcome;
mod profile;
mod replayed;
mod servers;
#[cfg(test)]
mod specification;
mod talks;
mod words;

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nest_bench::{
    Crowd, Encrypted, Entry, Kind, Load, Loaded, Measured, Moment, Pace, Random, Sample, Talk,
    Trouble, drive, steady,
};
use nest_check::Act;
use nest_machine::reach::Reach;
use nest_machine::{Feature, Framing, MODELS, Machine};

use crate::args::{Bench, Cc, Spec};
use crate::build;
use crate::cc::Compiler;
use crate::compile::{compile, compile_again, selected};
use crate::obtain::cached;
use crate::signals::{self, Hold};
use crate::source;
use crate::term::{self, Failure, Progress};
use crate::test::SCRIPT;
use crate::test::script::Script;

use encryption::Encryption;
use foreign::Stop;
use profile::Profile;
use servers::{Recipe, Server};
use talks::Maker;

/// How long a server may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long conversations with messages cut at random bytes are tried.
const CUT: Duration = Duration::from_millis(500);
/// Clients in that time.
const CUT_CLIENTS: usize = 32;
/// A server that ends is known to have ended so long after its clients see it.
const ENDING: Duration = Duration::from_millis(50);
/// A round of one server lasts at least and at most so long.
const SHORTEST: f64 = 0.3;
const LONGEST: f64 = 5.0;
/// Time that is not measured in each of them.
const WARM: f64 = 0.15;
/// The rounds for which the time should suffice.
const ROUNDS: f64 = 7.0;
/// The rates of an open loop, in units of the best server's rate in the closed loop.
const SHARES: [f64; 4] = [0.1, 0.25, 0.5, 0.75];
/// How long the server without sockets may take.
const SCRIPTED: Duration = Duration::from_secs(60);

/// `nest bench`.
pub fn bench(args: &Bench) -> Result<ExitCode, Failure> {
    let hold = Hold::new()?;
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
    let encryption = encryption::chosen(args, &machine)?;
    let encrypted = encryption.is_some();
    let talks = conversations(args, &machine, &profile, replayed, encrypted)?;
    let clients = usize::try_from(args.clients).unwrap_or_default();
    let crowd = profile.crowd(clients);
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
    let text = std::fs::read(path).map_err(|e| Failure::io(format!("cannot read {name}"), &e))?;
    Profile::read(machine, &name, &text).map_err(Failure::new)
}

/// The conversations of the specification, or those that were recorded.
fn conversations(
    args: &Bench,
    machine: &Machine,
    profile: &Profile,
    replayed: Option<Vec<Vec<Act>>>,
    encrypted: bool,
) -> Result<Vec<Talk>, Failure> {
    let reach = Reach::of(machine);
    let script = Script {
        server: built(args, SCRIPT, true)?,
        arguments: args.arguments.clone(),
        timeout: SCRIPTED,
        branches: None,
        encrypted,
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

/// What the driver and the server have needed.
struct Played {
    measured: Measured,
    /// Of the server's processes, in the measured time: seconds of processor time; bytes at its end.
    time: f64,
    memory: u64,
}

/// What all measurements have in common.
struct Run<'a> {
    args: &'a Bench,
    talks: &'a [Talk],
    crowd: Crowd<'a>,
    sources: u32,
    clients: usize,
}

impl Run<'_> {
    fn load(&self, server: &Server, seconds: f64) -> Load<'_> {
        Load {
            to: server.address,
            tls: None,
            talks: self.talks,
            clients: self.clients,
            idle: usize::try_from(self.args.idle).unwrap_or_default(),
            crowd: self.crowd,
            sources: self.sources,
            keep: self.args.keep_alive,
            pipeline: usize::try_from(self.args.pipeline).unwrap_or(1),
            cut: false,
            trial: false,
            lenient: false,
            pace: Pace::Closed,
            warm: Duration::from_secs_f64(WARM),
            measured: Duration::from_secs_f64(seconds),
            timeout: TIMEOUT,
            seed: self.args.seed,
        }
    }

    /// Plays to a server, and watches it.
    fn play(server: &mut Server, load: &Load, recipe: &Recipe) -> Result<Played, Stop> {
        let load = &Load {
            lenient: !recipe.own,
            tls: recipe.tls.as_ref(),
            ..load.clone()
        };
        let (mut begin, mut end, mut memory) = (0.0, 0.0, 0);
        let result = drive(load, &mut |moment| {
            match moment {
                Moment::Begin => begin = server.processes.time(),
                Moment::End => {
                    end = server.processes.time();
                    memory = server.processes.memory();
                }
                Moment::Tick => {}
            }
            if signals::caught() {
                return Err(Kind::Own("interrupted".to_owned()).into());
            }
            match server.ended() {
                Some(how) => Err(Kind::Died(how).into()),
                None => Ok(()),
            }
        });
        let name = &recipe.name;
        let mut measured = result.map_err(|trouble| failed(name, server, &trouble))?;
        let otherwise = std::mem::take(&mut measured.otherwise);
        if let Some(trouble) = otherwise.first() {
            // A server that has just ended is the reason for what its clients saw.
            std::thread::sleep(ENDING);
            return Err(match server.ended() {
                Some(_) => Stop::Failed(failed(name, server, trouble)),
                None => Stop::Otherwise(name.clone(), otherwise),
            });
        }
        Ok(Played {
            measured,
            time: end - begin,
            memory,
        })
    }

    /// Messages cut at random bytes are answered like whole ones.
    fn verify(&self, recipe: &Recipe) -> Result<(), Stop> {
        let _progress = Progress::start(format!("comparing the answers of {}", recipe.name));
        let mut server = recipe.start(self.args.folder.as_deref())?;
        let load = Load {
            clients: self.clients.min(CUT_CLIENTS),
            idle: 0,
            crowd: Crowd::default(),
            keep: false,
            pipeline: 1,
            cut: !self.crowd.whole,
            trial: true,
            measured: CUT,
            ..self.load(&server, 0.0)
        };
        Self::play(&mut server, &load, recipe)?;
        Ok(())
    }

    /// The time for rounds, in seconds; the rest is for constant rates.
    fn time(&self) -> f64 {
        let open = !self.args.rate.is_empty() || self.args.report.is_some();
        self.args.time.as_secs_f64() * if open { 0.6 } else { 1.0 }
    }

    /// Measures all servers at constant rates.
    fn loads(&self, recipes: &[Recipe], all: &mut [Entry]) -> Result<(), Stop> {
        let mut rates: Vec<f64> = self.args.rate.iter().map(|rate| f64::from(*rate)).collect();
        if rates.is_empty() && self.args.report.is_some() {
            let most = all
                .iter()
                .map(|entry| entry.median(|s| s.rate))
                .fold(0.0, f64::max);
            rates = SHARES
                .iter()
                .map(|share| (most * share).round().max(1.0))
                .collect();
        }
        rates.sort_by(f64::total_cmp);
        let count = (rates.len() * recipes.len()) as f64;
        let time = self.args.time.as_secs_f64() - self.time();
        let seconds = (time / count.max(1.0) - WARM - 0.1).clamp(SHORTEST, LONGEST);
        for rate in rates {
            for (n, recipe) in recipes.iter().enumerate() {
                let _progress = Progress::start(format!("{} at {rate:.0}/s", recipe.name));
                let loaded = self.loaded(recipe, rate, seconds)?;
                all[n].loads.push(loaded);
            }
        }
        Ok(())
    }

    /// One server at a constant rate.
    fn loaded(&self, recipe: &Recipe, rate: f64, seconds: f64) -> Result<Loaded, Stop> {
        let mut server = recipe.start(self.args.folder.as_deref())?;
        let load = Load {
            pace: Pace::Rate(rate),
            ..self.load(&server, seconds)
        };
        let Played { measured, time, .. } = Self::play(&mut server, &load, recipe)?;
        let due = (measured.requests + measured.unserved) as f64;
        let in_time = measured.in_time as f64;
        let at = |share: f64| {
            let time = measured.latency.value_at_quantile(share);
            (share, time as f64 / 1000.0)
        };
        Ok(Loaded {
            asked: rate,
            answered: in_time / measured.seconds,
            // Those that are due just before the end cannot be answered before it.
            kept_up: due > 0.0 && in_time >= due * 0.98 - 2.0 && measured.unserved <= 1,
            latencies: [0.5, 0.9, 0.99, 0.999, 0.9999].map(at).to_vec(),
            cost: time * 1e6 / in_time.max(1.0),
            driver: measured.driver.busy / measured.driver.whole,
            waited: measured.driver.waited / measured.driver.whole,
        })
    }

    /// Measures all servers, one after another, again and again.
    fn rounds(&self, recipes: &[Recipe]) -> Result<Vec<Entry>, Stop> {
        let begun = Instant::now();
        let time = self.time();
        let count = recipes.len() as f64;
        // With slow and hostile clients each round is made without them, too.
        let count = count * if self.crowd.is_empty() { 1.0 } else { 2.0 };
        let seconds = (time / (count * ROUNDS) - WARM - 0.1).clamp(SHORTEST, LONGEST);
        let mut all: Vec<Entry> = recipes
            .iter()
            .map(|recipe| Entry {
                name: recipe.name.clone(),
                tls: recipe.tls.as_ref().map(|_| Encrypted::default()),
                ..Entry::default()
            })
            .collect();
        loop {
            let round = all[0].rounds.len();
            let spent = begun.elapsed().as_secs_f64();
            if round > 0 && spent / round as f64 * (round + 1) as f64 > time {
                return Ok(all);
            }
            // Another one begins each time, so that none always follows the same one.
            for n in 0..recipes.len() {
                let n = (n + round) % recipes.len();
                let progress = Progress::start(format!(
                    "round {}, {} ({:.0} of {time:.0} s)",
                    round + 1,
                    recipes[n].name,
                    begun.elapsed().as_secs_f64()
                ));
                let (sample, measured) = self.sample(&recipes[n], seconds, self.crowd)?;
                all[n].rounds.push(sample);
                if let Some(tls) = &mut all[n].tls {
                    tls.add(&measured.encrypted);
                }
                if !self.crowd.is_empty() {
                    let (calm, _) = self.sample(&recipes[n], seconds, Crowd::default())?;
                    all[n].calm.push(calm);
                    all[n].crowd.add(&measured.crowd);
                }
                drop(progress);
            }
            if std::io::stderr().is_terminal() || round == 0 {
                self.say(round + 1, &all);
            }
            if steady(&all) {
                return Ok(all);
            }
        }
    }

    fn say(&self, round: usize, all: &[Entry]) {
        let costs = all.iter().filter_map(|entry| {
            let last = entry.rounds.last()?;
            Some(format!("{} {:.1}", entry.name, last.cost))
        });
        let costs: Vec<String> = costs.collect();
        let clients = self.clients;
        term::note(format!(
            "round {round}, µs of processor time a request, {clients} clients: {}",
            costs.join(", ")
        ));
    }

    /// One server in one round.
    fn sample(
        &self,
        recipe: &Recipe,
        seconds: f64,
        crowd: Crowd,
    ) -> Result<(Sample, Measured), Stop> {
        let mut server = recipe.start(self.args.folder.as_deref())?;
        let empty = server.processes.memory();
        let load = Load {
            crowd,
            ..self.load(&server, seconds)
        };
        let played = Self::play(&mut server, &load, recipe)?;
        let measured = played.measured;
        if measured.requests == 0 {
            let text = format!(
                "{}: no request was answered in {seconds:.1} seconds; give more --time",
                recipe.name
            );
            return Err(Failure::new(text).into());
        }
        let requests = measured.requests as f64;
        let driver = measured.driver;
        let at = |share: f64| measured.latency.value_at_quantile(share) as f64 / 1000.0;
        let all = self.clients + load.idle + crowd.slow + crowd.hostile;
        let sample = Sample {
            rate: requests / measured.seconds,
            cost: played.time * 1e6 / requests,
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            most: measured.latency.max() as f64 / 1000.0,
            memory: played.memory.saturating_sub(empty) as f64 / all as f64,
            fairness: fairness(&measured.shares),
            connections: measured.connections as f64 / measured.seconds,
            driver: driver.busy / driver.whole,
            waited: driver.waited / driver.whole,
        };
        Ok((sample, measured))
    }
}

/// Jain's index.
fn fairness(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|n| *n as f64).sum();
    let squares: f64 = shares.iter().map(|n| (*n as f64).powi(2)).sum();
    if squares > 0.0 {
        sum * sum / (squares * shares.len() as f64)
    } else {
        0.0
    }
}

/// Why there are no figures.
fn failed(name: &str, server: &mut Server, trouble: &Trouble) -> Failure {
    if signals::caught() {
        return Failure::Reported;
    }
    // A server that has just ended is the reason for what its clients saw.
    std::thread::sleep(ENDING);
    let how = server
        .ended()
        .filter(|_| !matches!(trouble.kind, Kind::Died(_)));
    let mut text = format!("{name}: {trouble}");
    if let Some(how) = how {
        text.push_str(&format!("\n  the server has ended: {how}"));
    }
    if server.ended().is_some() {
        text.push_str(&server.last_words());
    }
    Failure::new(text)
}
