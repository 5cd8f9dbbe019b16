//! How the live view looks.
//!
//! Must not know: where the counts come from, nor keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Gauge, Paragraph, Row, Table};

use crate::numbers::{bytes, count, number, percent, time};
use crate::panel;
use crate::pieces::{ACCENT, draw_curve, draw_foot, draw_head, right};
use crate::plain::{age, reasons};
use crate::rates::RuleRates;
use crate::state::{Order, State};

/// Lines for filters, with their head and an empty one.
const FILTERS: u16 = 10;

/// Draws all.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &State) {
    if let Some(kernel) = &app.counts.kernel {
        return panel::draw(frame, app, kernel);
    }
    let few = frame.area().height < 20;
    let [head, clients, ends, curves, filters, rules, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(if frame.area().height > 20 { 8 } else { 5 }),
        Constraint::Max(match app.counts.filters.len() {
            0 => 0,
            _ if few => 0,
            n => u16::try_from(n + 2).unwrap_or(u16::MAX).min(FILTERS),
        }),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let counts = &app.counts;
    let plural = if counts.workers == 1 { "" } else { "s" };
    let about = format!(
        "{} server, {} worker{plural} ",
        counts.model, counts.workers
    );
    draw_head(frame, app, head, &counts.name, about);
    draw_clients(frame, app, clients);
    draw_ends(frame, app, ends);
    draw_curves(frame, app, curves);
    draw_filters(frame, app, filters);
    draw_rules(frame, app, rules);
    let order = match app.order {
        Order::Written => "as written",
        Order::Messages => "by messages",
        Order::Busy => "by time",
        Order::Mean => "by mean",
    };
    draw_foot(frame, Some(order), foot);
}

fn draw_clients(frame: &mut Frame<'_>, app: &State, area: Rect) {
    let counts = &app.counts;
    let ratio = number(counts.open) / number(counts.limit.max(1));
    let colour = match ratio {
        r if r >= 0.95 => Color::Red,
        r if r >= 0.8 => Color::Yellow,
        _ => Color::Green,
    };
    let gauge = Gauge::default()
        .ratio(ratio.clamp(0.0, 1.0))
        .label(format!("{} of {} clients", counts.open, counts.limit))
        .gauge_style(Style::new().fg(colour));
    frame.render_widget(gauge, area);
}

fn pair<'a>(value: String, what: &'a str) -> [Span<'a>; 2] {
    [Span::from(value).bold(), Span::from(what)]
}

fn draw_ends(frame: &mut Frame<'_>, app: &State, area: Rect) {
    let (counts, rates) = (&app.counts, &app.rates);
    let mut connections = vec![Span::from(" connections  ").dim()];
    connections.extend(pair(count(rates.opened), "/s opened  "));
    connections.extend(pair(count(rates.ended), "/s ended  "));
    let reasons = counts.ended.iter().filter(|(_, n)| *n > 0);
    for (reason, n) in reasons {
        connections.push(Span::from(format!("{reason} {}  ", count(number(*n)))).dim());
    }
    let mut bodies = vec![Span::from(" bytes        ").dim()];
    bodies.extend(pair(bytes(rates.received), "/s received  "));
    bodies.extend(pair(bytes(rates.replied), "/s replied  "));
    bodies.extend(pair(counts.waiting.to_string(), " actions wait"));
    let text = vec![Line::from(connections), Line::from(bodies)];
    frame.render_widget(Paragraph::new(text), area);
}

fn draw_curves(frame: &mut Frame<'_>, app: &State, area: Rect) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let rates = &app.rates;
    let messages: Vec<Option<f64>> = app.history.iter().map(|m| Some(m.messages)).collect();
    let title = format!(" {} messages/s ", count(rates.messages));
    draw_curve(frame, left, title, &messages, 0.0, Color::Green);
    let title = format!(
        " actions: 50 % {}, 99 % {} ",
        time(rates.p50),
        time(rates.p99)
    );
    // Times differ by powers: the curve is of their logarithms, from half of the least.
    let slow: Vec<Option<f64>> = app.history.iter().map(|m| m.p99.map(f64::log2)).collect();
    let least = slow.iter().flatten().copied().fold(f64::INFINITY, f64::min) - 1.0;
    draw_curve(frame, right, title, &slow, least, Color::Magenta);
}

fn draw_rules(frame: &mut Frame<'_>, app: &State, area: Rect) {
    let mut rules: Vec<(usize, &RuleRates)> = app.rates.rules.iter().enumerate().collect();
    let key = |rule: &RuleRates| match app.order {
        Order::Written => 0.0,
        Order::Messages => rule.messages,
        Order::Busy => rule.busy,
        Order::Mean => rule.mean.unwrap_or(0.0),
    };
    rules.sort_by(|(_, a), (_, b)| key(b).total_cmp(&key(a)));
    let all = app.rates.messages.max(f64::MIN_POSITIVE);
    let rows = rules.into_iter().map(|(i, rule)| {
        let share = rule.messages / all;
        let total = app.counts.rules.get(i).map_or(0, |r| r.messages);
        let style = if rule.messages > 0.0 {
            Style::new()
        } else {
            Style::new().dim()
        };
        Row::new([
            Cell::from(rule.name.clone()),
            right(count(rule.messages)),
            Cell::from(bar(share)).fg(ACCENT),
            right(bytes(rule.bytes)),
            right(time(rule.mean)),
            right(percent(rule.busy)),
            right(count(number(total))),
        ])
        .style(style)
    });
    let head = Row::new([
        Cell::from("rule"),
        right("messages/s"),
        Cell::from("share"),
        right("bytes/s"),
        right("mean"),
        right("busy"),
        right("all"),
    ]);
    let widths = [
        Constraint::Fill(2),
        Constraint::Length(10),
        Constraint::Length(BAR),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(6),
        Constraint::Length(7),
    ];
    let table = Table::new(rows, widths).header(head.bold().fg(ACCENT));
    frame.render_widget(table, area);
}

fn draw_filters(frame: &mut Frame<'_>, app: &State, area: Rect) {
    let rows = app.counts.filters.iter().enumerate().map(|(i, filter)| {
        let now = app.rates.filters.get(i).cloned().unwrap_or_default();
        Row::new([
            Cell::from(filter.name.clone()),
            right(count(now.accepted)),
            right(count(now.passed)),
            right(count(now.refused)),
            right(filter.held.to_string()),
            right(age(filter)),
            Cell::from(reasons(filter)).dim(),
        ])
    });
    let head = Row::new([
        Cell::from("filter"),
        right("accepted/s"),
        right("passed/s"),
        right("refused/s"),
        right("held"),
        right("oldest"),
        Cell::from("  refused"),
    ]);
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(10),
        Constraint::Length(9),
        Constraint::Length(9),
        Constraint::Length(7),
        Constraint::Length(9),
        Constraint::Fill(2),
    ];
    let table = Table::new(rows, widths).header(head.bold().fg(ACCENT));
    frame.render_widget(table, area);
}

const BAR: u16 = 10;

/// A share as a bar of `BAR` columns, to an eighth of a column.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the share is between 0 and 1"
)]
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * f64::from(BAR) * 8.0).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::exposition::Counts;
    use crate::sample::TEXT;
    use crate::scrape::Address;
    use crate::state::{Order, State};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::{Duration, Instant};

    /// What a terminal of this size shows, a second after the first reading.
    fn shown(width: u16, height: u16, change: impl Fn(&mut State)) -> String {
        let address = Address::parse("127.0.0.1:9100").unwrap();
        let mut app = State::new(
            &address,
            Duration::from_secs(1),
            Counts::parse(TEXT).unwrap(),
        );
        let mut after = app.counts.clone();
        after.opened += 10;
        after.rules[0].messages += 100;
        after.messages.count += 100;
        for bucket in &mut after.messages.buckets {
            bucket.1 += 100;
        }
        app.take(Instant::now() + Duration::from_secs(1), Ok(after));
        change(&mut app);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &app)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn it_shows_what_the_server_does() {
        let text = shown(100, 30, |_| {});
        for part in [
            " web ",
            "event server, 2 workers",
            "127.0.0.1:9100",
            "3 of 1000 clients",
            "messages/s",
            "99 % 1.00 µs ",
            "closed 6",
            "get",
            "line 9",
            "as written",
            "oldest",
            "request",
            "1.25 s   malformed 2",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn it_says_when_the_server_does_not_answer() {
        let text = shown(100, 30, |app| {
            app.trouble = Some("connection refused".to_string())
        });
        assert!(text.contains("no answer: connection refused"), "{text}");
    }

    #[test]
    fn every_size_and_order_is_drawn() {
        for (width, height) in [(1, 1), (3, 40), (200, 2), (20, 10), (80, 24), (300, 100)] {
            for order in [Order::Written, Order::Messages, Order::Busy, Order::Mean] {
                shown(width, height, |app| app.order = order);
            }
        }
    }
}
