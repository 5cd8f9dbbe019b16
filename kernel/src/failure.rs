//! Why something could not be done, in words.
//!
//! Must not know: how it is printed.

use std::fmt;

/// Why it could not be done.
#[derive(Debug)]
pub enum Failure {
    /// This system cannot do it: what is missing.
    Missing(Vec<String>),
    /// The kernel cannot answer for a server that runs. A line told why.
    Unfit,
    /// Something failed.
    Failed(String),
}

impl Failure {
    /// `what` failed with a system error.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Failure::Failed(format!("{what}: {}", reason(error)))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Missing(what) => write!(
                out,
                "this system cannot answer from the kernel: {}",
                what.join("; ")
            ),
            Failure::Unfit => out.write_str("the kernel cannot answer for this server"),
            Failure::Failed(message) => out.write_str(message),
        }
    }
}

/// The system's text without Rust's "(os error N)", in lower case.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}
