//! Comments that allow warnings: `// nest: allow W0302 "why"`.
//!
//! A comment stands at the end of the line of the warning, or on lines of its own before it. Must
//! not know: the syntax of comments (the parser finds them), the text of warnings.

use crate::codes::{Code, Severity};
use crate::diagnostic::Diagnostic;
use crate::nearest::nearest;
use crate::source::{FileId, SourceMap, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// The prefix of every comment for the compiler.
pub const REMARK: &str = "nest:";

/// The correct form.
const FORM: &str = "write `nest: allow W0302 \"why\"`, several codes with commas between them";

/// A code that is allowed in a line.
#[derive(Clone, Debug)]
struct Allow {
    code: Code,
    /// The code in the comment.
    span: Span,
    /// The line, from 1; `None`: nothing follows the comment.
    line: Option<usize>,
    /// The comment also names W0104, so it may be unused.
    idle: bool,
    used: bool,
}

/// All allowed warnings of a specification.
#[derive(Clone, Debug, Default)]
pub struct Allows {
    all: Vec<Allow>,
    /// Numbers of those that allow a code in a line of a file.
    places: BTreeMap<(FileId, usize, Code), Vec<usize>>,
}

impl Allows {
    /// Parses comments, ignores those that allow nothing, and reports mistakes.
    #[must_use]
    pub fn read(sources: &SourceMap, comments: &[Span], out: &mut Vec<Diagnostic>) -> Allows {
        let mut allows = Allows::default();
        let mut lines = Lines::default();
        for comment in comments {
            let Some(body) = body(sources.text(*comment)) else {
                continue;
            };
            let line = lines.covered(sources, *comment);
            match codes(sources, *comment, body) {
                Ok(codes) => {
                    let idle = codes.iter().any(|(code, _)| *code == Code::W0104);
                    let others = codes.into_iter().filter(|(code, _)| *code != Code::W0104);
                    for (code, span) in others {
                        if let Some(line) = line {
                            let place = allows.places.entry((comment.file, line, code));
                            place.or_default().push(allows.all.len());
                        }
                        allows.all.push(Allow {
                            code,
                            span,
                            line,
                            idle,
                            used: false,
                        });
                    }
                }
                Err(wrong) => out.push(*wrong),
            }
        }
        allows
    }

    /// Whether a warning is allowed at its location. Records that the comment is used.
    pub fn allows(&mut self, sources: &SourceMap, diagnostic: &Diagnostic) -> bool {
        let Span { file, start, .. } = diagnostic.span;
        if self.places.is_empty() || diagnostic.is_error() {
            return false;
        }
        let line = sources.line(file, start);
        let Some(here) = self.places.get_mut(&(file, line, diagnostic.code)) else {
            return false;
        };
        // The entry stays for other warnings in the line; its comments are marked once.
        for allow in here.drain(..) {
            self.all[allow].used = true;
        }
        true
    }

    /// The unused comments, for the codes that were checked.
    pub fn unused(&self, looked_for: impl Fn(Code) -> bool) -> Vec<Diagnostic> {
        let idle = self.all.iter().filter(|a| !a.used && !a.idle);
        let said = idle.filter(|a| looked_for(a.code)).map(|allow| {
            let what = match allow.line {
                Some(line) => format!("there is no {} in line {line}", allow.code.name()),
                None => format!("no line follows in which {} could be", allow.code.name()),
            };
            Diagnostic::new(Code::W0104, allow.span, what).help(
                "leave it out; it stands on the lines before the one that the warning names, or at \
                 the end of that one",
            )
        });
        said.collect()
    }
}

/// The text after `nest: allow`, and its start; `None` for other comments.
fn body(comment: &str) -> Option<(usize, &str)> {
    let inside = comment.get(2..)?;
    let inside = inside.strip_suffix("*/").unwrap_or(inside);
    let said = inside.trim_start().strip_prefix(REMARK)?.trim_start();
    let said = said.strip_prefix("allow")?;
    let end = 2 + inside.len();
    let word = said.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!word).then(|| (end - said.len(), said.trim_end()))
}

/// The codes of a comment, and their positions.
fn codes(
    sources: &SourceMap,
    comment: Span,
    (at, text): (usize, &str),
) -> Result<Vec<(Code, Span)>, Box<Diagnostic>> {
    let start = comment.start as usize + at;
    let span = |from: usize, to: usize| Span::new(comment.file, start + from, start + to);
    let wrong = |span, what: String, help: &str| {
        Err(Box::new(
            Diagnostic::new(Code::E0109, span, what).help(help),
        ))
    };
    let listed = text.find('"').unwrap_or(text.len());
    let mut found = Vec::new();
    let mut from = 0;
    for word in text[..listed].split(',') {
        let name = word.trim();
        let lead = word.len() - word.trim_start().len();
        let here = if name.is_empty() {
            comment
        } else {
            span(from + lead, from + lead + name.len())
        };
        from += word.len() + 1;
        match Code::from_name(name) {
            Some(code) if code.severity() == Severity::Warning => found.push((code, here)),
            Some(code) => {
                let what = format!("{} is an error, and no error is allowed", code.name());
                return wrong(here, what, "mend what it is about");
            }
            None if name.is_empty() => {
                return wrong(here, "a code is missing".to_string(), FORM);
            }
            None => {
                let warnings = Code::ALL.iter().filter(|c| !c.name().starts_with('E'));
                let near = nearest(name, warnings.map(|c| c.name()));
                let help = match near {
                    Some(near) => format!("did you mean {near}? {FORM}"),
                    None => FORM.to_string(),
                };
                return wrong(here, format!("there is no warning `{name}`"), &help);
            }
        }
    }
    let reason = text[listed..].strip_prefix('"');
    match reason.and_then(|r| r.strip_suffix('"')) {
        Some(reason) if !reason.trim().is_empty() => Ok(found),
        _ => {
            let end = &sources.text(comment)[..at + text.len()];
            let what = if end.ends_with('"') && listed + 1 < text.len() {
                "the reason is empty"
            } else if listed == text.len() {
                "the reason is missing"
            } else {
                "the reason is to end the comment, in quotes"
            };
            wrong(comment, what.to_string(), FORM)
        }
    }
}

/// Finds the lines that comments apply to. The comments of a file come in order, so that each part of
/// the text is read once, however many comments stand beside each other.
#[derive(Default)]
struct Lines {
    /// A range of blanks and comments in this file, and the line of what follows it.
    skipped: Option<(FileId, Range<usize>, Option<usize>)>,
    /// A line of this file, and the position of its first text.
    begun: Option<(FileId, usize, usize)>,
}

impl Lines {
    /// The line that a comment applies to: its own if something else stands before it, otherwise the
    /// next line that contains more than comments.
    fn covered(&mut self, sources: &SourceMap, comment: Span) -> Option<usize> {
        let text = &sources.file(comment.file).text;
        let (start, end) = (comment.start as usize, comment.end as usize);
        let line = sources.line(comment.file, comment.start);
        let begins = match self.begun {
            Some((file, known, begins)) if (file, known) == (comment.file, line) => begins,
            _ => {
                let from = sources.file(comment.file).line_start(line);
                let begins = text.len() - text[from..].trim_start().len();
                self.begun = Some((comment.file, line, begins));
                begins
            }
        };
        if begins < start {
            return Some(line);
        }
        if let Some((file, range, found)) = &self.skipped
            && *file == comment.file
            && range.contains(&start)
        {
            return *found;
        }
        let at = behind_comments(text, end);
        let found = at.map(|at| sources.line(comment.file, u32::try_from(at).unwrap_or(u32::MAX)));
        self.skipped = Some((comment.file, end..at.unwrap_or(text.len()), found));
        found
    }
}

/// The position of the first text from `at` on that is neither blank nor a comment.
fn behind_comments(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if rest.starts_with("//") {
            at += rest.find('\n')?;
        } else if rest.starts_with("/*") {
            at += rest.find("*/")? + 2;
        } else {
            return (!rest.is_empty()).then_some(at);
        }
    }
}
