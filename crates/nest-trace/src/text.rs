//! Events as lines of text.
//!
//! Must not know: how a file is read, where the lines go.

use std::fmt::Write;

use time::OffsetDateTime;

use crate::event::{Event, Kind};
use crate::file::Trace;

const SECOND: u64 = 1_000_000_000;
/// As in runtime/workers/stop.h.
const PHASES: [&str; 4] = ["serving", "draining", "cutting", "finished"];

/// A date of UTC, from seconds since 1970; one that no calendar has is shown as the number.
fn date(seconds: u64) -> String {
    let date = i64::try_from(seconds).ok();
    let date = date.and_then(|seconds| OffsetDateTime::from_unix_timestamp(seconds).ok());
    date.map_or_else(
        || format!("{seconds} s after 1970"),
        |date| {
            let (year, month, day) = date.to_calendar_date();
            let (hour, minute, second) = date.to_hms();
            let month = u8::from(month);
            format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
        },
    )
}

fn count(n: u64, what: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {what}{s}")
}

/// A line about the file.
#[must_use]
pub fn head(trace: &Trace) -> String {
    let mut out = format!(
        "{}: {} server, generated from {} by {}, began {}",
        trace.server,
        trace.model,
        trace.file,
        trace.tool,
        date(trace.date / SECOND)
    );
    let lost: u64 = trace.lost.iter().sum();
    let _ = write!(out, "; {}", count(trace.events.len() as u64, "event"));
    if lost > 0 {
        let _ = write!(out, ", {lost} older ones were overwritten");
    }
    out
}

/// What happened.
pub(crate) fn told(trace: &Trace, event: &Event) -> String {
    let index = usize::from(event.what.unwrap_or_default());
    let name = |names: &[String]| names.get(index).cloned().unwrap_or_default();
    let value = event.value;
    match event.kind {
        Kind::Start => format!("process {value}"),
        Kind::Gone => format!("worker {index}, process {value}"),
        Kind::Killed => format!("process {value}, by a signal"),
        Kind::Stop => {
            let phase = usize::try_from(value).ok().and_then(|i| PHASES.get(i));
            (*phase.unwrap_or(&"")).to_owned()
        }
        Kind::Accept => format!("descriptor {value}"),
        Kind::Read | Kind::Reply | Kind::Sent | Kind::Mail => count(value, "byte"),
        Kind::Match => format!("{}, {}", name(&trace.rules), count(value, "byte")),
        Kind::Timeout => name(&trace.timers),
        Kind::Begin => trace.action(event),
        Kind::End if value > 0 => format!("took {} of input", count(value, "byte")),
        Kind::States => {
            let set = |i: &usize| *i < 64 && value >> i & 1 == 1;
            let states = (0..trace.states.len()).filter(set);
            let names: Vec<&str> = states.map(|i| trace.states[i].as_str()).collect();
            let last = event.what.map_or("-".to_owned(), |_| name(&trace.states));
            format!("{} last={last}", names.join(" "))
        }
        Kind::Over => name(&trace.reasons),
        Kind::Reload | Kind::Finish | Kind::End | Kind::Wait | Kind::Resume | Kind::Close => {
            String::new()
        }
    }
}

/// An event: the time since the server began, who recorded it, its connection, what happened.
#[must_use]
pub fn line(trace: &Trace, event: &Event) -> String {
    let (seconds, ns) = (event.time / SECOND, event.time % SECOND);
    let connection = match event.connection {
        0 => "-".to_owned(),
        id => format!("#{id}"),
    };
    let line = format!(
        "{seconds:>5}.{ns:09} {:<11} {connection:<4} {:<7} {}",
        trace.ring_name(event.ring),
        event.kind.name(),
        told(trace, event)
    );
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates_are_of_the_civil_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_827_696), "2000-02-29 12:34:56 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59:59 UTC");
    }
}
