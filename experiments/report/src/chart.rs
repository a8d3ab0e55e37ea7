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
    /// Its title.
    pub title: String,
    /// How.
    pub kind: FigureKind,
    /// Title of the x axis.
    pub x_title: String,
    /// Title of the y axis.
    pub y_title: String,
    /// The categories along the x axis; empty where it is a scale.
    pub categories: Vec<String>,
    /// The series, each in a colour of its own. Of stacks, their parts.
    pub series: Vec<Series>,
    /// Of stacks, the number side by side at each category, and their names.
    pub stacks: Vec<String>,
    /// Vertical lines: their labels and positions.
    pub marks: Vec<(String, f64)>,
}

/// A series.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// It is the paper's.
    pub published: bool,
    /// The number of its colour.
    pub colour: usize,
    /// Its values.
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
    /// The least and the largest of them.
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

    /// The stack and the label that a place along the x axis is for.
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

    /// The largest sum of the parts of a stack.
    pub(crate) fn tallest_stack(&self) -> f64 {
        let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
        for dot in self.series.iter().flat_map(|series| &series.dots) {
            *sums.entry(dot.x as u64).or_default() += dot.y;
        }
        sums.into_values().fold(0.0, f64::max)
    }
}
