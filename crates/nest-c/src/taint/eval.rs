//! Expressions: which texts their values hold, and which variables they name. Must not know:
//! statements, what functions do.

use super::copies::copied;
use super::format::character;
use super::types::{Held, Origin};
use super::values::{ANYTHING, About, Number, Text, Value};
use super::walk::{Condition, Walk};
use crate::action::What;
use crate::flow::Domain;
use crate::library::children;
use crate::source::Owner;
use std::collections::BTreeSet;
use tree_sitter::Node;

impl<'a> Walk<'a, '_> {
    pub fn eval(&mut self, node: Node<'a>) -> Value {
        if !self.goes_on() {
            return Value::default();
        }
        self.deeper(|walk| walk.expression(node))
    }

    fn value_of(&mut self, node: Option<Node<'a>>) -> Value {
        node.map(|node| self.eval(node)).unwrap_or_default()
    }

    fn expression(&mut self, node: Node<'a>) -> Value {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "identifier" | "field_expression" => match self.key(node) {
                Some(key) => self.load(&key),
                None => Value::default(),
            },
            "number_literal" => Value {
                number: self.constant(node),
                ..Value::default()
            },
            "call_expression" => self.call(node),
            "assignment_expression" => self.assignment(node),
            "update_expression" => {
                let value = self.value_of(field("argument")).inside();
                if let Some(key) = field("argument").and_then(|a| self.key(a)) {
                    self.put(key, value.clone());
                }
                value
            }
            "subscript_expression" => {
                let place = self.key(node);
                if let Some(place) = place.filter(|p| p.ends_with("[]")) {
                    return self.load(&place);
                }
                let base = self.value_of(field("argument"));
                let index = self.value_of(field("index"));
                self.element(&base.join(index))
            }
            "pointer_expression" => {
                let argument = field("argument");
                if field("operator").is_some_and(|o| o.kind() == "&") {
                    return self.address(argument);
                }
                let value = self.value_of(argument);
                self.element(&value)
            }
            "conditional_expression" => {
                let before = self.env.clone();
                let (value, equal) = self.decides(field("condition"));
                let tested = Condition { value, equal };
                let other = self.under(&tested, true);
                let first = self.value_of(field("consequence"));
                let yes = std::mem::replace(&mut self.env, other);
                self.under(&tested, false);
                let second = self.value_of(field("alternative"));
                self.behind_choice(before, yes);
                let mut value = first.join(second);
                value.about.extend(tested.value.about);
                value
            }
            "binary_expression" => self.binary(node),
            "comma_expression" => {
                self.value_of(field("left"));
                self.value_of(field("right"))
            }
            "parenthesized_expression" => children(node)
                .first()
                .map(|n| self.eval(*n))
                .unwrap_or_default(),
            "cast_expression" => self.value_of(field("value")),
            "sizeof_expression" => {
                let inner = field("value");
                let key = inner.and_then(|value| self.key(value));
                let capacity = key.and_then(|key| self.capacity(&key));
                Value {
                    number: capacity.map(Number::Is),
                    ..Value::default()
                }
            }
            "initializer_list" => {
                let all = children(node);
                let values: Vec<Value> = all.iter().map(|n| self.eval(*n)).collect();
                // The arguments of a program: what stands behind `-c` is a shell's command.
                let shell = all.iter().position(|n| self.word(*n) == "\"-c\"");
                let command = shell.and_then(|at| values.get(at + 1));
                Value {
                    taints: command.map(|v| v.taints.clone()).unwrap_or_default(),
                    about: values.into_iter().flat_map(|v| v.about).collect(),
                    ..Value::default()
                }
            }
            "unary_expression" if field("operator").is_some_and(|o| o.kind() == "!") => {
                let (value, _) = self.decides(field("argument"));
                let any = matches!(value.number, Some(Number::Length(..)));
                let length = |a: &About| matches!(a, About::Length | About::StringLength);
                let about = value.about.into_iter().filter(|(_, a)| !any || !length(a));
                Value {
                    about: about.collect(),
                    ..Value::default()
                }
            }
            "string_literal" | "concatenated_string" | "char_literal" => Value::default(),
            _ => {
                let mut about = BTreeSet::new();
                for child in children(node) {
                    about.extend(self.eval(child).about);
                }
                Value {
                    about,
                    ..Value::default()
                }
            }
        }
    }

    /// A constant, by the names that declarations give.
    pub fn constant(&self, node: Node<'a>) -> Option<Number> {
        let text = self.frames.last()?.text;
        let size = self.common.buffers.size(text, node, 0);
        size.map(Number::Is)
    }

    fn element(&self, of: &Value) -> Value {
        Value {
            about: of.byte(),
            ..Value::default()
        }
    }

    fn address(&mut self, argument: Option<Node<'a>>) -> Value {
        let Some(argument) = argument else {
            return Value::default();
        };
        let place = self.key(argument);
        let mut value = place.map(|key| self.load(&key)).unwrap_or_default();
        if argument.kind() == "subscript_expression" {
            let first = argument.child_by_field_name("index");
            let first = first.is_some_and(|index| self.word(index) == "0");
            let base = argument.child_by_field_name("argument");
            value = self.value_of(base);
            return if first { value } else { value.inside() };
        }
        value.about.clear();
        value
    }

    fn binary(&mut self, node: Node<'a>) -> Value {
        let field = |name| node.child_by_field_name(name);
        let operator = field("operator").map_or("", |o| o.kind());
        let before = self.env.clone();
        if matches!(operator, "&&" | "||") {
            let (left, equal) = self.decides(field("left"));
            let tested = Condition { value: left, equal };
            self.under(&tested, operator == "&&");
            let (right, _) = self.decides(field("right"));
            let left = tested.value;
            if !self.env.dead {
                self.env.looked = before.looked;
                self.env.measured = before.measured;
            }
            return Value {
                about: left.about.into_iter().chain(right.about).collect(),
                ..Value::default()
            };
        }
        let left = self.value_of(field("left"));
        let right = self.value_of(field("right"));
        // strlen and $len of the same part, compared: that is where a NUL shows.
        let lengths = |v: &Value, about| -> BTreeSet<Origin> {
            let is = v.about.iter().filter(|(_, a)| *a == about);
            is.map(|(origin, _)| *origin).collect()
        };
        for (one, other) in [(&left, &right), (&right, &left)] {
            let by_c = lengths(one, About::StringLength);
            let known = lengths(other, About::Length);
            self.checked.extend(by_c.intersection(&known));
        }
        let number = match (operator, left.number, right.number) {
            ("+", Some(Number::Is(a)), Some(Number::Is(b))) => a.checked_add(b).map(Number::Is),
            ("-", Some(Number::Is(a)), Some(Number::Is(b))) => a.checked_sub(b).map(Number::Is),
            ("*", Some(Number::Is(a)), Some(Number::Is(b))) => a.checked_mul(b).map(Number::Is),
            ("+", Some(Number::Length(o, a)), Some(Number::Is(b)))
            | ("+", Some(Number::Is(b)), Some(Number::Length(o, a))) => {
                a.checked_add(b).map(|n| Number::Length(o, n))
            }
            _ => None,
        };
        let about = self.compared(operator, node, &left, &right);
        let moved = if matches!(operator, "+" | "-") {
            let pointer = if right.taints.is_empty() && right.place.is_none() {
                left
            } else {
                right
            };
            pointer.inside()
        } else {
            Value::default()
        };
        Value {
            about,
            number,
            ..moved
        }
    }

    /// What two values tell, compared or reckoned with.
    fn compared(
        &self,
        operator: &str,
        node: Node<'a>,
        left: &Value,
        right: &Value,
    ) -> BTreeSet<(Origin, About)> {
        let mut about = BTreeSet::new();
        let field = |name| node.child_by_field_name(name);
        let same = matches!(operator, "==" | "!=");
        let order = matches!(operator, "<" | ">" | "<=" | ">=");
        for (one, other, written) in [(left, right, field("right")), (right, left, field("left"))] {
            let known = match other.number {
                Some(Number::Is(n)) => Some(n),
                _ => None,
            };
            let seen = written.and_then(|w| character(self.word(w)));
            // Of a length, the most that it may be where it is the smaller one.
            let first = std::ptr::eq(one, left);
            let below = matches!((operator, first), ("<" | ">=", true) | (">" | "<=", false));
            let most = match (one.number, known) {
                (Some(Number::Length(_, more)), Some(n)) if same || order => {
                    Some(n.saturating_sub(more).saturating_sub(u64::from(below)))
                }
                _ => None,
            };
            for (origin, what) in &one.about {
                let found = match (*what, most, seen) {
                    // Whether there is anything.
                    (About::Length | About::StringLength, Some(0), _) => continue,
                    (About::Length | About::StringLength, Some(most), _) => About::Fits(most),
                    (About::Byte, _, Some(byte)) if same => About::Sees(byte),
                    (About::Byte, ..) => About::Content,
                    // A count, perhaps.
                    (About::Sees(_), ..) if order || (same && seen.is_none()) => About::Content,
                    (what, ..) => what,
                };
                about.insert((*origin, found));
            }
        }
        about
    }

    fn assignment(&mut self, node: Node<'a>) -> Value {
        let field = |name| node.child_by_field_name(name);
        let operator = field("operator").map_or("=", |o| o.kind());
        let mut value = self.value_of(field("right"));
        let Some(left) = field("left") else {
            return value;
        };
        if operator != "=" {
            let old = self.eval(left);
            value.about.extend(old.about.iter().copied());
            let about = std::mem::take(&mut value.about);
            value = Value {
                about,
                ..old.inside()
            };
        }
        let zero = field("right").is_some_and(|r| matches!(self.word(r), "0" | "'\\0'" | "NUL"));
        match left.kind() {
            "identifier" | "field_expression" => {
                if let Some(key) = self.key(left) {
                    self.put(key, value.clone());
                }
            }
            "subscript_expression" | "pointer_expression" => {
                let to = field("left").and_then(|l| l.child_by_field_name("argument"));
                let base = self.value_of(to);
                if zero {
                    // The text ends here at the latest.
                    let at = left
                        .child_by_field_name("index")
                        .and_then(|i| self.constant(i));
                    let at = match at {
                        Some(Number::Is(n)) if !base.behind => n,
                        _ => 0,
                    };
                    for text in &base.taints {
                        self.env.measure(text.origin, at);
                        self.env.cut.insert(text.origin, at);
                    }
                } else {
                    self.mended(&base);
                }
            }
            _ => drop(self.eval(left)),
        }
        value
    }

    /// A variable gets a value; that it gets this one tells of what was asked before.
    pub fn put(&mut self, key: String, mut value: Value) {
        value.about.extend(self.around.iter().flatten().copied());
        self.keep(&key, &value);
        self.vars().insert(key, value);
    }

    /// Keeps a value that outlives the action for the others, unless something has looked at it.
    fn keep(&mut self, key: &str, value: &Value) {
        let outlives = key.starts_with(['#', '@']);
        let stays = |t: &&Text| {
            !matches!(t.held, Held::Part | Held::Within)
                && !self.env.looked.contains_key(&t.origin)
                && !self.env.mended.contains(&t.origin)
        };
        let taints: BTreeSet<Text> = value.taints.iter().filter(stays).cloned().collect();
        if outlives && !taints.is_empty() {
            let kept = self.kept.entry(key.to_string()).or_default();
            kept.taints.extend(taints);
        }
    }

    /// Text is put into what a pointer points to: in place of what was there, or behind it.
    pub fn write(&mut self, to: &Value, taints: BTreeSet<Text>, replaces: bool) {
        let Some(place) = to.place.clone() else {
            return;
        };
        let mut value = match self.env.vars.get(&place) {
            // What was there may be much.
            Some(known) if replaces && !to.behind => Value {
                taints: BTreeSet::new(),
                about: known.about.clone(),
                place: known.place.clone(),
                ..*known
            },
            known => known.cloned().unwrap_or_default(),
        };
        value.taints.extend(taints);
        if place.starts_with('$') {
            value.place = Some(place.clone());
        }
        self.put(place, value);
    }

    /// A byte of it is another one: it is as long as it was.
    fn mended(&mut self, what: &Value) {
        for text in &what.taints {
            self.env.mended.insert(text.origin);
        }
        if let Some(place) = what.place.clone().filter(|_| !what.taints.is_empty()) {
            let mut value = self.load(&place);
            value.taints = copied(&value.taints);
            self.vars().insert(place, value);
        }
    }

    /// Something has changed what is there: it is not followed any further.
    pub fn changed(&mut self, what: &Value) {
        for text in &what.taints {
            self.env.look(text.origin, ANYTHING);
            self.env.measure(text.origin, 0);
        }
        if let Some(place) = &what.place {
            let part = place.starts_with('$');
            if part
                || self
                    .env
                    .vars
                    .get(place)
                    .is_some_and(|v| !v.taints.is_empty())
            {
                let value = self.vars().entry(place.clone()).or_default();
                value.taints.clear();
                value.place = part.then(|| place.clone()).or(value.place.take());
            }
        }
    }

    /// The key of the variable that an expression names.
    pub fn key(&mut self, node: Node<'a>) -> Option<String> {
        if !self.goes_on() {
            return None;
        }
        self.deeper(|walk| walk.named(node))
    }

    fn named(&mut self, node: Node<'a>) -> Option<String> {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "identifier" => match self.use_at(node).map(|u| &u.what) {
                Some(What::Part(n)) => Some(format!("${n}")),
                Some(What::Variable(_)) => Some(format!("#{}", self.word(node))),
                Some(_) => None,
                None => {
                    let word = self.word(node);
                    let scopes = &self.frames.last()?.scopes;
                    let local = scopes.iter().rev().find_map(|scope| scope.get(word));
                    Some(local.cloned().unwrap_or_else(|| format!("@{word}")))
                }
            },
            "parenthesized_expression" => self.key(*children(node).first()?),
            "cast_expression" => self.key(field("value")?),
            "field_expression" => {
                let of = field("argument")?;
                let base = match field("operator")?.kind() {
                    "." => self.key(of)?,
                    _ => self.eval(of).place?,
                };
                Some(format!("{base}.{}", self.word(field("field")?)))
            }
            "subscript_expression" => {
                let base = self.eval(field("argument")?).place?;
                let rows = format!("{base}[]");
                Some(if self.capacity(&rows).is_some() {
                    rows
                } else {
                    base
                })
            }
            "pointer_expression" => self.eval(field("argument")?).place,
            _ => None,
        }
    }

    /// The value of a variable.
    pub fn load(&self, key: &str) -> Value {
        let mut value = match self.env.vars.get(key) {
            Some(value) => value.clone(),
            None => match (
                key.strip_prefix('$').and_then(|n| n.parse().ok()),
                self.owner,
            ) {
                (Some(part), Owner::Rule(rule)) => {
                    Value::of(Origin::Part { rule, part }, Held::Part)
                }
                _ => Value::default(),
            },
        };
        match value.place.clone() {
            // What a pointer points to may have got something else meanwhile.
            Some(place) if place != key && self.env.vars.contains_key(&place) => {
                let mut there = Value {
                    taints: self.env.vars[&place].taints.clone(),
                    place: Some(place),
                    ..Value::default()
                };
                if value.behind {
                    there = there.inside();
                }
                there.about = value.about;
                there
            }
            Some(_) => value,
            None => {
                value.place = Some(key.to_string());
                value
            }
        }
    }

    /// The capacity of the array that a key names.
    pub fn capacity(&self, key: &str) -> Option<u64> {
        let member = || {
            let (_, name) = key.rsplit_once('.')?;
            self.common.buffers.member(name)
        };
        self.sizes.get(key).copied().or_else(member)
    }
}
