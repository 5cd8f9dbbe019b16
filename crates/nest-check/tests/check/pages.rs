//! What the documents show is true, the checker's findings included: every page of a diagnostic code has an example that draws
//! exactly that code and a corrected one that compiles, and so does every specification in
//! `docs/`, the README and the examples.

use nest_check::{Finding, check, looks_for, settle};
use nest_diag::{Code, Severity, render_text};
use nest_machine::first::first;
use nest_machine::kept::kept;
use nest_machine::{Compiled, Overrides, compile};
use nest_syntax::Loader;
use std::path::{Path, PathBuf};

/// Codes whose pages show a command: a file that cannot be read never gets here, and a NUL byte
/// can stand in no page.
const WITHOUT_SPECIFICATION: &[Code] = &[Code::E0001, Code::E0002];

/// Codes that only filters draw: the examples are servers without a mistake.
const OF_FILTERS: &[Code] = &[Code::E0701, Code::E0702, Code::E0703];

/// The files that examples include. `example.nest` is the example itself.
struct Beside<'a> {
    example: &'a str,
}

impl Loader for Beside<'_> {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        match path {
            "example.nest" => Ok((path.to_string(), self.example.to_string())),
            "common.nest" => Ok((path.to_string(), "NL \"\\r\"?\"\\n\"\n%%\n".to_string())),
            _ => Err("there is no such file".to_string()),
        }
    }
}

/// The files beside an example in the project.
struct Folder(PathBuf);

impl Loader for Folder {
    fn load(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        let name = PathBuf::from(from).with_file_name(path);
        let text = std::fs::read_to_string(self.0.join(&name)).map_err(|e| e.to_string())?;
        Ok((name.to_string_lossy().into_owned(), text))
    }
}

fn compiled(text: &str) -> Compiled {
    let mut beside = Beside { example: text };
    let overrides = Overrides::default();
    checked(compile("example.nest", text, &mut beside, &overrides))
}

/// With what a filter of the specification draws.
fn filtered(outcome: &mut Compiled) {
    let machine = outcome
        .machine
        .as_ref()
        .expect("a server without a mistake");
    let found = first(machine).err().into_iter().chain(kept(machine));
    outcome.diagnostics.extend(found);
}

/// With the checker's findings.
fn checked(mut outcome: Compiled) -> Compiled {
    if let Some(machine) = &outcome.machine {
        let reported = std::mem::take(&mut outcome.diagnostics).into_iter();
        let mut found: Vec<Finding> = reported.map(Finding::from).collect();
        found.extend(check(machine));
        let (found, _) = settle(found, &outcome.sources, &mut outcome.allows, looks_for);
        outcome.diagnostics = found.into_iter().map(|f| f.diagnostic).collect();
    }
    outcome
}

fn shown(compiled: &Compiled) -> String {
    render_text(&compiled.sources, &compiled.diagnostics, false)
}

/// The inside of each fence that begins with exactly this line.
fn fences(markdown: &str, opening: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside: Option<(bool, String)> = None;
    for line in markdown.lines() {
        inside = match inside {
            None if line.starts_with("```") => Some((line == opening, String::new())),
            None => None,
            Some((wanted, text)) if line == "```" => {
                if wanted {
                    found.push(text);
                }
                None
            }
            Some((wanted, text)) => Some((wanted, text + line + "\n")),
        };
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn every_example_draws_its_code_and_every_correction_compiles() {
    let mut wrong = Vec::new();
    for code in Code::ALL {
        if WITHOUT_SPECIFICATION.contains(code) {
            continue;
        }
        let name = code.name();
        let bad = &fences(code.page(), "```nest")[0];
        let fixed = &fences(code.page(), "```nest fixed")[0];

        let mut outcome = compiled(bad);
        if OF_FILTERS.contains(code) {
            filtered(&mut outcome);
        }
        let drawn: Vec<Code> = outcome.diagnostics.iter().map(|d| d.code).collect();
        let alone = match code.severity() {
            Severity::Error => outcome
                .diagnostics
                .iter()
                .filter(|d| d.is_error())
                .all(|d| d.code == *code),
            Severity::Warning => outcome.machine.is_some(),
        };
        if !drawn.contains(code) || !alone {
            let text = shown(&outcome);
            wrong.push(format!("{name}: its example draws {drawn:?}\n{text}"));
        }

        let mut outcome = compiled(fixed);
        if OF_FILTERS.contains(code) {
            filtered(&mut outcome);
        }
        if outcome.machine.is_none() || !outcome.diagnostics.is_empty() {
            let text = shown(&outcome);
            wrong.push(format!(
                "{name}: the corrected example is not clean\n{text}"
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_nul_byte_draws_its_code() {
    let drawn = |text| {
        compiled(text)
            .diagnostics
            .iter()
            .map(|d| d.code)
            .collect::<Vec<_>>()
    };
    assert_eq!(drawn("%%\n\"QUIT\0\" \"\\n\" { }\n"), [Code::E0002]);
    assert_eq!(drawn("%%\n\"QUIT\\0\" \"\\n\" { }\n"), []);
}

#[test]
fn every_specification_in_the_documents_compiles() {
    let mut count = 0;
    for file in ["docs/language.md", "docs/architecture.md", "README.md"] {
        for specification in fences(&read(&root().join(file)), "```nest") {
            count += 1;
            let outcome = compiled(&specification);
            assert!(
                outcome.machine.is_some() && outcome.diagnostics.is_empty(),
                "{file}:\n{specification}\n{}",
                shown(&outcome)
            );
        }
    }
    assert!(count > 10, "only {count} specifications were found");
}

#[test]
fn every_example_compiles_in_every_model() {
    let mut count = 0;
    for folder in std::fs::read_dir(root().join("examples")).expect("there are examples") {
        let folder = folder.expect("the folder is readable").path();
        let Some(name) = folder.file_name().and_then(|n| n.to_str()) else {
            continue;
        };
        if !folder.is_dir() {
            continue;
        }
        count += 1;
        let text = read(&folder.join(format!("{name}.nest")));
        for model in nest_machine::MODELS {
            let overrides = Overrides {
                model: Some(model.name.to_string()),
                ..Overrides::default()
            };
            let outcome = checked(compile(
                name,
                &text,
                &mut Folder(folder.clone()),
                &overrides,
            ));
            assert!(
                outcome.machine.is_some() && outcome.diagnostics.is_empty(),
                "{name} in the {} model:\n{}",
                model.name,
                shown(&outcome)
            );
        }
    }
    assert!(count >= 4, "only {count} examples were found");
}
