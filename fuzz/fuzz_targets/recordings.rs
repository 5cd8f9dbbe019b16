//! Any bytes as a recording for `nest bench --replay`: it is read, and then written and read as the same, or
//! refused with one line that names the place. Time and memory are in proportion to the number of bytes.
#![no_main]

mod measured;
#[path = "../../crates/nest-cli/src/quoted.rs"]
mod quoted;
#[allow(dead_code)]
#[path = "../../crates/nest-cli/src/recording.rs"]
mod recording;

use std::time::Duration;

use libfuzzer_sys::fuzz_target;

/// What any input may need, and what each byte may add.
const TIME: Duration = Duration::from_millis(200);
const TIME_PER_BYTE: Duration = Duration::from_micros(10);
const MEMORY: usize = 64 << 10;
const MEMORY_PER_BYTE: usize = 64;
/// The longest message: it may show 160 bytes, each as \\xHH.
const MESSAGE: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let mut read = Ok(Vec::new());
    let (time, memory) = measured::of(bytes.len(), || read = recording::read("r.talk", bytes));
    let may = TIME + TIME_PER_BYTE * bytes.len() as u32;
    assert!(time <= may, "{} bytes took {time:?} of the processor, not {may:?}", bytes.len());
    let may = MEMORY + MEMORY_PER_BYTE * bytes.len();
    assert!(memory <= may, "{} bytes took {memory} bytes of memory, not {may}", bytes.len());
    match read {
        Ok(talks) => {
            assert!(!talks.is_empty());
            for talk in talks {
                let again = recording::read("r.talk", recording::text(&talk).as_bytes());
                assert_eq!(again, Ok(vec![talk]));
            }
        }
        Err(why) => {
            assert!(why.starts_with("r.talk") && why.len() < MESSAGE, "{why}");
            assert!(!why.contains(char::is_control), "{why:?}");
        }
    }
});
