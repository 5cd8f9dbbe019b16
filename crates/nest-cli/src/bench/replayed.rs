//! `nest bench --replay`: reads recorded conversations, and chooses some if there are too many.
//!
//! Must not know: the format of recordings, how conversations are played.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use nest_check::Act;

use super::profile::{MOST_THINK, Profile};
use crate::args::Bench;
use crate::recording::{self, EXTENSION, LONGEST};
use crate::term::{self, Failure};

/// The most files that are read.
const MOST_FILES: usize = 2000;
/// The most conversations, messages with pauses, and bytes that are played.
const MOST_TALKS: usize = 512;
const MOST_ACTS: usize = 4096;
const MOST_BYTES: usize = 1 << 21;

/// The recorded conversations; `None` without `--replay`.
pub fn of(args: &Bench, profile: &Profile) -> Result<Option<Vec<Vec<Act>>>, Failure> {
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
    let mut all = Vec::new();
    for file in spread(&files, MOST_FILES) {
        let name = file.display().to_string();
        all.extend(recording::read(&name, &contents(file)?).map_err(Failure::new)?);
    }
    let mut chosen = spread(&all, MOST_TALKS);
    while !fits(&chosen) {
        chosen = spread(&chosen, chosen.len() * 9 / 10)
            .into_iter()
            .copied()
            .collect();
    }
    let mut chosen: Vec<Vec<Act>> = chosen.into_iter().cloned().collect();
    if chosen.len() < all.len() || files.len() > MOST_FILES {
        term::note(format!(
            "{} conversations are chosen, evenly, from {} recordings; so many can be learnt",
            chosen.len(),
            files.len()
        ));
    }
    for talk in &mut chosen {
        hasten(talk, args.think.unwrap_or(1.0));
    }
    Ok(Some(chosen))
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
fn fits(talks: &[&Vec<Act>]) -> bool {
    let acts: usize = talks.iter().map(|talk| talk.len()).sum();
    let bytes = talks.iter().flat_map(|talk| talk.iter());
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
    use super::{Act, MOST_ACTS, fits, hasten, spread};

    #[test]
    fn the_chosen_ones_are_spread() {
        let all: Vec<usize> = (0..10).collect();
        assert_eq!(spread(&all, 3), [&0, &3, &6]);
        assert_eq!(spread(&all, 99).len(), 10);
        assert_eq!(spread(&all, 0), [&0]);
        assert!(spread(&all[..0], 3).is_empty());
        let (short, long) = (
            vec![Act::Send(vec![1])],
            vec![Act::Send(vec![1]); MOST_ACTS],
        );
        assert!(fits(&[&short, &short]) && fits(&[&long]) && !fits(&[&short, &long]));
        let large = vec![Act::Send(vec![1; super::MOST_BYTES])];
        assert!(!fits(&[&short, &large]));
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
