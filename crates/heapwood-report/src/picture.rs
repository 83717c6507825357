//! What the pictures have in common: their colours and letters, and how one becomes SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const FONT: &str = "Helvetica, Arial, sans-serif";
/// The colour of letters and lines.
pub const INK: RGBColor = RGBColor(38, 38, 38);
/// That of what lies behind them.
pub const FAINT: RGBColor = RGBColor(225, 225, 225);

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// Whether something could be drawn.
pub type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// A picture of some width and height in pixels, as SVG.
///
/// # Errors
/// It could not be drawn, and why.
pub fn svg(
    size: (u32, u32),
    draw: impl for<'a, 'b> FnOnce(&'b Area<'a>) -> Drawn<'a>,
) -> Result<String, String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)
            .and_then(|()| draw(&root))
            .and_then(|()| root.present())
            .map_err(|e| e.to_string())?;
    }
    Ok(svg)
}

/// How a text is drawn whose middle is at the height that is given.
pub fn text(size: u32, color: RGBColor, across: HPos) -> TextStyle<'static> {
    (FONT, size).into_font().color(&color).pos(Pos::new(across, VPos::Center))
}

/// A number at the axis, as short as it is exact.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
