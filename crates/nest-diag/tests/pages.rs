//! The pages are whole: every code has one, in the one form that readers and tools rely on.

use nest_diag::{Code, Severity};

/// Codes about files as such, which no text of a specification can draw: a command shows them.
const WITHOUT_SPECIFICATION: &[Code] = &[Code::E0001, Code::E0002];

#[test]
fn every_page_has_its_form() {
    let mut wide = Vec::new();
    for code in Code::ALL {
        let (name, page) = (code.name(), code.page());
        let title = format!("# {name}: {}\n\n", code.title());
        assert!(
            page.starts_with(&title),
            "{name}: the page must begin with {title:?}"
        );
        assert!(page.ends_with("\n```\n"), "{name}: an example comes last");
        wide.extend(
            page.lines()
                .filter(|line| line.len() > 100)
                .map(|line| (name, line)),
        );
        let fences: Vec<&str> = page
            .lines()
            .filter(|line| line.starts_with("```") && *line != "```")
            .collect();
        let expected: &[&str] = if WITHOUT_SPECIFICATION.contains(code) {
            &["```sh"]
        } else {
            &["```nest", "```nest fixed"]
        };
        assert_eq!(fences, expected, "{name}: its fences");
        let ends = page.lines().filter(|line| *line == "```").count();
        assert_eq!(ends, expected.len(), "{name}: every fence ends");
        let words = page
            .split("```")
            .next()
            .map_or(0, |text| text.split_whitespace().count());
        assert!(words >= 30, "{name}: only {words} words before the example");
        let letter = if code.severity() == Severity::Error {
            'E'
        } else {
            'W'
        };
        assert!(name.starts_with(letter), "{name}: letter and severity");
        assert_eq!(Code::from_name(&name.to_lowercase()), Some(*code));
    }
    assert!(wide.is_empty(), "lines over 100 columns: {wide:?}");
    assert_eq!(Code::from_name("E9999"), None);
}
