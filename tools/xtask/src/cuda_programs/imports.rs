//! Libraries for the linker alone: each has the names of functions that the command's library has, without their code, and the name under which
//! programs find it when they run. Linked with the command's library itself, a program would have the runtime's functions from it, too, and not
//! from the runtime that nvcc links.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::succeed;

/// The name that the linker looks for, the library that a program asks for when it runs, and which functions it has.
const IMPORTS: [(&str, &str, IsOf); 5] = [
    ("cublas", "libcublas.so.13", |name| name.starts_with("cublas") && !name.starts_with("cublasLt")),
    ("cublasLt", "libcublasLt.so.13", |name| name.starts_with("cublasLt")),
    ("curand", "libcurand.so.10", |name| name.starts_with("curand")),
    ("cuda", "libcuda.so.1", is_of_the_driver),
    ("nvidia-ml", "libnvidia-ml.so.1", |name| name.starts_with("nvml")),
];

type IsOf = fn(&str) -> bool;

/// `cu` and a capital.
fn is_of_the_driver(name: &str) -> bool {
    name.strip_prefix("cu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// Writes them into a folder below that of the command's libraries.
pub(super) fn write(libraries: &Path) -> Result<PathBuf, String> {
    let folder = libraries.join("link");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(libraries.join("libcounterpoint_cuda.so"));
    let output = nm.output().map_err(|error| format!("nm: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    for (name, asked_for, is_of) in IMPORTS {
        let source = folder.join(format!("{name}.c"));
        let written = std::fs::write(&source, stubs(&text, is_of));
        written.map_err(|error| format!("{}: {error}", source.display()))?;
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-nostdlib", "-w", &format!("-Wl,-soname,{asked_for}"), "-o"]);
        compiler.arg(folder.join(format!("lib{name}.so"))).arg(&source);
        succeed(compiler)?;
    }
    Ok(folder)
}

/// Empty functions in C, from lines `ADDRESS KIND NAME`.
fn stubs(symbols: &str, is_of: IsOf) -> String {
    let names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.filter(|name| is_of(name)).map(|name| format!("void {name}(void) {{}}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_its_own_names() {
        let symbols =
            "1 T cudaMalloc\n2 T cuInit\n3 T cublasLtMatmul\n4 T cublasCreate_v2\n5 T curandGenerate\n";
        let names = |library: usize| stubs(symbols, IMPORTS[library].2);
        assert_eq!(names(0), "void cublasCreate_v2(void) {}\n");
        assert_eq!(names(1), "void cublasLtMatmul(void) {}\n");
        assert_eq!(names(2), "void curandGenerate(void) {}\n");
        assert_eq!(names(3), "void cuInit(void) {}\n");
        assert_eq!(names(4), "");
    }
}
