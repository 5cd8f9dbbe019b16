//! What targets share that limit the processor time and the memory of an input.
//!
//! Must not know: what is measured, what is allowed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

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

/// The processor time that an input of so many bytes needs, and the memory at a time.
pub fn of(length: usize, work: impl FnOnce()) -> (Duration, usize) {
    let (before, total) = (LIVE.load(Relaxed), TOTAL.load(Relaxed));
    PEAK.store(before, Relaxed);
    let start = processor();
    work();
    let time = processor() - start;
    let memory = PEAK.load(Relaxed).saturating_sub(before);
    let allocated = TOTAL.load(Relaxed) - total;

    let count = length.max(64);
    needs(0, memory as u64);
    needs(1, (memory / count) as u64);
    needs(2, allocated as u64);
    needs(3, (allocated / count) as u64);
    (time, memory)
}
