//! The view as plain text, for files and pipes.

use crate::exposition::{Counts, Filter};
use crate::kernel::{Kernel, KernelRates};
use crate::numbers::{bytes, count, number, percent, time};
use crate::rates::Rates;

/// A table of the present, and of the rates of the last interval.
#[must_use]
pub fn table(counts: &Counts, rates: &Rates) -> String {
    if let Some(kernel) = &counts.kernel {
        return accelerator(kernel, &rates.kernel.clone().unwrap_or_default());
    }
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

/// The table of `nest accelerate`; below it why files were left to the server.
fn accelerator(kernel: &Kernel, now: &KernelRates) -> String {
    let mut text = format!("{}\n", title(kernel));
    text += &format!("{:<14}{}\n", "kept", kept(kernel));
    text += &format!("{:<14}{}\n", "answers", share(now));
    text += &format!("\n{:<24}{:>12}{:>12}\n", "", "a second", "all");
    for line in kernel.lines(now) {
        text += &format!(
            "{:<24}{:>12}{:>12}\n",
            line.what,
            count(line.rate),
            count(number(line.all))
        );
    }
    if !kernel.left.is_empty() {
        text += &format!("\n{:>12}  {}\n", "files", "left to the server because");
        for (reason, n) in &kernel.left {
            text += &format!("{:>12}  {reason}\n", count(number(*n)));
        }
    }
    text
}

/// What it is, and whether the kernel answers.
pub(crate) fn title(kernel: &Kernel) -> String {
    let does = if kernel.on {
        "the kernel answers"
    } else {
        "the server answers everything"
    };
    format!("port {}: {does}", kernel.port)
}

/// `2 files, 2.05 KB of 8.39 MB`
pub(crate) fn kept(kernel: &Kernel) -> String {
    let (files, size, limit) = kernel.kept;
    let plural = if files == 1 { "" } else { "s" };
    format!(
        "{files} file{plural}, {} of {}",
        bytes(number(size)),
        bytes(number(limit))
    )
}

/// `98 % of the requests, 1.20 MB/s`
pub(crate) fn share(now: &KernelRates) -> String {
    let share = now.share().map_or_else(|| "-".to_owned(), percent);
    format!("{share} of the requests, {}/s", bytes(now.bytes()))
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
    use std::time::Duration;

    use super::table;
    use crate::exposition::Counts;
    use crate::rates::Rates;
    use crate::sample::{KERNEL, TEXT};

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

    #[test]
    fn an_accelerator_has_a_table_of_its_own() {
        let before = Counts::parse(KERNEL).unwrap();
        let after = KERNEL.replace("answers_total 100", "answers_total 160");
        let after = Counts::parse(&after.replace("passed_total 20", "passed_total 40")).unwrap();
        let rates = Rates::between(&before, &after, Duration::from_secs(2)).unwrap();
        let text = table(&after, &rates);
        let line = |start: &str| {
            let found = text.lines().find(|line| line.starts_with(start));
            found
                .unwrap_or_else(|| panic!("{start}\n{text}"))
                .to_owned()
        };
        assert_eq!(text.lines().next(), Some("port 8080: the kernel answers"));
        assert!(line("kept").ends_with(" 2 files, 2.05 KB of 8.39 MB"));
        assert!(line("answers").ends_with(" 75 % of the requests, 0 B/s"));
        assert!(line("answered by the kernel").ends_with(" 30         160"));
        assert!(line("  field that may matter").ends_with(" 0           6"));
        assert!(text.ends_with("\n           3  its file is too large\n"));
        let off = KERNEL.replace("nest_kernel_on 1", "nest_kernel_on 0");
        let off = table(&Counts::parse(&off).unwrap(), &Rates::default());
        assert!(off.starts_with("port 8080: the server answers everything\n"));
    }
}
