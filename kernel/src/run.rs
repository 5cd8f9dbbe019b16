//! Runs the accelerator: starts the server, renews the programs' clock, follows files, forwards signals,
//! answers questions.
//!
//! Must not know: how a request is answered in the kernel.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use aya::maps::{MapData, RingBuf};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;

use crate::cache::Cache;
use crate::cgroup::Group;
use crate::control::{Control, Question};
use crate::counted::Counted;
use crate::exporter::Exporter;
use crate::failure::Failure;
use crate::follow::Follow;
use crate::load::{Choice, Clock, Loaded, Watch};
use crate::log::Log;
use crate::options::Options;
use crate::running::Running;
use crate::server::Server;
use crate::shape::{BLOCK, Record, count};
use crate::shared::{Phase, Shared, locked};
use crate::status::Status;
use crate::told::Told;
use crate::{filler, probe, server};

/// So long the programs answer after the last renewal: the time in which a killed loader can leave old
/// answers.
const LEASE: u64 = 500_000_000;
/// How long one turn waits for events.
const TURN: Duration = Duration::from_millis(50);
/// How often all files are looked at, because not every change has an event.
const LOOK: Duration = Duration::from_millis(250);
/// How often space is tended.
const TEND: Duration = Duration::from_secs(1);
/// So many records are read in one turn, or the clock would not be renewed: the ring has about as many.
const RECORDS: usize = 1 << 14;
/// How long promised answers may take to leave.
const SETTLE: Duration = Duration::from_secs(5);
/// The same in front of a server that has started nest, and waits for it for a second (`KERNEL_END_MS`).
const HURRY: Duration = Duration::from_millis(700);
/// Such a server may have been started at once after it was killed: so long the nest of the killed one may take to
/// end.
const BEFORE: Duration = Duration::from_secs(30);
/// So long after SIGHUP a server may still answer by the configuration that it had.
const RELOAD: Duration = Duration::from_secs(10);

/// Why the kernel answers no more after `--stop`.
const STOPPED: &str = "it was stopped";

/// Runs the server with the kernel in front of it, and returns how the server ended. Or puts the kernel in
/// front of the one that runs, until it ends or nest is stopped. `say` prints a line.
pub fn accelerate(options: &Options, say: &dyn Fn(&str)) -> Result<ExitStatus, Failure> {
    let missing = probe::missing();
    if !missing.is_empty() {
        return Err(Failure::Missing(missing));
    }
    for folder in options.hosts.iter().map(|(_, f)| f).chain(&options.root) {
        let listed = fs::read_dir(folder);
        listed.map_err(|e| Failure::io(format!("cannot read {}", folder.display()), &e))?;
    }
    let started = options.counts.is_some();
    let mut control = Control::listen(
        &options.state,
        if started { BEFORE } else { Duration::ZERO },
    )?;
    let mut exporter = options.metrics.map(Exporter::listen).transpose()?;
    let counted = options.counts.as_deref().map(Counted::open).transpose()?;
    let log = options.log.as_deref().map(Log::new).transpose()?;
    let tells = options.tell.as_deref().map(Told::open).transpose()?;
    let signals = signals()?;
    let blocks = options.size / u32::try_from(BLOCK).unwrap_or(u32::MAX);
    let mut loaded = Loaded::load(&Choice {
        port: options.port,
        net: network(),
        blocks,
        logs: log.is_some() || tells.is_some(),
        magic: random()?,
    })?;
    let found = match options.server {
        Some(_) => None,
        None => Some(Running::find(options.port)?),
    };
    let group = match &found {
        Some(running) => Group::of(running.group.clone()),
        None => Group::create(options.port)?,
    };
    let opened = |e| Failure::io("cannot open the control group", &e);
    let folder = group.open().map_err(opened)?;
    let number = folder.metadata().map_err(opened)?.ino();
    loaded.attach(&folder)?;
    for device in loaded.listen()? {
        say(&format!(
            "requests that end their connection are left to the server at {device}"
        ));
    }
    let follow = Follow::new();
    let follow = follow.map_err(|e| Failure::io("cannot follow files", &e.into()))?;
    let cache = Cache::new(loaded.answers()?, blocks);
    let shared = Arc::new(Shared::new(options, cache, follow));
    let ring = loaded.misses()?;
    let mut keeper = Keeper {
        shared: Arc::clone(&shared),
        clock: loaded.clock(number)?,
        watch: loaded.watch()?,
        records: loaded.records()?,
        loaded: Some(loaded),
        log,
        tells,
        counted,
        lost: false,
        age: options.age,
        looked: Instant::now(),
        tended: Instant::now(),
        reloads: Instant::now(),
        told: Phase::Waits,
        say,
    };
    let mut server = match found {
        Some(running) => {
            if options.counts.is_none() {
                say(&format!("port {} is that of {running}", options.port));
            }
            Server::Found(running)
        }
        None => server::start(options.server.as_deref().unwrap_or_default(), &group)?,
    };
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| filler::work(&shared, &group, ring));
        let ended = keeper.keep(&mut server, &mut control, exporter.as_mut(), &signals);
        shared.ended.store(true, Ordering::SeqCst);
        ended
    });
    keeper.release();
    let leaves = matches!(server, Server::Started(_)) && !group.processes().is_empty();
    if leaves && ended.as_ref().is_ok_and(ExitStatus::success) {
        say(
            "the server's command has ended and left processes, for which the kernel does not answer; keep the \
             server in the foreground",
        );
    }
    let counts = keeper.watch.counts();
    if let Err(reason) = keeper.report(&counts) {
        say(&reason);
    }
    ended
}

/// Random bits that mark requests inside the kernel.
fn random() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    let read = fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes));
    read.map_err(|e| Failure::io("cannot read /dev/urandom", &e))?;
    Ok(u64::from_ne_bytes(bytes))
}

/// The number of the network namespace in which nest runs; 0 if the system has no such thing.
fn network() -> u32 {
    let number = fs::metadata("/proc/self/ns/net").map(|namespace| namespace.ino());
    number.ok().and_then(|n| u32::try_from(n).ok()).unwrap_or(0)
}

/// The signals that arrive.
fn signals() -> Result<Receiver<i32>, Failure> {
    let caught = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD];
    let caught = Signals::new(caught).map_err(|e| Failure::io("cannot catch signals", &e));
    let mut caught = caught?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for signal in caught.forever() {
            if sender.send(signal).is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}

/// What the main thread holds.
struct Keeper<'a> {
    shared: Arc<Shared>,
    loaded: Option<Loaded>,
    clock: Clock,
    watch: Watch,
    records: RingBuf<MapData>,
    log: Option<Log>,
    tells: Option<Told>,
    counted: Option<Counted>,
    age: Duration,
    looked: Instant,
    tended: Instant,
    /// Lines of the log, which was said.
    lost: bool,
    /// Until then the server may read its configuration.
    reloads: Instant,
    told: Phase,
    say: &'a dyn Fn(&str),
}

impl Keeper<'_> {
    /// Serves until the server ends, or, in front of one that was found, until nest is stopped.
    fn keep(
        &mut self,
        server: &mut Server,
        control: &mut Control,
        mut exporter: Option<&mut Exporter>,
        signals: &Receiver<i32>,
    ) -> Result<ExitStatus, Failure> {
        let changes = locked(&self.shared.follow).events();
        loop {
            if let Some(status) = server.ended()? {
                if let (Server::Found(running), None) = (&*server, &self.counted) {
                    (self.say)(&format!("{running} has ended"));
                }
                return Ok(status);
            }
            self.tell();
            if let (Phase::Off(reason), Server::Found(_)) = (&self.told, &*server) {
                return match reason.as_str() {
                    STOPPED => Ok(ExitStatus::default()),
                    _ => Err(Failure::Unfit),
                };
            }
            if let Err(reason) = self.turn() {
                self.give_up(reason);
            }
            if let Some(signal) = signals.try_iter().find(|signal| *signal != SIGCHLD) {
                let ends = [SIGINT, SIGQUIT, SIGTERM].contains(&signal);
                if ends && matches!(server, Server::Found(_)) {
                    return Ok(ExitStatus::default());
                }
                self.forward(signal, server);
            }
            let say = self.say;
            control.serve(|question| self.answer(question), say);
            if let Some(exporter) = exporter.as_deref_mut() {
                exporter.serve(&|| self.status().metrics(), say);
            }
            let timeout = Timespec::try_from(TURN).ok();
            let mut waits = vec![PollFd::new(&*changes, PollFlags::IN)];
            if control.accepts() {
                waits.push(PollFd::new(&*control, PollFlags::IN));
            }
            if let Some(exporter) = exporter.as_deref().filter(|e| e.accepts()) {
                waits.push(PollFd::new(exporter, PollFlags::IN));
            }
            // Interrupted or not, the next turn looks at everything.
            let _ = poll(&mut waits, timeout.as_ref());
        }
    }

    /// Says once what became of the server's examination.
    fn tell(&mut self) {
        let mut phase = self.shared.phase();
        if phase == self.told {
            return;
        }
        if phase == Phase::On && self.watch.counts().first() == Some(&0) {
            let elsewhere = "its connections are not those of its control group, which happens if another \
                process opened its sockets";
            self.shared.enter(Phase::Off(elsewhere.to_owned()));
            phase = self.shared.phase();
        }
        match &phase {
            Phase::Off(reason) => {
                (self.say)(&format!("the server answers everything itself: {reason}"));
                self.release();
            }
            _ => (self.say)(&format!("the kernel answers for port {}", self.shared.port)),
        }
        self.told = phase;
    }

    /// One turn: the clock, the files, the space, the log.
    fn turn(&mut self) -> Result<(), String> {
        let changed = locked(&self.shared.follow).changed();
        let mut cache = locked(&self.shared.cache);
        if changed.rules {
            cache.clear()?;
        }
        for folder in &changed.folders {
            cache.validate(folder)?;
        }
        if self.looked.elapsed() >= LOOK {
            cache.validate(Path::new(""))?;
            self.looked = Instant::now();
        }
        if self.tended.elapsed() >= TEND {
            let reloads = Instant::now() < self.reloads;
            cache.tend(if reloads { TEND } else { self.age })?;
            self.tended = Instant::now();
        }
        let holds = cache.holds();
        drop(cache);
        // Behind the looks: if nest stood still, the kernel answers nothing that has changed meanwhile.
        if self.shared.phase() == Phase::On {
            self.clock.renew(LEASE)?;
        }
        let wanted = self.counted.is_some() || self.tells.is_some();
        let counts = if wanted {
            self.watch.counts()
        } else {
            Vec::new()
        };
        if let Some(counted) = &mut self.counted {
            counted.write(self.shared.phase() == Phase::On, &counts, &holds);
        }
        self.report(&counts)
    }

    /// Logs what was answered, and tells the server, which has a log of its own.
    fn report(&mut self, counts: &[u64]) -> Result<(), String> {
        for _ in 0..RECORDS {
            let Some(item) = self.records.next() else {
                break;
            };
            let Some(record) = Record::read(&item) else {
                continue;
            };
            let cache = locked(&self.shared.cache);
            let name = cache.name(record.index, record.generation);
            if let Some(log) = &mut self.log {
                log.add(&record, name);
            }
            if let Some(tells) = &mut self.tells {
                tells.add(&record, name);
            }
        }
        if let Some(log) = &mut self.log {
            let lost = log.flush().map_err(|e| e.to_string())?;
            if lost && !self.lost {
                (self.say)("the log's reader is slow: lines are lost");
            }
            self.lost |= lost;
        }
        if let Some(tells) = &mut self.tells {
            tells.flush(count(counts, "unlogged"));
        }
        Ok(())
    }

    /// Passes a signal on to the server. After SIGHUP everything may be different, but not at once: what the server
    /// answers meanwhile is kept for a second only.
    fn forward(&mut self, signal: i32, server: &Server) {
        if signal == SIGHUP {
            self.reloads = Instant::now() + RELOAD;
            let cleared = locked(&self.shared.cache).clear();
            if let Err(reason) = cleared {
                self.give_up(reason);
            }
            if let Some(Err(failure)) = self.log.as_mut().map(Log::reopen) {
                (self.say)(&format!(
                    "{failure}; the log goes on in the file that was open"
                ));
            }
        }
        server.signal(signal);
    }

    /// Leaves everything to the server from now on.
    fn give_up(&mut self, reason: String) {
        self.shared.enter(Phase::Off(reason));
        self.release();
    }

    fn answer(&mut self, question: Question) -> String {
        if question == Question::Stop {
            self.shared.enter(Phase::Off(STOPPED.to_owned()));
            self.tell();
            return "stopped\n".to_owned();
        }
        match question {
            Question::Metrics => self.status().metrics(),
            _ => self.status().text(),
        }
    }

    fn status(&self) -> Status {
        Status {
            port: self.shared.port,
            phase: match self.shared.phase() {
                Phase::Waits => "waits for the server".to_owned(),
                Phase::On => "on".to_owned(),
                Phase::Off(reason) => format!("off: {reason}"),
            },
            holds: locked(&self.shared.cache).holds(),
            counts: self.watch.counts(),
            refused: self.shared.refused(),
        }
    }

    /// Lets the kernel answer nothing more, waits until it owes nothing, and takes the programs away from
    /// new connections. Those that are open keep them, which now pass everything on.
    fn release(&mut self) {
        let Some(loaded) = self.loaded.take() else {
            return;
        };
        // Fails only if the kernel lacks memory; then the time runs out by itself.
        let _ = self.clock.renew(0);
        let hurries = self.counted.is_some();
        let until = Instant::now() + if hurries { HURRY } else { SETTLE };
        loop {
            std::thread::sleep(Duration::from_millis(20));
            if self.watch.settled() || Instant::now() > until {
                break;
            }
        }
        drop(loaded);
    }
}

/// The exit status that a shell would give.
pub fn status(ended: ExitStatus) -> u8 {
    let code = ended.code().or(ended.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
