//! The reference says of options and directives what the compiler's tables say.

use nest_c::directives::{DIRECTIVES, Form};
use nest_machine::options::{OPTIONS, Value};

const REFERENCE: &str = include_str!("../../../../docs/language.md");

/// The text of a chapter, from its heading to the next.
fn chapter(title: &str) -> &'static str {
    let heading = format!(". {title}\n");
    let from = REFERENCE.find(&heading).expect(title);
    let rest = &REFERENCE[from + heading.len()..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// The table row whose first cell begins with the word.
fn row<'t>(table: &'t str, word: &str) -> Option<Vec<&'t str>> {
    table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .find(|cells: &Vec<&str>| {
            let name = cells[0].trim_start_matches('`');
            name.split([' ', '`']).next() == Some(word)
        })
}

/// Whether the text has the word between characters that no word has.
fn mentions(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

#[test]
fn options() {
    let (now, later) = (chapter("Options"), chapter("Not in this version"));
    for option in OPTIONS {
        let name = option.name;
        if option.value == Value::Later {
            assert!(
                mentions(later, name),
                "{name} is not listed as not in this version"
            );
            continue;
        }
        if !option.spec {
            assert!(
                mentions(now, name),
                "{name} is not mentioned among the options"
            );
            continue;
        }
        let cells = row(now, name).unwrap_or_else(|| panic!("no row for {name}"));
        let model = matches!(option.value, Value::Model(_));
        assert_eq!(cells[3] == "yes", option.run, "{name}: at run time");
        if !option.default.is_empty() && !model {
            assert_eq!(cells[2], option.default, "{name}: its default");
        }
    }
}

#[test]
fn directives() {
    let now = chapter("Directives");
    for directive in DIRECTIVES {
        let name = format!("${}", directive.name);
        assert!(mentions(now, &name), "{name} is not among the directives");
        let states = matches!(directive.form, Form::States { .. } | Form::OneState);
        let own = directive.c.starts_with("nest_") && directive.form != Form::Plain;
        if own && !states {
            assert!(
                mentions(now, directive.c),
                "{name}: {} is not named",
                directive.c
            );
        }
    }
}
