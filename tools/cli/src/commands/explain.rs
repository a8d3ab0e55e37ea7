//! `counterpoint explain`.

use std::io;

use clap::Args;
use counterpoint_experiments::study;
use counterpoint_framework::model::Registry;
use counterpoint_framework::model::diagnostics::nearest;
use counterpoint_framework::topology::{self, TOPICS, explain_language};
use counterpoint_simulation::{application, find, synthetic};

use crate::{Console, FAILURE, SUCCESS};

/// Topics that are neither kinds nor the language of machines.
const OTHERS: [&str; 4] = ["application", "synthetic", "study", "files"];

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Explain {
    /// A component kind, such as `memory/l2-slice`; the language of machines: `machine`, `module`, `overlay`, `link`, `clock`,
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
            topic => explain_language(topic).or_else(|| {
                let kind = registry.catalogue.get(topic)?;
                Some(topology::explain(kind, registry.families()))
            }),
        };
        if let Some(page) = page {
            write!(console.out, "{page}")?;
            return Ok(SUCCESS);
        }
        writeln!(console.err, "error: there is no page on `{topic}`")?;
        let topics = || TOPICS.into_iter().chain(OTHERS);
        match nearest(topic, registry.catalogue.kinds().map(|kind| kind.name).chain(topics())) {
            Some(near) => writeln!(console.err, "  help: did you mean `{near}`?")?,
            None => {
                let topics: Vec<&str> = topics().collect();
                let help = "and of every kind that `counterpoint list kinds` prints";
                writeln!(console.err, "  help: there are pages on {}, {help}", topics.join(", "))?;
            }
        }
        Ok(FAILURE)
    }
}
