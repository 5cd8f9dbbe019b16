//! What becomes of a client that sends nothing: whether TIMEOUT rules or a limit end its connection,
//! and when.
//!
//! While a TIMEOUT rule is active, idleTimeout rests; one that neither closes nor leads elsewhere
//! fires for ever. Must not know: how that is shown.

use nest_c::effects::{Closes, Effects};
use nest_machine::Machine;
use nest_machine::reach::{Reach, Reached};
use std::collections::BTreeSet;

/// What becomes of a client that sends nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Its connection ends.
    Ends {
        /// At the latest after so many milliseconds.
        ms: u64,
        /// By this TIMEOUT rule, or what it leads to; none: by the idle limit.
        timer: Option<usize>,
    },
    /// These TIMEOUT rules fire again and again; some of their actions may close, which depends on
    /// what cannot be told.
    May(Vec<usize>),
    /// These TIMEOUT rules fire again and again, and none closes; without any: nothing happens.
    Stays(Vec<usize>),
}

/// For each set.
pub(super) fn of_sets(
    m: &Machine,
    reach: &Reach,
    effects: &Effects,
    idle: Option<u64>,
) -> Vec<Silence> {
    let sets = &reach.sets;
    let next: Vec<Vec<usize>> = sets.iter().map(|s| after(s, reach, effects)).collect();
    let mut ends: Vec<Option<u64>> = vec![None; sets.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for set in (0..sets.len()).rev() {
            let now = match sets[set].timer {
                None => idle,
                Some(timer) => {
                    let mut rest = next[set].iter().map(|to| ends[*to]);
                    let rest = rest.try_fold(0, |most, ms| ms.map(|ms| ms.max(most)));
                    rest.map(|ms| ms + u64::from(m.timers[timer].after))
                }
            };
            if ends[set].is_none() && now.is_some() {
                ends[set] = now;
                changed = true;
            }
        }
    }
    let of = |set: usize| match ends[set] {
        Some(ms) => Silence::Ends {
            ms,
            timer: sets[set].timer,
        },
        None => stays(set, sets, &next, effects),
    };
    (0..sets.len()).map(of).collect()
}

/// Where not all sets are known.
pub(super) fn of_any(m: &Machine, idle: Option<u64>) -> Silence {
    match idle {
        Some(ms) if m.timers.is_empty() => Silence::Ends { ms, timer: None },
        None if m.timers.is_empty() => Silence::Stays(Vec::new()),
        _ => Silence::May((0..m.timers.len()).collect()),
    }
}

/// The sets to which the TIMEOUT rule of a set leads, where the conversation goes on.
fn after(set: &Reached, reach: &Reach, effects: &Effects) -> Vec<usize> {
    let Some(timer) = set.timer else {
        return Vec::new();
    };
    let paths = effects.timers[timer].paths.iter();
    let open = paths.filter(|p| p.fits(set.states) && p.closes != Closes::Yes);
    let mut found = BTreeSet::new();
    for path in open {
        let (to, varies) = path.outcome(set.states);
        let sets = reach.sets.iter().enumerate();
        let there = sets.filter(|(_, s)| (s.states ^ to) & !varies == 0 && !s.is_stuck());
        found.extend(there.map(|(n, _)| n));
    }
    found.into_iter().collect()
}

/// Of a set whose silence is not known to end.
fn stays(set: usize, sets: &[Reached], next: &[Vec<usize>], effects: &Effects) -> Silence {
    let (mut met, mut todo) = (BTreeSet::from([set]), vec![set]);
    while let Some(at) = todo.pop() {
        let more = next[at].iter().copied();
        todo.extend(more.filter(|to| met.insert(*to)));
    }
    let timers: BTreeSet<usize> = met.iter().filter_map(|s| sets[*s].timer).collect();
    let may_close = |timer: &usize| {
        let effect = &effects.timers[*timer];
        !effect.exact || effect.paths.iter().any(|p| p.closes != Closes::No)
    };
    let may = timers.iter().any(may_close);
    let timers = timers.into_iter().collect();
    if may {
        Silence::May(timers)
    } else {
        Silence::Stays(timers)
    }
}
