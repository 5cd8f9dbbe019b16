//! Numbers as people read them: three digits and a unit.

/// A count, to calculate with.
#[expect(clippy::cast_precision_loss, reason = "what is shown has three digits")]
pub(crate) fn number(n: u64) -> f64 {
    n as f64
}

/// `12.3k`; a rate or a count.
pub(crate) fn count(n: f64) -> String {
    scaled(n, &["", "k", "M", "G", "T"], 1000.0)
}

/// `1.2 MB`.
pub(crate) fn bytes(n: f64) -> String {
    scaled(n, &[" B", " KB", " MB", " GB", " TB"], 1000.0)
}

/// `1.2 ms`; `-`: none.
pub(crate) fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "-".to_string(),
        Some(s) if s.is_infinite() => "over 9 min".to_string(),
        Some(s) if s >= 100.0 => format!("{:.1} min", s / 60.0),
        Some(s) if s >= 1.0 => format!("{} s", digits(s)),
        Some(s) => scaled(s * 1e9, &[" ns", " µs", " ms"], 1000.0),
    }
}

/// `12 %`; below ten, one digit more.
pub(crate) fn percent(share: f64) -> String {
    let whole = share == 0.0 || share >= 0.0995;
    format!("{:.*} %", usize::from(!whole), share * 100.0)
}

fn scaled(n: f64, units: &[&str], step: f64) -> String {
    let mut value = n;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let whole = unit == 0 && (value - value.round()).abs() < 1e-9;
    let text = if whole {
        format!("{value:.0}")
    } else {
        digits(value)
    };
    format!("{text}{}", units[unit])
}

fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, percent, time};

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(count(0.0), "0");
        assert_eq!(count(0.5), "0.50");
        assert_eq!(count(999.0), "999");
        assert_eq!(count(999.9), "1.00k");
        assert_eq!(count(123_456.0), "123k");
        assert_eq!(bytes(1_500_000.0), "1.50 MB");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.012), "1.2 %");
        assert_eq!(percent(0.5), "50 %");
        assert_eq!(time(None), "-");
        assert_eq!(time(Some(0.000_000_512)), "512 ns");
        assert_eq!(time(Some(0.0123)), "12.3 ms");
        assert_eq!(time(Some(2.5)), "2.50 s");
        assert_eq!(time(Some(f64::INFINITY)), "over 9 min");
    }
}
