//! Every set of states in the traces of the conformance suite and of the examples is among those
//! that are reached: traces come from the language reference, so this compares two readings of it.

use nest_machine::reach::Reach;
use nest_machine::{Machine, Overrides, compile};
use nest_syntax::Loader;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files beside a case: its own fences, else what lies in the folder.
struct Beside<'a> {
    folder: PathBuf,
    fences: &'a [(String, String)],
}

impl Loader for Beside<'_> {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        let head = format!("file {path}");
        if let Some((_, text)) = self.fences.iter().find(|(h, _)| *h == head) {
            return Ok((path.to_string(), text.clone()));
        }
        let text = std::fs::read_to_string(self.folder.join(path)).map_err(|e| e.to_string())?;
        Ok((path.to_string(), text))
    }
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
}

/// The fences of a page: heads and texts.
fn fences(page: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match (inside, line.strip_prefix("```")) {
            (false, Some(head)) => {
                inside = true;
                found.push((head.to_string(), String::new()));
            }
            (true, Some("")) => inside = false,
            (true, _) => {
                if let Some((_, text)) = found.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            (false, None) => {}
        }
    }
    found
}

#[test]
fn every_set_of_a_trace_is_reached() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    pages(&root.join("conformance/cases"), &mut all);
    pages(&root.join("examples"), &mut all);
    let mut known: BTreeMap<String, (Machine, Reach)> = BTreeMap::new();
    let (mut cases, mut lines) = (0, 0);
    for path in all {
        let page = std::fs::read_to_string(&path).expect("the page is readable");
        let fences = fences(&page);
        let mut folder = path.parent().expect("it lies in a folder").to_path_buf();
        let given = page.lines().find_map(|line| line.strip_prefix("spec: "));
        let text = if let Some(spec) = given {
            let file = folder.join(spec.trim());
            folder = file.parent().expect("it lies in a folder").to_path_buf();
            std::fs::read_to_string(&file).expect("the specification is readable")
        } else if let Some((_, text)) = fences.iter().find(|(head, _)| head == "nest") {
            text.clone()
        } else {
            continue;
        };
        // An example has many pages.
        let (m, reach) = match known.remove(&text) {
            Some(found) => found,
            None => {
                let fences = &fences;
                let mut beside = Beside { folder, fences };
                let compiled = compile("case.nest", &text, &mut beside, &Overrides::default());
                let Some(m) = compiled.machine else { continue };
                let reach = Reach::of(&m);
                (m, reach)
            }
        };
        cases += 1;
        let traces = fences.iter().filter(|(head, _)| head.starts_with("trace"));
        let described: Vec<&str> = traces.flat_map(|(_, text)| text.lines()).collect();
        for (at, line) in described.iter().enumerate() {
            let Some(names) = line.trim().strip_prefix("states") else {
                continue;
            };
            // What an action leaves that closes is no read point's.
            let mut behind = described[at + 1..].iter().map(|line| line.trim());
            if behind.find(|line| !line.starts_with("reply")) == Some("end closed") {
                continue;
            }
            let number = |name: &str| m.states.iter().position(|s| s == name).expect("a state");
            let (names, last) = names.split_once(" last=").unwrap_or((names, ""));
            let states = names
                .split_whitespace()
                .fold(0u64, |all, n| all | 1 << number(n));
            let states = states | 1; // START is not always told
            let last = last.split_whitespace().next();
            let fits = |s: &nest_machine::reach::Reached| {
                let named = s.last.map(|n| m.states[n as usize].as_str());
                s.states | 1 == states && (named.is_none() || named == last || last == Some("-"))
            };
            let inside = reach.sets.iter().any(fits);
            let bounds = reach.bounds;
            let bounded = bounds.held & !states == 0 && states & !bounds.marked == 0;
            assert!(
                if reach.is_complete() { inside } else { bounded },
                "{}: {line}\n{:#?}",
                path.display(),
                reach.sets
            );
            lines += 1;
        }
        known.insert(text, (m, reach));
    }
    assert!(
        cases > 300 && lines > 400,
        "only {cases} cases, {lines} lines"
    );
    println!("{cases} cases, {lines} lines");
}
