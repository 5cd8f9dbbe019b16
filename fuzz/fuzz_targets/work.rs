//! Any bytes through the whole compiler: the processor time and the memory that it needs must be in
//! proportion to the number of bytes.
//!
//! libFuzzer keeps an input that needs more than those before it did, because the target counts what
//! an input needs, alone and for each byte, as if it were code that the input reaches.
//! Must not know: how the compiler bounds its work.
#![no_main]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use nest_machine::{Feature, Overrides};
use nest_syntax::Loader;

/// What any input may need: a specification of a few lines may fill the largest automaton.
const TIME: Duration = Duration::from_millis(1000);
const MEMORY: usize = 128 << 20;
/// What each byte may add.
const TIME_PER_BYTE: Duration = Duration::from_micros(100);
const MEMORY_PER_BYTE: usize = 8 << 10;

/// The system's allocator, which counts the bytes that are in use.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);

fn more(bytes: usize) {
    TOTAL.fetch_add(bytes, Relaxed);
    PEAK.fetch_max(LIVE.fetch_add(bytes, Relaxed) + bytes, Relaxed);
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        more(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One scale of what inputs need: a counter for each half of a power of two.
const STEPS: usize = 128;

#[unsafe(link_section = "__libfuzzer_extra_counters")]
static COUNTERS: [[AtomicU8; STEPS]; 4] = [const { [const { AtomicU8::new(0) }; STEPS] }; 4];

/// Tells libFuzzer that an input needs so much.
fn needs(scale: usize, amount: u64) {
    let amount = amount.max(1);
    let power = amount.ilog2();
    let half = power > 0 && amount >> (power - 1) & 1 == 1;
    COUNTERS[scale][2 * power as usize + usize::from(half)].store(1, Relaxed);
}

/// The processor time of this thread.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells the time");
    let time = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(time.expect("the first number is the time"))
}

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
    let (before, total) = (LIVE.load(Relaxed), TOTAL.load(Relaxed));
    PEAK.store(before, Relaxed);
    let start = processor();
    compile(&text);
    let time = processor() - start;
    let memory = PEAK.load(Relaxed).saturating_sub(before);
    let allocated = TOTAL.load(Relaxed) - total;

    let count = bytes.len().max(64);
    needs(0, memory as u64);
    needs(1, (memory / count) as u64);
    needs(2, allocated as u64);
    needs(3, (allocated / count) as u64);
    record(&MOST_TIME, time.as_millis() as usize, "ms of the processor", bytes.len());
    record(&MOST_MEMORY, memory >> 20, "MB at a time", bytes.len());
    let may = TIME + TIME_PER_BYTE * bytes.len() as u32;
    assert!(time <= may, "{} bytes took {time:?} of the processor, not {may:?}", bytes.len());
    let may = MEMORY + MEMORY_PER_BYTE * bytes.len();
    assert!(memory <= may, "{} bytes took {memory} bytes of memory, not {may}", bytes.len());
});
