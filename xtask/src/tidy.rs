//! Checks the project's rules that a program can check; CONTRIBUTING.md has the reasons.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::imports;
use crate::tool::{self, Outcome, has_extension};
use crate::wording;

/// The maximum length of a file.
const LONGEST: usize = 600;

/// Preprocessor conditions that are allowed outside of `runtime/platform/`: file, tested macro.
/// Users' compilers, including C++ compilers, read the public header.
const CONDITIONS: &[(&str, &str)] = &[
    ("runtime/nest.h", "__cplusplus"),
    ("runtime/nest.h", "__GNUC__"),
];

/// Checks all rules and reports every violation.
pub fn tidy() -> Outcome {
    let files = tool::files(".")?;
    let mut found = Vec::new();
    let mut checked = 0;
    let untested = untested(&files);
    for path in &files {
        let Some(text) = tool::text(path) else {
            continue;
        };
        checked += 1;
        wording::words(path, &text, &mut found);
        if !has_extension(path, &["lock"]) {
            unfinished(path, &text, &mut found);
        }
        if has_extension(path, &["rs", "c", "h", "py", "sh"]) {
            length(path, &text, &mut found);
            header(path, &text, &mut found);
        }
        if has_extension(path, &["rs"]) {
            let silent = untested.iter().any(|folder| path.starts_with(folder));
            unrun(path, &text, silent, &mut found);
        }
        if path.starts_with("runtime") && has_extension(path, &["c", "h"]) {
            conditions(path, &text, &mut found);
        }
        if path.starts_with("runtime/service") && has_extension(path, &["c"]) {
            scopes(path, &text, &mut found);
        }
    }
    unnamed(&files, &mut found);
    pages(&mut found)?;
    let subjects = wording::subjects(&mut found);
    found.extend(imports::circles()?);
    if found.is_empty() {
        Ok(format!("{checked} files, {subjects}"))
    } else {
        Err(format!(
            "{}\n{} breaches of the house rules",
            found.join("\n"),
            found.len()
        ))
    }
}

/// Checks that the C code of the runtime and of connection conditioning is formatted by clang-format.
pub fn c_format() -> Outcome {
    let mut files = tool::files("runtime")?;
    files.extend(tool::files("conditioning")?);
    files.extend(tool::files("kernel/bpf")?);
    files.retain(|path| has_extension(path, &["c", "h"]));
    let mut command = Command::new("clang-format");
    command
        .args(["--dry-run", "-Werror"])
        .args(&files)
        .current_dir(tool::root());
    let output = command.output().map_err(|e| tool::absent(&command, &e))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(format!("{} files", files.len()));
    }
    // It names each place: `FILE:LINE:COLUMN: error: …`.
    let unformatted: BTreeSet<&str> = said
        .lines()
        .filter(|line| line.contains(": error: "))
        .filter_map(|line| line.split(':').next())
        .collect();
    if unformatted.is_empty() {
        return Err(format!("clang-format failed: {}\n{said}", output.status));
    }
    let names: Vec<&str> = unformatted.into_iter().collect();
    Err(format!(
        "not formatted; run: clang-format -i {}",
        names.join(" ")
    ))
}

fn breach(path: &Path, line: usize, what: &str) -> String {
    format!("{}:{line}: {what}", path.display())
}

fn unfinished(path: &Path, text: &str, found: &mut Vec<String>) {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    for (i, line) in text.lines().enumerate() {
        let word = |w: &str| {
            w.trim_matches(|c: char| !c.is_ascii_alphabetic())
                .to_owned()
        };
        if line
            .split_whitespace()
            .any(|w| marks.contains(&word(w).as_str()))
        {
            // The rule itself may be mentioned.
            if !line.contains(&marks.join("/")) && !line.contains(&format!("`{}`", marks[0])) {
                found.push(breach(path, i + 1, "something is left to do"));
            }
        }
    }
}

fn length(path: &Path, text: &str, found: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LONGEST {
        let what = format!("{lines} lines; split it by responsibility, the limit is {LONGEST}");
        found.push(breach(path, lines, &what));
    }
}

fn header(path: &Path, text: &str, found: &mut Vec<String>) {
    let mut lines = text
        .lines()
        .skip_while(|l| l.starts_with("#!") || l.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let fits = if has_extension(path, &["rs"]) {
        first.starts_with("//!")
    } else if has_extension(path, &["c", "h"]) {
        first.starts_with("/*")
    } else if has_extension(path, &["py"]) {
        first.starts_with("\"\"\"") || first.starts_with('#')
    } else {
        first.starts_with('#')
    };
    let package = path.file_name().is_some_and(|n| n == "__init__.py") && text.trim().is_empty();
    if !fits && !package {
        found.push(breach(
            path,
            1,
            "the first lines do not say what the file is for",
        ));
    }
}

/// Crates whose unit tests cargo neither builds nor runs.
fn untested(files: &[PathBuf]) -> Vec<PathBuf> {
    let manifests = files.iter().filter(|path| path.ends_with("Cargo.toml"));
    let silent = manifests.filter(|path| {
        let text = tool::text(path).unwrap_or_default();
        text.lines().any(|line| line == "test = false")
    });
    silent
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect()
}

/// What cargo is told not to look for must not be there: examples in documentation, which are a program each,
/// and, if `silent`, unit tests.
fn unrun(path: &Path, text: &str, silent: bool, found: &mut Vec<String>) {
    let mut inside = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        if let Some(fence) = comment.and_then(|text| text.trim().strip_prefix("```")) {
            inside = !inside;
            if inside && fence != "text" {
                let what = "an example in documentation, which is not run; write a test";
                found.push(breach(path, i + 1, what));
            }
        }
        if silent && line == "#[test]" && !path.iter().any(|part| part == "tests") {
            let what = "a unit test of a crate whose Cargo.toml has `test = false`";
            found.push(breach(path, i + 1, what));
        }
    }
}

/// A part of a program of tests is compiled only if its `main.rs` names it.
fn unnamed(files: &[PathBuf], found: &mut Vec<String>) {
    for main in files {
        let Some(folder) = main.parent().filter(|_| main.ends_with("main.rs")) else {
            continue;
        };
        if !folder
            .parent()
            .is_some_and(|tests| tests.ends_with("tests"))
        {
            continue;
        }
        let text = tool::text(main).unwrap_or_default();
        let parts = files
            .iter()
            .filter(|path| *path != main && has_extension(path, &["rs"]));
        for part in parts {
            let named = if part.ends_with("mod.rs") {
                part.parent().unwrap_or(part)
            } else {
                part
            };
            let name = named.file_stem().unwrap_or_default().to_string_lossy();
            let line = format!("mod {name};");
            if named.parent() == Some(folder) && !text.lines().any(|other| other == line) {
                let what = format!("{} does not name it, so nobody compiles it", main.display());
                found.push(breach(part, 1, &what));
            }
        }
    }
}

/// Only the platform may contain conditions for systems. Elsewhere only guards against a second
/// inclusion or definition are allowed (`#ifndef X`, `#define X`).
fn conditions(path: &Path, text: &str, found: &mut Vec<String>) {
    if path.starts_with("runtime/platform") {
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut open = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(directive) = line.trim_start().strip_prefix('#').map(str::trim_start) else {
            continue;
        };
        let word = directive
            .split(|c: char| !c.is_ascii_alphabetic())
            .next()
            .unwrap_or_default();
        let allowed = match word {
            "if" | "ifdef" | "ifndef" => {
                let tested = directive[word.len()..]
                    .split_whitespace()
                    .next()
                    .unwrap_or_default();
                let guard = word == "ifndef"
                    && lines.get(i + 1).is_some_and(|next| {
                        let mut next = next.split_whitespace();
                        next.next() == Some("#define") && next.next() == Some(tested)
                    });
                let known = CONDITIONS
                    .iter()
                    .any(|(file, name)| path == Path::new(file) && line.contains(name));
                open.push(guard || known);
                guard || known
            }
            "else" | "elif" => open.last().copied().unwrap_or(false),
            "endif" => {
                open.pop();
                true
            }
            _ => true,
        };
        if !allowed {
            found.push(breach(
                path,
                i + 1,
                "a condition of the preprocessor outside the platform",
            ));
        }
    }
}

/// A variable of a service must state its scope: `scope: thread`, `process` or `server`.
fn scopes(path: &Path, text: &str, found: &mut Vec<String>) {
    let mut before = "";
    for (i, line) in text.lines().enumerate() {
        let declared = line.strip_prefix("static ").is_some_and(|rest| {
            let head = rest.split(['=', ';']).next().unwrap_or_default();
            !rest.starts_with("const ") && !rest.starts_with("inline ") && !head.contains('(')
        });
        if declared && !line.contains("scope:") && !before.contains("scope:") {
            found.push(breach(
                path,
                i + 1,
                "a static variable without a comment 'scope: ...'",
            ));
        }
        before = line;
    }
}

/// Every diagnostic must have a page, and every page a diagnostic.
fn pages(found: &mut Vec<String>) -> Result<(), String> {
    let list = Path::new("crates/nest-diag/src/codes.rs");
    let text = tool::text(list).ok_or("cannot read the list of diagnostic codes")?;
    let mut titles: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(code), Some(kind)) = (words.next(), words.next()) else {
            continue;
        };
        if code.len() == 5 && ["Error", "Warning"].contains(&kind) {
            let title = line.split('"').nth(1).unwrap_or_default();
            titles.push((code.to_owned(), title.to_owned()));
        }
    }
    if titles.is_empty() {
        return Err(format!(
            "{} lists no code that tidy can read",
            list.display()
        ));
    }
    let dir = Path::new("crates/nest-diag/codes");
    for (code, title) in &titles {
        let path = dir.join(format!("{code}.md"));
        let page = tool::text(&path).unwrap_or_default();
        if page.lines().next() != Some(&format!("# {code}: {title}")) {
            found.push(breach(
                &path,
                1,
                &format!("the first line must be '# {code}: {title}'"),
            ));
        }
        if page.lines().filter(|l| !l.trim().is_empty()).count() < 3 {
            found.push(breach(&path, 1, "the page explains nothing"));
        }
    }
    let known: BTreeSet<String> = titles.into_iter().map(|(code, _)| code).collect();
    for path in tool::files("crates/nest-diag/codes")? {
        let stem = path
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        if !known.contains(&stem) {
            found.push(breach(&path, 1, "a page without a code"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(rule: fn(&Path, &str, &mut Vec<String>), path: &str, text: &str) -> usize {
        let mut found = Vec::new();
        rule(Path::new(path), text, &mut found);
        found.len()
    }

    #[test]
    fn guards_are_no_conditions() {
        let guard = "#ifndef A_H\n#define A_H\n#endif\n";
        assert_eq!(breaches(conditions, "runtime/a.h", guard), 0);
        assert_eq!(
            breaches(
                conditions,
                "runtime/a.h",
                "#ifdef __linux__\n#else\n#endif\n"
            ),
            2
        );
        assert_eq!(
            breaches(conditions, "runtime/platform/a.h", "#if 1\n#endif\n"),
            0
        );
        assert_eq!(breaches(conditions, "runtime/a.c", "#  if A\n"), 1);
    }

    #[test]
    fn statics_say_their_scope() {
        assert_eq!(breaches(scopes, "f.c", "static int n;\n"), 1);
        assert_eq!(
            breaches(scopes, "f.c", "static int n; /* scope: process */\n"),
            0
        );
        assert_eq!(
            breaches(
                scopes,
                "f.c",
                "static int f(void) {\nstatic const int a = 1;\n"
            ),
            0
        );
    }

    #[test]
    fn files_say_what_they_are_for() {
        assert_eq!(breaches(header, "a.rs", "//! It.\n"), 0);
        assert_eq!(breaches(header, "a.rs", "use it;\n"), 1);
        assert_eq!(
            breaches(header, "a.py", "#!/usr/bin/env python3\n\"\"\"It.\"\"\"\n"),
            0
        );
        assert_eq!(breaches(header, "a.c", "#include <a.h>\n"), 1);
    }

    #[test]
    fn what_is_not_run_is_found() {
        let breaches = |path: &str, text: &str, silent| {
            let mut found = Vec::new();
            unrun(Path::new(path), text, silent, &mut found);
            found.len()
        };
        let example = "/// ```\n/// f();\n/// ```\nfn f() {}\n";
        assert_eq!(breaches("a/src/b.rs", example, false), 1);
        let shown = "//! ```text\n//! ```\n/// ```rust\n/// ```\n";
        assert_eq!(breaches("a/src/b.rs", shown, false), 1);
        let test = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn f() {}\n}\n";
        assert_eq!(breaches("a/src/b.rs", test, true), 1);
        assert_eq!(breaches("a/src/b.rs", test, false), 0);
        assert_eq!(breaches("a/tests/b.rs", test, true), 0);
        assert_eq!(
            untested(&["crates/nest-syntax/Cargo.toml".into()]),
            [PathBuf::from("crates/nest-syntax")]
        );
    }

    #[test]
    fn parts_of_tests_that_are_not_named_are_found() {
        let folder = Path::new("crates/nest-check/tests/check");
        let files = [
            "main.rs",
            "bounds.rs",
            "globals/mod.rs",
            "globals/pointers.rs",
        ];
        let mut files: Vec<PathBuf> = files.map(|name| folder.join(name)).into();
        let mut found = Vec::new();
        unnamed(&files, &mut found);
        assert_eq!(found, Vec::<String>::new());
        files.extend(["nobody.rs", "none/mod.rs"].map(|name| folder.join(name)));
        unnamed(&files, &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn what_is_left_is_found() {
        assert_eq!(
            breaches(unfinished, "a", &format!("// {}: x\n", concat!("TO", "DO"))),
            1
        );
        assert_eq!(breaches(unfinished, "a", "mastodon\n"), 0);
        assert_eq!(breaches(length, "a.c", &"\n".repeat(601)), 1);
        assert_eq!(breaches(length, "a.c", &"\n".repeat(600)), 0);
    }
}
