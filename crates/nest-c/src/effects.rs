//! What each action may do to the states of its conversation.
//!
//! For each path through an action, and through the functions to which it passes the session: which
//! states it marks and clears, and whether it ends the connection. Everything that can happen is
//! covered; where C cannot be followed, more is. Two assumptions are made: a session is used only by
//! the action that got it, as `nest.h` demands, and macros of headers in angle brackets behave like
//! functions. Must not know: patterns, which sets of states are reached.

mod actions;
mod lexical;
mod named;
mod paths;
mod table;
mod text;
mod walk;

pub use actions::{Effect, Effects, Opening, answers, opening};
pub use named::Named;
pub use paths::{Closes, Last, Path, bits};
