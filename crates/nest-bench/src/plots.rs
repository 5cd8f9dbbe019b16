//! The plots of a report, as SVG whose colours follow the page.
//!
//! Must not know: the rest of the page.

use std::error::Error;

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

/// The size of a plot.
const SIZE: (u32, u32) = (720, 320);
/// Colours that are replaced by those of the page.
const INK: RGBColor = RGBColor(1, 1, 1);
const GRID: RGBColor = RGBColor(2, 2, 2);
/// So many lines have colours of their own; further ones begin again.
const SERIES: u8 = 6;

/// Points of one server.
pub struct Line {
    /// The points, by their x.
    pub points: Vec<(f64, f64)>,
}

/// Bars with the range of the rounds.
pub struct Bar {
    /// The server.
    pub name: String,
    /// The length of the bar.
    pub value: f64,
    /// The smallest and the largest.
    pub range: (f64, f64),
}

fn series(n: usize) -> RGBColor {
    let n = u8::try_from(n % usize::from(SERIES)).unwrap_or(0);
    RGBColor(3, 3, n)
}

/// The SVG with colours as variables of the page.
fn with_colours(svg: &str) -> String {
    let mut text = svg
        .replace("#010101", "var(--ink)")
        .replace("#020202", "var(--grid)");
    for n in 0..SERIES {
        text = text.replace(&format!("#0303{n:02}"), &format!("var(--s{n})"));
    }
    // The page gives the width.
    text.replacen("<svg ", "<svg role=\"img\" ", 1)
}

/// Lines over x. `log`: y grows by factors.
pub fn lines(
    title: (&str, &str),
    all: &[Line],
    log: bool,
    x_label: &dyn Fn(f64) -> String,
    y_label: &dyn Fn(f64) -> String,
) -> Option<String> {
    let points = || all.iter().flat_map(|line| line.points.iter());
    let finite = points().all(|(x, y)| x.is_finite() && y.is_finite());
    if points().count() < 2 || !finite {
        return None;
    }
    let least = |f: fn(&(f64, f64)) -> f64| points().map(f).fold(f64::INFINITY, f64::min);
    let most = |f: fn(&(f64, f64)) -> f64| points().map(f).fold(0.0, f64::max);
    let (left, right) = (least(|p| p.0), most(|p| p.0));
    let (low, high) = (least(|p| p.1).max(1e-3), most(|p| p.1).max(2e-3));
    let right = if right > left { right } else { left + 1.0 };
    let mut svg = String::new();
    let drawn = if log {
        let y = (low / 1.5..high * 1.5).log_scale();
        drawn(&mut svg, title, all, (left, right), y, x_label, y_label)
    } else {
        drawn(
            &mut svg,
            title,
            all,
            (left, right),
            0.0..high * 1.1,
            x_label,
            y_label,
        )
    };
    drawn.ok().map(|()| with_colours(&svg))
}

fn drawn<Y>(
    svg: &mut String,
    title: (&str, &str),
    all: &[Line],
    x: (f64, f64),
    y: Y,
    x_label: &dyn Fn(f64) -> String,
    y_label: &dyn Fn(f64) -> String,
) -> Result<(), Box<dyn Error>>
where
    Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64> + Ranged<ValueType = f64>,
{
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .margin_right(36)
        .x_label_area_size(42)
        .y_label_area_size(72)
        .build_cartesian_2d(x.0..x.1, y)?;
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 13, &INK))
        .x_desc(title.0)
        .y_desc(title.1)
        .x_labels(7)
        .y_labels(6)
        .x_label_formatter(&|x| x_label(*x))
        .y_label_formatter(&|y| y_label(*y))
        .draw()?;
    for (n, line) in all.iter().enumerate() {
        let colour = series(n);
        chart.draw_series(LineSeries::new(
            line.points.iter().copied(),
            colour.stroke_width(2),
        ))?;
        chart.draw_series(
            line.points
                .iter()
                .map(|point| Circle::new(*point, 3, colour.filled())),
        )?;
    }
    area.present()?;
    Ok(())
}

/// Bars beside each other, from 0.
pub fn bars(label: &str, all: &[Bar]) -> Option<String> {
    let high = all
        .iter()
        .map(|bar| bar.range.1.max(bar.value))
        .fold(0.0, f64::max);
    if all.is_empty() || !high.is_finite() || high <= 0.0 {
        return None;
    }
    let mut svg = String::new();
    let drawn = bars_drawn(&mut svg, label, all, high);
    drawn.ok().map(|()| with_colours(&svg))
}

fn bars_drawn(svg: &mut String, label: &str, all: &[Bar], high: f64) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    let count = all.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin(8)
        .margin_right(36)
        .x_label_area_size(42)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..count, 0.0..high * 1.1)?;
    let name = |x: &f64| {
        let middle = x.fract() > 0.4 && x.fract() < 0.6;
        let found = all.get(x.floor().max(0.0) as usize).filter(|_| middle);
        found.map_or(String::new(), |bar| bar.name.clone())
    };
    chart
        .configure_mesh()
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .disable_x_mesh()
        .label_style(("sans-serif", 13, &INK))
        .y_desc(label)
        .x_labels(all.len() * 2 + 1)
        .y_labels(6)
        .x_label_formatter(&name)
        .draw()?;
    for (n, bar) in all.iter().enumerate() {
        let (left, right) = (n as f64 + 0.2, n as f64 + 0.8);
        let middle = n as f64 + 0.5;
        chart.draw_series([Rectangle::new(
            [(left, 0.0), (right, bar.value)],
            series(n).filled(),
        )])?;
        chart.draw_series([PathElement::new(
            vec![(middle, bar.range.0), (middle, bar.range.1)],
            INK.stroke_width(2),
        )])?;
    }
    area.present()?;
    Ok(())
}
