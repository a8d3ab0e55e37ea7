//! Compiles the kernels of `tests/front_ends`, each by the compilers that the first line of its source names, and has NumPy make
//! their inputs and expected results.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::ptx::{CLANG_FLAGS, NVRTC_SCRIPT};

/// Sources of a kernel: CUDA C, and Python for Triton and Numba.
const SOURCES: [&str; 3] = ["kernel.cu", "kernel_triton.py", "kernel_numba.py"];

/// The first line of a source names its modules behind this, as `COMPILER-ARCHITECTURE`.
const MODULES: &str = "Modules:";

const PYTHON_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/front_ends.py");

/// Compilers that the user has named.
pub(crate) struct Compilers<'a> {
    pub(crate) clang: Option<&'a str>,
    pub(crate) nvcc: Option<&'a str>,
    /// An NVRTC that knows sm_70.
    pub(crate) nvrtc: Option<&'a Path>,
    /// A Python with NumPy, Triton and Numba.
    pub(crate) python: Option<&'a str>,
}

/// Folders of kernels, or the requested one, if it exists.
pub(crate) fn folders(root: &Path, only: Option<&str>) -> Result<Vec<PathBuf>, String> {
    let mut folders = crate::ptx::entries(&root.join("tests/front_ends"))?;
    folders.retain(|folder| folder.is_dir());
    if let Some(name) = only {
        folders.retain(|folder| folder.file_name().is_some_and(|file| file == name));
    }
    folders.sort();
    Ok(folders)
}

pub(crate) fn run(folders: &[PathBuf], compilers: &Compilers<'_>) -> Result<(), String> {
    for folder in folders {
        for source in SOURCES.map(|name| folder.join(name)).iter().filter(|source| source.is_file()) {
            for module in modules(source)? {
                compile(source, &module, compilers)?;
            }
        }
        if let Some(python) = compilers.python {
            let mut command = Command::new(python);
            command.arg(PYTHON_SCRIPT).arg("arrays").arg(folder.join("arrays.py"));
            crate::ptx::succeed(command, &format!("NumPy in {}", folder.display()))?;
        }
    }
    Ok(())
}

/// The modules that the first line of a source names.
fn modules(source: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(source).map_err(|error| format!("{}: {error}", source.display()))?;
    let line = text.lines().next().unwrap_or_default();
    let names = line.split_once(MODULES).ok_or_else(|| {
        format!("{}: the first line names no modules (`{MODULES} nvcc-sm_80`)", source.display())
    })?;
    Ok(names.1.split_whitespace().map(str::to_owned).collect())
}

/// Compiles a source to a module, if its compiler is at hand.
fn compile(source: &Path, module: &str, compilers: &Compilers<'_>) -> Result<(), String> {
    let folder = source.parent().unwrap_or(source);
    let target = folder.join(format!("kernel.{module}.ptx"));
    let (compiler, architecture) = module.split_once('-').unwrap_or((module, ""));
    let number = architecture.strip_prefix("sm_").unwrap_or_default();
    let command = match compiler {
        "clang" => compilers.clang.map(|clang| {
            let mut command = Command::new(clang);
            command.args(CLANG_FLAGS).arg("-S").arg(format!("--cuda-gpu-arch={architecture}"));
            command.arg(source).arg("-o").arg(&target);
            command
        }),
        "nvcc" => compilers.nvcc.map(|nvcc| {
            let mut command = Command::new(nvcc);
            command.args(["-ptx", "-std=c++17", &format!("-arch={architecture}")]);
            command.arg("kernel.cu").arg("-o").arg(&target).current_dir(folder);
            command
        }),
        "nvrtc" => compilers.nvrtc.map(|library| {
            let mut command = Command::new("python3");
            command.arg(NVRTC_SCRIPT).arg(library).args([source, &target]).arg(number);
            command
        }),
        "triton" | "numba" => compilers.python.map(|python| {
            let mut command = Command::new(python);
            command.args([PYTHON_SCRIPT, compiler]).args([source, &target]).arg(number);
            command
        }),
        _ => return Err(format!("{}: there is no compiler {compiler}", source.display())),
    };
    match command {
        Some(command) => crate::ptx::succeed(command, &format!("{module} of {}", folder.display())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_modules_are_those_that_sources_name() {
        let root = crate::tree::root().unwrap();
        let packed = crate::corpora::packed(&root, "tests/front_ends").unwrap();
        let mut all = 0;
        for folder in folders(&root, None).unwrap() {
            let sources = SOURCES.map(|name| folder.join(name));
            let sources = sources.iter().filter(|source| source.is_file());
            let mut named: Vec<String> = sources.flat_map(|source| modules(source).unwrap()).collect();
            named.sort();
            let prefix = format!("{}/kernel.", folder.file_name().unwrap().display());
            let there: Vec<&str> = packed
                .names()
                .filter_map(|name| name.strip_suffix(".ptx")?.strip_prefix(prefix.as_str()))
                .collect();
            assert_eq!(named, there, "{}", folder.display());
            all += named.len();
        }
        assert_eq!(all, packed.names().count(), "each kernel is in a folder");
        assert!(all >= 100, "{all}");
    }

    #[test]
    fn a_compiler_that_is_not_there_is_an_error_and_one_that_is_not_given_none() {
        let source = folders(&crate::tree::root().unwrap(), Some("softmax")).unwrap()[0].join("kernel.cu");
        let none = Compilers { clang: None, nvcc: None, nvrtc: None, python: None };
        assert_eq!(compile(&source, "nvcc-sm_80", &none), Ok(()));
        assert!(compile(&source, "icc-sm_80", &none).unwrap_err().contains("no compiler icc"));
    }
}
