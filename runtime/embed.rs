//! The runtime files, embedded.
