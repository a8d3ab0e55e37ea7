//! `counterpoint compare`: what differs between two runs, or two studies.

use std::io;
use std::path::PathBuf;

use clap::Args;
use counterpoint_experiments::compare::{
    Change, Contents, RunChanges, Shift, StatisticChanges, StatisticScope, StudyChanges, Weighed,
    compare_runs, compare_studies,
};
use counterpoint_framework::telemetry::sinks::rounded;
use counterpoint_framework::time::SimTime;

use crate::columns::{self, significant};
use crate::table::{amount, grouped};
use crate::{Console, FAILURE, NOT_VERIFIED, SUCCESS};

/// The command's arguments.
#[derive(Args)]
#[command(
    after_help = "The exit status is 0 if nothing that matters differs, 1 if something does, and 2 if a folder cannot be \
                  compared. How a run was asked for and computed (threads, islands, settings, version) is shown and does not \
                  matter: what depends on it differs by itself, in the machine or in the results."
)]
pub(crate) struct Compare {
    /// The folder of a run, such as `out/tiny/hotspot`, or of a study, such as `out/studies/NAME`.
    a: PathBuf,
    b: PathBuf,
    /// Compare only statistics with this name, such as `gpu.l2[*].misses`, where `*` matches anything but a
    /// point; of studies, only such values. May be given several times.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Lines that are shown of each kind of difference.
    #[arg(long, value_name = "NUMBER", default_value_t = 30)]
    limit: usize,
    /// Show all of them.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

impl Compare {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        let sorts = Contents::of(&self.a).and_then(|a| Ok((a, Contents::of(&self.b)?)));
        let told = match sorts {
            Ok((Contents::Run, Contents::Run)) => compare_runs(&self.a, &self.b, &self.only)
                .map(|changes| (changes.none(), self.tell_runs(&changes, console))),
            Ok((Contents::Study, Contents::Study)) => compare_studies(&self.a, &self.b, &self.only)
                .map(|changes| (changes.none(), self.tell_studies(&changes, console))),
            Ok((a, _)) => {
                let (run, study) = if a == Contents::Run { (&self.a, &self.b) } else { (&self.b, &self.a) };
                Err(format!("`{}` is a run and `{}` a study", run.display(), study.display()))
            }
            Err(message) => Err(message),
        };
        match told {
            Ok((none, printed)) => {
                printed?;
                Ok(if none { SUCCESS } else { NOT_VERIFIED })
            }
            Err(message) => {
                writeln!(console.err, "error: {message}")?;
                Ok(FAILURE)
            }
        }
    }

    fn head(&self, console: &mut Console<'_>) -> io::Result<()> {
        writeln!(console.out, "A  {}\nB  {}", self.a.display(), self.b.display())
    }

    fn tell_runs(&self, changes: &RunChanges, console: &mut Console<'_>) -> io::Result<()> {
        self.head(console)?;
        if self.only.is_empty() && !changes.none() {
            headline(&changes.headline, console)?;
        }
        self.changes("what was run, and what came of it", &changes.manifest.results, console)?;
        self.changes("what the application wrote", &changes.outputs, console)?;
        let how = "how it was asked for and computed, which does not matter by itself";
        self.changes(how, &changes.manifest.circumstances, console)?;
        self.changes("the machine", &changes.machine, console)?;
        match &changes.statistics {
            None => writeln!(console.out, "\nstatistics: one of the runs has left none behind")?,
            Some(statistics) => {
                self.weighed(statistics, console)?;
                self.names("statistics that only A has", &statistics.only_a, console)?;
                self.names("statistics that only B has", &statistics.only_b, console)?;
            }
        }
        if let Some(exposure) = &changes.exposure
            && exposure.iter().any(|shift| !shift.is_none())
        {
            exposed(exposure, console)?;
        }
        if changes.none() {
            writeln!(console.out, "\nthe runs are the same")?;
        }
        Ok(())
    }

    fn tell_studies(&self, changes: &StudyChanges, console: &mut Console<'_>) -> io::Result<()> {
        self.head(console)?;
        self.changes("the study", &changes.study, console)?;
        let once = |names: &[String]| names.iter().map(|name| (name.clone(), 1)).collect::<Vec<_>>();
        self.names("points that only A has", &once(&changes.only_a), console)?;
        self.names("points that only B has", &once(&changes.only_b), console)?;
        self.changes(&format!("of {} points that both have", changes.common), &changes.points, console)?;
        let title = format!("{} values of {} points that both have", changes.values.len(), changes.common);
        self.shifts(&title, &changes.values, console)?;
        if changes.none() {
            writeln!(console.out, "\nthe studies have the same points with the same values")?;
        }
        Ok(())
    }

    /// The requested number of items, and the number of further ones.
    fn cut<'a, T>(&self, items: &'a [T]) -> (&'a [T], usize) {
        let shown = if self.all { items.len() } else { self.limit.min(items.len()) };
        (&items[..shown], items.len() - shown)
    }

    fn changes(&self, title: &str, changes: &[Change], console: &mut Console<'_>) -> io::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let (shown, more) = self.cut(changes);
        let mut lines = vec![["", "A", "B", ""].map(str::to_owned).to_vec()];
        for change in shown {
            let times = if change.times > 1 { format!("({} times)", change.times) } else { String::new() };
            let [a, b] = sides(change);
            lines.push(vec![change.name.clone(), a, b, times]);
        }
        writeln!(console.out, "\n{title}")?;
        columns::print(&lines, 4, console.out)?;
        rest(more, console)
    }

    fn shifts(&self, title: &str, shifts: &[Shift], console: &mut Console<'_>) -> io::Result<()> {
        if shifts.is_empty() {
            return Ok(());
        }
        let (shown, more) = self.cut(shifts);
        let mut lines = vec![["", "A", "B", "B/A", "unit"].map(str::to_owned).to_vec()];
        for shift in shown {
            let values = [shift.name.clone(), number(shift.a), number(shift.b), change(shift)];
            lines.push(values.into_iter().chain([shift.unit.clone()]).collect());
        }
        writeln!(console.out, "\n{title} differ, the largest relative difference first")?;
        columns::print(&lines, 1, console.out)?;
        rest(more, console)
    }

    /// Differences of statistics, part by part.
    fn weighed(&self, statistics: &StatisticChanges, console: &mut Console<'_>) -> io::Result<()> {
        let StatisticChanges { common, shifts, .. } = statistics;
        if shifts.is_empty() {
            return Ok(());
        }
        writeln!(
            console.out,
            "\n{} of {common} statistics differ; weight: the change as a share of the largest number of the same unit that both have",
            shifts.len()
        )?;
        for part in StatisticScope::ALL {
            let own: Vec<&Weighed> = shifts.iter().filter(|one| one.part == part).collect();
            if own.is_empty() {
                continue;
            }
            let heavy = own.partition_point(|one| self.all || one.weight >= LIGHT);
            let (shown, _) = self.cut(&own[..heavy]);
            let mut lines =
                vec![[part.name(), "A", "B", "B/A", "unit", "weight"].map(str::to_owned).to_vec()];
            for Weighed { shift, weight, .. } in shown {
                let weight = format!("{:.2} %", 100.0 * weight);
                let values = [shift.name.clone(), number(shift.a), number(shift.b), change(shift)];
                lines.push(values.into_iter().chain([shift.unit.clone(), weight]).collect());
            }
            writeln!(console.out)?;
            columns::print(&lines, 1, console.out)?;
            rest(own.len() - shown.len(), console)?;
        }
        Ok(())
    }

    /// Names, and how many there are of each.
    fn names(&self, title: &str, names: &[(String, usize)], console: &mut Console<'_>) -> io::Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        let (shown, more) = self.cut(names);
        writeln!(console.out, "\n{title}")?;
        for (name, count) in shown {
            let times = if *count > 1 { format!("  ({count} times)") } else { String::new() };
            writeln!(console.out, "  {name}{times}")?;
        }
        rest(more, console)
    }
}

/// Lighter differences of statistics are shown with `--all` alone.
const LIGHT: f64 = 0.001;

/// The numbers that people ask for first, side by side.
fn headline(shifts: &[Shift], console: &mut Console<'_>) -> io::Result<()> {
    if shifts.is_empty() {
        return Ok(());
    }
    let text = |value: f64, unit: &str| match unit {
        "ps" => format!("{:.6} us", value * 1e-6),
        "bytes" => amount(value as u64),
        _ if value.fract() == 0.0 => grouped(value as u64),
        _ => significant(value),
    };
    let mut lines = vec![["", "A", "B", "B/A"].map(str::to_owned).to_vec()];
    for shift in shifts {
        let [a, b] = [shift.a, shift.b].map(|value| text(value, &shift.unit));
        lines.push(vec![shift.name.clone(), a, b, ratio(shift)]);
    }
    writeln!(console.out)?;
    columns::print(&lines, 1, console.out)
}

fn rest(more: usize, console: &mut Console<'_>) -> io::Result<()> {
    match more {
        0 => Ok(()),
        more => writeln!(console.out, "  … and {more} more; --all shows them"),
    }
}

/// Longer texts are cut, so that both sides fit beside each other.
const LONGEST: usize = 60;

/// Both sides of a change, each in one line. For long texts with a common beginning, only the rest is shown.
fn sides(change: &Change) -> [String; 2] {
    let texts = [&change.a, &change.b].map(|side| side.as_deref().unwrap_or("-"));
    let chars = texts.map(|text| text.chars().collect::<Vec<char>>());
    let same = chars[0].iter().zip(&chars[1]).take_while(|(a, b)| a == b).count();
    let from =
        if chars.iter().any(|text| text.len() > LONGEST) { same.saturating_sub(LONGEST / 4) } else { 0 };
    chars.map(|text| {
        let line: Vec<char> = text[from..].iter().copied().take_while(|c| *c != '\n').collect();
        let shown = line.len().min(LONGEST);
        let before = if from > 0 { "…" } else { "" };
        let behind = if from + shown < text.len() { "…" } else { "" };
        format!("{before}{}{behind}", line[..shown].iter().collect::<String>())
    })
}

/// A number with the digits that it has in files.
fn number(value: f64) -> String {
    let value = rounded(value);
    let whole = value.fract() == 0.0 && value.abs() < 1e15;
    if whole || (1e-3..1e15).contains(&value.abs()) { value.to_string() } else { format!("{value:e}") }
}

/// B by A, or the difference where that says nothing.
fn change(shift: &Shift) -> String {
    match shift.ratio() {
        Some(ratio) => significant(ratio),
        None => format!("{}{}", if shift.b > shift.a { "+" } else { "" }, number(shift.b - shift.a)),
    }
}

/// Exposed time; equal times are shown too, because together they are the whole run.
fn exposed(exposure: &[Shift], console: &mut Console<'_>) -> io::Result<()> {
    let mut lines = vec![["", "A", "B", "B/A"].map(str::to_owned).to_vec()];
    let time = |ps: f64| SimTime::from_ps(ps as u64).to_string();
    for shift in exposure {
        lines.push(vec![shift.name.clone(), time(shift.a), time(shift.b), ratio(shift)]);
    }
    writeln!(console.out, "\nwhat was exposed")?;
    columns::print(&lines, 1, console.out)
}

fn ratio(shift: &Shift) -> String {
    shift.ratio().map(significant).unwrap_or_default()
}
