//! The view as plain text, for files and pipes.

use crate::exposition::Counts;
use crate::numbers::{bytes, count, percent, time};
use crate::rates::{Rates, number};

/// A table of the present, and of the rates of the last interval.
#[must_use]
pub fn table(counts: &Counts, rates: &Rates) -> String {
    let mut text = format!(
        "{}: {} server, {} worker{}\n",
        counts.name,
        counts.model,
        counts.workers,
        if counts.workers == 1 { "" } else { "s" }
    );
    let mut line = |what: &str, value: String| text += &format!("{what:<14}{value}\n");
    line(
        "connections",
        format!(
            "{} open of {}, {}/s opened, {}/s ended",
            counts.open,
            counts.limit,
            count(rates.opened),
            count(rates.ended)
        ),
    );
    line(
        "messages",
        format!(
            "{}/s, {}/s received, {}/s replied, {} waiting",
            count(rates.messages),
            bytes(rates.received),
            bytes(rates.replied),
            counts.waiting
        ),
    );
    line(
        "an action",
        format!(
            "50 % {}, 90 % {}, 99 % {}, all {}",
            time(rates.p50),
            time(rates.p90),
            time(rates.p99),
            time(rates.longest)
        ),
    );
    text += &format!(
        "\n{:<24}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
        "rule", "messages/s", "bytes/s", "mean", "busy", "all"
    );
    for (rule, all) in rates.rules.iter().zip(&counts.rules) {
        text += &format!(
            "{:<24}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
            rule.name,
            count(rule.messages),
            bytes(rule.bytes),
            time(rule.mean),
            percent(rule.busy),
            count(number(all.messages))
        );
    }
    text
}
