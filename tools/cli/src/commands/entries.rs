//! Named entries for `counterpoint list` and `counterpoint explain`: groups of entries, in the order in which a beginner needs
//! them.

use std::collections::BTreeMap;

use clap::ValueEnum;
use counterpoint_framework::model::{Field, KindInfo, Registry, VariantInfo};
use counterpoint_framework::topology::{explain, explain_variant, first_sentence};
use counterpoint_simulation::find::{Head, ProjectFiles, Sort};
use counterpoint_simulation::generate::GENERATORS;
use counterpoint_simulation::references::{self, Reference};

/// The groups.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Group {
    /// Systems that run applications: `counterpoint run MACHINE APPLICATION`.
    Machines,
    /// Programs: `counterpoint run MACHINE APPLICATION`.
    Applications,
    /// Runs that are compared: `counterpoint study STUDY`.
    Studies,
    /// How the host gives work to devices: `--runtime RUNTIME`.
    Runtimes,
    /// How a device chooses blocks: `--policy POLICY`.
    Policies,
    /// Changes to machines: `--with OVERLAY`.
    Overlays,
    /// Parts that machines include.
    Modules,
    /// Overlays that machines of a generation of GPUs include.
    Generations,
    /// Kinds of components.
    Kinds,
    /// Expected results that applications name.
    References,
    /// Rules by which input files are made.
    Generators,
}

/// A named entry of a group.
pub(super) struct Entry {
    pub(super) name: String,
    /// Description in a line.
    pub(super) line: String,
    /// File of the entry, if it has one.
    pub(super) path: Option<String>,
    /// Documentation of the entry.
    pub(super) page: String,
}

impl Group {
    /// Name of the group on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Entries of the group.
    pub(super) fn entries(self, registry: &Registry) -> Vec<Entry> {
        match self {
            Group::Machines => {
                files(Sort::Machine, "machine", "`counterpoint resolve NAME` shows all of it", registry)
            }
            Group::Applications => {
                files(Sort::Application, "application", "`counterpoint run tiny NAME` runs it", registry)
            }
            Group::Studies => files(Sort::Study, "study", "`counterpoint study NAME` runs it", registry),
            Group::Runtimes => variants(registry, "host/cpu", "runtime"),
            Group::Policies => variants(registry, "gpu/cta-scheduler", "policy"),
            Group::Overlays => files(Sort::Overlay, "overlay", "`--with NAME` applies it", registry),
            Group::Modules => {
                files(Sort::Module, "module", "`include: [NAME]` gives it to a machine", registry)
            }
            Group::Generations => {
                let overlays = ProjectFiles::here(registry).list(Sort::Overlay);
                let mut all =
                    files(Sort::Module, "overlay", "`include: [NAME]` applies it to a machine", registry);
                all.retain(|one| !overlays.contains_key(&one.name));
                all
            }
            Group::Kinds => kinds(registry),
            Group::References => references(registry),
            Group::Generators => {
                GENERATORS.iter().map(|info| plain(info.name, info.doc.to_owned())).collect()
            }
        }
    }
}

/// Files of a sort that do not say that they are of another role.
fn files(sort: Sort, role: &str, to_use_it: &str, registry: &Registry) -> Vec<Entry> {
    let files = ProjectFiles::here(registry);
    let entry = |(name, path): (String, String)| {
        let Head { role: own, description, .. } = files.head(&path);
        if own.is_some_and(|own| own != role) {
            return None;
        }
        let line = if description.is_empty() { "It has no description.".to_owned() } else { description };
        let page =
            format!("{name}: {role}\n  {line}\n  file: {path}\n  {}\n", to_use_it.replace("NAME", &name));
        Some(Entry { name, line, path: Some(path), page })
    };
    files.list(sort).into_iter().filter_map(entry).collect()
}

fn kinds(registry: &Registry) -> Vec<Entry> {
    let entry = |kind: &KindInfo| Entry {
        name: kind.name.to_owned(),
        line: first_sentence(kind.doc),
        path: None,
        page: explain(kind, registry.families()),
    };
    registry.catalogue.kinds().map(entry).collect()
}

/// Variants that a parameter of a kind may choose.
fn variants(registry: &Registry, kind: &str, parameter: &str) -> Vec<Entry> {
    let fields: &[Field] = registry.catalogue.get(kind).map_or(&[], |kind| &kind.fields);
    let family = fields.iter().find(|field| field.name == parameter).and_then(|field| field.kind.family);
    let families = registry.families();
    let variants = family.into_iter().flat_map(|family| families.variants(family));
    let entry = |variant: &VariantInfo| Entry {
        name: variant.name.to_owned(),
        line: first_sentence(variant.doc),
        path: None,
        page: explain_variant(variant, families),
    };
    variants.map(entry).collect()
}

/// Applications that a reference names.
const NAMED: usize = 3;

fn references(registry: &Registry) -> Vec<Entry> {
    let files = ProjectFiles::here(registry);
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (application, path) in files.list(Sort::Application) {
        for reference in files.head(&path).references {
            users.entry(reference).or_default().push(application.clone());
        }
    }
    let entry = |reference: &Reference| {
        let users = users.get(reference.name).map(Vec::as_slice).unwrap_or_default();
        let (shown, more) = users.split_at(users.len().min(NAMED));
        let line = match (shown.is_empty(), more.len()) {
            (true, _) => "Expected results for applications of your own.".to_owned(),
            (false, 0) => format!("Expected results of {}.", shown.join(", ")),
            (false, more) => format!("Expected results of {} and {more} more.", shown.join(", ")),
        };
        plain(reference.name, line)
    };
    references::all(registry).map(entry).collect()
}

fn plain(name: &str, line: String) -> Entry {
    Entry { name: name.to_owned(), page: format!("{name}\n  {line}\n"), line, path: None }
}
