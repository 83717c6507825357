//! Line charts with logarithmic axes: rows of charts, with the same programs in the same colours in all, and their names
//! above. Invariant: values that are not positive are left out, since they have no logarithm.

use crate::picture::{Area, Drawn, FAINT, INK, svg, text, tick};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use std::ops::Range;

const OURS: [RGBColor; 2] = [RGBColor(34, 120, 74), RGBColor(122, 184, 92)];
const THEIRS: [RGBColor; 6] = [
    RGBColor(31, 111, 178),
    RGBColor(204, 102, 34),
    RGBColor(150, 80, 160),
    RGBColor(178, 44, 60),
    RGBColor(130, 130, 130),
    RGBColor(60, 160, 170),
];

const WIDTH: u32 = 1200;
const HEAD: u32 = 88;
const HEIGHT: u32 = 340;
const NAME: i32 = 150;

/// One quantity over another.
pub struct Chart {
    /// The quantity and its unit.
    pub label: String,
    /// What it is drawn over.
    pub x_label: String,
    /// All charts have the same series in the same order.
    pub series: Vec<Series>,
}

/// One program's values.
pub struct Series {
    /// The program.
    pub name: String,
    /// Whether it is one of the programs that the picture is about.
    pub ours: bool,
    /// The points of the line, from the left.
    pub points: Vec<(f64, f64)>,
    /// Single points, drawn as crosses.
    pub crosses: Vec<(f64, f64)>,
}

/// The picture as SVG, with a title and a line about its origin.
///
/// # Errors
/// It could not be drawn, and why.
pub fn draw(title: &str, how: &str, rows: &[Vec<Chart>]) -> Result<String, String> {
    svg((WIDTH, HEAD + HEIGHT * rows.len() as u32), |root| {
        let (head, body) = root.split_vertically(HEAD);
        head.draw(&Text::new(title, (14, 20), text(20, INK, HPos::Left)))?;
        head.draw(&Text::new(how, (14, 44), text(11, INK, HPos::Left)))?;
        if let Some(first) = rows.first().and_then(|row| row.first()) {
            for (k, (series, color)) in first.series.iter().zip(colors(&first.series)).enumerate() {
                let left = 14 + NAME * k as i32;
                head.draw(&PathElement::new(vec![(left, 70), (left + 20, 70)], color.stroke_width(3)))?;
                head.draw(&Text::new(series.name.clone(), (left + 26, 70), text(12, color, HPos::Left)))?;
            }
        }
        for (row, area) in rows.iter().zip(body.split_evenly((rows.len(), 1))) {
            row.iter()
                .zip(area.split_evenly((1, row.len())))
                .try_for_each(|(chart, area)| draw_chart(chart, &area))?;
        }
        Ok(())
    })
}

fn colors(series: &[Series]) -> Vec<RGBColor> {
    let (mut ours, mut theirs) = (OURS.iter().cycle(), THEIRS.iter().cycle());
    let each = series.iter().map(|series| if series.ours { ours.next() } else { theirs.next() });
    each.map(|color| *color.unwrap_or(&INK)).collect()
}

/// From below the least value to above the largest, in whole powers of two.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (least, most) =
        values.filter(|v| *v > 0.0).fold((f64::MAX, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
    match least <= most {
        true => (least / 1.2).log2().floor().exp2()..(most * 1.2).log2().ceil().exp2(),
        false => 1.0..2.0,
    }
}

fn draw_chart<'a>(chart: &Chart, area: &Area<'a>) -> Drawn<'a> {
    let all = || chart.series.iter().flat_map(|s| s.points.iter().chain(&s.crosses)).copied();
    let (across, up) = (range(all().map(|p| p.0)), range(all().map(|p| p.1)));
    // Labels are powers of the base: there must be some in a narrow range, and not too many in a wide one.
    let base = if up.end / up.start < 256.0 { 2.0 } else { 10.0 };
    let mut context = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(across.log_scale().base(2.0), up.log_scale().base(base))?;
    context
        .configure_mesh()
        .x_labels(6)
        .y_labels(8)
        .x_label_formatter(&|value| tick(*value))
        .y_label_formatter(&|value| tick(*value))
        .x_desc(&chart.x_label)
        .y_desc(&chart.label)
        .axis_desc_style(text(13, INK, HPos::Center))
        .label_style(text(11, INK, HPos::Center))
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .draw()?;
    let plot = context.plotting_area();
    for (series, color) in chart.series.iter().zip(colors(&chart.series)) {
        let shown = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
            points.iter().copied().filter(|(x, y)| *x > 0.0 && *y > 0.0).collect()
        };
        let points = shown(&series.points);
        plot.draw(&PathElement::new(points.clone(), color.stroke_width(if series.ours { 3 } else { 2 })))?;
        for point in points {
            plot.draw(&Circle::new(point, 3, color.filled()))?;
        }
        for point in shown(&series.crosses) {
            plot.draw(&Cross::new(point, 5, color.stroke_width(2)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_point_and_none_have_a_range() {
        assert_eq!(range([].into_iter()), 1.0..2.0);
        assert_eq!(range([0.0, 3.0].into_iter()), 2.0..4.0);
        let wide = range([0.3, 5000.0].into_iter());
        assert!(wide.start <= 0.25 && wide.end >= 6000.0, "{wide:?}");
    }

    #[test]
    fn every_series_is_named_and_values_without_logarithm_are_left_out() {
        let series = |name: &str, ours, y| Series {
            name: name.into(),
            ours,
            points: vec![(256.0, y), (512.0, 2.0)],
            crosses: vec![(256.0, 90.0)],
        };
        let chart = || Chart {
            label: "gap, us".into(),
            x_label: "live MiB".into(),
            series: vec![series("heapwood", true, 1.0), series("floor", false, 0.0)],
        };
        let svg = draw("title", "how", &[vec![chart(), chart()]]).unwrap();
        for word in ["title", "how", "heapwood", "floor", "gap, us", "live MiB"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}
