//! Pictures of a protocol: its conversations as a state diagram, and the automaton of a rule.
//!
//! [`Conversation`] and [`automaton()`] say what is in a picture ([`Graph`]), [`svg`], [`dot`] and
//! [`mermaid`] write it. The same specification gives the same bytes. Must not know: C, files.

pub mod automaton;
mod by;
mod condition;
mod conversation;
mod dot;
pub mod drawing;
mod fold;
mod follow;
mod formats;
mod graph;
pub mod layout;
mod marks;
mod mermaid;
mod records;
mod states;
mod svg;
mod text;

pub use automaton::{Automaton, automaton};
pub use conversation::Conversation;
pub use dot::dot;
pub use formats::{FORMATS, Format, MOST_STATES};
pub use graph::{Edge, Graph, Kind, Label, Node, Note};
pub use mermaid::mermaid;
pub use svg::svg;
