//! What all generated projects share: files, units, flags. Must not know: what the files are.

/// A file of the generated project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutFile {
    /// A relative path with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// The units to compile, relative to the project.
pub const UNITS: &[&str] = &["server.c", "actions.c"];

/// Flags for compiling and linking every unit; the project's Makefile has the same.
pub const CFLAGS: &[&str] = &[
    "-std=c17",
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror=format",
    "-Werror=int-conversion",
    "-Werror=implicit-function-declaration",
    "-fstack-clash-protection",
    "-pthread",
];

/// Additional flags for linking. Library functions are resolved when the server starts, because a
/// process that serves one connection would have to resolve them again.
pub const LDFLAGS: &[&str] = &["-Wl,-z,now"];
