//! The C runtime, embedded: every file, and which servers need it. A file that is not listed here
//! is not part of any server (a test compares the list with the folder).

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Every server.
    All,
    /// Servers whose model uses this io.
    Io(&'static str),
    /// Servers whose model uses this crew.
    Crew(&'static str),
    /// Servers with sockets.
    Sockets,
    /// Servers that select the feature.
    With(&'static str),
    /// Servers that do not.
    Without(&'static str),
    /// Servers for which both hold.
    Both(&'static For, &'static For),
    /// Servers for which it does not hold.
    Not(&'static For),
}

impl For {
    /// Whether a server with this io, crew and features needs it.
    fn holds(&self, io: &str, crew: &str, features: &[&str]) -> bool {
        match *self {
            All => true,
            Io(name) => name == io,
            Crew(name) => name == crew,
            Sockets => io != "script",
            With(name) => features.contains(&name),
            Without(name) => !features.contains(&name),
            Both(a, b) => a.holds(io, crew, features) && b.holds(io, crew, features),
            Not(a) => !a.holds(io, crew, features),
        }
    }
}

/// Actions move to helper threads: `$block` in a loop. `script` has no threads.
const BLOCKS_MOVE: For = Both(&Io("epoll"), &With("blocks"));
/// In a script they wait for steps in place of threads.
const BLOCKS_STEP: For = Both(&Io("script"), &With("blocks"));

/// One process serves all, and another one watches over it.
const SUPERVISED: For = Both(&Sockets, &Not(&Crew("process")));

/// Helper threads exist; the work of a `script` is done in its own steps.
const HELPED: For = Both(&Io("epoll"), &With("helpers"));

/// Files stay open for the next who asks.
const CACHED: For = Both(&Crew("loops"), &With("files"));

/// One file of the runtime.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Relative to the runtime folder.
    pub path: &'static str,
    /// Its content.
    pub text: &'static str,
    /// Who needs it.
    pub needed: For,
}

macro_rules! files {
    ($($path:literal $needed:expr;)*) => {
        /// All files, in the order in which server.c includes those it needs; headers are included
        /// by whom they serve.
        pub const FILES: &[File] = &[
            $(File { path: $path, text: include_str!($path), needed: $needed },)*
        ];
    };
}

use For::{All, Both, Crew, Io, Not, Sockets, With, Without};

files! {
    "nest.h" All;
    "seam.h" All;
    "platform/platform.h" All;
    "platform/scan.h" All;
    "platform/text.c" All;
    "platform/address.c" All;
    "platform/date.c" All;
    "platform/system.c" All;
    "platform/log.c" All;
    "platform/crash.c" All;
    "platform/notify.c" All;
    "platform/memory.c" All;
    "io/command.h" Io("script");
    "io/script.h" Io("script");
    "io/script_faults.c" Io("script"); /* what stands behind it asks the system through it */
    "platform/files.h" With("files");
    "platform/files.c" With("files");
    "file/file.h" With("files");
    "file/root.c" With("files");
    "file/cache.c" CACHED;
    "null/uncached.c" Both(&With("files"), &Not(&CACHED));
    "file/file.c" With("files");
    "file/upload.h" With("files");
    "file/upload.c" With("files");
    "file/commit.c" With("files");
    "file/list.c" With("lists");
    "null/files.c" Without("files");
    "null/cache.c" Both(&Crew("loops"), &Without("files"));
    "feature/trace.h" With("trace");
    "feature/trace.c" With("trace");
    "feature/peer.h" With("peer");
    "feature/peer.c" With("peer");
    "null/peer.c" Without("peer");
    "feature/timeout.h" With("timeout");
    "feature/timeout.c" With("timeout");
    "null/timeout.c" Without("timeout");
    "feature/log.h" All;
    "feature/log.c" With("log");
    "null/log.c" Without("log");
    "engine/engine.h" All;
    "engine/work.c" All;
    "engine/output.c" All;
    "engine/clock.c" All;
    "engine/wait.c" All;
    "engine/input.c" All;
    "engine/files.c" With("files");
    "null/opened.c" Without("files");
    "engine/uploads.c" With("uploads");
    "null/uploads.c" Without("uploads");
    "engine/lists.c" With("lists");
    "null/lists.c" Without("lists");
    "engine/threads.c" All;
    "engine/matcher.c" All;
    "engine/parts.c" All;
    "engine/directives.c" All;
    "engine/keep.c" With("keep");
    "null/keep.c" Without("keep");
    "engine/session.c" All;
    "engine/budget.c" All;
    "io/peer.c" Sockets;
    "platform/context.h" Crew("loops");
    "door/stacks.c" Crew("loops");
    "door/door.c" Crew("loops");
    "crew/loops.h" Crew("loops");
    "io/wheel.h" Crew("loops");
    "io/wheel.c" Crew("loops");
    "io/intake.h" Crew("loops");
    "io/intake.c" Crew("loops");
    "io/epoll.h" Io("epoll");
    "io/epoll_bytes.c" Io("epoll");
    "io/epoll_end.c" Io("epoll");
    "io/epoll_wait.c" Io("epoll");
    "io/epoll_accept.c" Io("epoll");
    "io/epoll_stop.c" Io("epoll");
    "io/epoll.c" Io("epoll");
    "io/command.c" Io("script");
    "io/jobs.c" Io("script");
    "io/script.c" Io("script");
    "io/script_steps.c" Io("script");
    "io/blocking.h" Io("blocking");
    "io/watch.h" Io("blocking");
    "io/watch.c" Io("blocking");
    "io/blocking.c" Io("blocking");
    "listener/endpoint.h" All;
    "listener/endpoint.c" All;
    "listener/listener.h" All;
    "listener/scarce.c" All;
    "listener/take.c" Sockets;
    "listener/systemd.c" Sockets;
    "listener/inetd.c" With("inetd");
    "null/inetd.c" Without("inetd");
    "null/systemd.c" Io("script");
    "listener/listener.c" Sockets;
    "crew/supervisor.h" All;
    "crew/supervisor.c" SUPERVISED;
    "null/supervisor.c" Not(&SUPERVISED);
    "crew/carrier.h" Crew("loops");
    "crew/helpers.h" Crew("loops");
    "crew/loops.c" Crew("loops");
    "crew/blocks.c" BLOCKS_MOVE;
    "io/script_blocks.c" BLOCKS_STEP;
    "null/blocks.c" Not(&Both(&Crew("loops"), &With("blocks")));
    "null/carrier.c" Both(&Crew("loops"), &Not(&BLOCKS_MOVE));
    "crew/helpers.c" HELPED;
    "null/helpers.c" Both(&Crew("loops"), &Not(&HELPED));
    "crew/patience.h" Io("blocking");
    "crew/patience.c" Io("blocking");
    "crew/process.h" Crew("process");
    "crew/worker.c" Crew("process");
    "crew/process.c" Crew("process");
    "crew/thread.c" Crew("thread");
    "config/config.h" All;
    "config/value.h" All;
    "config/value.c" All;
    "config/config.c" All;
    "config/reload.c" All;
    "main.c" All;
}

/// The files that a server needs, in order.
pub fn needed(io: &str, crew: &str, features: &[&str]) -> Vec<&'static File> {
    FILES
        .iter()
        .filter(|f| f.needed.holds(io, crew, features))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::FILES;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The C files below `folder`, named relative to `root`; tests are no part of a server.
    fn below(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_string();
            if path.is_dir() && name != "tests" {
                below(root, &path, found);
            } else if name.ends_with(".c") || name.ends_with(".h") {
                found.insert(name);
            }
        }
    }

    #[test]
    fn the_list_is_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found = BTreeSet::new();
        below(root, root, &mut found);
        let listed: BTreeSet<String> = FILES.iter().map(|f| f.path.to_string()).collect();
        assert_eq!(listed.len(), FILES.len(), "a file is listed twice");
        assert_eq!(listed, found);
    }
}
