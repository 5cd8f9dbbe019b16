//! Loads the BPF programs, attaches them, and gives access to their maps.
//!
//! Must not know: which answers are kept, and why.

use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, RingBuf, SockHash};
use aya::programs::{CgroupAttachMode, CgroupSkbAttachType, Program, ProgramError, TcAttachType};
use aya::{Ebpf, EbpfLoader};

use crate::date;
use crate::failure::Failure;
use crate::shape::{self, BLOCK, CONNECTION, COUNTS, ENTRY, FLOW, NAME, SINGLE};

/// The programs, compiled by `bpf/build.py`.
const OBJECT: &[u8] = include_bytes!("../bpf/accelerate.bpf");

/// What is chosen before the programs are loaded.
pub struct Choice {
    pub port: u16,
    /// The number of the network namespace whose connections count; 0: of any.
    pub net: u32,
    pub blocks: u32,
    pub logs: bool,
    pub magic: u64,
}

/// The loaded programs. They see no new connection after this is dropped; connections that are open keep
/// them until they end.
pub struct Loaded {
    ebpf: Ebpf,
}

/// The answers.
pub struct Answers {
    pub names: HashMap<MapData, [u8; NAME], u32>,
    pub entries: Array<MapData, [u8; ENTRY]>,
    pub blocks: Array<MapData, [u8; BLOCK]>,
}

/// The clock of the programs, and what they count.
pub struct Clock {
    clocks: Array<MapData, [u64; 3]>,
    dates: Array<MapData, [u8; 32]>,
    second: u64,
    which: u64,
    group: u64,
}

/// What tells the state of the connections.
pub struct Watch {
    connections: HashMap<MapData, u64, [u8; CONNECTION]>,
    singles: HashMap<MapData, [u8; FLOW], [u8; SINGLE]>,
    counts: PerCpuArray<MapData, u64>,
}

/// An error and its causes, in one line.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text.lines().next().unwrap_or_default().to_owned()
}

fn refused(what: &str, error: &dyn std::error::Error) -> Failure {
    let line = text(error);
    Failure::Missing(vec![format!("the kernel refuses {what}: {line}")])
}

impl Loaded {
    /// Loads the programs and joins them to the map of sockets, which is empty as yet.
    pub fn load(choice: &Choice) -> Result<Self, Failure> {
        let (port, logs) = (u32::from(choice.port), u32::from(choice.logs));
        let mut loader = EbpfLoader::new();
        loader
            .override_global("nest_port", &port, true)
            .override_global("nest_net", &choice.net, true)
            .override_global("nest_logs", &logs, true)
            .override_global("nest_magic", &choice.magic, true)
            .map_max_entries("names", choice.blocks)
            .map_max_entries("entries", choice.blocks)
            .map_max_entries("blocks", choice.blocks);
        if choice.logs {
            loader.map_max_entries("records", 1 << 20);
        }
        let ebpf = loader.load(OBJECT);
        let mut ebpf = ebpf.map_err(|e| refused("the maps of the programs", &e))?;
        for (name, program) in ebpf.programs_mut() {
            let loaded = match program {
                Program::SockOps(program) => program.load(),
                Program::CgroupSkb(program) => program.load(),
                Program::SkSkb(program) => program.load(),
                Program::SkMsg(program) => program.load(),
                Program::SchedClassifier(program) => program.load(),
                _ => Err(ProgramError::UnexpectedProgramType),
            };
            loaded.map_err(|e| refused(&format!("the program {name}"), &e))?;
        }
        let mut loaded = Loaded { ebpf };
        loaded.join()?;
        Ok(loaded)
    }

    /// Joins two programs to the map of sockets. The kernel takes them from the map when no process has it
    /// open any more; connections that are open keep them.
    fn join(&mut self) -> Result<(), Failure> {
        let sockets: SockHash<MapData, u64> = self.map("sockets")?;
        let map = sockets.fd();
        for name in ["nest_verdict", "nest_output"] {
            let joined = match self.ebpf.program_mut(name) {
                Some(Program::SkSkb(program)) => program.attach(map).map(|_| ()),
                Some(Program::SkMsg(program)) => program.attach(map).map(|_| ()),
                _ => Err(ProgramError::UnexpectedProgramType),
            };
            joined.map_err(|e| refused(&format!("{name} at a map of sockets"), &e))?;
        }
        Ok(())
    }

    /// Attaches the programs that see new connections and their segments to a control group.
    pub fn attach(&mut self, group: &std::fs::File) -> Result<(), Failure> {
        // Without flags a link still stands beside the programs of others.
        let mode = CgroupAttachMode::Single;
        for name in ["nest_guard", "nest_connect"] {
            let attached = match self.ebpf.program_mut(name) {
                Some(Program::CgroupSkb(program)) => {
                    let kind = CgroupSkbAttachType::Ingress;
                    program.attach(group, kind, mode).map(|_| ())
                }
                Some(Program::SockOps(program)) => program.attach(group, mode).map(|_| ()),
                _ => Err(ProgramError::UnexpectedProgramType),
            };
            attached.map_err(|e| refused(&format!("{name} at a control group"), &e))?;
        }
        Ok(())
    }

    /// Attaches the program that answers single requests to the network devices of the namespace. Of a device
    /// that comes later the server answers them. Returns those that refuse it, and why.
    pub fn listen(&mut self) -> Result<Vec<String>, Failure> {
        let mut without = Vec::new();
        let devices = std::fs::read_to_string("/proc/self/net/dev");
        let devices = devices.map_err(|e| Failure::io("cannot read /proc/self/net/dev", &e))?;
        let names = devices.lines().filter_map(|line| line.split_once(':'));
        for name in names.map(|(name, _)| name.trim()) {
            let attached = match self.ebpf.program_mut("nest_single") {
                Some(Program::SchedClassifier(program)) => {
                    program.attach(name, TcAttachType::Ingress).map(|_| ())
                }
                _ => Err(ProgramError::UnexpectedProgramType),
            };
            if let Err(error) = attached {
                without.push(format!("{name}: {}", text(&error)));
            }
        }
        Ok(without)
    }

    fn map<T: TryFrom<Map>>(&mut self, name: &str) -> Result<T, Failure>
    where
        T::Error: std::fmt::Debug,
    {
        let map = self.ebpf.take_map(name);
        let wrong = || Failure::Failed(format!("the BPF object has no map {name}"));
        T::try_from(map.ok_or_else(wrong)?).map_err(|_| wrong())
    }

    /// The maps with the answers.
    pub fn answers(&mut self) -> Result<Answers, Failure> {
        Ok(Answers {
            names: self.map("names")?,
            entries: self.map("entries")?,
            blocks: self.map("blocks")?,
        })
    }

    /// The clock of the programs, for the server in the control group with this number. Until it is set, they
    /// answer nothing.
    pub fn clock(&mut self, group: u64) -> Result<Clock, Failure> {
        Ok(Clock {
            clocks: self.map("clocks")?,
            dates: self.map("dates")?,
            second: 0,
            which: 0,
            group,
        })
    }

    /// What tells the state of the connections.
    pub fn watch(&mut self) -> Result<Watch, Failure> {
        Ok(Watch {
            connections: self.map("connections")?,
            singles: self.map("singles")?,
            counts: self.map("counts")?,
        })
    }

    /// The names that clients asked for and that are not kept.
    pub fn misses(&mut self) -> Result<RingBuf<MapData>, Failure> {
        self.map("misses")
    }

    /// The records of the access log.
    pub fn records(&mut self) -> Result<RingBuf<MapData>, Failure> {
        self.map("records")
    }
}

/// The time by the clock of the programs, in nanoseconds.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let part = u64::try_from(now.tv_nsec).unwrap_or(0);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + part
}

impl Clock {
    /// Lets the programs answer for `lease` nanoseconds more; 0 ends it at once.
    pub fn renew(&mut self, lease: u64) -> Result<(), String> {
        let failed = |e: aya::maps::MapError| format!("cannot set the clock of the programs: {e}");
        let second = date::now();
        if second != self.second {
            // The date that is not used is written, and then made the valid one.
            let which = self.which ^ 1;
            let mut text = [0; 32];
            text[..date::LENGTH].copy_from_slice(&date::http(second).as_bytes()[..date::LENGTH]);
            let index = u32::try_from(which).unwrap_or(0);
            self.dates.set(index, text, 0).map_err(failed)?;
            (self.second, self.which) = (second, which);
        }
        let until = if lease == 0 { 0 } else { monotonic() + lease };
        let values = [until, self.which, self.group];
        self.clocks.set(0, values, 0).map_err(failed)
    }
}

impl Watch {
    /// What was counted, in the order of `shape::COUNTS`.
    pub fn counts(&self) -> Vec<u64> {
        let count = |i: usize| {
            let index = u32::try_from(i).unwrap_or(u32::MAX);
            let values = self.counts.get(&index, 0);
            values.map_or(0, |values| values.iter().sum())
        };
        (0..COUNTS.len()).map(count).collect()
    }

    /// Whether no promised answer waits in the kernel, and no client needs the programs to get the rest of one.
    pub fn settled(&self) -> bool {
        let now = monotonic();
        let owes = |item: Result<(u64, [u8; CONNECTION]), _>| {
            item.is_ok_and(|(_, connection)| shape::owed(&connection) != 0)
        };
        let lacks = |item: Result<([u8; FLOW], [u8; SINGLE]), _>| {
            item.is_ok_and(|(_, single)| shape::lacks(&single, now))
        };
        !self.connections.iter().any(owes) && !self.singles.iter().any(lacks)
    }
}
