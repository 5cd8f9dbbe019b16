//! `cargo xtask book`: renders the documentation as HTML in `target/book` and checks every link.
//!
//! The sources are an mdBook (docs/book.toml, docs/SUMMARY.md), so `mdbook build docs` works too.
//! Examples and files of the project that a page links to become pages as well. The pages need no
//! network, and no script except for the search. Must not know: the Markdown inside a page.

mod highlight;
mod page;
mod paths;
mod search;
mod sections;
mod summary;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::tool::{self, Outcome};
use page::{Link, Page};
use paths::{DOCS, address, escaped, picture, way};
use summary::{Entry, Summary};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SEARCH: &str = include_str!("search.js");
/// So many sections are worth a list above the page.
const MANY: usize = 6;

/// Renders the book.
pub fn book() -> Outcome {
    let place = tool::target().join("book");
    let count = render(&place)?;
    Ok(format!("{count} pages; {}", place.display()))
}

/// Renders the book into a directory. Returns the number of pages.
pub fn render(place: &Path) -> Result<usize, String> {
    let text = read(&Path::new(DOCS).join("SUMMARY.md"))?;
    let summary = summary::parse(&text)?;
    for file in tool::files(DOCS)? {
        let own = file.strip_prefix(DOCS).unwrap_or(&file);
        let listed = summary.pages().any(|entry| Path::new(&entry.path) == own);
        if tool::has_extension(own, &["md"]) && own != Path::new("SUMMARY.md") && !listed {
            return Err(format!("SUMMARY.md does not list {}", own.display()));
        }
    }
    let pages = collect(&summary)?;
    let dead = dead_links(&pages);
    if !dead.is_empty() {
        return Err(format!("{}\n{} dead links", dead.join("\n"), dead.len()));
    }
    if place.exists() {
        fs::remove_dir_all(place).map_err(|e| format!("cannot clear {}: {e}", place.display()))?;
    }
    for (source, page) in &pages {
        write(&place.join(address(source)), &whole(&summary, source, page))?;
    }
    for image in pages.values().flat_map(|page| &page.images) {
        write(&place.join(picture(image)), &read(image)?)?;
    }
    write(&place.join("style.css"), STYLE)?;
    write(&place.join("search.js"), SEARCH)?;
    write(&place.join("sections.js"), &search::index(&pages))?;
    if let Some(first) = summary.pages().next() {
        let source = Path::new(DOCS).join(&first.path);
        write(
            &place.join("index.html"),
            &whole(&summary, &source, &pages[&source]),
        )?;
    }
    Ok(pages.len())
}

/// The pages of the summary and all files that they link to, by path from the root.
fn collect(summary: &Summary) -> Result<BTreeMap<PathBuf, Page>, String> {
    let mut pages = BTreeMap::new();
    let mut wanted: Vec<PathBuf> = summary
        .pages()
        .map(|entry| Path::new(DOCS).join(&entry.path))
        .collect();
    while let Some(source) = wanted.pop() {
        if pages.contains_key(&source) {
            continue;
        }
        let page = page::page(&source, &read(&source)?);
        for link in &page.links {
            if link.target.starts_with("..") || !tool::root().join(&link.target).exists() {
                return Err(format!(
                    "{}: there is no {}",
                    source.display(),
                    link.target.display()
                ));
            }
            wanted.push(link.target.clone());
        }
        pages.insert(source, page);
    }
    Ok(pages)
}

/// Checks for links to headings that do not exist.
fn dead_links(pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> = pages
        .iter()
        .map(|(source, page)| (source, page.headings.iter().map(|h| &*h.id).collect()))
        .collect();
    let dead = |link: &Link| {
        let there = |ids: &BTreeSet<&str>| ids.contains(&*link.heading);
        !link.heading.is_empty() && !ids.get(&link.target).is_some_and(there)
    };
    pages
        .iter()
        .flat_map(|(source, page)| page.links.iter().map(move |link| (source, link)))
        .filter(|(_, link)| dead(link))
        .map(|(source, link)| {
            format!(
                "{}: {}#{}",
                source.display(),
                link.target.display(),
                link.heading
            )
        })
        .collect()
}

/// A page with all that stands around it.
fn whole(summary: &Summary, source: &Path, page: &Page) -> String {
    let to = |entry: &Entry| way(source, &Path::new(DOCS).join(&entry.path));
    let mut contents = String::new();
    for part in &summary.parts {
        if !part.title.is_empty() {
            contents += &format!("<h2>{}</h2>\n", escaped(&part.title));
        }
        contents += "<ul>\n";
        for entry in &part.entries {
            let here = Path::new(DOCS).join(&entry.path) == source;
            let mark = if here { " aria-current=\"page\"" } else { "" };
            let title = escaped(&entry.title);
            contents += &format!("<li><a href=\"{}\"{mark}>{title}</a></li>\n", to(entry));
        }
        contents += "</ul>\n";
    }
    let all: Vec<&Entry> = summary.pages().collect();
    let at = all
        .iter()
        .position(|entry| Path::new(DOCS).join(&entry.path) == source);
    let beside = |entry: Option<&&Entry>, relation: &str| {
        entry.map_or(String::new(), |entry| {
            let title = escaped(&entry.title);
            format!("<a rel=\"{relation}\" href=\"{}\">{title}</a>", to(entry))
        })
    };
    let before = beside(
        at.and_then(|i| i.checked_sub(1)).and_then(|i| all.get(i)),
        "prev",
    );
    let after = beside(at.and_then(|i| all.get(i + 1)), "next");
    let root = "../".repeat(address(source).components().count() - 1);
    let sections = format!("</h1>\n{}", sections(source, page));
    // Replaces the page last, so that its text is not searched for placeholders.
    TEMPLATE
        .replace("{title}", &escaped(&page.title))
        .replace("{root}", &root)
        .replace(
            "{first}",
            &all.first().map_or(String::new(), |entry| to(entry)),
        )
        .replace("{contents}", &contents)
        .replace("{before}", &before)
        .replace("{after}", &after)
        .replace("{page}", &page.html.replacen("</h1>\n", &sections, 1))
}

/// The sections of a long page, unless the page lists them itself.
fn sections(source: &Path, page: &Page) -> String {
    let sections: Vec<_> = page
        .headings
        .iter()
        .filter(|heading| heading.level == 2)
        .collect();
    let own = page
        .links
        .iter()
        .filter(|link| link.target == source)
        .count();
    if sections.len() < MANY || own >= sections.len() {
        return String::new();
    }
    let items: Vec<String> = sections
        .iter()
        .map(|heading| {
            let text = escaped(&heading.text);
            format!("<li><a href=\"#{}\">{text}</a></li>", heading.id)
        })
        .collect();
    format!("<nav class=\"here\"><ul>{}</ul></nav>", items.join(""))
}

/// The text of a page; for a folder without README, links to its files.
fn read(path: &Path) -> Result<String, String> {
    let place = tool::root().join(path);
    if !place.is_dir() {
        let failed = |e| format!("cannot read {}: {e}", path.display());
        return fs::read_to_string(place).map_err(failed);
    }
    let mut text = format!("# {}\n\n", path.display());
    for file in tool::files(&path.to_string_lossy())? {
        let beside = file
            .strip_prefix(path.parent().unwrap_or(path))
            .unwrap_or(&file);
        let name = file.strip_prefix(path).unwrap_or(&file);
        text += &format!("- [{}]({})\n", name.display(), beside.display());
    }
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|e| format!("cannot make {}: {e}", parent.display()))?;
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_book_has_no_dead_link() {
        let place = std::env::temp_dir().join(format!("nest-book-{}", std::process::id()));
        let count = render(&place);
        let below = fs::read_to_string(place.join("tutorial/first.html")).unwrap_or_default();
        for file in ["style.css", "search.js"] {
            assert!(place.join(file).exists() && below.contains(&format!("\"../{file}\"")));
        }
        assert!(place.join("sections.js").exists());
        let _ = fs::remove_dir_all(&place);
        assert!(count.unwrap_or_else(|why| panic!("{why}")) > 10);
    }
}
