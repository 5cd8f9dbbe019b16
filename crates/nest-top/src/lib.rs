//! A running server, looked at: what `metrics` tells is read twice, and the difference shown.
//!
//! Must not know: how a server counts.

mod app;
mod exposition;
mod kernel;
mod numbers;
mod panel;
mod pieces;
mod plain;
mod rates;
#[cfg(test)]
mod sample;
mod scrape;
mod state;
mod view;

pub use app::watch;
pub use exposition::{Counts, Rule, Times};
pub use kernel::{Kernel, KernelRates};
pub use plain::table;
pub use rates::{Rates, RuleRates};
pub use scrape::{Address, fetch};
