//! `counterpoint cost`.

use std::io;

use clap::Args;
use counterpoint_experiments::cost::crcs::{self, KERNEL_FIELDS, Storage, TLB_FIELDS};
use counterpoint_experiments::cost::{self, FieldBits, dka};
use counterpoint_experiments::registry;
use counterpoint_experiments::run::{RunError, load_machine};
use counterpoint_framework::topology::Instance;

use super::machine::MachineOptions;
use super::{fail, note_unused};
use crate::{Console, SUCCESS, columns};

/// The command's arguments.
#[derive(Args)]
#[command(
    after_help = "With `--with crcs-ppcs`: the bits of CRCS and PPCS (PACT 2016), section 5.4. Its shares are of a GPU with \
                        32 KiB of shared memory and 48 KiB of read-only cache an SM, which is not the one that it evaluates: \
                        both are shown. With `--with dka-l2`: those of DKA (IEICE 2013), section 3.3, whose lines have 64 bytes."
)]
pub(crate) struct Cost {
    #[command(flatten)]
    machine: MachineOptions,
}

impl Cost {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        let request = self.machine.request("");
        note_unused(&request.sets, console)?;
        let loaded = match load_machine(&request, &registry()) {
            Ok(loaded) => loaded,
            Err(error) => return fail(&[error], console),
        };
        let name = &loaded.machine.name;
        let tasks = loaded.machine.instances.iter().any(asks_the_allocator);
        let costs = match tasks {
            true => dka::Cost::of(&loaded.machine).map(|cost| write_dka(name, &cost, console)),
            false => crcs::Cost::of(&loaded.machine).map(|cost| write_crcs(name, &cost, console)),
        };
        match costs {
            Ok(written) => written.map(|()| SUCCESS),
            Err(message) => fail(&[RunError::Usage(message)], console),
        }
    }
}

/// Whether this is a CTA scheduler that shares out SMs among the kernels of task pipelines.
fn asks_the_allocator(instance: &Instance) -> bool {
    let policy = instance.params.get("policy");
    instance.kind == "gpu/cta-scheduler" && policy.is_some_and(|policy| policy.as_scalar() == Some("dka"))
}

fn write_dka(name: &str, cost: &dka::Cost, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(console.out, "{name}\n")?;
    let tables = format!(
        "({} tables + 1) x {} entries x {} bits: {}",
        cost.tables,
        cost.entries(),
        cost::bits(&cost.entry()),
        named(&cost.entry())
    );
    let labels = |name: &str, (bytes, share): (u64, f64), bits: u64, line: u64| {
        let of = format!("{bits} bits for each {line} B of {} KiB", cost.l2 / 1024);
        vec![name.to_owned(), of, format!("{bytes} B, {:.4} %", 100.0 * share)]
    };
    let bits = cost::bits(&dka::LABEL_FIELDS);
    let lines = [
        vec!["kernel allocator".to_owned(), tables, format!("{:.1} B", cost.table_bits() as f64 / 8.0)],
        labels("labels of the L2, as published", cost.published(), bits, dka::PUBLISHED_LINE),
        labels("for lines as they are here", cost.here(), bits + 1, dka::LINE),
    ];
    columns::print(&lines, 2, console.out)
}

fn write_crcs(name: &str, cost: &crcs::Cost, console: &mut Console<'_>) -> io::Result<()> {
    writeln!(console.out, "{name}\n")?;
    let needed = cost.needed();
    let scheduler = |name: &str, fields: &[FieldBits]| {
        let bits = format!("{} bits x {} kernels: {}", cost::bits(fields), cost.kernels, named(fields));
        vec![name.to_owned(), bits, format!("{} B", cost.scheduler(fields))]
    };
    let tlb = format!("{} bits x {} entries: {}", cost::bits(&TLB_FIELDS), cost.entries, named(&TLB_FIELDS));
    let lines = [
        vec!["TLB of an SM".to_owned(), tlb, format!("{} B", cost.tlb())],
        scheduler("CTA scheduler", &KERNEL_FIELDS),
        scheduler("with counters that fit", &needed),
    ];
    columns::print(&lines, 2, console.out)?;
    writeln!(console.out)?;
    let share = |name: &str, fields: &[FieldBits], storage: Storage| {
        let kib = |bytes: u64| bytes / 1024;
        let of = format!(
            "{} B of {} x ({} + {} + {}) KiB + {} KiB",
            cost.bytes(fields),
            cost.sms,
            kib(storage.l1),
            kib(storage.shared),
            kib(storage.read_only),
            kib(storage.l2)
        );
        vec![name.to_owned(), of, format!("{:.4} %", 100.0 * cost.share(fields, &storage))]
    };
    let lines = [
        share("as published", &KERNEL_FIELDS, cost.storage.assumed()),
        share("with counters that fit", &needed, cost.storage.assumed()),
        share("and this machine's storage", &needed, cost.storage),
    ];
    columns::print(&lines, 2, console.out)
}

/// Fields with their bits in a line.
fn named(fields: &[FieldBits]) -> String {
    fields.iter().map(|(name, bits)| format!("{name} {bits}")).collect::<Vec<_>>().join(", ")
}
