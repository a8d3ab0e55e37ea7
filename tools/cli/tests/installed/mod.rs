//! The command as installed: in a folder without files of the repository, in it or above it.

mod checkout;
mod looked_for;
mod starters;

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// An empty working directory, with a folder of caches beside it.
pub(crate) struct WorkFolder {
    root: TempDir,
}

#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) status: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl WorkFolder {
    pub(crate) fn empty() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("work")).unwrap();
        let is_checkout =
            |folder: &Path| folder.join("topologies").exists() || folder.join("experiments").exists();
        assert!(!root.path().ancestors().any(is_checkout), "{} lies in a checkout", root.path().display());
        WorkFolder { root }
    }

    /// A path in the working directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    /// A path beside the working directory.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_counterpoint"));
        command.current_dir(self.path("")).args(arguments);
        command.env("XDG_CACHE_HOME", self.beside("cache")).env_remove("COUNTERPOINT_PATH");
        command
    }

    /// Calls the command in the folder.
    pub(crate) fn call(&self, arguments: &[&str]) -> Called {
        called(self.command(arguments))
    }

    /// Calls the command, expects that it succeeds, and returns its output.
    pub(crate) fn works(&self, arguments: &[&str]) -> String {
        let called = self.call(arguments);
        assert_eq!(called.status, Some(0), "{arguments:?}: {}{}", called.out, called.err);
        called.out
    }
}

pub(crate) fn called(mut command: Command) -> Called {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Called { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn everything_is_listed_and_described() {
    let place = WorkFolder::empty();
    let names = |what: &str| -> Vec<String> {
        let list = place.works(&["list", what]);
        list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    for (what, least, some) in [
        ("machines", 15, "crcs-64sm-pcie3-ssd"),
        ("modules", 3, "gpu"),
        ("generations", 4, "fermi"),
        ("overlays", 14, "crcs-ppcs"),
        ("applications", 80, "hotspot"),
        ("studies", 30, "sm-scaling"),
    ] {
        let names = names(what);
        assert!(names.len() >= least && names.iter().any(|name| name == some), "{what}: {names:?}");
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "{what}");
    }
    let all = place.works(&["list"]);
    assert!(all.contains("\nstudies\n") && all.contains("\ngenerators\n"), "{all}");
    let paths = place.works(&["list", "machines", "--paths"]);
    assert!(paths.contains("built-in:topologies/systems/tiny.yaml\n"), "{paths}");
    // Every machine is sound where nothing but the program is.
    for machine in names("machines") {
        place.works(&["check", &machine]);
    }
    assert!(place.works(&["check", "tiny", "hotspot"]).contains("application hotspot"));
    assert!(!place.path("out").exists());
}

#[test]
fn what_is_built_in_runs_and_is_verified() {
    let place = WorkFolder::empty();
    for (machine, application, options) in [
        ("tiny", "vecadd", &[][..]),
        ("crcs-64sm-pcie3-ssd", "hotspot", &["--with", "crcs-ppcs", "--set", "app.size=small"]),
        ("tiny", "kernelet-bs", &["--functional", "--set", "app.size=small"]),
        ("tiny", "mix-hot", &["--functional", "--set", "app.size=small"]),
    ] {
        let printed = place.works(&[&["run", machine, application], options].concat());
        assert!(printed.contains("verified"), "{application}: {printed}");
    }
    let manifest = std::fs::read_to_string(place.path("out/tiny/vecadd/manifest.yaml")).unwrap();
    for part in [
        "file: built-in:experiments/applications/vecadd/vecadd.yaml\n",
        "- file: built-in:experiments/applications/vecadd/data/a_10000.f32\n",
    ] {
        assert!(manifest.contains(part), "{part}{manifest}");
    }
    // The working directory has results only.
    let there: Vec<_> =
        std::fs::read_dir(place.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(there, ["out"]);
}

#[test]
fn studies_and_validation_work() {
    let place = WorkFolder::empty();
    let small = ["study", "sm-scaling", "--scale", "small", "--filter", "vecadd / 1 /"];
    let printed = place.works(&small);
    assert!(printed.contains("40 points: 2 have run"), "{printed}");
    place.works(&["report", "out/studies/sm-scaling-small"]);
    let page = std::fs::read_to_string(place.path("out/studies/sm-scaling-small/report.html")).unwrap();
    assert!(page.contains("built-in:experiments/applications/vecadd/vecadd.yaml"));
    let printed = place.works(&["study", "crcs-figure-10", "--scale", "small", "--filter", "/ hotspot /"]);
    assert!(printed.contains(" 0 failed"), "{printed}");
    let printed = place.works(&["validate", "gtx480", "--only", "reference-vecadd"]);
    assert!(printed.contains("reference-vecadd"), "{printed}");
    let printed = place.works(&["validate", "gtx480", "--peaks", "--quick", "--json"]);
    assert!(printed.contains("\"source\""), "{printed}");
}
