//! Options that can have no effect in the server that a specification describes. Must not know: what
//! they do elsewhere.

use super::row::OptionInfo;
use crate::model::Settings;
use crate::models::ModelKind;
use nest_diag::{Code, Diagnostic, Span};
use nest_syntax::ast::OptionDecl;

/// Options of one kind of model, and what they are about.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("dispatchers", "loops", "the loops of an event server"),
    ("helpers", "loops", "threads beside a loop"),
    ("completion", "loops", "what would hold up a loop"),
    (
        "clientsPerWorker",
        "prefork",
        "processes that serve one client after another",
    ),
];

/// E0604. `seen`: the options that are given; `chosen`: the specification's model, its clients, and where
/// they are. Who tries another model with it, keeps its options.
pub(super) fn look(
    seen: &[(&'static OptionInfo, &OptionDecl)],
    chosen: Option<(ModelKind, u32, Span)>,
    settings: &Settings,
    out: &mut Vec<Diagnostic>,
) {
    let Some((kind, clients, place)) = chosen.filter(|(kind, ..)| *kind == settings.model) else {
        return;
    };
    let given = |name: &str| seen.iter().find(|(i, _)| i.name == name).map(|(_, d)| d);
    let row = kind.row();
    for (name, workers, about) in OPTIONS {
        let Some(decl) = given(name).filter(|_| row.workers != *workers) else {
            continue;
        };
        let what = format!(
            "`{name}` is about {about}, and servers of the {} model have none",
            row.name
        );
        let fitting = match *workers {
            "loops" => "eventServer or uringServer",
            _ => "preforkServer",
        };
        out.push(
            Diagnostic::new(Code::E0604, decl.name.span, what)
                .label(place, "the model is chosen here")
                .help(format!("remove the option, or choose {fitting}")),
        );
    }
    let limit = given("perAddress").and_then(|decl| {
        let most: u32 = decl.values.first()?.text.parse().ok()?;
        (most > clients).then_some((decl, most))
    });
    if let Some((decl, most)) = limit {
        let what =
            format!("`perAddress {most}` turns nobody away, because maxClients is {clients}");
        out.push(
            Diagnostic::new(Code::E0604, decl.name.span, what)
                .label(place, "maxClients is chosen here")
                .help("write a smaller number, or more clients behind the model"),
        );
    }
}
