//! No module of a crate imports in a circle: each can be read with nothing but what stands below it.
//!
//! The graph is read from the text: paths of `use`, and paths in code that begin with `crate`, `super`,
//! `self` or a module below. Calls of methods are not seen, nor what stands in tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::tool::{self, has_extension};

/// A module: its path from the crate's root, which is empty itself.
type Module = Vec<String>;

/// The modules that each module names.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// One circle of each crate that has some, as a sentence.
pub fn circles() -> Result<Vec<String>, String> {
    let mut crates: BTreeMap<String, Vec<(Module, String)>> = BTreeMap::new();
    for path in tool::files(".")? {
        let name = path.to_string_lossy().replace('\\', "/");
        let Some((root, inside)) = name.split_once("/src/") else {
            continue;
        };
        if has_extension(&path, &["rs"])
            && let Some(text) = tool::text(&path)
        {
            let all = crates.entry(root.to_owned()).or_default();
            all.push((module(inside), text));
        }
    }
    let mut found = Vec::new();
    for (root, files) in crates {
        if let Some(circle) = circle(&graph(&files)) {
            let names: Vec<String> = circle.iter().map(shown).collect();
            found.push(format!(
                "{root}: modules import in a circle: {}",
                names.join(" -> ")
            ));
        }
    }
    Ok(found)
}

fn shown(module: &Module) -> String {
    match module.as_slice() {
        [] => "the root".to_owned(),
        names => names.join("::"),
    }
}

/// `a/b.rs` and `a/b/mod.rs` are `a::b`.
fn module(file: &str) -> Module {
    let path = Path::new(file).with_extension("");
    let mut names: Module = path
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if matches!(
        names.last().map(String::as_str),
        Some("mod" | "lib" | "main")
    ) {
        names.pop();
    }
    names
}

fn graph(files: &[(Module, String)]) -> Graph {
    let known: BTreeSet<&Module> = files.iter().map(|(module, _)| module).collect();
    let mut graph = Graph::new();
    for (here, text) in files {
        let words = words(text);
        let named = paths(&words).into_iter().filter_map(|path| {
            let to = target(here, &path, &known)?;
            (to != *here).then_some(to)
        });
        graph.entry(here.clone()).or_default().extend(named);
    }
    graph
}

/// The module that a path leads into; nothing if it leads out of the crate.
fn target(here: &Module, path: &[String], known: &BTreeSet<&Module>) -> Option<Module> {
    let mut rest = path;
    let mut at = here.clone();
    match path.first().map(String::as_str)? {
        "crate" => {
            at.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        name => {
            let mut below = here.clone();
            below.push(name.to_owned());
            if !known.contains(&below) {
                return None;
            }
        }
    }
    for name in rest {
        at.push(name.clone());
        if !known.contains(&at) {
            at.pop();
            break;
        }
    }
    Some(at)
}

/// A circle, from a module back to it.
fn circle(graph: &Graph) -> Option<Vec<Module>> {
    let mut done: BTreeSet<&Module> = BTreeSet::new();
    graph
        .keys()
        .find_map(|from| visit(graph, from, &mut Vec::new(), &mut done))
}

fn visit<'g>(
    graph: &'g Graph,
    at: &'g Module,
    path: &mut Vec<&'g Module>,
    done: &mut BTreeSet<&'g Module>,
) -> Option<Vec<Module>> {
    if let Some(first) = path.iter().position(|module| *module == at) {
        let circle = path[first..].iter().chain([&at]);
        return Some(circle.map(|module| (*module).clone()).collect());
    }
    if done.contains(at) {
        return None;
    }
    path.push(at);
    let below = graph.get(at).into_iter().flatten();
    let found = below
        .into_iter()
        .find_map(|to| visit(graph, to, path, done));
    path.pop();
    done.insert(at);
    found
}

/// The names and signs of a text; comments, literals and what stands behind `mod tests` are left out.
fn words(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    let bytes = text.as_bytes();
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text.as_bytes()[at..];
        at += match rest[0] {
            b'/' if rest.starts_with(b"//") => length(rest, |b| b != b'\n'),
            b'"' => literal(rest),
            // A character; a lifetime has no quote behind it.
            b'\'' if rest.len() > 3 && rest[1] == b'\\' => {
                3 + length(&rest[3..], |b| b != b'\'') + 1
            }
            b'\'' if rest.get(2) == Some(&b'\'') => 3,
            b':' if rest.starts_with(b"::") => {
                found.push("::".to_owned());
                2
            }
            b if is_name(b) => {
                let end = length(rest, is_name);
                found.push(String::from_utf8_lossy(&rest[..end]).into_owned());
                end
            }
            b => {
                if !b.is_ascii_whitespace() {
                    found.push(char::from(b).to_string());
                }
                1
            }
        };
    }
    found
}

fn length(bytes: &[u8], keep: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|b| !keep(*b)).unwrap_or(bytes.len())
}

/// The length of a string; in a raw one a backslash before its quote is rare enough.
fn literal(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'\\' => 2,
            b'"' => return at + 1,
            _ => 1,
        };
    }
    bytes.len()
}

/// All paths of two names or more, and those of `use`.
fn paths(words: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at] == "use" {
            at = tree(words, at + 1, &Vec::new(), &mut found);
            continue;
        }
        let start = at;
        let mut path = Vec::new();
        while is_word(words.get(at)) {
            path.push(words[at].clone());
            if words.get(at + 1).map(String::as_str) != Some("::") || !is_word(words.get(at + 2)) {
                break;
            }
            at += 2;
        }
        if path.len() > 1 {
            found.push(path);
        }
        at = at.max(start) + 1;
    }
    found
}

fn is_word(word: Option<&String>) -> bool {
    word.is_some_and(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
}

/// A tree of `use` from `at` on, behind the names in `before`; where it ends.
fn tree(words: &[String], mut at: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    while let Some(word) = words.get(at) {
        match word.as_str() {
            "{" => {
                at += 1;
                while words.get(at).is_some_and(|w| w != "}") {
                    at = tree(words, at, &path, found);
                    if words.get(at).is_some_and(|w| w == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "," | "}" | ";" => break,
            "::" | "*" => {}
            "as" => at += 1,
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    found.push(path);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<Vec<String>> {
        let files: Vec<(Module, String)> = files
            .iter()
            .map(|(name, text)| (module(name), (*text).to_owned()))
            .collect();
        Some(circle(&graph(&files))?.iter().map(shown).collect())
    }

    #[test]
    fn circles_are_found() {
        let a = ("a.rs", "mod b;\nuse b::{C, d::{E}};\n");
        let up = ("a/b.rs", "use super::F; // use super::G;\n");
        assert_eq!(of(&[a, up]).unwrap_or_default(), ["a", "a::b", "a"]);
        let called = ("a/b.rs", "fn f() -> usize { crate::a::g('\"') }\n");
        assert!(of(&[a, called]).is_some());
        let root = ("lib.rs", "pub use a::H;");
        let far = ("a/b.rs", "use crate::{H, std};");
        assert_eq!(of(&[root, a, far]).map(|c| c.len()), Some(4));
    }

    #[test]
    fn what_stands_in_text_and_tests_is_no_import() {
        let a = ("a.rs", "mod b;\nuse b::C;\n");
        for text in [
            "fn f() -> &'static str { \"super::F\" }",
            "// super::F\nuse std::{fmt, io};",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    use super::super::F;\n}\n",
        ] {
            assert_eq!(of(&[a, ("a/b.rs", text)]), None, "{text}");
        }
    }
}
