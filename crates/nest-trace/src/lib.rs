//! The events that a server with `%option mode debug` recorded.
//!
//! The server writes a file of rings (runtime/service/debug/recorder.h). This crate reads its bytes,
//! selects events, checks that they can have happened, and shows them as text or as JSON for
//! Perfetto. Must not know: files on disk, the command line, specifications.

mod check;
mod event;
mod file;
mod filter;
mod perfetto;
mod text;

pub use check::check;
pub use event::{Event, KINDS, Kind, Role};
pub use file::Trace;
pub use filter::Filter;
pub use perfetto::perfetto;
pub use text::{head, line};
