//! The branches of actions: the two outcomes of each condition, and the labels of each `switch`.
//!
//! `nest test` counts which of them ran. To count, the emitter adds an expression to each condition and
//! a statement behind each label, on the same line. So neither needs braces, and an `else` that is not
//! written is counted like one that is. An action is not measured if its C may not be what the parser
//! read. Must not know: the C that counts, what has run.

use crate::action::{Action, Code};
use crate::lexer::{self, Kind};
use crate::library::{children, defines, preprocessor};
use crate::read::Read;
use crate::scope::{BODY, parser};
use crate::source::{Owner, Source};
use std::collections::BTreeMap;
use std::ops::Range;
use tree_sitter::Node;

/// Words whose meaning a macro must not have changed.
const KEYWORDS: [&str; 8] = [
    "if", "else", "while", "do", "for", "switch", "case", "default",
];
/// A longer label is cut when it is shown.
const LONGEST: usize = 40;

/// The branches of all actions. Their numbers are their places in the list.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    /// In the order of [`Source::actions`], and of their positions.
    pub all: Vec<Branch>,
    /// Where to count them.
    points: BTreeMap<Owner, Vec<Point>>,
    /// Actions that are not measured, with the reason.
    pub unmeasured: Vec<(Owner, &'static str)>,
}

/// A branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Whose action contains it.
    pub owner: Owner,
    /// The file of its statement.
    pub file: String,
    /// The line of its statement.
    pub line: usize,
    /// What must happen.
    pub outcome: Outcome,
}

/// What happens when a branch runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The condition of a statement with this keyword is true.
    True(&'static str),
    /// It is false.
    False(&'static str),
    /// The code behind this label of a `switch` runs.
    Label(String),
}

/// A place in the C of an action where branches are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// A condition, without the parentheses that belong to its statement.
    Condition {
        /// Its bytes.
        at: Range<usize>,
        /// The number of the branch that runs if it is true; the next one runs if it is false.
        number: usize,
    },
    /// The place behind the colon of a label, in a list of statements.
    Label {
        /// Its offset.
        at: usize,
        /// The number of its branch.
        number: usize,
    },
}

/// A branch point and the branches that it has, before they are numbered.
struct Found {
    at: Range<usize>,
    keyword: &'static str,
    /// The offset of its statement.
    line_at: usize,
    /// The text of a label.
    label: Option<String>,
}

impl Branches {
    /// Those of a specification.
    #[must_use]
    pub fn of(source: &Source<'_>) -> Branches {
        let mut branches = Branches::default();
        let actions = source.actions().map(|(_, action)| action);
        let pieces = source.file_scope.iter().copied();
        let pieces = pieces.chain(actions.map(|action| &action.code));
        let pieces = pieces.chain(source.macros.iter().map(|action| &action.code));
        let redefined = pieces.into_iter().any(redefines);
        let mut parser = parser();
        for (owner, action) in source.actions() {
            let read = Read::of(action, &mut parser);
            let found = match redefined {
                true => Err("a macro has the name of a C keyword"),
                false => points(action, &read),
            };
            match found {
                Ok(found) => branches.add(owner, &action.code, found),
                Err(why) => branches.unmeasured.push((owner, why)),
            }
        }
        branches
    }

    /// Where to count the branches of an action.
    #[must_use]
    pub fn points(&self, owner: Owner) -> &[Point] {
        self.points.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Whether the branches of an action are known.
    #[must_use]
    pub fn is_measured(&self, owner: Owner) -> bool {
        !self.unmeasured.iter().any(|(other, _)| *other == owner)
    }

    /// Numbers the branches of an action.
    fn add(&mut self, owner: Owner, code: &Code, mut found: Vec<Found>) {
        found.sort_by_key(|point| point.at.start);
        let newlines = code.text.match_indices('\n').map(|(at, _)| at);
        let newlines: Vec<usize> = newlines.collect();
        let mut points = Vec::with_capacity(found.len());
        for point in found {
            let number = self.all.len();
            let line = code.line + newlines.partition_point(|at| *at < point.line_at);
            let mut add = |outcome| {
                self.all.push(Branch {
                    owner,
                    file: code.file.clone(),
                    line,
                    outcome,
                });
            };
            points.push(match point.label {
                None => {
                    add(Outcome::True(point.keyword));
                    add(Outcome::False(point.keyword));
                    Point::Condition {
                        at: point.at,
                        number,
                    }
                }
                Some(label) => {
                    add(Outcome::Label(label));
                    Point::Label {
                        at: point.at.start,
                        number,
                    }
                }
            });
        }
        self.points.insert(owner, points);
    }
}

/// Whether C code gives a keyword another meaning.
fn redefines(code: &Code) -> bool {
    let mut defined = defines(&code.text).into_iter();
    defined.any(|(name, _)| KEYWORDS.contains(&name.as_str()))
}

/// The branch points of an action, in no order, or why they are not known.
fn points(action: &Action, read: &Read<'_>) -> Result<Vec<Found>, &'static str> {
    let conditional = |line: &str| ["if", "el", "endif"].iter().any(|w| line.starts_with(w));
    if preprocessor(&action.code.text).any(conditional) {
        return Err("it contains #if");
    }
    let Some(body) = read.body() else {
        return Err("nest cannot parse its C");
    };
    let mut walk = Walk {
        text: read.text,
        found: Vec::new(),
        todo: vec![(body, false)],
    };
    while let Some((node, listed)) = walk.todo.pop() {
        walk.statement(node, listed)?;
    }
    Ok(walk.found)
}

/// A walk through statements. Expressions are not entered: a macro might turn its argument into text.
/// The statements left to visit are explicit, because hostile text nests deeper than a stack.
struct Walk<'t> {
    text: &'t str,
    found: Vec<Found>,
    /// Each with whether it stands in a list of statements.
    todo: Vec<(Node<'t>, bool)>,
}

impl<'t> Walk<'t> {
    fn statement(&mut self, node: Node<'t>, listed: bool) -> Result<(), &'static str> {
        let field = |name| node.child_by_field_name(name);
        match node.kind() {
            "compound_statement" => self.visit(children(node), true),
            "if_statement" => {
                self.condition(node, "if");
                self.visit(field("consequence"), false);
                self.visit(field("alternative"), false);
            }
            "else_clause" | "attributed_statement" => self.visit(children(node), false),
            "while_statement" => {
                self.condition(node, "while");
                self.visit(field("body"), false);
            }
            "do_statement" => {
                self.condition(node, "do");
                self.visit(field("body"), false);
            }
            "for_statement" => {
                self.condition(node, "for");
                self.visit(field("body"), false);
            }
            "switch_statement" => self.visit(field("body"), false),
            "labeled_statement" => {
                let label = field("label").map(|label| label.id());
                let rest = children(node).into_iter();
                self.visit(rest.filter(|child| Some(child.id()) != label), listed);
            }
            "case_statement" if listed => self.label(node),
            "case_statement" => return Err("a label of a switch stands in place of a statement"),
            _ => {}
        }
        Ok(())
    }

    fn visit(&mut self, nodes: impl IntoIterator<Item = Node<'t>>, listed: bool) {
        let nodes = nodes.into_iter();
        self.todo.extend(nodes.map(|node| (node, listed)));
    }

    /// The condition of a statement, unless it is always the same.
    fn condition(&mut self, node: Node<'t>, keyword: &'static str) {
        let Some(condition) = node.child_by_field_name("condition") else {
            return;
        };
        let mut at = condition.byte_range();
        if condition.kind() == "parenthesized_expression" && keyword != "for" {
            at = at.start + 1..at.end - 1;
        }
        if !is_constant(&self.text[at.clone()]) {
            self.found.push(Found {
                at: at.start - BODY.len()..at.end - BODY.len(),
                keyword,
                line_at: node.start_byte() - BODY.len(),
                label: None,
            });
        }
    }

    /// A label of a `switch`. What follows belongs to the same list, up to the next label.
    fn label(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let colon = node.children(&mut cursor).find(|child| child.kind() == ":");
        let Some(colon) = colon.map(|colon| colon.byte_range()) else {
            return;
        };
        let words = self.text[node.start_byte()..colon.end].split_whitespace();
        let mut text = words.collect::<Vec<&str>>().join(" ");
        if text.chars().count() > LONGEST {
            text = text.chars().take(LONGEST).chain("…".chars()).collect();
        }
        self.found.push(Found {
            at: colon.end - BODY.len()..colon.end - BODY.len(),
            keyword: "case",
            line_at: node.start_byte() - BODY.len(),
            label: Some(text),
        });
        let behind = children(node).into_iter();
        self.visit(behind.filter(|child| child.start_byte() >= colon.end), true);
    }
}

/// Whether an expression names nothing, such as `1` or `!0`.
fn is_constant(text: &str) -> bool {
    let mut tokens = lexer::tokens(text).into_iter();
    tokens.all(|token| match token.kind {
        Kind::Name => matches!(&text[token.at], "true" | "false"),
        Kind::Dollar | Kind::EscapedDollar | Kind::Other => false,
        Kind::Number | Kind::Text | Kind::Char | Kind::Punct(_) => true,
    })
}
