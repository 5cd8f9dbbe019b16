//! The search index of the book: the sections of all pages, as a script that search.js loads.
//!
//! Must not know: how the search works.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::page::Page;
use super::paths::address;

/// The script: for each section its address, its page, its title and its text.
pub fn index(pages: &BTreeMap<PathBuf, Page>) -> String {
    let mut rows = Vec::new();
    for (source, page) in pages {
        for section in &page.sections {
            let address = format!("{}#{}", address(source).display(), section.id);
            let row =
                [&address, &page.title, &section.title, &section.text].map(|text| quoted(text));
            rows.push(format!("[{}]", row.join(",")));
        }
    }
    format!("window.nestBook = [\n{}\n];\n", rows.join(",\n"))
}

/// A JavaScript string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                out += &format!("\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::book::sections::Section;

    #[test]
    fn sections_have_what_stands_in_them() {
        let text =
            "# A `b`\n\nOne *two*,\nthree.\n\n## C\n\n```nest\n\"x\\n\"\n```\n\n- four\n- five\n";
        let page = super::super::page::page(Path::new("docs/a.md"), text);
        let section = |title: &str, id: &str, text: &str| Section {
            title: title.to_owned(),
            id: id.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(
            page.sections,
            [
                section("A b", "a-b", "One two, three."),
                section("C", "c", "\"x\\n\" four five"),
            ]
        );
        let script = index(&BTreeMap::from([(PathBuf::from("docs/a.md"), page)]));
        assert!(
            script.contains("[\"a.html#c\",\"A b\",\"C\",\"\\\"x\\\\n\\\" four five\"]"),
            "{script}"
        );
    }
}
