//! NVIDIA's assembler, for tests that are given it.

use std::collections::BTreeMap;
use std::process::Command;

use counterpoint_ptx::ast::Module;

/// The assembler that `PTXAS` names.
pub(crate) struct Assembler {
    program: String,
    /// The oldest architecture that it knows.
    oldest: u32,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        let program = std::env::var("PTXAS").unwrap();
        let help = Command::new(&program).arg("--help").output().unwrap();
        let help = String::from_utf8_lossy(&help.stdout).into_owned();
        let known = help.split("'sm_").skip(1).filter_map(|rest| rest.split('\'').next()?.parse().ok());
        let oldest = known.min().unwrap_or_else(|| panic!("{program} --help names no architecture"));
        Assembler { program, oldest }
    }

    /// Assembles a text for a module's own architecture, or the oldest that there is; gives the registers a thread of each
    /// kernel, or the assembler's errors.
    pub(crate) fn assemble(&self, module: &Module, text: &str) -> Result<BTreeMap<String, u32>, String> {
        let number = module.target.split(',').next().unwrap().trim().trim_start_matches("sm_");
        let architecture = format!("sm_{}", number.parse::<u32>().unwrap().max(self.oldest));
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("module.ptx");
        std::fs::write(&source, text).unwrap();
        let mut command = Command::new(&self.program);
        command
            .args(["-v", "-arch", &architecture, "-o"])
            .arg(folder.path().join("module.cubin"))
            .arg(&source);
        let output = command.output().unwrap_or_else(|error| panic!("{}: {error}", self.program));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(said);
        }
        let (mut found, mut name) = (BTreeMap::new(), None);
        for line in said.lines() {
            if let Some((_, rest)) = line.split_once("Compiling entry function '") {
                name = rest.split('\'').next();
            } else if let Some((_, rest)) = line.split_once("Used ")
                && let Some(name) = name.take()
            {
                found.insert(name.to_owned(), rest.split(' ').next().unwrap().parse().unwrap());
            }
        }
        Ok(found)
    }
}
