//! Measures servers for `nest bench`: verifies their answers, plays the load in rounds, one server after
//! another, and at constant rates.
//!
//! Must not know: how servers are built, where conversations come from.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use nest_bench::{
    Crowd, Entry, Kind, Load, Loaded, Measured, Moment, Pace, Sample, Talk, Tls, Trouble, drive,
    steady,
};

use crate::args::Bench;
use crate::signals;
use crate::term::{self, Failure, Progress};

use super::foreign::Stop;
use super::servers::{Recipe, Server};

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
/// So many requests are due at least while a constant rate is measured.
const FEW: f64 = 3.0;
/// The rates of an open loop, in units of the best server's rate in the closed loop.
const SHARES: [f64; 4] = [0.1, 0.25, 0.5, 0.75];

/// What the driver and the server have needed.
struct Played {
    measured: Measured,
    /// Of the server's processes, in the measured time: seconds of processor time; bytes at its end.
    time: f64,
    memory: u64,
}

/// What all measurements have in common.
pub struct Run<'a> {
    pub args: &'a Bench,
    pub talks: &'a [Talk],
    pub crowd: Crowd<'a>,
    pub sources: u32,
    pub clients: usize,
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
                Moment::Tick => server.shorten(),
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
    pub fn verify(&self, recipe: &Recipe) -> Result<(), Stop> {
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
    pub fn loads(&self, recipes: &[Recipe], all: &mut [Entry]) -> Result<(), Stop> {
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
            let seconds = seconds.max(FEW / rate);
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
    pub fn rounds(&self, recipes: &[Recipe]) -> Result<Vec<Entry>, Stop> {
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
                tls: recipe.tls.as_ref().map(Tls::unused),
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
        if measured.requests == 0 && seconds < LONGEST {
            // On a busy machine a short time may pass without an answer.
            drop(server);
            return self.sample(recipe, LONGEST, crowd);
        }
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
