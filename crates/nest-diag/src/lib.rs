//! Diagnostics as data: what is wrong, where, why, and how to mend it.
//!
//! Knows source text and spans; knows nothing of the language. Every other crate reports through
//! [`Diagnostic`]; only the command line renders them. Codes are declared once, in [`codes`].

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
