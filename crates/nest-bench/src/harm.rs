//! What slow and hostile clients cost the others: the figures of a round beside them, and without them.
//!
//! Must not know: what such clients do, how figures were measured.

use crate::compare::{Entry, Sample, ratio_of};

/// Lines about the harm; none if there were no such clients.
#[must_use]
pub fn harm_table(all: &[Entry]) -> String {
    let Some(first) = all.iter().find(|entry| !entry.calm.is_empty()) else {
        return String::new();
    };
    let plural =
        |n: usize, what: &str| format!("{n} {what} client{}", if n == 1 { "" } else { "s" });
    let mut text = format!(
        "  beside {} and {}, as a multiple of the same without them:\n",
        plural(first.crowd.slow, "slow"),
        plural(first.crowd.hostile, "hostile")
    );
    for entry in all {
        let shown = |name: &str, figure: fn(&Sample) -> f64| {
            let harm = ratio_of(&entry.rounds, &entry.calm, figure)?;
            Some(format!(
                "{name} {:.2} ({:.2} to {:.2})",
                harm.mean, harm.least, harm.most
            ))
        };
        let rate = (!entry.is_limited()).then(|| shown("requests/s", |s| s.rate));
        let parts = [
            rate.flatten(),
            shown("p50", |s| s.p50),
            shown("p99", |s| s.p99),
            shown("CPU a request", |s| s.cost),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        text.push_str(&format!("  {:<8} {}\n", entry.name, parts.join(", ")));
    }
    for entry in all {
        let crowd = &entry.crowd;
        text.push_str(&format!(
            "  {:<8} answered {} conversations of slow clients to their end, {} not; ended {} of {} hostile \
             connections\n",
            entry.name, crowd.finished, crowd.otherwise, crowd.ended, crowd.attacks
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::harm_table;
    use crate::compare::{Entry, Sample};
    use crate::crowd::Crowded;

    #[test]
    fn the_harm_is_that_of_the_same_round() {
        let sample = |p99: f64| Sample {
            p50: 10.0,
            p99,
            cost: 2.0,
            rate: 100.0,
            driver: 0.5,
            ..Sample::default()
        };
        let mut entry = Entry {
            name: "event".to_owned(),
            rounds: vec![sample(200.0), sample(50.0)],
            ..Entry::default()
        };
        assert_eq!(harm_table(std::slice::from_ref(&entry)), "");
        entry.calm = vec![sample(100.0), sample(25.0)];
        entry.crowd = Crowded {
            slow: 3,
            hostile: 1,
            finished: 9,
            attacks: 7,
            ended: 2,
            ..Crowded::default()
        };
        assert_eq!(
            harm_table(&[entry]),
            "  beside 3 slow clients and 1 hostile client, as a multiple of the same without them:\n  \
             event    requests/s 1.00 (1.00 to 1.00), p50 1.00 (1.00 to 1.00), p99 2.00 (2.00 to 2.00), \
             CPU a request 1.00 (1.00 to 1.00)\n  \
             event    answered 9 conversations of slow clients to their end, 0 not; ended 2 of 7 hostile \
             connections\n"
        );
    }
}
