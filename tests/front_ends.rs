//! Kernels of `tests/front_ends`, as compiled by each front end, run without time and with it; the results must equal those of
//! NumPy.

use std::collections::BTreeMap;
use std::path::Path;

use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, modules, request, root, run_request};

/// The text of an application whose kernel is `module.ptx`: that of the kernel's folder, or of the compiler where its launch is another.
fn application(folder: &Path, file: &str) -> String {
    let name = folder.file_name().unwrap().display();
    let compiler = file.strip_prefix("kernel.").and_then(|dialect| dialect.split_once('-'));
    let own = folder.join(format!("{name}.{}.yaml", compiler.unwrap().0));
    let include = if own.is_file() { own } else { folder.join(format!("{name}.yaml")) };
    let include = include.display();
    format!("counterpoint: 1\napplication: {name}\ninclude: {include}\ncode: {{ k: module.ptx }}\n")
}

/// Runs the modules of all kernels in one mode, or one of each kernel's where compilers take turns, and gives their number.
fn run(functional: bool, in_turns: bool) -> usize {
    let own = tempfile::tempdir().unwrap();
    let [path, code] = ["application.yaml", "module.ptx"].map(|name| own.path().join(name));
    let packed = modules("front_ends");
    let mut kernels = BTreeMap::<&str, Vec<&str>>::new();
    for module in packed.names() {
        let (kernel, file) = module.split_once('/').unwrap();
        kernels.entry(kernel).or_default().push(file);
    }
    let mut modules = 0;
    for (place, (kernel, mut found)) in kernels.into_iter().enumerate() {
        if in_turns {
            found = vec![found.swap_remove(place % found.len())];
        }
        for file in found {
            std::fs::write(&code, packed.read(&format!("{kernel}/{file}")).unwrap()).unwrap();
            let text = application(&root().join("tests/front_ends").join(kernel), file);
            std::fs::write(&path, text).unwrap();
            let sets = ["gpu.sm.tensor.units=1", "gpu.sm.tensor.collectors=2", "gpu.memory=64 MiB"];
            // Triton's threads load a word of the lock together, and one of them stores it without a `bar.warp.sync` in between.
            let racecheck = functional && !(kernel == "locks" && file.contains("triton"));
            let request =
                RunRequest { functional, racecheck, ..request("tiny", &path.display().to_string(), &sets) };
            let run = std::panic::catch_unwind(|| assert_verified(&run_request(&request)));
            assert!(run.is_ok(), "{kernel}/{file}, functional: {functional}");
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
