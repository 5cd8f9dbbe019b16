//! Options: what those of a specification select, and the values of a running server.

mod exclusions;
mod idle;
mod priorities;
mod processors;
pub(crate) mod row;
mod table;
mod words;

use crate::model::{Framing, ModelKind, RunOption, Settings, Strategy};
use nest_diag::{Code, Diagnostic, Span, nearest};
use nest_feature::Feature;
use nest_syntax::ast::{Name, OptionDecl};
pub use row::{LOGS, LONGEST, OptionInfo, Value};
pub use table::OPTIONS;
pub use words::{
    CUSTOM, ENCRYPTED, POLICIES, PROXY, cache_size, duration, is_address, is_mark, milliseconds,
    size,
};

/// The option of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static OptionInfo> {
    OPTIONS.iter().find(|o| o.name == name)
}

/// Checks all `%option` lines and settles every value. `model`: the command line's, in place of
/// the specification's.
pub fn settle(
    decls: &[&OptionDecl],
    model: Option<ModelKind>,
    name: &str,
    out: &mut Vec<Diagnostic>,
) -> Settings {
    let mut seen: Vec<(&'static OptionInfo, &OptionDecl)> = Vec::new();
    let mut chosen: Option<(ModelKind, u32, Span)> = None;
    let mut settings = Settings::new(name);
    let mut initial: Vec<(&'static str, String)> = Vec::new();
    for decl in decls {
        let Some(info) = find(&decl.name.text) else {
            out.push(unknown(&decl.name));
            continue;
        };
        if info.value == Value::Later {
            let what = format!("%option {} is not in this version", info.name);
            out.push(Diagnostic::new(Code::E0005, decl.name.span, what));
            continue;
        }
        if !info.spec {
            let what = format!("`{}` cannot be set in a specification", info.name);
            out.push(
                Diagnostic::new(Code::E0601, decl.name.span, what).help(match info.models {
                    _ if info.value == Value::SharedSize => {
                        "write the size behind `%shared`, as in `%shared 64K { … }`"
                    }
                    [] => "write the number after the model, as in `%option eventServer 1000`",
                    _ => "write it after the model, as in `%option preforkServer 100 spare 5..20`",
                }),
            );
            continue;
        }
        if let Some((_, first)) = seen.iter().find(|(i, _)| i.name == info.name) {
            out.push(
                Diagnostic::new(
                    Code::E0605,
                    decl.name.span,
                    format!("%option {} is given twice", info.name),
                )
                .label(first.name.span, "first given here"),
            );
            continue;
        }
        if !words::check(info, decl, out) {
            continue;
        }
        let words: Vec<&str> = decl.values.iter().map(|v| v.text.as_str()).collect();
        let selected = info
            .selects
            .iter()
            .filter(|(w, _)| w.is_empty() || words.contains(w));
        settings
            .features
            .extend(selected.map(|(_, feature)| *feature));
        match info.value {
            Value::Model(kind) => {
                let count = words[0].parse().unwrap_or(1);
                if let Some((_, _, first)) = chosen {
                    out.push(
                        Diagnostic::new(Code::E0603, decl.name.span, "a second model")
                            .label(first, "the first is chosen here")
                            .help("a server has one model; `--model NAME` tries another"),
                    );
                } else {
                    chosen = Some((kind, count, decl.name.span));
                    if let Some((least, most)) = words.get(2).and_then(|w| words::spare(w)) {
                        initial.push(("minSpare", least.to_string()));
                        initial.push(("maxSpare", most.to_string()));
                    }
                }
            }
            Value::Word(_) if info.name == "framing" && words[0] == "message" => {
                settings.framing = Framing::Message;
            }
            Value::Word(_) if info.name == "matching" => {
                settings.strategy = match words[0] {
                    "code" => Strategy::Code,
                    "table" => Strategy::Table,
                    "apart" => Strategy::Standalone,
                    _ => Strategy::Auto,
                };
            }
            Value::Number { .. } if info.name == "matchingStates" => {
                settings.matching_states = words[0].parse().unwrap_or(settings.matching_states);
            }
            Value::Size { .. } if info.name == "matchingCode" => {
                settings.matching_code = words::size(words[0])
                    .and_then(|n| usize::try_from(n).ok())
                    .unwrap_or(settings.matching_code);
            }
            Value::Number { .. } if info.name == "priorities" => {
                settings.classes = words[0].parse().unwrap_or_default();
            }
            Value::Protocols => {
                settings.protocols = words.iter().map(ToString::to_string).collect();
            }
            Value::Flag if info.name == "caseless" => settings.caseless = true,
            Value::Word(_) if info.run => initial.push((info.name, words[0].to_string())),
            Value::Flag | Value::Word(_) | Value::Later => {}
            Value::Number { .. }
            | Value::Count { .. }
            | Value::Size { .. }
            | Value::Duration
            | Value::Text
            | Value::Log
            | Value::PerAddress
            | Value::Pairs
            | Value::Overload
            | Value::Quota
            | Value::ListenPriority
            | Value::FileCache
            | Value::Processors
            | Value::SharedSize
            | Value::Address
            | Value::Addresses => {
                initial.push((info.name, words.join(" ")));
            }
        }
        seen.push((info, decl));
    }
    exclusions::look(&seen, out);
    let at = seen.iter().find(|(info, _)| info.name == "overload");
    if let Some((kind, count, _)) = chosen {
        settings.model = kind;
        settings.max_clients = count;
    }
    if let Some(kind) = model {
        if chosen.is_none_or(|(k, _, _)| k != kind && kind != ModelKind::Script) {
            settings.max_clients = settings.max_clients.min(kind.most_clients());
        }
        settings.model = kind;
    }
    if let Some((info, decl)) = at.filter(|(info, _)| !info.models.contains(&settings.model)) {
        let what = format!(
            "`{}` is about what waits in a loop, and servers of the {} model have none",
            info.name,
            settings.model.row().name
        );
        let help = "their clients wait in the queue of the listening socket while maxClients are \
                    served; remove the option, or choose eventServer or uringServer";
        out.push(Diagnostic::new(Code::E0604, decl.name.span, what).help(help));
    }
    priorities::look(&seen, &settings, out);
    processors::look(&seen, &settings, out);
    idle::look(&seen, chosen, &settings, out);
    settings.run = run_options(&settings, &initial);
    settings
}

fn spares(settings: &Settings) -> (u32, u32) {
    settings.model.row().spares.unwrap_or_default()
}

fn run_options(settings: &Settings, initial: &[(&'static str, String)]) -> Vec<RunOption> {
    OPTIONS
        .iter()
        .filter(|o| o.run && o.value != Value::Later)
        .filter(|o| o.models.is_empty() || o.models.contains(&settings.model))
        .filter(|o| {
            !(settings.features.contains(Feature::Inetd)
                && matches!(o.name, "serverPort" | "listen" | "accessLog" | "errorLog"))
        })
        .map(|info| {
            let given = initial
                .iter()
                .find(|(n, _)| *n == info.name)
                .map(|(_, v)| v.clone());
            let default = match info.name {
                "maxClients" => settings.max_clients.to_string(),
                "serverName" => settings.name.clone(),
                "quota" => priorities::quota(settings.classes),
                "minSpare" => spares(settings).0.to_string(),
                "maxSpare" => spares(settings).1.to_string(),
                _ => info.default.to_string(),
            };
            RunOption {
                info,
                initial: given.unwrap_or(default),
            }
        })
        .collect()
}

fn unknown(name: &Name) -> Diagnostic {
    let d = Diagnostic::new(
        Code::E0601,
        name.span,
        format!("there is no option `{}`", name.text),
    );
    if let Some((known, value)) = name.text.split_once(['=', ':'])
        && find(known).is_some()
    {
        let value = if value.is_empty() { "VALUE" } else { value };
        return d.help(format!("write `%option {known} {value}`"));
    }
    if name.text == "fiberServer" {
        return d.help(
            "use eventServer: an action that waits has a stack of its own there, as a fiber has",
        );
    }
    match nearest(&name.text, OPTIONS.iter().map(|o| o.name)) {
        Some(n) => d.help(format!("did you mean `{n}`?")),
        None => d,
    }
}
