//! Files of each starter, from the templates in `tools/cli/templates`, and the command lines to call next.

use super::crate_files::{self, Source};

/// Files for a name.
pub(super) struct Starter {
    /// Paths from the working directory, and texts.
    pub(super) files: Vec<(String, String)>,
    /// Command lines to continue with.
    pub(super) next: Vec<String>,
}

/// Puts values in the place of the words between `@` in a template.
pub(super) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    values.iter().fold(template.to_owned(), |text, (word, value)| text.replace(&format!("@{word}@"), value))
}

pub(super) fn machine(name: &str) -> Starter {
    let file = format!("{name}.yaml");
    Starter {
        next: vec![
            format!("counterpoint run {file} vecadd"),
            format!("counterpoint run {file} hotspot --set gpu.sms=8 --set app.size=small"),
        ],
        files: vec![(file, filled(include_str!("../../../templates/machine.yaml"), &[("NAME", name)]))],
    }
}

pub(super) fn application(name: &str) -> Starter {
    let files = [
        (format!("{name}.yaml"), include_str!("../../../templates/application/application.yaml")),
        ("kernel.cu".to_owned(), include_str!("../../../templates/application/kernel.cu")),
        ("kernel.ptx".to_owned(), include_str!("../../../templates/application/kernel.ptx")),
    ];
    let files = files.map(|(file, text)| (format!("{name}/{file}"), filled(text, &[("NAME", name)])));
    Starter {
        next: vec![
            format!("counterpoint run tiny {name}/{name}.yaml"),
            format!("counterpoint characterise gtx480 {name}/{name}.yaml"),
        ],
        files: files.into(),
    }
}

pub(super) fn study(name: &str, machine: &str, application: &str) -> Starter {
    let file = format!("{name}.yaml");
    let values = [("NAME", name), ("MACHINE", machine), ("APPLICATION", application)];
    Starter {
        next: vec![
            format!("counterpoint study {file}"),
            format!("counterpoint report out/studies/{name}-default"),
        ],
        files: vec![(file, filled(include_str!("../../../templates/study.yaml"), &values))],
    }
}

pub(super) fn component(name: &str, source: &Source) -> Starter {
    Starter {
        files: crate_files::files(name, source),
        next: vec![
            format!("cd {name}"),
            "cargo test".to_owned(),
            format!("cargo run --release -- run {name} vecadd"),
            format!("cargo run --release -- explain {name}/delay"),
        ],
    }
}
