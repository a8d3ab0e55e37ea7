//! `counterpoint check`.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use clap::Args;
use counterpoint_framework::kernel::{RunOptions, Sharing};
use counterpoint_framework::model::{Environment, Registry};
use counterpoint_framework::topology;
use counterpoint_simulation::run::{feasible, load_application, load_machine};

use super::machine::MachineOptions;
use super::{fail, note_remarks, note_unused, throughput};
use crate::table::amount;
use crate::{Console, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    machine: MachineOptions,
    /// The application: a file, or a name that `counterpoint list applications` prints.
    application: Option<String>,
}

impl Check {
    pub(super) fn execute(&self, registry: &Arc<Registry>, console: &mut Console<'_>) -> io::Result<u8> {
        let request = self.machine.request(self.application.as_deref().unwrap_or_default());
        if self.application.is_none() {
            note_unused(&request.sets, console)?;
        }
        let machine = load_machine(&request, registry);
        let application = self.application.as_ref().map(|_| load_application(&request, registry));
        let mut infeasible = Vec::new();
        if let (Ok(machine), Some(Ok((_, loaded)))) = (&machine, &application) {
            infeasible.extend(feasible(&request, registry, machine, loaded).err().into_iter().flatten());
        }
        let mut errors = Vec::new();
        match machine {
            Ok(loaded) => {
                note_remarks(&loaded.remarks, console)?;
                let machine = &loaded.machine;
                let (parts, links) = (machine.instances.len(), machine.links.len());
                writeln!(console.out, "machine {}: {parts} components, {links} links", machine.name)?;
                let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
                for instance in &machine.instances {
                    *kinds.entry(&instance.kind).or_default() += 1;
                }
                for (kind, count) in kinds {
                    writeln!(console.out, "  {count:>5} {kind}")?;
                }
                let mut built = topology::build(machine, registry, &Environment::default());
                let cut =
                    built.cut(&RunOptions { threads: 2, sharing: Sharing::Always, ..Default::default() });
                match cut.threads {
                    1 => writeln!(console.out, "  one island: it runs on one thread")?,
                    _ => writeln!(console.out, "  lookahead of two threads {}", cut.meeting)?,
                }
                if let Some(link) = cut.limit.and_then(|index| machine.links.get(index)) {
                    let (from, to) = (machine.path(&link.from), machine.path(&link.to));
                    writeln!(console.out, "  limited by {from} -> {to} ({})", link.latency)?;
                }
                throughput::print(&built, console.out)?;
            }
            Err(error) => errors.push(error),
        }
        match application {
            Some(Ok((_, loaded))) => {
                let application = &loaded.application;
                writeln!(
                    console.out,
                    "application {}: {} buffers, {} to move, {} CTAs, {} expectations",
                    application.name,
                    application.buffers.len(),
                    amount(application.bytes()),
                    application.ctas(),
                    loaded.expectations.len()
                )?;
                for input in loaded.files().filter(|input| input.generated) {
                    writeln!(console.out, "  {} does not exist; a run makes it", input.place.display())?;
                }
                note_remarks(&loaded.remarks, console)?;
            }
            Some(Err(error)) => errors.push(error),
            None => {}
        }
        errors.extend(infeasible);
        if errors.is_empty() { Ok(SUCCESS) } else { fail(&errors, console) }
    }
}
