//! From the text of a specification to its syntax tree.
//!
//! One function: [`parse`]. It never fails; it returns what it understood and what was wrong.
//! Must not know: files (a [`Loader`] brings them), what names resolve to beyond their kind.

pub mod ast;

use nest_diag::{Diagnostic, SourceMap};

/// Brings the text of an `%include`; the compiler itself does no I/O.
pub trait Loader {
    /// `path` as written, `from`: the name of the including file. The new file's name and text,
    /// or why there is none.
    ///
    /// # Errors
    /// One sentence for the user.
    fn load(&mut self, from: &str, path: &str) -> Result<(String, String), String>;
}

/// Parses the specification `name`, whose text is `text`, and what it includes.
/// All diagnostics of all files come back, in order of position.
pub fn parse(
    _name: &str,
    _text: &str,
    _loader: &mut dyn Loader,
) -> (SourceMap, ast::Spec, Vec<Diagnostic>) {
    (SourceMap::default(), ast::Spec::default(), Vec::new())
}
