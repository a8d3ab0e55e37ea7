//! The sorts of files that are found by name, and their places in a folder.

/// Sorts of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A machine.
    Machine,
    /// An include of a machine: a module, or an overlay that it builds on.
    Module,
    /// An overlay.
    Overlay,
    /// An application.
    Application,
    /// A study.
    Study,
    /// PTX that an application names.
    Code,
    /// A file of data that an application reads.
    Data,
    /// Figures that validation compares with.
    Validation,
}

impl Sort {
    pub(super) fn word(self) -> &'static str {
        match self {
            Sort::Machine => "machine",
            Sort::Module => "module",
            Sort::Overlay => "overlay",
            Sort::Application => "application",
            Sort::Study => "study",
            Sort::Code => "PTX file",
            Sort::Data => "file",
            Sort::Validation => "file of figures",
        }
    }

    /// The places of a name in the folder of a project, in order.
    pub(super) fn places(self, name: &str) -> Vec<String> {
        let is_path = name.contains('/') || name.ends_with(".yaml");
        let plain = match self {
            Sort::Machine => vec![format!("topologies/{name}")],
            // A plain name means no file that happens to be somewhere above.
            Sort::Module if is_path => vec![name.to_owned(), format!("topologies/{name}")],
            Sort::Module => Vec::new(),
            Sort::Overlay => vec![format!("topologies/{name}")],
            Sort::Application | Sort::Study | Sort::Validation => Vec::new(),
            Sort::Code | Sort::Data => vec![name.to_owned()],
        };
        let named = self.folders().iter().map(|folder| self.file(folder, name));
        plain.into_iter().chain(named).collect()
    }

    /// The place of a name in the folder of an extension, or in one of `COUNTERPOINT_PATH`.
    pub(super) fn own_place(self, name: &str) -> Option<String> {
        self.own_folder().map(|folder| self.file(folder, name))
    }

    /// The folders of a project whose files have names.
    pub(super) fn folders(self) -> &'static [&'static str] {
        match self {
            Sort::Machine => &["topologies/systems"],
            Sort::Module => &["topologies/modules", "topologies/generations", "topologies/overlays"],
            Sort::Overlay => &["topologies/overlays"],
            Sort::Application => &["experiments/applications"],
            Sort::Study => &["experiments/studies"],
            Sort::Validation => &["experiments/validation"],
            Sort::Code | Sort::Data => &[],
        }
    }

    /// Folder of this sort of file in an extension.
    pub(super) fn own_folder(self) -> Option<&'static str> {
        match self {
            Sort::Machine => Some("machines"),
            Sort::Module => Some("modules"),
            Sort::Overlay => Some("overlays"),
            Sort::Application => Some("applications"),
            Sort::Study => Some("studies"),
            Sort::Validation => Some("validation"),
            Sort::Code | Sort::Data => None,
        }
    }

    fn file(self, folder: &str, name: &str) -> String {
        match self {
            Sort::Application => format!("{folder}/{name}/{name}.yaml"),
            _ => format!("{folder}/{name}.yaml"),
        }
    }

    /// The name of a file in a folder of its sort, by its path there.
    pub(super) fn name(self, path: &str) -> Option<&str> {
        let stem = path.strip_suffix(".yaml")?;
        match (self, stem.split_once('/')) {
            (Sort::Application, Some((folder, name))) if folder == name => Some(name),
            (Sort::Application, _) | (_, Some(_)) => None,
            (_, None) => Some(stem),
        }
    }
}
