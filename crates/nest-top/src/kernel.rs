//! What `nest accelerate` counts: requests that the kernel answered, those that it left to the server, and why.
//!
//! Must not know: where the text comes from, nor how it is drawn.

use std::collections::BTreeMap;

use crate::numbers::number;

/// The lines that are shown, each with the name of its count. Lines that begin with a space are parts of
/// the one before them.
const LINES: [(&str, &str); 11] = [
    ("connections", "connections"),
    ("answers", "answered by the kernel"),
    ("unchanged", "  with 304"),
    ("singles", "  ending the connection"),
    ("passed", "answered by the server"),
    ("missed", "  file not kept"),
    ("fields", "  field that may matter"),
    ("renewed", "  for its idle timer"),
    ("full", "  client reads slowly"),
    ("handed_over", "connections left to it"),
    ("broken", "connections broken"),
];

/// What is known of an accelerator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// The port that it answers for.
    pub port: String,
    /// Whether the kernel answers.
    pub on: bool,
    /// Files that are kept, their bytes, and how many these may be.
    pub kept: (u64, u64, u64),
    /// Counts since the start, by name.
    counts: BTreeMap<String, u64>,
    /// Why files were left to the server, and how often.
    pub left: Vec<(String, u64)>,
}

/// Between two readings, a second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelRates {
    counts: BTreeMap<String, f64>,
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Line {
    pub what: &'static str,
    /// A second.
    pub rate: f64,
    /// Since the start.
    pub all: u64,
}

impl Kernel {
    /// Takes a count: its name without `nest_kernel_`, and a label of it.
    pub(crate) fn take(&mut self, name: &str, label: impl Fn(&str) -> String, value: u64) {
        match name {
            "info" => self.port = label("port"),
            "on" => self.on = value != 0,
            "kept_answers" => self.kept.0 = value,
            "kept_bytes" => self.kept.1 = value,
            "limit_bytes" => self.kept.2 = value,
            "left_total" => self.left.push((label("reason"), value)),
            name => {
                if let Some(name) = name.strip_suffix("_total") {
                    self.counts.insert(name.to_owned(), value);
                }
            }
        }
    }

    /// What was counted between two readings. `None`: it was started anew in between.
    pub(crate) fn between(before: &Kernel, after: &Kernel, seconds: f64) -> Option<KernelRates> {
        let mut counts = BTreeMap::new();
        for (name, b) in &after.counts {
            let a = before.counts.get(name).copied().unwrap_or(0);
            counts.insert(name.clone(), number(b.checked_sub(a)?) / seconds);
        }
        Some(KernelRates { counts })
    }

    /// The lines of the table.
    pub(crate) fn lines(&self, rates: &KernelRates) -> Vec<Line> {
        let line = |(name, what): (&str, &'static str)| Line {
            what,
            rate: rates.of(name),
            all: self.counts.get(name).copied().unwrap_or(0),
        };
        LINES.into_iter().map(line).collect()
    }
}

impl KernelRates {
    fn of(&self, name: &str) -> f64 {
        self.counts.get(name).copied().unwrap_or(0.0)
    }

    /// Requests that the kernel answered.
    pub(crate) fn answers(&self) -> f64 {
        self.of("answers")
    }

    /// Requests that the server answered, as far as they are counted.
    pub(crate) fn passed(&self) -> f64 {
        self.of("passed")
    }

    /// Bytes of the kernel's answers.
    pub(crate) fn bytes(&self) -> f64 {
        self.of("answer_bytes")
    }

    /// The kernel's share of the requests; `None`: there were none.
    pub(crate) fn share(&self) -> Option<f64> {
        let all = self.answers() + self.passed();
        (all > 0.0).then(|| self.answers() / all)
    }
}
