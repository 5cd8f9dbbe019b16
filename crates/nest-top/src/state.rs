//! What the live view shows, and how counts and keys change it.
//!
//! Must not know: where counts and keys come from, nor how it looks.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::exposition::Counts;
use crate::rates::Rates;
use crate::scrape::Address;

const INTERVALS: [u64; 6] = [100, 250, 500, 1000, 2000, 5000];
const HISTORY: usize = 600;

/// The order of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Written,
    Messages,
    Busy,
    Mean,
}

/// A moment of the past.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub messages: f64,
    pub p99: Option<f64>,
    /// Requests that the kernel answered, and those that it left to the server.
    pub kernel: Option<(f64, f64)>,
}

/// What the view shows.
#[derive(Debug)]
pub(crate) struct State {
    pub address: String,
    pub interval: Duration,
    pub paused: bool,
    pub order: Order,
    pub counts: Counts,
    pub rates: Rates,
    pub history: VecDeque<Moment>,
    /// Why there are no new counts.
    pub trouble: Option<String>,
    since: Instant,
}

impl State {
    pub(crate) fn new(address: &Address, interval: Duration, counts: Counts) -> State {
        State {
            address: address.to_string(),
            interval,
            paused: false,
            order: Order::Written,
            counts,
            rates: Rates::default(),
            history: VecDeque::new(),
            trouble: None,
            since: Instant::now(),
        }
    }

    /// New counts, or why there are none.
    pub(crate) fn take(&mut self, at: Instant, result: Result<Counts, String>) {
        match result {
            Ok(counts) => {
                self.trouble = None;
                let passed = at.saturating_duration_since(self.since);
                let rates = Rates::between(&self.counts, &counts, passed);
                self.rates = rates.unwrap_or_default();
                self.history.push_back(Moment {
                    messages: self.rates.messages,
                    p99: self.rates.p99,
                    kernel: self
                        .rates
                        .kernel
                        .as_ref()
                        .map(|k| (k.answers(), k.passed())),
                });
                if self.history.len() > HISTORY {
                    self.history.pop_front();
                }
                self.counts = counts;
                self.since = at;
            }
            Err(reason) => self.trouble = Some(reason),
        }
    }

    /// A key. False: the user wants to leave.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Char('s') => {
                self.order = match self.order {
                    Order::Written => Order::Messages,
                    Order::Messages => Order::Busy,
                    Order::Busy => Order::Mean,
                    Order::Mean => Order::Written,
                };
            }
            KeyCode::Char('+' | '=') => self.pace(|ms| INTERVALS.into_iter().rfind(|&i| i < ms)),
            KeyCode::Char('-') => self.pace(|ms| INTERVALS.into_iter().find(|&i| i > ms)),
            _ => {}
        }
        true
    }

    fn pace(&mut self, next: impl Fn(u64) -> Option<u64>) {
        let now = u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX);
        if let Some(ms) = next(now) {
            self.interval = Duration::from_millis(ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, State};
    use crate::exposition::Counts;
    use crate::sample::TEXT;
    use crate::scrape::Address;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use std::time::{Duration, Instant};

    fn app() -> State {
        let address = Address::parse("unix:/x").unwrap();
        State::new(
            &address,
            Duration::from_secs(1),
            Counts::parse(TEXT).unwrap(),
        )
    }

    #[test]
    fn keys_change_the_view() {
        let mut app = app();
        let mut press = |c| app.press(KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE));
        assert!(press('s') && press(' ') && press('-') && press('x'));
        assert!(!press('q'));
        assert_eq!((app.order, app.paused), (Order::Messages, true));
        assert_eq!(app.interval, Duration::from_secs(2));
        assert!(!app.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
    }

    #[test]
    fn a_server_that_was_started_anew_has_no_rates_for_a_moment() {
        let mut app = app();
        let fresh = Counts {
            opened: 1,
            ..app.counts.clone()
        };
        app.take(Instant::now(), Err("refused".to_string()));
        assert_eq!(app.trouble.as_deref(), Some("refused"));
        app.take(Instant::now(), Ok(fresh));
        assert_eq!((app.trouble.as_deref(), app.counts.opened), (None, 1));
        assert!(app.rates.rules.is_empty() && app.history.len() == 1);
    }
}
