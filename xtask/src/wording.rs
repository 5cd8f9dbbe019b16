//! Rules about language that a program can check: words that have a meaning only in this project, and
//! the subjects of commits.
//!
//! Must not know: the other rules of tidy.

use std::path::Path;
use std::process::Command;

use crate::tool;

/// Words that this project used with a meaning of its own, and the standard terms.
const PRIVATE: &[(&str, &str)] = &[
    ("carrier", "worker context"),
    ("crew", "workers"),
    ("intake", "accept control"),
    ("mourn", "report the exit"),
    ("patience", "timeout, or idle exit"),
    ("rouse", "wake"),
    ("seat", "deadline slot"),
    ("sought", "searched"),
    ("untold", "incomplete"),
    ("whoever", "the client, the session, the process, …"),
];

/// Files that are not checked: records of the past, and the list of words itself.
const SKIPPED: &[&str] = &["benches/record", "xtask/src/wording.rs"];

/// Subjects of this commit and its ancestors are not checked.
const BASE: &str = "3db7429";

/// The longest subject of a commit.
const LONGEST_SUBJECT: usize = 72;

/// Reports each line that contains a private word.
pub fn words(path: &Path, text: &str, found: &mut Vec<String>) {
    if SKIPPED.iter().any(|skipped| path.starts_with(skipped)) {
        return;
    }
    for (i, line) in text.lines().enumerate() {
        for (word, term) in private(line) {
            let line = i + 1;
            found.push(format!(
                "{}:{line}: '{word}' is a word of this project only; write: {term}",
                path.display()
            ));
        }
    }
}

/// The private words in a line. Words end at everything but a letter, so parts of identifiers count.
fn private(line: &str) -> Vec<(&'static str, &'static str)> {
    line.split(|c: char| !c.is_ascii_alphabetic())
        .filter(|part| part.len() >= 4)
        .filter_map(|part| {
            let part = part.to_ascii_lowercase();
            let is = |word: &str| part == word || part.strip_suffix('s') == Some(word);
            PRIVATE.iter().find(|(word, _)| is(word)).copied()
        })
        .collect()
}

/// Reports subjects of commits since [`BASE`] that break a rule. Returns what was checked.
pub fn subjects(found: &mut Vec<String>) -> String {
    let mut git = Command::new("git");
    let range = format!("{BASE}..HEAD");
    git.args(["log", "--no-merges", "--format=%h %s", &range])
        .current_dir(tool::root())
        .stderr(std::process::Stdio::null());
    let Ok(log) = tool::output(&mut git) else {
        return format!("no subjects of commits: {BASE} is not in this copy's history");
    };
    for line in log.lines() {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(wrong) = wrong(subject) {
            found.push(format!("commit {commit}: the subject {wrong}: {subject}"));
        }
    }
    format!("{} subjects of commits", log.lines().count())
}

/// What is wrong with a subject.
fn wrong(subject: &str) -> Option<&'static str> {
    if subject.chars().count() > LONGEST_SUBJECT {
        Some("has more than 72 characters")
    } else if !subject.starts_with(|c: char| c.is_ascii_uppercase()) {
        Some("does not begin with a capital letter")
    } else if subject.ends_with('.') {
        Some("ends with a full stop")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_words_are_found() {
        let count = |line| private(line).len();
        assert_eq!(count("the crew, its Crews and nest__crew_size"), 3);
        assert_eq!(count("seats are not seated, screws are not crews"), 2);
        assert_eq!(count("workers wake up"), 0);
        let mut found = Vec::new();
        words(Path::new("a.md"), "fine\nwhoever reads\n", &mut found);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.md:2: 'whoever'"));
        words(Path::new("benches/record/a.md"), "whoever\n", &mut found);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn subjects_are_short_imperatives() {
        assert_eq!(wrong("Add io_uring poller"), None);
        assert_eq!(wrong(&"A".repeat(72)), None);
        assert!(wrong(&"A".repeat(73)).is_some());
        assert!(wrong("added a poller").is_some());
        assert!(wrong("Add a poller.").is_some());
        assert!(wrong("").is_some());
    }
}
