//! What bounds are shown from: the memory of a connection, options, and sizes and times as they are
//! written. Must not know: how they are shown.

use nest_check::For;
use serde::Serialize;

/// What a connection has in one model.
#[derive(Serialize)]
pub struct Memory {
    pub model: &'static str,
    pub items: Vec<Item>,
    /// What the server has once, for all connections.
    pub common: Vec<Item>,
    pub bytes: u64,
    pub clients: u64,
}

/// One thing that takes memory.
#[derive(Clone, Serialize)]
pub struct Item {
    pub what: String,
    pub option: Option<String>,
    pub bytes: u64,
}

/// Bytes as a server says them: rounded up.
pub fn size(bytes: u64) -> String {
    if bytes < 10_000 {
        return bytes.to_string();
    }
    let (mut n, mut unit) = (bytes.div_ceil(1024), 0);
    while n >= 10_000 && unit < 3 {
        n = n.div_ceil(1024);
        unit += 1;
    }
    format!("{n}{}", ["K", "M", "G", "T"][unit])
}

/// Milliseconds as durations are written.
pub fn duration(ms: u64) -> String {
    let units = [(3_600_000, "h"), (60_000, "m"), (1000, "s")];
    let unit = units
        .iter()
        .find(|(n, _)| ms >= *n && ms.is_multiple_of(*n));
    unit.map_or(format!("{ms}ms"), |(n, unit)| format!("{}{unit}", ms / n))
}

/// The options that bound a wait.
pub fn limits(what: For) -> Vec<&'static str> {
    match what {
        For::Message => vec!["idleTimeout", "readTimeout"],
        For::Bytes => vec!["idleTimeout"],
        For::Output => vec!["writeTimeout"],
        For::Time | For::Block => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations_are_as_they_are_written() {
        assert_eq!(
            [size(64), size(65_537), size(20 << 20)],
            ["64", "65K", "20M"]
        );
        let texts = [duration(300_000), duration(1500), duration(7_200_000)];
        assert_eq!(texts, ["5m", "1500ms", "2h"]);
    }
}
