//! Runs the automata in Rust, as the language defines matching: for tests and checkers.
//!
//! [`Runner`] steps one rule over its DFA or its thread list, [`parts`] finds the parts of a match,
//! and [`Engine`] selects between rules. It is simple rather than fast. Must not know: conditions,
//! actions, sockets.

mod engine;
mod product;
mod runner;

pub use engine::{Decision, Engine, Outcome, Reason};
pub use product::{ProductRun, Together};
pub use runner::{Rule, Runner, Threads, items, parts};
