//! The table: medians, ratios of our kernel to the others, and the machine that they were measured on.
//!
//! A ratio is the median of the ratios of each round, not a ratio of medians: a disturbance of the machine
//! slows both sides of a ratio.

use std::fmt::Write;
use std::process::Command;

use crate::kernels::Kernel;
use crate::measure::Workload;

/// Rates by kernel and workload.
pub(crate) struct Table {
    names: Vec<String>,
    /// The reason why a kernel has no rates.
    missing: Vec<Option<String>>,
    /// The row that ratios are taken of.
    reference: usize,
    /// A rate a round; none where there is nothing to measure.
    rates: Vec<[Vec<f64>; 4]>,
}

impl Table {
    /// An empty table of all kernels; `reference` is the one that the others are compared with.
    pub(crate) fn new(kernels: &[Kernel], reference: &str) -> Self {
        Table {
            names: kernels.iter().map(|kernel| kernel.name.clone()).collect(),
            missing: kernels.iter().map(|kernel| kernel.runner.as_ref().err().cloned()).collect(),
            reference: kernels.iter().position(|kernel| kernel.name == reference).unwrap_or(0),
            rates: kernels.iter().map(|_| Default::default()).collect(),
        }
    }

    /// Enters a kernel's rates on a workload, one a round.
    pub(crate) fn set(&mut self, row: usize, workload: Workload, rates: Vec<f64>) {
        self.rates[row][workload as usize] = rates;
    }

    pub(crate) fn text(&self) -> String {
        let mut text =
            format!("{:<48}{:>9}{:>9}{:>9}{:>9}", "M operations/s (ours / it)", "B1", "B2", "B3", "B4");
        text += &format!("{:>10}{:>9}{:>9}{:>9}\n", "B1", "B2", "B3", "B4");
        for (row, name) in self.names.iter().enumerate() {
            let _ = write!(text, "{name:<48}");
            if let Some(reason) = &self.missing[row] {
                let _ = writeln!(text, "  NOT MEASURED: {reason}");
                continue;
            }
            for cell in Workload::ALL.map(|workload| self.rate(row, workload)) {
                let _ = write!(text, "{cell:>9}");
            }
            text.push(' ');
            for cell in Workload::ALL.map(|workload| self.ratio(row, workload)) {
                let _ = write!(text, "{cell:>9}");
            }
            text.push('\n');
        }
        text
    }

    /// Text of `framework/benches/peers.md`.
    pub(crate) fn markdown(&self) -> String {
        let mut text = String::from("# The kernel beside its peers\n\nWritten by `cargo xtask bench-peers`");
        let compiler = version("g++", "--version");
        let _ = writeln!(
            text,
            ": million operations per second of processor time, bound to one core, median of five\nrounds after one \
             that is not counted. A round runs every kernel once; ratios are medians of the ratios of each\nround. \
             Every kernel must have done the same work (`graph.rs`) or the command fails. Different tables do not\n\
             compare: machines differ. `tools/peers` has the programs.\n\n- Processor: {}\n- {}, `lto = \"fat\"`, \
             for the baseline processor; {compiler} `-O3 -march=native` for SystemC's models\n",
            processor(),
            version("rustc", "--version"),
        );
        for (number, workload) in Workload::ALL.into_iter().enumerate() {
            let (name, spread) = (workload.name(), 100.0 * self.spread(workload));
            let description = workload.describe();
            let _ = writeln!(
                text,
                "- **B{} {name}**: {description}. Rates were up to {spread:.0} % away from their median.",
                number + 1
            );
        }
        text += "\n| kernel | B1 | B2 | B3 | B4 |\n| --- | --- | --- | --- | --- |\n";
        self.rows(&mut text, Table::rate);
        let reference = &self.names[self.reference];
        let _ = writeln!(text, "\n{reference}, divided by each of the others:\n");
        text += "| kernel | B1 | B2 | B3 | B4 |\n| --- | --- | --- | --- | --- |\n";
        self.rows(&mut text, Table::ratio);
        text
    }

    fn rows(&self, text: &mut String, cell: impl Fn(&Table, usize, Workload) -> String) {
        for (row, name) in self.names.iter().enumerate() {
            let cells = match &self.missing[row] {
                Some(reason) => format!("**not measured**: {reason} | | | "),
                None => Workload::ALL.map(|workload| cell(self, row, workload)).join(" | "),
            };
            let _ = writeln!(text, "| {name} | {cells} |");
        }
    }

    fn rate(&self, row: usize, workload: Workload) -> String {
        cell(self.rates[row][workload as usize].clone())
    }

    fn ratio(&self, row: usize, workload: Workload) -> String {
        let ours = &self.rates[self.reference][workload as usize];
        let its = &self.rates[row][workload as usize];
        cell(ours.iter().zip(its).map(|(ours, its)| ours / its).collect())
    }

    /// The largest distance of a rate from its median, relative.
    fn spread(&self, workload: Workload) -> f64 {
        let all = self.rates.iter().map(|rates| &rates[workload as usize]);
        let each = all.flat_map(|rates| {
            let middle = median(rates.clone()).unwrap_or(1.0);
            rates.iter().map(move |rate| (rate / middle - 1.0).abs())
        });
        each.fold(0.0, f64::max)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn cell(values: Vec<f64>) -> String {
    median(values).map_or_else(|| "–".to_owned(), digits)
}

/// Three significant digits.
fn digits(value: f64) -> String {
    let decimals = if value >= 100.0 { 0 } else { 2 - (value.max(0.1).log10().floor() as usize).min(2) };
    format!("{value:.decimals$}")
}

fn processor() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = information.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let (model, family) = (field("model name"), field("cpu family").zip(field("model\t")));
    let family =
        family.map_or_else(String::new, |(family, model)| format!(" (family {family}, model {model})"));
    model.unwrap_or_else(|| "unknown".to_owned()) + &family
}

fn version(program: &str, flag: &str) -> String {
    let output = Command::new(program).arg(flag).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().next().map_or_else(|| format!("no {program}"), str::to_owned)
}
