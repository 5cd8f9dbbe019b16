//! Diagnostics as text for humans: message, location, source with marks, fix.
//!
//! Must not know: the subject of a message, where the text goes. The caller prints a summary.

use crate::cells::{Cells, plain};
use crate::codes::Severity;
use crate::diagnostic::Diagnostic;
use crate::place::{Places, Stretch};
use crate::source::{FileId, SourceMap};
use anstyle::{AnsiColor, Style};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

/// Text for a terminal; `colour` adds ANSI colours. Diagnostics are separated by empty lines.
#[must_use]
pub fn render_text(sources: &SourceMap, diagnostics: &[Diagnostic], colour: bool) -> String {
    let places = Places::new(sources);
    let mut pages = Vec::with_capacity(diagnostics.len());
    for diagnostic in diagnostics {
        let mut page = Page {
            out: String::new(),
            colour,
            gutter: 0,
        };
        page.diagnostic(&places, diagnostic);
        pages.push(page.out);
    }
    pages.join("\n")
}

/// One source line, framed like those of C compilers, and what to mark in it, in characters from 0.
#[must_use]
pub fn render_line(number: usize, text: &str, marked: Range<usize>, colour: bool) -> String {
    let byte = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(i, _)| i);
    let stretch = Stretch {
        line: number.saturating_sub(1),
        start: byte(marked.start),
        end: byte(marked.end),
    };
    let mut page = Page {
        out: String::new(),
        colour,
        gutter: number.to_string().len().max(5),
    };
    let mark = Mark {
        stretch,
        primary: true,
        text: "",
    };
    page.line(text, &[&mark], AnsiColor::Red.on_default().bold());
    page.out
}

/// A marked range of a line.
struct Mark<'a> {
    stretch: Stretch,
    primary: bool,
    /// The text after the mark.
    text: &'a str,
}

struct Page {
    out: String,
    colour: bool,
    /// The width of the line numbers.
    gutter: usize,
}

impl Page {
    fn diagnostic(&mut self, places: &Places, diagnostic: &Diagnostic) {
        let severity = diagnostic.code.severity();
        let (word, accent) = match severity {
            Severity::Error => ("error", AnsiColor::Red.on_default().bold()),
            Severity::Warning => ("warning", AnsiColor::Yellow.on_default().bold()),
        };
        self.styled(accent, &format!("{word}[{}]", diagnostic.code.name()));
        self.styled(
            Style::new().bold(),
            &format!(": {}", plain(&diagnostic.message)),
        );
        self.out.push('\n');

        let groups = marks_by_file(places, diagnostic);
        let last_line = groups
            .iter()
            .flat_map(|(_, marks)| marks)
            .map(|mark| mark.stretch.line + 1)
            .max();
        self.gutter = last_line.unwrap_or(1).to_string().len();
        for (i, (file, marks)) in groups.iter().enumerate() {
            let span = if i == 0 {
                diagnostic.span
            } else {
                let of_file = diagnostic
                    .labels
                    .iter()
                    .find(|label| label.span.file == *file);
                of_file.map_or(diagnostic.span, |label| label.span)
            };
            let Some(source) = places.file(*file) else {
                continue;
            };
            let place = places.at(*file, span.start);
            let arrow = if i == 0 { "-->" } else { ":::" };
            self.out.extend(std::iter::repeat_n(' ', self.gutter));
            self.styled(FRAME, arrow);
            // For an empty or unreadable file no source is shown.
            if source.text.is_empty() {
                let _ = writeln!(self.out, " {}", plain(&source.name));
                continue;
            }
            let _ = writeln!(
                self.out,
                " {}:{}:{}",
                plain(&source.name),
                place.line,
                place.column
            );
            self.lines(places, *file, marks, accent);
        }
        self.behind("help", diagnostic.help.as_deref());
        self.behind("see it", diagnostic.see.as_deref());
    }

    /// The notes and help after the source.
    fn behind(&mut self, what: &str, text: Option<&str>) {
        let Some(text) = text else { return };
        let what = format!(" {what}:");
        self.edge("=");
        self.styled(AnsiColor::Cyan.on_default().bold(), &what);
        let indent = " ".repeat(self.gutter + " = ".len() + what.len());
        for (i, line) in text.lines().enumerate() {
            let lead = if i == 0 { " " } else { indent.as_str() };
            let _ = writeln!(self.out, "{lead}{}", plain(line));
        }
    }

    /// The marked lines of one file, in order.
    fn lines(&mut self, places: &Places, file: FileId, marks: &[Mark], accent: Style) {
        let mut by_line: BTreeMap<usize, Vec<&Mark>> = BTreeMap::new();
        for mark in marks {
            by_line.entry(mark.stretch.line).or_default().push(mark);
        }
        self.edge("|");
        self.out.push('\n');
        let mut before = None;
        for (line, marks) in by_line {
            if before.is_some_and(|before| line > before + 1) {
                self.styled(FRAME, "...");
                self.out.push('\n');
            }
            before = Some(line);
            self.line(places.line(file, line), &marks, accent);
        }
        self.edge("|");
        self.out.push('\n');
    }

    /// A line with its number, and its marks.
    fn line(&mut self, text: &str, marks: &[&Mark], accent: Style) {
        let line = marks.first().map_or(0, |mark| mark.stretch.line);
        let focus = marks.iter().map(|mark| mark.stretch.start).min();
        let cells = Cells::new(text, focus.unwrap_or(0));
        self.styled(FRAME, &format!("{:>1$} |", line + 1, self.gutter));
        if !cells.text.is_empty() {
            let _ = write!(self.out, " {}", cells.text);
        }
        self.out.push('\n');
        for mark in marks {
            self.mark(&cells, mark, accent);
        }
    }

    fn mark(&mut self, cells: &Cells, mark: &Mark, accent: Style) {
        let from = cells.column(mark.stretch.start);
        let width = cells.column(mark.stretch.end).saturating_sub(from).max(1);
        self.edge("|");
        self.out.extend(std::iter::repeat_n(' ', from + 1));
        let (sign, style) = if mark.primary {
            ("^", accent)
        } else {
            ("-", FRAME)
        };
        let text = if mark.text.is_empty() {
            String::new()
        } else {
            format!(" {}", plain(mark.text))
        };
        self.styled(style, &(sign.repeat(width) + &text));
        self.out.push('\n');
    }

    /// The frame of a line without a number.
    fn edge(&mut self, sign: &str) {
        self.out.extend(std::iter::repeat_n(' ', self.gutter + 1));
        self.styled(FRAME, sign);
    }

    fn styled(&mut self, style: Style, text: &str) {
        if self.colour {
            let _ = write!(self.out, "{style}{text}{style:#}");
        } else {
            self.out.push_str(text);
        }
    }
}

const FRAME: Style = AnsiColor::Blue.on_default().bold();

/// The marks of each file, beginning with the file of the finding.
fn marks_by_file<'a>(places: &Places, diagnostic: &'a Diagnostic) -> Vec<(FileId, Vec<Mark<'a>>)> {
    let mut groups = vec![(diagnostic.span.file, Vec::new())];
    let own = std::iter::once((diagnostic.span, true, ""));
    let others = diagnostic
        .labels
        .iter()
        .map(|label| (label.span, false, label.text.as_str()));
    for (span, primary, text) in own.chain(others) {
        let index = groups
            .iter()
            .position(|(file, _)| *file == span.file)
            .unwrap_or_else(|| {
                groups.push((span.file, Vec::new()));
                groups.len() - 1
            });
        let marks = &mut groups[index].1;
        match places.stretches(span) {
            (stretch, None) => marks.push(Mark {
                stretch,
                primary,
                text,
            }),
            (first, Some(last)) => {
                marks.push(Mark {
                    stretch: first,
                    primary,
                    text: "",
                });
                marks.push(Mark {
                    stretch: last,
                    primary,
                    text,
                });
            }
        }
    }
    groups
}
