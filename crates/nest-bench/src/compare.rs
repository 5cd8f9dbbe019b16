//! Servers compared, round by round: ratios, how sure they are, and one sentence about them.
//!
//! A figure is compared with that of the same round only, since a machine is not equally fast at all
//! times. Must not know: how figures were measured.

use serde::{Deserialize, Serialize};

use crate::crowd::Crowded;
use crate::cut::Cut;
use crate::tls::Encrypted;

/// The figures of a server in one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Requests a second.
    pub rate: f64,
    /// Microseconds of processor time of the server's processes for a request.
    pub cost: f64,
    /// Latencies in microseconds: half of the requests, 99 % and 99.9 % are not slower; the slowest.
    pub p50: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// The slowest.
    pub most: f64,
    /// Bytes of memory for a connection.
    pub memory: f64,
    /// Jain's index of fairness over the clients: 1 if all were answered equally often.
    pub fairness: f64,
    /// Connections a second.
    pub connections: f64,
    /// How busy the driver was: 1 is always.
    pub driver: f64,
    /// How much of the time the driver waited for a core.
    pub waited: f64,
}

/// A server, and its figures in each round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The model, or the name of another server.
    pub name: String,
    /// In the order of the rounds.
    pub rounds: Vec<Sample>,
    /// At constant rates, the lowest first.
    #[serde(default)]
    pub loads: Vec<Loaded>,
    /// The same rounds without slow and hostile clients, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calm: Vec<Sample>,
    /// What slow and hostile clients came to in all rounds.
    #[serde(default)]
    pub crowd: Crowded,
    /// The handshakes of all rounds; `None`: its connections are not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Encrypted>,
}

/// A server at a constant rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// Requests a second that were due, and that were answered.
    pub asked: f64,
    /// Answered.
    pub answered: f64,
    /// Whether the server kept up: nearly all that were due were answered, and soon.
    pub kept_up: bool,
    /// Latencies in microseconds from the time when a request was due: share of the requests that
    /// were not slower, and the time.
    pub latencies: Vec<(f64, f64)>,
    /// Microseconds of processor time for a request.
    pub cost: f64,
    /// How busy the driver was.
    pub driver: f64,
    /// How much of the time the driver waited for a core.
    pub waited: f64,
}

impl Loaded {
    /// Whether the driver, and not the server, may be why requests were not answered in time.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.driver > LIMIT || self.waited > WAITED
    }

    /// The latency of a share of the requests.
    #[must_use]
    pub fn latency(&self, share: f64) -> f64 {
        let found = self.latencies.iter().find(|(s, _)| *s >= share);
        found
            .or(self.latencies.last())
            .map_or(0.0, |(_, time)| *time)
    }
}

/// All results of a run, as they are kept in a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The version of this format.
    pub format: u32,
    /// The specification.
    pub specification: String,
    /// The number of clients.
    pub clients: usize,
    /// What else was chosen, such as --keep-alive.
    pub options: Vec<String>,
    /// How the servers' processor time was counted.
    pub counted: String,
    /// The processors of the machine.
    pub processors: usize,
    /// The servers.
    pub servers: Vec<Entry>,
    /// Where other servers answer otherwise than the models, and conversations were cut.
    #[serde(default)]
    pub cuts: Vec<Cut>,
    /// The sentence.
    pub sentence: String,
}

/// The version of the format of [`Run`].
pub const FORMAT: u32 = 1;
/// The longest file of a run.
pub const MOST_FIGURES: usize = 1 << 26;
/// What is said of a mistake in it.
const LONGEST_REASON: usize = 200;

impl Run {
    /// Reads the text of a file called `name`.
    ///
    /// # Errors
    /// One line that says why the text is no run.
    pub fn read(name: &str, text: &[u8]) -> Result<Run, String> {
        if text.len() > MOST_FIGURES {
            return Err(format!("{name} has more than {} MB", MOST_FIGURES >> 20));
        }
        let run: Run = serde_json::from_slice(text).map_err(|e| {
            let why = e.to_string();
            let why = why.chars().filter(|c| !c.is_control());
            let why: String = why.take(LONGEST_REASON).collect();
            format!("{name} has no figures of nest bench: {why}")
        })?;
        if run.format != FORMAT {
            return Err(format!(
                "{name} is of another version of nest: its format is {}, not {FORMAT}",
                run.format
            ));
        }
        Ok(run)
    }
}

/// The table of servers at constant rates; empty without such measurements.
#[must_use]
pub fn load_table(all: &[Entry]) -> String {
    let mut text = String::new();
    for entry in all {
        for load in &entry.loads {
            let rate = format!("{:.0}/s", load.asked);
            let line = if load.kept_up {
                format!(
                    "p50 {}, p99 {}, p99.9 {}, {:.2} µs of processor time",
                    micro(load.latency(0.5)),
                    micro(load.latency(0.99)),
                    micro(load.latency(0.999)),
                    load.cost
                )
            } else if load.is_limited() {
                "not known: the driver was late itself".to_owned()
            } else {
                format!("does not keep up: {:.0}/s", load.answered)
            };
            text.push_str(&format!("  {:<8} at {rate:>10}: {line}\n", entry.name));
        }
    }
    text
}

impl Entry {
    /// The median of a figure over the rounds.
    #[must_use]
    pub fn median(&self, figure: impl Fn(&Sample) -> f64) -> f64 {
        median(self.rounds.iter().map(figure).collect())
    }

    /// Whether the driver, and not the server, may be what the rates show.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.median(|s| s.driver) > LIMIT
    }
}

/// A driver that is busier than this has no time to spare.
pub const LIMIT: f64 = 0.9;
/// A driver that waits more than this part of the time for a core is late itself.
pub const WAITED: f64 = 0.1;
/// Differences below this matter to nobody.
const MATTERS: f64 = 1.1;
/// Rounds that must agree before anything is said to be sure.
const ENOUGH: usize = 5;

/// How one server compares with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The geometric mean over the rounds.
    pub mean: f64,
    /// The smallest and the largest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// The number of rounds, and in how many of them it is above 1.
    pub rounds: usize,
    /// Above 1.
    pub above: usize,
    /// The standard error of the mean's logarithm.
    pub error: f64,
}

/// The median; 0 of nothing.
#[must_use]
pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    let n = all.len();
    match n {
        0 => 0.0,
        _ if n % 2 == 1 => all[n / 2],
        _ => f64::midpoint(all[n / 2 - 1], all[n / 2]),
    }
}

/// The cost of `other` in units of that of `base`, over the rounds that both have.
#[must_use]
pub fn ratio(other: &Entry, base: &Entry) -> Option<Ratio> {
    ratio_of(&other.rounds, &base.rounds, |sample| sample.cost)
}

/// A figure of rounds in units of that of other ones, each beside its own.
pub fn ratio_of(
    rounds: &[Sample],
    base: &[Sample],
    figure: impl Fn(&Sample) -> f64,
) -> Option<Ratio> {
    let pairs = rounds.iter().zip(base);
    let logs: Vec<f64> = pairs
        .map(|(a, b)| (figure(a), figure(b)))
        .filter(|(a, b)| *a > 0.0 && *b > 0.0)
        .map(|(a, b)| (a / b).ln())
        .collect();
    let n = logs.len();
    if n == 0 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n as f64;
    let spread = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    let error = if n > 1 {
        (spread / (n - 1) as f64 / n as f64).sqrt()
    } else {
        f64::INFINITY
    };
    Some(Ratio {
        mean: mean.exp(),
        least: logs.iter().copied().fold(f64::INFINITY, f64::min).exp(),
        most: logs.iter().copied().fold(f64::NEG_INFINITY, f64::max).exp(),
        rounds: n,
        above: logs.iter().filter(|x| **x > 0.0).count(),
        error,
    })
}

/// The server that needs the least for a request, of those whose processor time could be counted.
#[must_use]
pub fn best(all: &[Entry]) -> Option<&Entry> {
    let mut measured = all.iter().filter(|entry| !entry.rounds.is_empty());
    let counted = measured.clone().find(|entry| is_counted(entry));
    let first = counted.or_else(|| measured.next())?;
    let mean = |entry: &Entry| ratio(entry, first).map_or(f64::INFINITY, |r| r.mean);
    all.iter().min_by(|a, b| mean(a).total_cmp(&mean(b)))
}

/// Whether the server needed processor time that could be counted. Less than 10 ms cannot be, without a
/// control group.
fn is_counted(entry: &Entry) -> bool {
    entry.rounds.iter().any(|sample| sample.cost > 0.0)
}

/// Whether more rounds would hardly change the ratios.
#[must_use]
pub fn steady(all: &[Entry]) -> bool {
    let Some(best) = best(all) else { return false };
    let others = all.iter().filter(|entry| entry.name != best.name);
    best.rounds.len() >= ENOUGH
        && others.map(|entry| ratio(entry, best)).all(|r| {
            // Twice the standard error is within 3 %, or the answer does not depend on it.
            r.filter(|r| r.rounds >= ENOUGH)
                .is_some_and(|r| r.error * 2.0 < 0.03 || (r.least > MATTERS && r.error * 2.0 < 0.1))
        })
}

/// One sentence: which server, why, and how sure that is.
#[must_use]
pub fn sentence(all: &[Entry], clients: usize) -> String {
    let Some(best) = best(all) else {
        return "nothing was measured".to_owned();
    };
    let rounds = best.rounds.len();
    let uncounted = all.iter().filter(|entry| ratio(entry, best).is_none());
    let uncounted: Vec<&str> = uncounted.map(|entry| entry.name.as_str()).collect();
    if !uncounted.is_empty() {
        return format!(
            "not known: least processor time a request at {clients} clients, because it is too little to be \
             counted with {}; give more --time, or more clients",
            uncounted.join(", ")
        );
    }
    if all.len() == 1 {
        return format!(
            "{}: {:.2} µs of processor time a request at {clients} clients; there is nothing to compare it with",
            best.name,
            best.median(|s| s.cost)
        );
    }
    let mut dearer = Vec::new();
    let mut alike = Vec::new();
    let mut doubtful = Vec::new();
    let mut others: Vec<(&Entry, Ratio)> = all
        .iter()
        .filter(|entry| entry.name != best.name)
        .filter_map(|entry| Some((entry, ratio(entry, best)?)))
        .collect();
    others.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    for (entry, r) in others {
        let name = &entry.name;
        let range = format!("{:.2} to {:.2}", r.least, r.most);
        // Rounds that show a difference in both directions, and are too few for a mean.
        let contradicts = r.least < 1.0 / MATTERS && r.most > MATTERS;
        let contradicts = contradicts && r.mean * (2.0 * r.error).exp() > MATTERS;
        if r.mean < MATTERS && !contradicts {
            alike.push(format!("{name} ({range} of it)"));
        } else if r.above == rounds {
            dearer.push(format!("{:.1} times cheaper than {name} ({range})", r.mean));
        } else {
            doubtful.push(format!(
                "{name} ({range}; {} of {rounds} rounds agree)",
                r.above
            ));
        }
    }
    let mut text = format!(
        "{}: least processor time a request at {clients} client{}",
        best.name,
        if clients == 1 { "" } else { "s" }
    );
    for part in &dearer {
        text.push_str(&format!(", {part}"));
    }
    if !alike.is_empty() {
        text.push_str(&format!(
            "; no difference that matters from {}",
            alike.join(", ")
        ));
    }
    if !doubtful.is_empty() {
        text.push_str(&format!("; not sure beside {}", doubtful.join(", ")));
    }
    text.push_str(&match (dearer.is_empty(), rounds) {
        (_, 1) => "; one round only, so this is not sure".to_owned(),
        (true, _) => String::new(),
        (false, n) if n < ENOUGH => format!("; all {n} rounds agree, but {n} are few"),
        (false, n) => format!("; all {n} rounds agree"),
    });
    text
}

/// The table: one line for each server, the cheapest first.
#[must_use]
pub fn table(all: &[Entry]) -> String {
    let Some(best) = best(all) else {
        return String::new();
    };
    let mut rows: Vec<(f64, [String; 8])> = Vec::new();
    for entry in all.iter().filter(|entry| !entry.rounds.is_empty()) {
        let r = ratio(entry, best);
        let cost = r.map_or(f64::INFINITY, |r| r.mean);
        let rate = entry.median(|s| s.rate);
        rows.push((
            cost,
            [
                entry.name.clone(),
                format!("{:.2}", entry.median(|s| s.cost)),
                r.map_or("-".to_owned(), |r| format!("{:.2}", r.mean)),
                if entry.is_limited() {
                    "-".to_owned()
                } else {
                    format!("{rate:.0}")
                },
                micro(entry.median(|s| s.p50)),
                micro(entry.median(|s| s.p99)),
                micro(entry.median(|s| s.p999)),
                format!("{:.1} KB", entry.median(|s| s.memory) / 1024.0),
            ],
        ));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let head = [
        "",
        "CPU µs",
        "ratio",
        "requests/s",
        "p50",
        "p99",
        "p99.9",
        "memory",
    ];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.into_iter().map(|(_, row)| row));
    let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max();
    let widths: Vec<usize> = (0..head.len()).map(|c| width(c).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        for (n, (cell, width)) in line.iter().zip(&widths).enumerate() {
            let fill = " ".repeat(width - cell.chars().count());
            if n == 0 {
                text.push_str(&format!("  {cell}{fill}"));
            } else {
                text.push_str(&format!("  {fill}{cell}"));
            }
        }
        text.push('\n');
    }
    text
}

/// Microseconds as a person writes them.
#[must_use]
pub fn micro(time: f64) -> String {
    if time < 1000.0 {
        format!("{time:.0} µs")
    } else if time < 100_000.0 {
        format!("{:.1} ms", time / 1000.0)
    } else {
        format!("{:.2} s", time / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, MOST_FIGURES, Run, Sample, best, ratio, sentence, steady, table};

    fn entry(name: &str, costs: &[f64]) -> Entry {
        let sample = |cost: &f64| Sample {
            cost: *cost,
            rate: 1e6 / cost,
            driver: 0.5,
            ..Sample::default()
        };
        Entry {
            name: name.to_owned(),
            rounds: costs.iter().map(sample).collect(),
            ..Entry::default()
        }
    }

    #[test]
    fn rounds_are_compared_with_themselves() {
        // The machine is twice as slow in the second round; the ratio stays.
        let all = [
            entry("event", &[10.0, 20.0, 10.0, 10.0, 10.0]),
            entry("thread", &[15.0, 30.0, 15.0, 15.0, 15.0]),
            entry("uring", &[10.5, 20.0, 10.2, 10.1, 9.9]),
        ];
        assert_eq!(best(&all).unwrap().name, "event");
        let r = ratio(&all[1], &all[0]).unwrap();
        assert!((r.mean - 1.5).abs() < 1e-9 && r.above == 5 && r.error < 1e-9);
        assert_eq!(
            sentence(&all, 64),
            "event: least processor time a request at 64 clients, 1.5 times cheaper than thread \
             (1.50 to 1.50); no difference that matters from uring (0.99 to 1.05 of it); all 5 rounds agree"
        );
        assert!(steady(&all));
        let lines: Vec<String> = table(&all).lines().map(str::to_owned).collect();
        assert!(lines[1].trim_start().starts_with("event") && lines[3].contains("thread"));
    }

    #[test]
    fn doubt_is_said() {
        let all = [
            entry("event", &[10.0, 10.0, 30.0]),
            entry("thread", &[15.0, 15.0, 20.0]),
        ];
        assert!(
            sentence(&all, 1)
                .contains("not sure beside thread (0.67 to 1.50; 2 of 3 rounds agree)")
        );
        assert!(!steady(&all));
        let one = [entry("event", &[10.0]), entry("thread", &[15.0])];
        assert!(sentence(&one, 1).ends_with("one round only, so this is not sure"));
        assert_eq!(sentence(&[], 1), "nothing was measured");
    }

    #[test]
    fn rounds_that_contradict_each_other_are_no_equality() {
        let two = [
            entry("event", &[10.0, 20.0]),
            entry("thread", &[20.0, 10.5]),
        ];
        assert_eq!(
            sentence(&two, 2),
            "event: least processor time a request at 2 clients; not sure beside thread (0.53 to 2.00; \
             1 of 2 rounds agree)"
        );
        // Of many rounds a few are far off, and the mean is known.
        let mut costs = [10.0; 40];
        (costs[0], costs[1]) = (12.0, 8.0);
        let many = [entry("event", &[10.0; 40]), entry("thread", &costs)];
        assert!(sentence(&many, 2).contains("no difference that matters from "));
    }

    /// As without a control group, which counts steps of 10 ms.
    #[test]
    fn rounds_without_countable_time_are_no_agreement() {
        let some = [
            entry("event", &[10.0, 0.0, 10.0, 0.0, 10.0, 10.0]),
            entry("thread", &[20.0; 6]),
        ];
        assert!(
            sentence(&some, 2)
                .ends_with("clients; not sure beside thread (2.00 to 2.00; 4 of 6 rounds agree)")
        );
        assert!(!steady(&some));
        let one = [entry("event", &[0.0; 6]), entry("thread", &[20.0; 6])];
        assert_eq!(
            sentence(&one, 2),
            "not known: least processor time a request at 2 clients, because it is too little to be counted \
             with event; give more --time, or more clients"
        );
        let none = [entry("event", &[0.0; 6]), entry("thread", &[0.0; 6])];
        assert!(sentence(&none, 2).contains(" counted with event, thread; "));
        assert!(!steady(&one) && !steady(&none));
    }

    #[test]
    fn a_file_that_is_no_run_is_refused_in_one_short_line() {
        let long = format!("{{\"format\": \"\\u001b[31m{}\"}}", "a".repeat(5000));
        for text in ["", "[", "{\"format\": 1}", "\0\0\0", &long] {
            let why = Run::read("r", text.as_bytes()).err().unwrap();
            assert!(why.starts_with("r has no figures of nest bench: "), "{why}");
            assert!(why.len() < 300 && !why.contains(char::is_control), "{why}");
        }
        let why = Run::read("r", &vec![b' '; MOST_FIGURES + 1]);
        assert_eq!(why, Err("r has more than 64 MB".to_owned()));
    }

    #[test]
    fn a_busy_driver_gives_no_rate() {
        let mut all = [entry("event", &[10.0; 5])];
        assert!(table(&all).contains("100000"));
        for sample in &mut all[0].rounds {
            sample.driver = 0.95;
        }
        assert!(!table(&all).contains("100000"));
    }
}
