//! `counterpoint list`.

use std::io;

use clap::{Args, ValueEnum};
use counterpoint_framework::model::Registry;

use super::entries::{Entry, Group};
use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct List {
    /// Kind of things to list; everything if none is given.
    what: Option<Group>,
    /// Show of machines, applications, studies, overlays and modules the file of each in the place of its description.
    #[arg(long)]
    paths: bool,
}

impl List {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let all = Group::value_variants();
        let wanted = self.what.as_ref().map_or(all, std::slice::from_ref);
        for (index, group) in wanted.iter().enumerate() {
            let several = wanted.len() > 1;
            if several {
                let gap = if index == 0 { "" } else { "\n" };
                writeln!(console.out, "{gap}{}", group.name())?;
            }
            let entries = group.entries(registry);
            let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
            let indent = if several { "  " } else { "" };
            for entry in &entries {
                let line = format!("{indent}{:width$}  {}", entry.name, self.beside(entry));
                writeln!(console.out, "{}", line.trim_end())?;
            }
        }
        if self.what.is_none() {
            writeln!(console.out, "\n`counterpoint explain NAME` tells more of each.")?;
        }
        Ok(SUCCESS)
    }

    fn beside<'a>(&self, entry: &'a Entry) -> &'a str {
        entry.path.as_deref().filter(|_| self.paths).unwrap_or(&entry.line)
    }
}
