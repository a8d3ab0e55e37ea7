//! `counterpoint cost`.

use std::io;

use clap::Args;
use counterpoint_experiments::cost::{self, FieldBits, KERNEL_FIELDS, Storage, TLB_FIELDS};
use counterpoint_experiments::registry;
use counterpoint_experiments::run::{RunError, load_machine};

use super::machine::MachineOptions;
use super::{fail, note_unused};
use crate::{Console, SUCCESS, columns};

/// The command's arguments.
#[derive(Args)]
#[command(
    after_help = "The bits are those of CRCS and PPCS (PACT 2016), section 5.4. Its shares are of a GPU with 32 KiB of \
                        shared memory and 48 KiB of read-only cache an SM, which is not the one that it evaluates: both \
                        are shown."
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
        let cost = match cost::Cost::of(&loaded.machine) {
            Ok(cost) => cost,
            Err(message) => return fail(&[RunError::Usage(message)], console),
        };
        writeln!(console.out, "{}\n", loaded.machine.name)?;
        let needed = cost.needed();
        let scheduler = |name: &str, fields: &[FieldBits]| {
            let bits = format!("{} bits x {} kernels: {}", cost::bits(fields), cost.kernels, named(fields));
            vec![name.to_owned(), bits, format!("{} B", cost.scheduler(fields))]
        };
        let tlb =
            format!("{} bits x {} entries: {}", cost::bits(&TLB_FIELDS), cost.entries, named(&TLB_FIELDS));
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
        columns::print(&lines, 2, console.out)?;
        Ok(SUCCESS)
    }
}

/// Fields with their bits in a line.
fn named(fields: &[FieldBits]) -> String {
    fields.iter().map(|(name, bits)| format!("{name} {bits}")).collect::<Vec<_>>().join(", ")
}
