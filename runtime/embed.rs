//! The C runtime, embedded: every file, the part that it belongs to, and which servers need it.
//!
//! [`PARTS`] is the one list of files. Generated servers, the runtime's own tests and the check of
//! its layers are made from it. A file that is not listed is not part of any server (a test compares
//! the list with the folder).

mod points;
mod services;
mod unit;

pub use nest_feature::{Feature, Features};
pub use points::{POINTS, Point};
pub use services::{SERVICES, Service};
pub use unit::{Listener, Unit};

/// What decides which files a server needs.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// How bytes reach channels: `blocking`, `epoll`, `uring`, `script`.
    pub poller: &'a str,
    /// Who runs sessions: `process`, `thread`, `loops`.
    pub workers: &'a str,
    /// What else is selected.
    pub features: Features,
}

impl Server<'_> {
    /// Whether it has two pollers, one of which serves.
    #[must_use]
    pub fn falls_back(&self) -> bool {
        FALLS_BACK.holds(self)
    }
}

/// The servers that need a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// Every server.
    All,
    /// Servers whose model uses this poller.
    Poller(&'static str),
    /// Servers whose model uses these workers.
    Workers(&'static str),
    /// Servers with sockets.
    Sockets,
    /// Servers that select the feature.
    With(Feature),
    /// Servers that do not.
    Without(Feature),
    /// Servers for which both hold.
    Both(&'static For, &'static For),
    /// Servers for which one of them holds.
    Either(&'static For, &'static For),
    /// Servers for which it does not hold.
    Not(&'static For),
}

impl For {
    /// Whether the server is one of them.
    pub(crate) fn holds(&self, server: &Server<'_>) -> bool {
        match *self {
            All => true,
            Poller(name) => name == server.poller,
            Workers(name) => name == server.workers,
            Sockets => server.poller != "script",
            With(feature) => server.features.contains(feature),
            Without(feature) => !server.features.contains(feature),
            Both(a, b) => a.holds(server) && b.holds(server),
            Either(a, b) => a.holds(server) || b.holds(server),
            Not(a) => !a.holds(server),
        }
    }
}

/// Loops with real descriptors.
const REAL: For = Either(&Poller("epoll"), &Poller("uring"));
/// A loop of io_uring that epoll replaces where the kernel gives no ring.
const FALLS_BACK: For = Both(&Poller("uring"), &With(Feature::Fallback));

/// Actions run on threads beside the loop. `script` has no threads.
pub(crate) const PROCESSORS: For = Both(&REAL, &With(Feature::Processors));
/// Actions move to helper threads: `$block` in a loop, if they are on its thread before.
pub(crate) const BLOCKS_MOVE: For = Both(&REAL, &With(Feature::Blocks));
/// In a script they wait for steps in place of threads.
pub(crate) const BLOCKS_STEP: For = Both(&Poller("script"), &With(Feature::Blocks));

/// Workers send each other messages; in a script, commands do.
pub(crate) const MAILED: For = With(Feature::Mailbox);

/// A loop's sessions have further channels.
const LOOP_CHANNELS: For = Both(&Workers("loops"), &With(Feature::Channels));
/// Actions open connections. Scripts have no network.
pub(crate) const DIALS: For = Both(&Sockets, &With(Feature::Dial));
/// A worker's one session has further channels.
const BLOCKING_CHANNELS: For = Both(&Poller("blocking"), &With(Feature::Channels));

/// They hand on what two connections say.
const RELAYS: For = Both(&Sockets, &With(Feature::Relay));

/// A loop's actions open connections and wait for several of them.
const LOOP_DIAL: For = Both(&Both(&Workers("loops"), &Sockets), &With(Feature::Dial));
/// The actions of workers that block do.
const BLOCKING_DIAL: For = Both(&Poller("blocking"), &With(Feature::Dial));

/// Connections may come from inetd.
pub(crate) const INETD: For = Both(&Sockets, &With(Feature::Inetd));

/// Connections are encrypted.
pub(crate) const TLS: For = Both(&Sockets, &With(Feature::Tls));
/// Received or sent bytes pass functions of the specification.
const STAGED: For = Either(&With(Feature::Stages), &With(Feature::Encodes));
/// OpenSSL runs on a stack that the loop has for it.
const DEEP: For = Both(&Workers("loops"), &TLS);
/// OpenSSL runs on the stack of a thread.
const NOT_DEEP: For = Both(&Poller("blocking"), &TLS);

/// Filters accept clients in front of the server.
pub(crate) const FILTERED: For = Both(&Sockets, &With(Feature::Filters));

/// Workers are processes that serve a client at a time.
const PROCESSES: For = Either(&Workers("process"), &Workers("prefork"));

/// Helper threads exist; the work of a `script` is done in its own steps.
const HELPED: For = Both(&REAL, &With(Feature::Helpers));

/// Jobs wait for a helper thread, or for a step that stands for one.
const JOBS: For = Either(&HELPED, &Poller("script"));

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

/// Files that may call the same things of other parts; layers.txt lists these.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// Its files, in the order in which they are included.
    pub files: &'static [File],
}

/// `"part" { "path" needed; … }`, or `@services`: the parts of the services, one each.
macro_rules! parts {
    ($($before:literal { $($before_path:literal $before_needed:expr;)* })*
     @services
     $($after:literal { $($after_path:literal $after_needed:expr;)* })*) => {
        const BEFORE: &[Part] = &[$(Part { name: $before, files: &[$(File {
            path: $before_path, text: include_str!($before_path), needed: $before_needed,
        }),*] }),*];
        const AFTER: &[Part] = &[$(Part { name: $after, files: &[$(File {
            path: $after_path, text: include_str!($after_path), needed: $after_needed,
        }),*] }),*];
    };
}

use For::{All, Both, Either, Not, Poller, Sockets, With, Without, Workers};

// In the order in which a server includes them. Headers are included by the files that use them.
parts! {
    "contract" {
        "nest.h" All;
        "nest_stage.h" STAGED;
        "settings.h" All;
        "seam.h" All;
    }
    "platform" {
        "platform/platform.h" All;
        "platform/scan.h" All;
        "platform/text.c" All;
        "platform/address.c" All;
        "platform/date.c" All;
        "platform/system.c" All;
        "platform/log.c" All;
        "platform/crash.c" All;
        "platform/notify.c" All;
        "platform/group.h" All;
        "platform/group.c" All;
        "platform/memory.c" All;
        "platform/processors.c" REAL;
        "platform/limits.c" Poller("blocking");
    }
    "poller/clock" {
        "poller/script_clock.c" Poller("script");
    }
    "poller/faults" { // what follows calls the system through it
        "poller/command.h" Poller("script");
        "poller/script.h" Poller("script");
        "poller/script_faults.c" Poller("script");
    }
    "platform/files" {
        "platform/files.h" With(Feature::Files);
        "platform/files.c" With(Feature::Files);
    }
    "file" {
        "file/access.h" With(Feature::Files);
        "file/file.h" With(Feature::Files);
        "file/root.c" With(Feature::Files);
        "file/home.c" With(Feature::Files);
        "file/file.c" With(Feature::Files);
        "file/upload.h" With(Feature::Files);
        "file/upload.c" With(Feature::Files);
        "file/commit.c" With(Feature::Files);
        "file/place.c" With(Feature::Files);
        "file/list.c" With(Feature::Lists);
    }
    "queue" {
        "channel/queue.h" All;
        "channel/queue.c" All;
    }
    "pool" {
        "channel/pool.h" All;
        "channel/pool.c" With(Feature::Channels);
        "channel/pool_none.c" Without(Feature::Channels);
    }
    "engine" {
        "engine/engine.h" All;
        "engine/work.c" All;
        "engine/output.c" All;
        "engine/clock.c" All;
        "engine/wait.c" All;
        "engine/input.c" All;
        "engine/threads.c" All;
        "engine/matcher.c" All;
        "engine/parts.c" All;
        "engine/directives.c" All;
        "engine/session.c" All;
        "engine/hold.c" Both(&Workers("loops"), &With(Feature::Priorities));
        "engine/channels.h" With(Feature::Channels);
        "engine/channels.c" With(Feature::Channels);
        "engine/second.h" DIALS;
        "engine/second.c" DIALS;
        "engine/bytes.c" DIALS;
        "engine/any.c" DIALS;
        "engine/relay.c" RELAYS;
    }
    "budget" {
        "engine/budget.c" All;
    }
    @services
    "channel" {
        "channel/stages.h" All;
        "channel/encodes.h" All;
        "channel/tls.h" All;
        "channel/channel.h" All;
        "channel/splice.h" All;
        "channel/records.h" STAGED;
        "channel/socket.h" Sockets;
        "channel/socket.c" Sockets;
        "channel/pipe.h" Sockets;
        "channel/pipe.c" INETD;
        "channel/channel.c" Sockets;
    }
    "splice" {
        "channel/splice.c" RELAYS;
    }
    "stages" {
        "channel/stages.c" With(Feature::Stages);
    }
    "encodes" {
        "channel/encodes.c" With(Feature::Encodes);
    }
    "encrypted" {
        "channel/deep.h" TLS;
        "channel/deep_none.c" NOT_DEEP;
        "channel/tls.c" TLS;
    }
    "fiber" {
        "platform/context.h" Workers("loops");
        "fiber/fiber.h" Workers("loops");
        "fiber/stacks.c" Workers("loops");
        "fiber/fiber.c" Workers("loops");
    }
    "deep" {
        "fiber/deep.c" DEEP;
    }
    "loop" {
        "loop/slots.h" Workers("loops");
        "loop/helpers.h" Workers("loops");
        "loop/loop.h" Workers("loops");
        "loop/wheel.h" Workers("loops");
        "loop/channels.h" Workers("loops");
        "loop/accept.h" Workers("loops");
        "loop/share.h" Workers("loops");
        "loop/shake.h" Workers("loops");
        "loop/slots.c" Workers("loops");
        "loop/ready.h" Workers("loops");
        "loop/ready.c" Both(&Workers("loops"), &Without(Feature::Priorities));
        "loop/classes.h" Both(&Workers("loops"), &With(Feature::Priorities));
        "loop/ready_classes.c" Both(&Workers("loops"), &With(Feature::Priorities));
        "loop/wheel.c" Workers("loops");
        "loop/many.h" Workers("loops");
        "loop/many.c" LOOP_DIAL;
        "loop/many_none.c" Both(&Workers("loops"), &Not(&LOOP_DIAL));
        "loop/channels.c" LOOP_CHANNELS;
        "loop/channels_none.c" Both(&Workers("loops"), &Not(&LOOP_CHANNELS));
        "loop/timers.c" Workers("loops");
        "loop/accept.c" Workers("loops");
        "loop/shake.c" DEEP;
        "loop/visit.c" Workers("loops");
        "loop/wait.c" Workers("loops");
        "loop/end.c" Workers("loops");
        "loop/stop.c" Workers("loops");
        "loop/loop.c" Workers("loops");
    }
    "poller/direct" {
        "poller/poller.h" Workers("loops");
        "poller/direct.h" Workers("loops");
        "poller/direct.c" Workers("loops");
    }
    "poller/system" {
        "poller/system.h" REAL;
        "poller/clock.c" REAL;
        "poller/system.c" REAL;
        "poller/again.c" Both(&REAL, &With(Feature::Priorities));
    }
    "poller/epoll" {
        "poller/epoll.c" Either(&Poller("epoll"), &FALLS_BACK);
    }
    "poller/ring" {
        "poller/ring_abi.h" Poller("uring");
        "poller/ring.h" Poller("uring");
        "poller/ring.c" Poller("uring");
        "poller/ring_refusal.c" Poller("uring");
    }
    "poller/uring" {
        "poller/early.h" Poller("uring");
        "poller/early.c" Poller("uring");
        "poller/uring.c" Poller("uring");
    }
    "poller/fallback" {
        "poller/fallback.c" FALLS_BACK;
    }
    "poller/script" {
        "poller/command.c" Poller("script");
        "poller/script_jobs.c" Poller("script");
        "poller/script_again.c" Both(&Poller("script"), &With(Feature::Priorities));
        "poller/script.c" Poller("script");
        "poller/script_poller.c" Poller("script");
        "poller/script_later.c" Poller("script");
        "poller/script_steps.c" Poller("script");
    }
    "stop" {
        "workers/stop.h" All;
        "workers/stop.c" All;
    }
    "blocking" {
        "blocking/blocking.h" Poller("blocking");
        "blocking/watch.h" Poller("blocking");
        "blocking/watch.c" Poller("blocking");
        "blocking/channels.h" Poller("blocking");
        "blocking/any.h" BLOCKING_CHANNELS;
        "blocking/any.c" BLOCKING_DIAL;
        "blocking/any_none.c" Both(&BLOCKING_CHANNELS, &Not(&BLOCKING_DIAL));
        "blocking/channels.c" BLOCKING_CHANNELS;
        "blocking/channels_none.c" Both(&Poller("blocking"), &Not(&BLOCKING_CHANNELS));
        "blocking/blocking.c" Poller("blocking");
    }
    "listener" {
        "listener/endpoint.h" All;
        "listener/endpoint.c" All;
        "listener/listener.h" All;
        "listener/listeners.h" All;
        "listener/scarce.c" All;
        "listener/take.c" Both(&Sockets, &Not(&FILTERED));
        "listener/arm_none.c" Not(&FILTERED);
        "listener/open.c" Sockets;
        "listener/listener.c" Sockets;
    }
    "links" {
        "listener/links.c" FILTERED;
    }
    "mailbox" {
        "workers/mailbox.h" MAILED;
        "workers/mailbox_rings.c" Both(&REAL, &MAILED);
        "workers/mailbox_sockets.c" Both(&Poller("blocking"), &MAILED);
        "workers/mailbox_script.c" Both(&Poller("script"), &MAILED);
    }
    "service process" { // service_process_none.c stands for its header
        "workers/service_process.h" Sockets;
        "workers/service_process.c" Both(&Sockets, &With(Feature::Tasks));
        "workers/service_process_none.c" Both(&Sockets, &Without(Feature::Tasks));
    }
    "supervisor" {
        "workers/shared.h" All;
        "workers/supervisor.h" All;
        "workers/children.h" Sockets;
        "workers/shared.c" Sockets;
        "workers/backoff.c" Sockets;
        "workers/exits.c" Sockets;
        "workers/children.c" Sockets;
        "workers/phases.c" Sockets;
        "workers/supervisor.c" Sockets;
        "workers/supervisor_none.c" Not(&Sockets);
    }
    "one worker" {
        "workers/one.c" Workers("thread");
    }
    "dispatchers" {
        "workers/dispatchers.h" Workers("loops");
        "workers/share.c" Both(&Sockets, &Workers("loops"));
        "workers/share_none.c" Both(&Not(&Sockets), &Workers("loops"));
        "workers/dispatchers.c" Both(&Sockets, &Workers("loops"));
    }
    "loops" {
        "workers/context.h" Workers("loops");
        "workers/loops.c" Workers("loops");
        "workers/context.c" Both(&Workers("loops"), &Both(&Not(&BLOCKS_MOVE), &Not(&PROCESSORS)));
    }
    "jobs" {
        "loop/jobs.h" JOBS;
        "loop/jobs.c" Both(&JOBS, &Without(Feature::Priorities));
        "loop/jobs_classes.c" Both(&JOBS, &With(Feature::Priorities));
    }
    "helpers" {
        "loop/helpers.c" HELPED;
        "loop/helpers_none.c" Both(&REAL, &Not(&HELPED));
    }
    "idle exit" {
        "workers/idle_exit.h" Poller("blocking");
        "workers/idle_exit.c" Poller("blocking");
    }
    "process" {
        "workers/process.h" PROCESSES;
        "workers/wake.c" PROCESSES;
        "workers/spares.c" Workers("process");
        "workers/prefork.c" Workers("prefork");
        "workers/worker.c" PROCESSES;
        "workers/process.c" PROCESSES;
    }
    "thread" {
        "workers/thread.h" Workers("thread");
        "workers/thread.c" Workers("thread");
        "workers/threads.c" Workers("thread");
    }
    "config" {
        "config/config.h" All;
        "config/value.h" All;
        "config/value.c" All;
        "config/copy.c" All;
        "config/config.c" All;
        "config/reload.c" All;
    }
    "main" {
        "main.c" All;
    }
}

/// All parts, in the order in which a server includes their files.
pub fn parts() -> impl Iterator<Item = Part> {
    let services = SERVICES.iter().map(Service::part);
    let after = AFTER.iter().copied();
    BEFORE.iter().copied().chain(services).chain(after)
}

/// The files that a server needs, in order.
#[must_use]
pub fn needed(server: &Server<'_>) -> Vec<File> {
    let all = parts().flat_map(|part| part.files);
    all.filter(|f| f.needed.holds(server)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::{Part, parts};
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
        let files: Vec<_> = parts().flat_map(|part: Part| part.files).collect();
        let listed: BTreeSet<String> = files.iter().map(|f| f.path.to_string()).collect();
        assert_eq!(listed.len(), files.len(), "a file is listed twice");
        assert_eq!(listed, found);
    }

    #[test]
    fn a_part_stands_in_one_place() {
        let names: Vec<&str> = parts().map(|part| part.name).collect();
        let once: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(once.len(), names.len(), "{names:?}");
    }
}
