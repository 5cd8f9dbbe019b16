//! The statements of an action, in order, and what is known of variables behind each of them.
//!
//! Where ways meet, texts of both count, and of what was looked at only what was on both. Must not
//! know: expressions.

use super::common::Common;
use super::format::character;
use super::types::{Flow, Origin};
use super::values::{About, Env, Value};
use crate::action::{Use, What};
use crate::directives::Form;
use crate::library::children;
use crate::read::Read;
use crate::scope::{self, declared};
use crate::source::Owner;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use tree_sitter::Node;

/// Deeper nesting, and more steps, are not followed.
const DEPTH: usize = 100;
const STEPS: usize = 20_000;

/// Functions that give 0 for texts that are the same.
pub const COMPARE: [&str; 8] = [
    "strcmp",
    "strcasecmp",
    "strcoll",
    "strncmp",
    "strncasecmp",
    "memcmp",
    "bcmp",
    "fnmatch",
];

/// A body that is walked: the action's, or that of a function that it calls.
pub struct Frame<'a> {
    pub text: &'a str,
    /// In the action, its uses by place.
    pub uses: Option<&'a BTreeMap<usize, &'a Use>>,
    /// The function.
    pub name: &'a str,
    pub number: usize,
    /// Keys of names, by scopes.
    pub scopes: Vec<BTreeMap<&'a str, String>>,
    /// What it gives, and what is known where it ends.
    pub gives: Value,
    pub ends: Env,
    /// What stands for `...`.
    pub rest: Value,
    breaks: Vec<Env>,
    continues: Vec<Env>,
    /// For each switch, what comes to its labels, and whether one is the default.
    cases: Vec<(Env, bool)>,
    labels: BTreeMap<&'a str, Env>,
}

/// What a condition asks.
#[derive(Clone)]
pub struct Condition {
    pub value: Value,
    /// Where a text equals another one: where it holds, or where it does not.
    pub equal: Option<bool>,
}

/// A call of a function of the specification.
pub struct Site {
    pub call: Range<usize>,
    pub args: Vec<(Range<usize>, Value)>,
}

/// An argument of a call.
pub struct Given<'a> {
    pub node: Node<'a>,
    pub value: Value,
}

pub struct Walk<'a, 'p> {
    pub owner: Owner,
    pub common: &'a Common<'a, 'p>,
    pub env: Env,
    pub frames: Vec<Frame<'a>>,
    pub sizes: BTreeMap<String, u64>,
    /// In the action: the function that it calls.
    pub site: Option<Site>,
    /// What was found, and where in the action.
    pub found: Vec<(Range<usize>, Flow)>,
    /// What is put into variables that outlive the action.
    pub kept: BTreeMap<String, Value>,
    /// Parts that are looked through for a NUL.
    pub checked: BTreeSet<Origin>,
    /// What the conditions around a place have asked.
    pub around: Vec<BTreeSet<(Origin, About)>>,
    /// Texts whose content any condition has looked at, and whose length.
    pub tested: BTreeSet<(Origin, About)>,
    pub calls: usize,
    /// Loops around a place.
    turns: usize,
    steps: usize,
    depth: usize,
}

impl<'a, 'p> Walk<'a, 'p> {
    pub fn new(
        owner: Owner,
        common: &'a Common<'a, 'p>,
        vars: Rc<BTreeMap<String, Value>>,
    ) -> Walk<'a, 'p> {
        Walk {
            owner,
            common,
            env: Env {
                vars,
                ..Env::default()
            },
            frames: Vec::new(),
            sizes: common.sizes.clone(),
            site: None,
            found: Vec::new(),
            kept: BTreeMap::new(),
            checked: BTreeSet::new(),
            around: Vec::new(),
            tested: BTreeSet::new(),
            calls: 0,
            turns: 0,
            steps: 0,
            depth: 0,
        }
    }

    /// An action that the parser understood.
    pub fn action(&mut self, read: &'a Read<'a>) {
        if let Some(body) = read.body() {
            self.enter(read.text, Some(&read.uses), "", Vec::new());
            self.run(body);
            self.frames.pop();
        }
    }

    pub fn enter(
        &mut self,
        text: &'a str,
        uses: Option<&'a BTreeMap<usize, &'a Use>>,
        name: &'a str,
        parameters: Vec<(Option<&'a str>, Value)>,
    ) {
        self.calls += 1;
        let number = self.calls;
        let mut scope = BTreeMap::new();
        for (n, (name, value)) in parameters.into_iter().enumerate() {
            if let Some(name) = name {
                let key = format!("{number}:{n}");
                self.vars().insert(key.clone(), value);
                scope.insert(name, key);
            }
        }
        self.frames.push(Frame {
            text,
            uses,
            name,
            number,
            scopes: vec![scope],
            gives: Value::default(),
            ends: Env::nowhere(),
            rest: Value::default(),
            breaks: Vec::new(),
            continues: Vec::new(),
            cases: Vec::new(),
            labels: BTreeMap::new(),
        });
    }

    pub fn frame(&mut self) -> &mut Frame<'a> {
        self.frames.last_mut().expect("a body is being walked")
    }

    pub fn word(&self, node: Node<'a>) -> &'a str {
        let text = self.frames.last().map_or("", |frame| frame.text);
        &text[node.byte_range()]
    }

    /// What nest put in the place of this name, in the action.
    pub fn use_at(&self, node: Node<'a>) -> Option<&'a Use> {
        let at = node.start_byte().checked_sub(scope::BODY.len())?;
        self.frames.last()?.uses?.get(&at).copied()
    }

    /// Whether to go on, one level deeper.
    pub fn goes_on(&mut self) -> bool {
        self.steps += 1;
        self.spend(1);
        let left = self.common.work.get() > 0 && self.steps < STEPS;
        self.depth < DEPTH && left && !self.env.dead
    }

    fn spend(&self, work: usize) {
        let left = self.common.work.get();
        self.common.work.set(left.saturating_sub(work));
    }

    /// All variables, to be changed: a copy, if another way has them, too.
    pub fn vars(&mut self) -> &mut BTreeMap<String, Value> {
        if Rc::strong_count(&self.env.vars) > 1 {
            self.spend(self.env.vars.len());
        }
        Rc::make_mut(&mut self.env.vars)
    }

    pub fn deeper<T>(&mut self, what: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let done = what(self);
        self.depth -= 1;
        done
    }

    /// A statement.
    pub fn run(&mut self, node: Node<'a>) {
        if self.goes_on() || node.kind() == "labeled_statement" || node.kind() == "case_statement" {
            self.deeper(|walk| walk.statement(node));
        }
    }

    fn all(&mut self, nodes: Vec<Node<'a>>) {
        for node in nodes {
            self.run(node);
        }
    }

    fn optional(&mut self, node: Option<Node<'a>>) {
        if let Some(node) = node {
            self.run(node);
        }
    }

    fn leave(&mut self) -> Env {
        std::mem::replace(&mut self.env, Env::nowhere())
    }

    fn meet(&mut self, other: Env) {
        if !Rc::ptr_eq(&self.env.vars, &other.vars) {
            self.spend(other.vars.len());
        }
        let env = self.leave();
        self.env = env.join(other);
    }

    fn statement(&mut self, node: Node<'a>) {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "compound_statement" => {
                self.frame().scopes.push(BTreeMap::new());
                self.all(children(node));
                self.frame().scopes.pop();
            }
            "if_statement" => {
                let before = self.env.clone();
                self.condition(field("condition"), |walk, tested| {
                    let other = walk.under(&tested, true);
                    walk.optional(field("consequence"));
                    let yes = std::mem::replace(&mut walk.env, other);
                    walk.under(&tested, false);
                    walk.optional(field("alternative"));
                    walk.behind_choice(before, yes);
                });
            }
            "while_statement" | "for_statement" => {
                self.frame().scopes.push(BTreeMap::new());
                self.optional(field("initializer"));
                self.repeat(field("condition"), field("body"), field("update"));
                self.frame().scopes.pop();
            }
            "do_statement" => self.repeat(field("condition"), field("body"), None),
            "switch_statement" => {
                self.condition(field("condition"), |walk, tested| {
                    walk.switched(&tested, field("body"));
                    let entry = walk.leave();
                    walk.frame().cases.push((entry, false));
                    walk.frame().breaks.push(Env::nowhere());
                    if let Some(body) = field("body") {
                        walk.statement(body);
                    }
                });
                let out = self.frame().breaks.pop().unwrap_or_default();
                self.meet(out);
                if let Some((entry, false)) = self.frame().cases.pop() {
                    self.meet(entry);
                }
            }
            "case_statement" => {
                let value = field("value");
                if let Some((entry, default)) = self.frame().cases.last_mut() {
                    *default |= value.is_none();
                    let entry = entry.clone();
                    self.meet(entry);
                }
                let rest = children(node).into_iter();
                self.all(
                    rest.filter(|c| value.is_none_or(|v| v.id() != c.id()))
                        .collect(),
                );
            }
            "break_statement" => {
                let env = self.leave();
                if let Some(to) = self.frame().breaks.last_mut() {
                    *to = std::mem::take(to).join(env);
                }
            }
            "continue_statement" => {
                let env = self.leave();
                if let Some(to) = self.frame().continues.last_mut() {
                    *to = std::mem::take(to).join(env);
                }
            }
            "return_statement" => {
                let given = children(node).into_iter().map(|n| self.eval(n)).next();
                self.returned(given.unwrap_or_default());
            }
            "goto_statement" => {
                let env = self.leave();
                if let Some(label) = field("label").map(|l| self.word(l)) {
                    let to = self
                        .frame()
                        .labels
                        .entry(label)
                        .or_insert_with(Env::nowhere);
                    *to = std::mem::take(to).join(env);
                }
            }
            "labeled_statement" => {
                let Some(label) = field("label") else { return };
                let word = self.word(label);
                if let Some(env) = self.frame().labels.get(word).cloned() {
                    self.meet(env);
                }
                let rest = children(node).into_iter();
                self.all(rest.filter(|c| c.id() != label.id()).collect());
            }
            "preproc_if" | "preproc_ifdef" | "preproc_elif" | "preproc_elifdef" => {
                let heads = [field("name"), field("condition"), field("alternative")];
                let head = |c: &Node<'_>| heads.iter().flatten().any(|h| h.id() == c.id());
                let before = self.env.clone();
                self.all(children(node).into_iter().filter(|c| !head(c)).collect());
                let yes = std::mem::replace(&mut self.env, before);
                self.optional(field("alternative"));
                self.meet(yes);
            }
            "else_clause" | "preproc_else" | "attributed_statement" => self.all(children(node)),
            "declaration" => self.declaration(node),
            "expression_statement" => {
                for child in children(node) {
                    let u = self.use_at(child).map(|u| &u.what);
                    let is_return = matches!(u, Some(What::Directive { directive, .. }) if directive.form == Form::Return);
                    if is_return {
                        self.returned(Value::default());
                    } else {
                        self.eval(child);
                    }
                }
            }
            kind if kind.starts_with("preproc_") => {}
            "ERROR" | "function_definition" | "type_definition" => {}
            _ => drop(self.eval(node)),
        }
    }

    fn returned(&mut self, value: Value) {
        let env = self.leave();
        let frame = self.frame();
        frame.gives = std::mem::take(&mut frame.gives).join(value);
        frame.ends = std::mem::take(&mut frame.ends).join(env);
    }

    /// A condition, and what stands under it.
    fn condition(&mut self, node: Option<Node<'a>>, under: impl FnOnce(&mut Self, Condition)) {
        let (value, equal) = self.decides(node);
        self.around.push(value.about.clone());
        under(self, Condition { value, equal });
        self.around.pop();
    }

    /// The value of a condition, and where it is known that a text equals another one.
    pub fn decides(&mut self, node: Option<Node<'a>>) -> (Value, Option<bool>) {
        let mut value = node.map(|node| self.eval(node)).unwrap_or_default();
        value.about = value
            .about
            .into_iter()
            .map(|(origin, about)| match about {
                About::Byte => (origin, About::Sees(0)),
                about => (origin, about),
            })
            .collect();
        // A turn of a loop that decides about each byte knows the text.
        if self.turns > 0 {
            let sees =
                |a: About| matches!(a, About::Sees(byte) if !matches!(byte, 0 | b' ' | b'\t'));
            let all = value.about.iter().filter(|(_, a)| sees(*a));
            let all: Vec<Origin> = all.map(|(origin, _)| *origin).collect();
            value
                .about
                .extend(all.into_iter().map(|origin| (origin, About::Content)));
        }
        let equal = node.and_then(|node| self.equal(node));
        (value, equal)
    }

    /// Takes what a condition has found out into account where it holds, or does not; what was known
    /// before.
    pub fn under(&mut self, tested: &Condition, holds: bool) -> Env {
        let before = self.env.clone();
        let equal = tested.equal.is_none_or(|equal| equal == holds);
        self.env.tested(&tested.value, equal);
        self.tested.extend(tested.value.about.iter().copied());
        before
    }

    /// A condition on a value holds, or does not.
    pub fn assume(&mut self, value: Value, equal: Option<bool>) {
        self.under(&Condition { value, equal }, true);
    }

    /// Whether a text equals another one where this holds (true) or does not (false); nothing if
    /// neither can be told.
    fn equal(&mut self, node: Node<'a>) -> Option<bool> {
        let field = |name| node.child_by_field_name(name);
        let operator = field("operator").map_or("", |o| o.kind());
        match node.kind() {
            "parenthesized_expression" => self.equal(*children(node).first()?),
            "call_expression" => {
                let name = self.word(field("function")?);
                COMPARE.contains(&name).then_some(false)
            }
            "unary_expression" if operator == "!" => Some(!self.equal(field("argument")?)?),
            "binary_expression" => {
                let (left, right) = (field("left")?, field("right")?);
                if matches!(operator, "==" | "!=") && self.word(right) == "0" {
                    return Some(self.equal(left)? == (operator == "!="));
                }
                let (left, right) = (self.equal(left), self.equal(right));
                match operator {
                    "&&" if left == Some(true) || right == Some(true) => Some(true),
                    "||" if left == Some(false) || right == Some(false) => Some(false),
                    "&&" | "||" if left == right => left,
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The bytes that labels of a switch name.
    fn switched(&mut self, tested: &Condition, body: Option<Node<'a>>) {
        let mut value = tested.value.clone();
        let byte: Vec<Origin> = value
            .about
            .iter()
            .filter(|(_, a)| *a == About::Sees(0))
            .map(|(o, _)| *o)
            .collect();
        let labels = body.map(children).unwrap_or_default();
        let labels = labels.into_iter().filter(|n| n.kind() == "case_statement");
        let labels: Vec<Node<'a>> = labels
            .filter_map(|n| n.child_by_field_name("value"))
            .collect();
        for origin in byte {
            for label in &labels {
                let seen = match character(self.word(*label)) {
                    Some(byte) if self.turns == 0 => About::Sees(byte),
                    _ => About::Content,
                };
                value.about.insert((origin, seen));
            }
        }
        if let Some(around) = self.around.last_mut() {
            around.extend(value.about.iter().copied());
        }
        self.assume(value, None);
    }

    /// Behind a choice: what was asked is known only where one of the ways has left, or where the
    /// text is cut off if it is too long.
    pub fn behind_choice(&mut self, before: Env, yes: Env) {
        let both = !self.env.dead && !yes.dead;
        let mut cut = before.measured.clone();
        for (one, other) in [(&yes, &self.env), (&self.env, &yes)] {
            for (origin, at) in &one.cut {
                if let Some(bound) = other.measured.get(origin) {
                    cut.insert(*origin, *at.max(bound));
                }
            }
        }
        self.meet(yes);
        if both {
            self.env.looked = before.looked;
            self.env.measured = cut;
        }
    }

    fn repeat(
        &mut self,
        condition: Option<Node<'a>>,
        body: Option<Node<'a>>,
        update: Option<Node<'a>>,
    ) {
        self.frame().breaks.push(Env::nowhere());
        for _ in 0..2 {
            let before = self.env.clone();
            self.turn(condition, |walk| {
                walk.frame().continues.push(Env::nowhere());
                walk.turns += 1;
                walk.optional(body);
                walk.turns -= 1;
                let next = walk.frame().continues.pop().unwrap_or_default();
                walk.meet(next);
                walk.optional(update);
            });
            // What each turn looks at was looked at behind the loop.
            let (looked, measured) = (self.env.looked.clone(), self.env.measured.clone());
            self.meet(before);
            for (origin, looks) in looked {
                self.env.look(origin, looks);
            }
            for (origin, most) in measured {
                self.env.measure(origin, most);
            }
        }
        self.turn(condition, |_| {});
        let out = self.frame().breaks.pop().unwrap_or_default();
        self.meet(out);
    }

    /// A loop's condition; how far it counts is no look at a length.
    fn turn(&mut self, condition: Option<Node<'a>>, under: impl FnOnce(&mut Self)) {
        self.turns += 1;
        let (mut value, _) = self.decides(condition);
        self.turns -= 1;
        value
            .about
            .retain(|(_, a)| !matches!(a, About::Length | About::StringLength));
        self.around.push(value.about.clone());
        self.assume(value, None);
        under(self);
        self.around.pop();
    }

    fn declaration(&mut self, node: Node<'a>) {
        let text = self.frames.last().map_or("", |frame| frame.text);
        let arrays = self.common.buffers.declared(text, node);
        let mut cursor = node.walk();
        let all: Vec<Node<'a>> = node
            .children_by_field_name("declarator", &mut cursor)
            .collect();
        for declarator in all {
            let Some(name) = declared(initialised(declarator)) else {
                continue;
            };
            let value = declarator.child_by_field_name("value");
            let value = value.map(|v| self.eval(v)).unwrap_or_default();
            let word = self.word(name);
            let number = self.frame().number;
            let key = format!("{number}:{}", name.start_byte());
            if let Some(buffer) = arrays.iter().find(|buffer| buffer.name == word) {
                let rows = if buffer.many { "[]" } else { "" };
                self.sizes.insert(format!("{key}{rows}"), buffer.bytes);
            }
            self.vars().insert(key.clone(), value);
            if let Some(scope) = self.frame().scopes.last_mut() {
                scope.insert(word, key);
            }
        }
    }
}

fn initialised(declarator: Node<'_>) -> Node<'_> {
    match declarator.kind() {
        "init_declarator" => declarator.child_by_field_name("declarator"),
        _ => None,
    }
    .unwrap_or(declarator)
}
