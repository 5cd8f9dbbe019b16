//! `%timer`, `%signal`, `%worker` and `%cache`: code of the server, which belongs to no connection. Must not know: which
//! process runs it.

use crate::actions::{self, CACHE, Owner};
use crate::context::Context;
use crate::model::{Action, Periodic, Settings, Signal, What};
use crate::options::{self, CUSTOM};
use nest_diag::{Code as Diag, Diagnostic, nearest};
use nest_feature::{Feature, Features};
use nest_syntax::ast::{CodeDecl, Decl, OptionDecl, Spec};

/// Signals that code may have.
const SIGNALS: [&str; 4] = ["USR1", "USR2", "QUIT", "WINCH"];
/// Signals that the server itself uses, or that no program gets, and why.
const TAKEN: [(&str, &str); 17] = [
    ("HUP", "makes the server read its configuration again"),
    ("TERM", "stops the server"),
    ("INT", "stops the server"),
    ("CHLD", "tells the server that a worker has ended"),
    ("ALRM", "is used by workers"),
    ("URG", "wakes workers"),
    (
        "PIPE",
        "is ignored, because writing to a client that is gone is no error",
    ),
    (
        "XFSZ",
        "is ignored, because a file that is too large is an error of the action",
    ),
    (
        "XCPU",
        "ends an action that takes longer than `actionTimeout`",
    ),
    ("ABRT", "reports a crash"),
    ("SEGV", "reports a crash"),
    ("BUS", "reports a crash"),
    ("FPE", "reports a crash"),
    ("ILL", "reports a crash"),
    ("TRAP", "is a debugger's"),
    ("KILL", "cannot be caught"),
    ("STOP", "cannot be caught"),
];

/// The code of all declarations.
#[derive(Default)]
pub struct ServerCode {
    /// That of `%timer`.
    pub periodic: Vec<Periodic>,
    /// That of `%signal`.
    pub signals: Vec<Signal>,
    /// That of `%worker`.
    pub beginning: Vec<Action>,
    /// That of `%cache`.
    pub cache: Option<Action>,
}

/// The code of all declarations.
pub fn settle(spec: &Spec, settings: &Settings, cx: &mut Context<'_>) -> ServerCode {
    let features = settings.features;
    let mut all = ServerCode::default();
    for decl in &spec.decls {
        let Decl::Code(decl) = decl else { continue };
        let word = decl.word.text.as_str();
        if matches!(word, "%timer" | "%signal") && features.contains(Feature::Inetd) {
            let what = format!("`{word}` and `inetd` exclude each other");
            let help = "inetd starts a process for each connection: no server stays";
            cx.out
                .push(Diagnostic::new(Diag::E0604, decl.word.span, what).help(help));
        }
        match word {
            "%timer" => all.periodic.extend(timer(decl, cx)),
            "%signal" => {
                let signal = signal(decl, features, &all.signals, cx);
                all.signals.extend(signal);
            }
            "%worker" => {
                no_argument(decl, cx);
                all.beginning.push(action(decl, "%worker", cx));
            }
            _ => {
                no_argument(decl, cx);
                let code = action(decl, CACHE, cx);
                let what = match &all.cache {
                    Some(_) => "a second `%cache`",
                    None if !features.contains(Feature::FileCache) => {
                        "`%cache` without the option `fileCache`"
                    }
                    None => {
                        all.cache = Some(code);
                        continue;
                    }
                };
                let help = "write one, and `%option fileCache custom 64M`";
                cx.out
                    .push(Diagnostic::new(Diag::E0810, decl.word.span, what).help(help));
            }
        }
    }
    if all.cache.is_none() {
        custom_without_code(spec, settings, cx);
    }
    all
}

fn no_argument(decl: &CodeDecl, cx: &mut Context<'_>) {
    if let Some(argument) = &decl.argument {
        let word = &decl.word.text;
        let what = format!("`{word}` takes no `{}`", argument.text);
        let help = format!("write `{word} {{ code }}`");
        cx.out
            .push(Diagnostic::new(Diag::E0101, argument.span, what).help(help));
    }
}

/// E0810: the policy `custom`, and no code that says which file leaves.
fn custom_without_code(spec: &Spec, settings: &Settings, cx: &mut Context<'_>) {
    let option = spec.decls.iter().find_map(|decl| match decl {
        Decl::Option(option) if option.name.text == "fileCache" => Some(option),
        _ => None,
    });
    let custom = |option: &&OptionDecl| option.values.first().is_some_and(|v| v.text == CUSTOM);
    if let Some(option) = option.filter(custom)
        && settings.features.contains(Feature::FileCache)
    {
        let what = "the policy `custom` without its code";
        let help = "say what a file is worth, as in \
                    `%cache { return least + (double)uses / (double)size; }`";
        cx.out
            .push(Diagnostic::new(Diag::E0810, option.values[0].span, what).help(help));
    }
}

fn signal(
    decl: &CodeDecl,
    features: Features,
    others: &[Signal],
    cx: &mut Context<'_>,
) -> Option<Signal> {
    const HELP: &str = "write one of USR1, USR2, QUIT and WINCH, as in `%signal USR1 { code }`";
    let action = action(decl, "%signal", cx);
    let Some(argument) = &decl.argument else {
        let what = "`%signal` names no signal";
        cx.out
            .push(Diagnostic::new(Diag::E0808, decl.word.span, what).help(HELP));
        return None;
    };
    let text = argument.text.as_str();
    let name = text.strip_prefix("SIG").unwrap_or(text);
    let number = format!("SIG{name}");
    let taken = TAKEN.iter().find(|(taken, _)| *taken == name);
    let (code, what, help) = if let Some((_, why)) = taken {
        (Diag::E0807, format!("`{text}` {why}"), HELP.to_string())
    } else if !SIGNALS.contains(&name) {
        let help = nearest(name, SIGNALS).map(|meant| format!("did you mean `{meant}`?"));
        let what = format!("`{text}` is not a signal that code can have");
        (Diag::E0808, what, help.unwrap_or_else(|| HELP.to_string()))
    } else if name == "USR1" && features.contains(Feature::Log) {
        let what = format!("`{text}` makes the server open its log anew");
        let help = "the server does this because of `logging`, `logFormat`, `accessLog` or `errorLog`: \
                    use USR2";
        (Diag::E0807, what, help.to_string())
    } else if others.iter().any(|other| other.number == number) {
        let what = format!("a second `%signal {text}`");
        (
            Diag::E0809,
            what,
            "write all of its code in one".to_string(),
        )
    } else {
        return Some(Signal { number, action });
    };
    cx.out
        .push(Diagnostic::new(code, argument.span, what).help(help));
    None
}

fn timer(decl: &CodeDecl, cx: &mut Context<'_>) -> Option<Periodic> {
    let action = action(decl, "%timer", cx);
    let argument = decl.argument.as_ref();
    let every = argument.and_then(|name| options::duration(&name.text));
    let Some(every) = every.filter(|ms| *ms > 0) else {
        let what = match argument {
            Some(name) => format!("`{}` is not a valid time", name.text),
            None => "`%timer` names no time".to_string(),
        };
        let span = argument.map_or(decl.word.span, |name| name.span);
        let help = "write a time from 1ms to 24h, as in `%timer 5s { code }`";
        cx.out
            .push(Diagnostic::new(Diag::E0211, span, what).help(help));
        return None;
    };
    Some(Periodic { every, action })
}

fn action(decl: &CodeDecl, place: &'static str, cx: &mut Context<'_>) -> Action {
    let action = actions::action(cx, &decl.code, Owner::Server(place));
    no_connection(&action, place, cx);
    action
}

/// Says E0404 where code of the server names a per-connection variable.
pub fn no_connection(action: &Action, place: &str, cx: &mut Context<'_>) {
    for u in &action.uses {
        if let What::Variable(_) = u.what {
            let span = nest_c::inner(action.span, &u.at);
            let word = &action.code.text[u.at.clone()];
            let what = format!("the per-connection variable `{word}` in the code of {place}");
            let help = "the code belongs to the server: there is no connection";
            cx.out
                .push(Diagnostic::new(Diag::E0404, span, what).help(help));
        }
    }
}
