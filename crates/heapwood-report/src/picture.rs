//! Colours and fonts of all pictures, and their SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const FONT: &str = "Helvetica, Arial, sans-serif";
/// The colour of text and lines.
pub const INK: RGBColor = RGBColor(38, 38, 38);
/// The colour of the background grid.
pub const FAINT: RGBColor = RGBColor(225, 225, 225);

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// The result of drawing.
pub type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// A picture of the given width and height in pixels, as SVG.
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

/// The style of a text that is centred vertically.
pub fn text(size: u32, color: RGBColor, across: HPos) -> TextStyle<'static> {
    (FONT, size).into_font().color(&color).pos(Pos::new(across, VPos::Center))
}

/// The label of a number at an axis, as short as possible.
pub fn tick(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
