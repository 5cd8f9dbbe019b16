//! What actions do with text from the client: which flows of it are findings, and what shows them.
//!
//! The analysis of C says where text goes ([`nest_c::taint`]), patterns say what it can be. If a part can
//! have a harmful form, the finding shows the shortest message in which it has it. If no message gives
//! it that form, nothing is reported. Must not know: C.

use crate::checker::Checker;
use crate::search::{Example, Searched};
use nest_c::Owner;
use nest_c::directives::{self, Reads};
use nest_c::taint::{Flow, Held, Origin, Use, flows};
use nest_diag::{Code, Diagnostic, Span};
use nest_machine::options;
use nest_pattern::{ByteSet, Form};
use std::collections::{BTreeMap, BTreeSet};

/// Longer parts are not looked for.
const LONGEST: u64 = 2000;

/// States of what a part can be.
const LARGEST: u16 = 2000;

/// What a client sends to a `$readLine` whose line is used so.
const LINES: [(Code, &[u8]); 4] = [
    (Code::W0402, b"%n\n"),
    (Code::W0403, b";id\n"),
    (Code::W0404, b"../x\n"),
    (Code::W0511, b"10.0.0.1:22\n"),
];

/// What shows that a part is used as a string, by whose action it is.
type Strings = BTreeMap<(Origin, Owner), Option<Option<Example>>>;

impl Checker<'_> {
    /// W0401 to W0405, W0511.
    pub(crate) fn taint(&mut self) {
        let mut reported: BTreeSet<(Code, u32, u32, u32)> = BTreeSet::new();
        let mut parts: BTreeMap<Origin, usize> = BTreeMap::new();
        let mut strings = Strings::new();
        let mut all = flows(&self.m.source());
        // The worst finding about a place comes first; no other one is reported there.
        all.sort_by_key(|flow| matches!(flow.to, Use::Text | Use::Name));
        for flow in &all {
            let code = match flow.to {
                Use::Text | Use::Name => Code::W0401,
                Use::Format => Code::W0402,
                Use::Command | Use::Program => Code::W0403,
                Use::Path => Code::W0404,
                Use::Address => Code::W0511,
                Use::Buffer { .. } => Code::W0405,
            };
            let place = |code| (code, flow.span.file.0, flow.span.start, flow.span.end);
            let worse = [Code::W0404, Code::W0511].map(|code| reported.contains(&place(code)));
            if reported.contains(&place(code)) || (code == Code::W0401 && worse.contains(&true)) {
                continue;
            }
            let Some(example) = self.text(flow, code, &mut strings) else {
                continue;
            };
            reported.insert(place(code));
            let first = self.found.len();
            self.report(flow, code, example);
            if code == Code::W0401 {
                // Once for a part, wherever it is not allowed.
                let number = *parts.entry(flow.origin).or_insert(first);
                self.found[first..]
                    .iter_mut()
                    .for_each(|f| f.once = Some(number));
            }
        }
    }

    /// What shows it, if it is one; it is the same for all uses of a part as a string.
    fn text(&mut self, flow: &Flow, code: Code, strings: &mut Strings) -> Option<Option<Example>> {
        if flow.to != Use::Text {
            return self.shown(flow, code);
        }
        let key = (flow.origin, flow.owner);
        if let Some(known) = strings.get(&key) {
            return known.clone();
        }
        let shown = self.shown(flow, code);
        strings.insert(key, shown.clone());
        shown
    }

    /// What shows it, where that can be shown; nothing if it is none.
    fn shown(&mut self, flow: &Flow, code: Code) -> Option<Option<Example>> {
        let forms = self.forms(flow);
        let example = match flow.origin {
            Origin::Part { rule, .. } => {
                let mut example = None;
                for form in &forms {
                    match self.searched(rule, form) {
                        Searched::Never => {}
                        Searched::Perhaps => {
                            example = example.or(Some(None));
                        }
                        Searched::Shown(shown) => {
                            example = Some(Some(shown));
                            break;
                        }
                    }
                }
                example?.and_then(|example| self.followed(example, rule, flow.owner))
            }
            Origin::Input(name) if !forms.is_empty() => self.read(name, flow.owner, code),
            Origin::Input(_) => return None,
        };
        self.runs(flow.owner).then_some(example)
    }

    fn report(&mut self, flow: &Flow, code: Code, example: Option<Example>) {
        let (what, help) = match &flow.to {
            Use::Text | Use::Name => self.string(flow),
            Use::Format => self.format(flow),
            Use::Command | Use::Program => self.command(flow),
            Use::Path => self.path(flow),
            Use::Address => self.address(flow),
            Use::Buffer {
                array,
                capacity,
                beside,
                taints,
            } => self.copy(flow, array, *capacity, *beside, taints.len()),
        };
        let span: Span = flow.span;
        let help = match &example {
            Some(Example { text, .. }) if text.len() <= 60 => {
                format!("a client may send {text}: {help}")
            }
            _ => help,
        };
        let diagnostic = Diagnostic::new(code, span, what).help(help);
        self.push(diagnostic, example.map(|example| example.witness));
    }

    /// Whether an action ever runs.
    pub(crate) fn runs(&self, owner: Owner) -> bool {
        let mut sets = self.reach.sets.iter();
        match owner {
            _ if !self.reach.is_complete() => true,
            Owner::Rule(n) => sets.any(|set| set.rules.contains(&n)),
            Owner::Timer(n) => sets.any(|set| set.timer == Some(n)),
            Owner::Start | Owner::End | Owner::Overload => true,
        }
    }

    /// The forms of parts that make it a finding, those that show most first; of what is read, any if
    /// there are some.
    fn forms(&self, flow: &Flow) -> Vec<Vec<(u32, Form)>> {
        if let Use::Buffer {
            capacity,
            beside,
            taints,
            ..
        } = &flow.to
        {
            return self.too_long(*capacity, *beside, taints);
        }
        let part = match flow.origin {
            Origin::Part { part, .. } => part,
            Origin::Input(_) => 0,
        };
        let forms = self.harmful(flow).into_iter();
        forms.map(|form| vec![(part, form)]).collect()
    }

    /// The forms of a text that do harm where it is used.
    fn harmful(&self, flow: &Flow) -> Vec<Form> {
        let one_of = |bytes: &[u8]| {
            let mut set = ByteSet::EMPTY;
            bytes.iter().for_each(|b| set.insert(*b));
            set
        };
        match &flow.to {
            Use::Text => match flow.origin {
                Origin::Part { .. } => vec![Form::holding(&one_of(b"\0"))],
                Origin::Input(_) => Vec::new(),
            },
            // The name that is left is one that the client could have sent, or it is not.
            Use::Name => match flow.origin {
                Origin::Part { rule, part } => {
                    let nfa = &self.m.rules[rule].nfa;
                    Form::cut_short(nfa, part, 0, LARGEST).into_iter().collect()
                }
                Origin::Input(_) => Vec::new(),
            },
            Use::Format => vec![
                Form::containing(b"%n"),
                Form::containing(b"%s"),
                Form::holding(&one_of(b"%")),
            ],
            // The specification's own words.
            Use::Command | Use::Program | Use::Path | Use::Address if self.listed(flow.origin) => {
                Vec::new()
            }
            Use::Program | Use::Address => vec![Form::new(1, |_, _| 0, |_| true)],
            Use::Command => {
                let (begins, quoted) = match flow.held {
                    Held::Part | Held::Within | Held::Copy => (true, false),
                    Held::Among { begins, quoted, .. } => (begins, quoted),
                };
                let special = if quoted {
                    one_of(b"'")
                } else {
                    let mut plain = one_of(b"_./:,@%+=-");
                    plain.insert_range(b'a', b'z');
                    plain.insert_range(b'A', b'Z');
                    plain.insert_range(b'0', b'9');
                    // A NUL ends it.
                    plain.insert(0);
                    plain.complement()
                };
                let clear = if quoted { b"'".as_slice() } else { b";" };
                let mut forms = vec![Form::holding(&one_of(clear)), Form::holding(&special)];
                if begins {
                    forms.push(Form::new(1, |_, _| 0, |_| true));
                }
                forms
            }
            Use::Path => {
                let (begins, alone) = match flow.held {
                    Held::Part | Held::Copy => (true, true),
                    // What the part begins with may be left out.
                    Held::Within => (false, true),
                    Held::Among { begins, alone, .. } => (begins, alone),
                };
                vec![leads_out(begins, alone)]
            }
            Use::Buffer { .. } => Vec::new(),
        }
    }

    /// Whether the pattern lists what it can be.
    fn listed(&self, origin: Origin) -> bool {
        match origin {
            Origin::Part { rule, part } => self.m.rules[rule].nfa.lists(part),
            Origin::Input(_) => false,
        }
    }

    /// The forms with which texts do not fit into an array; empty if they always fit.
    fn too_long(
        &self,
        capacity: u64,
        beside: u64,
        taints: &[(Origin, Option<u64>)],
    ) -> Vec<Vec<(u32, Form)>> {
        let bound = |(origin, cap): &(Origin, Option<u64>)| match origin {
            Origin::Part { rule, part } => {
                let most = self.most(*rule, *part);
                Some((*rule, *part, cap.map_or(most, |cap| cap.min(most))))
            }
            Origin::Input(_) => None,
        };
        let Some(mut all) = taints.iter().map(bound).collect::<Option<Vec<_>>>() else {
            return Vec::new();
        };
        let sum = |all: &[(usize, u32, u64)]| all.iter().map(|t| t.2).sum::<u64>() + beside;
        if sum(&all) <= capacity {
            return Vec::new();
        }
        // As few of them as will do, the first not longer than it must be.
        while all.len() > 1 && sum(&all[..all.len() - 1]) > capacity {
            all.pop();
        }
        let others: u64 = all.iter().skip(1).map(|t| t.2).sum();
        let same = all.iter().all(|t| t.0 == all[0].0);
        let longer = |n: usize, part: u32, most: u64| {
            let than = match n {
                0 => capacity.checked_sub(beside + others),
                _ => most.checked_sub(1),
            };
            let than = than.filter(|n| *n <= LONGEST);
            let form = match than.and_then(|n| u16::try_from(n).ok()) {
                Some(than) => Form::longer(than),
                None => Form::new(1, |_, _| 0, |_| true),
            };
            (part, form)
        };
        let all = all
            .iter()
            .enumerate()
            .take(if same { all.len() } else { 1 });
        vec![
            all.map(|(n, (_, part, most))| longer(n, *part, *most))
                .collect(),
        ]
    }

    /// Most bytes of a part: by its pattern, or by `inputBuffer`.
    pub(crate) fn most(&self, rule: usize, part: u32) -> u64 {
        let nfa = &self.m.rules[rule].nfa;
        let (whole, shape) = (nfa.shape(0), nfa.shape(part));
        let buffer = self
            .m
            .settings
            .run
            .iter()
            .find(|o| o.info.name == "inputBuffer");
        let buffer = buffer
            .and_then(|o| options::size(&o.initial))
            .unwrap_or(u64::MAX);
        let others = u64::from(whole.least.saturating_sub(shape.least));
        let buffer = buffer.saturating_sub(others);
        shape
            .most
            .map_or(buffer, |most| u64::from(most).min(buffer))
    }

    /// What a client does to have its line used so.
    fn read(&mut self, name: &str, owner: Owner, code: Code) -> Option<Example> {
        let line = directives::word_does(name).reads == Reads::Line;
        let (_, text) = LINES.iter().find(|(of, _)| line && *of == code)?;
        let before = self.comes_to(owner)?;
        Some(Example::new(before.and(text.to_vec()), text))
    }
}

/// Paths that lead out of the folder in which they begin. `begins`: nothing stands before the text;
/// `alone`: its first and last names are names of their own.
fn leads_out(begins: bool, alone: bool) -> Form {
    // At a name's beginning, behind one dot, behind two, further in it; found; at a later one.
    let step = move |at: u16, byte: u8| match (at, byte) {
        (4, _) => 4,
        (0, b'/') if begins => 4,
        (2, b'/') => 4,
        (_, b'/') => 5,
        (0, _) if !alone && !begins => 3,
        (0 | 5, b'.') => 1,
        (1, b'.') => 2,
        _ => 3,
    };
    Form::new(6, step, move |at| at == 4 || (at == 2 && alone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out() {
        let out = leads_out(true, true);
        for path in ["/", "/a", "..", "../a", "a/../b", "a/..", "./.."] {
            assert!(out.fits(path.as_bytes()), "{path}");
        }
        for path in [
            "", "a", ".", "...", "a..", "..a", "a/b", "a/", "a/.b/...", "a..b/c",
        ] {
            assert!(!out.fits(path.as_bytes()), "{path}");
        }
        // Behind a folder, a slash leads nowhere else.
        let behind = leads_out(false, true);
        assert!(behind.fits(b"..") && behind.fits(b"/../") && !behind.fits(b"/a"));
        // Behind the beginning of a name, and before an ending.
        let within = leads_out(false, false);
        assert!(!within.fits(b"..") && !within.fits(b"../a") && within.fits(b"a/../b"));
    }
}
