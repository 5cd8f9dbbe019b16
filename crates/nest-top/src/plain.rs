//! The view as plain text, for files and pipes.

use crate::exposition::{Counts, Filter};
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
    if !counts.filters.is_empty() {
        text += &filters(counts, rates);
    }
    text
}

/// A table of the filters; behind each why it refused connections.
fn filters(counts: &Counts, rates: &Rates) -> String {
    let mut text = format!(
        "\n{:<24}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
        "filter", "accepted/s", "passed/s", "refused/s", "held", "oldest"
    );
    for (i, filter) in counts.filters.iter().enumerate() {
        let now = rates.filters.get(i).cloned().unwrap_or_default();
        text += &format!(
            "{:<24}{:>12}{:>12}{:>12}{:>12}{:>12}{}\n",
            filter.name,
            count(now.accepted),
            count(now.passed),
            count(now.refused),
            filter.held,
            age(filter),
            reasons(filter)
        );
    }
    text
}

/// How old the oldest connection is that a filter holds.
pub(crate) fn age(filter: &Filter) -> String {
    time((filter.held > 0).then_some(filter.oldest))
}

/// `  malformed 2  overdue 1`
pub(crate) fn reasons(filter: &Filter) -> String {
    let refused = filter.refused.iter().filter(|(_, n)| *n > 0);
    refused
        .map(|(reason, n)| format!("  {reason} {}", count(number(*n))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::exposition::Counts;
    use crate::rates::Rates;
    use crate::sample::TEXT;

    #[test]
    fn filters_have_a_table_if_there_are_any() {
        let mut counts = Counts::parse(TEXT).unwrap();
        let text = table(&counts, &Rates::default());
        let line = text.lines().find(|line| line.starts_with("request"));
        let words: Vec<_> = line.unwrap().split_whitespace().collect();
        assert_eq!(words[4..], ["2", "1.25", "s", "malformed", "2"], "{text}");
        counts.filters.clear();
        assert!(!table(&counts, &Rates::default()).contains("filter"));
    }
}
