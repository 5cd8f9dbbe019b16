//! Diagnostics as JSON for tools: one object per line.
//!
//! The fields are an interface: fields may be added but not renamed.

use crate::codes::Severity;
use crate::diagnostic::Diagnostic;
use crate::place::Places;
use crate::source::{SourceMap, Span};
use serde::Serialize;

#[derive(Serialize)]
struct Finding<'a, M> {
    code: &'a str,
    severity: &'a str,
    #[serde(flatten)]
    range: Range<'a>,
    message: &'a str,
    help: Option<&'a str>,
    labels: Vec<Remark<'a>>,
    #[serde(flatten)]
    more: Option<M>,
}

#[derive(Serialize)]
struct Remark<'a> {
    #[serde(flatten)]
    range: Range<'a>,
    text: &'a str,
}

/// Lines and columns count from 1, columns in characters; the end is exclusive.
#[derive(Serialize)]
struct Range<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

/// One JSON object per line.
#[must_use]
pub fn render_json(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    render_json_with(sources, diagnostics.iter().map(|d| (d, None::<()>)))
}

/// The same, each with additional fields.
#[must_use]
pub fn render_json_with<'a, M: Serialize>(
    sources: &SourceMap,
    diagnostics: impl IntoIterator<Item = (&'a Diagnostic, Option<M>)>,
) -> String {
    let places = Places::new(sources);
    let mut out = String::new();
    for (diagnostic, more) in diagnostics {
        let finding = Finding {
            code: diagnostic.code.name(),
            severity: match diagnostic.code.severity() {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            range: range(&places, diagnostic.span),
            message: &diagnostic.message,
            help: diagnostic.help.as_deref(),
            labels: diagnostic
                .labels
                .iter()
                .map(|label| Remark {
                    range: range(&places, label.span),
                    text: &label.text,
                })
                .collect(),
            more,
        };
        out.push_str(&serde_json::to_string(&finding).expect("strings and numbers are JSON"));
        out.push('\n');
    }
    out
}

fn range<'a>(places: &Places<'a>, span: Span) -> Range<'a> {
    let start = places.at(span.file, span.start);
    let end = places.at(span.file, span.end.max(span.start));
    Range {
        file: places.file(span.file).map_or("", |file| &file.name),
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
    }
}
