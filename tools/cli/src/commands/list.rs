//! `counterpoint list`.

use std::io;

use clap::{Args, ValueEnum};
use counterpoint_framework::model::{Field, Registry};
use counterpoint_framework::topology;
use counterpoint_simulation::find::{ProjectFiles, Sort};
use counterpoint_simulation::generate::GENERATORS;
use counterpoint_simulation::references;

use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct List {
    /// Kind of things to list; everything if none is given.
    what: Option<What>,
    /// Show beside machines, modules, overlays, applications and studies the file of each.
    #[arg(long)]
    paths: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum What {
    Machines,
    Modules,
    Overlays,
    Applications,
    Studies,
    Kinds,
    Policies,
    Runtimes,
    References,
    Generators,
}

impl List {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let all = What::value_variants();
        let wanted = self.what.as_ref().map_or(all, std::slice::from_ref);
        for (index, what) in wanted.iter().enumerate() {
            if wanted.len() > 1 {
                let gap = if index == 0 { "" } else { "\n" };
                let name = what.to_possible_value().map(|value| value.get_name().to_owned());
                writeln!(console.out, "{gap}{}", name.unwrap_or_default())?;
            }
            let indent = if wanted.len() > 1 { "  " } else { "" };
            for line in self.text(*what, registry).lines() {
                writeln!(console.out, "{indent}{line}")?;
            }
        }
        Ok(SUCCESS)
    }

    fn text(&self, what: What, registry: &Registry) -> String {
        let files = |sort| {
            let found = ProjectFiles::here(registry).list(sort);
            columns(found.iter().map(|(name, path)| (name.as_str(), if self.paths { path } else { "" })))
        };
        match what {
            What::Machines => files(Sort::Machine),
            What::Modules => files(Sort::Module),
            What::Overlays => files(Sort::Overlay),
            What::Applications => files(Sort::Application),
            What::Studies => files(Sort::Study),
            What::Kinds => topology::list(&registry.catalogue),
            What::Policies => choices(registry, "gpu/cta-scheduler", "policy"),
            What::Runtimes => choices(registry, "host/cpu", "runtime"),
            What::References => columns(references::all(registry).map(|reference| (reference.name, ""))),
            What::Generators => columns(GENERATORS.iter().map(|info| (info.name, info.doc))),
        }
    }
}

fn choices(registry: &Registry, kind: &str, parameter: &str) -> String {
    let fields: Vec<Field> = registry.catalogue.get(kind).map(|kind| (kind.fields)()).unwrap_or_default();
    let family = fields.iter().find(|field| field.name == parameter).and_then(|field| field.kind.family);
    let variants = family.into_iter().flat_map(|family| registry.families().variants(family));
    columns(variants.map(|variant| (variant.name, variant.doc)))
}

fn columns<'a>(rows: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, doc): &(&str, &str)| {
        let doc: Vec<&str> = doc.split_whitespace().collect();
        format!("{name:width$}  {}", doc.join(" ")).trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
