//! What is known of a value, and of all variables at one place. Must not know: statements,
//! functions.

use super::types::{Held, Origin};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A client's text, and how it stands in a string.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text {
    pub origin: Origin,
    pub held: Held,
}

impl Text {
    /// Some of it, with nothing beside it.
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

/// What was found out about a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// How long it is.
    Length,
    /// How long C takes it for.
    StringLength,
    /// Whether it has more bytes than this.
    Fits(u64),
    /// One of its bytes, which was compared to nothing yet.
    Byte,
    /// Whether a byte is this one, or where that stands.
    Sees(u8),
    /// Whether it is a text of the server's; it is known where it is.
    Equal,
    /// Something else.
    Content,
}

/// What was looked for in a text.
pub type Looks = u8;

/// Something that may be anything.
pub const ANYTHING: Looks = 1;
/// What means something to formats.
pub const FORMATS: Looks = 2;
/// The same, to paths.
pub const PATHS: Looks = 4;
/// The same, to a shell.
pub const SHELLS: Looks = 8;

impl About {
    /// What it looks for.
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

    /// What a function finds out that gets it.
    fn used(self) -> About {
        match self {
            About::Byte => About::Content,
            other => other,
        }
    }
}

/// A number, where it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Is(u64),
    /// The length of a text, and so many more.
    Length(Origin, u64),
}

/// A value of C.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Value {
    /// The texts in the string that it points to.
    pub taints: BTreeSet<Text>,
    /// What it was found out from.
    pub about: BTreeSet<(Origin, About)>,
    /// The variable that it points to, or is.
    pub place: Option<String>,
    /// Whether it points behind the beginning of that.
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

    /// Whichever of both it is.
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

    /// Something that was found out from it.
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

    /// A place in the string that it points to.
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

/// All variables, and what was found out on the path to a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Env {
    /// By their keys. `$n` are parts that were changed, `#` per-connection variables, `@` C's
    /// globals; others belong to a call.
    pub vars: Rc<BTreeMap<String, Value>>,
    /// What was looked for in texts.
    pub looked: BTreeMap<Origin, Looks>,
    /// Texts whose length was looked at: what it may be then, 0 where that is not known.
    pub measured: BTreeMap<Origin, u64>,
    /// Texts that were cut off there.
    pub cut: BTreeMap<Origin, u64>,
    /// Texts of which a byte may have been replaced.
    pub mended: BTreeSet<Origin>,
    /// Nothing comes here.
    pub dead: bool,
}

impl Env {
    pub fn nowhere() -> Env {
        Env {
            dead: true,
            ..Env::default()
        }
    }

    /// What is known where two paths meet.
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
                // Nothing is known of a part that was changed on one path.
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
        // Whether there is any is no look at how much there is.
        let length = matches!(value.number, Some(Number::Length(..)));
        for (origin, about) in &value.about {
            match about {
                About::Length | About::StringLength if length => {}
                About::Length | About::StringLength => self.measure(*origin, 0),
                About::Fits(most) => self.measure(*origin, *most),
                About::Equal if !equal => {}
                about => self.look(*origin, about.looks()),
            }
            // Who counts the bytes may have measured it.
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

    /// It has no more than these, as far as is known.
    pub fn measure(&mut self, origin: Origin, most: u64) {
        let known = self.measured.entry(origin).or_insert(most);
        *known = most.min(*known);
    }
}
