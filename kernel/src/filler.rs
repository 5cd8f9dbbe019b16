//! The thread that fills the cache: takes the names that clients asked for, and puts their answers in.
//!
//! Must not know: signals, the clock, and the questions of users.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use aya::maps::{MapData, RingBuf};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cgroup::Group;
use crate::conditions::Unchanged;
use crate::files::{Identity, Unfit, find};
use crate::fill::{prepare, prepare_last};
use crate::origin::Origin;
use crate::server;
use crate::shape::{BLOCK, BLOCKS, HEAD, Name, closing, parts, question};
use crate::shared::{Phase, Shared, locked};

/// So long a name is left alone after its file or its answer did not fit.
const PAUSE: Duration = Duration::from_secs(5);
/// The most names that are left alone.
const PAUSED: usize = 4096;

/// Examines the server, and fills the cache until everything ends.
pub fn work(shared: &Arc<Shared>, group: &Group, mut ring: RingBuf<MapData>) {
    let ended = || shared.ended.load(Ordering::SeqCst);
    let server = match server::examine(shared.port, &shared.names(), group, shared.polls, &ended) {
        Ok(server) => server,
        Err(reason) => return shared.enter(Phase::Off(reason)),
    };
    shared.enter(Phase::On);
    let mut paused: BTreeMap<Name, Instant> = BTreeMap::new();
    while !ended() {
        let second = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        // Woken by a signal or not: the ring is looked at.
        let _ = poll(
            &mut [PollFd::new(&RingFd(&ring), PollFlags::IN)],
            Some(&second),
        );
        paused.retain(|_, until| *until > Instant::now());
        while let Some(item) = ring.next() {
            let asked = question(&item);
            drop(item);
            let Some((name, conditional)) = asked else {
                continue;
            };
            if ended() {
                return;
            }
            if paused.contains_key(&name) {
                continue;
            }
            if let Err(reason) = fill(shared, &name, conditional, &server) {
                shared.refuse(reason);
                if paused.len() < PAUSED {
                    paused.insert(name, Instant::now() + PAUSE);
                }
            }
        }
    }
}

/// The ring's descriptor, to wait for.
struct RingFd<'a>(&'a RingBuf<MapData>);

impl AsFd for RingFd<'_> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Puts the answer of a name in, if its file can be one; `conditional`: with its 304, if it has one.
fn fill(
    shared: &Shared,
    name: &Name,
    conditional: bool,
    server: &SocketAddr,
) -> Result<(), String> {
    let Some((host, path)) = parts(name) else {
        return Ok(());
    };
    let Some(folder) = shared.folder(host) else {
        return Err("its host has no folder".to_owned());
    };
    let lock = || locked(&shared.cache);
    let clears = {
        let cache = lock();
        if cache.has(name, conditional) {
            return Ok(());
        }
        cache.clears()
    };
    let limit = BLOCK * BLOCKS - HEAD;
    let found = match find(folder, path, limit as u64) {
        Ok(found) => found,
        // It is asked for again, and taken then.
        Err(Unfit::Young) => return Ok(()),
        Err(Unfit::NoFile) => return Err("its path names no plain file".to_owned()),
        Err(Unfit::Outside) => return Err("its file is outside of the folder".to_owned()),
        Err(Unfit::Large) => return Err("its file is too large".to_owned()),
    };
    let mut follow = locked(&shared.follow);
    let mut followed = follow.add(folder, &found.path, None);
    if found.path != found.real {
        followed = followed.and_then(|()| follow.add(&found.folder, &found.real, Some(folder)));
    }
    drop(follow);
    followed.map_err(|e| format!("its folder cannot be followed: {e}"))?;
    let connect = || Origin::at(server);
    let mut origin = None;
    let prepared = match closing(name) {
        Some(closing) => prepare_last(connect, host, path, &found.bytes, closing)?,
        None => prepare(origin.insert(connect()?), host, path, &found.bytes)?,
    };
    if prepared.of_another(found.identity.modified()) {
        return Err("the server answers with another file".to_owned());
    }
    if prepared.weak && found.identity.recent() {
        return Err("its ETag is weak for the moment".to_owned());
    }
    let unchanged = match &mut origin {
        Some(origin) if conditional => Unchanged::learn(origin, host, path, &prepared),
        _ => Unchanged::default(),
    };
    let mut cache = lock();
    // What the server said may not hold any more. The name is asked for again.
    if cache.clears() != clears {
        return Ok(());
    }
    cache.put(
        *name,
        &prepared,
        &unchanged,
        found.path.clone(),
        found.identity.clone(),
    )?;
    // A change between the first look and now may have had no event.
    if Identity::now(&found.path).as_ref() != Some(&found.identity) {
        cache.remove(name)?;
    }
    Ok(())
}
