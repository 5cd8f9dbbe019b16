//! A condition over states as an expression of C.

use nest_machine::Cond;

/// Over `states` and `last`.
pub(crate) fn condition(cond: &Cond) -> String {
    let join = |all: &[Cond], with: &str| {
        let parts: Vec<String> = all.iter().map(condition).collect();
        format!("({})", parts.join(with))
    };
    match cond {
        Cond::True => "true".to_string(),
        Cond::State(n) => format!("(states >> {n} & 1) != 0"),
        Cond::Last(n) => format!("last == {n}"),
        Cond::Not(c) => format!("!({})", condition(c)),
        Cond::And(all) => join(all, " && "),
        Cond::Or(all) => join(all, " || "),
    }
}
