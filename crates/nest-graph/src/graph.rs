//! A picture before it is drawn: what is in it, not where.
//!
//! Must not know: where it comes from, how it is written.

/// What kind of thing a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Where all begins.
    Entry,
    /// A set of states, or a state.
    State,
    /// Stands for several of the others: what leads from it leads from each of these.
    Several,
    /// Where conversations end.
    Exit,
    /// A state of an automaton.
    Step {
        /// What was read so far matches.
        accepts: bool,
        /// More may be read.
        live: bool,
    },
}

/// What is drawn with a name.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its name, line by line.
    pub name: Vec<String>,
    /// What is written smaller beneath.
    pub small: Vec<String>,
    /// All of it, for those who ask.
    pub tip: String,
    /// What leads from it to itself.
    pub loops: Vec<Label>,
    /// Codes of findings.
    pub codes: Vec<String>,
    /// On the path that is shown.
    pub on_path: bool,
}

/// An arrow from one node to another one.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The number of the node where it begins.
    pub from: usize,
    /// And where it ends: another one.
    pub to: usize,
    /// What leads along it.
    pub labels: Vec<Label>,
    /// On the path that is shown.
    pub on_path: bool,
}

/// What leads from one node to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// In short.
    pub text: String,
    /// All of it.
    pub tip: String,
    /// Whether it is certain that this can happen.
    pub certain: bool,
    /// Codes of findings.
    pub codes: Vec<String>,
    /// On the path that is shown.
    pub on_path: bool,
}

/// A picture.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// What it shows.
    pub title: String,
    /// How much of it.
    pub subtitle: String,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Edge>,
    /// What is to be said beneath.
    pub notes: Vec<Note>,
}

/// A line beneath the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// It.
    pub text: String,
    /// Whether it is a finding.
    pub finding: bool,
}

/// More labels than this are not written at one place.
const MOST_LABELS: usize = 5;

impl Node {
    /// One of that kind and name.
    #[must_use]
    pub fn new(kind: Kind, name: Vec<String>, tip: String) -> Node {
        Node {
            kind,
            name,
            small: Vec::new(),
            tip,
            loops: Vec::new(),
            codes: Vec::new(),
            on_path: false,
        }
    }
}

impl Edge {
    /// Whether nothing on it is certain.
    #[must_use]
    pub fn is_perhaps(&self) -> bool {
        is_perhaps(&self.labels)
    }
}

/// Whether there is something, and nothing of it is certain.
#[must_use]
pub fn is_perhaps(labels: &[Label]) -> bool {
    !labels.is_empty() && labels.iter().all(|l| !l.certain)
}

impl Label {
    /// As it is written: with its codes, and a sign where it is not certain.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = self.text.clone();
        if !self.certain {
            text.push_str(" ?");
        }
        for code in &self.codes {
            text.push(' ');
            text.push_str(code);
        }
        text
    }
}

/// The labels that are written, and how many are not. What is found or shown comes first.
#[must_use]
pub fn written(labels: &[Label]) -> (Vec<&Label>, usize) {
    let mut all: Vec<&Label> = labels.iter().collect();
    if all.len() <= MOST_LABELS {
        return (all, 0);
    }
    all.sort_by_key(|l| (!l.on_path, l.codes.is_empty()));
    let left = all.split_off(MOST_LABELS - 1).len();
    (all, left)
}
