//! Any bytes through the whole compiler: the processor time and the memory that it needs must be in
//! proportion to the number of bytes.
//!
//! libFuzzer keeps an input that needs more than those before it did, because the target counts what
//! an input needs, alone and for each byte, as if it were code that the input reaches.
//! Must not know: how the compiler bounds its work.
#![no_main]

mod measured;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use nest_machine::{Feature, Overrides};
use nest_syntax::Loader;

/// What any input may need, with the instruments of libFuzzer, on a busy machine (a test of ours takes 0.8 s): a specification of a few lines may fill the
/// largest automaton.
const TIME: Duration = Duration::from_millis(2000);
const MEMORY: usize = 128 << 20;
/// What each byte may add.
const TIME_PER_BYTE: Duration = Duration::from_micros(100);
const MEMORY_PER_BYTE: usize = 8 << 10;

/// Prints an input that needs more than all before it.
fn record(most: &AtomicUsize, amount: usize, what: &str, bytes: usize) {
    if most.fetch_max(amount, Relaxed) < amount {
        eprintln!("most so far: {amount} {what}, {bytes} bytes of input");
    }
}

/// Nothing can be included.
struct Nothing;

impl Loader for Nothing {
    fn load(&mut self, _from: &str, path: &str) -> Result<(String, String), String> {
        Err(format!("cannot read {path}: no such file or directory"))
    }
}

fn compile(text: &str) {
    let compiled = nest_machine::compile("fuzz.nest", text, &mut Nothing, &Overrides::default());
    let _ = nest_diag::render_text(&compiled.sources, &compiled.diagnostics, false);
    let _ = nest_diag::render_json(&compiled.sources, &compiled.diagnostics);
    if let Some(mut machine) = compiled.machine {
        let _ = nest_check::check(&machine);
        machine.features.insert(Feature::Branches);
        let _ = nest_emit::emit(&machine);
    }
}

static MOST_TIME: AtomicUsize = AtomicUsize::new(0);
static MOST_MEMORY: AtomicUsize = AtomicUsize::new(0);

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (time, memory) = measured::of(bytes.len(), || compile(&text));
    record(&MOST_TIME, time.as_millis() as usize, "ms of the processor", bytes.len());
    record(&MOST_MEMORY, memory >> 20, "MB at a time", bytes.len());
    let may = TIME + TIME_PER_BYTE * bytes.len() as u32;
    assert!(time <= may, "{} bytes took {time:?} of the processor, not {may:?}", bytes.len());
    let may = MEMORY + MEMORY_PER_BYTE * bytes.len();
    assert!(memory <= may, "{} bytes took {memory} bytes of memory, not {may}", bytes.len());
});
