//! The Python files of the test runner, embedded for `nest test`.
//!
//! A file of `runner/` that is not listed here is missing for users; a test compares the list with
//! the folder. Must not know: who runs it.

/// Files as (path, text); `own.py` is the entry point.
pub const FILES: &[(&str, &str)] = &[
    ("own.py", include_str!("own.py")),
    ("runner/__init__.py", include_str!("runner/__init__.py")),
    ("runner/build.py", include_str!("runner/build.py")),
    ("runner/case.py", include_str!("runner/case.py")),
    ("runner/client.py", include_str!("runner/client.py")),
    ("runner/files.py", include_str!("runner/files.py")),
    ("runner/literal.py", include_str!("runner/literal.py")),
    ("runner/page.py", include_str!("runner/page.py")),
    ("runner/timeouts.py", include_str!("runner/timeouts.py")),
    ("runner/passed.py", include_str!("runner/passed.py")),
    ("runner/pattern.py", include_str!("runner/pattern.py")),
    ("runner/process.py", include_str!("runner/process.py")),
    ("runner/rings.py", include_str!("runner/rings.py")),
    ("runner/scratch.py", include_str!("runner/scratch.py")),
    ("runner/script.py", include_str!("runner/script.py")),
    ("runner/sockets.py", include_str!("runner/sockets.py")),
    ("runner/suite.py", include_str!("runner/suite.py")),
    ("runner/trace.py", include_str!("runner/trace.py")),
    ("runner/units.py", include_str!("runner/units.py")),
    ("runner/unread.py", include_str!("runner/unread.py")),
    ("runner/variants.py", include_str!("runner/variants.py")),
];

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_list_is_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runner");
        let names = folder.read_dir().unwrap().map(|e| e.unwrap().file_name());
        let names = names.map(|name| format!("runner/{}", name.to_str().unwrap()));
        let mut found: BTreeSet<String> = names.filter(|name| name.ends_with(".py")).collect();
        found.insert("own.py".to_owned());
        let listed: BTreeSet<String> = FILES.iter().map(|f| f.0.to_owned()).collect();
        assert_eq!(listed.len(), FILES.len(), "a file is listed twice");
        assert_eq!(listed, found);
    }
}
