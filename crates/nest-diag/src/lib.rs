//! Diagnostics as data: the problem, its location, the reason, and the fix.
//!
//! Knows source text and spans, but not the language. All other crates report through
//! [`Diagnostic`]; only the command line renders diagnostics. The codes are declared in [`codes`].

mod allow;
mod cells;
pub mod codes;
mod diagnostic;
mod json;
mod nearest;
mod place;
mod render;
mod source;

pub use allow::{Allows, REMARK};
pub use codes::{Code, Severity};
pub use diagnostic::{Diagnostic, Label};
pub use json::{render_json, render_json_with};
pub use nearest::nearest;
pub use render::{render_line, render_text};
pub use source::{FileId, SourceFile, SourceMap, Span};
