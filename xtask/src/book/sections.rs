//! The sections of a page, as the search looks in them. Must not know: how somebody searches.

use pulldown_cmark::{Event, Tag};

/// A heading, and the text up to the next one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    /// What a link to it ends in.
    pub id: String,
    pub text: String,
}

/// The sections of a page whose headings have their ids.
pub fn sections(events: &[Event]) -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let mut in_title = false;
    for event in events {
        if let Event::Start(Tag::Heading { id, .. }) = event {
            found.push(Section {
                id: id.as_deref().unwrap_or_default().to_owned(),
                ..Section::default()
            });
        }
        let Some(last) = found.last_mut() else {
            continue;
        };
        match event {
            Event::Start(Tag::Heading { .. }) => in_title = true,
            Event::Text(text) | Event::Code(text) if in_title => last.title += text,
            Event::Text(text) | Event::Code(text) => last.text += text,
            Event::End(end) => {
                in_title &= !matches!(end, pulldown_cmark::TagEnd::Heading(_));
                last.text += if end_of_words(*end) { " " } else { "" };
            }
            Event::SoftBreak | Event::HardBreak => last.text += " ",
            _ => {}
        }
    }
    for section in &mut found {
        let words: Vec<&str> = section.text.split_whitespace().collect();
        section.text = words.join(" ");
    }
    found
}

/// Emphasis and links stand within a word's neighbours, all else ends one.
fn end_of_words(end: pulldown_cmark::TagEnd) -> bool {
    use pulldown_cmark::TagEnd;
    !matches!(end, TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link)
}
