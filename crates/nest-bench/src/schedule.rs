//! When requests are due, and which of them count: the arithmetic of a load.
//!
//! In a closed loop a request is due when a client asks it, and counts if it is answered in the measured
//! time. In an open loop requests are due at constant distances, and one counts if it was due in the
//! measured time, whenever its answer comes. Times are nanoseconds of any clock. Must not know: clients,
//! sockets, the clock.

/// When requests begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As soon as the one before is answered.
    Closed,
    /// So many a second, at constant distances.
    Rate(f64),
}

/// The schedule of a load.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    /// Of an open loop: when the first request is due, and the number of the next one.
    first: u64,
    next: u64,
    /// The measured time.
    begin: u64,
    end: u64,
}

/// A request that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// From the time when it was due to its answer.
    pub latency: u64,
    /// Whether the answer came in the measured time.
    pub in_time: bool,
}

impl Schedule {
    /// A schedule that begins, and measures nothing yet.
    #[must_use]
    pub fn new(pace: Pace, first: u64) -> Schedule {
        Schedule {
            pace,
            first,
            next: 0,
            begin: u64::MAX,
            end: u64::MAX,
        }
    }

    /// The measured time begins. It ends at `planned`, or in a closed loop when [`Self::ended`] says so.
    pub fn measure(&mut self, begin: u64, planned: u64) {
        self.begin = begin;
        if self.pace != Pace::Closed {
            self.end = planned;
        }
    }

    /// The measured time of a closed loop has ended.
    pub fn ended(&mut self, now: u64) {
        if self.pace == Pace::Closed {
            self.end = now;
        }
    }

    /// When the next request is due: in a closed loop now; `None`: none is due any more.
    #[must_use]
    pub fn due(&self, now: u64) -> Option<u64> {
        let due = match self.pace {
            Pace::Closed => now,
            Pace::Rate(rate) => self.first + (self.next as f64 * 1e9 / rate) as u64,
        };
        (due < self.end).then_some(due)
    }

    /// The next request is sent.
    pub fn take(&mut self) {
        self.next += 1;
    }

    /// Whether a time is measured.
    #[must_use]
    pub fn measures(&self, now: u64) -> bool {
        (self.begin..self.end).contains(&now)
    }

    /// A request is answered: what it counts for, if it counts.
    #[must_use]
    pub fn answered(&self, due: u64, now: u64) -> Option<Counted> {
        let at = match self.pace {
            Pace::Closed => now,
            Pace::Rate(_) => due,
        };
        self.measures(at).then(|| Counted {
            latency: now.saturating_sub(due).max(1),
            in_time: now < self.end,
        })
    }

    /// Of an open loop: the seconds that are measured, and the number of requests that are due in them.
    #[must_use]
    pub fn planned(&self) -> Option<(f64, u64)> {
        let Pace::Rate(rate) = self.pace else {
            return None;
        };
        let seconds = self.end.saturating_sub(self.begin) as f64 / 1e9;
        Some((seconds, (rate * seconds) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, Schedule};

    const MS: u64 = 1_000_000;

    /// Latencies in milliseconds, ascending, of a server that answers nobody in the first 200 ms of each
    /// second, and otherwise each client after `service`: ten measured seconds of virtual time.
    fn simulated(pace: Pace, clients: usize, service: u64) -> Vec<f64> {
        let (begin, end) = (1000 * MS, 11_000 * MS);
        let mut schedule = Schedule::new(pace, 0);
        schedule.measure(begin, end);
        let mut free = vec![0; clients];
        let mut all = Vec::new();
        loop {
            // The client that is free first asks next; a request that is due earlier waits for it.
            let n = (0..clients).min_by_key(|n| free[*n]).unwrap();
            if pace == Pace::Closed && free[n] >= end {
                schedule.ended(end);
            }
            let Some(due) = schedule.due(free[n]) else {
                return sorted(all);
            };
            schedule.take();
            let asked = free[n].max(due);
            let stalled = (200 * MS).saturating_sub(asked % (1000 * MS));
            free[n] = asked + stalled + service;
            let counted = schedule.answered(due, free[n]);
            all.extend(counted.map(|counted| counted.latency as f64 / 1e6));
        }
    }

    fn sorted(mut all: Vec<f64>) -> Vec<f64> {
        all.sort_by(f64::total_cmp);
        all
    }

    fn at(all: &[f64], share: f64) -> f64 {
        all[((all.len() - 1) as f64 * share).round() as usize]
    }

    /// A request that is due t ms into a stall of 200 ms is answered after 200 - t ms. So the share q of
    /// all requests, above 0.8, is not slower than 200 - 1000 (1 - q) ms, for any number of clients.
    #[test]
    fn percentiles_of_an_open_loop_are_those_of_the_schedule() {
        for (rate, clients, service) in [
            (1000.0, 1, 10_000),
            (1000.0, 8, 10_000),
            (1000.0, 1000, 10_000),
            (333.0, 3, 10_000),
            (20_000.0, 64, 50_000),
        ] {
            let all = simulated(Pace::Rate(rate), clients, service);
            let requests = rate * 10.0;
            assert!((all.len() as f64 - requests).abs() <= 1.0, "{}", all.len());
            // What the schedule does not say: the service, the backlog after a stall, and the distance
            // of two requests.
            let backlog = rate * 0.2 / clients as f64 * service as f64 / 1e6;
            let more = service as f64 / 1e6 + backlog + 2.0 * 1000.0 / rate;
            for share in [0.82, 0.9, 0.95, 0.99, 0.999] {
                let wanted = 200.0 - 1000.0 * (1.0 - share);
                let got = at(&all, share);
                let close = wanted - 2.0 * 1000.0 / rate..wanted + more;
                assert!(close.contains(&got), "{rate}, {clients}: {share}: {got}");
            }
            assert!(at(&all, 0.5) < 1.0, "{}", at(&all, 0.5));
        }
    }

    /// A closed loop hides the stall, since nobody asks during it: only one request of each client
    /// sees it.
    #[test]
    fn a_closed_loop_asks_less_during_a_stall() {
        let all = simulated(Pace::Closed, 4, MS);
        let slow = all.iter().filter(|latency| **latency > 100.0).count();
        assert_eq!(slow, 40);
        assert!(at(&all, 0.99) < 1.1, "{}", at(&all, 0.99));
    }

    #[test]
    fn only_what_is_measured_counts() {
        let mut open = Schedule::new(Pace::Rate(10.0), 50 * MS);
        assert_eq!(open.due(0), Some(50 * MS));
        assert_eq!(open.answered(50 * MS, 60 * MS), None);
        open.measure(100 * MS, 300 * MS);
        open.take();
        assert_eq!(open.due(0), Some(150 * MS));
        let late = open.answered(150 * MS, 400 * MS).unwrap();
        assert_eq!((late.latency, late.in_time), (250 * MS, false));
        assert_eq!(open.planned(), Some((0.2, 2)));
        open.take();
        open.take();
        assert_eq!(open.due(0), None);
        let mut closed = Schedule::new(Pace::Closed, 0);
        closed.measure(100 * MS, 300 * MS);
        assert_eq!(closed.due(7), Some(7));
        // It is due before the measured time, and answered in it.
        assert!(closed.answered(50 * MS, 120 * MS).unwrap().in_time);
        closed.ended(310 * MS);
        assert_eq!(closed.answered(120 * MS, 310 * MS), None);
        assert_eq!(closed.planned(), None);
    }
}
