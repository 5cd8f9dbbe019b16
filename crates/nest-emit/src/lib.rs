//! From a checked machine to a complete, readable C project.
//!
//! Must not know: the syntax tree, files, the command line. Same machine, same bytes.

use nest_machine::Machine;

/// A file of the generated project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutFile {
    /// Relative, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The C project for `machine`: Makefile, server.c, actions.c, NAME.h, nest.h, runtime/….
/// Its Makefile builds `NAME` with `$(CC)`; `EXTRA` adds C files, `CPPFLAGS`, `CFLAGS`, `LDLIBS`
/// as usual.
#[must_use]
pub fn emit(_machine: &Machine) -> Vec<OutFile> {
    Vec::new()
}
