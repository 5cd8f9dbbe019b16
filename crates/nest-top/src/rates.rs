//! What a server did between two moments.
//!
//! Must not know: how it is shown.

use std::time::Duration;

use crate::exposition::{Counts, Filter, Times};
use crate::kernel::{Kernel, KernelRates};
use crate::numbers::number;

/// Per second, between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rates {
    /// Connections accepted.
    pub opened: f64,
    /// Connections that ended.
    pub ended: f64,
    /// Messages.
    pub messages: f64,
    /// Bytes.
    pub received: f64,
    /// Bytes.
    pub replied: f64,
    /// Half of the actions took at most so many seconds; `None`: there was none.
    pub p50: Option<f64>,
    /// 90 % of them.
    pub p90: Option<f64>,
    /// 99 % of them.
    pub p99: Option<f64>,
    /// All of them.
    pub longest: Option<f64>,
    /// In the order of the counts.
    pub rules: Vec<RuleRates>,
    /// In the order of the counts.
    pub filters: Vec<FilterRates>,
    /// Of `nest accelerate`.
    pub kernel: Option<KernelRates>,
}

/// Of a filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilterRates {
    /// Connections and messages a second that arrived.
    pub accepted: f64,
    /// Connections and messages a second that it passed on.
    pub passed: f64,
    /// Connections a second that it refused.
    pub refused: f64,
}

/// Of a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleRates {
    /// Its name, or its line.
    pub name: String,
    /// Messages a second.
    pub messages: f64,
    /// Bytes a second.
    pub bytes: f64,
    /// Seconds of its actions in each second.
    pub busy: f64,
    /// Seconds of an action.
    pub mean: Option<f64>,
}

impl Rates {
    /// From two readings of one server. `None`: it was started anew in between.
    #[must_use]
    pub fn between(before: &Counts, after: &Counts, passed: Duration) -> Option<Rates> {
        let seconds = passed.as_secs_f64().max(0.001);
        let same = before.rules.len() == after.rules.len() && before.opened <= after.opened;
        if !same || before.messages.count > after.messages.count {
            return None;
        }
        let rate = |a: u64, b: u64| number(b.saturating_sub(a)) / seconds;
        let sum = |counts: &Counts| counts.ended.iter().map(|(_, n)| n).sum();
        let rules = before.rules.iter().zip(&after.rules).map(|(a, b)| {
            let (messages, took) = (rate(a.messages, b.messages), b.seconds - a.seconds);
            RuleRates {
                name: b.name.clone(),
                messages,
                bytes: rate(a.bytes, b.bytes),
                busy: took / seconds,
                mean: (messages > 0.0).then(|| took / (messages * seconds)),
            }
        });
        let refused = |f: &Filter| f.refused.iter().map(|(_, n)| n).sum();
        let filters = after.filters.iter().enumerate().map(|(i, b)| {
            let a = before.filters.get(i).unwrap_or(b);
            FilterRates {
                accepted: rate(a.accepted, b.accepted),
                passed: rate(a.passed, b.passed),
                refused: rate(refused(a), refused(b)),
            }
        });
        let kernel = match (&before.kernel, &after.kernel) {
            (Some(a), Some(b)) => Some(Kernel::between(a, b, seconds)?),
            (None, None) => None,
            _ => return None,
        };
        let quantile = |q| between(&before.messages, &after.messages, q);
        Some(Rates {
            opened: rate(before.opened, after.opened),
            ended: rate(sum(before), sum(after)),
            messages: rate(before.messages.count, after.messages.count),
            received: rate(before.received, after.received),
            replied: rate(before.replied, after.replied),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            longest: quantile(1.0),
            rules: rules.collect(),
            filters: filters.collect(),
            kernel,
        })
    }
}

/// The least edge that this share of what came between two readings does not exceed.
fn between(before: &Times, after: &Times, share: f64) -> Option<f64> {
    let more = |i: usize| {
        let earlier = before.buckets.get(i).map_or(0, |(_, n)| *n);
        number(after.buckets[i].1.saturating_sub(earlier))
    };
    let all = more(after.buckets.len().checked_sub(1)?);
    if all == 0.0 {
        return None;
    }
    let found = (0..after.buckets.len()).find(|&i| more(i) >= share * all);
    found.map(|i| after.buckets[i].0)
}

#[cfg(test)]
mod tests {
    use super::Rates;
    use crate::exposition::Counts;
    use crate::sample::{KERNEL, TEXT};
    use std::time::Duration;

    #[test]
    fn the_difference_of_two_readings_is_a_rate() {
        let before = Counts::parse(TEXT).unwrap();
        let mut after = before.clone();
        after.opened += 10;
        after.rules[0].messages += 100;
        after.rules[0].seconds += 0.0001;
        after.messages.count += 100;
        after.filters[0].accepted += 8;
        after.filters[0].refused.push(("overdue".to_string(), 4));
        for (i, more) in [(0, 50), (1, 100), (2, 100)] {
            after.messages.buckets[i].1 += more;
        }
        let rates = Rates::between(&before, &after, Duration::from_secs(2)).unwrap();
        assert!((rates.opened - 5.0).abs() < 1e-9 && (rates.messages - 50.0).abs() < 1e-9);
        assert_eq!((rates.p50, rates.p99), (Some(0.000_001), Some(0.001)));
        assert!((rates.rules[0].mean.unwrap() - 0.000_001).abs() < 1e-9);
        assert_eq!(rates.rules[1].mean, None);
        assert!((rates.filters[0].accepted - 4.0).abs() < 1e-9);
        assert!((rates.filters[0].refused - 2.0).abs() < 1e-9);
        assert_eq!(
            Rates::between(&after, &before, Duration::from_secs(1)),
            None
        );
        let none = Rates::between(&after, &after, Duration::from_secs(1)).unwrap();
        assert_eq!(none.p50, None);
    }

    #[test]
    fn an_accelerator_s_counts_are_read_and_compared() {
        let before = Counts::parse(KERNEL).unwrap();
        let kernel = before.kernel.clone().unwrap();
        assert_eq!((kernel.port.as_str(), kernel.on), ("8080", true));
        assert_eq!(kernel.kept, (2, 2048, 8_388_608));
        assert_eq!(kernel.left, [("its file is too large".to_owned(), 3)]);
        let after = KERNEL.replace("answers_total 100", "answers_total 130");
        let after = Counts::parse(&after.replace("passed_total 20", "passed_total 30")).unwrap();
        let second = Duration::from_secs(1);
        let now = Rates::between(&before, &after, 2 * second).unwrap();
        let now = now.kernel.unwrap();
        assert!((now.answers() - 15.0).abs() < 1e-9 && now.share() == Some(0.75));
        let lines = after.kernel.as_ref().unwrap().lines(&now);
        let line = lines.iter().find(|l| l.what == "answered by the kernel");
        assert_eq!(line.map(|l| l.all), Some(130));
        assert_eq!(Rates::between(&after, &before, second), None);
        let server = Counts::parse(TEXT).unwrap();
        assert_eq!(Rates::between(&server, &before, second), None);
    }
}
