//! The C runtime, embedded: every file, and which servers need it. A file that is not listed here
//! is not part of any server (a test compares the list with the folder).

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Every server.
    All,
    /// Servers whose model uses this io.
    Io(&'static str),
    /// Servers whose model uses this workers.
    Workers(&'static str),
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
    /// Whether a server with this io, workers and features needs it.
    fn holds(&self, io: &str, workers: &str, features: &[&str]) -> bool {
        match *self {
            All => true,
            Io(name) => name == io,
            Workers(name) => name == workers,
            Sockets => io != "script",
            With(name) => features.contains(&name),
            Without(name) => !features.contains(&name),
            Both(a, b) => a.holds(io, workers, features) && b.holds(io, workers, features),
            Not(a) => !a.holds(io, workers, features),
        }
    }
}

/// Actions move to helper threads: `$block` in a loop. `script` has no threads.
const BLOCKS_MOVE: For = Both(&Io("epoll"), &With("blocks"));
/// In a script they wait for steps in place of threads.
const BLOCKS_STEP: For = Both(&Io("script"), &With("blocks"));

/// Workers send each other messages.
const MAILED: For = Both(&Sockets, &With("mailbox"));

/// Helper threads exist; the work of a `script` is done in its own steps.
const HELPED: For = Both(&Io("epoll"), &With("helpers"));

/// Files stay open for the next who asks.
const CACHED: For = Both(&Workers("loops"), &With("files"));

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

use For::{All, Both, Io, Not, Sockets, With, Without, Workers};

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
    "poller/command.h" Io("script");
    "poller/script.h" Io("script");
    "poller/script_faults.c" Io("script"); /* what stands behind it asks the system through it */
    "platform/files.h" With("files");
    "platform/files.c" With("files");
    "file/file.h" With("files");
    "file/root.c" With("files");
    "file/home.c" With("files");
    "file/cache.c" CACHED;
    "null/uncached.c" Both(&With("files"), &Not(&CACHED));
    "file/file.c" With("files");
    "file/upload.h" With("files");
    "file/upload.c" With("files");
    "file/commit.c" With("files");
    "file/list.c" With("lists");
    "null/files.c" Without("files");
    "null/cache.c" Both(&Workers("loops"), &Without("files"));
    "service/trace.h" With("trace");
    "service/trace.c" With("trace");
    "service/peer.h" With("peer");
    "service/peer.c" With("peer");
    "null/peer.c" Without("peer");
    "service/timeout.h" With("timeout");
    "service/timeout.c" With("timeout");
    "null/timeout.c" Without("timeout");
    "service/log.h" All;
    "service/log.c" With("log");
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
    "channel/channel.h" All;
    "channel/socket.h" Sockets;
    "channel/socket.c" Sockets;
    "channel/pipe.h" Sockets;
    "channel/pipe.c" Both(&Sockets, &With("inetd"));
    "channel/channel.c" Sockets;
    "platform/context.h" Workers("loops");
    "fiber/stacks.c" Workers("loops");
    "fiber/fiber.c" Workers("loops");
    "loop/slots.h" Workers("loops");
    "loop/helpers.h" Workers("loops");
    "poller/poller.h" Workers("loops");
    "poller/direct.h" Workers("loops");
    "loop/loop.h" Workers("loops");
    "loop/wheel.h" Workers("loops");
    "loop/accept.h" Workers("loops");
    "workers/supervisor.h" All;
    "loop/slots.c" Workers("loops");
    "loop/wheel.c" Workers("loops");
    "loop/timers.c" Workers("loops");
    "loop/accept.c" Workers("loops");
    "loop/visit.c" Workers("loops");
    "loop/wait.c" Workers("loops");
    "loop/end.c" Workers("loops");
    "loop/stop.c" Workers("loops");
    "loop/loop.c" Workers("loops");
    "poller/direct.c" Workers("loops");
    "poller/system.h" Io("epoll");
    "poller/system.c" Io("epoll");
    "poller/epoll.c" Io("epoll");
    "poller/command.c" Io("script");
    "poller/script_jobs.c" Io("script");
    "poller/script.c" Io("script");
    "poller/script_poller.c" Io("script");
    "poller/script_steps.c" Io("script");
    "blocking/blocking.h" Io("blocking");
    "blocking/watch.h" Io("blocking");
    "blocking/watch.c" Io("blocking");
    "blocking/blocking.c" Io("blocking");
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
    "workers/stop.h" All;
    "workers/shared.h" All;
    "workers/shared.c" Sockets;
    "workers/mailbox.h" MAILED;
    "workers/mailbox_rings.c" Both(&Workers("loops"), &MAILED);
    "workers/mailbox_sockets.c" Both(&Io("blocking"), &MAILED);
    "workers/children.h" Sockets;
    "workers/service_process.h" Sockets;
    "workers/service_process.c" Both(&Sockets, &With("tasks"));
    "workers/service_process_none.c" Both(&Sockets, &Without("tasks"));
    "workers/backoff.c" Sockets;
    "workers/exits.c" Sockets;
    "workers/children.c" Sockets;
    "workers/phases.c" Sockets;
    "workers/supervisor.c" Sockets;
    "workers/one.c" Both(&Sockets, &Not(&Workers("process")));
    "null/supervisor.c" Not(&Sockets);
    "workers/context.h" Workers("loops");
    "workers/loops.c" Workers("loops");
    "loop/blocks.c" BLOCKS_MOVE;
    "poller/script_blocks.c" BLOCKS_STEP;
    "null/blocks.c" Not(&Both(&Workers("loops"), &With("blocks")));
    "null/context.c" Both(&Workers("loops"), &Not(&BLOCKS_MOVE));
    "loop/helpers.c" HELPED;
    "null/helpers.c" Both(&Io("epoll"), &Not(&HELPED));
    "workers/idle_exit.h" Io("blocking");
    "workers/idle_exit.c" Io("blocking");
    "workers/process.h" Workers("process");
    "workers/spares.c" Workers("process");
    "workers/worker.c" Workers("process");
    "workers/process.c" Workers("process");
    "workers/thread.c" Workers("thread");
    "config/config.h" All;
    "config/value.h" All;
    "config/value.c" All;
    "config/config.c" All;
    "config/reload.c" All;
    "main.c" All;
}

/// The files that a server needs, in order.
pub fn needed(io: &str, workers: &str, features: &[&str]) -> Vec<&'static File> {
    FILES
        .iter()
        .filter(|f| f.needed.holds(io, workers, features))
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
