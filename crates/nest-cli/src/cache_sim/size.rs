//! Sizes as people read them.
//!
//! Must not know: what has them.

/// `64M`; with a digit behind the point where that matters.
pub fn bytes(n: f64) -> String {
    let (mut n, mut unit) = (n / 1024.0, 0);
    while n >= 1024.0 && unit < 3 {
        n /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(n < 10.0 && (n - n.round()).abs() > 0.05);
    format!("{n:.digits$}{}", ["K", "M", "G", "T"][unit])
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_short() {
        let shown = [65536.0, 1_048_576.0, 1_572_864.0, 1e9].map(bytes);
        assert_eq!(shown, ["64K", "1M", "1.5M", "954M"]);
    }
}
