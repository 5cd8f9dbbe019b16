//! Corrects the messages of the C compiler so that they refer to the specification.
//!
//! With `#line`, a compiler reports the lines of the specification. After a directive, its columns
//! are those of the generated text, and so are the lines that some compilers print. This file
//! corrects both and changes nothing else. Must not know: which compiler it is, and what was
//! replaced.

use std::ops::Range;

use nest_emit::Places;

/// `said` with its places corrected; `colour`: excerpts of our own get colours.
pub fn corrected(output: &str, places: &Places, colour: bool) -> String {
    let lines: Vec<Line> = output.split_inclusive('\n').map(Line::new).collect();
    let mut out = String::with_capacity(output.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let shown = excerpt(&lines[at + 1..]);
        let behind = &lines[at + 1..at + 1 + shown];
        at += 1;
        let Some(head) = Head::of(&line.plain) else {
            out.push_str(line.raw);
            continue;
        };
        // A note on C that nobody wrote helps nobody.
        if nest_emit::UNITS.contains(&head.file) && head.text.starts_with("note:") {
            at += shown;
            continue;
        }
        let Some(origin) = places.origin(head.file, head.line, head.column, width(behind)) else {
            out.push_str(line.raw);
            continue;
        };
        let source = source_line(head.file, origin.line);
        let begin = origin.columns.map(|(from, _)| from);
        let right = (origin.line, begin) == (head.line, Some(head.column));
        if right && (shown == 0 || source.as_ref().is_some_and(|text| shows(&behind[0], text))) {
            out.push_str(line.raw);
            continue;
        }
        at += shown;
        let was = format!("{}:{}:{}:", head.file, head.line, head.column);
        let is = match begin {
            Some(column) => format!("{}:{}:{column}:", head.file, origin.line),
            None => format!("{}:{}:", head.file, origin.line),
        };
        out.push_str(&line.raw.replacen(&was, &is, 1));
        if shown > 0
            && let Some(text) = source
        {
            let marked = marked(&text, origin.columns);
            out.push_str(&nest_diag::render_line(origin.line, &text, marked, colour));
        }
    }
    out
}

/// A line as received, and without terminal escape sequences.
struct Line<'a> {
    raw: &'a str,
    plain: String,
}

impl<'a> Line<'a> {
    fn new(raw: &'a str) -> Self {
        let mut plain = String::with_capacity(raw.len());
        let mut rest = raw.trim_end_matches(['\n', '\r']);
        while let Some((before, escape)) = rest.split_once("\u{1b}[") {
            plain.push_str(before);
            let parameters = escape.bytes().take_while(|b| !b.is_ascii_alphabetic());
            rest = escape.get(parameters.count() + 1..).unwrap_or("");
        }
        plain.push_str(rest);
        Line { raw, plain }
    }

    /// Whether it contains only marks, with a caret.
    fn is_mark(&self) -> bool {
        self.plain.contains('^') && self.plain.bytes().all(|b| b" |^~".contains(&b))
    }
}

/// `FILE:LINE:COLUMN: message`.
struct Head<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    text: &'a str,
}

impl<'a> Head<'a> {
    fn of(plain: &'a str) -> Option<Self> {
        // The message and the file name may contain colons.
        let kinds = ["error:", "warning:", "note:", "fatal error:", "remark:"];
        let (place, text) = kinds
            .iter()
            .filter_map(|kind| {
                let at = plain.find(&format!(": {kind}"))?;
                Some((&plain[..at], &plain[at + 2..]))
            })
            .min_by_key(|(place, _)| place.len())?;
        let (place, column) = place.rsplit_once(':')?;
        let (file, line) = place.rsplit_once(':')?;
        Some(Head {
            file,
            line: line.parse().ok()?,
            column: column.parse().ok()?,
            text,
        })
    }
}

/// The number of lines after a message that show its location.
fn excerpt(behind: &[Line]) -> usize {
    let part = |line: &Line| line.plain.starts_with(' ') || line.plain.starts_with('\t');
    // Some compilers print the line without a frame; the marks below it identify it.
    let bare = behind.len() > 1 && behind[1].is_mark() && Head::of(&behind[0].plain).is_none();
    let first = usize::from(bare);
    first + behind[first..].iter().take_while(|line| part(line)).count()
}

/// The length of the mark, beginning at the caret.
fn width(excerpt: &[Line]) -> usize {
    let Some(mark) = excerpt.iter().find(|line| line.is_mark()) else {
        return 1;
    };
    let behind = mark.plain.split_once('^').map_or("", |(_, behind)| behind);
    1 + behind.bytes().take_while(|b| *b == b'~').count()
}

/// Whether a line of an excerpt is `source`, ignoring blanks. If not, it shows generated text.
fn shows(line: &Line, source: &str) -> bool {
    let text = match line.plain.split_once(" | ") {
        Some((number, text)) if number.trim().bytes().all(|b| b.is_ascii_digit()) => text,
        _ => &line.plain,
    };
    let words = |text: &str| text.split_whitespace().collect::<String>();
    words(text) == words(source)
}

/// What to mark in a line: the whole word if only its beginning is known, the whole line if nothing
/// is known. In characters, from 0.
fn marked(text: &str, columns: Option<(usize, usize)>) -> Range<usize> {
    let Some((from, to)) = columns else {
        let indent = text.chars().take_while(|c| c.is_whitespace()).count();
        return indent..text.trim_end().chars().count();
    };
    let word = text.chars().skip(from - 1);
    let word = word
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .count();
    from - 1..(to - 1).max(from - 1 + word)
}

fn source_line(file: &str, number: usize) -> Option<String> {
    let bytes = std::fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines().nth(number - 1).map(str::to_owned)
}
