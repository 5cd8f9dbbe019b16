//! Conditions as a specification writes them.

use nest_machine::{Cond, Machine};

/// A condition, with parentheses only where they are needed.
#[must_use]
pub fn condition(m: &Machine, cond: &Cond) -> String {
    written(m, cond, 0)
}

/// `around`: 0 nothing, 1 `&&`, 2 `!`.
fn written(m: &Machine, cond: &Cond, around: u8) -> String {
    let name = |n: &u32| m.states[*n as usize].as_str();
    let joined = |all: &[Cond], with: &str, own: u8| {
        let parts: Vec<String> = all.iter().map(|c| written(m, c, own)).collect();
        parts.join(with)
    };
    let (text, weak) = match cond {
        Cond::True => ("always".to_owned(), false),
        Cond::State(n) => (name(n).to_owned(), false),
        Cond::Last(n) => (format!("$LASTSEEN({})", name(n)), false),
        Cond::Not(c) => (format!("!{}", written(m, c, 2)), false),
        Cond::And(all) => (joined(all, " && ", 1), around > 1 && all.len() > 1),
        Cond::Or(all) => (joined(all, " || ", 1), around > 0 && all.len() > 1),
    };
    if weak { format!("({text})") } else { text }
}
