//! The keys of a study file.

use counterpoint_framework::model::{
    Choice, Diagnostic, Named, Node, Parameter, Params, Raw, Reader, TypeInfo, Value,
};
use counterpoint_report::FigureKind;

/// A study: runs of applications on machines, the columns computed from them, and how it is shown.
#[derive(Clone, Debug, Params)]
pub(super) struct StudyFile {
    /// Version of the format: 1.
    #[param(min = "1", max = "1")]
    #[expect(dead_code, reason = "its range is all that is asked of it")]
    pub counterpoint: u32,
    /// Name of the study.
    pub study: String,
    /// The subject of the study, in a sentence.
    pub description: Option<String>,
    /// The paper that it repeats.
    pub paper: Option<Paper>,
    /// The machines: a file or a name, a list of them, or a map from labels to such.
    pub machine: Choices,
    /// The applications: a list of files or names, or a map from labels to such.
    pub applications: Choices,
    /// Parameters of all applications by name of a scale, such as `small: { size: small }`; `--scale` chooses
    /// one. The first is the default. Of a list every value is tried, as `vary` does: `n: [64, 128]` is the
    /// dimension `app.n`. Settings of a scale win over those of an application alone.
    #[param(default = "{}")]
    pub scales: Named<Named<Raw>>,
    /// Runs that are compared: by label, a map with `runtime`, `policy`, `with` (overlays), `machine` where
    /// it is not that of the study, `applications` (by label, one that is run in its place), and settings
    /// `path: value`.
    pub runs: Named<Raw>,
    /// Settings to vary; every value is tried: `path: [value, value]`.
    #[param(default = "{}")]
    pub vary: Named<Vec<Raw>>,
    /// Seeds; each is a run.
    #[param(default = "[0]")]
    pub seeds: Vec<u64>,
    /// Statistics to compute with, by name: the sum of all whose `path.name` matches, such as
    /// `gpu.l2[*].L2_total_cache_misses`.
    #[param(default = "{}")]
    pub statistics: Named<String>,
    /// Columns computed for each point, by name: arithmetic over its values, over columns above, and over
    /// those of another run of the same point, as in `baseline.time / time`.
    #[param(default = "{}")]
    pub columns: Named<String>,
    /// Units of statistics and columns, by name, such as `us`, for tables and axes.
    #[param(default = "{}")]
    pub units: Named<String>,
    /// The figures.
    #[param(default = "[]")]
    pub figures: Vec<FigureFile>,
}

/// A paper.
#[derive(Clone, Debug, Params)]
pub struct Paper {
    /// Its title, or how people call it.
    pub title: String,
    /// The figure or table that is repeated.
    pub figure: Option<String>,
}

/// A mean over a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Mean {
    /// The sum, shared out.
    Arithmetic,
    /// The root of the product.
    Geometric,
}

/// A figure.
#[derive(Clone, Debug, Params)]
pub struct FigureFile {
    /// Title of the figure.
    pub title: String,
    /// How.
    pub kind: FigureKind,
    /// Along the x axis: `machine`, `application`, `run`, `seed`, a varied path, or a column. A cdf has none, nor have curves.
    pub x: Option<String>,
    /// Along the y axis: a column or value; of stacks, bars and lines a list of them, each a part or a series of its own.
    /// Curves have the name of a launch instead, with `*` for any part of it.
    pub y: OneOrMore,
    /// Dimension that distinguishes series: `machine`, `application`, `run`, `seed` or a varied path.
    pub series: Option<String>,
    /// Only these points: by name of a dimension, one of its values or a list of them.
    #[param(default = "{}")]
    pub only: Named<OneOrMore>,
    /// Curves have a vertical line at this column or value, in seconds, such as `prelude_end`.
    pub mark: Option<String>,
    /// Title of the x axis, with its unit; without it, what it is of.
    pub x_title: Option<String>,
    /// Title of the y axis, with its unit; without it, what it is of.
    pub y_title: Option<String>,
    /// Means over each series, shown behind the last x. The paper's series has none if it lacks a value that ours have.
    #[param(default = "[]")]
    pub means: Vec<Mean>,
    /// The paper's values by series and x, shown beside ours. Where `y` is a list, a series is called as its column, or
    /// `label: column` if `series` tells labels apart.
    #[param(default = "{}")]
    pub published: Named<Named<f64>>,
}

/// One text or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OneOrMore(pub Vec<String>);

impl Parameter for OneOrMore {
    fn describe() -> TypeInfo {
        let all = || vec![String::describe(), Vec::<String>::describe()];
        TypeInfo { either: Some(all), ..TypeInfo::plain("a text or a list of them") }
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::List(_) => Vec::from_node(node, reader).map(OneOrMore),
            _ => String::from_node(node, reader).map(|text| OneOrMore(vec![text])),
        }
    }
}

/// Machines or applications to choose from, each with a label.
#[derive(Clone, Debug, Default)]
pub(super) struct Choices(pub(super) Vec<Labelled>);

#[derive(Clone, Debug)]
pub(super) struct Labelled {
    /// Name in tables and figures.
    pub label: String,
    /// A file, or a name.
    pub name: String,
    /// Settings for it alone.
    pub set: Named<Raw>,
    /// Place in the file.
    pub node: Node,
}

/// One of a map.
#[derive(Clone, Debug, Params)]
struct Described {
    /// A file, or a name.
    of: String,
    /// Settings for it alone, `path: value`.
    #[param(default = "{}")]
    set: Named<Raw>,
}

impl Parameter for Choices {
    fn describe() -> TypeInfo {
        TypeInfo::open(
            "a name, a list of names, or a map from labels to names or to `{ of: name, set: { path: value } }`",
        )
    }

    fn from_node(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let plain = |node: &Node, label: Option<&str>, reader: &mut Reader<'_>| {
            let name = String::from_node(node, reader)?;
            let stem =
                std::path::Path::new(&name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(&name);
            let label = label.unwrap_or(stem).to_owned();
            Some(Labelled { label, name, set: Named::default(), node: node.clone() })
        };
        let found: Vec<Option<Labelled>> = match &node.value {
            Value::List(items) => items.iter().map(|item| plain(item, None, reader)).collect(),
            Value::Map(entries) => entries
                .iter()
                .map(|(key, value)| match &value.value {
                    Value::Map(_) => {
                        let Described { of, set } = Described::read(value, reader)?;
                        Some(Labelled { label: key.name.clone(), name: of, set, node: value.clone() })
                    }
                    _ => plain(value, Some(&key.name), reader),
                })
                .collect(),
            Value::Null | Value::Scalar { .. } => vec![plain(node, None, reader)],
        };
        let found: Vec<Labelled> = found.into_iter().collect::<Option<_>>()?;
        if found.is_empty() {
            reader.report(Diagnostic::new(node.span, "at least one is needed"));
            return None;
        }
        for (index, one) in found.iter().enumerate() {
            if let Some(first) = found[..index].iter().find(|other| other.label == one.label) {
                let diagnostic = Diagnostic::new(one.node.span, format!("`{}` is there twice", one.label));
                reader.report(diagnostic.note(first.node.span, "first given here"));
            }
        }
        Some(Choices(found))
    }
}
