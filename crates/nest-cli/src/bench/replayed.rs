//! `nest bench --replay`: reads recorded conversations, and chooses some if there are too many.
//!
//! Must not know: the format of recordings, how conversations are played.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use nest_check::Act;

use super::profile::{MOST_THINK, Profile};
use crate::args::Bench;
use crate::recording::{self, EXTENSION, LONGEST, Recorded};
use crate::term::{self, Failure};

/// The most files that are read.
const MOST_FILES: usize = 2000;
/// The most conversations, messages with pauses, and bytes that are played.
const MOST_TALKS: usize = 512;
const MOST_ACTS: usize = 4096;
const MOST_BYTES: usize = 1 << 21;
/// The most bytes of memory that those have from which they are chosen.
const MOST_HELD: usize = 1 << 26;

/// The recorded conversations; `None` without `--replay`.
pub fn of(args: &Bench, profile: &Profile) -> Result<Option<Vec<Recorded>>, Failure> {
    let Some(path) = &args.replay else {
        return Ok(None);
    };
    if let Some(profile) = args.profile.as_ref().filter(|_| !profile.is_empty()) {
        return Err(Failure::Usage(format!(
            "--replay plays what clients have sent: remove the lines weight, part and think from {}",
            profile.display()
        )));
    }
    let files = if path.is_dir() {
        recordings(path)?
    } else {
        vec![path.clone()]
    };
    let mut kept = Kept {
        every: 1,
        ..Kept::default()
    };
    for file in spread(&files, MOST_FILES) {
        let name = file.display().to_string();
        kept.add(recording::read(&name, &contents(file)?).map_err(Failure::new)?);
    }
    let Kept { all, count, .. } = kept;
    let mut chosen = spread(&all, MOST_TALKS);
    while !fits(&chosen) {
        chosen = spread(&chosen, chosen.len() * 9 / 10)
            .into_iter()
            .copied()
            .collect();
    }
    let mut chosen: Vec<Recorded> = chosen.into_iter().cloned().collect();
    if chosen.len() < count || files.len() > MOST_FILES {
        term::note(format!(
            "{} conversations are chosen, evenly, from {} recordings; so many can be learnt",
            chosen.len(),
            files.len()
        ));
    }
    for talk in &mut chosen {
        hasten(&mut talk.acts, args.think.unwrap_or(1.0));
    }
    Ok(Some(chosen))
}

/// Conversations of many files: all of them, or each second, fourth, and so on, so that memory is bounded.
#[derive(Default)]
struct Kept {
    all: Vec<Recorded>,
    /// How many there were.
    count: usize,
    /// The distance between those that are kept.
    every: usize,
    /// About how many bytes of memory they need.
    held: usize,
}

impl Kept {
    fn add(&mut self, talks: Vec<Recorded>) {
        for talk in talks {
            if self.count.is_multiple_of(self.every) {
                self.held += size(&talk);
                self.all.push(talk);
            }
            self.count += 1;
        }
        while self.all.len() > MOST_TALKS && self.held > MOST_HELD {
            let mut number = 0;
            self.all.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every *= 2;
            self.held = self.all.iter().map(size).sum();
        }
    }
}

/// About how many bytes of memory a conversation needs.
fn size(talk: &Recorded) -> usize {
    let act = |act: &Act| {
        size_of::<Act>()
            + match act {
                Act::Send(bytes) => bytes.len(),
                Act::Silence(_) => 0,
            }
    };
    talk.acts.iter().map(act).sum()
}

/// The recordings in a folder, in the order of their names.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |e: std::io::Error| Failure::io(format!("cannot read {}", folder.display()), &e);
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|end| end == EXTENSION) {
            all.push(path);
        }
    }
    if all.is_empty() {
        return Err(Failure::new(format!(
            "{0} has no recordings (*.{EXTENSION}); make some: nest run --record {0} FILE",
            folder.display()
        )));
    }
    all.sort();
    Ok(all)
}

/// The bytes of a file, at most one more than a recording may have.
fn contents(path: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |e: std::io::Error| Failure::io(format!("cannot read {}", path.display()), &e);
    // Something else, such as a named pipe, could be waited for without end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(Failure::new(format!("{} is not a file", path.display())));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LONGEST as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// At most so many of a list, at equal distances.
fn spread<T>(all: &[T], most: usize) -> Vec<&T> {
    let count = all.len().min(most.max(1));
    (0..count).map(|n| &all[n * all.len() / count]).collect()
}

/// Whether the conversations can be learnt in a few seconds.
fn fits(talks: &[&Recorded]) -> bool {
    let acts: usize = talks.iter().map(|talk| talk.acts.len()).sum();
    let bytes = talks.iter().flat_map(|talk| talk.acts.iter());
    let bytes = bytes.map(|act| match act {
        Act::Send(bytes) => bytes.len(),
        Act::Silence(_) => 0,
    });
    talks.len() <= 1 || (acts <= MOST_ACTS && bytes.sum::<usize>() <= MOST_BYTES)
}

/// Multiplies the pauses. None is longer than a think time of a profile.
fn hasten(talk: &mut Vec<Act>, factor: f64) {
    for act in talk.iter_mut() {
        if let Act::Silence(ms) = act {
            *ms = (f64::from(*ms) * factor).round().min(f64::from(MOST_THINK)) as u32;
        }
    }
    talk.retain(|act| *act != Act::Silence(0));
}

#[cfg(test)]
mod tests {
    use super::{Act, Kept, MOST_ACTS, Recorded, fits, hasten, spread};

    fn talk(acts: Vec<Act>) -> Recorded {
        Recorded { acts, tls: None }
    }

    #[test]
    fn the_chosen_ones_are_spread() {
        let all: Vec<usize> = (0..10).collect();
        assert_eq!(spread(&all, 3), [&0, &3, &6]);
        assert_eq!(spread(&all, 99).len(), 10);
        assert_eq!(spread(&all, 0), [&0]);
        assert!(spread(&all[..0], 3).is_empty());
        let (short, long) = (
            talk(vec![Act::Send(vec![1])]),
            talk(vec![Act::Send(vec![1]); MOST_ACTS]),
        );
        assert!(fits(&[&short, &short]) && fits(&[&long]) && !fits(&[&short, &long]));
        let large = talk(vec![Act::Send(vec![1; super::MOST_BYTES])]);
        assert!(!fits(&[&short, &large]));
    }

    #[test]
    fn memory_is_bounded_and_distances_stay_equal() {
        let mut kept = Kept {
            every: 1,
            ..Kept::default()
        };
        // The messages are numbers, and 32 KB long.
        let message = |n: usize| [&n.to_le_bytes()[..], &[0; 1 << 15]].concat();
        for file in 0..100 {
            let talks = (0..60).map(|n| talk(vec![Act::Send(message(file * 60 + n))]));
            kept.add(talks.collect());
            assert!(kept.held < super::MOST_HELD + 61 * (1 << 15));
        }
        assert_eq!((kept.count, kept.every), (6000, 4));
        for (n, talk) in kept.all.iter().enumerate() {
            assert!(talk.acts[0] == Act::Send(message(n * 4)), "{n}");
        }
        assert_eq!(kept.all.len(), 1500);
    }

    #[test]
    fn pauses_become_shorter() {
        let talk = [
            Act::Send(vec![1]),
            Act::Silence(400),
            Act::Send(vec![2]),
            Act::Silence(90_000),
        ];
        let with = |factor| {
            let mut talk = talk.to_vec();
            hasten(&mut talk, factor);
            talk.into_iter()
                .filter_map(|act| match act {
                    Act::Silence(ms) => Some(ms),
                    Act::Send(_) => None,
                })
                .collect::<Vec<u32>>()
        };
        assert_eq!(with(1.0), [400, 5000]);
        assert_eq!(with(0.01), [4, 900]);
        assert!(with(0.0).is_empty());
    }
}
