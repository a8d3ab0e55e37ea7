//! The programs of a folder: each a source with a `main`, and the sources beside it that belong to it.
//!
//! A program includes the other sources of its folder, and of the folders below, that have no `main` and that no source includes. Folders
//! below that have a `main` of their own are programs of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::ptx::entries;
use super::declared;

/// Ends of the names of sources.
const SOURCES: [&str; 4] = ["cu", "cpp", "cc", "c"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) name: String,
    /// The source that has `main`.
    pub(super) main: PathBuf,
    /// Sources that it may need, in order.
    pub(super) others: Vec<PathBuf>,
    /// Libraries that it uses beside CUDA's runtime, with their places, in the order of the list.
    pub(super) libraries: Vec<(&'static str, LibraryPlace)>,
    /// Whether it runs threads by OpenMP.
    pub(super) openmp: bool,
    /// Flags that its text declares for nvcc, and for Clang.
    pub(super) flags: [String; 2],
}

struct Source {
    path: PathBuf,
    text: String,
}

/// Where a library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LibraryPlace {
    /// Here: it is linked, under this name.
    Ours(&'static str),
    /// NVIDIA's own, which works where it is installed: it is linked, under this name.
    Theirs(&'static str),
    /// Nowhere yet, so that its programs do not run.
    Missing,
    /// Not what a GPU computes: graphics, other processors, several computers.
    Outside,
}

/// Beginnings of the names of headers, and the libraries that they belong to. The first that fits counts, and a whole name besides.
const LIBRARIES: &[(&str, &str, LibraryPlace)] = &[
    ("cublasXt", "cuBLASXt", LibraryPlace::Missing),
    ("cublas.h", "the first interface of cuBLAS", LibraryPlace::Missing),
    ("cublasLt", "cuBLASLt", LibraryPlace::Ours("cublasLt")),
    ("cublas", "cuBLAS", LibraryPlace::Ours("cublas")),
    ("cufft", "cuFFT", LibraryPlace::Missing),
    ("curand.h", "cuRAND", LibraryPlace::Ours("curand")),
    ("cusparse", "cuSPARSE", LibraryPlace::Missing),
    ("cusolver", "cuSOLVER", LibraryPlace::Missing),
    ("cutensor", "cuTENSOR", LibraryPlace::Missing),
    ("cudnn", "cuDNN", LibraryPlace::Missing),
    ("nccl", "NCCL", LibraryPlace::Missing),
    ("cudla", "cuDLA", LibraryPlace::Outside),
    ("npp", "NPP", LibraryPlace::Missing),
    ("nvjpeg", "nvJPEG", LibraryPlace::Missing),
    ("nvml.h", "NVML", LibraryPlace::Ours("nvidia-ml")),
    ("nvrtc", "NVRTC", LibraryPlace::Theirs("nvrtc")),
    ("nvvm.h", "libNVVM", LibraryPlace::Missing),
    ("nvJitLink", "nvJitLink", LibraryPlace::Missing),
    ("nvsci", "NvSci", LibraryPlace::Outside),
    ("mpi.h", "MPI", LibraryPlace::Outside),
    ("GL/", "OpenGL", LibraryPlace::Outside),
    ("GLES", "OpenGL ES", LibraryPlace::Outside),
    ("EGL/", "EGL", LibraryPlace::Outside),
    ("helper_gl.h", "OpenGL", LibraryPlace::Outside),
    ("cuda_gl_interop", "OpenGL", LibraryPlace::Outside),
    ("vulkan/", "Vulkan", LibraryPlace::Outside),
    ("GLFW/", "GLFW", LibraryPlace::Outside),
    ("d3d", "Direct3D", LibraryPlace::Outside),
    ("FreeImage", "FreeImage", LibraryPlace::Outside),
    ("cuda.h", "the driver", LibraryPlace::Ours("cuda")),
    ("cudaProfiler.h", "the driver", LibraryPlace::Ours("cuda")),
    ("helper_cuda_drvapi.h", "the driver", LibraryPlace::Ours("cuda")),
    ("nvrtc_helper.h", "the driver", LibraryPlace::Ours("cuda")),
];

/// The libraries that headers belong to.
fn libraries<'a>(headers: impl Iterator<Item = &'a str>) -> Vec<(&'static str, LibraryPlace)> {
    let found: BTreeSet<usize> = headers
        .flat_map(|header| {
            let header = header.trim_start_matches("../");
            let first = LIBRARIES.iter().position(|(start, ..)| header.starts_with(start));
            let named = LIBRARIES.iter().position(|(name, ..)| header == *name);
            first.into_iter().chain(named)
        })
        .collect();
    let mut libraries: Vec<_> = found.into_iter().map(|at| (LIBRARIES[at].1, LIBRARIES[at].2)).collect();
    libraries.dedup();
    libraries
}

/// The programs below a folder, in order.
pub(super) fn programs(folder: &Path) -> Result<Vec<Program>, String> {
    let mut found = Vec::new();
    in_folder(folder, folder, &mut found)?;
    found.sort_by(|a, b| a.main.cmp(&b.main));
    Ok(found)
}

/// Finds the programs of a folder; the result is the sources that may belong to programs of the folder above.
fn in_folder(root: &Path, folder: &Path, found: &mut Vec<Program>) -> Result<Vec<Source>, String> {
    let (mut sources, mut headers) = (Vec::new(), Vec::new());
    for path in entries(folder)? {
        let end = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            sources.extend(in_folder(root, &path, found)?);
        } else {
            let into = if is_source(&path) {
                &mut sources
            } else if ["h", "hpp", "cuh", "hxx", "inl"].contains(&end.as_str()) {
                &mut headers
            } else {
                continue;
            };
            let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            into.push(Source { path, text: String::from_utf8_lossy(&text).into_owned() });
        }
    }
    let is_program = |source: &Source| source.text.lines().any(is_main);
    let included: BTreeSet<String> =
        sources.iter().chain(&headers).flat_map(|source| includes(&source.text)).map(last_name).collect();
    let (mains, parts): (Vec<_>, Vec<_>) = sources.into_iter().partition(is_program);
    let is_part = |source: &&Source| {
        !included.contains(&source.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    };
    let others: Vec<&Source> = parts.iter().filter(is_part).collect();
    let any_is_cuda = mains.iter().any(is_cuda);
    for main in &mains {
        // Beside programs that use CUDA, a program that does not has nothing to do with it.
        if !is_cuda(main) && (any_is_cuda || !others.iter().any(|source| is_cuda(source))) {
            continue;
        }
        let texts = || std::iter::once(main).chain(others.iter().copied()).chain(&headers);
        found.push(Program {
            name: name_of(root, &main.path),
            main: main.path.clone(),
            others: others.iter().map(|source| source.path.clone()).collect(),
            libraries: libraries(texts().flat_map(|source| includes(&source.text))),
            openmp: texts().any(|source| includes(&source.text).any(|header| header == "omp.h")),
            flags: ["Flags", "Clang flags"].map(|key| declared(&main.text, key).unwrap_or_default()),
        });
    }
    Ok(if mains.is_empty() { parts } else { Vec::new() })
}

/// Whether a file is a source by the end of its name.
pub(super) fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|end| SOURCES.iter().any(|source| end == *source))
}

fn is_cuda(source: &Source) -> bool {
    source.path.extension().is_some_and(|end| end == "cu")
        || includes(&source.text).any(|header| header.contains("cuda") || header.ends_with(".cu"))
        || has_launch(&source.text)
}

/// Whether a text has the three marks of a launch: three, and no more.
fn has_launch(text: &str) -> bool {
    let marks = text.match_indices("<<<").map(|(at, _)| at);
    marks.into_iter().any(|at| !text[..at].ends_with('<') && !text[at + 3..].starts_with('<'))
}

/// Whether device code is in a source, whatever its name ends with.
pub(super) fn has_device_code(path: &Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    path.extension().is_some_and(|end| end == "cu") || has_launch(&text) || text.contains("__global__")
}

/// The names in the `#include` lines of a text.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        rest.strip_prefix(['"', '<'])?.split(['"', '>']).next()
    })
}

fn last_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Whether a line begins the function `main`.
fn is_main(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix("int").or_else(|| line.strip_prefix("void")).map_or(line, str::trim_start);
    rest.strip_prefix("main").is_some_and(|rest| rest.trim_start().starts_with('(')) && !line.ends_with(';')
}

/// The name of a program: its path below the folder, without the end of its name.
fn name_of(folder: &Path, source: &Path) -> String {
    let path = source.strip_prefix(folder).unwrap_or(source).with_extension("");
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    match parts.as_slice() {
        // `bfs/bfs.cu` is `bfs`.
        [.., folder, name] if folder == name => parts[..parts.len() - 1].join("-"),
        _ => parts.join("-"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs of a folder with files of these names and texts: names, other sources, libraries.
    fn programs_of(test: &str, files: &[(&str, &str)]) -> Vec<(String, Vec<String>, Vec<&'static str>)> {
        let root =
            std::env::temp_dir().join(format!("counterpoint-xtask-sources-{}-{test}", std::process::id()));
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let found = programs(&root).expect("programs");
        std::fs::remove_dir_all(&root).expect("a folder");
        let names = |paths: Vec<PathBuf>| {
            paths.iter().map(|path| last_name(&path.to_string_lossy())).collect::<Vec<_>>()
        };
        let libraries = |program: &Program| program.libraries.iter().map(|(name, _)| *name).collect();
        let parts =
            |program: Program| (program.name.clone(), names(program.others.clone()), libraries(&program));
        found.into_iter().map(parts).collect()
    }

    const MAIN: &str = "int main() {\n}\n";

    #[test]
    fn a_program_has_the_sources_beside_and_below_it_that_nothing_includes() {
        let files = [
            ("tree/main.c", MAIN),
            ("tree/part.c", "void part(void);\n"),
            ("tree/kernel/wrapper.cu", "#include \"kernel.cu\"\n"),
            ("tree/kernel/kernel.cu", "__global__ void f() {}\n"),
            ("tree/own/own.cu", MAIN),
        ];
        let others = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            programs_of("beside", &files),
            [
                ("tree-main".to_owned(), others(&["wrapper.cu", "part.c"]), Vec::new()),
                ("tree-own".to_owned(), others(&[]), Vec::new()),
            ]
        );
    }

    #[test]
    fn a_program_of_the_host_alone_is_none_beside_one_of_cuda() {
        let generator = ("generate.c", MAIN);
        let names = |found: Vec<(String, Vec<String>, Vec<&'static str>)>| {
            found.into_iter().map(|(name, ..)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(programs_of("alone", &[generator])), [""; 0]);
        assert_eq!(names(programs_of("two", &[generator, ("nn.cu", MAIN)])), ["nn"]);
        assert_eq!(names(programs_of("with", &[generator, ("kernel.cu", "")])), ["generate"]);
    }

    #[test]
    fn libraries_are_known_by_their_headers() {
        let libraries = |text: &str| {
            let text = format!("{text}\n{MAIN}");
            programs_of("library", &[("one.cu", &text)])
                .pop()
                .map(|(.., libraries)| libraries)
                .unwrap_or_default()
        };
        assert_eq!(libraries("#include <cublas_v2.h>\n#include \"cublas_api.h\""), ["cuBLAS"]);
        assert_eq!(libraries("#include <cublas.h>"), ["the first interface of cuBLAS"]);
        assert_eq!(libraries("  # include \"GL/glut.h\"\n#include <curand.h>"), ["cuRAND", "OpenGL"]);
        assert_eq!(libraries("#include <curand_kernel.h>"), [""; 0], "a header alone");
        assert_eq!(libraries("// <cublas_v2.h>\n#include <cuda.h>"), ["the driver"]);
    }

    #[test]
    fn a_launch_is_told_from_a_line_of_marks() {
        assert!(has_launch("f<<<1, 2>>>();") && has_launch("f<T> <<< grid, block >>>"));
        assert!(!has_launch("printf(\">>>>>result<<<<<<<\\n\");") && !has_launch("a << b"));
    }

    #[test]
    fn programs_are_named_by_their_folders() {
        let name = |source: &str| name_of(Path::new("/a"), Path::new(source));
        assert_eq!(name("/a/bfs/bfs.cu"), "bfs");
        assert_eq!(name("/a/suite/nw/needle.cu"), "suite-nw-needle");
        assert_eq!(name("/a/one.cu"), "one");
    }

    #[test]
    fn a_main_is_found_in_all_its_forms() {
        let lines =
            ["int main()", "int main( int argc, char** argv) {", "void main (void)", "main(int argc,"];
        assert!(lines.into_iter().all(is_main));
        let others = ["// int mainly", "int domain(int x)", "  return main_loop();", "int main();"];
        assert!(!others.into_iter().any(is_main));
    }
}
