//! Pieces of the live views: the first and the last line, curves, cells.
//!
//! Must not know: which view they are part of.

use ratatui::Frame;
use ratatui::layout::{Alignment, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Cell, Sparkline};

use crate::numbers::{number, time};
use crate::state::State;

pub(crate) const ACCENT: Color = Color::Cyan;

/// The name, what is said about it, the address; at the right, whether the counts are new.
pub(crate) fn draw_head(frame: &mut Frame<'_>, app: &State, area: Rect, name: &str, about: String) {
    let left = Line::from(vec![
        Span::from(format!(" {name} ")).bold().reversed().fg(ACCENT),
        Span::from(" "),
        Span::from(about),
        Span::from(app.address.as_str()).dim(),
    ]);
    let right = match &app.trouble {
        Some(reason) => Line::from(format!("no answer: {reason} "))
            .bold()
            .fg(Color::Red),
        None if app.paused => Line::from("paused ").bold().fg(Color::Yellow),
        None => Line::from(format!("every {} ", time(Some(app.interval.as_secs_f64())))).dim(),
    };
    frame.render_widget(left, area);
    frame.render_widget(right.alignment(Alignment::Right), area);
}

/// The last moments that fit, from `least` to the greatest of them.
pub(crate) fn draw_curve(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    values: &[Option<f64>],
    least: f64,
    colour: Color,
) {
    let block = Block::bordered()
        .title(title)
        .border_style(Style::new().dim());
    let width = usize::from(block.inner(area).width);
    let values = &values[values.len().saturating_sub(width)..];
    let known = values.iter().flatten().copied().filter(|v| v.is_finite());
    let most = known.fold(f64::NEG_INFINITY, f64::max);
    let span = (most - least).max(f64::MIN_POSITIVE);
    let data = values.iter().map(|value| level(*value, least, span));
    let curve = Sparkline::default()
        .block(block)
        .data(data)
        .max(STEPS)
        .style(Style::new().fg(colour));
    frame.render_widget(curve, area);
}

const STEPS: u64 = 1000;

/// Nothing, or 1 to `STEPS`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is between 0 and STEPS"
)]
fn level(value: Option<f64>, least: f64, span: f64) -> u64 {
    match value {
        Some(v) if v.is_finite() => 1 + ((v - least) / span * (number(STEPS) - 1.0)) as u64,
        Some(_) => STEPS,
        None => 0,
    }
}

pub(crate) fn right(text: impl Into<String>) -> Cell<'static> {
    Cell::from(Line::from(text.into()).alignment(Alignment::Right))
}

/// The keys. `order`: that of the lines, if it can be changed.
pub(crate) fn draw_foot(frame: &mut Frame<'_>, order: Option<&str>, area: Rect) {
    let key = |text: &'static str| Span::from(text).bold().fg(ACCENT);
    let mut line = vec![key(" q"), Span::from(" leave  ")];
    if let Some(order) = order {
        line.extend([key("s"), Span::from(format!(" sort ({order})  "))]);
    }
    line.extend([
        key("space"),
        Span::from(" pause  "),
        key("+ -"),
        Span::from(" pace"),
    ]);
    frame.render_widget(Line::from(line), area);
}
