//! What findings are about: rules, START's action, states. By their places alone.

use crate::by::By;
use nest_check::Finding;
use nest_diag::{SourceMap, Span};
use nest_machine::Machine;
use std::collections::BTreeMap;

/// A finding, as a picture shows it.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its number in the list of `nest check`.
    pub number: usize,
    /// Its code.
    pub code: &'static str,
    /// What it says.
    pub message: String,
    /// The file and line of its place.
    pub file: String,
    /// See there.
    pub line: usize,
    /// What it is about.
    pub about: About,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A rule, or START's action.
    Step(By),
    /// A state.
    State(u32),
    /// Neither.
    Other,
}

/// All findings.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// In order.
    pub all: Vec<Mark>,
}

impl Marks {
    /// Of the findings about a machine.
    pub fn of(m: &Machine, sources: &SourceMap, findings: &[Finding]) -> Marks {
        let all = (1..).zip(findings).map(|(number, finding)| {
            let d = &finding.diagnostic;
            let (line, _) = sources.position(d.span.file, d.span.start);
            Mark {
                number,
                code: d.code.name(),
                message: d.message.clone(),
                file: sources.file(d.span.file).name.clone(),
                line,
                about: about(m, sources, d.span),
            }
        });
        Marks { all: all.collect() }
    }

    /// The codes of what was found about a step, each once.
    pub fn of_step(&self, by: By) -> Vec<String> {
        self.codes(|about| about == About::Step(by))
    }

    /// The codes of what was found about states.
    pub fn of_states(&self, states: u64) -> Vec<String> {
        self.codes(|about| matches!(about, About::State(n) if states >> n & 1 == 1))
    }

    fn codes(&self, is: impl Fn(About) -> bool) -> Vec<String> {
        let found = self.all.iter().filter(|mark| is(mark.about));
        let mut codes: Vec<String> = found.map(|mark| mark.code.to_owned()).collect();
        codes.sort();
        codes.dedup();
        codes
    }
}

fn about(m: &Machine, sources: &SourceMap, span: Span) -> About {
    let within =
        |outer: Span| outer.file == span.file && outer.start <= span.start && span.end <= outer.end;
    let rules = (0..)
        .zip(&m.rules)
        .map(|(n, r)| (By::Rule(n), r.span, &r.action));
    let timers = (0..)
        .zip(&m.timers)
        .map(|(n, t)| (By::Timer(n), t.span, &t.action));
    let found = rules
        .chain(timers)
        .find(|(_, at, action)| within(*at) || within(action.span));
    if let Some((by, ..)) = found {
        return About::Step(by);
    }
    // A finding about START's action may stand at its brace.
    let start = m.start.as_ref().is_some_and(|action| {
        within(Span {
            start: action.span.start.saturating_sub(1),
            ..action.span
        })
    });
    if start {
        return About::Step(By::Start);
    }
    let names: BTreeMap<&str, u32> = m.states.iter().map(String::as_str).zip(0..).collect();
    match names.get(sources.text(span)) {
        Some(n) => About::State(*n),
        None => About::Other,
    }
}
