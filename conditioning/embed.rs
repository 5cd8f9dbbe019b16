//! The C code of a filter's frame, embedded: what a generated filter needs besides its automaton.
//! Must not know: specifications, how filters are generated.

pub mod inside;

/// A C file.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name; all files are in one folder.
    pub name: &'static str,
    /// Its content.
    pub text: &'static str,
}

macro_rules! files {
    ($($folder:literal: $($name:literal)*;)*) => {
        &[$($(File {
            name: $name,
            text: include_str!(concat!($folder, "/", $name)),
        },)*)*]
    };
}

/// All files. Those that end in `.c` are units of their own.
pub const FILES: &[File] = files! {
    "frame": "ccfilter.h" "ccfpack.h" "ccftree.h" "ccfauto.h" "ccfrepeat.h" "frame.h" "counters.h" "nets.h"
        "auto.c" "bundle.c" "control.c" "down.c" "inbox.c" "lease.c" "loop.c" "main.c" "nets.c" "options.c"
        "pack.c" "ready.c" "refuse.c" "repeat.c" "tree.c" "up.c";
    "libcc": "wire.h" "wire.c";
    "protocol": "protocol.h" "messages.h" "messages.c";
};

/// `protocol/request.c`: the program of a filter that packages a protocol's first messages.
pub const REQUEST: File = File {
    name: "request.c",
    text: include_str!("protocol/request.c"),
};

/// `protocol/check.c`: the program of a filter that checks packaged messages.
pub const CHECK: File = File {
    name: "check.c",
    text: include_str!("protocol/check.c"),
};

/// `protocol/persist.c`: the program of a filter that presents messages one by one.
pub const PERSIST: File = File {
    name: "persist.c",
    text: include_str!("protocol/persist.c"),
};
