//! `registers: ptxas`: registers as NVIDIA's assembler counts them, where it is installed.

use std::collections::BTreeMap;
use std::process::{Command, Output};

/// The environment variable that names the assembler; without it, `ptxas` on the path.
const VARIABLE: &str = "PTXAS";

/// Registers of a thread of each kernel of a module, as the assembler allocates them for the module's own architecture, or for
/// the oldest that it knows.
///
/// # Errors
/// The assembler cannot be started, or refuses the module: its own words.
pub(super) fn registers(source: &str, architecture: u32) -> Result<BTreeMap<String, u32>, String> {
    asked(&std::env::var(VARIABLE).unwrap_or_else(|_| "ptxas".to_owned()), source, architecture)
}

fn asked(program: &str, source: &str, architecture: u32) -> Result<BTreeMap<String, u32>, String> {
    let start = |arguments: &[&str]| -> Result<Output, String> {
        let output = Command::new(program).args(arguments).output();
        output.map_err(|error| format!("`{program}` cannot be started: {error}"))
    };
    let help = start(&["--help"])?;
    let help = String::from_utf8_lossy(&help.stdout);
    let known = help.split("'sm_").skip(1).filter_map(|rest| rest.split('\'').next()?.parse::<u32>().ok());
    let Some(oldest) = known.min() else {
        return Err(format!("`{program} --help` names no architecture"));
    };
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let path = folder.path().join("module.ptx");
    std::fs::write(&path, source).map_err(|error| format!("no temporary file: {error}"))?;
    let (module, made) = (path.to_string_lossy(), folder.path().join("module.cubin"));
    let name = format!("sm_{}", architecture.max(oldest));
    let output = start(&["-v", "-arch", &name, "-o", &made.to_string_lossy(), &module])?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let first = said.lines().next().unwrap_or("no reason is given").replace(&*module, "the module");
        return Err(format!("`{program}` refuses the module: {first}"));
    }
    Ok(counted(&said))
}

/// The counts in what the assembler prints: a line that names a kernel, and further down one with its registers.
fn counted(said: &str) -> BTreeMap<String, u32> {
    let (mut found, mut name) = (BTreeMap::new(), None);
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            name = rest.split('\'').next();
        } else if let Some((_, rest)) = line.split_once("Used ")
            && let Some(registers) = rest.split(' ').next().and_then(|digits| digits.parse().ok())
            && let Some(name) = name.take()
        {
            found.insert(name.to_owned(), registers);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kernel_has_the_registers_behind_its_name() {
        let said = "ptxas info    : 0 bytes gmem\nptxas info    : Compiling entry function 'one' for 'sm_75'\n\
                    ptxas info    : Function properties for one\n    0 bytes stack frame, 0 bytes spill stores\n\
                    ptxas info    : Used 12 registers, 380 bytes cmem[0]\n\
                    ptxas info    : Compiling entry function 'two' for 'sm_75'\nptxas info    : Used 255 registers";
        let found: Vec<(String, u32)> = counted(said).into_iter().collect();
        assert_eq!(found, [("one".to_owned(), 12), ("two".to_owned(), 255)]);
    }

    /// Substitute for the assembler: the script knows `sm_50` and `sm_60`, and reports 17 registers for the requested
    /// architecture.
    #[cfg(unix)]
    const SCRIPT: &str = "#!/bin/sh\nif [ \"$1\" = --help ]; then echo \"Allowed values: 'sm_60','sm_50'\"; exit; fi\n\
        grep -q nonsense \"$6\" && { echo \"$6, line 1; fatal: Parsing error\" >&2; exit 1; }\n\
        echo \"ptxas info : Compiling entry function 'k' for '$3'\" >&2\necho \"ptxas info : Used ${3#sm_} registers\" >&2\n";

    #[cfg(unix)]
    #[test]
    fn an_assembler_is_asked_for_an_architecture_that_it_knows() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("assembler");
        std::fs::write(&program, SCRIPT).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let ask = |text: &str, architecture| asked(&program.to_string_lossy(), text, architecture);
        assert_eq!(ask(".version 7.0", 35).unwrap()["k"], 50, "the oldest");
        assert_eq!(ask(".version 7.0", 80).unwrap()["k"], 80);
        let refused = ask("nonsense", 50).unwrap_err();
        assert!(
            refused.ends_with("refuses the module: the module, line 1; fatal: Parsing error"),
            "{refused}"
        );
        let missing = asked("no-such-assembler", "", 50).unwrap_err();
        assert!(missing.starts_with("`no-such-assembler` cannot be started: "), "{missing}");
    }
}
