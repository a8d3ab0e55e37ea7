//! Name of a point: the hash of everything that the point depends on.

use counterpoint_framework::model::Registry;
use counterpoint_framework::telemetry::Level;
use counterpoint_framework::topology::resolve_plain;
use counterpoint_simulation::output::WriteError;
use counterpoint_simulation::run::{RunErrors, RunRequest, load_application, load_machine, write_inputs};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::study::program::build;

/// Key of a point: the hash of everything that the point depends on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PointKey(pub(super) String);

impl std::fmt::Display for PointKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl PointKey {
    /// The key of a run, whose missing input files are generated first: they are thus the same for all points, regardless
    /// of the order.
    ///
    /// # Errors
    /// All problems of its machine and its application, and files that cannot be written.
    pub fn new(request: &RunRequest, registry: &Registry) -> Result<Self, RunErrors> {
        let (machine, application) = (load_machine(request, registry), load_application(request, registry));
        let (machine, application) = match (machine, application) {
            (Ok(machine), Ok((_, application))) => (machine, application),
            (machine, application) => {
                return Err(machine.err().into_iter().chain(application.err()).collect());
            }
        };
        write_inputs(&application)?;
        let mut hasher = Sha256::new();
        let mut part = |name: &str, bytes: &[u8]| {
            hasher.update(format!("{name} {}\n", bytes.len()));
            hasher.update(bytes);
        };
        part("build", build().as_bytes());
        part("machine", resolve_plain(&machine.machine, &machine.sources).as_bytes());
        part("seed", &request.seed.to_le_bytes());
        // More spans change nothing in the run, but they change its files.
        if request.recording.level != Level::default() {
            part("spans", format!("{:?}", request.recording.level).as_bytes());
        }
        for text in &application.texts {
            part("text", text.as_bytes());
        }
        for (name, value) in &application.parameters {
            part(name, &value.to_le_bytes());
        }
        for file in application.files() {
            let read = |error| WriteError { path: file.place.clone(), error };
            // The key has the application's own name for the file, which does not depend on where the application is
            // stored.
            part(&file.name, &file.contents().map_err(read)?);
        }
        Ok(PointKey(hasher.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}
