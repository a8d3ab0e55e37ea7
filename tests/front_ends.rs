//! The kernels of `tests/front_ends`, as each compiler has made them, without time and with it: results are those that NumPy has
//! computed.

use std::path::{Path, PathBuf};

use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, request, root, run_request};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The text of an application whose kernel is a module: that of the kernel's folder, or of the compiler where its launch is another.
fn application(folder: &Path, module: &Path) -> String {
    let (name, file) = (folder.file_name().unwrap().display(), module.file_name().unwrap());
    let compiler = file.to_str().unwrap().strip_prefix("kernel.").and_then(|dialect| dialect.split_once('-'));
    let own = folder.join(format!("{name}.{}.yaml", compiler.unwrap().0));
    let include = if own.is_file() { own } else { folder.join(format!("{name}.yaml")) };
    let (include, module) = (include.display(), module.display());
    format!("counterpoint: 1\napplication: {name}\ninclude: {include}\ncode: {{ k: {module} }}\n")
}

/// Runs the modules of all kernels in one mode, or one of each kernel's where compilers take turns, and gives their number.
fn run(functional: bool, in_turns: bool) -> usize {
    let own = tempfile::tempdir().unwrap();
    let path = own.path().join("application.yaml");
    let folders = entries(&root().join("tests/front_ends")).into_iter().filter(|path| path.is_dir());
    let mut modules = 0;
    for (place, folder) in folders.enumerate() {
        let mut found = entries(&folder);
        found.retain(|path| path.extension().is_some_and(|e| e == "ptx"));
        if in_turns {
            found = vec![found.swap_remove(place % found.len())];
        }
        for module in found {
            std::fs::write(&path, application(&folder, &module)).unwrap();
            let sets = ["gpu.sm.tensor.units=1", "gpu.sm.tensor.collectors=2", "gpu.memory=64"];
            let request = RunRequest { functional, ..request("tiny", &path.display().to_string(), &sets) };
            let run = std::panic::catch_unwind(|| assert_verified(&run_request(&request)));
            assert!(run.is_ok(), "{}, functional: {functional}", module.display());
            modules += 1;
        }
    }
    modules
}

#[test]
fn modules_of_all_front_ends_are_right_without_time() {
    assert!(run(true, false) >= 100);
}

#[test]
fn a_module_of_each_kernel_is_right_with_time() {
    assert!(run(false, true) >= 25);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn modules_of_all_front_ends_are_right_with_time() {
        assert!(run(false, false) >= 100);
    }
}
