//! The C of a specification: a lexer, a parser's view of it, the table of directives, and analyses of
//! actions. Two of them follow the same control flow.
//!
//! [`effects`] finds what actions do to the states of a conversation, [`taint`] where text from the
//! client goes. [`globals`] finds what actions write at file scope, [`kept`] which per-connection variables
//! they may change, [`branches`] the branches to count. All take a [`Source`]. Must not know: patterns,
//! conditions, options, files.

mod action;
pub mod branches;
pub mod directives;
pub mod effects;
mod flow;
pub mod globals;
pub mod kept;
mod leads;
pub mod lexer;
mod library;
mod macros;
mod members;
mod read;
pub mod scope;
mod source;
pub mod taint;

pub use action::{Action, Arg, ArgKind, Args, Code, Use, What, inner, without_directives};
pub use source::{Declaration, Owner, Source};
