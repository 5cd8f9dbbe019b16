//! `%filter`: the filters in front of the server, their options and their order.
//!
//! What filters there are, and what each needs, is read from their own text (`nest_conditioning`).
//! Must not know: how filters are started, the C that is emitted for them.

use crate::first::first;
use crate::kept::kept;
use crate::model::{Filter, Machine};
use nest_conditioning::inside::{PROGRAMS, Program, Stage};
use nest_diag::{Code, Diagnostic, Span, nearest};
use nest_feature::Feature;
use nest_syntax::ast::{Decl, FilterDecl, Name, Spec};

/// As many as cc-chain starts.
const MOST: usize = 16;
/// As many filters may follow a connection to its end.
const MOST_LEASES: usize = 4;

/// Checks all `%filter` lines. The machine is complete but for its filters.
pub fn settle(spec: &Spec, m: &mut Machine, out: &mut Vec<Diagnostic>) {
    let decls = spec.decls.iter().filter_map(|decl| match decl {
        Decl::Filter(filter) => Some(filter),
        _ => None,
    });
    let decls: Vec<&FilterDecl> = decls.collect();
    let Some(first_decl) = decls.first() else {
        return;
    };
    if m.features.contains(Feature::Inetd) {
        let what = "`%filter` and `inetd` exclude each other";
        out.push(
            Diagnostic::new(Code::E0604, first_decl.name.span, what)
                .help("inetd accepts the clients: filters would have nobody to wait for"),
        );
    }
    if m.features.contains(Feature::Proxied) {
        let what = "`%filter` and the word `proxy` of `listen` exclude each other";
        out.push(
            Diagnostic::new(Code::E0604, first_decl.name.span, what)
                .help("filters would take the header of the proxy for the client's message"),
        );
    }
    let before = out.len();
    let mut filters = Vec::new();
    for decl in decls {
        match Program::find(&decl.name.text) {
            Some(program) => filters.push(filter(program, decl, out)),
            None => out.push(no_filter(&decl.name)),
        }
    }
    if out.len() > before {
        return;
    }
    order(&filters, out);
    if out.len() > before {
        return;
    }
    let clear = !m.features.contains(Feature::Tls) || m.features.contains(Feature::StartTls);
    if let Some(filter) = filters.iter().find(|f| f.program.protocol && !clear) {
        let what = format!(
            "`%filter {}` and `tls` exclude each other",
            filter.program.name
        );
        out.push(
            Diagnostic::new(Code::E0604, protocol(&filters), what)
                .help("a filter cannot read messages that are encrypted; remove one of the two"),
        );
        return;
    }
    if let Some(filter) = filters.iter().find(|f| f.program.name == "proxy" && !clear) {
        let what = "`%filter proxy` and `tls` exclude each other";
        out.push(
            Diagnostic::new(Code::E0604, filter.span, what)
                .help("write the word `proxy` behind the addresses of `listen`, and no filters"),
        );
        return;
    }
    if let Some(filter) = filters.iter().find(|filter| filter.program.splits())
        && let Some(refusal) = kept(m)
    {
        out.push(refusal.label(filter.span, "before this filter"));
        return;
    }
    if filters.iter().any(|filter| filter.program.protocol) {
        match first(m) {
            Ok(automaton) => m.first = Some(automaton),
            Err(why) => out.push(why.label(protocol(&filters), "this filter waits for a message")),
        }
    }
    if filters.iter().any(|filter| filter.program.name == "proxy") {
        m.features.insert(Feature::Proxied);
    }
    m.filters = filters;
    m.features.insert(Feature::Filters);
}

/// The first filter that follows the protocol.
fn protocol(filters: &[Filter]) -> Span {
    let found = filters.iter().find(|filter| filter.program.protocol);
    found.map_or(filters[0].span, |filter| filter.span)
}

/// Why there is no such filter.
fn no_filter(name: &Name) -> Diagnostic {
    let what = format!("there is no filter `{}`", name.text);
    let found = Diagnostic::new(Code::E0704, name.span, what);
    match nearest(&name.text, PROGRAMS.iter().map(|program| program.name)) {
        Some(meant) => found.help(format!("did you mean `{meant}`?")),
        None => found.help(format!(
            "filters: {}",
            names(PROGRAMS.iter().map(|p| p.name))
        )),
    }
}

fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

/// A filter with its options, which are checked.
fn filter(program: &'static Program, decl: &FilterDecl, out: &mut Vec<Diagnostic>) -> Filter {
    let options = program.options();
    let mut text = program.name.to_string();
    let mut seen: Vec<&str> = Vec::new();
    let before = out.len();
    for word in &decl.options {
        let mut bad = |what: String, help: String| {
            out.push(Diagnostic::new(Code::E0704, word.span, what).help(help));
        };
        let Some((key, value)) = word.text.split_once('=') else {
            if let Some(option) = options.iter().find(|option| option.name == word.text) {
                bad(
                    format!("the option `{}` has no value", option.name),
                    format!("write `{}=VALUE`, with {}", option.name, option.form()),
                );
                continue;
            }
            bad(
                format!("`{}` is not an option of a filter", word.text),
                "write `KEY=VALUE` without blanks, as in `timeout=5s`".to_string(),
            );
            continue;
        };
        let Some(option) = options.iter().find(|option| option.name == key) else {
            let what = format!("the filter `{}` has no option `{key}`", program.name);
            let known = options.iter().map(|option| option.name);
            let help = match nearest(key, known.clone()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if options.is_empty() => "it has no options: remove this one".to_string(),
                None => format!("its options: {}", names(known)),
            };
            bad(what, help);
            continue;
        };
        if program.name == "proxy" && word.text == "mode=out" {
            bad(
                "`mode=out` is for chains in front of another server".to_string(),
                "remove it: this server knows its clients from the filter itself".to_string(),
            );
        } else if seen.contains(&option.name) {
            let help = "remove one of them".to_string();
            bad(format!("the option `{key}` is given twice"), help);
        } else if !option.takes(value) {
            let what = format!("`{value}` is not a value of `{key}`");
            bad(what, format!("write {}", option.form()));
        }
        seen.push(option.name);
        text.push(',');
        text.push_str(&word.text);
    }
    if out.len() == before {
        contradiction(program, decl, out);
    }
    Filter {
        program,
        text,
        clients: program.clients.filter(|name| !seen.contains(name)),
        span: decl.name.span,
    }
}

/// Refuses numbers of which one exceeds another that it must not.
fn contradiction(program: &Program, decl: &FilterDecl, out: &mut Vec<Diagnostic>) {
    let options = program.options();
    let given = |name: &str| {
        let of = |word: &&Name| {
            word.text
                .split_once('=')
                .is_some_and(|(key, _)| key == name)
        };
        decl.options.iter().find(of)
    };
    let number = |name: &str| {
        let option = options.iter().find(|option| option.name == name)?;
        match given(name) {
            Some(word) => option.number(word.text.split_once('=')?.1),
            None => option.default,
        }
    };
    for limit in program.limits() {
        let (below, above) = (limit.low, limit.high);
        let (Some(high), Some(n)) = (number(above), number(below)) else {
            continue;
        };
        let Some(word) = given(below).or_else(|| given(above)) else {
            continue;
        };
        let most = high.saturating_mul(limit.factor);
        if n > most {
            let unit = limit.unit;
            let what = format!(
                "`{below}`, which is {n}, must not exceed `{above}`, which is {most}{unit}"
            );
            let help = format!("lower `{below}` or raise `{above}`");
            out.push(Diagnostic::new(Code::E0704, word.span, what).help(help));
            return;
        }
    }
}

/// Refuses orders that make no sense, as cc-chain does.
fn order(filters: &[Filter], out: &mut Vec<Diagnostic>) {
    let mut have = Stage::Connections;
    let (mut before, mut leases) = ("", 0);
    let (mut splits, mut judge) = (None, None);
    for (n, filter) in filters.iter().enumerate() {
        let name = filter.program.name;
        leases += usize::from(filter.program.leases());
        let wrong = match filter.program.arrives() {
            Stage::Requests if have == Stage::Connections => Some((
                format!("`{name}` needs complete messages"),
                "put `%filter request` before it".to_string(),
            )),
            Stage::Connections if have == Stage::Requests => Some((
                format!("`{name}` needs connections whose message is not complete"),
                format!("put it before `{before}`, or remove it"),
            )),
            _ if filter.program.splits() && splits.is_some() => Some((
                format!("`{name}` has nothing to split"),
                "remove one of the two".to_string(),
            )),
            _ if filter.program.splits() && judge.is_some() => Some((
                format!(
                    "`{0}` before `{name}` would see only the first message of a connection",
                    judge.unwrap_or_default()
                ),
                format!("put `{name}` before it"),
            )),
            _ if n == MOST => Some((
                format!("more than {MOST} filters"),
                "remove some of them".to_string(),
            )),
            _ if leases > MOST_LEASES => Some((
                format!("more than {MOST_LEASES} filters follow a connection to its end"),
                format!("remove one of the filters `{name}`"),
            )),
            _ => None,
        };
        if let Some((what, help)) = wrong {
            out.push(Diagnostic::new(Code::E0705, filter.span, what).help(help));
            return;
        }
        if filter.program.splits() {
            splits = Some(name);
        } else if filter.program.arrives() == Stage::Requests {
            judge = Some(name);
        }
        if filter.program.leaves() != Stage::Any {
            have = filter.program.leaves();
            before = name;
        }
    }
}
