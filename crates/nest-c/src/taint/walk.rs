//! The domain of texts: what is known of variables at each place of an action.
//!
//! Where paths meet, the texts of both count, and of what was looked at only what both have looked
//! at. Must not know: the order of statements, expressions.

use super::common::Common;
use super::format::character;
use super::types::{Flow, Origin};
use super::values::{About, Env, Value};
use crate::action::{Use, What};
use crate::directives::Form;
use crate::flow::{self, Domain, Jumps};
use crate::library::children;
use crate::read::Read;
use crate::scope::{self, declared};
use crate::source::Owner;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::Range;
use std::rc::Rc;
use tree_sitter::Node;

/// Deeper nesting, and more steps, are not followed.
const DEPTH: usize = 100;
const STEPS: usize = 20_000;

/// Turns of a loop that are followed.
const TURNS: usize = 2;

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
    /// What it returns, and what is known where it does.
    pub gives: Value,
    pub jumps: Jumps<Env>,
    /// What stands for `...`.
    pub rest: Value,
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

impl<'a> Domain<'a> for Walk<'a, '_> {
    type State = Env;
    type Test = Condition;
    type Stop = Infallible;

    fn nowhere() -> Env {
        Env::nowhere()
    }

    fn join(to: &mut Env, from: Env) {
        *to = std::mem::take(to).join(from);
    }

    fn state(&mut self) -> &mut Env {
        &mut self.env
    }

    fn jumps(&mut self) -> &mut Jumps<Env> {
        &mut self.frame().jumps
    }

    fn text(&self, node: Node<'a>) -> &str {
        self.word(node)
    }

    fn descend(&mut self, node: Node<'a>) -> Result<bool, Infallible> {
        // A jump may lead to a label behind the end of all paths.
        let label = matches!(node.kind(), "labeled_statement" | "case_statement");
        let follows = self.goes_on() || label;
        self.depth += 1;
        Ok(follows)
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }

    fn simple(&mut self, node: Node<'a>) -> Result<(), Infallible> {
        match node.kind() {
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
            _ => drop(self.eval(node)),
        }
        Ok(())
    }

    fn give(&mut self, value: Option<Node<'a>>) -> Result<(), Infallible> {
        let value = value.map(|node| self.eval(node)).unwrap_or_default();
        let frame = self.frame();
        frame.gives = std::mem::take(&mut frame.gives).join(value);
        Ok(())
    }

    fn test(&mut self, condition: Option<Node<'a>>, turn: bool) -> Result<Condition, Infallible> {
        if !turn {
            let (value, equal) = self.decides(condition);
            return Ok(Condition { value, equal });
        }
        self.turns += 1;
        let (mut value, _) = self.decides(condition);
        self.turns -= 1;
        // How far a loop counts is no look at a length.
        value
            .about
            .retain(|(_, a)| !matches!(a, About::Length | About::StringLength));
        Ok(Condition { value, equal: None })
    }

    fn assume(&mut self, test: &Condition, holds: bool) {
        self.under(test, holds);
    }

    fn select(
        &mut self,
        condition: Option<Node<'a>>,
        body: Option<Node<'a>>,
    ) -> Result<Condition, Infallible> {
        let (value, _) = self.decides(condition);
        let mut test = Condition { value, equal: None };
        self.labels(&mut test.value, body);
        self.under(&test, true);
        Ok(test)
    }

    fn settled(&mut self, entry: Env, turns: usize) -> bool {
        // What each turn looks at was looked at behind the loop.
        let (looked, measured) = (self.env.looked.clone(), self.env.measured.clone());
        self.meet(entry);
        for (origin, looks) in looked {
            self.env.look(origin, looks);
        }
        for (origin, most) in measured {
            self.env.measure(origin, most);
        }
        turns + 1 == TURNS
    }

    fn leave_loop(&mut self, condition: Option<Node<'a>>, _: Condition) -> Result<(), Infallible> {
        let test = self.test(condition, true)?;
        self.under(&test, true);
        Ok(())
    }

    fn unclear(&mut self) -> Result<(), Infallible> {
        Ok(())
    }

    fn meet(&mut self, other: Env) {
        if !Rc::ptr_eq(&self.env.vars, &other.vars) {
            self.spend(other.vars.len());
        }
        Walk::join(&mut self.env, other);
    }

    /// Behind a choice, what its condition found out is known only if one of the branches has left, or
    /// if the text is cut off where it is too long.
    fn behind_choice(&mut self, before: Env, yes: Env) {
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

    fn enter_test(&mut self, test: &Condition) {
        self.around.push(test.value.about.clone());
    }

    fn leave_test(&mut self) {
        self.around.pop();
    }

    fn enter_body(&mut self) {
        self.turns += 1;
    }

    fn leave_body(&mut self) {
        self.turns -= 1;
    }

    fn open_scope(&mut self) {
        self.frame().scopes.push(BTreeMap::new());
    }

    fn close_scope(&mut self) {
        self.frame().scopes.pop();
    }
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
            jumps: Jumps::new(Env::nowhere()),
            rest: Value::default(),
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

    /// All variables, to be changed; they are copied if another path shares them.
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
        let Ok(()) = flow::run(self, node);
    }

    fn returned(&mut self, value: Value) {
        let frame = self.frame();
        frame.gives = std::mem::take(&mut frame.gives).join(value);
        flow::leave(self);
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

    /// Whether a text equals another one where this holds (true) or does not (false); nothing if
    /// neither is known.
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

    /// Adds the bytes that labels of a switch name to what its value tells.
    fn labels(&self, value: &mut Value, body: Option<Node<'a>>) {
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
