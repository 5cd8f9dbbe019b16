//! What is known about a value, and about all variables at a place. Must not know: statements,
//! functions.

use super::types::{Held, Origin};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A text from the client, and how it is contained in a string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text {
    pub origin: Origin,
    pub held: Held,
}

impl Text {
    /// A piece of it without other text.
    pub fn among(self) -> Text {
        Text {
            held: Held::Among {
                begins: true,
                alone: true,
                quoted: false,
            },
            ..self
        }
    }
}

/// What a value tells about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// Its length.
    Length,
    /// Its length as a C string.
    StringLength,
    /// Whether it is longer than this.
    Fits(u64),
    /// One of its bytes, not compared yet.
    Byte,
    /// Whether a byte is this one, or its position.
    Sees(u8),
    /// Whether it equals a text of the server; on equality it is harmless.
    Equal,
    /// Something else.
    Content,
}

/// What a text was searched for.
pub type Looks = u8;

/// Anything.
pub const ANYTHING: Looks = 1;
/// Characters with a meaning in formats.
pub const FORMATS: Looks = 2;
/// The same for paths.
pub const PATHS: Looks = 4;
/// The same for a shell.
pub const SHELLS: Looks = 8;

impl About {
    /// What it searches for.
    pub fn looks(self) -> Looks {
        match self {
            About::Content | About::Equal => ANYTHING,
            About::Sees(b'%') => FORMATS,
            About::Sees(b'/' | b'.') => PATHS,
            About::Sees(
                b';' | b'|' | b'&' | b'$' | b'`' | b'\'' | b'"' | b'\\' | b'<' | b'>' | b'(' | b'*',
            ) => SHELLS,
            _ => 0,
        }
    }

    /// What the result of a function that gets it tells.
    fn used(self) -> About {
        match self {
            About::Byte => About::Content,
            other => other,
        }
    }
}

/// A number, if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Is(u64),
    /// The length of a text plus a constant.
    Length(Origin, u64),
}

/// A value of C.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Value {
    /// The texts in the string that it points to.
    pub taints: BTreeSet<Text>,
    /// The text that it was computed from.
    pub about: BTreeSet<(Origin, About)>,
    /// The variable that it is or points to.
    pub place: Option<String>,
    /// Whether it points to a place after the beginning of that variable.
    pub behind: bool,
    pub number: Option<Number>,
}

impl Value {
    pub fn of(origin: Origin, held: Held) -> Value {
        Value {
            taints: BTreeSet::from([Text { origin, held }]),
            ..Value::default()
        }
    }

    /// The value of either of two paths.
    pub fn join(mut self, other: Value) -> Value {
        self.taints.extend(other.taints);
        self.about.extend(other.about);
        self.behind |= other.behind;
        if self.place != other.place {
            self.place = None;
        }
        if self.number != other.number {
            self.number = None;
        }
        self
    }

    /// A value computed from it.
    pub fn verdict(&self) -> impl Iterator<Item = (Origin, About)> {
        let taints = self.taints.iter().map(|t| (t.origin, About::Content));
        let about = self.about.iter().map(|(o, a)| (*o, a.used()));
        taints.chain(about)
    }

    /// One of its bytes.
    pub fn byte(&self) -> BTreeSet<(Origin, About)> {
        let taints = self.taints.iter().map(|t| (t.origin, About::Byte));
        let about = self.about.iter().map(|(o, a)| (*o, a.used()));
        taints.chain(about).collect()
    }

    /// A pointer into the string that it points to.
    pub fn inside(mut self) -> Value {
        let within = |held| match held {
            Held::Part | Held::Within => Held::Within,
            Held::Copy => Held::Among {
                begins: false,
                alone: false,
                quoted: false,
            },
            among @ Held::Among { .. } => among,
        };
        let taints = std::mem::take(&mut self.taints).into_iter();
        self.taints = taints
            .map(|t| Text {
                held: within(t.held),
                ..t
            })
            .collect();
        self.behind = true;
        self.number = None;
        self
    }
}

/// All variables, and what is known on the paths to a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Env {
    /// By their keys. `$n` are parts that were changed, `#` per-connection variables, `@` C's
    /// globals; others belong to a call.
    pub vars: Rc<BTreeMap<String, Value>>,
    /// What texts were searched for.
    pub looked: BTreeMap<Origin, Looks>,
    /// Texts whose length was tested, with their maximum length, or 0 if it is not known.
    pub measured: BTreeMap<Origin, u64>,
    /// Texts that were cut to this length.
    pub cut: BTreeMap<Origin, u64>,
    /// Texts of which a byte may have been replaced.
    pub mended: BTreeSet<Origin>,
    /// Whether no path reaches the place.
    pub dead: bool,
}

impl Env {
    pub fn nowhere() -> Env {
        Env {
            dead: true,
            ..Env::default()
        }
    }

    /// Joins two paths.
    pub fn join(self, other: Env) -> Env {
        let (mut to, from) = match (self.dead, other.dead) {
            (true, _) => return other,
            (_, true) => return self,
            _ => (self, other),
        };
        // Most paths change nothing.
        if !Rc::ptr_eq(&to.vars, &from.vars) {
            to.meet(&from.vars);
        }
        to.mended.extend(from.mended);
        to.looked.retain(|origin, looks| {
            *looks &= from.looked.get(origin).copied().unwrap_or(0);
            *looks != 0
        });
        for (bounds, others) in [(&mut to.measured, &from.measured), (&mut to.cut, &from.cut)] {
            bounds.retain(|origin, bound| {
                let other = others.get(origin);
                *bound = other.map_or(0, |other| (*other).max(*bound));
                other.is_some()
            });
        }
        to
    }

    fn meet(&mut self, from: &BTreeMap<String, Value>) {
        for (key, value) in from {
            if self.vars.get(key) == Some(value) {
                continue;
            }
            let vars = Rc::make_mut(&mut self.vars);
            let value = value.clone();
            let both = match vars.remove(key) {
                // A part that was changed on one path is unknown.
                Some(known) if key.starts_with('$') => Value {
                    taints: known.taints.intersection(&value.taints).cloned().collect(),
                    ..known
                },
                Some(known) => known.join(value),
                None => value,
            };
            vars.insert(key.clone(), both);
        }
    }

    /// A condition on a value holds, or does not; whether it is where a text equals another one.
    pub fn tested(&mut self, value: &Value, equal: bool) {
        // A test for an empty text does not limit its length.
        let length = matches!(value.number, Some(Number::Length(..)));
        for (origin, about) in &value.about {
            match about {
                About::Length | About::StringLength if length => {}
                About::Length | About::StringLength => self.measure(*origin, 0),
                About::Fits(most) => self.measure(*origin, *most),
                About::Equal if !equal => {}
                about => self.look(*origin, about.looks()),
            }
            // A loop that counts the bytes may have measured the text.
            if *about == About::Content {
                self.measure(*origin, 0);
            }
        }
    }

    pub fn look(&mut self, origin: Origin, looks: Looks) {
        if looks != 0 {
            *self.looked.entry(origin).or_default() |= looks;
        }
    }

    /// Its maximum length, if it is known.
    pub fn measure(&mut self, origin: Origin, most: u64) {
        let known = self.measured.entry(origin).or_insert(most);
        *known = most.min(*known);
    }
}
