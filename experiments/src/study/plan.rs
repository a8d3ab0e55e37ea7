//! Expansion of a study file into its points: every combination of a machine, an application, varied
//! settings, a seed and a run.

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_framework::model::{
    Diagnostic, Diagnostics, Families, Key, Named, Node, Parameter, Params, Raw, Reader, Report, SourceMap,
    Span, Value, yaml,
};
use counterpoint_framework::telemetry::{Level, Recording};
use counterpoint_framework::topology::expression::Expression;
use counterpoint_framework::topology::{COMMAND_LINE, Files, flow};
use counterpoint_report::FigureKind;
use counterpoint_simulation::application::SETTING_PREFIX;
use counterpoint_simulation::run::RunRequest;
use serde::{Deserialize, Serialize};

use super::file::{Choices, FigureFile, Labelled, Paper, StudyFile};
use super::paths::{NearStudy, settings_of};
use super::values::KnownValues;

/// A study that is sound.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Study {
    /// Name of the study.
    pub name: String,
    /// Subject of the study.
    pub description: Option<String>,
    /// The paper that it repeats.
    pub paper: Option<Paper>,
    /// The chosen scale, if the study has scales, and the machine that replaces the study's own.
    pub chosen: Chosen,
    /// The names of the dimensions, in the order of their values in [`Point::labels`].
    pub dimensions: Vec<String>,
    /// The points, in the order of the file.
    pub points: Vec<Point>,
    /// The values that its points may have.
    pub values: KnownValues,
    /// Statistics to compute with: a name and a pattern.
    pub statistics: Vec<(String, String)>,
    /// Computed columns.
    pub columns: Vec<(String, Expression)>,
    /// Units of statistics and columns, where they are given.
    pub units: BTreeMap<String, String>,
    /// The figures.
    pub figures: Vec<FigureFile>,
    /// The places of its settings in the file, by their texts `path=value`.
    pub places: BTreeMap<String, String>,
    /// The text of the file.
    pub text: String,
}

/// A run of a study.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Point {
    /// Label of the point in each dimension.
    pub labels: Vec<String>,
    /// Run of the point.
    pub request: RunRequest,
}

impl Point {
    /// The point in one line.
    pub fn name(&self) -> String {
        self.labels.join(" / ")
    }

    /// Whether its name has the text of a filter in it, if there is one.
    pub fn matches(&self, filter: Option<&str>) -> bool {
        filter.is_none_or(|filter| self.name().contains(filter))
    }
}

/// The dimensions that every study has; varied settings stand between the second and the third.
const MACHINE: &str = "machine";
const APPLICATION: &str = "application";
const SEED: &str = "seed";
pub(super) const RUN: &str = "run";

/// Choices among a study's scales and machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// Scale of the study; the first if not given.
    pub scale: Option<String>,
    /// Machine that replaces the study's own; runs that name a machine keep it.
    pub machine: Option<String>,
}

/// Reads a study of these files whose points may have these values. Machines and applications are looked up from the folder `from`.
///
/// # Errors
/// All problems of the file.
pub fn load(
    path: &str,
    files: &dyn Files,
    chosen: &Chosen,
    from: &Path,
    values: &KnownValues,
) -> Result<Study, Report> {
    let mut sources = SourceMap::default();
    let mut diagnostics = Diagnostics::default();
    let text = files.read(path);
    let study = read(path, text, chosen, from, values, &mut sources, &mut diagnostics);
    match study {
        Some(study) if diagnostics.is_empty() => Ok(study),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}

fn read(
    path: &str,
    text: Result<String, String>,
    chosen: &Chosen,
    from: &Path,
    values: &KnownValues,
    sources: &mut SourceMap,
    diagnostics: &mut Diagnostics,
) -> Option<Study> {
    let text = match text {
        Ok(text) => text,
        Err(error) => {
            let file = sources.add(path, "");
            diagnostics.error(sources.whole(file), format!("cannot read `{path}`: {error}"));
            return None;
        }
    };
    let source = sources.add(path, text.clone());
    let node = yaml::parse(source, sources, diagnostics)?;
    let families = Families::default();
    let mut file = StudyFile::read(&node, &mut Reader::new(&families, diagnostics))?;
    if let Some(machine) = &chosen.machine {
        let given = sources.add(COMMAND_LINE, machine.clone());
        let value = Value::Scalar { text: machine.clone(), quoted: false };
        let node = Node { span: sources.whole(given), value };
        file.machine = Choices::from_node(&node, &mut Reader::new(&families, diagnostics))?;
    }
    let scale = chosen.scale.as_deref();
    let whole = sources.whole(source);
    let Scale { settings, mut varied } = chosen_scale(&file.scales, scale, whole, diagnostics);
    for (key, values) in &file.vary.0 {
        if varied.iter().any(|(path, _)| *path == key.name) {
            diagnostics.error(key.span, format!("`{}` is varied by the scale already", key.name));
        }
        varied.push((key.name.clone(), values.iter().map(|value| flow(&value.0)).collect()));
    }
    let dimensions: Vec<String> = [MACHINE, APPLICATION]
        .into_iter()
        .chain(varied.iter().map(|(path, _)| path.as_str()))
        .chain([SEED, RUN])
        .map(str::to_owned)
        .collect();
    let statistics: Vec<(String, String)> =
        file.statistics.0.iter().map(|(key, pattern)| (key.name.clone(), pattern.clone())).collect();
    let columns = columns(&file, values, &node, diagnostics);
    let units = units(&file, diagnostics);
    let recording = match file.figures.iter().any(|figure| figure.kind == FigureKind::Curves) {
        // Their blocks are counted one by one, however many they are.
        true => Recording { level: Level::Ctas, limit: usize::MAX },
        false => Recording::default(),
    };
    check_replacements(&file, diagnostics);
    let near = NearStudy { study: path, from };
    let mut points = Vec::new();
    for machine in &file.machine.0 {
        for application in &file.applications.0 {
            for varied in combinations(&varied) {
                for &seed in &file.seeds {
                    for (key, run) in &file.runs.0 {
                        let mut request =
                            RunRequest::new(near.found(&machine.name), near.found(&application.name));
                        request.folder = from.to_owned();
                        request.seed = seed;
                        request.recording = recording;
                        request.sets = own(machine).chain(own(application)).collect();
                        request.sets.extend(settings.iter().cloned());
                        request.sets.extend(varied.iter().map(|(path, value)| format!("{path}={value}")));
                        apply(run, &application.label, &near, &mut request, diagnostics);
                        let mut labels = vec![machine.label.clone(), application.label.clone()];
                        labels.extend(varied.iter().map(|(_, value)| value.clone()));
                        labels.extend([seed.to_string(), key.name.clone()]);
                        points.push(Point { labels, request });
                    }
                }
            }
        }
    }
    check_figures(&file, &dimensions, values, &node, diagnostics);
    let places = settings_of(&file, sources);
    Some(Study {
        name: file.study,
        description: file.description,
        paper: file.paper,
        chosen: Chosen {
            scale: scale.or_else(|| file.scales.names().next()).map(str::to_owned),
            machine: chosen.machine.clone(),
        },
        dimensions,
        points,
        values: values.clone(),
        statistics,
        columns,
        units,
        places,
        figures: file.figures,
        text,
    })
}

#[derive(Default)]
struct Scale {
    settings: Vec<String>,
    /// Settings with several values.
    varied: Vec<Varied>,
}

/// A path, and every value that it is given.
type Varied = (String, Vec<String>);

/// The scale of a name, or the first.
fn chosen_scale(
    scales: &Named<Named<Raw>>,
    scale: Option<&str>,
    whole: Span,
    diagnostics: &mut Diagnostics,
) -> Scale {
    let found = match scale {
        Some(name) => {
            let found = scales.get(name);
            if found.is_none() {
                let diagnostic = Diagnostic::new(whole, format!("the study has no scale `{name}`"));
                diagnostics.report(diagnostic.suggest(name, scales.names()));
            }
            found
        }
        None => scales.0.first().map(|(_, values)| values),
    };
    let mut scale = Scale::default();
    for (key, value) in found.map_or(&[][..], |values| &values.0) {
        let path = format!("{SETTING_PREFIX}{}", key.name);
        match value.0.as_list() {
            Some([]) => diagnostics.error(value.0.span, "at least one is needed"),
            Some(values) => scale.varied.push((path, values.iter().map(flow).collect())),
            None => scale.settings.push(format!("{path}={}", flow(&value.0))),
        }
    }
    scale
}

/// Settings of a machine or an application alone.
fn own(one: &Labelled) -> impl Iterator<Item = String> + '_ {
    one.set.0.iter().map(|(key, value)| format!("{}={}", key.name, flow(&value.0)))
}

/// Every combination of the varied values, each as paths and texts.
fn combinations(vary: &[Varied]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for (path, values) in vary {
        let extended = all.iter().flat_map(|before| {
            values.iter().map(move |value| {
                let mut longer = before.clone();
                longer.push((path.clone(), value.clone()));
                longer
            })
        });
        all = extended.collect();
    }
    all
}

/// Applications that a run has in place of others: by label.
const REPLACED: &str = "applications";

/// A run replaces applications that there are, each by a name.
fn check_replacements(file: &StudyFile, diagnostics: &mut Diagnostics) {
    let labels = || file.applications.0.iter().map(|one| one.label.as_str());
    for node in file.runs.0.iter().filter_map(|(_, run)| run.0.get(REPLACED)) {
        let Some(entries) = node.as_map() else {
            diagnostics
                .error(node.span, format!("expected a map from labels to names, found {}", node.shape()));
            continue;
        };
        for (key, value) in entries {
            if value.as_scalar().is_none() {
                diagnostics.error(value.span, format!("expected a name, found {}", value.shape()));
            }
            if !labels().any(|label| label == key.name) {
                let diagnostic = Diagnostic::new(key.span, format!("there is no application `{}`", key.name));
                diagnostics.report(diagnostic.suggest(&key.name, labels()));
            }
        }
    }
}

/// Applies the settings of a run, for the application of a label.
fn apply(
    run: &Raw,
    label: &str,
    near: &NearStudy<'_>,
    request: &mut RunRequest,
    diagnostics: &mut Diagnostics,
) {
    let Some(entries) = run.0.as_map() else {
        diagnostics.error(run.0.span, format!("expected a map, found {}", run.0.shape()));
        return;
    };
    for (key, value) in entries {
        match (key.name.as_str(), value.as_scalar()) {
            (REPLACED, None) => {
                let own = value.get(label).and_then(Node::as_scalar);
                own.into_iter().for_each(|name| request.application = near.found(name));
            }
            ("machine", Some(name)) => request.machine = near.found(name),
            ("runtime", Some(name)) => request.runtime = Some(name.to_owned()),
            ("policy", Some(name)) => request.policy = Some(name.to_owned()),
            ("with", Some(name)) => request.overlays.push(near.found(name)),
            ("with", None) => {
                let names = value.as_list().unwrap_or_default().iter().filter_map(Node::as_scalar);
                request.overlays.extend(names.map(|name| near.found(name)));
            }
            _ => request.sets.push(format!("{}={}", key.name, flow(value))),
        }
    }
}

/// The columns, whose every name must be a value, a statistic, a column above, or one of these of a run.
fn columns(
    file: &StudyFile,
    values: &KnownValues,
    root: &Node,
    diagnostics: &mut Diagnostics,
) -> Vec<(String, Expression)> {
    let mut known: Vec<String> = values.names().map(str::to_owned).collect();
    known.extend(file.statistics.names().map(str::to_owned));
    let mut columns = Vec::new();
    let places = root.get("columns");
    for (key, text) in &file.columns.0 {
        let span = places.and_then(|places| places.get(&key.name)).map_or(key.span, |node| node.span);
        taken(key, &known, diagnostics);
        match Expression::parse(text) {
            Ok(expression) => {
                for (name, start, length) in expression.names() {
                    let plain = match name.split_once('.') {
                        Some((run, rest)) if file.runs.get(run).is_some() => rest,
                        _ => name,
                    };
                    if !known.iter().any(|other| other == plain) {
                        let at = span.part(start, length);
                        let diagnostic = Diagnostic::new(at, format!("there is no value `{name}`"));
                        diagnostics.report(diagnostic.suggest(plain, known.iter().map(String::as_str)));
                    }
                }
                columns.push((key.name.clone(), expression));
            }
            Err(error) => diagnostics.report(error.diagnostic(span, 0)),
        }
        known.push(key.name.clone());
    }
    columns
}

/// The units, each of a statistic or a column.
fn units(file: &StudyFile, diagnostics: &mut Diagnostics) -> BTreeMap<String, String> {
    let own = || file.statistics.names().chain(file.columns.names());
    for (key, _) in &file.units.0 {
        if own().all(|name| name != key.name) {
            let message = format!("there is no statistic or column `{}`", key.name);
            diagnostics.report(Diagnostic::new(key.span, message).suggest(&key.name, own()));
        }
    }
    file.units.0.iter().map(|(key, unit)| (key.name.clone(), unit.clone())).collect()
}

/// A name can mean one thing only.
fn taken(key: &Key, known: &[String], diagnostics: &mut Diagnostics) {
    if known.contains(&key.name) {
        diagnostics.error(key.span, format!("`{}` is a value already", key.name));
    }
}

/// Figures name dimensions, values, statistics and columns.
fn check_figures(
    file: &StudyFile,
    dimensions: &[String],
    known: &KnownValues,
    root: &Node,
    diagnostics: &mut Diagnostics,
) {
    let mut values: Vec<&str> = known.names().collect();
    values.extend(file.statistics.names());
    values.extend(file.columns.names());
    let dimensions: Vec<&str> = dimensions.iter().map(String::as_str).collect();
    let nodes = root.get("figures").and_then(Node::as_list).unwrap_or_default();
    for (figure, node) in file.figures.iter().zip(nodes) {
        let place = |key: &str| node.get(key).map_or(node.span, |node| node.span);
        let mut expect = |name: &str, known: &[&[&str]], key: &str, what: &str| {
            if !known.iter().any(|names| names.contains(&name)) {
                let diagnostic = Diagnostic::new(place(key), format!("there is no {what} `{name}`"));
                diagnostics
                    .report(diagnostic.suggest(name, known.iter().flat_map(|names| names.iter().copied())));
            }
        };
        if let Some(x) = &figure.x {
            expect(x, &[&dimensions, &values], "x", "dimension or value");
        }
        let is_curves = figure.kind == FigureKind::Curves;
        for y in figure.y.0.iter().filter(|_| !is_curves) {
            expect(y, &[&values], "y", "value");
        }
        if let Some(mark) = &figure.mark {
            expect(mark, &[&values], "mark", "value");
        }
        if let Some(series) = &figure.series {
            expect(series, &[&dimensions], "series", "dimension");
        }
        for name in figure.only.names() {
            expect(name, &[&dimensions], "only", "dimension");
        }
        match (figure.kind, &figure.x) {
            (FigureKind::Cdf, Some(_)) => diagnostics.error(node.span, "a cdf has no `x`"),
            (FigureKind::Curves, Some(_)) => diagnostics.error(node.span, "curves have no `x`"),
            (FigureKind::Cdf | FigureKind::Curves, None) | (_, Some(_)) => {}
            (_, None) => diagnostics.error(node.span, "the figure needs an `x`"),
        }
        let several = matches!(
            figure.kind,
            FigureKind::Stacks | FigureKind::GroupedBars | FigureKind::Lines | FigureKind::Curves
        );
        if figure.y.0.len() > 1 && !several {
            diagnostics.error(place("y"), "only stacks, bars, lines and curves have several values");
        }
        if !is_curves && figure.mark.is_some() {
            diagnostics.error(place("mark"), "only curves have a mark");
        }
    }
}
