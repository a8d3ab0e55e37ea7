//! Compilation of sources into a program: objects, and a link, tried with several sets of sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::succeed;
use super::sources::{LibraryPlace, Program, has_device_code, is_source};
use super::{Compiler, Options};

/// Makes a program. Its folder may have sources of other programs too, so that a link is tried with all of them, with device code of theirs
/// linked, and with the source of `main` alone.
pub(super) fn compile(
    options: &Options,
    libraries: &Path,
    program: &Program,
    architecture: &str,
    out: &Path,
) -> Result<(), String> {
    match &options.compiler {
        Compiler::Nvcc(nvcc) => {
            let build = Build { options, libraries, nvcc, program, architecture, out };
            let apart = build.modules()?;
            let others: Vec<PathBuf> =
                program.others.iter().filter(|source| !apart.contains(source)).cloned().collect();
            let first = match build.link(&others, false) {
                Ok(()) => return Ok(()),
                Err(reason) => reason,
            };
            if build.link(&others, true).is_ok() || !others.is_empty() && build.link(&[], false).is_ok() {
                return Ok(());
            }
            Err(first)
        }
        Compiler::Clang(clang, root) => {
            with_clang(options, libraries, program, architecture, (clang, root), out)
        }
    }
}

/// A program for nvcc.
struct Build<'a> {
    options: &'a Options,
    libraries: &'a Path,
    nvcc: &'a Path,
    program: &'a Program,
    architecture: &'a str,
    out: &'a Path,
}

impl Build<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.nvcc);
        command.args(["-O2", "-Xcompiler", "-fPIE", "-Xcompiler", "-pie"]);
        command.args(self.options.shared.then_some(["-cudart", "shared"]).into_iter().flatten());
        command.arg(format!("-arch={}", self.architecture)).current_dir(folder(&self.program.main));
        if self.program.openmp {
            command.args(["-Xcompiler", "-fopenmp"]);
        }
        command
    }

    /// Makes the modules that a program loads by name, beside its source: `NAME64.fatbin` and `NAME64.ptx`, or without the number, of `NAME.cu`.
    /// The result is their sources, and those that the program names, which it compiles itself.
    fn modules(&self) -> Result<Vec<PathBuf>, String> {
        let texts = std::iter::once(&self.program.main).chain(&self.program.others);
        let mut apart = Vec::new();
        for text in texts.map(|source| std::fs::read(source).unwrap_or_default()) {
            for (module, kind) in modules_in(&String::from_utf8_lossy(&text)) {
                let stem = module.trim_end_matches("64");
                let source = folder(&self.program.main).join(format!("{stem}.cu"));
                if !source.is_file() || apart.contains(&source) {
                    continue;
                }
                if kind != "cu" {
                    let mut command = Command::new(self.nvcc);
                    command.arg(format!("-{kind}")).arg(format!("-arch={}", self.architecture));
                    command.arg("-o").arg(folder(&source).join(format!("{module}.{kind}"))).arg(&source);
                    succeed(command)?;
                }
                apart.push(source);
            }
        }
        Ok(apart)
    }

    /// Compiles the sources, and links their objects.
    fn link(&self, others: &[PathBuf], linked: bool) -> Result<(), String> {
        let mut objects = Vec::new();
        let (flags, more) = self.flags();
        for source in std::iter::once(&self.program.main).chain(others).chain(&more) {
            let mut command = self.command();
            command.args(&flags).args(linked.then_some("-rdc=true"));
            if has_device_code(source) {
                command.args(["-x", "cu"]);
            }
            let includes = [folder(&self.program.main), folder(source)];
            for include in includes.into_iter().chain(self.options.includes.iter().map(PathBuf::as_path)) {
                command.arg(format!("-I{}", include.display()));
            }
            // CUDA 13 has them under their other names alone.
            command.arg("-DcudaThreadSynchronize=cudaDeviceSynchronize");
            command.arg("-DcudaThreadExit=cudaDeviceReset");
            let object = self.out.with_file_name(format!("{}.o", objects.len()));
            command.args(["-c", "-o"]).arg(&object).arg(source);
            succeed(command)?;
            objects.push(object);
        }
        let root = self.nvcc.parent().and_then(Path::parent).unwrap_or(self.nvcc);
        let mut command = self.command();
        command.arg(format!("-L{}/lib", root.display())).args(linked.then_some("-rdc=true"));
        command.arg("-o").arg(self.out).args(&objects).args(linked.then_some("-lcudadevrt"));
        command.arg(format!("-L{}", self.libraries.join("link").display()));
        for (_, place) in &self.program.libraries {
            match place {
                LibraryPlace::Ours(name) => {
                    command.arg(format!("-l{name}"));
                }
                LibraryPlace::Theirs(name) => {
                    // Given as it is, nvcc takes the file for one that it does not know.
                    let file = self.options.installed(name).map(|file| file.into_os_string());
                    command.args(file.into_iter().flat_map(|file| ["-Xlinker".into(), file]));
                }
                LibraryPlace::Missing | LibraryPlace::Outside => {}
            }
        }
        succeed(command)?;
        objects.iter().try_for_each(|object| {
            std::fs::remove_file(object).map_err(|error| format!("{}: {error}", object.display()))
        })
    }

    /// Flags for all programs, and for this one, and the sources among them.
    fn flags(&self) -> (Vec<&str>, Vec<PathBuf>) {
        let own = self.options.own(&self.program.name, "flags").unwrap_or_default();
        let declared = self.program.flags[0].split_whitespace();
        let words = self.options.flags.split_whitespace().chain(declared).chain(own.split_whitespace());
        let (sources, flags): (Vec<&str>, Vec<&str>) =
            words.partition(|word| !word.starts_with('-') && is_source(Path::new(word)));
        (flags, sources.into_iter().map(|source| folder(&self.program.main).join(source)).collect())
    }
}

/// The modules that a text names: texts of letters, digits and lines, and how they end.
fn modules_in(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let named = text.split('"').filter_map(|part| part.rsplit_once('.'));
    named.filter(|(name, kind)| {
        ["fatbin", "ptx", "cu"].contains(kind) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn folder(source: &Path) -> &Path {
    source.parent().unwrap_or(source)
}

/// Makes a program of one source.
fn with_clang(
    options: &Options,
    libraries: &Path,
    program: &Program,
    architecture: &str,
    (clang, root): (&Path, &Path),
    out: &Path,
) -> Result<(), String> {
    let (ptx, binary, object) =
        (out.with_extension("ptx"), out.with_extension("fatbin"), out.with_extension("o"));
    let clang_with = |flags: &[&str], to: &Path| {
        let mut command = Command::new(clang);
        command.args(["-O2", "-x", "cuda", "-Wno-unknown-cuda-version", "--no-cuda-version-check"]);
        command.arg(format!("-I{}", folder(&program.main).display()));
        command.args(options.includes.iter().map(|include| format!("-I{}", include.display())));
        command.arg(format!("--cuda-gpu-arch={architecture}"));
        command.arg(format!("--cuda-path={}", root.display())).args(options.flags.split_whitespace());
        command.args(program.flags[1].split_whitespace());
        command.args(flags).arg(&program.main).arg("-o").arg(to);
        command
    };
    succeed(clang_with(&["--cuda-device-only", "-S"], &ptx))?;
    let text = std::fs::read(&ptx).map_err(|error| format!("{}: {error}", ptx.display()))?;
    let generation = architecture.trim_start_matches("sm_").parse().unwrap_or(35);
    let written = std::fs::write(&binary, fat_binary(&text, generation));
    written.map_err(|error| format!("{}: {error}", binary.display()))?;
    let code = binary.display().to_string();
    let flags = ["--cuda-host-only", "-c", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", &code];
    succeed(clang_with(&flags, &object))?;
    let mut link = Command::new(clang);
    link.arg("-Wl,--no-as-needed").arg(&object).arg("-o").arg(out).arg("-lm");
    link.args(["libcudart.so.11.0", "libcounterpoint_cuda.so"].map(|name| libraries.join(name)));
    succeed(link)
}

/// A fat binary with PTX as it is, which clang puts into the host's code: otherwise it needs NVIDIA's assembler.
fn fat_binary(text: &[u8], generation: u8) -> Vec<u8> {
    let mut payload = text.to_vec();
    payload.resize((text.len() + 1).next_multiple_of(8), 0);
    let mut entry = [0_u8; 64];
    entry[0] = 1;
    entry[4] = 64;
    entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    entry[28] = generation;
    let mut binary = 0xba55_ed50_u32.to_le_bytes().to_vec();
    binary.extend([1, 0, 16, 0]);
    binary.extend(((entry.len() + payload.len()) as u64).to_le_bytes());
    binary.extend(entry);
    binary.extend(payload);
    binary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_in_texts() {
        let text = "#define FILE \"add_kernel64.fatbin\"\nload(\"%s.ptx\"); load(\"a.b\");\n";
        assert_eq!(modules_in(text).collect::<Vec<_>>(), [("add_kernel64", "fatbin")]);
    }
}
