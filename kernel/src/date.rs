//! Dates as HTTP writes them.
//!
//! Must not know: what they are for.

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
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

/// Year, month (from 1) and day of a day that is counted from 1 January 1970.
fn civil(day: u64) -> (u64, u64, u64) {
    // Counts in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
    let day = day + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year + u64::from(month <= 2);
    (year, month, of_year - (153 * shifted + 2) / 5 + 1)
}

/// A time as in `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn http(seconds: u64) -> String {
    let (day, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, of_month) = civil(day);
    let at = |list: &[&'static str], i: u64| list[usize::try_from(i).unwrap_or(0) % list.len()];
    format!(
        "{}, {of_month:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        at(&DAYS, day % 7),
        at(&MONTHS, month - 1),
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// A time as access logs write it: `06/Nov/1994:08:49:37 +0000`.
pub fn log(seconds: u64) -> String {
    let (year, month, of_month) = civil(seconds / 86_400);
    let rest = seconds % 86_400;
    let name = MONTHS[usize::try_from(month - 1).unwrap_or(0) % 12];
    format!(
        "{of_month:02}/{name}/{year:04}:{:02}:{:02}:{:02} +0000",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
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
