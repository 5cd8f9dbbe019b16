//! `%timer` and `%worker`: code of the server, which belongs to no connection. Must not know: which process
//! runs it.

use crate::actions::{self, Owner};
use crate::context::Context;
use crate::model::{Action, Periodic, What};
use crate::options;
use nest_diag::{Code as Diag, Diagnostic};
use nest_feature::{Feature, Features};
use nest_syntax::ast::{CodeDecl, Decl, Spec};

/// The code of all declarations: periodic, and that of workers.
pub fn settle(
    spec: &Spec,
    features: Features,
    cx: &mut Context<'_>,
) -> (Vec<Periodic>, Vec<Action>) {
    let (mut periodic, mut beginning) = (Vec::new(), Vec::new());
    for decl in &spec.decls {
        let Decl::Code(decl) = decl else { continue };
        if decl.word.text == "%timer" {
            if features.contains(Feature::Inetd) {
                let what = "`%timer` and `inetd` exclude each other";
                let help = "inetd starts a process for each connection: no server stays";
                cx.out
                    .push(Diagnostic::new(Diag::E0604, decl.word.span, what).help(help));
            }
            periodic.extend(timer(decl, cx));
        } else {
            if let Some(argument) = &decl.argument {
                let what = format!("`%worker` takes no `{}`", argument.text);
                let help = "write `%worker { code }`";
                cx.out
                    .push(Diagnostic::new(Diag::E0101, argument.span, what).help(help));
            }
            beginning.push(action(decl, "%worker", cx));
        }
    }
    (periodic, beginning)
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
