//! How much of its work a test does, as `cargo xtask check` says it: `sample.py` for Rust.
//!
//! A test includes it by `#[path]`. Must not know: what is tested.

use std::ops::Range;

/// Trials of a test.
pub struct Volume {
    /// In `cargo test`.
    pub quick: u64,
    /// In a step of its own, with the seed of the day.
    pub sample: u64,
    /// With `CHECK_ALL`.
    pub full: u64,
}

impl Volume {
    /// The seeds to try, where each seed is `each` trials: from `CHECK_SEED` (default: 1) on, as many as
    /// `CHECK_TRIALS` asks for, else as many as the volume that the variables select, or the share of
    /// them that `CHECK_SHARD` names.
    pub fn seeds(&self, each: u64) -> Range<u64> {
        let seed = number("CHECK_SEED");
        let trials = number("CHECK_TRIALS").unwrap_or(match seed {
            _ if std::env::var("CHECK_ALL").is_ok_and(|v| v == "1") => self.full,
            Some(_) => self.sample,
            None => self.quick,
        });
        let (which, count) = shard();
        let (first, seeds) = (seed.unwrap_or(1), trials.div_ceil(each));
        first + seeds * which / count..first + seeds * (which + 1) / count
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Which share of how many, counted from 0.
fn shard() -> (u64, u64) {
    let Ok(text) = std::env::var("CHECK_SHARD") else {
        return (0, 1);
    };
    let parts = text.split_once('/');
    parts
        .and_then(|(which, count)| Some((which.parse::<u64>().ok()?, count.parse().ok()?)))
        .filter(|(which, count)| (1..=*count).contains(which))
        .map(|(which, count)| (which - 1, count))
        .unwrap_or_else(|| panic!("CHECK_SHARD={text}: a shard is written I/N, as in 2/3"))
}
