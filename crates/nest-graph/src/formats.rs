//! The one table of formats: their names, the endings of their files, and what writes them. A new
//! format is a row here and a file beside this one. Must not know: files.

use crate::automaton::Automaton;
use crate::conversation::Conversation;
use crate::dot::dot;
use crate::graph::Graph;
use crate::mermaid::mermaid;
use crate::svg::svg;

/// States of an automaton beyond which a picture shows nothing to the eye.
pub const MOST_STATES: usize = 60;

/// What writes a picture.
enum Writer {
    /// The drawing, for eyes.
    Graph(fn(&Graph) -> String),
    /// All that is known, for programs.
    Records,
}

/// A format.
pub struct Format {
    /// For `--format`.
    pub name: &'static str,
    /// One line.
    pub doc: &'static str,
    /// The endings of its files, the usual one first.
    pub endings: &'static [&'static str],
    /// Whether a large automaton is useful in it.
    pub large: bool,
    writer: Writer,
}

/// The formats, the default first.
pub const FORMATS: &[Format] = &[
    Format {
        name: "svg",
        doc: "For any browser",
        endings: &["svg"],
        large: false,
        writer: Writer::Graph(svg),
    },
    Format {
        name: "dot",
        doc: "For Graphviz",
        endings: &["dot", "gv"],
        large: true,
        writer: Writer::Graph(dot),
    },
    Format {
        name: "mermaid",
        doc: "For Markdown",
        endings: &["mmd", "mermaid"],
        large: false,
        writer: Writer::Graph(mermaid),
    },
    Format {
        name: "json",
        doc: "For programs",
        endings: &["json"],
        large: true,
        writer: Writer::Records,
    },
];

impl Format {
    /// The format of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|f| f.name == name)
    }

    /// The format of files with that ending.
    #[must_use]
    pub fn ending(ending: &str) -> Option<&'static Format> {
        FORMATS.iter().find(|f| f.endings.contains(&ending))
    }

    /// Writes a conversation.
    #[must_use]
    pub fn conversation(&self, talk: &Conversation<'_>) -> String {
        match self.writer {
            Writer::Graph(write) => write(&talk.graph()),
            Writer::Records => talk.json(),
        }
    }

    /// Writes an automaton.
    #[must_use]
    pub fn automaton(&self, automaton: &Automaton) -> String {
        match self.writer {
            Writer::Graph(write) => write(&automaton.graph()),
            Writer::Records => automaton.json(),
        }
    }
}
