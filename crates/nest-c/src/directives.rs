//! The one table of directives. The action scanner, the analyses of C, the checks, the emitter and the
//! reference take everything they know of a directive from its row: how it is written, what it
//! becomes, what it does to control flow, text and states. No other file names a directive (a test
//! searches for them). Must not know: how C is parsed.

mod build;
mod functions;
pub mod roles;
mod rows;
mod second;
mod table;

use nest_feature::Feature;
pub use rows::*;
pub use table::{DIRECTIVES, PART};

/// The directive of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|d| d.name == name)
}

/// The directive of that form. `$block` and `$return` are found so.
#[must_use]
pub fn of_form(form: Form) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|d| d.form == form)
}

/// The directive that becomes this function of `nest.h`.
#[must_use]
pub fn becoming(c: &str) -> Option<&'static Directive> {
    DIRECTIVES.iter().find(|d| d.c == c && !c.is_empty())
}

/// A function of `nest.h` by its name, as the table spells it, and what it does.
#[must_use]
pub fn function(c: &str) -> Option<(&'static str, &'static Does)> {
    // Most words of C are none: analyses look up all of them.
    if !c.starts_with("nest_") {
        return None;
    }
    let own = functions::FUNCTIONS.iter().find(|f| f.c == c);
    let own = own.map(|f| (f.c, &f.does));
    own.or_else(|| becoming(c).map(|d| (d.c, &d.does)))
}

/// What a function of that name does; nothing if it is not in the table.
#[must_use]
pub fn does(c: &str) -> &'static Does {
    function(c).map_or(&Does::NOTHING, |(_, does)| does)
}

/// What a directive (with its `$`) or a function of that name does.
#[must_use]
pub fn word_does(word: &str) -> &'static Does {
    match word.strip_prefix('$') {
        Some(name) => find(name).map_or(&Does::NOTHING, |d| &d.does),
        None => does(word),
    }
}

/// The feature that a function of nest.h needs, and so the directive that becomes it.
#[must_use]
pub fn feature(c: &str) -> Option<Feature> {
    does(c).needs
}
