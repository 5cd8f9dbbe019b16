//! Parses docs/SUMMARY.md like mdBook: parts that contain pages, without nesting.

/// The order of the book.
pub struct Summary {
    pub parts: Vec<Part>,
}

/// Pages with a common heading, which the first part may lack.
#[derive(Default)]
pub struct Part {
    pub title: String,
    pub entries: Vec<Entry>,
}

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pub title: String,
    /// The path from docs/.
    pub path: String,
}

impl Summary {
    /// All pages in order.
    pub fn pages(&self) -> impl Iterator<Item = &Entry> {
        self.parts.iter().flat_map(|part| &part.entries)
    }
}

/// Parses it. A line that is neither a heading nor a page is an error, so that no page is lost.
pub fn parse(text: &str) -> Result<Summary, String> {
    let mut parts = vec![Part::default()];
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line == "# Summary" {
            continue;
        }
        if let Some(title) = line.strip_prefix("# ") {
            parts.push(Part {
                title: title.to_owned(),
                entries: Vec::new(),
            });
            continue;
        }
        let entry = line
            .strip_prefix("- ")
            .unwrap_or(line)
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(')'))
            .and_then(|rest| rest.split_once("]("))
            .ok_or_else(|| format!("SUMMARY.md: this is no page: {line}"))?;
        if let Some(part) = parts.last_mut() {
            part.entries.push(Entry {
                title: entry.0.to_owned(),
                path: entry.1.to_owned(),
            });
        }
    }
    parts.retain(|part| !part.entries.is_empty());
    Ok(Summary { parts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_pages() {
        let text = "# Summary\n\n[In](in.md)\n\n# More\n\n- [A](a/a.md)\n- [B](b.md)\n";
        let summary = parse(text).expect("it is well-formed");
        let titles: Vec<&str> = summary.pages().map(|entry| &*entry.title).collect();
        assert_eq!(titles, ["In", "A", "B"]);
        assert_eq!(summary.parts[1].title, "More");
        assert!(parse("what?").is_err());
    }
}
