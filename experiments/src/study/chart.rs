//! The charts of a study: series of numbers over categories or a scale, computed from its results.

use counterpoint_report::{Chart, Dot, FigureKind, Series};

use super::growth::Growth;
use super::table::{Results, Row};
use super::{FigureFile, Mean};
use crate::pattern::matches;

/// The chart of a figure.
pub fn chart(figure: &FigureFile, results: &Results) -> Chart {
    let wanted = |row: &&Row| {
        figure.only.0.iter().all(|(dimension, labels)| {
            let label = results.label(row, &dimension.name);
            label.is_some_and(|label| labels.0.iter().any(|wanted| wanted == label))
        })
    };
    let rows: Vec<&Row> = results.rows.iter().filter(wanted).collect();
    let plan = Plan { figure, results, rows };
    let y = figure.y.0.first().map_or("", String::as_str);
    let mut chart = Chart {
        title: figure.title.clone(),
        kind: figure.kind,
        x_title: figure.x_title.clone().unwrap_or_else(|| results.titled(figure.x.as_deref().unwrap_or(y))),
        y_title: figure.y_title.clone().unwrap_or_else(|| results.titled(y)),
        categories: Vec::new(),
        series: Vec::new(),
        stacks: Vec::new(),
        marks: Vec::new(),
    };
    match figure.kind {
        FigureKind::GroupedBars | FigureKind::Lines => plan.over_labels(&mut chart),
        FigureKind::Stacks => plan.stacks(&mut chart),
        FigureKind::Scatter => plan.scatter(&mut chart),
        FigureKind::Cdf => {
            chart.y_title = figure.y_title.clone().unwrap_or_else(|| "share of the points (%)".to_owned());
            plan.cdf(&mut chart, y);
        }
        FigureKind::Curves => {
            chart.x_title = figure.x_title.clone().unwrap_or_else(|| results.titled("time"));
            plan.curves(&mut chart);
        }
    }
    chart
}

/// A figure, and the points that it is drawn from.
struct Plan<'a> {
    figure: &'a FigureFile,
    results: &'a Results,
    rows: Vec<&'a Row>,
}

impl<'a> Plan<'a> {
    /// The labels of a dimension that there are, in the order of the points.
    fn labels(&self, dimension: &str) -> Vec<&'a str> {
        let mut labels = Vec::new();
        for row in &self.rows {
            if let Some(label) = self.results.label(row, dimension)
                && !labels.contains(&label)
            {
                labels.push(label);
            }
        }
        labels
    }

    /// The series and their rows; without a dimension for series there is one series.
    fn series(&self) -> Vec<(String, Vec<&'a Row>)> {
        let Some(dimension) = &self.figure.series else {
            return vec![(String::new(), self.rows.clone())];
        };
        let of = |label: &str| {
            let own = |row: &&&Row| self.results.label(row, dimension) == Some(label);
            (label.to_owned(), self.rows.iter().filter(own).copied().collect())
        };
        self.labels(dimension).into_iter().map(of).collect()
    }

    /// Name of a series: a number alone would not say of what.
    fn named(&self, label: &str) -> String {
        match &self.figure.series {
            Some(dimension) if label.parse::<f64>().is_ok() => format!("{dimension} {label}"),
            _ => label.to_owned(),
        }
    }

    /// Entries of the legend: one per series and value. Each has its name in the file, its displayed name,
    /// the value, and the rows.
    fn legend_entries(&self) -> Vec<(String, String, &'a str, Vec<&'a Row>)> {
        let columns = &self.figure.y.0;
        let of = |(label, rows): (String, Vec<&'a Row>)| {
            let shown = self.named(&label);
            let one = move |column: &'a String| {
                let of_column = |label: &str| match (columns.len(), label) {
                    (0 | 1, _) => label.to_owned(),
                    (_, "") => column.clone(),
                    _ => format!("{label}: {column}"),
                };
                (of_column(&label), of_column(&shown).replace('_', " "), column.as_str(), rows.clone())
            };
            columns.iter().map(one).collect::<Vec<_>>()
        };
        self.series().into_iter().flat_map(of).collect()
    }

    fn values(rows: &[&Row], name: &str) -> Vec<f64> {
        rows.iter().filter_map(|row| row.values.get(name).copied()).collect()
    }

    /// Bars and lines: a value for each series and label along x.
    fn over_labels(&self, chart: &mut Chart) {
        let dimension = self.figure.x.as_deref().unwrap_or_default();
        if !self.results.dimensions.iter().any(|known| known == dimension) {
            return self.scatter(chart);
        }
        let mut labels: Vec<String> = self.labels(dimension).into_iter().map(str::to_owned).collect();
        // Labels that only the paper has are shown, too.
        for (_, values) in &self.figure.published.0 {
            let others: Vec<String> = values
                .names()
                .filter(|name| !labels.iter().any(|known| known == name))
                .map(str::to_owned)
                .collect();
            labels.extend(others);
        }
        let numbers: Option<Vec<f64>> = labels.iter().map(|label| label.parse().ok()).collect();
        let scale = numbers.filter(|_| self.figure.kind == FigureKind::Lines && self.figure.means.is_empty());
        let place = |index: usize| scale.as_ref().map_or(index as f64, |numbers| numbers[index]);
        for (colour, (key, name, y, rows)) in self.legend_entries().into_iter().enumerate() {
            let at = |(index, label): (usize, &String)| {
                let own: Vec<&Row> = rows
                    .iter()
                    .filter(|row| self.results.label(row, dimension) == Some(label))
                    .copied()
                    .collect();
                Dot::new(place(index), &Self::values(&own, y))
            };
            let dots: Vec<Dot> = labels.iter().enumerate().filter_map(at).collect();
            let published = self.figure.published.get(&key);
            chart.series.push(Series { name: name.clone(), published: false, colour, dots });
            if let Some(values) = published {
                let at = |(index, label): (usize, &String)| Dot::new(place(index), &[*values.get(label)?]);
                let dots = labels.iter().enumerate().filter_map(at).collect();
                chart.series.push(Series { name: format!("{name} (paper)"), published: true, colour, dots });
            }
        }
        let count = labels.len();
        let whole =
            chart.series.iter().filter(|series| !series.published).map(|series| series.dots.len()).max();
        for (number, mean) in self.figure.means.iter().enumerate() {
            labels.push(if *mean == Mean::Arithmetic { "mean" } else { "geomean" }.to_owned());
            // The mean of some of the paper's values would stand beside that of all of ours.
            let complete = |series: &&mut Series| !series.published || Some(series.dots.len()) >= whole;
            for series in chart.series.iter_mut().filter(complete) {
                let values: Vec<f64> =
                    series.dots.iter().filter(|dot| dot.x < count as f64).map(|dot| dot.y).collect();
                series.dots.extend(
                    mean_of(*mean, &values).and_then(|value| Dot::new((count + number) as f64, &[value])),
                );
            }
        }
        if scale.is_none() {
            chart.categories = labels;
        }
    }

    /// Stacks: at each label along x one for each series, of the parts that `y` names.
    fn stacks(&self, chart: &mut Chart) {
        let dimension = self.figure.x.as_deref().unwrap_or_default();
        let labels = self.labels(dimension);
        let stacks = self.series();
        for (colour, part) in self.figure.y.0.iter().enumerate() {
            let mut dots = Vec::new();
            for (index, label) in labels.iter().enumerate() {
                for (number, (_, rows)) in stacks.iter().enumerate() {
                    let own: Vec<&Row> = rows
                        .iter()
                        .filter(|row| self.results.label(row, dimension) == Some(label))
                        .copied()
                        .collect();
                    let place = (index * stacks.len() + number) as f64;
                    dots.extend(Dot::new(place, &Self::values(&own, part)));
                }
            }
            let name = part.replace('_', " ");
            chart.series.push(Series { name, published: false, colour, dots });
        }
        chart.categories = labels.into_iter().map(str::to_owned).collect();
        chart.stacks = stacks.into_iter().map(|(name, _)| self.named(&name)).collect();
    }

    /// A dot for each point.
    fn scatter(&self, chart: &mut Chart) {
        let x = self.figure.x.as_deref().unwrap_or_default();
        for (colour, (_, name, y, rows)) in self.legend_entries().into_iter().enumerate() {
            let label = |row: &Row| self.results.label(row, x).and_then(|label| label.parse().ok());
            let dot = |row: &&Row| {
                let along = row.values.get(x).copied().or_else(|| label(row))?;
                Dot::new(along, &[*row.values.get(y)?])
            };
            let dots = rows.iter().filter_map(dot).collect();
            chart.series.push(Series { name, published: false, colour, dots });
        }
    }

    /// Adds a line for each launch of each point, and the positions of the marks.
    fn curves(&self, chart: &mut Chart) {
        let growths = self.series().into_iter().flat_map(|(label, rows)| {
            let wanted = |growth: &&Growth| self.figure.y.0.iter().any(|y| matches(y, &growth.name));
            let of = move |row: &'a Row| row.growths.iter().filter(wanted);
            let name = move |growth: &'a Growth| match label.as_str() {
                "" => (growth.name.clone(), growth),
                _ => (format!("{}: {}", self.named(&label), growth.name), growth),
            };
            rows.into_iter().flat_map(of).map(name)
        });
        for (colour, (name, growth)) in growths.enumerate() {
            let dots = growth.points.iter().filter_map(|&(time, value)| Dot::new(time, &[value])).collect();
            chart.series.push(Series { name, published: false, colour, dots });
        }
        if let Some(mark) = &self.figure.mark {
            let at = self.rows.iter().filter_map(|row| row.values.get(mark));
            chart.marks = at.map(|&x| (mark.replace('_', " "), x)).collect();
        }
    }

    /// Adds, for each series, the share of its points that do not exceed a value.
    fn cdf(&self, chart: &mut Chart, y: &str) {
        for (colour, (name, rows)) in self.series().into_iter().enumerate() {
            let mut values = Self::values(&rows, y);
            values.sort_by(f64::total_cmp);
            let count = values.len() as f64;
            let dot = |(index, value): (usize, &f64)| Dot::new(*value, &[100.0 * (index + 1) as f64 / count]);
            let dots = values.iter().enumerate().filter_map(dot).collect();
            let name = self.named(&name);
            chart.series.push(Series { name, published: false, colour, dots });
        }
    }
}

/// A mean, if there is one: the geometric needs values above zero.
fn mean_of(mean: Mean, values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    match mean {
        _ if values.is_empty() => None,
        Mean::Arithmetic => Some(values.iter().sum::<f64>() / count),
        Mean::Geometric if values.iter().any(|value| *value <= 0.0) => None,
        Mean::Geometric => Some(libm::exp(values.iter().map(|value| libm::log(*value)).sum::<f64>() / count)),
    }
}
