//! How much of its work a step does: the seed of the day, everything, or a share of everything.
//!
//! Steps get it as environment variables; `tests/support/sample.py` and `tests/support/sample.rs`
//! read them. Must not know: any step.

use std::cmp::Reverse;
use std::fmt;
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

/// Variables by which a step learns it. They do not begin with `NEST_`: a server takes those for options
/// and refuses to start with one that it does not know.
const SEED: &str = "CHECK_SEED";
const ALL: &str = "CHECK_ALL";
const SHARD: &str = "CHECK_SHARD";

/// Seeds of one day; a step that draws more than that continues into the next day's.
const A_DAY: u64 = 1_000_000;

/// One of several equal shares: `2/3` is the second of three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    count: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(number, count)| {
            Some(Shard {
                number: number.parse().ok()?,
                count: count.parse().ok()?,
            })
        });
        parsed
            .filter(|shard| (1..=shard.count).contains(&shard.number))
            .ok_or_else(|| "a shard is written I/N, as in 2/3, with 1 <= I <= N".to_owned())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

/// What a run of the steps covers.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The first seed of every step that draws.
    pub seed: u64,
    /// Everything, in place of a sample.
    pub all: bool,
    /// The share of everything.
    pub shard: Option<Shard>,
}

impl Sample {
    /// `seed`: that of the day unless one is given.
    pub fn new(seed: Option<u64>, all: bool, shard: Option<Shard>) -> Self {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Sample {
            seed: seed.unwrap_or_else(|| seed_of_day(now)),
            all,
            shard,
        }
    }

    /// Which of some steps belong to this share, told by the seconds that each takes; none for one that
    /// can be split, which belongs to every share. The others are shared out: the longest first, each to
    /// the share that has least so far.
    pub fn includes(&self, steps: &[Option<u32>]) -> Vec<bool> {
        let Some(shard) = self.shard else {
            return vec![true; steps.len()];
        };
        let mut whole: Vec<(usize, u32)> = (0..)
            .zip(steps)
            .filter_map(|(place, seconds)| Some((place, (*seconds)?)))
            .collect();
        whole.sort_by_key(|(place, seconds)| (Reverse(*seconds), *place));
        let mut included: Vec<bool> = steps.iter().map(Option::is_none).collect();
        let mut shares = vec![0; shard.count];
        for (place, seconds) in whole {
            let least = (0..shard.count)
                .min_by_key(|share| shares[*share])
                .unwrap_or_default();
            shares[least] += seconds;
            included[place] = least + 1 == shard.number;
        }
        included
    }

    /// What a step is told, by variable; nothing for a variable that must not be set. A step that
    /// draws nothing is not told the seed, so that its result does not depend on it.
    pub fn variables(&self, draws: bool, splits: bool) -> [(&'static str, Option<String>); 3] {
        [
            (SEED, draws.then(|| self.seed.to_string())),
            (ALL, self.all.then(|| "1".to_owned())),
            (SHARD, self.shard.filter(|_| splits).map(|s| s.to_string())),
        ]
    }

    /// Sets the variables of a command.
    pub fn tell(&self, command: &mut Command, draws: bool, splits: bool) {
        for (name, value) in self.variables(draws, splits) {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// The command that repeats a step of this run.
    pub fn again(&self, step: &str) -> String {
        let shard = self.shard.map(|s| format!(" SHARD={s}"));
        format!(
            "make {} SEED={}{} CHECKFLAGS={step}",
            if self.all { "check-all" } else { "check" },
            self.seed,
            shard.unwrap_or_default(),
        )
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.all, self.shard) {
            (false, _) => write!(f, "a sample")?,
            (true, None) => write!(f, "everything")?,
            (true, Some(shard)) => write!(f, "shard {shard} of everything")?,
        }
        write!(
            f,
            ", with seed {} (SEED={} repeats it)",
            self.seed, self.seed
        )
    }
}

/// The first seed of the (UTC) day at a time after 1970: its date as YYYYMMDD, and six zeros.
fn seed_of_day(now: Duration) -> u64 {
    // Days are counted in the Gregorian calendar's eras of 400 years, which begin on 1 March.
    let days = now.as_secs() / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 {
        (400 * era + year, month + 3)
    } else {
        (400 * era + year + 1, month - 9)
    };
    (year * 10_000 + month * 100 + date) * A_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(shard: &str) -> Sample {
        Sample::new(Some(7), true, Some(shard.parse().unwrap()))
    }

    #[test]
    fn the_seed_of_a_day_is_its_date() {
        let day = |n: u64| seed_of_day(Duration::from_secs(n * 86_400 + 86_399));
        assert_eq!(day(0), 19_700_101_000_000);
        assert_eq!(day(11_016), 20_000_229_000_000);
        assert_eq!(day(11_017), 20_000_301_000_000);
        assert_eq!(day(20_779), 20_261_122_000_000);
    }

    #[test]
    fn a_shard_is_a_number_of_a_count() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for wrong in ["", "1", "0/2", "3/2", "a/2", "1/", "1/0", "-1/2"] {
            assert!(
                wrong.parse::<Shard>().unwrap_err().contains("I/N"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn each_step_is_in_one_shard_unless_it_splits() {
        let steps = [Some(30), None, Some(10), Some(40), Some(20), Some(20), None];
        let shards = ["1/3", "2/3", "3/3"].map(|shard| all(shard).includes(&steps));
        for (place, seconds) in steps.iter().enumerate() {
            let count = shards.iter().filter(|shard| shard[place]).count();
            assert_eq!(count, if seconds.is_some() { 1 } else { 3 });
        }
        let sums = shards.map(|shard| {
            let taken = steps.iter().zip(shard).filter(|(_, taken)| *taken);
            taken.filter_map(|(seconds, _)| *seconds).sum::<u32>()
        });
        assert_eq!(sums, [40, 40, 40]);
        assert_eq!(Sample::new(None, false, None).includes(&steps), [true; 7]);
    }

    #[test]
    fn a_step_is_told_only_what_it_uses() {
        let told = all("1/2").variables(true, true).map(|(_, value)| value);
        assert_eq!(
            told,
            [Some("7".into()), Some("1".into()), Some("1/2".into())]
        );
        let told = all("1/2").variables(false, false).map(|(_, value)| value);
        assert_eq!(told, [None, Some("1".into()), None]);
    }

    #[test]
    fn a_run_can_be_repeated() {
        assert_eq!(
            all("1/2").again("conformance"),
            "make check-all SEED=7 SHARD=1/2 CHECKFLAGS=conformance"
        );
        let day = Sample::new(Some(9), false, None);
        assert_eq!(day.again("reach"), "make check SEED=9 CHECKFLAGS=reach");
    }
}
