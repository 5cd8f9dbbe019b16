//! The counts in a file that the server shares: 64-bit numbers, which `runtime/service/kernel/` reads.
//!
//! Must not know: where the numbers come from.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::cache::Holds;
use crate::failure::Failure;
use crate::shape::count;

/// Of `shape::COUNTS`, what the server tells.
const TOLD: [&str; 3] = ["answers", "answer_bytes", "unchanged"];

/// The file.
pub struct Counted {
    file: File,
    /// What others have counted in it before, who were killed.
    before: [u64; TOLD.len()],
    /// What was written last.
    last: Vec<u64>,
}

impl Counted {
    /// Opens the file. What is counted is added to what it contains.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let failed = |e| Failure::io(format!("cannot open {}", path.display()), &e);
        let file = file.map_err(failed)?;
        let mut bytes = [0; 8 * (1 + TOLD.len())];
        // A file that is shorter has counted nothing.
        let _ = file.read_exact_at(&mut bytes, 0);
        let mut before = [0; TOLD.len()];
        for (count, bytes) in before.iter_mut().zip(bytes.chunks_exact(8).skip(1)) {
            *count = bytes.try_into().map_or(0, u64::from_ne_bytes);
        }
        Ok(Counted {
            file,
            before,
            last: Vec::new(),
        })
    }

    /// Writes the counts, if they have changed: whether the kernel answers, what it answered, what it holds.
    pub fn write(&mut self, on: bool, counts: &[u64], holds: &Holds) {
        let told = TOLD.iter().zip(self.before);
        let told = told.map(|(name, before)| before + count(counts, name));
        let held = [holds.answers, holds.bytes].map(|n| u64::try_from(n).unwrap_or(u64::MAX));
        let now: Vec<u64> = [u64::from(on)]
            .into_iter()
            .chain(told)
            .chain(held)
            .collect();
        if now != self.last {
            let bytes: Vec<u8> = now.iter().flat_map(|n| n.to_ne_bytes()).collect();
            // The file is memory of the server, which ends if there is none.
            let _ = self.file.write_all_at(&bytes, 0);
            self.last = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_where_others_ended() {
        let path = std::env::temp_dir().join(format!("nest-counted-{}", std::process::id()));
        let numbers = |path: &Path| -> Vec<u64> {
            let bytes = std::fs::read(path).unwrap();
            let number = |b: &[u8]| u64::from_ne_bytes(b.try_into().unwrap());
            bytes.chunks_exact(8).map(number).collect()
        };
        std::fs::write(&path, []).unwrap();
        let holds = Holds {
            answers: 7,
            bytes: 8192,
            limit: 65536,
        };
        let counts: Vec<u64> = (1..=14).collect();
        let mut first = Counted::open(&path).unwrap();
        first.write(true, &counts, &holds);
        assert_eq!(numbers(&path), [1, 2, 3, 4, 7, 8192]);
        let mut second = Counted::open(&path).unwrap();
        second.write(false, &counts, &Holds::default());
        assert_eq!(numbers(&path), [0, 4, 6, 8, 0, 0]);
        std::fs::remove_file(&path).unwrap();
        assert!(Counted::open(&path).is_err());
    }
}
