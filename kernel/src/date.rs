//! Dates as HTTP writes them.
//!
//! Must not know: what they are for.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The length of a date.
pub const LENGTH: usize = 29;

/// The seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// One that no calendar has is the first one.
fn calendar(seconds: u64) -> OffsetDateTime {
    let seconds = i64::try_from(seconds).unwrap_or(0);
    OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

/// A time as in `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn http(seconds: u64) -> String {
    let date = calendar(seconds);
    let (hour, minute, second) = date.to_hms();
    let weekday = DAYS[usize::from(date.weekday().number_days_from_sunday())];
    format!(
        "{weekday}, {:02} {} {:04} {hour:02}:{minute:02}:{second:02} GMT",
        date.day(),
        month(date),
        date.year()
    )
}

/// A time as access logs write it: `06/Nov/1994:08:49:37 +0000`.
pub fn log(seconds: u64) -> String {
    let date = calendar(seconds);
    let (hour, minute, second) = date.to_hms();
    format!(
        "{:02}/{}/{:04}:{hour:02}:{minute:02}:{second:02} +0000",
        date.day(),
        month(date),
        date.year()
    )
}

fn month(date: OffsetDateTime) -> &'static str {
    MONTHS[usize::from(u8::from(date.month())) - 1]
}

#[cfg(test)]
mod tests {
    use super::{LENGTH, http, log};

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(http(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(http(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(http(1_709_251_199), "Thu, 29 Feb 2024 23:59:59 GMT");
        assert_eq!(log(784_111_777), "06/Nov/1994:08:49:37 +0000");
        assert_eq!(http(4_102_444_799).len(), LENGTH);
    }
}
