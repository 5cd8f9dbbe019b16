//! How the live view of `nest accelerate` looks.
//!
//! Must not know: where the counts come from, nor keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Gauge, Paragraph, Row, Table};

use crate::kernel::{Kernel, KernelRates};
use crate::numbers::{count, number, percent};
use crate::pieces::{ACCENT, draw_curve, draw_foot, draw_head, right};
use crate::plain::{kept, share, title};
use crate::state::State;

/// Draws all.
pub(crate) fn draw(frame: &mut Frame<'_>, app: &State, kernel: &Kernel) {
    let now = app.rates.kernel.clone().unwrap_or_default();
    let [head, gauge, files, curves, lines, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Length(if frame.area().height > 20 { 8 } else { 5 }),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_head(
        frame,
        app,
        head,
        "nest accelerate",
        format!("{} ", title(kernel)),
    );
    draw_share(frame, &now, gauge);
    let line = |what: &'static str, value| Line::from(vec![Span::from(what).dim(), value]);
    let text = vec![
        line(" kept         ", Span::from(kept(kernel))),
        line(" answers      ", Span::from(share(&now))),
    ];
    frame.render_widget(Paragraph::new(text), files);
    draw_curves(frame, app, &now, curves);
    draw_lines(frame, kernel, &now, lines);
    draw_foot(frame, None, foot);
}

fn draw_share(frame: &mut Frame<'_>, now: &KernelRates, area: Rect) {
    let share = now.share().unwrap_or(0.0);
    let gauge = Gauge::default()
        .ratio(share.clamp(0.0, 1.0))
        .label(format!("{} answered by the kernel", percent(share)))
        .gauge_style(Style::new().fg(Color::Green));
    frame.render_widget(gauge, area);
}

fn draw_curves(frame: &mut Frame<'_>, app: &State, now: &KernelRates, area: Rect) {
    let [left, right] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area);
    let (answers, passed): (Vec<_>, Vec<_>) = app
        .history
        .iter()
        .map(|moment| moment.kernel.unzip())
        .unzip();
    let title = format!(" {} answers/s by the kernel ", count(now.answers()));
    draw_curve(frame, left, title, &answers, 0.0, Color::Green);
    let title = format!(" {} answers/s by the server ", count(now.passed()));
    draw_curve(frame, right, title, &passed, 0.0, Color::Magenta);
}

fn draw_lines(frame: &mut Frame<'_>, kernel: &Kernel, now: &KernelRates, area: Rect) {
    let lines = kernel.lines(now).into_iter().map(|line| {
        let style = if line.rate > 0.0 {
            Style::new()
        } else {
            Style::new().dim()
        };
        Row::new([
            Cell::from(line.what),
            right(count(line.rate)),
            right(count(number(line.all))),
        ])
        .style(style)
    });
    let left = kernel.left.iter().map(|(reason, n)| {
        Row::new([
            Cell::from(format!("files left to the server: {reason}")),
            right(""),
            right(count(number(*n))),
        ])
        .style(Style::new().dim())
    });
    let head = Row::new([Cell::from(""), right("a second"), right("all")]);
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(10),
        Constraint::Length(10),
    ];
    let table = Table::new(lines.chain(left), widths).header(head.bold().fg(ACCENT));
    frame.render_widget(table, area);
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::exposition::Counts;
    use crate::sample::KERNEL;
    use crate::scrape::Address;
    use crate::state::State;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::{Duration, Instant};

    /// What a terminal of this size shows, a second after the first reading.
    fn shown(width: u16, height: u16) -> String {
        let address = Address::parse("127.0.0.1:9100").unwrap();
        let first = Counts::parse(KERNEL).unwrap();
        let mut app = State::new(&address, Duration::from_secs(1), first);
        let after = KERNEL.replace("answers_total 100", "answers_total 190");
        let after = after.replace("passed_total 20", "passed_total 30");
        let later = Instant::now() + Duration::from_secs(1);
        app.take(later, Ok(Counts::parse(&after).unwrap()));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let kernel = app.counts.kernel.clone().unwrap();
        terminal.draw(|frame| draw(frame, &app, &kernel)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn it_shows_who_answers_and_why() {
        let text = shown(100, 30);
        for part in [
            " nest accelerate ",
            "port 8080: the kernel answers 127.0.0.1:9100",
            "90 % answered by the kernel",
            "2 files, 2.05 KB of 8.39 MB",
            "answers/s by the server",
            "  field that may matter",
            "files left to the server: its file is too large",
            "190",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(!text.contains("sort"), "{text}");
    }

    #[test]
    fn every_size_is_drawn() {
        for (width, height) in [(1, 1), (3, 40), (200, 2), (20, 10), (80, 24), (300, 100)] {
            shown(width, height);
        }
    }
}
