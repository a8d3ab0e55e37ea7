//! Compiles every `kernel.cu` of `experiments/applications` and of papers' `applications` and `cuda` to PTX again, in the dialects of the
//! compilers at hand. The dialect that an application names in its YAML lies beside it, the others in the archive of `tests/corpus`
//! (`corpora.rs`). Kernels in `cuda` keep the dialects that lie beside them. Then the kernels of `tests/front_ends` follow (`front_ends.rs`).
//! Clang compiles those of the libraries that CUDA programs load, too.
//!
//! No compiler is part of this repository: the user names those at hand. The
//! dialects, and the versions that made the committed files, are described in
//! `experiments/applications/README.md` and `tests/front_ends/README.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::corpora::{self, CORPORA};
use crate::front_ends::Compilers;
use crate::tree::{git, root};

/// No part of the CUDA SDK is needed: `cuda.h` beside the applications has the declarations that the kernels
/// use.
pub(crate) const CLANG_FLAGS: [&str; 8] = [
    "-x",
    "cuda",
    "--cuda-device-only",
    "-nocudainc",
    "-nocudalib",
    "-fms-extensions",
    "-Wno-unknown-cuda-version",
    "-O2",
];

/// Architectures for clang; newer versions of clang refuse `sm_20`, whose files then stay as they are.
const CLANG_ARCHITECTURES: [&str; 2] = ["sm_20", "sm_35"];

/// Kernels of libraries, which every GPU since Kepler loads, and what clang is told beside: they are kept small.
const LIBRARIES: &str = "tools/cuda/runtime/kernels";
const LIBRARY_ARCHITECTURE: &str = "sm_35";
const LIBRARY_FLAGS: [&str; 2] = ["-std=c++17", "-fno-unroll-loops"];

/// Reaches NVRTC through ctypes, so that nothing has to be linked.
pub(crate) const NVRTC_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/nvrtc.py");

/// Compiles the committed kernels to PTX again, with the compilers at hand.
#[derive(clap::Args)]
pub(crate) struct Ptx {
    /// A clang.
    #[arg(long, value_name = "PROGRAM", required_unless_present_any = ["nvrtc", "nvcc", "python", "unpack"])]
    clang: Option<String>,
    /// A library of NVRTC; several give several dialects.
    #[arg(long, value_name = "LIBRARY")]
    nvrtc: Vec<PathBuf>,
    /// NVIDIA's compiler.
    #[arg(long, value_name = "PROGRAM")]
    nvcc: Option<String>,
    /// A Python with NumPy, Triton and Numba.
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,
    /// The only folder of kernels.
    #[arg(long, value_name = "FOLDER")]
    only: Option<String>,
    /// Leaves all committed modules as they are, and fails if one differs from what the compilers write.
    #[arg(long)]
    check: bool,
    /// Only writes the modules of the archives into their folders, for a look or a run.
    #[arg(long, conflicts_with_all = ["clang", "nvrtc", "nvcc", "python", "check"])]
    unpack: bool,
}

impl Ptx {
    pub(crate) fn run(&self) -> Result<(), String> {
        let root = root()?;
        if self.check {
            return self.compare(&root);
        }
        corpora::unpack(&root)?;
        if self.unpack {
            return Ok(());
        }
        compile_all(self, &root)?;
        corpora::pack(&root)
    }

    /// Compiles in a copy: tests may read the committed modules at the same time.
    fn compare(&self, root: &Path) -> Result<(), String> {
        let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
        let folders = ["experiments/applications", "experiments/papers", LIBRARIES];
        let files = git(&[&["ls-files", "-co", "--exclude-standard"], &folders[..], &CORPORA[..]].concat())?;
        for file in &files {
            let to = copy.path().join(file);
            let made = std::fs::create_dir_all(to.parent().unwrap_or(&to));
            made.and_then(|()| std::fs::copy(root.join(file), &to))
                .map_err(|error| format!("{file}: {error}"))?;
        }
        corpora::unpack(copy.path())?;
        compile_all(self, copy.path())?;
        let mut different = corpora::differences(copy.path())?;
        let [before, after] =
            [root, copy.path()].map(|root| move |file: &String| std::fs::read(root.join(file)).ok());
        let beside = files.iter().filter(|file| file.ends_with(".ptx"));
        different.extend(beside.filter(|file| before(file) != after(file)).cloned());
        if different.is_empty() {
            return Ok(());
        }
        Err(format!("the compilers write other modules than are committed:\n{}", different.join("\n")))
    }
}

fn compile_all(request: &Ptx, root: &Path) -> Result<(), String> {
    let front_ends = crate::front_ends::folders(root, request.only.as_deref())?;
    let folders = match (folders(root, request.only.as_deref()), &front_ends[..]) {
        (Err(error), []) => return Err(error),
        (folders, _) => folders.unwrap_or_default(),
    };
    let mut modern = None;
    let enter = request.only.is_some();
    if let Some(clang) = &request.clang {
        for architecture in CLANG_ARCHITECTURES {
            if !knows(clang, architecture)? {
                crate::report(&format!(
                    "{clang} knows no {architecture}; kernel.clang-{architecture}.ptx stays"
                ));
                continue;
            }
            for (folder, target) in made(targets(root, &folders, &format!("clang-{architecture}"), enter)?)? {
                compile(clang, architecture, folder, &target)?;
            }
        }
        if !enter && knows(clang, LIBRARY_ARCHITECTURE)? {
            compile_libraries(clang, root)?;
        }
    }
    for library in &request.nvrtc {
        let what = format!("NVRTC ({})", library.display());
        let nvrtc = || {
            let mut command = Command::new("python3");
            command.arg(NVRTC_SCRIPT).arg(library);
            command
        };
        let output = nvrtc().output().map_err(|error| format!("{what}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        let dialect = format!("nvrtc-{}", String::from_utf8_lossy(&output.stdout).trim());
        if dialect == "nvrtc-sm_70" {
            modern = Some(library.as_path());
        }
        // A process for each: the library numbers the calls of all that it compiles.
        for (folder, target) in made(targets(root, &folders, &dialect, enter)?)? {
            let mut command = nvrtc();
            command.arg(folder.join("kernel.cu")).arg(target);
            succeed(command, &format!("{what} in {}", folder.display()))?;
        }
    }
    let compilers = Compilers {
        clang: request.clang.as_deref(),
        nvcc: request.nvcc.as_deref(),
        nvrtc: modern,
        python: request.python.as_deref(),
    };
    crate::front_ends::run(&front_ends, &compilers)
}

/// Applications with CUDA C, including those of papers, and papers' own kernels; or the requested one.
fn folders(root: &Path, only: Option<&str>) -> Result<Vec<PathBuf>, String> {
    let root = root.join("experiments");
    let papers = entries(&root.join("papers"))?;
    let of_papers = papers.iter().flat_map(|paper| ["applications", "cuda"].map(|inner| paper.join(inner)));
    let mut folders = entries(&root.join("applications"))?;
    for inner in of_papers.filter(|folder| folder.is_dir()) {
        folders.extend(entries(&inner)?);
    }
    folders.retain(|folder| folder.join("kernel.cu").is_file());
    folders.sort();
    if let Some(name) = only {
        folders.retain(|folder| folder.file_name().is_some_and(|file| file == name));
        if folders.is_empty() {
            return Err(format!("no application `{name}` below {} has a kernel.cu", root.display()));
        }
    }
    Ok(folders)
}

pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

/// The folders whose kernels are kept in a dialect, each with the file. An application that is not in the corpus has one
/// dialect only, unless it is to `enter` the corpus.
fn targets<'a>(
    root: &Path,
    folders: &'a [PathBuf],
    dialect: &str,
    enter: bool,
) -> Result<Vec<(&'a Path, PathBuf)>, String> {
    let corpus = corpora::packed(root, CORPORA[0])?;
    let packed: BTreeSet<&str> = corpus.names().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    let file = format!("kernel.{dialect}.ptx");
    let mut targets = Vec::new();
    for folder in folders {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let yaml = folder.join(name).with_extension("yaml");
        let others = root.join(CORPORA[0]).join(name);
        let is_own = if yaml.is_file() {
            let text = std::fs::read_to_string(&yaml);
            text.map_err(|error| format!("{}: {error}", yaml.display()))?.contains(&file)
        } else {
            folder.join(&file).is_file()
        };
        if is_own {
            targets.push((folder.as_path(), folder.join(&file)));
        } else if yaml.is_file() && (enter || packed.contains(name)) {
            targets.push((folder.as_path(), others.join(&file)));
        }
    }
    Ok(targets)
}

/// The targets, after creating the missing folders of their files.
fn made(targets: Vec<(&Path, PathBuf)>) -> Result<Vec<(&Path, PathBuf)>, String> {
    for folder in targets.iter().filter_map(|(_, target)| target.parent()) {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    Ok(targets)
}

/// Whether a clang can compile for an architecture: it compiles nothing for it.
fn knows(clang: &str, architecture: &str) -> Result<bool, String> {
    let output = command(clang, architecture).args(["-fsyntax-only", "/dev/null"]).output();
    Ok(output.map_err(|error| format!("{clang}: {error}"))?.status.success())
}

fn compile(clang: &str, architecture: &str, folder: &Path, target: &Path) -> Result<(), String> {
    let mut command = command(clang, architecture);
    command.args(["-S", "kernel.cu", "-o"]).arg(target).current_dir(folder);
    succeed(command, &format!("{clang} for {architecture} in {}", folder.display()))
}

fn compile_libraries(clang: &str, root: &Path) -> Result<(), String> {
    let folder = root.join(LIBRARIES);
    for source in entries(&folder)?.iter().filter(|file| file.extension().is_some_and(|end| end == "cu")) {
        let mut command = command(clang, LIBRARY_ARCHITECTURE);
        command.args(LIBRARY_FLAGS).arg("-S").arg(source).arg("-o").arg(source.with_extension("ptx"));
        succeed(command, &format!("{clang} for {}", source.display()))?;
    }
    Ok(())
}

fn command(clang: &str, architecture: &str) -> Command {
    let mut command = Command::new(clang);
    command.args(CLANG_FLAGS).arg("-ffp-contract=fast").arg(format!("--cuda-gpu-arch={architecture}"));
    command
}

pub(crate) fn succeed(mut command: Command, what: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what}: failed")) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        ptx: Ptx,
    }

    #[test]
    fn compilers_are_named() {
        let parsed = |words: &[&str]| Line::try_parse_from([&["ptx"], words].concat());
        let request = parsed(&["--clang", "clang-14", "--nvrtc", "a.so", "--nvrtc", "b.so"]).unwrap().ptx;
        assert_eq!(request.clang.as_deref(), Some("clang-14"));
        assert_eq!(request.nvrtc.len(), 2);
        for wrong in [&[][..], &["--clang"], &["--clangg", "clang"], &["--only", "vecadd"]] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn only_what_exists_is_compiled() {
        let root = root().unwrap();
        assert_eq!(folders(&root, Some("vecadd")).unwrap().len(), 1);
        assert!(folders(&root, Some("vekadd")).is_err());
        assert!(folders(&root, None).unwrap().len() >= 19);
    }

    #[test]
    fn what_an_application_names_lies_beside_it_and_the_rest_in_the_corpus() {
        let root = root().unwrap();
        let target = |name: &str, dialect: &str| {
            let folders = folders(&root, Some(name)).unwrap();
            let targets = targets(&root, &folders, dialect, false).unwrap();
            targets.into_iter().next().map(|(_, target)| target.display().to_string())
        };
        let own = target("vecadd", "nvrtc-sm_35").unwrap();
        assert!(own.ends_with("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx"), "{own}");
        let other = target("vecadd", "clang-sm_20").unwrap();
        assert!(other.ends_with("tests/corpus/vecadd/kernel.clang-sm_20.ptx"), "{other}");
        assert_eq!(target("reference-tea", "clang-sm_20"), None);
    }
}
