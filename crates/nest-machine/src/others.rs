//! Directives that reach other connections: where there are none (E0606), and groups to which nothing is
//! sent or that nobody joins (W0502). Must not know: how messages move.

use crate::model::{Action, Machine, What};
use nest_c::directives::{self, Others, States};
use nest_c::inner;
use nest_c::lexer::{self, Kind};
use nest_diag::{Code, Diagnostic, Span};
use nest_feature::Feature;

/// A directive that reaches others.
struct Site {
    others: Others,
    word: &'static str,
    span: Span,
    /// The group, if it is a literal.
    group: Option<String>,
}

/// E0606 and W0502. `c`: all C of the specification outside actions.
pub fn check(m: &Machine, c: &[&str], out: &mut Vec<Diagnostic>) {
    let sites = sites(m);
    if m.features.contains(Feature::Inetd) {
        for site in &sites {
            let what = format!("{} in a server that inetd starts", site.word);
            out.push(Diagnostic::new(Code::E0606, site.span, what).help(
                "inetd may start a server for each connection, which reaches no other one: \
                 remove `%option inetd`, and let the server listen",
            ));
        }
    } else if !elsewhere(m, c) {
        groups(&sites, out);
    }
}

fn actions(m: &Machine) -> impl Iterator<Item = &Action> {
    let rules = m.rules.iter().map(|r| &r.action);
    let timers = m.timers.iter().map(|t| &t.action);
    let special = m.start.iter().chain(&m.end).chain(&m.overload);
    rules.chain(timers).chain(special).chain(m.server_code())
}

fn sites(m: &Machine) -> Vec<Site> {
    let mut sites = Vec::new();
    for action in actions(m) {
        for u in &action.uses {
            let What::Directive { directive, call } = &u.what else {
                continue;
            };
            if directive.does.others == Others::Untouched {
                continue;
            }
            let group = call.as_ref().and_then(|call| call.args.first());
            sites.push(Site {
                others: directive.does.others,
                word: directive.word(),
                span: inner(action.span, &u.at),
                group: group.and_then(|arg| literal(&action.code.text[arg.at.clone()])),
            });
        }
    }
    sites
}

/// A number or one string.
fn literal(text: &str) -> Option<String> {
    let tokens = lexer::tokens(text);
    let [token] = tokens.as_slice() else {
        return None;
    };
    let word = &text[token.at.clone()];
    let is_number = word.bytes().all(|b| b.is_ascii_digit());
    (token.kind == Kind::Text || is_number).then(|| word.to_string())
}

/// Whether C code outside actions may join groups, or send to them.
fn elsewhere(m: &Machine, c: &[&str]) -> bool {
    let hands_on = actions(m).flat_map(|a| &a.uses).any(|u| match &u.what {
        What::Directive { directive, .. } => directive.does.states == States::HandsOn,
        _ => false,
    });
    hands_on
        || c.iter().any(|text| {
            let tokens = lexer::tokens(text);
            let names = tokens.iter().filter(|t| t.kind == Kind::Name);
            let mut does = names.map(|t| directives::does(&text[t.at.clone()]));
            does.any(|does| does.others != Others::Untouched)
        })
}

fn groups(sites: &[Site], out: &mut Vec<Diagnostic>) {
    let is = |site: &Site, kinds: &[Others]| kinds.contains(&site.others);
    // Whether one of these directives may be about the group.
    let about = |group: &Option<String>, kinds: &[Others]| {
        let mut some = sites.iter().filter(|site| is(site, kinds));
        some.any(|site| site.group.is_none() || group.is_none() || site.group == *group)
    };
    for site in sites {
        let name = site.group.as_deref().unwrap_or("this group");
        let (what, help) = if is(site, &[Others::Joins])
            && !about(&site.group, &[Others::Group, Others::Counts])
        {
            (
                format!("connections join {name}, but nothing is sent to it"),
                "send with $broadcast, or remove this",
            )
        } else if is(site, &[Others::Group]) && !about(&site.group, &[Others::Joins]) {
            (
                format!("messages are sent to {name}, but no connection joins it"),
                "let connections $join the group",
            )
        } else {
            continue;
        };
        out.push(Diagnostic::new(Code::W0502, site.span, what).help(help));
    }
}
