//! The report of a run: one page of HTML that needs nothing else.
//!
//! Must not know: how figures were measured, where the page is written.

use std::fmt::Write as _;

use crate::compare::{Entry, Run, best, micro, ratio, table};
use crate::harm::harm_table;
use crate::plots::{Bar, Line, bars, lines};
use crate::secrecy::encryption_table;

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #1c2024; --grid: #d8dce0; --paper: #ffffff; --soft: #5b636b;
  --s0: #0b63c5; --s1: #c2410c; --s2: #15803d; --s3: #7e22ce; --s4: #b45309; --s5: #be185d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --grid: #3a4047; --paper: #15181b;
  --soft: #a4acb4; --s0: #6cb2ff; --s1: #ff9a6b; --s2: #6ee7a0; --s3: #d0a2ff; --s4: #fcd34d;
  --s5: #f9a8d4; } }
@media print { :root { --ink: #000; --grid: #ccc; --paper: #fff; --soft: #333; --s0: #0b63c5;
  --s1: #c2410c; --s2: #15803d; --s3: #7e22ce; --s4: #b45309; --s5: #be185d; }
  figure, table { break-inside: avoid; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.answer { font-size: 1.1rem; border-left: 4px solid var(--s0); padding-left: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--grid);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0; } svg { width: 100%; height: auto; }
figcaption, .note { color: var(--soft); font-size: .9rem; }
.key span { margin-right: 1.2rem; white-space: nowrap; }
.key i { display: inline-block; width: .9rem; height: .9rem; margin-right: .35rem;
  vertical-align: -.1rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
";

/// Text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The page.
#[must_use]
pub fn html(run: &Run) -> String {
    let mut all: Vec<&Entry> = run
        .servers
        .iter()
        .filter(|e| !e.rounds.is_empty())
        .collect();
    if let Some(base) = best(&run.servers) {
        let cost = |entry: &Entry| ratio(entry, base).map_or(f64::INFINITY, |r| r.mean);
        all.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    }
    let name = escaped(&run.specification);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{name}: which model is best</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>{name}: which model is best</h1>\n<p class=\"answer\">{}</p>\n",
        escaped(&run.sentence)
    );
    let rounds = all
        .iter()
        .map(|entry| entry.rounds.len())
        .max()
        .unwrap_or(0);
    let options = match run.options.as_slice() {
        [] => String::new(),
        some => format!(", {}", escaped(&some.join(" "))),
    };
    let _ = writeln!(
        text,
        "<p class=\"note\">{} clients, {rounds} rounds, {} processors{options}; processor time counted by {}. \
         Every answer was compared with that of the server without sockets.</p>",
        run.clients,
        run.processors,
        escaped(&run.counted)
    );
    for cut in &run.cuts {
        let cut = escaped(&cut.to_string());
        let _ = writeln!(text, "<div class=\"note scroll\"><pre>{cut}</pre></div>");
    }
    text.push_str(&figures(&all, &run.servers));
    let harm = harm_table(&run.servers);
    if !harm.is_empty() {
        let _ = writeln!(
            text,
            "<h2>Slow and hostile clients</h2>\n<div class=\"scroll\"><pre>{}</pre></div>",
            escaped(&harm)
        );
    }
    let encryption = encryption_table(&run.servers);
    if !encryption.is_empty() {
        let _ = writeln!(
            text,
            "<h2>Encryption</h2>\n<div class=\"scroll\"><pre>{}</pre></div>",
            escaped(&encryption)
        );
    }
    key(&mut text, &all);
    let bar = |entry: &&Entry| {
        let costs = || entry.rounds.iter().map(|s| s.cost);
        Bar {
            name: entry.name.clone(),
            value: entry.median(|s| s.cost),
            range: (
                costs().fold(f64::INFINITY, f64::min),
                costs().fold(0.0, f64::max),
            ),
        }
    };
    let cost: Vec<Bar> = all.iter().map(bar).collect();
    figure(
        &mut text,
        "Cost of a request",
        bars("µs of processor time", &cost),
        "Processor time of all processes of the server for a request: the median of the rounds; the line \
         goes from the smallest to the largest.",
    );
    loads(&mut text, &all);
    let memory = all.iter().map(|entry| {
        let of = || entry.rounds.iter().map(|s| s.memory / 1024.0);
        Bar {
            name: entry.name.clone(),
            value: entry.median(|s| s.memory) / 1024.0,
            range: (of().fold(f64::INFINITY, f64::min), of().fold(0.0, f64::max)),
        }
    });
    figure(
        &mut text,
        "Memory of a connection",
        bars("KB", &memory.collect::<Vec<_>>()),
        "Memory of all processes of the server under load, less than without clients, for each client; shared \
         memory counts once.",
    );
    let _ = writeln!(
        text,
        "<h2>The same as text</h2>\n<div class=\"scroll\"><pre>{}</pre></div>\n</body>\n</html>",
        escaped(&table(&run.servers))
    );
    text
}

/// The table of figures.
fn figures(all: &[&Entry], every: &[Entry]) -> String {
    let mut text = String::from(
        "<div class=\"scroll\"><table>\n<tr><th>server</th><th>CPU µs</th><th>ratio</th><th>requests/s</th>\
         <th>p50</th><th>p99</th><th>p99.9</th><th>memory</th><th>fairness</th></tr>\n",
    );
    let base = best(every);
    for entry in all {
        let r = base.and_then(|base| ratio(entry, base));
        let ratio = r.map_or("-".to_owned(), |r| {
            format!("{:.2} ({:.2}–{:.2})", r.mean, r.least, r.most)
        });
        let rate = if entry.is_limited() {
            "-".to_owned()
        } else {
            format!("{:.0}", entry.median(|s| s.rate))
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{:.2}</td><td>{ratio}</td><td>{rate}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{:.1} KB</td><td>{:.2}</td></tr>",
            escaped(&entry.name),
            entry.median(|s| s.cost),
            micro(entry.median(|s| s.p50)),
            micro(entry.median(|s| s.p99)),
            micro(entry.median(|s| s.p999)),
            entry.median(|s| s.memory) / 1024.0,
            entry.median(|s| s.fairness),
        );
    }
    text.push_str(
        "</table></div>\n<p class=\"note\">Latencies are those of a closed loop. Ratio: cost beside the cheapest, \
         round by round; in parentheses the smallest and the largest. Fairness: 1 if all clients were answered \
         equally often. - : the driver was the limit.</p>\n",
    );
    text
}

fn key(text: &mut String, all: &[&Entry]) {
    text.push_str("<p class=\"key\">");
    for (n, entry) in all.iter().enumerate() {
        let _ = write!(
            text,
            "<span><i style=\"background:var(--s{})\"></i>{}</span>",
            n % 6,
            escaped(&entry.name)
        );
    }
    text.push_str("</p>\n");
}

fn figure(text: &mut String, title: &str, svg: Option<String>, caption: &str) {
    if let Some(svg) = svg {
        let _ = writeln!(
            text,
            "<h2>{title}</h2>\n<figure>{svg}<figcaption>{caption}</figcaption></figure>"
        );
    }
}

/// What was measured at constant rates.
fn loads(text: &mut String, all: &[&Entry]) {
    let over = |figure: &dyn Fn(&crate::compare::Loaded) -> f64, all_rates: bool| -> Vec<Line> {
        let line = |entry: &&Entry| Line {
            points: entry
                .loads
                .iter()
                .filter(|load| load.kept_up || (all_rates && !load.is_limited()))
                .map(|load| (load.asked, figure(load)))
                .collect(),
        };
        all.iter().map(line).collect()
    };
    let thousands = |x: f64| format!("{x:.0}");
    let time = |y: f64| micro(y);
    figure(
        text,
        "Throughput against load",
        lines(
            ("requests a second that were due", "answered a second"),
            &over(&|load| load.answered, true),
            false,
            &thousands,
            &thousands,
        ),
        "An open loop: requests are due at a constant rate, whether earlier ones are answered or not. Rates at \
         which the driver was late itself have no point.",
    );
    for (title, share) in [
        ("Latency against load: half of the requests", 0.5),
        ("Latency against load: 99 %", 0.99),
    ] {
        figure(
            text,
            title,
            lines(
                ("requests a second that were due", "latency"),
                &over(&|load| load.latency(share), false),
                true,
                &thousands,
                &time,
            ),
            "Latency counts from the time when a request was due. Rates at which a server does not keep up \
             have no point.",
        );
    }
    // The highest rate that all kept up with.
    let rates = all.first().map_or(0, |entry| entry.loads.len());
    let common = (0..rates).rev().find(|n| {
        all.iter()
            .all(|entry| entry.loads.get(*n).is_some_and(|load| load.kept_up))
    });
    if let Some(n) = common {
        let line = |entry: &&Entry| Line {
            // One request in so many is slower: each step to the right is ten times fewer.
            points: entry.loads[n]
                .latencies
                .iter()
                .map(|(share, time)| (-(1.0 - share).log10(), *time))
                .collect(),
        };
        let share = |x: f64| {
            format!(
                "{:.*} %",
                (x.round() as usize).saturating_sub(2),
                100.0 * (1.0 - 10f64.powf(-x))
            )
        };
        figure(
            text,
            "Distribution of latency",
            lines(
                ("part of the requests that were not slower", "latency"),
                &all.iter().map(line).collect::<Vec<_>>(),
                true,
                &share,
                &time,
            ),
            &format!(
                "At {:.0} requests a second, the highest rate with which all kept up.",
                all[0].loads[n].asked
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::html;
    use crate::compare::{Entry, Loaded, Run, Sample};

    fn run() -> Run {
        let entry = |name: &str, cost: f64| Entry {
            name: name.to_owned(),
            rounds: vec![
                Sample {
                    cost,
                    memory: 1024.0,
                    ..Sample::default()
                };
                3
            ],
            loads: (1..4)
                .map(|n| Loaded {
                    asked: f64::from(n) * 1000.0,
                    answered: f64::from(n) * 990.0,
                    kept_up: true,
                    latencies: vec![(0.5, 100.0 * cost), (0.99, 300.0), (0.999, 500.0)],
                    ..Loaded::default()
                })
                .collect(),
            ..Entry::default()
        };
        Run {
            specification: "a<b>.nest".to_owned(),
            clients: 4,
            servers: vec![entry("thread", 2.0), entry("event", 1.0)],
            sentence: "event: \"best\"".to_owned(),
            ..Run::default()
        }
    }

    #[test]
    fn the_page_needs_nothing_else_and_has_all_plots() {
        let page = html(&run());
        assert_eq!(page.matches("<svg ").count(), 6);
        assert!(page.contains("a&lt;b&gt;.nest") && page.contains("event: &quot;best&quot;"));
        assert!(
            page.find(">event<") < page.find(">thread<"),
            "the cheapest is first"
        );
        let foreign = ["http:", "https:", "src=", "href=", "@import", "url("];
        let own = page.replace("http://www.w3.org/2000/svg", "");
        assert!(foreign.iter().all(|text| !own.contains(text)));
        // The colours are those of the page.
        assert!(
            !page.contains("#0101") && page.contains("var(--ink)") && page.contains("var(--s1)")
        );
    }

    #[test]
    fn a_run_without_figures_has_a_page() {
        let page = html(&Run::default());
        assert!(!page.contains("<svg ") && page.ends_with("</html>\n"));
    }
}
