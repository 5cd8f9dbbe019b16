//! Any bytes as the figures of an earlier run for `nest bench --compare`: they are read and compared, or refused
//! with one short line. Time and memory are in proportion to the number of bytes.
#![no_main]

mod measured;

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use nest_bench::{Entry, Run, Sample, changes};

/// What any input may need, and what each byte may add.
const TIME: Duration = Duration::from_millis(200);
const TIME_PER_BYTE: Duration = Duration::from_micros(50);
const MEMORY: usize = 4 << 20;
const MEMORY_PER_BYTE: usize = 256;
/// The longest message.
const MESSAGE: usize = 1000;
/// The rounds of the run that is compared with it.
const ROUNDS: usize = 8;

/// Compares the figures with themselves, and with those of a run that has the same servers.
fn compare(old: &Run) {
    let new = |entry: &Entry| Entry {
        name: entry.name.clone(),
        rounds: vec![
            Sample {
                cost: 1.0,
                ..Sample::default()
            };
            ROUNDS
        ],
        ..Entry::default()
    };
    let new: Vec<Entry> = old.servers.iter().take(9).map(new).collect();
    for change in [
        changes(&old.servers, &new),
        changes(&old.servers[..new.len()], &old.servers),
    ]
    .concat()
    {
        assert!((0.0..=1.0).contains(&change.chance), "{change:?}");
        assert!(change.ratio >= 0.0, "{change:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut refused = None;
    let (time, memory) = measured::of(bytes.len(), || match Run::read("r.json", bytes) {
        Ok(run) => compare(&run),
        Err(why) => refused = Some(why),
    });
    let may = TIME + TIME_PER_BYTE * bytes.len() as u32;
    assert!(time <= may, "{} bytes took {time:?} of the processor, not {may:?}", bytes.len());
    let may = MEMORY + MEMORY_PER_BYTE * bytes.len();
    assert!(memory <= may, "{} bytes took {memory} bytes of memory, not {may}", bytes.len());
    if let Some(why) = refused {
        assert!(why.starts_with("r.json") && why.len() < MESSAGE, "{why}");
        assert!(!why.contains(char::is_control), "{why:?}");
    }
});
