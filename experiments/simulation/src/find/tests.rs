//! Names are found in the order that the module's page gives.

use std::path::{Path, PathBuf};

use counterpoint_framework::model::Registry;
use counterpoint_framework::topology;

use super::*;

/// Files of an extension, and files that belong to nobody, as build scripts pack them.
fn registry(root: &Path) -> Registry {
    let carried = |folder: &'static str, files: &[(&str, &str)], folders: &[&str]| {
        let from = root.join("packed").join(folder);
        files.iter().for_each(|(name, text)| write(&from.join(name), text));
        let (bytes, _) = counterpoint_archive::packed(&from, folders).unwrap();
        BuiltIn::new(folder, bytes.leak())
    };
    let generic = [
        ("topologies/systems/tiny.yaml", "the built-in one"),
        ("topologies/modules/gpu.yaml", "a module"),
        ("experiments/applications/heat/heat.yaml", "an application"),
        ("experiments/applications/heat/kernel.ptx", "its code"),
    ];
    let own = [("machines/huge.yaml", "a machine"), ("overlays/cold.yaml", "an overlay")];
    let mut registry = Registry::default();
    registry.add(carried("", &generic, &["topologies", "experiments"]));
    registry.add(carried("extension", &own, &["machines", "overlays"]));
    registry
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn what_is_nearer_takes_the_place_of_what_is_further() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry(root.path());
    let start = root.path().join("a/b");
    std::fs::create_dir_all(&start).unwrap();
    let more = root.path().join("more");
    let files = ProjectFiles::with(&start, vec![more.clone()], &registry);
    let found = |name: &str| files.find(Sort::Machine, name).unwrap();
    let at = |path: PathBuf| path.display().to_string();
    assert_eq!(found("tiny"), "built-in:topologies/systems/tiny.yaml");
    assert_eq!(found(&found("tiny")), found("tiny"));
    for place in
        ["more/machines/tiny.yaml", "more/topologies/systems/tiny.yaml", "topologies/systems/tiny.yaml"]
    {
        write(&root.path().join(place), place);
        assert_eq!(found("tiny"), at(root.path().join(place)));
        assert_eq!(files.list(Sort::Machine)["tiny"], found("tiny"));
    }
    write(&start.join("tiny"), "");
    assert_eq!(found("tiny"), at(start.join("tiny")));
    write(&more.join("own.yaml"), "");
    assert_eq!(found("own.yaml"), at(more.join("own.yaml")));
}

#[test]
fn files_of_extensions_have_names_and_can_be_replaced() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry(root.path());
    let start = root.path().join("empty");
    let files = ProjectFiles::with(&start, Vec::new(), &registry);
    let huge = files.find(Sort::Machine, "huge").unwrap();
    assert_eq!(
        (huge.as_str(), files.text(&huge).unwrap().as_str()),
        ("built-in:extension/machines/huge.yaml", "a machine")
    );
    assert!(files.find(Sort::Overlay, "huge").is_err());
    assert_eq!(list(Sort::Machine, &start, &registry), ["huge", "tiny"]);
    assert_eq!(list(Sort::Application, &start, &registry), ["heat"]);
    let own = root.path().join("extension/machines/huge.yaml");
    write(&own, "");
    assert_eq!(files.find(Sort::Machine, "huge").unwrap(), own.display().to_string());
}

#[test]
fn files_name_what_is_beside_them_and_what_has_a_name() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry(root.path());
    let files = ProjectFiles::with(root.path(), Vec::new(), &registry);
    let tiny = "built-in:topologies/systems/tiny.yaml";
    let gpu = "built-in:topologies/modules/gpu.yaml";
    let own = root.path().join("own.yaml").display().to_string();
    for (from, name) in
        [(tiny, "../modules/gpu.yaml"), (tiny, "gpu"), (&own, "gpu"), (&own, "modules/gpu.yaml")]
    {
        assert_eq!(topology::Files::locate(&files, from, name).unwrap(), gpu, "{name} in {from}");
    }
    write(&root.path().join("gpu"), "");
    assert!(topology::Files::locate(&files, &own, "gpu").unwrap().ends_with("/gpu"));
    let missing = topology::Files::locate(&files, tiny, "../../../../gpu.yaml").unwrap_err();
    assert_eq!(missing.message, "no such file: `../../../../gpu.yaml` (module)");
    assert_eq!(missing.help[0], "did you mean `gpu`?");
    let heat = "built-in:experiments/applications/heat/heat.yaml";
    let code = Files::locate(&files, heat, Sort::Code, "kernel.ptx").unwrap();
    assert_eq!(files.contents(&code).unwrap(), b"its code");
}

#[test]
fn made_files_of_built_in_applications_are_kept_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry(root.path());
    let files = ProjectFiles::with(root.path(), Vec::new(), &registry);
    let heat = "built-in:experiments/applications/heat/heat.yaml";
    let (path, place) = files.made(heat, "data/x.f32", "uniform").unwrap();
    assert_eq!(path, "built-in:experiments/applications/heat/data/x.f32");
    assert!(
        place.is_absolute()
            && place.ends_with("x.f32")
            && place.to_string_lossy().contains("counterpoint/inputs/")
    );
    assert_ne!(files.made(heat, "data/x.f32", "other").unwrap().1, place);
    let (path, place) = files.made("mine/heat.yaml", "data/x.f32", "uniform").unwrap();
    assert_eq!((path.as_str(), place.as_path()), ("mine/data/x.f32", Path::new("mine/data/x.f32")));
}

#[test]
fn a_path_that_is_not_there_is_no_file_and_no_name() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry(root.path());
    let files = ProjectFiles::with(root.path(), Vec::new(), &registry);
    for name in ["machines/of-mine.yaml", "of-mine.yaml", "/no/where"] {
        let missing = files.find(Sort::Machine, name).unwrap_err();
        assert_eq!(missing.message, format!("no such file: `{name}` (machine)"));
        assert!(!missing.to_string().contains("tiny"), "{missing}");
    }
}

#[test]
fn who_finds_nothing_reads_where_it_was_looked_for() {
    let root = tempfile::tempdir().unwrap();
    let registry = registry(root.path());
    let files = ProjectFiles::with(root.path(), vec!["/more".into()], &registry);
    let missing = files.find(Sort::Application, "haet").unwrap_err().to_string();
    let folder = root.path().display();
    assert_eq!(
        missing,
        format!(
            "there is no application `haet`\n  help: did you mean `heat`?\n  help: looked for `haet`, \
             `experiments/applications/haet/haet.yaml`, in {folder} and the folders above it, in those of COUNTERPOINT_PATH (/more), \
             `applications/haet/haet.yaml` of extensions, and among the built-in files"
        )
    );
    let missing = files.find(Sort::Machine, "nothing like it").unwrap_err().to_string();
    assert!(missing.contains("\n  help: there are: huge, tiny\n"), "{missing}");
    assert!(files.find(Sort::Machine, "built-in:topologies/none.yaml").is_err());
    assert_eq!(files.text("built-in:topologies/none.yaml").unwrap_err(), "no such file");
}
