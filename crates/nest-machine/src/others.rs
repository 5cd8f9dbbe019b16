//! Directives that reach other connections, where there are none. Must not know: what the directives
//! do with them.

use crate::model::{Action, Machine, What};
use nest_c::directives::Others;
use nest_c::inner;
use nest_diag::{Code, Diagnostic};
use nest_feature::Feature;

/// E0620.
pub fn check(m: &Machine, out: &mut Vec<Diagnostic>) {
    if !m.features.contains(Feature::Inetd) {
        return;
    }
    let rules = m.rules.iter().map(|r| &r.action);
    let timers = m.timers.iter().map(|t| &t.action);
    let actions: Vec<&Action> = rules.chain(timers).chain(&m.start).chain(&m.end).collect();
    for action in actions {
        for u in &action.uses {
            let What::Directive { directive, .. } = &u.what else {
                continue;
            };
            if directive.does.others == Others::Untouched {
                continue;
            }
            let what = format!("{} in a server that inetd starts", directive.word());
            out.push(
                Diagnostic::new(Code::E0620, inner(action.span, &u.at), what).help(
                    "inetd may start a server for each connection, which reaches no other one: \
                     remove `%option inetd`, and let the server listen",
                ),
            );
        }
    }
}
