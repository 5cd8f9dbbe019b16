//! The domain of states: the paths through a piece of C, and what calls and conditions do to them.
//!
//! A body that cannot be followed is given up ([`Stop`]); the caller then falls back on the words of
//! the text. A condition that tests a state splits the paths, any other may hold or not. Must not
//! know: rules, the order of statements.

use super::lexical::is_member;
use super::paths::{Path, Paths};
use super::table::{Key, Table};
use super::text::{Stop, Text, all, directive};
use crate::action::{ArgKind, Use, What};
use crate::directives::{self, Directive, Does, Form, SELF, States};
use crate::flow::{self, Domain, Jumps};
use crate::library::{Library, children};
use std::collections::BTreeSet;
use tree_sitter::Node;

/// Deeper nesting, and more steps, are given up.
const DEPTH: usize = 120;
const STEPS: usize = 200_000;

/// The paths through a body, from its beginning to its end or a `return`.
pub fn paths(
    body: Node<'_>,
    text: Text<'_>,
    library: &Library<'_>,
    table: &mut Table,
) -> Result<Paths, Stop> {
    let mut walk = Walk {
        text,
        library,
        table,
        state: Paths::none(),
        jumps: Jumps::new(Paths::none()),
        visited: BTreeSet::new(),
        depth: 0,
        steps: 0,
    };
    // What comes to a label from below is known in the next round.
    loop {
        let before = walk.jumps.labels.clone();
        walk.jumps.returns = Paths::none();
        let end = walk.run(body, Paths::one(Path::NOTHING))?;
        if walk.jumps.labels == before {
            walk.jumps.returns.join(end);
            break;
        }
    }
    // What the parser took for something else was not seen.
    let seen = |at: usize| walk.visited.contains(&at);
    let (returns, wanted) = (walk.jumps.returns.clone(), interesting(body, &text));
    if wanted.into_iter().all(seen) {
        Ok(returns)
    } else {
        Err(Stop::Unclear)
    }
}

/// Places of the words that the walk must have met.
fn interesting(body: Node<'_>, text: &Text<'_>) -> Vec<usize> {
    let directives = text.uses.iter().filter(|(_, u)| match &u.what {
        What::Directive { directive, .. } => {
            let does = &directive.does;
            does.changes() || does.states == States::HandsOn || directive.form == Form::Return
        }
        _ => false,
    });
    let mut places: Vec<usize> = directives.map(|(at, _)| at + text.shift).collect();
    let from = body.start_byte();
    let inside = &text.text[body.byte_range()];
    let tokens = crate::lexer::tokens(inside);
    for (i, token) in tokens.iter().enumerate() {
        let word = &inside[token.at.clone()];
        let wanted = directives::does(word).changes() || text.sessions.contains(word);
        if wanted && !is_member(&tokens, i, inside) {
            places.push(from + token.at.start);
        }
    }
    places
}

struct Walk<'a, 'p> {
    text: Text<'a>,
    library: &'a Library<'p>,
    table: &'a mut Table,
    /// The paths that lead to the current place.
    state: Paths,
    jumps: Jumps<Paths>,
    visited: BTreeSet<usize>,
    depth: usize,
    steps: usize,
}

type Outcome = Result<Paths, Stop>;

/// What a condition finds out: the paths on which it holds, and the others.
struct Test {
    yes: Paths,
    no: Paths,
}

impl<'t> Domain<'t> for Walk<'_, '_> {
    type State = Paths;
    type Test = Test;
    type Stop = Stop;

    fn nowhere() -> Paths {
        Paths::none()
    }

    fn join(to: &mut Paths, from: Paths) {
        to.join(from);
    }

    fn state(&mut self) -> &mut Paths {
        &mut self.state
    }

    fn jumps(&mut self) -> &mut Jumps<Paths> {
        &mut self.jumps
    }

    fn text(&self, node: Node<'t>) -> &str {
        self.word(node)
    }

    fn descend(&mut self, _: Node<'t>) -> Result<bool, Stop> {
        self.steps += 1 + self.state.len();
        if self.depth >= DEPTH || self.steps > STEPS {
            return Err(Stop::Unclear);
        }
        self.depth += 1;
        Ok(true)
    }

    fn ascend(&mut self) {
        self.depth -= 1;
    }

    fn simple(&mut self, node: Node<'t>) -> Result<(), Stop> {
        let from = std::mem::take(&mut self.state);
        self.state = match node.kind() {
            "declaration" | "expression_statement" | "init_declarator" => {
                self.all(children(node), from)?
            }
            _ => self.expression(node, from)?,
        };
        Ok(())
    }

    fn give(&mut self, value: Option<Node<'t>>) -> Result<(), Stop> {
        value.map_or(Ok(()), |value| flow::run(self, value))
    }

    fn test(&mut self, condition: Option<Node<'t>>, _: bool) -> Result<Test, Stop> {
        let from = std::mem::take(&mut self.state);
        let (yes, no) = match condition {
            Some(_) => self.condition(condition, from)?,
            None => (from, Paths::none()),
        };
        Ok(Test { yes, no })
    }

    fn assume(&mut self, test: &Test, holds: bool) {
        self.state
            .clone_from(if holds { &test.yes } else { &test.no });
    }

    fn select(&mut self, condition: Option<Node<'t>>, _: Option<Node<'t>>) -> Result<Test, Stop> {
        if let Some(condition) = condition {
            flow::run(self, condition)?;
        }
        Ok(Test {
            yes: Paths::none(),
            no: Paths::none(),
        })
    }

    fn settled(&mut self, entry: Paths, _: usize) -> bool {
        let turn = std::mem::replace(&mut self.state, entry.clone());
        self.state.join(turn);
        self.state == entry
    }

    fn leave_loop(&mut self, _: Option<Node<'t>>, test: Test) -> Result<(), Stop> {
        self.state = test.no;
        Ok(())
    }

    fn unclear(&mut self) -> Result<(), Stop> {
        Err(Stop::Unclear)
    }
}

impl Walk<'_, '_> {
    fn word(&self, node: Node<'_>) -> &str {
        &self.text.text[node.byte_range()]
    }

    /// A statement or an expression, reached by the paths `from`.
    fn run(&mut self, node: Node<'_>, from: Paths) -> Outcome {
        let around = std::mem::replace(&mut self.state, from);
        flow::run(self, node)?;
        Ok(std::mem::replace(&mut self.state, around))
    }

    fn all(&mut self, nodes: Vec<Node<'_>>, from: Paths) -> Outcome {
        nodes.into_iter().try_fold(from, |now, n| self.run(n, now))
    }

    fn optional(&mut self, node: Option<Node<'_>>, from: Paths) -> Outcome {
        match node {
            Some(node) => self.run(node, from),
            None => Ok(from),
        }
    }

    /// A condition: the paths on which it holds, and the others.
    fn condition(&mut self, node: Option<Node<'_>>, from: Paths) -> Result<(Paths, Paths), Stop> {
        let Some(node) = node else {
            return Ok((from.clone(), from));
        };
        self.steps += 1 + from.len();
        if self.depth >= DEPTH || self.steps > STEPS {
            return Err(Stop::Unclear);
        }
        self.depth += 1;
        let sides = self.sides(node, from);
        self.depth -= 1;
        sides
    }

    fn sides(&mut self, node: Node<'_>, from: Paths) -> Result<(Paths, Paths), Stop> {
        let field = |name| node.child_by_field_name(name);
        let operator = field("operator").map_or("", |o| o.kind());
        match (node.kind(), operator) {
            ("parenthesized_expression", _) => {
                let inner = children(node);
                if let [inner] = inner.as_slice() {
                    return self.condition(Some(*inner), from);
                }
            }
            ("unary_expression", "!") => {
                let (yes, no) = self.condition(field("argument"), from)?;
                return Ok((no, yes));
            }
            ("binary_expression", "&&") => {
                let (yes, mut no) = self.condition(field("left"), from)?;
                let (yes, more) = self.condition(field("right"), yes)?;
                no.join(more);
                return Ok((yes, no));
            }
            ("binary_expression", "||") => {
                let (mut yes, no) = self.condition(field("left"), from)?;
                let (more, no) = self.condition(field("right"), no)?;
                yes.join(more);
                return Ok((yes, no));
            }
            ("comma_expression", _) => {
                let from = self.optional(field("left"), from)?;
                return self.condition(field("right"), from);
            }
            ("true", _) => return Ok((from, Paths::none())),
            ("false", _) => return Ok((Paths::none(), from)),
            ("number_literal", _) => {
                return Ok(match self.word(node).parse::<u64>() {
                    Ok(0) => (Paths::none(), from),
                    Ok(_) => (from, Paths::none()),
                    Err(_) => (from.clone(), from),
                });
            }
            ("call_expression", _) => {
                if let Some((state, last)) = self.tested_state(node) {
                    return Ok(if last {
                        from.split_last(state)
                    } else {
                        from.split(state)
                    });
                }
            }
            _ => {}
        }
        let to = self.run(node, from)?;
        Ok((to.clone(), to))
    }

    /// The state that a call tests, and whether it tests the one that was marked last.
    fn tested_state(&mut self, node: Node<'_>) -> Option<(u64, bool)> {
        let function = node.child_by_field_name("function")?;
        let at = function.start_byte().checked_sub(self.text.shift)?;
        if let Some(Use {
            what:
                What::Directive {
                    directive,
                    call: Some(call),
                },
            ..
        }) = self.text.uses.get(&at)
        {
            let ArgKind::State(n) = call.args.first()?.kind else {
                return None;
            };
            return match directive.does.states {
                States::Tests => Some((1 << n, false)),
                States::TestsLast => Some((1 << n, true)),
                _ => None,
            };
        }
        if directives::does(self.word(function)).states != States::Tests {
            return None;
        }
        let args = children(node.child_by_field_name("arguments")?);
        let [session, state] = args.as_slice() else {
            return None;
        };
        let state = self.text.state(self.word(*state))?;
        self.is_session(*session).then_some((state, false))
    }

    /// Whether it is the session, and nothing else.
    fn is_session(&mut self, node: Node<'_>) -> bool {
        let at = node.start_byte();
        let is = match node.kind() {
            "parenthesized_expression" => {
                return matches!(children(node).as_slice(), [inner] if self.is_session(*inner));
            }
            "identifier" => self.hands_on(at) || self.names_session(node),
            _ => false,
        };
        if is {
            self.visited.insert(at);
        }
        is
    }

    fn names_session(&self, node: Node<'_>) -> bool {
        self.text.sessions.contains(self.word(node))
    }

    /// The directive at a place.
    fn use_at(&self, at: usize) -> Option<&'static Directive> {
        let u = self.text.uses.get(&at.checked_sub(self.text.shift)?)?;
        match &u.what {
            What::Directive { directive, .. } => Some(directive),
            _ => None,
        }
    }

    fn hands_on(&self, at: usize) -> bool {
        let directive = self.use_at(at);
        directive.is_some_and(|d| d.does.states == States::HandsOn)
    }

    fn expression(&mut self, node: Node<'_>, from: Paths) -> Outcome {
        let field = |name| node.child_by_field_name(name);
        let operator = field("operator").map_or("", |o| o.kind());
        match (node.kind(), operator) {
            ("identifier", _) => self.name(node, from),
            ("call_expression", _) => self.call(node, from),
            ("conditional_expression", _) => {
                let (yes, no) = self.condition(field("condition"), from)?;
                let mut to = self.optional(field("consequence"), yes)?;
                to.join(self.optional(field("alternative"), no)?);
                Ok(to)
            }
            ("binary_expression", "&&" | "||") => {
                let (mut yes, no) = self.sides(node, from)?;
                yes.join(no);
                Ok(yes)
            }
            ("comma_expression", _) => self.all(children(node), from),
            _ => self.unordered(children(node), from),
        }
    }

    /// Parts of an expression, which C may evaluate in any order.
    fn unordered(&mut self, parts: Vec<Node<'_>>, from: Paths) -> Outcome {
        let (mut now, mut changes) = (from, 0);
        for part in parts {
            let to = self.run(part, now.clone())?;
            changes += usize::from(to != now);
            now = to;
        }
        if changes > 1 {
            return Err(Stop::Unclear);
        }
        Ok(now)
    }

    fn name(&mut self, node: Node<'_>, from: Paths) -> Outcome {
        let word = self.word(node);
        if self
            .use_at(node.start_byte())
            .is_some_and(|d| d.form == Form::Return)
        {
            self.visited.insert(node.start_byte());
            self.jumps.returns.join(from);
            return Ok(Paths::none());
        }
        let session = self.hands_on(node.start_byte()) || self.names_session(node);
        if session || word == SELF || self.library.macros.get(word) == Some(&true) {
            return Err(Stop::Anything);
        }
        Ok(from)
    }

    fn call(&mut self, node: Node<'_>, from: Paths) -> Outcome {
        let (Some(function), Some(arguments)) = (
            node.child_by_field_name("function"),
            node.child_by_field_name("arguments"),
        ) else {
            return Err(Stop::Unclear);
        };
        if function.kind() != "identifier" {
            return self.unordered(vec![function, arguments], from);
        }
        let at = function.start_byte();
        if let Some(u) = self
            .text
            .uses
            .get(&at.wrapping_sub(self.text.shift))
            .copied()
        {
            return self.use_of(u, at, arguments, from);
        }
        let mut given = Vec::new();
        let mut others = Vec::new();
        for (i, arg) in children(arguments).into_iter().enumerate() {
            if self.is_session(arg) {
                given.push(i);
            } else {
                others.push(arg);
            }
        }
        let name = self.word(function).to_string();
        let does = directives::does(&name);
        if does.changes() {
            self.visited.insert(at);
            if given != [0] {
                return Err(Stop::Anything);
            }
            let argument = others.first().map(|a| self.word(*a));
            let done = self.change(does, argument);
            return Ok(self.unordered(others, from)?.then(&done));
        }
        let plain = self.unordered(others, from.clone())?;
        if let Some(more) = self.library.macros.get(name.as_str()) {
            let known = !more && given.is_empty();
            return if known {
                Ok(plain)
            } else {
                Err(Stop::Anything)
            };
        }
        if self.library.functions.contains_key(name.as_str()) {
            if given.is_empty() {
                return Ok(plain);
            }
            let done = self.table.get(&Key { name, given }).ok_or(Stop::Anything)?;
            let idle = done == Paths::one(Path::NOTHING);
            if plain != from && !idle {
                return Err(Stop::Unclear);
            }
            return Ok(if idle { plain } else { plain.and_then(&done) });
        }
        let ours = name.starts_with("nest_");
        if self.text.reads(does) {
            return Err(Stop::Anything);
        }
        if given == [0] && self.text.ends(does) {
            return Ok(plain.then(&Path::closing()));
        }
        if !given.is_empty() && (!ours || given != [0]) {
            return Err(Stop::Anything);
        }
        if self.library.may_leave && !ours {
            self.jumps.returns.join(plain.clone());
        }
        Ok(plain)
    }

    /// What a function of `nest.h` does.
    fn change(&self, does: &Does, argument: Option<&str>) -> Path {
        let all = all(self.text.states);
        let state = argument.and_then(|word| self.text.state(word));
        match (does.states, state) {
            _ if does.closes => Path::closing(),
            (States::ClearsAll, _) => Path::cleared(all & !1),
            (States::Marks, Some(state)) => Path::seen(state),
            (States::Clears, Some(state)) => Path::cleared(state),
            (States::Marks, None) => Path {
                may_clear: 0,
                closes: super::paths::Closes::No,
                ..Path::anything(all)
            },
            _ => Path {
                may_clear: all,
                ..Path::NOTHING
            },
        }
    }

    /// A call of a directive.
    fn use_of(&mut self, u: &Use, at: usize, arguments: Node<'_>, from: Paths) -> Outcome {
        self.visited.insert(at);
        if let What::Directive {
            directive: what,
            call: Some(call),
        } = &u.what
        {
            let does = &what.does;
            match what.form {
                Form::States { .. } => {
                    let done = directive(does.states, call, all(self.text.states));
                    return Ok(from.then(&done));
                }
                Form::OneState => return Ok(from),
                Form::OfPart(part) if part.arguments() == 1 => return Ok(from),
                _ if does.closes => return Ok(from.then(&Path::closing())),
                _ if self.text.reads(does) => return Err(Stop::Anything),
                _ if self.text.ends(does) => {
                    let to = self.unordered(children(arguments), from)?;
                    return Ok(to.then(&Path::closing()));
                }
                _ => {}
            }
        }
        self.unordered(children(arguments), from)
    }
}
