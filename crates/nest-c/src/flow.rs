//! The control flow of C: statements in the order in which they run, branches, loops and jumps.
//!
//! The only walker of statements. A [`Domain`] defines what is known at a place: how an
//! expression changes it, what a condition tells, and how two states are joined where two paths
//! meet. Must not know: expressions, what a domain looks for.

use crate::library::children;
use std::collections::BTreeMap;
use tree_sitter::Node;

/// The targets of jumps in a body, each with the joined state of the jumps found so far.
#[derive(Clone, Debug)]
pub struct Jumps<S> {
    /// For each enclosing loop and switch: the state of its breaks.
    breaks: Vec<S>,
    /// For each enclosing loop: the state of its continues.
    continues: Vec<S>,
    /// For each enclosing switch: the state at its labels, and whether it has a default.
    cases: Vec<(S, bool)>,
    /// By label.
    pub labels: BTreeMap<String, S>,
    /// The state of its returns.
    pub returns: S,
}

impl<S> Jumps<S> {
    /// No jumps yet; `nowhere`: the state of a place that no path reaches.
    pub fn new(nowhere: S) -> Jumps<S> {
        Jumps {
            breaks: Vec::new(),
            continues: Vec::new(),
            cases: Vec::new(),
            labels: BTreeMap::new(),
            returns: nowhere,
        }
    }
}

/// An analysis that follows the control flow.
pub trait Domain<'t> {
    /// What is known at a place.
    type State: Clone;
    /// What a condition tells about the state.
    type Test;
    /// Why the analysis of a body was abandoned.
    type Stop;

    /// The state at a place that no path reaches.
    fn nowhere() -> Self::State;

    /// Joins `from` into `to`, where two paths meet.
    fn join(to: &mut Self::State, from: Self::State);

    /// The state at the current place.
    fn state(&mut self) -> &mut Self::State;

    /// The jumps of the current body.
    fn jumps(&mut self) -> &mut Jumps<Self::State>;

    /// The text of a node.
    fn text(&self, node: Node<'t>) -> &str;

    /// Enters a nested statement. Returns whether to follow it. Each call is undone by
    /// [`Domain::ascend`].
    fn descend(&mut self, node: Node<'t>) -> Result<bool, Self::Stop>;

    /// Leaves a nested statement.
    fn ascend(&mut self);

    /// A declaration, an expression statement or an expression.
    fn simple(&mut self, node: Node<'t>) -> Result<(), Self::Stop>;

    /// The value of a `return`.
    fn give(&mut self, value: Option<Node<'t>>) -> Result<(), Self::Stop>;

    /// Evaluates a condition; none: `for (;;)`. `turn`: a loop's.
    fn test(&mut self, condition: Option<Node<'t>>, turn: bool) -> Result<Self::Test, Self::Stop>;

    /// The state after a condition that is true, or false.
    fn assume(&mut self, test: &Self::Test, holds: bool);

    /// Evaluates the expression of a switch. Its labels are in `body`.
    fn select(
        &mut self,
        condition: Option<Node<'t>>,
        body: Option<Node<'t>>,
    ) -> Result<Self::Test, Self::Stop>;

    /// An iteration of a loop has ended, and `entry` was the state before it. Sets the state of the
    /// next iteration, or returns that another one would find nothing new. `turns`: the number of
    /// iterations before.
    fn settled(&mut self, entry: Self::State, turns: usize) -> bool;

    /// The state after a loop that ends by its condition, whose last outcome was `test`.
    fn leave_loop(
        &mut self,
        condition: Option<Node<'t>>,
        test: Self::Test,
    ) -> Result<(), Self::Stop>;

    /// Called for code that cannot be followed: text that is not C, a jump without a target.
    fn unclear(&mut self) -> Result<(), Self::Stop>;

    /// Joins `other` into the current state.
    fn meet(&mut self, other: Self::State) {
        Self::join(self.state(), other);
    }

    /// The state after an `if` with the state `before`, whose consequence ends with `yes`.
    fn behind_choice(&mut self, _before: Self::State, yes: Self::State) {
        self.meet(yes);
    }

    /// A condition decides whether the following code runs, until [`Domain::leave_test`].
    fn enter_test(&mut self, _test: &Self::Test) {}

    /// The end of that code.
    fn leave_test(&mut self) {}

    /// The body of a loop follows, until [`Domain::leave_body`].
    fn enter_body(&mut self) {}

    /// The end of the body.
    fn leave_body(&mut self) {}

    /// An inner scope begins.
    fn open_scope(&mut self) {}

    /// The inner scope ends.
    fn close_scope(&mut self) {}
}

/// A statement, and all statements in it.
pub fn run<'t, D: Domain<'t>>(d: &mut D, node: Node<'t>) -> Result<(), D::Stop> {
    if d.descend(node)? {
        statement(d, node)?;
    }
    d.ascend();
    Ok(())
}

/// Records a jump from the current place.
pub fn leave<'t, D: Domain<'t>>(d: &mut D) {
    let state = taken(d);
    D::join(&mut d.jumps().returns, state);
}

fn all<'t, D: Domain<'t>>(
    d: &mut D,
    nodes: impl IntoIterator<Item = Node<'t>>,
) -> Result<(), D::Stop> {
    nodes.into_iter().try_for_each(|node| run(d, node))
}

fn optional<'t, D: Domain<'t>>(d: &mut D, node: Option<Node<'t>>) -> Result<(), D::Stop> {
    node.map_or(Ok(()), |node| run(d, node))
}

/// Takes the current state; afterwards no path reaches this place.
fn taken<'t, D: Domain<'t>>(d: &mut D) -> D::State {
    std::mem::replace(d.state(), D::nowhere())
}

fn statement<'t, D: Domain<'t>>(d: &mut D, node: Node<'t>) -> Result<(), D::Stop> {
    let field = |name| node.child_by_field_name(name);
    match node.kind() {
        "compound_statement" => {
            d.open_scope();
            all(d, children(node))?;
            d.close_scope();
            Ok(())
        }
        "else_clause" | "preproc_else" | "attributed_statement" => all(d, children(node)),
        "if_statement" => {
            let before = d.state().clone();
            let test = d.test(field("condition"), false)?;
            d.enter_test(&test);
            let other = d.state().clone();
            d.assume(&test, true);
            optional(d, field("consequence"))?;
            let yes = std::mem::replace(d.state(), other);
            d.assume(&test, false);
            optional(d, field("alternative"))?;
            d.behind_choice(before, yes);
            d.leave_test();
            Ok(())
        }
        "while_statement" | "for_statement" => {
            d.open_scope();
            optional(d, field("initializer"))?;
            repeat(d, node, true)?;
            d.close_scope();
            Ok(())
        }
        "do_statement" => repeat(d, node, false),
        "switch_statement" => switch(d, node),
        "case_statement" => case(d, node),
        "break_statement" => {
            let state = taken(d);
            jump(d, state, |jumps| jumps.breaks.last_mut())
        }
        "continue_statement" => {
            let state = taken(d);
            jump(d, state, |jumps| jumps.continues.last_mut())
        }
        "return_statement" => {
            d.give(children(node).first().copied())?;
            leave(d);
            Ok(())
        }
        "goto_statement" => {
            let Some(label) = field("label") else {
                return d.unclear();
            };
            let label = d.text(label).to_string();
            let state = taken(d);
            let labels = &mut d.jumps().labels;
            D::join(labels.entry(label).or_insert_with(D::nowhere), state);
            Ok(())
        }
        "labeled_statement" => {
            let Some(label) = field("label") else {
                return d.unclear();
            };
            let word = d.text(label).to_string();
            if let Some(state) = d.jumps().labels.get(&word).cloned() {
                d.meet(state);
            }
            let rest = children(node).into_iter();
            all(d, rest.filter(|c| c.id() != label.id()))
        }
        "preproc_if" | "preproc_ifdef" | "preproc_elif" | "preproc_elifdef" => {
            let heads = [field("name"), field("condition"), field("alternative")];
            let head = |c: &Node<'_>| heads.iter().flatten().any(|h| h.id() == c.id());
            let before = d.state().clone();
            all(d, children(node).into_iter().filter(|c| !head(c)))?;
            let yes = std::mem::replace(d.state(), before);
            optional(d, field("alternative"))?;
            d.meet(yes);
            Ok(())
        }
        "type_definition" => Ok(()),
        "function_definition" | "ERROR" | "seh_try_statement" | "seh_leave_statement" => {
            d.unclear()
        }
        kind if kind.starts_with("preproc_") => Ok(()),
        _ => d.simple(node),
    }
}

fn jump<'t, D: Domain<'t>>(
    d: &mut D,
    state: D::State,
    target: impl Fn(&mut Jumps<D::State>) -> Option<&mut D::State>,
) -> Result<(), D::Stop> {
    match target(d.jumps()) {
        Some(to) => {
            D::join(to, state);
            Ok(())
        }
        None => d.unclear(),
    }
}

fn switch<'t, D: Domain<'t>>(d: &mut D, node: Node<'t>) -> Result<(), D::Stop> {
    let body = node.child_by_field_name("body");
    let test = d.select(node.child_by_field_name("condition"), body)?;
    d.enter_test(&test);
    let entry = taken(d);
    d.jumps().cases.push((entry, false));
    d.jumps().breaks.push(D::nowhere());
    if let Some(body) = body {
        // No path reaches its beginning, only its labels.
        statement(d, body)?;
    }
    d.leave_test();
    let out = d.jumps().breaks.pop();
    if let Some(out) = out {
        d.meet(out);
    }
    if let Some((entry, false)) = d.jumps().cases.pop() {
        d.meet(entry);
    }
    Ok(())
}

fn case<'t, D: Domain<'t>>(d: &mut D, node: Node<'t>) -> Result<(), D::Stop> {
    let value = node.child_by_field_name("value");
    let entry = d.jumps().cases.last_mut().map(|(entry, default)| {
        *default |= value.is_none();
        entry.clone()
    });
    match entry {
        Some(entry) => d.meet(entry),
        None => d.unclear()?,
    }
    let rest = children(node).into_iter();
    all(d, rest.filter(|c| value.is_none_or(|v| v.id() != c.id())))
}

/// Walks a loop until an iteration finds nothing new. `first`: its condition precedes its body.
fn repeat<'t, D: Domain<'t>>(d: &mut D, node: Node<'t>, first: bool) -> Result<(), D::Stop> {
    let field = |name| node.child_by_field_name(name);
    let condition = field("condition");
    d.jumps().breaks.push(D::nowhere());
    for turns in 0.. {
        let entry = d.state().clone();
        let before = if first {
            let test = d.test(condition, true)?;
            d.enter_test(&test);
            d.assume(&test, true);
            Some(test)
        } else {
            None
        };
        d.jumps().continues.push(D::nowhere());
        d.enter_body();
        optional(d, field("body"))?;
        d.leave_body();
        if let Some(state) = d.jumps().continues.pop() {
            d.meet(state);
        }
        let test = match before {
            Some(test) => {
                optional(d, field("update"))?;
                d.leave_test();
                test
            }
            None => {
                let test = d.test(condition, true)?;
                d.assume(&test, true);
                test
            }
        };
        if d.settled(entry, turns) {
            d.leave_loop(condition, test)?;
            break;
        }
    }
    if let Some(out) = d.jumps().breaks.pop() {
        d.meet(out);
    }
    Ok(())
}
