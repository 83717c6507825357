//! Bar charts: a panel for each quantity, with a bar for each program whose length is the median, and a line from the
//! minimum to the maximum. Invariant: all panels have the same programs in the same order.

use crate::picture::{Area, Drawn, FAINT, INK, svg, text, tick};
use crate::spread::Spread;
use crate::tables::number;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

const OURS: RGBColor = RGBColor(34, 120, 74);
const THEIRS: RGBColor = RGBColor(158, 170, 184);

const WIDTH: u32 = 960;
const HEAD: u32 = 64;
const NAMES: u32 = 132;
const BAR: u32 = 26;
const AROUND_BARS: u32 = 70;
/// The share of a panel's width for the number beside the longest line.
const ROOM_FOR_NUMBERS: f64 = 0.38;

/// One quantity.
pub struct Panel<'a> {
    /// Its name and unit.
    pub label: String,
    /// From the top; all panels have the same number.
    pub bars: Vec<Bar<'a>>,
}

/// One program's value of a quantity.
pub struct Bar<'a> {
    /// The program.
    pub name: &'a str,
    /// The measured value.
    pub value: Spread,
    /// The ratio to the reference program; `None` for that program.
    pub ratio: Option<f64>,
    /// Whether it is one of the programs that the picture is about.
    pub ours: bool,
}

/// The picture as SVG, with a title and a line about its origin.
///
/// # Errors
/// It could not be drawn, and why.
pub fn draw(title: &str, how: &str, panels: &[Panel<'_>]) -> Result<String, String> {
    let rows = panels.len().div_ceil(2);
    let bars = panels.iter().map(|panel| panel.bars.len()).max().unwrap_or(0);
    let height = AROUND_BARS + BAR * bars as u32;
    svg((WIDTH, HEAD + height * rows as u32), |root| {
        let (head, body) = root.split_vertically(HEAD);
        head.draw(&Text::new(title, (14, 22), text(20, INK, HPos::Left)))?;
        head.draw(&Text::new(how, (14, 46), text(11, INK, HPos::Left)))?;
        panels.iter().zip(body.split_evenly((rows, 2))).try_for_each(|(panel, area)| draw_panel(panel, &area))
    })
}

fn draw_panel<'a>(panel: &Panel<'_>, area: &Area<'a>) -> Drawn<'a> {
    let count = panel.bars.len();
    let longest = panel.bars.iter().map(|bar| bar.value.max).fold(f64::MIN_POSITIVE, f64::max);
    let end = longest / (1.0 - ROOM_FOR_NUMBERS);
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(NAMES)
        .build_cartesian_2d(0.0..end, 0.0..count as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .y_labels(0)
        .x_labels(5)
        .x_label_formatter(&|value| tick(*value))
        .x_desc(&panel.label)
        .axis_desc_style(text(13, INK, HPos::Center))
        .x_label_style(text(11, INK, HPos::Center))
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .draw()?;
    for (k, bar) in panel.bars.iter().enumerate() {
        let middle = (count - k) as f64 - 0.5;
        let color = if bar.ours { OURS } else { THEIRS };
        let Spread { median, min, max } = bar.value;
        chart
            .plotting_area()
            .draw(&Rectangle::new([(0.0, middle - 0.34), (median, middle + 0.34)], color.filled()))?;
        let line = |points: [(f64, f64); 2]| PathElement::new(points.to_vec(), INK.stroke_width(1));
        chart.plotting_area().draw(&line([(min, middle), (max, middle)]))?;
        for end in [min, max] {
            chart.plotting_area().draw(&line([(end, middle - 0.14), (end, middle + 0.14)]))?;
        }
        let mut label = number(median);
        if let Some(ratio) = bar.ratio {
            label += &format!(" ({}x)", number(ratio));
        }
        let beside = EmptyElement::at((max, middle)) + Text::new(label, (7, 0), text(12, INK, HPos::Left));
        chart.plotting_area().draw(&beside)?;
        let name = Text::new(
            bar.name.to_string(),
            (-7, 0),
            text(12, if bar.ours { OURS } else { INK }, HPos::Right),
        );
        chart.plotting_area().draw(&(EmptyElement::at((0.0, middle)) + name))?;
    }
    Ok(())
}
