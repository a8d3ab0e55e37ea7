//! Draws charts, as SVG for pages and as PNG for slides.
//!
//! Colours are those of Okabe and Ito, which people with any colour vision tell apart; the paper's values
//! have the colour of ours and no filling. Text is measured before it is placed, so that no two labels meet.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, register_font};

use crate::chart::{Chart, Dot, FigureKind, Series};

/// Okabe and Ito's colours, those with the most contrast on white first.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(213, 94, 0),
    RGBColor(86, 180, 233),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(240, 228, 66),
];

const FONT: &str = "sans-serif";
/// The size of text in pixels, and that of titles.
const TEXT: u32 = 17;
const TITLE: u32 = 21;
/// Between things, in pixels.
const GAP: i32 = 8;
/// Side of the square that shows a colour.
const SWATCH: i32 = 12;

type Area<'a, B> = DrawingArea<B, Shift>;
type Failure<B> = DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>;
type Axes<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The font in which text is measured, and drawn in PNG.
fn prepare_font() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let font = register_font(FONT, FontStyle::Normal, dejavu::sans::regular());
        assert!(font.is_ok(), "the font that comes with the program is one");
    });
}

/// A chart as SVG of this size.
pub fn svg(chart: &Chart, size: (u32, u32)) -> String {
    prepare_font();
    let mut text = String::new();
    let drawn = draw(chart, &SVGBackend::with_string(&mut text, size).into_drawing_area());
    assert!(drawn.is_ok(), "drawing into memory cannot fail: {drawn:?}");
    text
}

/// A chart as PNG of this size.
///
/// # Errors
/// If the file cannot be written.
pub fn png(chart: &Chart, path: &Path, size: (u32, u32)) -> Result<(), String> {
    prepare_font();
    let (width, height) = size;
    let mut pixels = vec![0; 3 * width as usize * height as usize];
    let drawn = draw(chart, &BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area());
    drawn.map_err(|error| error.to_string())?;
    write_png(path, size, &pixels).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes pixels of red, green and blue.
fn write_png(path: &Path, (width, height): (u32, u32), pixels: &[u8]) -> Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()
}

fn size_of<B: DrawingBackend>(area: &Area<'_, B>, text: &str) -> (i32, i32) {
    let (width, height) =
        area.estimate_text_size(text, &style(TEXT)).unwrap_or((8 * text.len() as u32, TEXT));
    (width as i32, height as i32)
}

fn style(size: u32) -> TextStyle<'static> {
    (FONT, size).into_font().color(&BLACK)
}

fn draw<B: DrawingBackend>(chart: &Chart, area: &Area<'_, B>) -> Result<(), Failure<B>> {
    let chart = &chart.readable();
    area.fill(&WHITE)?;
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let mut top = GAP;
    for line in wrapped(area, &chart.title, width - 2 * GAP) {
        area.draw_text(&line, &style(TITLE), (GAP, top))?;
        top += TITLE as i32 + 4;
    }
    top = legend(chart, area, top + GAP / 2, width)?;
    let (x, y) = (x_range(chart), y_range(chart));
    let tick = |value: &f64| tick(*value);
    let labels = y_labels(&y);
    let label_width = labels.iter().map(|label| size_of(area, label).0).max().unwrap_or(0);
    let left = label_width + 2 * GAP + TEXT as i32;
    let per_category = f64::from(width - left - 3 * GAP) / chart.categories.len().max(1) as f64;
    let widest = chart.categories.iter().map(|label| size_of(area, label).0).max().unwrap_or(0);
    let upright = f64::from(widest + GAP) > per_category;
    let names = if upright { widest } else { TEXT as i32 };
    let below =
        if chart.categories.is_empty() { 3 * TEXT as i32 + GAP } else { names + TEXT as i32 + 4 * GAP };
    let plot = area.margin(top, GAP, GAP, 2 * GAP);
    let mut axes = ChartBuilder::on(&plot)
        .x_label_area_size(below)
        .y_label_area_size(left)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let mut mesh = axes.configure_mesh();
    mesh.disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(220, 220, 220))
        .axis_style(RGBColor(90, 90, 90))
        .label_style(style(TEXT))
        .y_label_formatter(&tick)
        .y_labels(9)
        .y_desc(&chart.y_title);
    let points = tick_points(chart);
    if chart.categories.is_empty() && points.is_none() {
        let count = ((width - left) / 100).clamp(2, 10);
        mesh.x_label_formatter(&tick).x_labels(count as usize).x_desc(&chart.x_title);
    } else {
        mesh.x_labels(0);
    }
    mesh.draw()?;
    if !chart.categories.is_empty() {
        categories(chart, &axes, area, upright, height)?;
    } else if let Some(points) = points {
        ticks_at(&points, chart, &axes, area, height)?;
    }
    match chart.kind {
        FigureKind::GroupedBars => bars(chart, &mut axes),
        FigureKind::Stacks => stacks(chart, &mut axes),
        FigureKind::Lines => lines(chart, &mut axes, true),
        FigureKind::Cdf => lines(&stepped(chart), &mut axes, false),
        FigureKind::Scatter => dots(chart, &mut axes),
        FigureKind::Curves => lines(chart, &mut axes, false),
    }?;
    for (_, x) in &chart.marks {
        let ends = [(*x, y.start), (*x, y.end)];
        axes.draw_series(DashedLineSeries::new(ends, 6, 4, BLACK.stroke_width(1)))?;
    }
    area.present()
}

/// A text in lines no wider than this.
fn wrapped<B: DrawingBackend>(area: &Area<'_, B>, text: &str, width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let wide = |text: &str| size_of(area, text).0 * TITLE as i32 / TEXT as i32;
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if wide(&format!("{line} {word}")) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Draws the key of the colours, in as many lines as it takes, and gives its end.
fn legend<B: DrawingBackend>(
    chart: &Chart,
    area: &Area<'_, B>,
    top: i32,
    width: i32,
) -> Result<i32, Failure<B>> {
    let mut entries: Vec<(&str, Key<'_>)> = Vec::new();
    let named = chart.series.iter().filter(|series| !series.name.is_empty());
    entries.extend(named.map(|series| (series.name.as_str(), Key::Series(series))));
    for (name, _) in &chart.marks {
        if entries.iter().all(|(known, _)| known != name) {
            entries.push((name, Key::Mark));
        }
    }
    let stacks = format!("side by side: {}", chart.stacks.join(", "));
    if chart.stacks.len() > 1 {
        entries.push((&stacks, Key::Text));
    }
    if entries.is_empty() {
        return Ok(top);
    }
    let line = TEXT as i32 + GAP;
    let (mut x, mut y) = (GAP, top);
    for (name, key) in entries {
        let sign = if matches!(key, Key::Text) { 0 } else { SWATCH + GAP / 2 };
        let wide = sign + size_of(area, name).0 + 2 * GAP;
        if x > GAP && x + wide > width {
            (x, y) = (GAP, y + line);
        }
        let corner = (x, y + (TEXT as i32 - SWATCH) / 2 + 1);
        let square = [corner, (corner.0 + SWATCH, corner.1 + SWATCH)];
        match key {
            Key::Series(series) => {
                area.draw(&Rectangle::new(square, filling(series)))?;
                area.draw(&Rectangle::new(square, border(series)))?;
            }
            Key::Mark => {
                let middle = corner.0 + SWATCH / 2;
                for from in [corner.1, corner.1 + SWATCH - 4] {
                    area.draw(&PathElement::new(
                        [(middle, from), (middle, from + 4)],
                        BLACK.stroke_width(1),
                    ))?;
                }
            }
            Key::Text => {}
        }
        area.draw_text(name, &style(TEXT), (x + sign, y))?;
        x += wide;
    }
    Ok(y + line)
}

/// Sample in front of an entry of the legend.
enum Key<'a> {
    Series(&'a Series),
    /// A dashed line.
    Mark,
    Text,
}

/// Points along a scale at which a chart of lines has its ticks, at most.
const MOST_POINTS: usize = 12;

/// The points along the scale of a chart of lines, in order, if they are few enough for a tick each.
fn tick_points(chart: &Chart) -> Option<Vec<f64>> {
    let has_lines = chart.kind == FigureKind::Lines && chart.categories.is_empty();
    let mut points: Vec<f64> = all(chart).map(|dot| dot.x).filter(|_| has_lines).collect();
    points.sort_by(f64::total_cmp);
    points.dedup();
    (has_lines && points.len() <= MOST_POINTS).then_some(points)
}

/// Ticks at the values instead of at round numbers; a tick that would overlap the previous one is left out.
fn ticks_at<B: DrawingBackend>(
    points: &[f64],
    chart: &Chart,
    axes: &Axes<'_, B>,
    area: &Area<'_, B>,
    height: i32,
) -> Result<(), Failure<B>> {
    let text = style(TEXT).pos(Pos::new(HPos::Center, VPos::Top));
    let (across, up) = (axes.plotting_area().get_x_range(), axes.plotting_area().get_y_range());
    let mut end = i32::MIN;
    for point in points {
        let label = tick(*point);
        let (x, y) = axes.backend_coord(&(*point, up.start));
        let half = size_of(area, &label).0 / 2;
        if x - half < end {
            continue;
        }
        end = x + half + GAP;
        area.draw(&PathElement::new([(x, y), (x, y + GAP / 2)], RGBColor(90, 90, 90).stroke_width(1)))?;
        area.draw_text(&label, &text, (x, y + GAP))?;
    }
    x_title(chart, axes.backend_coord(&((across.start + across.end) / 2.0, up.start)).0, area, height)
}

/// The title of the x axis, below its middle.
fn x_title<B: DrawingBackend>(
    chart: &Chart,
    middle: i32,
    area: &Area<'_, B>,
    height: i32,
) -> Result<(), Failure<B>> {
    let title = style(TEXT).pos(Pos::new(HPos::Center, VPos::Bottom));
    area.draw_text(&chart.x_title, &title, (middle, height - GAP / 2))
}

fn colour(series: &Series) -> RGBColor {
    COLOURS[series.colour % COLOURS.len()]
}

fn filling(series: &Series) -> ShapeStyle {
    if series.published { WHITE.filled() } else { colour(series).filled() }
}

fn border(series: &Series) -> ShapeStyle {
    colour(series).stroke_width(2)
}

/// The numbers of all series, as [`Dot`]s.
fn all(chart: &Chart) -> impl Iterator<Item = &Dot> {
    chart.series.iter().flat_map(|series| &series.dots)
}

fn x_range(chart: &Chart) -> Range<f64> {
    if !chart.categories.is_empty() {
        return 0.0..chart.categories.len() as f64;
    }
    let along = || all(chart).map(|dot| dot.x).chain(chart.marks.iter().map(|(_, x)| *x));
    let least = along().fold(f64::INFINITY, f64::min).min(0.0);
    let largest = along().fold(least, f64::max);
    // Without data the chart is drawn empty.
    if largest > least { least..largest + 0.04 * (largest - least) } else { 0.0..1.0 }
}

fn y_range(chart: &Chart) -> Range<f64> {
    if chart.kind == FigureKind::Cdf {
        return 0.0..100.0;
    }
    let largest = match chart.kind {
        FigureKind::Stacks => chart.tallest_stack(),
        _ => all(chart).map(|dot| dot.range.1).fold(0.0, f64::max),
    };
    let least = all(chart).map(|dot| dot.range.0).fold(0.0, f64::min);
    if largest > least { least..largest + 0.06 * (largest - least) } else { 0.0..1.0 }
}

/// About the labels that the axis will have, to know how wide they are.
fn y_labels(range: &Range<f64>) -> Vec<String> {
    (0..=5).map(|step| tick(range.start + (range.end - range.start) * f64::from(step) / 5.0)).collect()
}

/// A number at an axis: three digits, without zeros at its end.
pub(crate) fn tick(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits =
            if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        return format!("{digits}e{exponent}");
    }
    let decimals = match size {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.1 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The names of the categories, upright where they would meet, and the title of the axis.
fn categories<B: DrawingBackend>(
    chart: &Chart,
    axes: &Axes<'_, B>,
    area: &Area<'_, B>,
    upright: bool,
    height: i32,
) -> Result<(), Failure<B>> {
    let (horizontal, vertical) =
        if upright { (HPos::Right, VPos::Center) } else { (HPos::Center, VPos::Top) };
    let mut text = style(TEXT).pos(Pos::new(horizontal, vertical));
    if upright {
        text = text.transform(FontTransform::Rotate270);
    }
    let bottom = axes.plotting_area().get_y_range().start;
    for (number, label) in chart.categories.iter().enumerate() {
        let (x, y) = axes.backend_coord(&(number as f64 + 0.5, bottom));
        area.draw_text(label, &text, (x, y + GAP))?;
    }
    x_title(chart, axes.backend_coord(&(chart.categories.len() as f64 / 2.0, bottom)).0, area, height)
}

/// A bar with its border, and the range of its values if there are several.
fn bar<B: DrawingBackend>(
    axes: &mut Axes<'_, B>,
    series: &Series,
    (left, right): (f64, f64),
    (from, to): (f64, f64),
    range: (f64, f64),
) -> Result<(), Failure<B>> {
    axes.draw_series([
        Rectangle::new([(left, from), (right, to)], filling(series)),
        Rectangle::new([(left, from), (right, to)], border(series)),
    ])?;
    whisker(axes, (left + right) / 2.0, range)
}

fn whisker<B: DrawingBackend>(
    axes: &mut Axes<'_, B>,
    x: f64,
    (least, largest): (f64, f64),
) -> Result<(), Failure<B>> {
    if least < largest {
        axes.draw_series([PathElement::new([(x, least), (x, largest)], BLACK.stroke_width(1))])?;
    }
    Ok(())
}

fn bars<B: DrawingBackend>(chart: &Chart, axes: &mut Axes<'_, B>) -> Result<(), Failure<B>> {
    let width = 0.8 / chart.series.len().max(1) as f64;
    for (number, series) in chart.series.iter().enumerate() {
        for dot in &series.dots {
            let left = dot.x + 0.1 + width * number as f64;
            bar(axes, series, (left, left + 0.92 * width), (0.0, dot.y), dot.range)?;
        }
    }
    Ok(())
}

fn stacks<B: DrawingBackend>(chart: &Chart, axes: &mut Axes<'_, B>) -> Result<(), Failure<B>> {
    let count = chart.stacks.len().max(1);
    let width = 0.7 / count as f64;
    let mut heights = vec![0.0; chart.categories.len() * count];
    for series in &chart.series {
        for dot in &series.dots {
            let place = dot.x as usize;
            let left = (place / count) as f64 + 0.15 + width * (place % count) as f64;
            let from = heights[place];
            heights[place] += dot.y;
            bar(axes, series, (left, left + 0.92 * width), (from, heights[place]), (0.0, 0.0))?;
        }
    }
    Ok(())
}

/// Centre of the category at `x`; without categories, `x` itself.
fn middle(chart: &Chart, x: f64) -> f64 {
    if chart.categories.is_empty() { x } else { x + 0.5 }
}

/// Series whose colours repeat are dashed, as the paper's are.
fn lines<B: DrawingBackend>(chart: &Chart, axes: &mut Axes<'_, B>, marked: bool) -> Result<(), Failure<B>> {
    for series in &chart.series {
        let along = series.dots.iter().map(|dot| (middle(chart, dot.x), dot.y));
        if series.published || !marked && series.colour >= COLOURS.len() {
            axes.draw_series(DashedLineSeries::new(along, 6, 4, border(series)))?;
        } else {
            axes.draw_series(LineSeries::new(along, border(series)))?;
        }
        for dot in &series.dots {
            whisker(axes, middle(chart, dot.x), dot.range)?;
        }
    }
    if marked { dots(chart, axes) } else { Ok(()) }
}

/// A mark for each value; series whose colours repeat differ by their marks.
fn dots<B: DrawingBackend>(chart: &Chart, axes: &mut Axes<'_, B>) -> Result<(), Failure<B>> {
    for series in &chart.series {
        let at = |dot: &Dot| (middle(chart, dot.x), dot.y);
        match series.colour / COLOURS.len() % 2 {
            0 => {
                axes.draw_series(series.dots.iter().map(|dot| Circle::new(at(dot), 4, filling(series))))?;
                axes.draw_series(series.dots.iter().map(|dot| Circle::new(at(dot), 4, border(series))))?;
            }
            _ => {
                axes.draw_series(
                    series.dots.iter().map(|dot| TriangleMarker::new(at(dot), 5, border(series))),
                )?;
            }
        }
    }
    Ok(())
}

/// A chart whose lines go up in steps, from nothing.
fn stepped(chart: &Chart) -> Chart {
    let mut chart = chart.clone();
    for series in &mut chart.series {
        let mut height = 0.0;
        let mut steps = Vec::new();
        for dot in &series.dots {
            for y in [height, dot.y] {
                steps.push(Dot { x: dot.x, y, range: (y, y) });
            }
            height = dot.y;
        }
        series.dots = steps;
    }
    chart
}

#[cfg(test)]
mod tests {
    use super::tick;

    #[test]
    fn numbers_at_axes_are_short() {
        let numbers = [0.0, 1.5, 20.0, 1234.0, 0.05, 2.5e-5, 3.0e9, -0.5, 1e-3];
        let expected = ["0", "1.5", "20", "1234", "0.05", "2.5e-5", "3e9", "-0.5", "0.001"];
        assert_eq!(numbers.map(tick), expected);
    }
}
