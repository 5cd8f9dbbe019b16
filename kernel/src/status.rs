//! What a running accelerator says of itself: a text for people, and OpenMetrics.
//!
//! Must not know: where the numbers come from.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::cache::Holds;
use crate::shape::COUNTS;

/// Everything that is told.
#[derive(Debug, Default)]
pub struct Status {
    pub port: u16,
    /// `on`, or why not.
    pub phase: String,
    pub holds: Holds,
    pub counts: Vec<u64>,
    /// Why files were left to the server, and how often.
    pub refused: BTreeMap<String, u64>,
}

impl Status {
    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("port {}: {}\n", self.port, self.phase);
        let holds = &self.holds;
        let _ = writeln!(
            out,
            "kept: {} answers, {} of {} KB",
            holds.answers,
            holds.bytes / 1024,
            holds.limit / 1024
        );
        for ((_, about), value) in COUNTS.iter().zip(&self.counts) {
            let _ = writeln!(out, "{value:>12}  {about}");
        }
        for (reason, count) in &self.refused {
            let _ = writeln!(out, "{count:>12}  left to the server: {reason}");
        }
        out
    }

    /// OpenMetrics.
    pub fn metrics(&self) -> String {
        let mut out = format!(
            "# TYPE nest_kernel info\n# HELP nest_kernel The accelerator.\n\
             nest_kernel_info{{port=\"{}\"}} 1\n",
            self.port
        );
        let mut gauge = |name: &str, about: &str, value: usize| {
            let _ = write!(
                out,
                "# TYPE nest_kernel_{name} gauge\n# HELP nest_kernel_{name} {about}.\n\
                 nest_kernel_{name} {value}\n"
            );
        };
        let on = usize::from(self.phase == "on");
        gauge("on", "Whether the kernel answers", on);
        gauge("kept_answers", "Answers that are kept", self.holds.answers);
        gauge("kept_bytes", "Bytes that they take", self.holds.bytes);
        gauge("limit_bytes", "Bytes that they may take", self.holds.limit);
        for ((name, about), value) in COUNTS.iter().zip(&self.counts) {
            let _ = write!(
                out,
                "# TYPE nest_kernel_{name} counter\n# HELP nest_kernel_{name} {about}.\n\
                 nest_kernel_{name}_total {value}\n"
            );
        }
        out.push_str(
            "# TYPE nest_kernel_left counter\n\
             # HELP nest_kernel_left Files that were left to the server, by the reason.\n",
        );
        for (reason, count) in &self.refused {
            let reason = reason.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(out, "nest_kernel_left_total{{reason=\"{reason}\"}} {count}");
        }
        out.push_str("# EOF\n");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn both_forms_name_every_count_and_reason() {
        let status = Status {
            port: 80,
            phase: "on".to_owned(),
            counts: (1..=15).collect(),
            refused: [("a \"b\"".to_owned(), 3)].into(),
            ..Status::default()
        };
        let text = status.text();
        assert!(text.starts_with("port 80: on\n"));
        assert!(text.contains("           2  Requests that the kernel answered\n"));
        assert!(text.contains("           4  Answers among them that say 304 Not Modified\n"));
        let metrics = status.metrics();
        assert!(metrics.contains("\nnest_kernel_info{port=\"80\"} 1\n"));
        assert!(metrics.contains("\nnest_kernel_answers_total 2\n"));
        assert!(metrics.contains("nest_kernel_left_total{reason=\"a \\\"b\\\"\"} 3\n"));
        assert!(metrics.ends_with("# EOF\n"));
    }
}
