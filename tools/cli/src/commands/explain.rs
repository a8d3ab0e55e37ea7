//! `counterpoint explain`.

use std::io;

use clap::{Args, ValueEnum};
use counterpoint_experiments::study;
use counterpoint_framework::model::Registry;
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_framework::topology::{TOPICS, explain_language};
use counterpoint_simulation::{application, find, synthetic};

use super::entries::{Entry, Group};
use crate::{Console, FAILURE, SUCCESS};

/// Topics that are neither kinds nor the language of machines.
const OTHERS: [&str; 4] = ["application", "synthetic", "study", "files"];

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Explain {
    /// A name that `counterpoint list` prints, such as the component kind `memory/l2-slice`; the language of machines: `machine`, `module`, `overlay`, `link`, `clock`,
    /// `expressions` or `faults`; the keys of an `application`, of a `synthetic` kernel or of a `study`; or the search for `files`.
    topic: String,
}

impl Explain {
    pub(super) fn execute(&self, registry: &Registry, console: &mut Console<'_>) -> io::Result<u8> {
        let topic = self.topic.as_str();
        let page = match topic {
            "application" => Some(application::explain()),
            "synthetic" => Some(synthetic::explain()),
            "study" => Some(study::explain(registry)),
            "files" => Some(find::explain()),
            topic => explain_language(topic),
        };
        if let Some(page) = page {
            write!(console.out, "{page}")?;
            return Ok(SUCCESS);
        }
        let entries: Vec<Entry> =
            Group::value_variants().iter().flat_map(|group| group.entries(registry)).collect();
        let pages: Vec<&str> =
            entries.iter().filter(|entry| entry.name == topic).map(|entry| entry.page.as_str()).collect();
        if !pages.is_empty() {
            write!(console.out, "{}", pages.join("\n"))?;
            return Ok(SUCCESS);
        }
        writeln!(console.err, "error: there is no page on `{topic}`")?;
        let topics = || TOPICS.into_iter().chain(OTHERS);
        match nearest(topic, entries.iter().map(|entry| entry.name.as_str()).chain(topics())) {
            Some(near) => writeln!(console.err, "  help: did you mean `{near}`?")?,
            None => {
                let topics: Vec<&str> = topics().collect();
                let help = "and on every name that `counterpoint list` prints";
                writeln!(console.err, "  help: there are pages on {}, {help}", topics.join(", "))?;
            }
        }
        Ok(FAILURE)
    }
}
