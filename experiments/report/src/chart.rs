//! Charts: series of numbers over categories or a scale.

use std::collections::BTreeMap;

use counterpoint_framework::model::Choice;
use counterpoint_framework::telemetry::sinks::number;

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum FigureKind {
    /// A bar for each series, side by side at each x.
    GroupedBars,
    /// A line for each series.
    Lines,
    /// At each x a bar for each series, of parts on top of each other: `y` is a list.
    Stacks,
    /// A dot for each point.
    Scatter,
    /// For each series, which share of its points has at most this value of `y`.
    Cdf,
    /// A line for each launch whose name matches `y`, such as `step#*`: the number of its thread blocks that
    /// have ended, over time.
    Curves,
}

/// A figure, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Title of the figure.
    pub title: String,
    /// Kind of drawing.
    pub kind: FigureKind,
    /// Title of the x axis.
    pub x_title: String,
    /// Title of the y axis.
    pub y_title: String,
    /// The categories along the x axis; empty where it is a scale.
    pub categories: Vec<String>,
    /// The series, each in a colour of its own. For stacks, their parts.
    pub series: Vec<Series>,
    /// Names of the stacks that stand side by side at each category.
    pub stacks: Vec<String>,
    /// Vertical lines: their labels and positions.
    pub marks: Vec<(String, f64)>,
}

/// A series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name of the series.
    pub name: String,
    /// Whether the value is the paper's.
    pub published: bool,
    /// The number of its colour.
    pub colour: usize,
    /// Values of the series.
    pub dots: Vec<Dot>,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// Along the x axis: the number of the category, or a number. Of stacks, the category times their number plus that of
    /// the stack.
    pub x: f64,
    /// The mean of the points that fall together.
    pub y: f64,
    /// The least and the largest value.
    pub range: (f64, f64),
}

impl Dot {
    /// The mean and the range of values at one place, if there are any.
    pub fn new(x: f64, values: &[f64]) -> Option<Dot> {
        let least = values.iter().copied().reduce(f64::min)?;
        let largest = values.iter().copied().reduce(f64::max)?;
        Some(Dot { x, y: values.iter().sum::<f64>() / values.len() as f64, range: (least, largest) })
    }
}

impl Chart {
    /// The numbers as lines `series,x,y,least,largest`, of stacks with the stack's name in front; a mark has nothing behind x.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_csv(&self, out: &mut dyn std::io::Write) -> std::io::Result<()> {
        let mut table = csv::Writer::from_writer(out);
        table.write_record(["stack", "series", "x", "y", "least", "largest"])?;
        for series in &self.series {
            for dot in &series.dots {
                let (stack, x) = self.place(dot.x);
                let numbers = [dot.y, dot.range.0, dot.range.1].map(number);
                table.write_record(
                    [stack, &series.name, &x].into_iter().chain(numbers.iter().map(String::as_str)),
                )?;
            }
        }
        for (name, x) in &self.marks {
            table.write_record(["", name, &number(*x), "", "", ""])?;
        }
        table.flush()
    }

    /// Stack and label of a position along the x axis.
    pub fn place(&self, x: f64) -> (&str, String) {
        let stacks = self.stacks.len().max(1);
        match self.categories.get(x as usize / stacks) {
            Some(label) => {
                let stack = self.stacks.get(x as usize % stacks).map_or("", String::as_str);
                (stack, label.clone())
            }
            None => ("", number(x)),
        }
    }

    /// The chart with axes of seconds in the unit that makes its numbers readable: 65 us in place of 6.5e-5 s.
    pub(crate) fn readable(&self) -> Chart {
        let mut chart = self.clone();
        let dots = || self.series.iter().flat_map(|series| &series.dots);
        let tallest = match self.kind {
            FigureKind::Stacks => self.tallest_stack(),
            _ => dots().map(|dot| dot.range.1.abs()).fold(0.0, f64::max),
        };
        if let Some((factor, title)) = in_smaller_units(&self.y_title, tallest) {
            chart.y_title = title;
            for dot in chart.series.iter_mut().flat_map(|series| &mut series.dots) {
                (dot.y, dot.range) = (dot.y * factor, (dot.range.0 * factor, dot.range.1 * factor));
            }
        }
        let along = dots().map(|dot| dot.x).chain(self.marks.iter().map(|(_, x)| *x));
        let farthest = along.map(f64::abs).fold(0.0, f64::max);
        if self.categories.is_empty()
            && let Some((factor, title)) = in_smaller_units(&self.x_title, farthest)
        {
            chart.x_title = title;
            chart.series.iter_mut().flat_map(|series| &mut series.dots).for_each(|dot| dot.x *= factor);
            chart.marks.iter_mut().for_each(|(_, x)| *x *= factor);
        }
        chart
    }

    /// The largest sum of the parts of a stack.
    pub(crate) fn tallest_stack(&self) -> f64 {
        let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
        for dot in self.series.iter().flat_map(|series| &series.dots) {
            *sums.entry(dot.x as u64).or_default() += dot.y;
        }
        sums.into_values().fold(0.0, f64::max)
    }
}

/// Factor from seconds to the unit in which the largest time is one or more, and the axis title in that unit; `None` for axes of other
/// units, and where seconds suffice.
fn in_smaller_units(title: &str, largest: f64) -> Option<(f64, String)> {
    let bare = title.strip_suffix("(s)")?;
    let units = [(1e3, "ms"), (1e6, "us"), (1e9, "ns")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| largest * factor >= 1.0)?;
    (largest > 0.0 && largest < 1.0).then(|| (factor, format!("{bare}({unit})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_makes_them_readable() {
        let dots = |scale: f64| vec![Dot { x: 0.25 * scale, y: 6.5e-5, range: (5e-5, 7e-5) }];
        let series = Series { name: String::new(), published: false, colour: 0, dots: dots(1.0) };
        let chart = Chart {
            title: String::new(),
            kind: FigureKind::Scatter,
            x_title: "launch (s)".to_owned(),
            y_title: "time (s)".to_owned(),
            categories: Vec::new(),
            series: vec![series],
            stacks: Vec::new(),
            marks: vec![("end".to_owned(), 0.5)],
        };
        let shown = chart.readable();
        assert_eq!((shown.x_title.as_str(), shown.y_title.as_str()), ("launch (ms)", "time (us)"));
        let Dot { x, y, range } = shown.series[0].dots[0];
        assert_eq!([x, y.round(), range.0.round(), range.1.round()], [250.0, 65.0, 50.0, 70.0]);
        assert_eq!(shown.marks[0].1, 500.0);
        // Other units, seconds that are some, and categories stay.
        let kept =
            Chart { y_title: "IPC".to_owned(), categories: vec!["a".to_owned()], ..chart.clone() }.readable();
        assert_eq!((kept.x_title.as_str(), kept.series[0].dots[0].y), ("launch (s)", 6.5e-5));
        let long = Chart { marks: vec![("end".to_owned(), 2.0)], ..chart }.readable();
        assert_eq!(long.x_title, "launch (s)");
    }
}
