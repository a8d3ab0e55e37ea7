//! `cargo xtask quick`: what a change most likely breaks, in a minute: formatting, lints of the crates that have changed, and the unit
//! tests of these and of the crates that use them.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use crate::report;
use crate::tree::{changed, crates, git, owner, root, with_users};

/// Checks the crates that have changed: formatting, lints, and unit tests of these and of their users.
#[derive(clap::Args)]
pub(crate) struct Quick {
    /// The commit that the tree is compared with; where the branch left `main` if not given.
    #[arg(long, value_name = "COMMIT")]
    since: Option<String>,
}

impl Quick {
    pub(crate) fn run(self) -> Result<(), String> {
        let since = match self.since {
            Some(commit) => commit,
            None => git(&["merge-base", "HEAD", "main"])?.concat(),
        };
        let begun = Instant::now();
        crate::format::run(true)?;
        let crates = crates()?;
        let files = changed(&since)?;
        let names: BTreeSet<String> =
            files.iter().filter_map(|file| owner(&crates, file)).map(|one| one.name.clone()).collect();
        if names.is_empty() {
            report(&format!("no crate differs from {since}"));
            return Ok(());
        }
        let users = with_users(&crates, &names);
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
        report(&format!("-- lints: {}", list(&names)));
        cargo(&["clippy", "--quiet", "--all-targets"], &names, &["--", "-D", "warnings"])?;
        report(&format!("-- unit tests: {}", list(&users)));
        cargo(&["test", "--quiet", "--lib", "--bins"], &users, &[])?;
        report(&format!("-- {:.0} s", begun.elapsed().as_secs_f64()));
        Ok(())
    }
}

fn cargo(words: &[&str], packages: &BTreeSet<String>, more: &[&str]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root()?).args(words);
    command.args(packages.iter().flat_map(|name| ["--package", name]));
    let status = command.args(more).status().map_err(|error| format!("cargo did not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}: failed", words.join(" "))) }
}
