//! How a machine is matched, in words: for `nest check --explain-matching`, and for the comments of
//! the generated matchers, which so say the same.
//!
//! Must not know: how it is decided, where the words are shown.

use super::{Automaton, DIRECT, Matching, Reason};
use crate::model::{Machine, Strategy};
use nest_pattern::Dfa;

/// How the parts that a rule's action asks for are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// None is asked for but `$0`.
    None,
    /// At distances from the ends of the message that never differ.
    Fixed,
    /// The automaton keeps so many ends on its way.
    Kept(usize),
    /// A second pass over the message, and why.
    Again(Again),
}

/// Why parts take a second pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The rule is apart.
    Standalone,
    /// With their ends the automaton would be too large.
    Tags(Reason),
}

impl Matching {
    /// How the parts of a rule are found.
    #[must_use]
    pub fn parts(&self, m: &Machine, rule: usize) -> Parts {
        let requested = &m.rules[rule];
        if requested.requested.is_empty() {
            return Parts::None;
        }
        match &self.cuts[rule] {
            Some(cuts) if cuts.tags.is_empty() => Parts::Fixed,
            Some(cuts) => Parts::Kept(cuts.tags.len()),
            None => Parts::Again(
                self.untagged
                    .get(&rule)
                    .map_or(Again::Standalone, |reason| Again::Tags(*reason)),
            ),
        }
    }
}

impl Parts {
    /// In words, behind the parts' names.
    #[must_use]
    pub fn text(self, m: &Machine) -> String {
        match self {
            Parts::None => "no part is used".to_string(),
            Parts::Fixed => "at fixed distances".to_string(),
            Parts::Kept(ends) => format!("in the same pass, {} kept", count(ends, "end")),
            Parts::Again(why) => format!("by a second pass: {}", why.text(m)),
        }
    }
}

impl Again {
    fn text(self, m: &Machine) -> String {
        match self {
            Again::Standalone => "the rule is matched separately".to_string(),
            Again::Tags(Reason::Rule) => format!(
                "with the ends of parts its own automaton would have more than {} states",
                number(m.settings.matching_states)
            ),
            Again::Tags(reason) => format!("with the ends of parts {}", reason.group(m)),
        }
    }
}

impl Reason {
    /// In words: why a rule is apart.
    #[must_use]
    pub fn text(self, m: &Machine) -> String {
        match self {
            Reason::Backtracking => "automata cannot express the pattern".to_string(),
            Reason::Requested => "required by %option matching apart".to_string(),
            Reason::Early => {
                "it decides with NOW, and rules beside it are matched separately".to_string()
            }
            Reason::Rule => format!(
                "its own automaton would have more than {} states",
                number(m.settings.matching_states)
            ),
            _ => format!("with it {}", self.group(m)),
        }
    }

    /// What became too large, as the end of a sentence.
    fn group(self, m: &Machine) -> String {
        match self {
            Reason::Code(bytes) => format!(
                "the automaton would take {} of C, more than {}",
                size(bytes),
                size(m.settings.matching_code)
            ),
            _ => format!(
                "the automaton would have more than {} states",
                number(m.settings.matching_states)
            ),
        }
    }

    /// The option that raises the limit; none if there is no limit.
    #[must_use]
    pub fn option(self) -> Option<&'static str> {
        match self {
            Reason::Backtracking | Reason::Requested | Reason::Early => None,
            Reason::Rule | Reason::States => Some("matchingStates"),
            Reason::Code(_) => Some("matchingCode"),
        }
    }
}

impl Automaton {
    /// In words: as what it is run, and why.
    #[must_use]
    pub fn form(&self, m: &Machine) -> String {
        let chosen = self.active.as_ref().is_some_and(|active| !active.alone);
        let form = match m.settings.strategy {
            Strategy::Code => "code, as required by %option matching".to_string(),
            Strategy::Table => "a table, as required by %option matching".to_string(),
            _ if self.direct => "code".to_string(),
            _ if self.product.blocks().count() > DIRECT => {
                format!(
                    "a table, because it has more than {} states",
                    number(DIRECT)
                )
            }
            _ => format!(
                "a table, because code would take {}, more than {}",
                size(self.sizes().code()),
                size(m.settings.matching_code)
            ),
        };
        if chosen {
            format!("{form}, for one combination of active rules")
        } else {
            form
        }
    }

    /// In words: what it takes.
    #[must_use]
    pub fn extent(&self) -> String {
        format!(
            "{}, {}, {}, {}, about {} of C",
            count(self.product.states(), "state"),
            count(self.product.class_count, "byte class"),
            count(self.product.registers, "register"),
            count(self.conditions.len(), "condition"),
            size(self.size())
        )
    }
}

/// The parts that a rule's action asks for and how they are found, and whether it decides early, in
/// words; empty if there is nothing to say.
#[must_use]
pub fn parts(m: &Machine, matching: &Matching, rule: usize) -> String {
    let it = &m.rules[rule];
    let names: Vec<String> = it.requested.iter().map(|n| format!("${}", n + 1)).collect();
    let mut text = match matching.parts(m, rule) {
        Parts::None => String::new(),
        parts => format!("{} {}", names.join(" "), parts.text(m)),
    };
    if it.open && it.parts > it.requested.len() {
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str("for functions that use $self, a second pass");
    }
    if it.early {
        text.push_str(if text.is_empty() { "" } else { "; " });
        text.push_str("selected at once (NOW)");
    }
    text
}

/// How a rule that is apart is run, in words.
#[must_use]
pub fn alone(m: &Machine, rule: usize) -> String {
    if let Some(backtracking) = &m.rules[rule].backtracking {
        return format!(
            "by libpcre2, because of {}; it begins anew with each piece of a message",
            backtracking.construct
        );
    }
    match &m.rules[rule].dfa {
        Some(dfa) => format!("by its own table, {} states", number(dfa.count as usize)),
        None => format!(
            "by NFA simulation, because a table would have more than {} states",
            number(crate::STATE_BUDGET)
        ),
    }
}

/// What makes a rule too large, and what helps, in words.
#[must_use]
pub fn cause(m: &Machine, rule: usize, reason: Reason) -> Vec<String> {
    let Some(option) = reason.option() else {
        return Vec::new();
    };
    let alone = super::plain(&m.rules[rule], m.settings.matching_states);
    let alone = alone.map(|automaton| automaton.accepts.len());
    let mut lines: Vec<String> = Vec::new();
    let begins = first_bytes(m, rule);
    lines.extend(alone.map(|states| {
        let wide = begins.filter(|bytes| *bytes >= WIDE).map(|bytes| {
            format!(
                ", which multiply with those of other rules, because it may begin with {bytes} different bytes"
            )
        });
        format!(
            "alone it has {}{}",
            count(states, "state"),
            wide.unwrap_or_default()
        )
    }));
    // An element is named if the rule is large, and most of it is the element's.
    let heavy = heavy(m, rule).filter(|heavy| {
        alone.is_none_or(|states| states > DIRECT && heavy.without < states / 4 * 3)
    });
    lines.extend(heavy.map(|heavy| {
        format!(
            "without its element {}, {}, it would have {}",
            heavy.element,
            element(m, rule, heavy.element),
            count(heavy.without, "state")
        )
    }));
    lines.push(format!("%option {option} raises the limit"));
    lines
}

/// Rules that may begin with so many bytes are live beside most others.
const WIDE: usize = 128;

/// Elements are cut to this many characters.
const ELEMENT: usize = 40;

/// An element (from 1) as it is written, in a line.
fn element(m: &Machine, rule: usize, n: usize) -> String {
    let text = m.rules[rule].elements.get(n - 1).map_or("", String::as_str);
    let shown = text.chars().take(ELEMENT);
    let mut shown: String = shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(ELEMENT).is_some() {
        shown.push('…');
    }
    shown
}

/// An element, and the states of its rule's automaton without it.
struct Heavy {
    element: usize,
    without: usize,
}

/// The element without which a rule's automaton is smallest, if it fits then.
fn heavy(m: &Machine, rule: usize) -> Option<Heavy> {
    let nfa = &m.rules[rule].nfa;
    let without = (0..nfa.parts).filter_map(|element| {
        let dfa = Dfa::build(&nfa.without(element), m.settings.matching_states)?;
        Some((dfa.count as usize, element as usize + 1))
    });
    let (without, element) = without.min().filter(|_| nfa.parts > 1)?;
    Some(Heavy { element, without })
}

/// By how many different bytes a rule may begin, if it has a table.
fn first_bytes(m: &Machine, rule: usize) -> Option<usize> {
    let dfa = m.rules[rule].dfa.as_ref()?;
    let bytes = (0..=255u8).filter(|byte| dfa.step(dfa.start, *byte) != 0);
    Some(bytes.count())
}

/// `12,345`.
#[must_use]
pub fn number(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 state`, `12,345 states`.
#[must_use]
pub fn count(n: usize, what: &str) -> String {
    let plural = match what.strip_suffix("ss") {
        _ if n == 1 => "",
        Some(_) => "es",
        None => "s",
    };
    format!("{} {what}{plural}", number(n))
}

/// Bytes, in K as options are written if they are many.
#[must_use]
pub fn size(bytes: usize) -> String {
    if bytes < 1024 {
        count(bytes, "byte")
    } else {
        format!("{}K", number(bytes.div_ceil(1024)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_easily() {
        assert_eq!(number(999), "999");
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(count(1, "byte class"), "1 byte class");
        assert_eq!(count(2, "byte class"), "2 byte classes");
        assert_eq!(count(4096, "state"), "4,096 states");
        assert_eq!(size(1023), "1,023 bytes");
        assert_eq!(size(512 << 10), "512K");
    }
}
