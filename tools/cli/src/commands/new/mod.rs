//! `counterpoint new`: starters that run without changes.

mod crate_files;
mod starters;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::ptx::refuse;
use crate::{Console, SUCCESS};
use crate_files::Source;
use starters::Starter;

/// The command's arguments.
#[derive(Args)]
pub(crate) struct New {
    #[command(subcommand)]
    what: What,
}

/// Kind of the starter.
#[derive(Subcommand)]
enum What {
    /// A machine of built-in modules: NAME.yaml.
    Machine {
        /// Its name: lower-case letters, digits and `-`.
        name: String,
    },
    /// An application in CUDA C and PTX, with an expectation: the folder NAME.
    Application {
        /// Its name: lower-case letters, digits and `-`.
        name: String,
    },
    /// A study of an application on a machine: NAME.yaml.
    Study {
        /// Its name: lower-case letters, digits and `-`.
        name: String,
        /// The machine: a file, or a name that `counterpoint list machines` prints.
        #[arg(long, default_value = "tiny")]
        machine: String,
        /// The application: a file, or a name that `counterpoint list applications` prints. It has a parameter `n`.
        #[arg(long, default_value = "vecadd")]
        application: String,
    },
    /// A component in a crate of its own, with a machine that has it: the folder NAME.
    Component {
        /// Its name: lower-case letters, digits and `-`.
        name: String,
        /// A checkout of Counterpoint; the one that this command was built from if not given.
        #[arg(long, value_name = "DIR")]
        checkout: Option<PathBuf>,
        /// The address of Counterpoint's repository, instead of a checkout.
        #[arg(long, value_name = "URL", conflicts_with = "checkout")]
        git: Option<String>,
    },
}

impl New {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        let name = self.name();
        if let Some(problem) = problem(name, matches!(self.what, What::Component { .. })) {
            return refuse(console, &[format!("error: {problem}")]);
        }
        let starter = match &self.what {
            What::Machine { name } => starters::machine(name),
            What::Application { name } => starters::application(name),
            What::Study { name, machine, application } => starters::study(name, machine, application),
            What::Component { name, checkout, git } => match source(checkout.as_deref(), git.as_deref()) {
                Ok(source) => starters::component(name, &source),
                Err(problem) => return refuse(console, &[format!("error: {problem}")]),
            },
        };
        if let Err(problem) = write(&starter) {
            return refuse(console, &[format!("error: {problem}")]);
        }
        for (path, _) in &starter.files {
            writeln!(console.out, "wrote {path}")?;
        }
        writeln!(console.out, "\nnext:")?;
        for line in &starter.next {
            writeln!(console.out, "  {line}")?;
        }
        Ok(SUCCESS)
    }

    fn name(&self) -> &str {
        match &self.what {
            What::Machine { name }
            | What::Application { name }
            | What::Study { name, .. }
            | What::Component { name, .. } => name,
        }
    }
}

/// The place from which a component's crate takes those of Counterpoint.
fn source(checkout: Option<&Path>, git: Option<&str>) -> Result<Source, String> {
    if let Some(address) = git {
        return Ok(Source::Git(address.to_owned()));
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        checkout.unwrap_or(&own).canonicalize().ok().filter(|folder| folder.join("tools/cli").is_dir());
    folder.map(Source::Checkout).ok_or_else(|| match checkout {
        Some(folder) => format!("--checkout: `{}` is not a checkout of Counterpoint", folder.display()),
        None => "the checkout that this command was built from is gone\n  help: name one by --checkout DIR, or the address \
                 of the repository by --git URL"
            .to_owned(),
    })
}

/// Words that cannot be the name of a crate.
const WORDS_OF_RUST: [&str; 22] = [
    "alloc", "async", "await", "break", "const", "core", "crate", "dyn", "enum", "fn", "impl", "loop",
    "match", "mod", "move", "static", "std", "struct", "test", "trait", "type", "use",
];

fn problem(name: &str, is_crate: bool) -> Option<String> {
    let expected = "expected a lower-case letter and then lower-case letters, digits and single `-`";
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    let sound = letters && !name.ends_with('-') && !name.contains("--") && name.len() <= 64;
    if !sound || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Some(format!("`{name}` cannot be a name\n  help: {expected}, 64 at most"));
    }
    let is_taken = is_crate && (WORDS_OF_RUST.contains(&name) || name.starts_with("counterpoint"));
    is_taken.then(|| format!("`{name}` cannot be the name of a crate of your own\n  help: `my-{name}` can"))
}

/// Writes all files of a starter, or none if one of them exists.
fn write(starter: &Starter) -> Result<(), String> {
    if let Some((there, _)) =
        starter.files.iter().find(|(path, _)| Path::new(path).symlink_metadata().is_ok())
    {
        return Err(format!(
            "`{there}` exists; nothing is written\n  help: choose another name, or remove it"
        ));
    }
    for (path, text) in &starter.files {
        let write = || {
            if let Some(folder) = Path::new(path).parent() {
                std::fs::create_dir_all(folder)?;
            }
            OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
        };
        write().map_err(|error: io::Error| format!("cannot write `{path}`: {error}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_files_and_crates_can_have() {
        for name in ["a", "my-gpu2", "dyn"] {
            assert_eq!(problem(name, false), None, "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "A", "2a", "a/b", "a.yaml", "ä", &"a".repeat(65)] {
            assert!(problem(name, false).is_some_and(|it| it.contains("cannot be a name")), "{name}");
        }
        for name in ["dyn", "test", "counterpoint", "counterpoint-ptx"] {
            assert!(problem(name, true).is_some_and(|it| it.contains(&format!("`my-{name}`"))), "{name}");
        }
        assert_eq!(problem("my-dyn", true), None);
    }
}
