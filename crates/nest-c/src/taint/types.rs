//! The results of the taint analysis: a text from the client, its origin, and its use. Must not
//! know:
//! how flows are found.

use crate::source::Owner;
use nest_diag::Span;

/// The origin of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// `$part` of a rule's match.
    Part {
        /// The rule.
        rule: usize,
        /// 0 is the whole match.
        part: u32,
    },
    /// The result of this directive or function, which reads input.
    Input(&'static str),
}

/// How a text is contained in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The string is the part, which may contain a NUL.
    Part,
    /// The string begins within the part.
    Within,
    /// A copy without other text, which ends at its first NUL.
    Copy,
    /// Part of a longer string.
    Among {
        /// Whether nothing is before it.
        begins: bool,
        /// Whether a slash, or nothing, is on both sides.
        alone: bool,
        /// Whether it is between single quotes.
        quoted: bool,
    },
}

/// The use of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// It is used as a string, which ends at its first NUL.
    Text,
    /// It names a file, as a string.
    Name,
    /// It is a format.
    Format,
    /// It is part of a shell command.
    Command,
    /// It is the name of a program that is run.
    Program,
    /// The address of another server.
    Address,
    /// It is a path that is not limited to fileRoot.
    Path,
    /// It is copied into an array.
    Buffer {
        /// The array.
        array: String,
        /// The size of the array.
        capacity: u64,
        /// Bytes that are copied in addition to the texts.
        beside: u64,
        /// All texts that are copied, each with the maximum length to which it was cut.
        taints: Vec<(Origin, Option<u64>)>,
    },
}

/// A text that reaches a use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The owner of the action.
    pub owner: Owner,
    /// The position of the argument in the action.
    pub span: Span,
    /// The text.
    pub origin: Origin,
    /// How it is contained in the used string.
    pub held: Held,
    /// Its use.
    pub to: Use,
    /// The function or directive that uses it.
    pub by: String,
    /// The function of the specification that contains the use.
    pub inside: Option<String>,
}
