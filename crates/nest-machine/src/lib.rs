//! The checked machine: what every emitter takes, and nothing else.
//!
//! [`compile`] goes from the text of a specification to a [`Machine`]: parse, resolve, automata,
//! actions. Must not know: the C that is emitted around it, files, the command line.

mod actions;
mod blocks;
mod cmacros;
mod conditions;
mod context;
mod csections;
mod encryption;
mod filters;
pub mod first;
mod foreign;
mod functions;
pub mod kept;
mod kernel;
mod locks;
pub mod matching;
pub mod model;
mod models;
pub mod options;
mod others;
mod overrides;
pub mod reach;
mod repeated;
mod resolve;
mod server_code;
mod shared;
mod stages;
mod stored;
mod unused;
mod whole;

use nest_diag::{Allows, Code as Diag, Diagnostic, SourceMap};
use nest_syntax::Loader;

pub use model::*;
pub use nest_feature::{Feature, Features};
pub use overrides::Overrides;
pub use resolve::{MOST_STATES, STATE_BUDGET};

/// The outcome of [`compile`].
#[derive(Debug)]
pub struct Compiled {
    /// All source files, for rendering diagnostics.
    pub sources: SourceMap,
    /// The machine; none if there was an error.
    pub machine: Option<Machine>,
    /// Everything there is to say, by position; without what is allowed.
    pub diagnostics: Vec<Diagnostic>,
    /// What is allowed, for warnings that are yet to come.
    pub allows: Allows,
    /// How many warnings were allowed.
    pub allowed: usize,
}

/// The warnings that [`compile`] itself looks for.
pub const WARNINGS: [Diag; 6] = [
    Diag::W0101,
    Diag::W0102,
    Diag::W0103,
    Diag::W0201,
    Diag::W0301,
    Diag::W0502,
];

/// Compiles the specification `file` with text `text`.
pub fn compile(file: &str, text: &str, loader: &mut dyn Loader, overrides: &Overrides) -> Compiled {
    let (sources, spec, mut diagnostics) = nest_syntax::parse(file, text, loader);
    let mut allows = Allows::read(&sources, &spec.remarks, &mut diagnostics);
    let machine = resolve::resolve(file, &sources, &spec, overrides, &mut diagnostics);
    let count = diagnostics.len();
    diagnostics.retain(|d| !allows.allows(&sources, d));
    let allowed = count - diagnostics.len();
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    if !failed {
        // What an error hides may be what is allowed.
        diagnostics.extend(allows.unused(|code| WARNINGS.contains(&code)));
    }
    diagnostics.sort_by_key(|d| (d.span.file, d.span.start, d.code));
    Compiled {
        sources,
        machine: (!failed).then_some(machine),
        diagnostics,
        allows,
        allowed,
    }
}
