//! `cargo xtask cuda-compilers FOLDER`: brings compilers of CUDA programs into a folder, without a toolkit and without a GPU. NVIDIA's own comes
//! whole, as wheels (`nvcc/nvidia/cu13/bin/nvcc`); for Clang the headers and the device library of CUDA 11.8 (`clang`), with which it
//! compiles for architectures before Turing as well.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::report;

/// Wheels of NVIDIA's compiler, and of all that it needs.
const NVCC: &[&str] = &[
    "nvidia-cuda-nvcc==13.5.37",
    "nvidia-nvvm==13.5.37",
    "nvidia-cuda-crt==13.5.37",
    "nvidia-cuda-runtime==13.5.37",
    "nvidia-cuda-cccl==13.3.5.0.6",
];
/// Wheels with the headers that Clang's own include.
const HEADERS: &[&str] =
    &["nvidia-cuda-runtime-cu11==11.8.89", "nvidia-cuda-nvcc-cu11==11.8.89", "nvidia-curand-cu11==10.3.0.86"];
/// Their folders.
const PARTS: [&str; 3] = ["cuda_runtime", "cuda_nvcc", "curand"];

/// The newest version that Clang 14 has heard of; it takes the headers of 11.8 for those, and compiles with them.
const VERSION: &str = "CUDA Version 11.5.0\n";

/// Brings compilers of CUDA programs, as wheels, into a folder.
#[derive(clap::Args)]
pub(crate) struct CudaCompilers {
    folder: PathBuf,
}

impl CudaCompilers {
    pub(crate) fn run(&self) -> Result<(), String> {
        bring(&self.folder)
    }
}

fn bring(folder: &Path) -> Result<(), String> {
    let (nvcc, headers, clang) = (folder.join("nvcc"), folder.join("headers"), folder.join("clang"));
    wheels(NVCC, &nvcc)?;
    wheels(HEADERS, &headers)?;
    let wrong = |error: io::Error| format!("{}: {error}", folder.display());
    let root = nvcc.join("nvidia/cu13");
    link(Path::new("libcudart.so.13"), &root.join("lib/libcudart.so")).map_err(wrong)?;
    lay_out(&headers.canonicalize().map_err(wrong)?, &clang).map_err(wrong)?;
    report(&format!("--nvcc {}", root.join("bin/nvcc").display()));
    report(&format!("--clang clang++ --cuda {}", clang.display()));
    Ok(())
}

fn wheels(names: &[&str], folder: &Path) -> Result<(), String> {
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--root-user-action=ignore",
        "--disable-pip-version-check",
        "--no-deps",
        "--upgrade",
        "--target",
    ])
    .arg(folder)
    .args(names);
    let status = pip.status().map_err(|error| format!("python3: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("pip could not install {}", names.join(" "))) }
}

/// The folders of a toolkit as Clang looks for them.
fn lay_out(headers: &Path, root: &Path) -> io::Result<()> {
    for folder in ["include", "bin", "lib64"] {
        std::fs::create_dir_all(root.join(folder))?;
    }
    for part in PARTS {
        let include = headers.join("nvidia").join(part).join("include");
        for entry in std::fs::read_dir(include)? {
            let entry = entry?;
            link(&entry.path(), &root.join("include").join(entry.file_name()))?;
        }
    }
    link(&headers.join("nvidia/cuda_nvcc/nvvm"), &root.join("nvvm"))?;
    std::fs::write(root.join("version.txt"), VERSION)
}

fn link(to: &Path, at: &Path) -> io::Result<()> {
    match std::fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    symlink(to, at)
}
