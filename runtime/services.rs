//! Services: what is added to every server that selects it, one folder and one row each.
//!
//! A service is `service/NAME/`: its header NAME.h declares what the join points call and, if it has
//! state in a busy session's work block, `struct nest__NAME_state`; NAME.c defines them. If the
//! service has work of its own, the header declares `nest__NAME_task`. Where the
//! rest of the runtime or C helpers call functions of a service by name, none.c stands for it in
//! servers without the service.

use crate::For::{self, All, Both, Either, Not, Sockets, With, Without, Workers};
use crate::points::Point;
use crate::{
    BLOCKS_MOVE, BLOCKS_STEP, DIALS, FILTERED, Feature, File, INETD, MAILED, PROCESSORS, Part,
    Server, TLS,
};

/// The server ends actions that do not come back.
const OVERRUN: For = Both(&Sockets, &With(Feature::Overrun));

/// The code of `$block` runs where its action is.
const BLOCKS_STAY: For = Both(&Not(&BLOCKS_MOVE), &Not(&BLOCKS_STEP));

/// Loops are watched for overload.
const OVERLOADED: For = Both(&Workers("loops"), &With(Feature::Overload));

/// Files go to second connections and come from them. Scripts have none.
const TRANSFERS: For = Both(&Sockets, &With(Feature::Transfer));

/// Second connections are encrypted. Scripts have none.
const SECURED: For = Both(&Sockets, &With(Feature::Secured));

/// Listeners are behind a proxy.
const PROXIED: For = Both(&Sockets, &With(Feature::Proxied));
/// A header of a proxy may come before a handshake.
const AHEAD: For = Both(&PROXIED, &With(Feature::Tls));

/// Clients have classes. Only loops have queues of them.
const PRIORITIES: For = Both(&Workers("loops"), &With(Feature::Priorities));

/// What the server does is counted.
const METERED: For = Both(&Sockets, &With(Feature::Metrics));

/// Every event is recorded.
const DEBUGGED: For = Both(&Sockets, &With(Feature::Debug));

/// Log lines go where the configuration says.
const LOGGED: For = Both(&Sockets, &With(Feature::Log));

/// Files stay open for later actions.
const CACHED: For = Both(&Workers("loops"), &With(Feature::Files));

/// Contents of files are shared by all workers.
const CONTENTS: For = Both(&Sockets, &With(Feature::FileCache));

/// The kernel answers requests for files.
const KERNEL: For = Both(&Sockets, &With(Feature::KernelCache));

/// What the kernel answers is logged.
const KERNEL_LOGGED: For = Both(&KERNEL, &With(Feature::Requests));

/// Sessions of loops are members of groups.
const LOOP_GROUPS: For = Both(&Workers("loops"), &With(Feature::Groups));

/// Workers that block are members of groups.
const BLOCKING_GROUPS: For = Both(&Not(&Workers("loops")), &With(Feature::Groups));

/// A row of the table of services.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Its folder, and the prefix of its functions: `nest__NAME_`.
    pub name: &'static str,
    /// Servers that have it.
    pub needed: For,
    /// The join points that call it.
    pub points: &'static [Point],
    /// Whether a busy session's work block has a `struct nest__NAME_state`.
    pub state: bool,
    /// Whether it has work for the service process, `nest__NAME_task`.
    pub task: bool,
    part: &'static str,
    files: &'static [File],
}

impl Service {
    /// Whether the server has it.
    #[must_use]
    pub fn selected(&self, server: &Server<'_>) -> bool {
        self.needed.holds(server)
    }

    /// It is a part of the runtime.
    pub(crate) fn part(&self) -> Part {
        Part {
            name: self.part,
            files: self.files,
        }
    }

    /// Its header, relative to the runtime folder; the join points' functions are declared in it.
    pub(crate) fn header(&self) -> Option<String> {
        let called = self.state || !self.points.is_empty();
        called.then(|| format!("service/{0}/{0}.h", self.name))
    }
}

macro_rules! services {
    ($($name:ident $needed:expr, [$($point:ident),*] $(+ $more:ident)? {
        $($file:literal $file_needed:expr;)*
    })*) => {
        /// All services, in the order in which join points call them.
        pub const SERVICES: &[Service] = &[$(Service {
            name: stringify!($name),
            needed: $needed,
            points: &[$(Point::$point),*],
            state: services!(@state $($more)?),
            task: services!(@task $($more)?),
            part: concat!("service/", stringify!($name)),
            files: &[$(File {
                path: concat!("service/", stringify!($name), "/", $file),
                text: include_str!(concat!("service/", stringify!($name), "/", $file)),
                needed: $file_needed,
            }),*],
        }),*];
    };
    (@state state) => { true };
    (@state $($other:ident)?) => { false };
    (@task task) => { true };
    (@task $($other:ident)?) => { false };
}

services! {
    systemd Sockets, [Prepare] {
        "systemd.h" Sockets;
        "systemd.c" Sockets;
    }
    inetd INETD, [Begin, Prepare] {
        "inetd.h" All;
        "inetd.c" INETD;
        "none.c" Not(&INETD);
    }
    user Sockets, [Check, Prepare, Serve] {
        "user.h" Sockets;
        "user.c" Sockets;
    }
    tls TLS, [Check, Start, Serve, Mind, Renewed, Need] {
        "tls.h" With(Feature::Tls);
        "words.c" With(Feature::Tls);
        "pair.c" TLS;
        "tickets.c" TLS;
        "tls.c" TLS;
        "always.c" Both(&TLS, &Without(Feature::StartTls));
        "upgrade.c" Both(&TLS, &With(Feature::StartTls));
        "ahead.c" With(Feature::StartTls);
        "script.c" Both(&Not(&Sockets), &With(Feature::StartTls));
        "script_none.c" Both(&Not(&Sockets), &Both(&With(Feature::Tls), &Without(Feature::StartTls)));
    }
    stages With(Feature::Stages), [Start, Need] {
        "stages.h" With(Feature::Stages);
        "stages.c" With(Feature::Stages);
    }
    encodes With(Feature::Encodes), [Start, Need] {
        "encodes.h" With(Feature::Encodes);
        "encodes.c" With(Feature::Encodes);
    }
    filters FILTERED, [Check, Serve, Reloaded, Mind, Descriptors, Open, Release] {
        "filters.h" Sockets;
        "returns.h" All;
        "settings.h" FILTERED;
        "settings.c" FILTERED;
        "filters.c" FILTERED;
        "counted.c" Both(&FILTERED, &METERED);
        "counted_none.c" Both(&FILTERED, &Not(&METERED));
        "none.c" Both(&Sockets, &Not(&FILTERED));
    }
    overrun OVERRUN, [Start, Serve, Mind, Act, Wait, Resume, Acted] {
        "overrun.h" OVERRUN;
        "overrun.c" OVERRUN;
    }
    backtracking With(Feature::Backtracking), [Check, Need] {
        "backtracking.h" All;
        "shared.c" Both(&Workers("loops"), &With(Feature::Backtracking));
        "each.c" Both(&Not(&Workers("loops")), &With(Feature::Backtracking));
        "backtracking.c" With(Feature::Backtracking);
        "none.c" Without(Feature::Backtracking);
    }
    keep With(Feature::Keep), [Need, Holds, Drop] + state {
        "keep.h" With(Feature::Keep);
        "keep.c" With(Feature::Keep);
    }
    files With(Feature::Files), [Start, Close, Lost, Need, Descriptors, Leave] + state {
        "files.h" With(Feature::Files);
        "files.c" With(Feature::Files);
    }
    uploads With(Feature::Uploads), [Need, Descriptors, Leave, Holds] + state {
        "uploads.h" With(Feature::Uploads);
        "uploads.c" With(Feature::Uploads);
    }
    lists With(Feature::Lists), [Need, Leave] + state {
        "lists.h" With(Feature::Lists);
        "lists.c" With(Feature::Lists);
    }
    items With(Feature::Items), [Need, Leave] + state {
        "items.h" With(Feature::Items);
        "items.c" With(Feature::Items);
    }
    channels With(Feature::Channels), [Need, Descriptors] {
        "channels.h" With(Feature::Channels);
        "channels.c" With(Feature::Channels);
    }
    dial With(Feature::Dial), [Start, Need] + state {
        "dial.h" With(Feature::Dial);
        "address.h" DIALS;
        "address.c" DIALS;
        "resolve.h" DIALS;
        "resolve.c" DIALS;
        "dial.c" DIALS;
        "listen.c" DIALS;
        "ready.c" DIALS;
        "script.c" Both(&Not(&DIALS), &With(Feature::Dial));
    }
    transfer With(Feature::Transfer), [Need] {
        "transfer.h" With(Feature::Transfer);
        "transfer.c" TRANSFERS;
        "script.c" Both(&Not(&TRANSFERS), &With(Feature::Transfer));
    }
    secured With(Feature::Secured), [Start, Need] {
        "secured.h" With(Feature::Secured);
        "secured.c" SECURED;
        "script.c" Both(&Not(&SECURED), &With(Feature::Secured));
    }
    cache CACHED, [Spare, Due, Tick] {
        "cache.h" With(Feature::Files);
        "cache.c" CACHED;
        "none.c" Both(&With(Feature::Files), &Not(&CACHED));
    }
    contents CONTENTS, [Check, Start, Serve, Reaped, Common] + task {
        "contents.h" With(Feature::Files);
        "policy.h" With(Feature::FileCache);
        "store.h" With(Feature::FileCache);
        "policy.c" With(Feature::FileCache);
        "value.c" With(Feature::CacheValue);
        "value_none.c" Both(&With(Feature::FileCache), &Without(Feature::CacheValue));
        "option.c" With(Feature::FileCache);
        "store.c" CONTENTS;
        "contents.c" CONTENTS;
        "fill.c" CONTENTS;
        "none.c" Both(&With(Feature::Files), &Not(&CONTENTS));
    }
    blocks With(Feature::Blocks), [] {
        "blocks.h" Not(&BLOCKS_STEP); // script.c includes none
        "stay.c" Either(&PROCESSORS, &BLOCKS_STAY);
        "blocks.c" BLOCKS_MOVE;
        "script.c" BLOCKS_STEP;
        "none.c" BLOCKS_STAY;
    }
    processors PROCESSORS, [] {
        "processors.h" All;
        "pool.h" PROCESSORS;
        "processors.c" PROCESSORS;
        "pool.c" PROCESSORS;
        "worker.c" Both(&PROCESSORS, &Not(&BLOCKS_MOVE));
    }
    peer With(Feature::Peer), [Need, Open] {
        "peer.h" With(Feature::Peer);
        "peer.c" With(Feature::Peer);
        "none.c" Without(Feature::Peer);
    }
    proxied PROXIED, [Need] {
        "proxied.h" All;
        "header.h" PROXIED;
        "header.c" PROXIED;
        "proxied.c" PROXIED;
        "ahead.c" AHEAD;
    }
    overload OVERLOADED, [Start, Load, Enough, Due, Admit, Release] {
        "overload.h" OVERLOADED;
        "told.c" Both(&Sockets, &OVERLOADED);
        "told_script.c" Both(&Not(&Sockets), &OVERLOADED);
        "overload.c" OVERLOADED;
    }
    priority PRIORITIES, [Start, Need, Take, Yield] {
        "priority.h" PRIORITIES;
        "priority.c" PRIORITIES;
    }
    per_address With(Feature::PerAddress), [Start, Serve, Reaped, Shaking, Admit, Release, Need] {
        "per_address.h" With(Feature::PerAddress);
        "networks.c" With(Feature::PerAddress);
        "per_address.c" With(Feature::PerAddress);
        "shaking.c" Both(&TLS, &With(Feature::PerAddress));
        "deaths.c" Both(&Sockets, &With(Feature::PerAddress));
    }
    timeout With(Feature::Timeout), [Need, Open] {
        "timeout.h" With(Feature::Timeout);
        "timeout.c" With(Feature::Timeout);
        "none.c" Without(Feature::Timeout);
    }
    mail MAILED, [Start, Serve, Need, Mailbox, Letter, Post, Nudge, Open, Drained, Acted, End] {
        "mail.h" MAILED;
        "loop.c" Both(&Workers("loops"), &MAILED);
        "serve.c" Both(&Sockets, &Both(&Workers("loops"), &MAILED));
        "blocking.c" Both(&Not(&Workers("loops")), &MAILED);
    }
    alive With(Feature::Alive), [Start, Reaped, Open, End, Release] {
        "alive.h" With(Feature::Alive);
        "alive.c" Both(&Sockets, &With(Feature::Alive));
        "alone.c" Both(&Not(&Sockets), &With(Feature::Alive));
    }
    send With(Feature::Send), [Mail] {
        "send.h" With(Feature::Send);
        "loop.c" Both(&Workers("loops"), &With(Feature::Send));
        "blocking.c" Both(&Not(&Workers("loops")), &With(Feature::Send));
        "send.c" With(Feature::Send);
    }
    groups With(Feature::Groups), [Start, Serve, Need, Open, Mail, Spread, End, Reaped, Release] {
        "groups.h" With(Feature::Groups);
        "published.h" LOOP_GROUPS;
        "published.c" Both(&Sockets, &LOOP_GROUPS);
        "published_script.c" Both(&Not(&Sockets), &LOOP_GROUPS);
        "loop.c" LOOP_GROUPS;
        "store.h" BLOCKING_GROUPS;
        "store.c" BLOCKING_GROUPS;
        "blocking.c" BLOCKING_GROUPS;
        "groups.c" With(Feature::Groups);
    }
    log With(Feature::Log), [Prepare, Need, Open, Take, Timer, Replied, File, Acted, End] {
        "log.h" With(Feature::Log);
        "record.h" With(Feature::Log);
        "format.c" With(Feature::Log);
        "log.c" With(Feature::Log);
    }
    fields With(Feature::Fields), [Need, Holds, Drop] + state {
        "fields.h" With(Feature::Log);
        "fields.c" With(Feature::Fields);
        "none.c" Both(&With(Feature::Log), &Without(Feature::Fields));
    }
    kernel KERNEL, [Check, Serve, Halt, Close, Reloaded, Mind] {
        "kernel.h" Sockets;
        "kernel.c" KERNEL;
        "none.c" Both(&Sockets, &Without(Feature::KernelCache));
    }
    kernel_log KERNEL_LOGGED, [Start, Serve, Reloaded, Close] + task {
        "kernel_log.h" KERNEL;
        "kernel_log.c" KERNEL_LOGGED;
        "none.c" Both(&KERNEL, &Without(Feature::Requests));
    }
    metrics METERED, [
        Start, Serve, Mind, Reaped, Close, Need, Shaken, Open, Take, Timer, Replied, File, Wait, Resume,
        Acted, End
    ] + task {
        "metrics.h" METERED;
        "counts.h" METERED;
        "counts.c" METERED;
        "sums.c" METERED;
        "queues.c" METERED;
        "text.c" METERED;
        "profile.c" METERED;
        "metrics.c" METERED;
        "helpers.c" Both(&Workers("loops"), &METERED);
        "helpers_none.c" Both(&Not(&Workers("loops")), &METERED);
        "files.c" Both(&With(Feature::FileCache), &METERED);
        "files_none.c" Both(&Without(Feature::FileCache), &METERED);
        "kernel.c" Both(&With(Feature::KernelCache), &METERED);
        "kernel_none.c" Both(&Without(Feature::KernelCache), &METERED);
        "filtered.c" Both(&FILTERED, &METERED);
        "filtered_none.c" Both(&METERED, &Not(&FILTERED));
        "handshakes.c" Both(&TLS, &METERED);
        "handshakes_none.c" Both(&Without(Feature::Tls), &METERED);
        "http.c" METERED;
    }
    debug DEBUGGED, [
        Start, Serve, Mind, Reaped, Lost, Reloaded, Close, Open, Input, Act, Take, Timer, Wait,
        Resume, Acted, States, Mail, Reply, File, Output, End, Release
    ] {
        "debug.h" DEBUGGED;
        "recorder.h" DEBUGGED;
        "recorder.c" DEBUGGED;
        "loops.c" Both(&Workers("loops"), &DEBUGGED);
        "each.c" Both(&Not(&Workers("loops")), &DEBUGGED);
        "debug.c" DEBUGGED;
    }
    region With(Feature::Shared), [Check, Start, Serve, Reaped, Pause, Mind, Common, Wait] {
        "heap.h" With(Feature::Shared);
        "heap.c" With(Feature::Alloc);
        "heap_none.c" Both(&With(Feature::Shared), &Without(Feature::Alloc));
        "region.h" With(Feature::Shared);
        "size.c" With(Feature::Shared);
        "region.c" With(Feature::Shared);
        "lock.c" Both(&Sockets, &With(Feature::Shared));
        "alone.c" Both(&Not(&Sockets), &With(Feature::Shared));
        "alloc.c" With(Feature::Alloc);
    }
    periodic With(Feature::Periodic), [Due, Tick] + task {
        "periodic.h" With(Feature::Periodic);
        "periodic.c" With(Feature::Periodic);
        "process.c" Both(&Sockets, &With(Feature::Periodic));
        "loop.c" Both(&Not(&Sockets), &With(Feature::Periodic));
    }
    signals Both(&Sockets, &With(Feature::Signals)), [Start] + task {
        "signals.h" Both(&Sockets, &With(Feature::Signals));
        "signals.c" Both(&Sockets, &With(Feature::Signals));
    }
    beginning With(Feature::Beginning), [Start, Serve] {
        "beginning.h" With(Feature::Beginning);
        "workers.c" Both(&Sockets, &With(Feature::Beginning));
        "alone.c" Both(&Not(&Sockets), &With(Feature::Beginning));
    }
    branches With(Feature::Branches), [Start] {
        "branches.h" With(Feature::Branches);
        "branches.c" With(Feature::Branches);
    }
    trace With(Feature::Trace), [Open, Take, Timer, Reply, File, States, End] {
        "trace.h" With(Feature::Trace);
        "trace.c" With(Feature::Trace);
    }
    record With(Feature::Record), [Open, Take, Read, Replied, File, End] {
        "record.h" With(Feature::Record);
        "record.c" With(Feature::Record);
    }
    sink LOGGED, [Check, Start, Serve, Reloaded, Mind, Due, Tick, Close] + task {
        "sink.h" With(Feature::Log);
        "sinks.h" LOGGED;
        "direct.c" With(Feature::Log);
        "target.c" LOGGED;
        "drain.c" LOGGED;
        "batch.c" Both(&Workers("loops"), &LOGGED);
        "each.c" Both(&Not(&Workers("loops")), &LOGGED);
        "sink.c" LOGGED;
        "none.c" Both(&Not(&Sockets), &With(Feature::Log));
    }
}
