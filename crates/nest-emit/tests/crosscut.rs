//! The page docs/crosscut.md: which files of the runtime each option and directive adds, and replaces.
//! It is made from the tables of options, directives and files.
//!
//! `NEST_WRITE=1 cargo test -p nest-emit --test crosscut` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use nest_c::directives::DIRECTIVES;
use nest_machine::options::OPTIONS;
use nest_machine::{MODELS, Model};
use nest_runtime::{Feature, Features, Server, needed};

const HEAD: &str = "# Which files an option adds

A server contains the files of the runtime that its model, its options and its directives need. This page lists what
each of them adds to a server that has none of the others, and what it replaces: where some part calls a service by name, a
file `none.c` or `NAME_none.c` takes its place in servers without it. An option whose files are all in one folder of
`service/` is one place in the code.

The page is generated from the tables of options, directives and files, and a test compares it with them.
[Architecture](architecture.md) describes the folders.
";

/// The files of a server of this model with these features.
fn files(model: &Model, features: &[Feature]) -> BTreeSet<&'static str> {
    let features: Features = features.iter().copied().collect();
    let server = Server {
        poller: model.io,
        workers: model.workers,
        features,
    };
    needed(&server).iter().map(|file| file.path).collect()
}

fn model(name: &str) -> &'static Model {
    let mut all = MODELS.iter();
    all.find(|model| model.name == name)
        .expect("a model of that name")
}

/// `service/log/: format.c, log.c; loop/: wait.c`.
fn listed(paths: &BTreeSet<&str>) -> String {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        folders.entry(folder).or_default().push(name);
    }
    let texts = folders.iter().map(|(folder, names)| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("`{folder}/`: {}", names.join(" "))
    });
    let all = texts.collect::<Vec<_>>().join("; ");
    if all.is_empty() {
        "–".to_owned()
    } else {
        all
    }
}

/// What a server with the features has, and the one without them has not; and the other way round: the
/// lines of a table behind the first column. For the event model, and the others where they differ.
fn lines(features: &[Feature]) -> Vec<String> {
    let changes = |name: &str| {
        let (with, without) = (files(model(name), features), files(model(name), &[]));
        let [added, replaced] = [&with - &without, &without - &with];
        (!(added.is_empty() && replaced.is_empty()))
            .then(|| format!("{} | {} |", listed(&added), listed(&replaced)))
    };
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for model in ["event", "uring", "process"] {
        if let Some(text) = changes(model) {
            match found.iter_mut().find(|(known, _)| *known == text) {
                Some((_, models)) => models.push(model),
                None => found.push((text, vec![model])),
            }
        }
    }
    let lines = found.into_iter();
    lines
        .map(|(text, models)| format!("{} | {text}", models.join(", ")))
        .collect()
}

/// A table; rows that say the same become one.
fn table(page: &mut String, first: &str, rows: Vec<(String, Vec<Feature>)>) {
    let mut merged: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (name, features) in rows {
        let lines = lines(&features);
        match merged.iter_mut().find(|(_, known)| *known == lines) {
            Some((names, _)) => names.push(name),
            None => merged.push((vec![name], lines)),
        }
    }
    let _ = writeln!(
        page,
        "\n| {first} | models | adds | replaces |\n|---|---|---|---|"
    );
    for (names, lines) in merged.iter().filter(|(_, lines)| !lines.is_empty()) {
        for (i, line) in lines.iter().enumerate() {
            let name = if i == 0 {
                names.join(", ")
            } else {
                String::new()
            };
            let _ = writeln!(page, "| {name} | {line}");
        }
    }
    if let Some((names, _)) = merged.iter().find(|(_, lines)| lines.is_empty()) {
        let _ = writeln!(
            page,
            "\nThese add no file, because the generated code alone depends on them: {}.",
            names.join(", ")
        );
    }
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    page += "\n## Options\n";
    let mut rows = Vec::new();
    for option in OPTIONS {
        for (word, feature) in option.selects {
            let name = format!("`{}`", [option.name, word].join(" ").trim_end());
            rows.push((name, vec![*feature]));
        }
    }
    table(&mut page, "option", rows);
    page += "\n## Directives\n";
    let mut by_feature: BTreeMap<Feature, Vec<String>> = BTreeMap::new();
    for directive in DIRECTIVES {
        if let Some(feature) = nest_c::directives::feature(directive.c) {
            let names = by_feature.entry(feature).or_default();
            names.push(format!("`${}`", directive.name));
        }
    }
    let rows = by_feature
        .into_iter()
        .map(|(feature, names)| (names.join(" "), vec![feature]));
    table(&mut page, "directives", rows.collect());
    page += "\n## Models\n\nThe files that a model has and the event model has not, and the other way round:\n";
    page += "\n| model | adds | replaces |\n|---|---|---|\n";
    let event = files(model("event"), &[]);
    for model in MODELS.iter().filter(|model| model.name != "event") {
        let own = files(model, &[]);
        let (added, replaced) = (listed(&(&own - &event)), listed(&(&event - &own)));
        let _ = writeln!(page, "| `{}` | {added} | {replaced} |", model.name);
    }
    page
}

#[test]
fn the_page_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/crosscut.md");
    let page = page();
    if std::env::var_os("NEST_WRITE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page,
        "docs/crosscut.md is out of date; NEST_WRITE=1 cargo test -p nest-emit --test crosscut writes it anew"
    );
}

/// A service that an option selects is one folder, beside files that stand for it where it is not.
#[test]
fn an_option_of_a_service_is_one_place() {
    for (name, features) in [
        ("perAddress", Feature::PerAddress),
        ("overload", Feature::Overload),
        ("metrics", Feature::Metrics),
        ("actionTimeout", Feature::Overrun),
    ] {
        let (with, without) = (
            files(model("event"), &[features]),
            files(model("event"), &[]),
        );
        let implied: Vec<Feature> = features.implied().to_vec();
        let beside = files(model("event"), &implied);
        let added = &(&with - &without) - &beside;
        let folders: BTreeSet<&str> = added
            .iter()
            .filter_map(|p| p.rsplit_once('/'))
            .map(|(f, _)| f)
            .collect();
        assert_eq!(folders.len(), 1, "{name}: {added:?}");
    }
}
