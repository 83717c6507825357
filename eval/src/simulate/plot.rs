//! The picture of the simulations. Each sample has a panel with a line for each policy: the share of free memory
//! released, over CPU time, on the idle heap. The last panel has a line for each sample: the pages that caches add.

use super::report::{Report, SampleReport};
use heapwood_report::picture::{Area, Drawn, FAINT, INK, svg, text, tick};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

const WIDTH: u32 = 960;
const HEAD: u32 = 62;
const PANEL: u32 = 330;
const LEGEND: i32 = 18;
/// The most points of a line; more make jagged edges.
const DOTS: f64 = 120.0;

/// Colours that people with colour blindness can tell apart.
const COLORS: [RGBColor; 8] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(204, 121, 167),
    RGBColor(34, 120, 74),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(38, 38, 38),
    RGBColor(150, 150, 150),
];

/// The picture, as SVG.
pub(crate) fn draw(report: &Report) -> Result<String, String> {
    let rows = (report.samples.len() + 1).div_ceil(2) as u32;
    svg((WIDTH, HEAD + PANEL * rows), |root| {
        let (head, body) = root.split_vertically(HEAD);
        title(&head)?;
        let areas = body.split_evenly((rows as usize, 2));
        for (sample, area) in report.samples.iter().zip(&areas) {
            draw_releases(sample, area)?;
        }
        draw_caches(&report.samples, &areas[report.samples.len()])
    })
}

fn title<'a>(area: &Area<'a>) -> Drawn<'a> {
    area.draw(&Text::new("heapwood-eval simulate", (14, 22), text(20, INK, HPos::Left)))?;
    let how = "simulated time; huge pages split: in brackets";
    area.draw(&Text::new(how, (14, 46), text(11, INK, HPos::Left)))
}

/// A line with its name.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
    color: RGBColor,
    width: u32,
}

/// The frame of a panel.
struct Panel<'a> {
    title: &'a str,
    across: &'a str,
    up: &'a str,
    /// The format of a value on the x axis.
    at: &'a dyn Fn(f64) -> String,
    ends: (f64, f64),
    /// The range of the y axis.
    range: (f64, f64),
    labels: usize,
    /// Whether the points themselves are shown.
    dots: bool,
    /// The legend's upper left corner, as shares of the panel.
    legend: (f64, f64),
}

fn draw_releases<'a>(sample: &SampleReport, area: &Area<'a>) -> Drawn<'a> {
    let end = sample.releases.iter().map(|outcome| outcome.all_ms).fold(0.0, f64::max);
    let lines: Vec<Line> = sample
        .releases
        .iter()
        .enumerate()
        .map(|(k, outcome)| Line {
            name: format!("{} ({})", outcome.policy.name(), outcome.split_huge_pages),
            points: apart(outcome.curve.iter().map(|&(ms, share)| (ms, share * 100.0)), end / DOTS),
            color: COLORS[k],
            // Lines over one another show as edges.
            width: 8 - 2 * k.min(3) as u32,
        })
        .collect();
    let panel = Panel {
        title: &sample.source.title(),
        across: "ms of simulated CPU",
        up: "% of free memory released",
        at: &tick,
        ends: (0.0, if end > 0.0 { end } else { 1.0 }),
        range: (0.0, 104.0),
        labels: 6,
        dots: false,
        legend: (0.42, 0.66),
    };
    panel.draw(&lines, area)?;
    if lines.is_empty() {
        let (width, height) = area.dim_in_pixel();
        let nothing = "nothing to release";
        area.draw(&Text::new(nothing, (width as i32 / 2, height as i32 / 2), text(13, INK, HPos::Center)))?;
    }
    Ok(())
}

/// The first point, points at least `gap` right of the one before, and the last.
fn apart(points: impl Iterator<Item = (f64, f64)>, least: f64) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut left_out = None;
    for point in points {
        left_out = Some(point);
        if kept.last().is_none_or(|last| point.0 - last.0 >= least) {
            kept.push(point);
            left_out = None;
        }
    }
    kept.extend(left_out);
    kept
}

fn draw_caches<'a>(samples: &[SampleReport], area: &Area<'a>) -> Drawn<'a> {
    let lines: Vec<Line> = samples
        .iter()
        .zip(COLORS.iter().cycle())
        .map(|(sample, &color)| {
            let mut rows: Vec<_> = sample.caches.iter().collect();
            rows.sort_by_key(|row| row.mutators);
            Line {
                name: format!("{} ({} pages)", sample.source.title(), sample.source.pages),
                points: rows.iter().map(|row| ((row.mutators as f64).log2(), row.added_percent)).collect(),
                color,
                width: 2,
            }
        })
        .collect();
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let most = points().map(|point| point.1).fold(1.0, f64::max);
    let least = points().map(|point| point.1).fold(0.0, f64::min);
    let end = points().map(|point| point.0).fold(1.0, f64::max);
    let panel = Panel {
        title: "footprint that caches add",
        across: "mutators with a cache each",
        up: "% added",
        at: &|log| if log.fract() == 0.0 { format!("{:.0}", log.exp2()) } else { String::new() },
        ends: (0.0, end),
        range: (least * 1.05, most * 1.05),
        labels: end.ceil() as usize + 1,
        dots: true,
        legend: (0.04, 0.05),
    };
    panel.draw(&lines, area)
}

impl Panel<'_> {
    fn draw<'a>(&self, lines: &[Line], area: &Area<'a>) -> Drawn<'a> {
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(24)
            .caption(self.title, text(14, INK, HPos::Center))
            .x_label_area_size(42)
            .y_label_area_size(52)
            .build_cartesian_2d(self.ends.0..self.ends.1, self.range.0..self.range.1)?;
        chart
            .configure_mesh()
            .x_labels(self.labels)
            .y_labels(6)
            .x_label_formatter(&|value| (self.at)(*value))
            .y_label_formatter(&|value| tick(*value))
            .x_desc(self.across)
            .y_desc(self.up)
            .axis_desc_style(text(12, INK, HPos::Center))
            .label_style(text(11, INK, HPos::Center))
            .light_line_style(WHITE)
            .bold_line_style(FAINT)
            .axis_style(INK)
            .draw()?;
        for line in lines {
            let path = PathElement::new(line.points.clone(), line.color.stroke_width(line.width));
            chart.plotting_area().draw(&path)?;
            for &point in line.points.iter().filter(|_| self.dots) {
                chart.plotting_area().draw(&Circle::new(point, 3, line.color.filled()))?;
            }
        }
        let plotting = chart.plotting_area().strip_coord_spec();
        let (width, height) = plotting.dim_in_pixel();
        let left = (f64::from(width) * self.legend.0) as i32;
        let top = (f64::from(height) * self.legend.1) as i32;
        for (k, line) in lines.iter().enumerate() {
            let middle = top + k as i32 * LEGEND;
            let sample = vec![(left, middle), (left + 22, middle)];
            plotting.draw(&PathElement::new(sample, line.color.stroke_width(line.width)))?;
            let name = Text::new(line.name.clone(), (left + 30, middle), text(12, INK, HPos::Left));
            plotting.draw(&name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_points_of_a_line_are_kept() {
        let points = |at: &[f64]| at.iter().map(|&x| (x, 2.0 * x)).collect::<Vec<_>>();
        let kept = apart(points(&[0.0, 0.2, 1.0, 1.1, 1.9, 2.0, 2.5]).into_iter(), 1.0);
        assert_eq!(kept, points(&[0.0, 1.0, 2.0, 2.5]));
        assert_eq!(apart(points(&[0.0]).into_iter(), 0.0), points(&[0.0]));
    }
}
