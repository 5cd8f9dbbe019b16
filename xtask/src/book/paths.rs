//! Where pages are, and text as HTML has it. Must not know: what is on a page.

use std::path::{Component, Path, PathBuf};

/// Where the book's own pages lie.
pub const DOCS: &str = "docs";

/// Where the page of a source is, from the book's root.
pub fn address(source: &Path) -> PathBuf {
    let Ok(own) = source.strip_prefix(DOCS) else {
        // A name behind which no server looks for a type of its own.
        return Path::new("project").join(format!("{}.html", source.display()));
    };
    own.with_extension("html")
}

/// Where a picture of a page is: pages and their pictures are in the same relative folders as their sources.
pub fn picture(source: &Path) -> PathBuf {
    let own = source.strip_prefix(DOCS);
    own.map_or_else(|_| Path::new("project").join(source), Path::to_owned)
}

/// The way from one page to another.
pub fn way(from: &Path, to: &Path) -> String {
    let up = address(from).components().count() - 1;
    format!("{}{}", "../".repeat(up), address(to).display())
}

/// A path without `.` and `..`.
pub fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Text as HTML has it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_lead_there() {
        let way = |from: &str, to: &str| way(Path::new(from), Path::new(to));
        assert_eq!(way("docs/a.md", "docs/b.md"), "b.html");
        assert_eq!(way("docs/t/a.md", "docs/b.md"), "../b.html");
        assert_eq!(
            way("docs/a.md", "examples/x/x.nest"),
            "project/examples/x/x.nest.html"
        );
        let page = picture(Path::new("experiments/plots/x.svg"));
        assert_eq!(page, Path::new("project/experiments/plots/x.svg"));
        assert_eq!(picture(Path::new("docs/p/x.svg")), Path::new("p/x.svg"));
        assert_eq!(
            plain(Path::new("docs/t/../../README.md")),
            Path::new("README.md")
        );
        assert_eq!(plain(Path::new("a/../../b")), Path::new("../b"));
    }
}
