//! Conditions of rules: names become numbers of states, and macros are expanded within a limit.
//!
//! Must not know: patterns, actions, what a condition decides.

use crate::model::Cond;
use nest_diag::{Code, Diagnostic};
use nest_syntax::ast::{self, MacroBody, Name};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of names and operators that macros may add to one condition. Macros that use
/// another one twice reach it after eight definitions. It also limits every recursion over a
/// condition, together with the parser's limit for text without macros.
const EXPANSION_LIMIT: usize = 1000;

/// The maximum number of names and operators in the conditions of all rules. A condition around many
/// rules counts for each of them.
const TOTAL_LIMIT: usize = 1_000_000;

/// The deepest nesting of a condition, with its macros expanded. C compilers have a limit, too.
const DEEPEST: usize = 250;

/// Resolves conditions, and records what they use.
pub struct Conditions<'a> {
    states: BTreeMap<&'a str, u32>,
    macros: BTreeMap<&'a str, &'a ast::Cond>,
    /// Condition macros that some condition uses.
    pub used: BTreeSet<String>,
    /// States that some condition tests.
    pub tested: BTreeSet<u32>,
    /// The number of names and operators that further conditions may have.
    left: usize,
}

/// The position within the condition of one rule.
struct Expansion<'n> {
    /// The name in the rule itself that is being expanded.
    outermost: Option<&'n Name>,
    /// What macros may still add.
    left: usize,
}

/// Which limit is exceeded, and the name in the rule that leads there.
enum TooLarge<'n> {
    Macro(&'n Name),
    Total(&'n Name),
}

const HELP: &str = "let an action set one state that stands for several tests";

impl<'a> Conditions<'a> {
    /// For the declared states, in the order of their numbers, and all macros.
    pub fn new(states: &'a [String], macros: &BTreeMap<String, &'a ast::Macro>) -> Self {
        let condition = |m: &&'a ast::Macro| match &m.body {
            MacroBody::Condition(condition) => Some((m.name.text.as_str(), condition)),
            MacroBody::Pattern(_) => None,
        };
        Conditions {
            states: states.iter().map(String::as_str).zip(0..).collect(),
            macros: macros.values().filter_map(condition).collect(),
            used: BTreeSet::new(),
            tested: BTreeSet::new(),
            left: TOTAL_LIMIT,
        }
    }

    /// The conjunction of the conditions around and before a rule. After an error, which is
    /// reported, the rule has no condition.
    pub fn resolve<C>(&mut self, conditions: &[C], out: &mut Vec<Diagnostic>) -> Cond
    where
        C: Borrow<ast::Cond>,
    {
        if self.left == 0 {
            return Cond::True;
        }
        let mut expansion = Expansion {
            outermost: None,
            left: EXPANSION_LIMIT,
        };
        match self.all(conditions, &mut expansion) {
            Ok(resolved) => {
                let deep = resolved.iter().position(|c| depth(c) > DEEPEST);
                if let Some(deep) = deep {
                    let name = first_name(conditions[deep].borrow());
                    let what = format!(
                        "this condition is too large: with its macros it is nested more than \
                         {DEEPEST} levels deep"
                    );
                    out.push(Diagnostic::new(Code::E0008, name.span, what).help(HELP));
                    return Cond::True;
                }
                and(resolved)
            }
            Err(TooLarge::Macro(name)) => {
                let what = format!(
                    "this condition is too large: its macros add more than {EXPANSION_LIMIT} names \
                     and operators"
                );
                out.push(Diagnostic::new(Code::E0008, name.span, what).help(HELP));
                Cond::True
            }
            Err(TooLarge::Total(name)) => {
                self.left = 0;
                let what = format!(
                    "the conditions of all rules have more than {TOTAL_LIMIT} names and operators"
                );
                out.push(Diagnostic::new(Code::E0008, name.span, what).help(HELP));
                Cond::True
            }
        }
    }

    fn all<'n, C>(
        &mut self,
        conditions: &'n [C],
        expansion: &mut Expansion<'n>,
    ) -> Result<Vec<Cond>, TooLarge<'n>>
    where
        'a: 'n,
        C: Borrow<ast::Cond>,
    {
        let each = conditions.iter();
        each.map(|c| self.condition(c.borrow(), expansion))
            .collect()
    }

    fn condition<'n>(
        &mut self,
        condition: &'n ast::Cond,
        expansion: &mut Expansion<'n>,
    ) -> Result<Cond, TooLarge<'n>>
    where
        'a: 'n,
    {
        if let Some(name) = expansion.outermost {
            let left = expansion.left.checked_sub(1);
            expansion.left = left.ok_or(TooLarge::Macro(name))?;
        }
        self.left = self.left.saturating_sub(1);
        Ok(match condition {
            ast::Cond::Or(all) => Cond::Or(self.all(all, expansion)?),
            ast::Cond::And(all) => and(self.all(all, expansion)?),
            ast::Cond::Not(c) => Cond::Not(Box::new(self.condition(c, expansion)?)),
            ast::Cond::LastSeen(name) => {
                self.state(name, expansion)?.map_or(Cond::True, Cond::Last)
            }
            ast::Cond::Name(name) => {
                let Some(body) = self.macros.get(name.text.as_str()).copied() else {
                    let state = self.state(name, expansion)?;
                    return Ok(state.map_or(Cond::True, Cond::State));
                };
                self.used.insert(name.text.clone());
                // A macro that uses itself is reported by the parser and is not a condition.
                let outer = expansion.outermost;
                expansion.outermost = outer.or(Some(name));
                let expanded = self.condition(body, expansion)?;
                expansion.outermost = outer;
                expanded
            }
        })
    }

    /// The number of a state. The parser has reported a name that is not one.
    fn state<'n>(
        &mut self,
        name: &'n Name,
        expansion: &Expansion<'n>,
    ) -> Result<Option<u32>, TooLarge<'n>> {
        if self.left == 0 {
            return Err(TooLarge::Total(expansion.outermost.unwrap_or(name)));
        }
        let number = self.states.get(name.text.as_str()).copied();
        self.tested.extend(number);
        Ok(number)
    }
}

/// How deep the operators of a condition are nested.
fn depth(condition: &Cond) -> usize {
    match condition {
        Cond::Not(inner) => 1 + depth(inner),
        Cond::And(all) | Cond::Or(all) => 1 + all.iter().map(depth).max().unwrap_or(0),
        Cond::True | Cond::State(_) | Cond::Last(_) => 0,
    }
}

/// The name that stands first in a condition.
fn first_name(condition: &ast::Cond) -> &Name {
    match condition {
        ast::Cond::Or(all) | ast::Cond::And(all) => first_name(&all[0]),
        ast::Cond::Not(inner) => first_name(inner),
        ast::Cond::LastSeen(name) | ast::Cond::Name(name) => name,
    }
}

fn and(mut conditions: Vec<Cond>) -> Cond {
    match conditions.len() {
        0 => Cond::True,
        1 => conditions.remove(0),
        _ => Cond::And(conditions),
    }
}
