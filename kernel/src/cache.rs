//! The answers that are in the kernel: their space, the files they come from, and which one goes first.
//!
//! Must not know: how an answer is made, and who asks for it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::conditions::Unchanged;
use crate::files::Identity;
use crate::fill::Prepared;
use crate::load::Answers;
use crate::shape::{self, BLOCK, BLOCKS, ENTRY, Entry, Name};

/// So long the space of a removed answer is not used again: a request may still refer to it.
const REST: Duration = Duration::from_secs(3);

/// This part of the space is kept free, so that a new answer need not wait for the rest.
const RESERVE: usize = 8;

struct Kept {
    index: u32,
    blocks: Vec<u32>,
    path: PathBuf,
    identity: Identity,
    /// The server was asked about conditional requests.
    asked: bool,
    since: Instant,
}

struct Resting {
    until: Instant,
    index: u32,
    blocks: Vec<u32>,
}

/// An index of the maps as one of a vector.
fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// The cache. Its user holds it alone.
pub struct Cache {
    maps: Answers,
    kept: BTreeMap<Name, Kept>,
    resting: VecDeque<Resting>,
    free: Vec<u32>,
    unused: Vec<u32>,
    total: usize,
    generation: u32,
    clears: u64,
    /// By index: whose answer was put there last, and its generation.
    names: Vec<Option<(u32, Name)>>,
}

/// What the cache holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Holds {
    pub answers: usize,
    pub bytes: usize,
    pub limit: usize,
}

impl Cache {
    /// An empty cache of so many blocks.
    pub fn new(maps: Answers, blocks: u32) -> Self {
        Cache {
            maps,
            kept: BTreeMap::new(),
            resting: VecDeque::new(),
            free: (0..blocks).rev().collect(),
            unused: (0..blocks).rev().collect(),
            total: usize::try_from(blocks).unwrap_or(0),
            generation: 0,
            clears: 0,
            names: vec![None; usize::try_from(blocks).unwrap_or(0)],
        }
    }

    /// Whether the name has an answer; `conditional`: one for which the server was asked about
    /// conditional requests.
    pub fn has(&self, name: &Name, conditional: bool) -> bool {
        self.kept
            .get(name)
            .is_some_and(|kept| kept.asked || !conditional)
    }

    /// What it holds.
    pub fn holds(&self) -> Holds {
        Holds {
            answers: self.kept.len(),
            bytes: self.kept.values().map(|k| k.blocks.len() * BLOCK).sum(),
            limit: self.total * BLOCK,
        }
    }

    /// Puts an answer in. The caller has made sure that it is that of the file with this identity.
    pub fn put(
        &mut self,
        name: Name,
        prepared: &Prepared,
        unchanged: &Unchanged,
        path: PathBuf,
        identity: Identity,
    ) -> Result<(), String> {
        let failed = |e: aya::maps::MapError| format!("cannot write into the kernel: {e}");
        let (bytes, conditions) = unchanged.behind(&prepared.bytes);
        let needed = bytes.len().div_ceil(BLOCK);
        if needed > BLOCKS {
            return Err("the answer is too long".to_owned());
        }
        self.remove(&name)?;
        if self.free.len() < needed || self.unused.is_empty() {
            return Err("there is no space at the moment".to_owned());
        }
        let index = self.unused.pop().unwrap_or(0);
        let blocks = self.free.split_off(self.free.len() - needed);
        for (block, part) in blocks.iter().zip(bytes.chunks(BLOCK)) {
            let mut whole = [0; BLOCK];
            whole[..part.len()].copy_from_slice(part);
            self.maps.blocks.set(*block, whole, 0).map_err(failed)?;
        }
        self.generation = self.generation.wrapping_add(1);
        let number = |n: usize| u32::try_from(n).unwrap_or(0);
        let entry = Entry {
            generation: self.generation,
            size: number(prepared.bytes.len()),
            head: number(prepared.head),
            date: number(prepared.date),
            conditions,
            blocks: blocks.clone(),
        };
        let written = self.maps.entries.set(index, entry.bytes(), 0);
        written.map_err(failed)?;
        self.maps.names.insert(name, index, 0).map_err(failed)?;
        if let Some(of) = self.names.get_mut(place(index)) {
            *of = Some((self.generation, name));
        }
        let kept = Kept {
            index,
            blocks,
            path,
            identity,
            asked: unchanged.asked(),
            since: Instant::now(),
        };
        self.kept.insert(name, kept);
        Ok(())
    }

    /// Takes an answer out. From now on the server answers this name.
    pub fn remove(&mut self, name: &Name) -> Result<(), String> {
        let Some(kept) = self.kept.get(name) else {
            return Ok(());
        };
        let removed = self.maps.names.remove(name);
        removed.map_err(|e| format!("cannot remove an answer from the kernel: {e}"))?;
        self.resting.push_back(Resting {
            until: Instant::now() + REST,
            index: kept.index,
            blocks: kept.blocks.clone(),
        });
        self.kept.remove(name);
        Ok(())
    }

    /// Takes out the answers that the test names. Returns how many.
    fn remove_if(&mut self, test: impl Fn(&Kept) -> bool) -> Result<usize, String> {
        let gone = self.kept.iter().filter(|(_, kept)| test(kept));
        let gone: Vec<Name> = gone.map(|(name, _)| *name).collect();
        for name in &gone {
            self.remove(name)?;
        }
        Ok(gone.len())
    }

    /// How often all answers were taken out.
    pub fn clears(&self) -> u64 {
        self.clears
    }

    /// Takes out all answers.
    pub fn clear(&mut self) -> Result<(), String> {
        self.clears += 1;
        self.remove_if(|_| true).map(|_| ())
    }

    /// Takes out the answers below a folder whose file is not the same any more; all: of an empty path.
    pub fn validate(&mut self, folder: &Path) -> Result<usize, String> {
        self.remove_if(|kept| {
            kept.path.starts_with(folder)
                && Identity::now(&kept.path).as_ref() != Some(&kept.identity)
        })
    }

    /// Gives back space that rested, takes out what is too old, and makes room for new answers by taking
    /// out those that were not sent for the longest time.
    pub fn tend(&mut self, age: Duration) -> Result<(), String> {
        let now = Instant::now();
        while self.resting.front().is_some_and(|r| r.until <= now) {
            if let Some(rested) = self.resting.pop_front() {
                // Index and blocks go to different answers. Who still sends this one finds another generation.
                let gone = self.maps.entries.set(rested.index, [0; ENTRY], 0);
                gone.map_err(|e| format!("cannot remove an answer from the kernel: {e}"))?;
                self.free.extend(rested.blocks);
                self.unused.push(rested.index);
            }
        }
        self.remove_if(|kept| kept.since.elapsed() >= age)?;
        let coming: usize = self.resting.iter().map(|r| r.blocks.len()).sum();
        let mut room = self.free.len() + coming;
        let wanted = (self.total / RESERVE).max(BLOCKS);
        if room >= wanted {
            return Ok(());
        }
        let mut order: Vec<(u64, Name, usize)> = Vec::new();
        for (name, kept) in &self.kept {
            let entry = self.maps.entries.get(&kept.index, 0);
            let used = entry.map_or(0, |entry| shape::used(&entry));
            order.push((used, *name, kept.blocks.len()));
        }
        order.sort_unstable();
        for (_, name, blocks) in order {
            if room >= wanted {
                break;
            }
            self.remove(&name)?;
            room += blocks;
        }
        Ok(())
    }

    /// The name of an answer that was sent, even if it was taken out a moment ago.
    pub fn name(&self, index: u32, generation: u32) -> Option<&Name> {
        let of = self.names.get(place(index))?.as_ref()?;
        (of.0 == generation).then_some(&of.1)
    }
}
