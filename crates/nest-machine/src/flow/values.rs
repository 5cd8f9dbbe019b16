//! What is known of a value, and of all variables at one place. Must not know: statements,
//! functions.

use super::{Held, Origin};
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
    /// Something else.
    Content,
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
    pub texts: BTreeSet<Text>,
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
            texts: BTreeSet::from([Text { origin, held }]),
            ..Value::default()
        }
    }

    /// Whichever of both it is.
    pub fn join(mut self, other: Value) -> Value {
        self.texts.extend(other.texts);
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
    pub fn verdict(&self) -> BTreeSet<(Origin, About)> {
        let texts = self.texts.iter().map(|t| (t.origin, About::Content));
        texts.chain(self.about.iter().copied()).collect()
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
        let texts = std::mem::take(&mut self.texts).into_iter();
        self.texts = texts
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

/// All variables, and what was found out on the way to a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Env {
    /// By their keys. `$n` are parts that were changed, `#` per-connection variables, `@` C's
    /// globals; others belong to a call.
    pub vars: Rc<BTreeMap<String, Value>>,
    /// Texts whose content was looked at.
    pub looked: BTreeSet<Origin>,
    /// Texts whose length was looked at.
    pub measured: BTreeSet<Origin>,
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

    /// Where two ways meet.
    pub fn join(self, other: Env) -> Env {
        let (mut to, from) = match (self.dead, other.dead) {
            (true, _) => return other,
            (_, true) => return self,
            _ => (self, other),
        };
        // Most ways change nothing.
        if !Rc::ptr_eq(&to.vars, &from.vars) {
            to.meet(&from.vars);
        }
        to.looked = to.looked.intersection(&from.looked).copied().collect();
        to.measured = to.measured.intersection(&from.measured).copied().collect();
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
                // Of a part that was changed on one way, nothing is known.
                Some(known) if key.starts_with('$') => Value {
                    texts: known.texts.intersection(&value.texts).cloned().collect(),
                    ..known
                },
                Some(known) => known.join(value),
                None => value,
            };
            vars.insert(key.clone(), both);
        }
    }

    /// A condition on a value holds, or does not.
    pub fn asked(&mut self, value: &Value) {
        for (origin, about) in &value.about {
            match about {
                About::Content => self.looked.insert(*origin),
                About::Length | About::StringLength => self.measured.insert(*origin),
            };
        }
    }
}
