//! Compiles every `experiments/applications/*/kernel.cu` to PTX again, in clang's dialect.
//!
//! NVRTC's dialect needs a library that is not ours to ship; `experiments/applications/README.md` says how
//! it is made.

use std::path::Path;
use std::process::Command;

const FLAGS: [&str; 9] = [
    "-x",
    "cuda",
    "--cuda-device-only",
    "--cuda-gpu-arch=sm_35",
    "-nocudainc",
    "-nocudalib",
    "-fms-extensions",
    "-Wno-unknown-cuda-version",
    "-O2",
];

/// Compiles all kernels; `CLANG` names the compiler, if it is not `clang`.
pub(crate) fn run() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/applications");
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let entries = std::fs::read_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut folders: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.join("kernel.cu").is_file()) {
        let status = Command::new(&clang)
            .args(FLAGS)
            .args(["-ffp-contract=fast", "-S", "kernel.cu", "-o", "kernel.clang-sm_35.ptx"])
            .current_dir(folder)
            .status()
            .map_err(|error| format!("{clang}: {error}"))?;
        if !status.success() {
            return Err(format!("{clang} failed in {}", folder.display()));
        }
    }
    Ok(())
}
