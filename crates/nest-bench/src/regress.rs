//! Two runs of the same specification compared: what has become dearer or cheaper, and whether that
//! can be chance.
//!
//! The test is exact: of all ways to divide the rounds of both runs into two groups, how many differ
//! as much as the real one does? Must not know: how figures were measured, files.

use crate::compare::{Entry, median};

/// Below this probability a difference is not taken for chance.
const SURE: f64 = 0.05;
/// So many rounds of each run are used at most.
const MOST: usize = 10;

/// How a server has changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The server.
    pub name: String,
    /// New cost in units of the old one.
    pub ratio: f64,
    /// The probability of such a difference by chance.
    pub chance: f64,
}

impl Change {
    /// Whether it is not chance.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        self.chance < SURE
    }

    /// Whether the server has become dearer, and that is not chance.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        self.is_sure() && self.ratio > 1.0
    }
}

/// The probability that two groups differ so much in their ranks by chance: the exact test of Mann
/// and Whitney, on both sides.
#[must_use]
pub fn chance(old: &[f64], new: &[f64]) -> f64 {
    let old = &old[..old.len().min(MOST)];
    let new = &new[..new.len().min(MOST)];
    let all: Vec<f64> = old.iter().chain(new).copied().collect();
    if old.is_empty() || new.is_empty() {
        return 1.0;
    }
    // Equal values share their rank; doubled, so that ranks are whole numbers.
    let rank = |x: f64| -> usize {
        let less = all.iter().filter(|y| **y < x).count();
        let same = all.iter().filter(|y| **y == x).count();
        2 * less + same + 1
    };
    let ranks: Vec<usize> = all.iter().map(|x| rank(*x)).collect();
    let sum: usize = ranks[..old.len()].iter().sum();
    let most: usize = ranks.iter().sum();
    // counts[k][s]: the ways to choose k values whose ranks have the sum s.
    let mut counts = vec![vec![0.0_f64; most + 1]; old.len() + 1];
    counts[0][0] = 1.0;
    for rank in &ranks {
        for k in (0..old.len()).rev() {
            for s in (0..=most - rank).rev() {
                let ways = counts[k][s];
                counts[k + 1][s + rank] += ways;
            }
        }
    }
    let centre = old.len() * (all.len() + 1);
    let far = sum.abs_diff(centre);
    let whole: f64 = counts[old.len()].iter().sum();
    let as_far = counts[old.len()].iter().enumerate();
    let as_far: f64 = as_far
        .filter(|(s, _)| s.abs_diff(centre) >= far)
        .map(|(_, n)| n)
        .sum();
    as_far / whole
}

/// How the servers that both runs have measured have changed.
#[must_use]
pub fn changes(old: &[Entry], new: &[Entry]) -> Vec<Change> {
    // What could not be counted is not known, rather than nothing.
    let costs = |entry: &Entry| -> Vec<f64> {
        let costs = entry.rounds.iter().map(|s| s.cost);
        costs.filter(|cost| *cost > 0.0).collect()
    };
    let both = new.iter().filter_map(|entry| {
        let before = old.iter().find(|other| other.name == entry.name)?;
        let (before, after) = (costs(before), costs(entry));
        (!before.is_empty() && !after.is_empty()).then(|| Change {
            name: entry.name.clone(),
            ratio: median(after.clone()) / median(before.clone()),
            chance: chance(&before, &after),
        })
    });
    both.collect()
}

#[cfg(test)]
mod tests {
    use super::{chance, changes};
    use crate::compare::{Entry, Sample};

    #[test]
    fn the_test_is_exact() {
        // Two of the 252 ways to divide ten values are as far apart.
        let old = [1.0, 2.0, 3.0, 4.0, 5.0];
        let new = [6.0, 7.0, 8.0, 9.0, 10.0];
        assert!((chance(&old, &new) - 2.0 / 252.0).abs() < 1e-12);
        assert!((chance(&old, &old) - 1.0).abs() < 1e-12);
        assert!(chance(&[1.0], &[9.0]) > 0.9);
        assert!((chance(&[], &[9.0]) - 1.0).abs() < 1e-12);
        // Two of six.
        assert!((chance(&[1.0, 2.0], &[3.0, 4.0]) - 2.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn changes_are_of_servers_that_both_have() {
        let entry = |name: &str, costs: &[f64]| Entry {
            name: name.to_owned(),
            rounds: costs
                .iter()
                .map(|cost| Sample {
                    cost: *cost,
                    ..Sample::default()
                })
                .collect(),
            ..Entry::default()
        };
        let old = [
            entry("event", &[1.0, 1.1, 1.2, 1.1, 1.0]),
            entry("old", &[1.0]),
        ];
        let new = [
            entry("event", &[2.0, 2.1, 2.2, 2.1, 2.0]),
            entry("new", &[1.0]),
        ];
        let all = changes(&old, &new);
        assert_eq!(all.len(), 1);
        assert!(all[0].is_regression() && all[0].ratio > 1.8);
        assert!(!changes(&new, &old)[0].is_regression());
    }

    #[test]
    fn rounds_without_countable_time_are_not_compared() {
        let entry = |costs: &[f64]| {
            let sample = |cost: &f64| Sample {
                cost: *cost,
                ..Sample::default()
            };
            [Entry {
                rounds: costs.iter().map(sample).collect(),
                ..Entry::default()
            }]
        };
        let new = entry(&[2.0, 2.1, 2.2, 2.1, 2.0]);
        assert_eq!(changes(&entry(&[0.0; 5]), &new), []);
        let few = changes(&entry(&[0.0, 0.0, 0.0, 0.0, 2.0]), &new);
        assert!(!few[0].is_sure() && few[0].ratio > 1.0);
    }
}
