//! Random numbers that a seed determines (splitmix64).
//!
//! Must not know: what is drawn.

/// A generator; its seed.
#[derive(Clone, Copy, Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `below`; 0 if there is none.
    pub fn draw(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ x >> 31) % below.max(1) as u64).unwrap_or_default()
    }
}
