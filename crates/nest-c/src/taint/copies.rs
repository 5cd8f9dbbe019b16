//! What functions put into arrays: which texts are there then, and whether they fit.
//!
//! Must not know: how functions are found.

use super::format::{conversions, literal};
use super::table::Known;
use super::types::{Held, Origin, Use};
use super::values::{Number, Text, Value};
use super::walk::{Given, Walk};
use crate::directives::roles::Role;
use std::collections::BTreeSet;
use tree_sitter::Node;

/// How much may be put somewhere.
enum Limit {
    None,
    Bytes(u64),
    Unknown,
}

impl<'a> Walk<'a, '_> {
    /// What a function puts somewhere.
    pub fn copy(&mut self, name: &str, row: &Known, args: &[Given<'a>], node: Node<'a>) {
        let of = |role| args.get(row.find(role)?);
        let behind = of(Role::Behind).is_some();
        let Some(to) = of(Role::To).or(of(Role::Behind)).or(of(Role::New)) else {
            return;
        };
        let limit = match (of(Role::Size), of(Role::Count)) {
            (None, None) => Limit::None,
            (Some(size), _) => match size.value.number.or(self.constant(size.node)) {
                Some(Number::Is(n)) => Limit::Bytes(n),
                // So much as the text needs: as if there were none.
                Some(Number::Length(..)) => Limit::None,
                None => Limit::Unknown,
            },
            (None, Some(count)) => match count.value.number.or(self.constant(count.node)) {
                Some(Number::Is(n)) if behind => Limit::Bytes(n.saturating_add(1)),
                Some(Number::Length(origin, more)) => {
                    let taints = vec![(origin, None)];
                    self.fits_into(name, to, node, taints, more, Limit::None);
                    Limit::Unknown
                }
                _ => Limit::Unknown,
            },
        };
        let mut taints = BTreeSet::new();
        if let Some(from) = of(Role::From) {
            let exact = from.value.taints.iter().filter(exact);
            let most = self.holds(&from.value);
            let parts: Vec<(Origin, Option<u64>)> = exact.map(|t| (t.origin, most)).collect();
            if parts.len() == 1 && from.value.taints.len() == 1 && !from.value.behind {
                self.fits_into(name, to, from.node, parts, 1, limit);
            }
            taints = copied(&from.value.taints);
        } else if let Some(from) = of(Role::Bytes) {
            taints = copied(&from.value.taints);
        } else if let Some(at) = row.find(Role::Format) {
            taints = self.formatted(name, to, args, at, limit, node);
        }
        if behind {
            let taints = taints.into_iter().map(|t| Text {
                held: match t.held {
                    Held::Among { alone, quoted, .. } => Held::Among {
                        begins: false,
                        alone,
                        quoted,
                    },
                    _ => Held::Among {
                        begins: false,
                        alone: true,
                        quoted: false,
                    },
                },
                ..t
            });
            self.write(&to.value, taints.collect(), false);
        } else {
            self.write(&to.value, taints, true);
        }
    }

    /// The texts of what a format makes.
    fn formatted(
        &mut self,
        name: &str,
        to: &Given<'a>,
        args: &[Given<'a>],
        at: usize,
        limit: Limit,
        node: Node<'a>,
    ) -> BTreeSet<Text> {
        let among = |origin| Text {
            origin,
            held: Held::Among {
                begins: false,
                alone: false,
                quoted: false,
            },
        };
        let given = args.get(at + 1..).unwrap_or_default();
        let format = args
            .get(at)
            .and_then(|format| literal(self.word(format.node)));
        let (Some(format), false) = (format, name.starts_with('v')) else {
            let frame = self.frames.last();
            let rest = frame.map(|f| f.rest.taints.clone()).unwrap_or_default();
            let given = given
                .iter()
                .chain(args.get(at))
                .flat_map(|a| &a.value.taints);
            return given.chain(&rest).map(|t| among(t.origin)).collect();
        };
        let (all, end) = conversions(&format);
        let mut taints = BTreeSet::new();
        let mut parts = Vec::new();
        let (mut beside, mut quotes, mut known) = (end.len() as u64 + 1, 0, true);
        for (n, conversion) in all.iter().enumerate() {
            beside += conversion.before.len() as u64;
            quotes += conversion.before.matches('\'').count();
            let Some(value) = given.get(conversion.value).filter(|_| conversion.text) else {
                continue;
            };
            let behind = all
                .get(n + 1)
                .map_or(end.as_str(), |next| next.before.as_str());
            let last = n + 1 == all.len();
            let begins = n == 0 && conversion.before.is_empty();
            let alone = (begins || conversion.before.ends_with('/'))
                && (behind.starts_with('/') || (last && behind.is_empty()));
            let only = begins && last && behind.is_empty();
            let quoted = quotes % 2 == 1;
            for text in &value.value.taints {
                taints.insert(Text {
                    origin: text.origin,
                    held: match text.held {
                        Held::Part | Held::Copy if only => Held::Copy,
                        Held::Part | Held::Copy | Held::Within => Held::Among {
                            begins,
                            alone,
                            quoted,
                        },
                        Held::Among {
                            begins: first,
                            alone: separate,
                            quoted: within,
                        } => Held::Among {
                            begins: begins && first,
                            alone: alone && separate,
                            quoted: quoted || within,
                        },
                    },
                });
            }
            known &= !conversion.star;
            let exact = value.value.taints.iter().filter(exact);
            let most = self.holds(&value.value);
            let most = most.into_iter().chain(conversion.most).min();
            if value.value.taints.len() == 1 && !value.value.behind {
                parts.extend(exact.map(|t| (t.origin, most)));
            }
        }
        if known && !parts.is_empty() {
            self.fits_into(name, to, node, parts, beside, limit);
        }
        taints
    }

    /// The longest string that an array holds.
    fn holds(&self, value: &Value) -> Option<u64> {
        let place = value.place.as_deref()?;
        self.capacity(place)
            .map(|capacity| capacity.saturating_sub(1))
    }

    /// Texts, and so many bytes beside them, are put into an array.
    fn fits_into(
        &mut self,
        by: &str,
        to: &Given<'a>,
        node: Node<'a>,
        taints: Vec<(Origin, Option<u64>)>,
        beside: u64,
        limit: Limit,
    ) {
        let capacity = to
            .value
            .place
            .as_ref()
            .and_then(|place| self.capacity(place));
        let (Some(capacity), false, Some((origin, _))) =
            (capacity, to.value.behind, taints.first())
        else {
            return;
        };
        let fits = match limit {
            Limit::None => false,
            Limit::Bytes(n) => n <= capacity,
            Limit::Unknown => true,
        };
        if fits {
            return;
        }
        let text = Text {
            origin: *origin,
            held: Held::Copy,
        };
        let to = Use::Buffer {
            array: self.word(to.node).to_string(),
            capacity,
            beside,
            taints,
        };
        self.report(by, node, text, to);
    }
}

/// Whether a string is that text and no more.
fn exact(text: &&Text) -> bool {
    matches!(text.held, Held::Part | Held::Copy)
}

/// Texts as they stand in a copy of the string.
pub fn copied(taints: &BTreeSet<Text>) -> BTreeSet<Text> {
    let held = |held| match held {
        Held::Part | Held::Copy => Held::Copy,
        Held::Within => Held::Among {
            begins: true,
            alone: true,
            quoted: false,
        },
        among @ Held::Among { .. } => among,
    };
    let copy = |t: &Text| Text {
        held: held(t.held),
        ..t.clone()
    };
    taints.iter().map(copy).collect()
}
