//! Renders one page, Markdown or a file of the project, as HTML, and collects its headings and
//! links.
//!
//! Must not know: the surroundings of a page, and where pages are written.

use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::highlight::highlighted;
use super::paths::{escaped, plain, way};
use super::sections::{Section, sections};
use crate::tool;

/// The main part of a page.
pub struct Page {
    pub title: String,
    pub html: String,
    pub headings: Vec<Heading>,
    pub links: Vec<Link>,
    /// Pictures, by path from the root.
    pub images: Vec<PathBuf>,
    pub sections: Vec<Section>,
}

/// A heading that can be linked to.
pub struct Heading {
    pub level: usize,
    pub text: String,
    pub id: String,
}

/// A link to another file of the project.
pub struct Link {
    /// The path from the root.
    pub target: PathBuf,
    /// Its fragment, which may be empty.
    pub heading: String,
}

/// The page of a file.
pub fn page(source: &Path, text: &str) -> Page {
    if tool::has_extension(source, &["md"]) || tool::root().join(source).is_dir() {
        return markdown(source, text);
    }
    let kind = source
        .extension()
        .map_or_else(String::new, |e| e.to_string_lossy().into_owned());
    Page {
        title: source.display().to_string(),
        html: format!(
            "<h1>{}</h1>\n{}",
            escaped(&source.display().to_string()),
            block(&kind, text)
        ),
        headings: Vec::new(),
        links: Vec::new(),
        images: Vec::new(),
        sections: Vec::new(),
    }
}

fn markdown(source: &Path, text: &str) -> Page {
    let mut events: Vec<Event> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let headings = number_headings(&mut events);
    let sections = sections(&events);
    let mut links = Vec::new();
    let mut images = Vec::new();
    let mut out = Vec::new();
    let mut code: Option<(String, String)> = None;
    let mut titled = headings.iter();
    for event in events {
        if let Event::Start(Tag::Image { dest_url, .. }) = &event {
            images.push(source.with_file_name("").join(&**dest_url));
        }
        match (event, &mut code) {
            (Event::Start(Tag::CodeBlock(kind)), _) => {
                let words = match kind {
                    CodeBlockKind::Fenced(words) => words.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                code = Some((words, String::new()));
            }
            (Event::End(TagEnd::CodeBlock), finished) => {
                let (words, text) = finished.take().unwrap_or_default();
                out.push(Event::Html(fence(&words, &text).into()));
            }
            (Event::Text(text), Some((_, block))) => *block += &text,
            (
                Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }),
                _,
            ) => {
                let dest_url = link(source, &dest_url, &mut links);
                out.push(Event::Start(Tag::Link {
                    link_type,
                    dest_url,
                    title,
                    id,
                }));
            }
            (Event::End(TagEnd::Heading(level)), _) => {
                let heading = titled.next().filter(|heading| heading.level > 1);
                if let Some(Heading { id, .. }) = heading {
                    let way = format!("<a class=\"way\" href=\"#{id}\" aria-label=\"Link\"></a>");
                    out.push(Event::InlineHtml(way.into()));
                }
                out.push(Event::End(TagEnd::Heading(level)));
            }
            (Event::Start(Tag::Table(alignments)), _) => {
                out.push(Event::Html("<div class=\"table\">".into()));
                out.push(Event::Start(Tag::Table(alignments)));
            }
            (Event::End(TagEnd::Table), _) => {
                out.push(Event::End(TagEnd::Table));
                out.push(Event::Html("</div>\n".into()));
            }
            (other, _) => out.push(other),
        }
    }
    let mut body = String::new();
    html::push_html(&mut body, out.into_iter());
    let title = headings
        .first()
        .map_or_else(|| source.display().to_string(), |h| h.text.clone());
    Page {
        title,
        html: body,
        headings,
        links,
        images,
        sections,
    }
}

/// Gives each heading an id made of its words, like GitHub and mdBook.
fn number_headings(events: &mut [Event]) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open: Option<usize> = None;
    for at in 0..events.len() {
        match &events[at] {
            Event::Start(Tag::Heading { level, .. }) => {
                found.push(Heading {
                    level: *level as usize,
                    text: String::new(),
                    id: String::new(),
                });
                open = Some(at);
            }
            Event::Text(text) | Event::Code(text) if open.is_some() => {
                if let Some(heading) = found.last_mut() {
                    heading.text += text;
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let (Some(start), Some(last)) = (open.take(), found.len().checked_sub(1)) else {
                    continue;
                };
                let words = slug(&found[last].text);
                let same = found[..last]
                    .iter()
                    .filter(|h| slug(&h.text) == words)
                    .count();
                found[last].id = if same == 0 {
                    words
                } else {
                    format!("{words}-{same}")
                };
                if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                    *id = Some(found[last].id.clone().into());
                }
            }
            _ => {}
        }
    }
    found
}

fn slug(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
            _ => None,
        })
        .collect()
}

/// The target of a link in the book; records links to files of the project.
fn link<'a>(source: &Path, to: &str, links: &mut Vec<Link>) -> CowStr<'a> {
    if to.contains("://") || to.starts_with("mailto:") {
        return to.to_owned().into();
    }
    let (path, heading) = to.split_once('#').unwrap_or((to, ""));
    let mut target = match path {
        "" => source.to_owned(),
        path => plain(&source.parent().unwrap_or(source).join(path)),
    };
    let readme = target.join("README.md");
    if tool::root().join(&readme).is_file() {
        target = readme;
    }
    let fragment = if heading.is_empty() {
        String::new()
    } else {
        format!("#{heading}")
    };
    let way = way(source, &target) + &fragment;
    links.push(Link {
        target,
        heading: heading.to_owned(),
    });
    way.into()
}

/// A fenced block: its first word is its kind, an optional second one a file name.
fn fence(words: &str, text: &str) -> String {
    let mut words = words.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let name = words.next().filter(|name| name.contains('.'));
    let caption = name.map_or_else(String::new, |name| {
        format!("<div class=\"file\">{}</div>", escaped(name))
    });
    caption + &block(kind, text)
}

fn block(kind: &str, text: &str) -> String {
    format!(
        "<pre class=\"{}\"><code>{}</code></pre>\n",
        escaped(kind),
        highlighted(kind, text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_where_links_look_for_them() {
        let page = markdown(
            Path::new("docs/a.md"),
            "# A\n\n## 16. `%option`s, all\n\n## A\n\n[x](#a-1)\n",
        );
        let ids: Vec<&str> = page.headings.iter().map(|h| &*h.id).collect();
        assert_eq!(ids, ["a", "16-options-all", "a-1"]);
        assert_eq!(page.links[0].heading, "a-1");
        assert!(page.html.contains("id=\"16-options-all\""), "{}", page.html);
        assert!(page.html.contains("href=\"a.html#a-1\""), "{}", page.html);
    }

    #[test]
    fn nothing_in_a_block_is_markup() {
        let page = markdown(
            Path::new("docs/a.md"),
            "```nest a.nest\n\"<b>\" NL { }\n```\n",
        );
        assert!(
            page.html.contains("&lt;b&gt;") && !page.html.contains("<b>"),
            "{}",
            page.html
        );
        assert!(page.html.contains(">a.nest<"), "{}", page.html);
    }
}
