//! The counts of a server, from its OpenMetrics text.
//!
//! Must not know: where the text comes from, nor what is shown of it.

use std::collections::BTreeMap;

use crate::kernel::Kernel;

/// Counts since the server's start, and its present state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// The server's name.
    pub name: String,
    /// Its model.
    pub model: String,
    /// Processes that serve.
    pub workers: u64,
    /// maxClients.
    pub limit: u64,
    /// Connections that are open.
    pub open: u64,
    /// Connections that were accepted.
    pub opened: u64,
    /// Connections that have ended, by reason, in the server's order.
    pub ended: Vec<(String, u64)>,
    /// Bytes.
    pub received: u64,
    /// Bytes.
    pub replied: u64,
    /// Actions that wait now.
    pub waiting: u64,
    /// By rule, in the order of the specification.
    pub rules: Vec<Rule>,
    /// From a message to the end of its action.
    pub messages: Times,
    /// Those in front of the server, in the order in which clients pass them, for each address.
    pub filters: Vec<Filter>,
    /// If `nest accelerate` tells them; then there is nothing else.
    pub kernel: Option<Kernel>,
}

/// What was counted of a filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// The address at which the first filter accepts.
    pub address: String,
    /// Its place, from 0.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Connections and messages that arrived.
    pub accepted: u64,
    /// Connections and messages that it passed on.
    pub passed: u64,
    /// Connections that it holds now.
    pub held: u64,
    /// The age of the oldest of these, in seconds.
    pub oldest: f64,
    /// How often it died.
    pub deaths: u64,
    /// Connections that it refused, by reason.
    pub refused: Vec<(String, u64)>,
}

/// What was counted of a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    /// Its name, or its line.
    pub name: String,
    /// File and line.
    pub at: String,
    /// Messages for which it was selected.
    pub messages: u64,
    /// Bytes of these, and of what their actions read.
    pub bytes: u64,
    /// The time of its actions.
    pub seconds: f64,
}

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times {
    /// The upper edges in seconds, ascending; how many took at most as long.
    pub buckets: Vec<(f64, u64)>,
    /// Of all.
    pub sum: f64,
    /// How many.
    pub count: u64,
}

/// A line.
#[derive(Debug)]
struct Sample<'a> {
    name: &'a str,
    labels: BTreeMap<&'a str, String>,
    value: f64,
}

impl Counts {
    /// Reads the text. An error says what is wrong with it.
    ///
    /// # Errors
    /// It is no exposition, or not of a server that nest has made.
    pub fn parse(text: &str) -> Result<Counts, String> {
        let mut counts = Counts::default();
        for (i, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let sample =
                sample(line).ok_or_else(|| format!("line {} is no count: {line}", i + 1))?;
            counts.take(&sample);
        }
        if counts.name.is_empty() && counts.kernel.is_none() {
            return Err("what answers there is no server of nest".to_string());
        }
        Ok(counts)
    }

    fn take(&mut self, sample: &Sample<'_>) {
        let n = whole(sample.value);
        let label = |name: &str| sample.labels.get(name).cloned().unwrap_or_default();
        match sample.name {
            "nest_server_info" => {
                self.name = label("name");
                self.model = label("model");
            }
            "nest_workers" => self.workers = n,
            "nest_clients_limit" => self.limit = n,
            "nest_connections" => self.open = n,
            "nest_connections_opened_total" => self.opened = n,
            "nest_connections_ended_total" => self.ended.push((label("reason"), n)),
            "nest_received_bytes_total" => self.received = n,
            "nest_replied_bytes_total" => self.replied = n,
            "nest_waiting" => self.waiting = n,
            "nest_rule_messages_total" => self.rule(sample).messages = n,
            "nest_rule_bytes_total" => self.rule(sample).bytes = n,
            "nest_rule_seconds_total" => self.rule(sample).seconds = sample.value,
            "nest_filter_accepted_total" => self.filter(sample).accepted = n,
            "nest_filter_passed_total" => self.filter(sample).passed = n,
            "nest_filter_deaths_total" => self.filter(sample).deaths = n,
            "nest_filter_held" => self.filter(sample).held = n,
            "nest_filter_oldest_seconds" => self.filter(sample).oldest = sample.value,
            "nest_filter_refused_total" => self.filter(sample).refused.push((label("reason"), n)),
            name => {
                if let Some(part) = name.strip_prefix("nest_message_seconds_") {
                    self.messages.take(part, sample);
                } else if let Some(part) = name.strip_prefix("nest_kernel_")
                    && !part.starts_with("cache_")
                {
                    // Those of a server with kernelCache are its own, beside all others.
                    let kernel = self.kernel.get_or_insert_default();
                    kernel.take(part, label, n);
                }
            }
        }
    }

    /// The filter of the labels.
    fn filter(&mut self, sample: &Sample<'_>) -> &mut Filter {
        let label = |name: &str| sample.labels.get(name).cloned().unwrap_or_default();
        let (address, place) = (label("address"), label("place"));
        let same = |f: &Filter| f.address == address && f.place == place;
        let at = self.filters.iter().position(same).unwrap_or_else(|| {
            self.filters.push(Filter {
                name: label("filter"),
                address,
                place,
                ..Filter::default()
            });
            self.filters.len() - 1
        });
        &mut self.filters[at]
    }

    /// The rule of the labels. Families follow each other, each with all rules in one order.
    fn rule(&mut self, sample: &Sample<'_>) -> &mut Rule {
        let label = |name: &str| sample.labels.get(name).map_or("", String::as_str);
        let (name, at) = (label("rule"), label("at"));
        let found = self.rules.iter().position(|r| r.name == name && r.at == at);
        let at = found.unwrap_or_else(|| {
            self.rules.push(Rule {
                name: name.to_string(),
                at: at.to_string(),
                ..Rule::default()
            });
            self.rules.len() - 1
        });
        &mut self.rules[at]
    }
}

impl Times {
    fn take(&mut self, part: &str, sample: &Sample<'_>) {
        match part {
            "bucket" => {
                let edge = sample.labels.get("le").map_or("", String::as_str);
                let edge = edge.parse().unwrap_or(f64::INFINITY);
                self.buckets.push((edge, whole(sample.value)));
            }
            "sum" => self.sum = sample.value,
            "count" => self.count = whole(sample.value),
            _ => {}
        }
    }
}

/// A count, which has no fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates; a count that is negative or no number becomes 0"
)]
fn whole(value: f64) -> u64 {
    value as u64
}

/// `name{label="value",…} number`, perhaps with a time behind it.
fn sample(line: &str) -> Option<Sample<'_>> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = BTreeMap::new();
    if let Some(mut inner) = rest.strip_prefix('{') {
        while !inner.starts_with('}') {
            let (label, value) = inner.split_once("=\"")?;
            let (text, after) = quoted(value)?;
            labels.insert(label, text);
            inner = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &inner[1..];
    }
    let value = rest.strip_prefix(' ')?.split(' ').next()?.parse().ok()?;
    Some(Sample {
        name,
        labels,
        value,
    })
}

/// A label's value, and what follows its closing quote.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    loop {
        match chars.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            (_, other) => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use crate::sample::TEXT;

    #[test]
    fn a_server_s_counts_are_read() {
        let counts = Counts::parse(TEXT).unwrap();
        assert_eq!(
            (counts.name.as_str(), counts.model.as_str()),
            ("web", "event")
        );
        assert_eq!((counts.open, counts.opened, counts.limit), (3, 10, 1000));
        assert_eq!(counts.ended[1], ("eof".to_string(), 1));
        assert_eq!(counts.rules.len(), 2);
        assert_eq!(counts.rules[0].at, "a \"b\\.nest:4");
        assert_eq!((counts.rules[0].messages, counts.rules[0].bytes), (20, 600));
        assert_eq!(counts.messages.buckets[2], (f64::INFINITY, 20));
        assert_eq!(counts.messages.count, 20);
        assert_eq!(counts.filters.len(), 2);
        let first = &counts.filters[0];
        assert_eq!((first.name.as_str(), first.accepted), ("request", 14));
        assert_eq!((first.passed, first.held, first.deaths), (10, 2, 1));
        assert!((first.oldest - 1.25).abs() < 1e-9);
        assert_eq!(first.refused, [("malformed".to_string(), 2)]);
    }

    #[test]
    fn a_server_with_a_kernel_cache_is_no_accelerator() {
        let own = "nest_kernel_cache_ports 1\nnest_kernel_cache_hits_total 5\n# EOF\n";
        let counts = Counts::parse(&TEXT.replace("# EOF\n", own)).unwrap();
        assert_eq!(counts, Counts::parse(TEXT).unwrap());
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "hello",
            "go_threads 7\n",
            "nest_workers",
            "nest_workers x",
            "a{b=\"c",
        ] {
            assert!(Counts::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_text_makes_it_panic() {
        // Every text that misses a byte, and every one in which a byte is another.
        for at in 0..TEXT.len() {
            let _ = Counts::parse(&TEXT[..at]);
            for other in ["{", "}", "\"", "\\", " ", "=", "\n", "-", "9", "é"] {
                let text = format!("{}{other}{}", &TEXT[..at], &TEXT[at + 1..]);
                let _ = Counts::parse(&text);
            }
        }
    }
}
