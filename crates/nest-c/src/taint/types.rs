//! What is reported: a text from the client, where it comes from, and what it is used as. Must not know:
//! how flows are found.

use crate::source::Owner;
use nest_diag::Span;

/// Where a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// `$part` of a rule's match.
    Part {
        /// The rule.
        rule: usize,
        /// 0 is the whole match.
        part: u32,
    },
    /// What this directive or function has read.
    Input(&'static str),
}

/// How a text stands in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The string is the part, which may hold a NUL.
    Part,
    /// The string begins within the part.
    Within,
    /// A copy, with nothing beside it, that ends at its first NUL.
    Copy,
    /// It stands among other text.
    Among {
        /// Nothing stands before it.
        begins: bool,
        /// On both sides there is a slash, or nothing.
        alone: bool,
        /// It stands between single quotes.
        quoted: bool,
    },
}

/// What is done with a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It is used as a string, where its NUL would end it.
    Text,
    /// It names a file, as a string.
    Name,
    /// It is a format.
    Format,
    /// A shell reads it.
    Command,
    /// It names a program that is run.
    Program,
    /// It names a file, wherever that is.
    Path,
    /// It is put into an array.
    Buffer {
        /// The array.
        array: String,
        /// Its bytes.
        capacity: u64,
        /// Bytes that are put there beside the texts.
        beside: u64,
        /// All texts that are put there, each with the most bytes that are left of it.
        taints: Vec<(Origin, Option<u64>)>,
    },
}

/// A text that comes to a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Whose action does it.
    pub owner: Owner,
    /// The argument, in the action.
    pub span: Span,
    /// The text.
    pub origin: Origin,
    /// How it stands in what is used.
    pub held: Held,
    /// What it is used as.
    pub to: Use,
    /// By which function or directive.
    pub by: String,
    /// The function of the specification in which that happens.
    pub inside: Option<String>,
}
