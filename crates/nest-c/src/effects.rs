//! What each action may do to the states of its conversation.
//!
//! By the C parser: every way through an action, the functions of the specification that it hands
//! the session, what it marks and clears on that way, and whether it ends the connection. All that
//! can happen is among it; where C cannot be followed, it is more. What is taken for granted: a
//! session is used by the action that was given it, as `nest.h` says, and macros of headers in
//! angle brackets are like functions. Must not know: patterns, which sets of states are reached.

mod actions;
mod lexical;
mod named;
mod paths;
mod table;
mod text;
mod walk;

pub use actions::{Effect, Effects, answers};
pub use named::Named;
pub use paths::{Closes, Last, Path, bits};
