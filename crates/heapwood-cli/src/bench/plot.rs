//! What was measured, for readers: a picture with a panel for each quantity, and in it a bar for each program, as
//! long as the median, with a line from the least to the most. All panels have the programs in one order, that of
//! the first.

use super::programs::{EQUAL_RSS, HEAPWOOD};
use super::report::{Report, Row};
use heapwood_report::Spread;
use heapwood_report::picture::{Area, Drawn, FAINT, INK, svg, text, tick};
use heapwood_report::tables::number;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

const OURS: RGBColor = RGBColor(34, 120, 74);
const THEIRS: RGBColor = RGBColor(158, 170, 184);

const WIDTH: u32 = 960;
const HEAD: u32 = 64;
const NAMES: u32 = 132;
const BAR: u32 = 26;
const AROUND_BARS: u32 = 70;
/// The share of a panel that the longest line leaves to the number beside it.
const ROOM_FOR_NUMBERS: f64 = 0.38;

/// A quantity to be shown.
struct Panel<'a> {
    label: String,
    bars: Vec<Bar<'a>>,
}

struct Bar<'a> {
    name: &'a str,
    value: Spread,
    ratio: Spread,
}

/// The picture, as SVG.
pub(crate) fn draw(report: &Report) -> Result<String, String> {
    let panels = panels(report);
    let rows = panels.len().div_ceil(2);
    let height = AROUND_BARS + BAR * report.results.len() as u32;
    svg((WIDTH, HEAD + height * rows as u32), |root| {
        let (head, body) = root.split_vertically(HEAD);
        title(&head, report)?;
        panels.iter().zip(body.split_evenly((rows, 2))).try_for_each(|(panel, area)| draw_panel(panel, &area))
    })
}

fn panels(report: &Report) -> Vec<Panel<'_>> {
    let headlines: Vec<_> = report.workload.figures.iter().filter(|f| f.headline).collect();
    let main = |row: &Row| headlines.first().map_or(row.cpu_s, |f| row.figures[f.name].spread).median;
    let mut order: Vec<&Row> = report.results.iter().collect();
    order.sort_by(|a, b| main(a).total_cmp(&main(b)));

    let panel = |label: &str, of: &dyn Fn(&Row) -> (Spread, Spread)| {
        let mut bars = Vec::new();
        for &row in &order {
            let (value, ratio) = of(row);
            bars.push(Bar { name: &row.name, value, ratio });
        }
        Panel { label: label.to_string(), bars }
    };
    let mut panels: Vec<Panel<'_>> = headlines
        .iter()
        .map(|f| panel(f.label, &|row| (row.figures[f.name].spread, row.figures[f.name].ratio)))
        .collect();
    if panels.is_empty() {
        panels.push(panel("CPU seconds, user and system", &|row| (row.cpu_s, row.ratio_cpu)));
    }
    panels.push(panel("max RSS, MiB", &|row| (row.max_rss_bytes.over((1 << 20) as f64), row.ratio_rss)));
    panels
}

fn title<'a>(area: &Area<'a>, report: &Report) -> Drawn<'a> {
    let title = format!("heapwood bench {} {}", report.workload.name, report.n);
    area.draw(&Text::new(title, (14, 22), text(20, INK, HPos::Left)))?;
    let how = format!(
        "shorter is better; bars: median of {} runs in turn; lines: least to most; x: over heapwood's; {}, {}",
        report.header.runs,
        report.header.day(),
        report.header.machine
    );
    area.draw(&Text::new(how, (14, 46), text(11, INK, HPos::Left)))
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
        let ours = [HEAPWOOD, EQUAL_RSS].contains(&bar.name);
        let color = if ours { OURS } else { THEIRS };
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
        if bar.name != HEAPWOOD {
            label += &format!(" ({}x)", number(bar.ratio.median));
        }
        let beside = EmptyElement::at((max, middle)) + Text::new(label, (7, 0), text(12, INK, HPos::Left));
        chart.plotting_area().draw(&beside)?;
        let name =
            Text::new(bar.name.to_string(), (-7, 0), text(12, if ours { OURS } else { INK }, HPos::Right));
        chart.plotting_area().draw(&(EmptyElement::at((0.0, middle)) + name))?;
    }
    Ok(())
}
