//! Draws rates over sizes as a picture.
//!
//! Must not know: where the rates come from.

use plotters::prelude::*;

use crate::cache_sim::size::bytes;

const WIDTH: u32 = 1100;
const HEIGHT: u32 = 480;

/// A policy and its rates, in per cent, one for each size.
pub struct Curve {
    pub name: &'static str,
    pub rates: Vec<f64>,
}

/// An SVG with a chart for each title.
pub fn svg(charts: &[(&str, Vec<Curve>)], sizes: &[u64]) -> Result<String, String> {
    let mut text = String::new();
    draw(&mut text, charts, sizes).map_err(|error| error.to_string())?;
    Ok(text)
}

fn draw(
    text: &mut String,
    charts: &[(&str, Vec<Curve>)],
    sizes: &[u64],
) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(text, (WIDTH, HEIGHT)).into_drawing_area();
    root.fill(&WHITE)?;
    for (area, (title, curves)) in root.split_evenly((1, charts.len())).iter().zip(charts) {
        chart(area, title, curves, sizes)?;
    }
    root.present()?;
    Ok(())
}

/// Sizes as a plot has them.
#[allow(clippy::cast_precision_loss, reason = "a place on paper")]
fn place(size: u64) -> f64 {
    (size as f64).log2()
}

fn chart(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    curves: &[Curve],
    sizes: &[u64],
) -> Result<(), Box<dyn std::error::Error>> {
    let (first, last) = (place(sizes[0]), place(sizes[sizes.len() - 1]));
    let last = if last > first { last } else { first + 1.0 };
    let most = curves
        .iter()
        .flat_map(|c| &c.rates)
        .copied()
        .fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(title, ("sans-serif", 18))
        .x_label_area_size(40)
        .y_label_area_size(52)
        .build_cartesian_2d(first..last, 0.0..(most * 1.05).min(100.0))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("size of the cache")
        .y_desc("%")
        .x_label_formatter(&|x| bytes(x.exp2()))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .draw()?;
    for (index, curve) in curves.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        let points = || {
            sizes
                .iter()
                .map(|s| place(*s))
                .zip(curve.rates.iter().copied())
        };
        chart
            .draw_series(LineSeries::new(points(), colour.stroke_width(2)))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
        chart.draw_series(points().map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 13))
        .draw()?;
    Ok(())
}
