//! Puts small static answers into the kernel, in front of a server that need not know: the loader of the
//! BPF programs in `bpf/`, and the cache that they answer from.
//!
//! Must not know: nest's command line, and how its messages look. Like nest-top, this crate does its own
//! input and output; it is part of no other use of the compiler.

mod cache;
mod cgroup;
mod conditions;
mod control;
mod counted;
mod date;
mod exporter;
mod failure;
mod files;
mod fill;
mod filler;
mod follow;
mod gate;
mod load;
mod log;
mod options;
mod origin;
mod probe;
mod process;
mod run;
mod running;
mod server;
mod shape;
mod shared;
mod sockets;
mod status;
mod told;

pub use control::{Question, ask};
pub use failure::Failure;
pub use options::Options;
pub use run::{accelerate, status as exit_status};
