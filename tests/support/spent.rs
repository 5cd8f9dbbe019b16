//! What a test costs, for limits that a busy machine does not change.
//!
//! A test includes it by `#[path]`. Must not know: what is tested.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What this process or the calling thread, as the clock says, has used of the processor.
pub fn processor(of: ClockId) -> Duration {
    let used = clock_gettime(of);
    Duration::new(
        used.tv_sec.cast_unsigned(),
        u32::try_from(used.tv_nsec).expect("less than a second"),
    )
}
