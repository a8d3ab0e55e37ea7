//! Storage cost of DKA and the labelled L2, computed as the paper does (Mu et al., IEICE 2013, section 3.3):
//! tables of the allocator, and labels of L2 lines.
//!
//! Two assumptions of the paper's sum do not hold here. The paper's 12 K lines of 768 KB have 64 bytes; lines have 128 bytes here.
//! The paper's labels begin as -1, for which eight kernels and 32 streams leave no room in eight bits: a ninth bit says whether a
//! label is valid.

use counterpoint::component::Component;
use counterpoint::cost::{CostReport, FieldBits, Table, bits, l2, named, of_kind, one, parameter, width};
use counterpoint::machine::Machine;
use counterpoint::messages::memory::LINE_BYTES;

use crate::allocator::Allocator;
use crate::labels::TaskLabel;

/// The report, for machines with a kernel allocator.
pub(crate) const REPORT: CostReport = CostReport {
    name: "DKA",
    with: "`--with dka-l2`",
    applies: |machine| of_kind(machine, ALLOCATOR).next().is_some(),
    tables: |machine| Ok(vec![Cost::of(machine)?.table()]),
};

const ALLOCATOR: &str = <Allocator as Component>::KIND;

/// Additional fields of an L2 line, as published.
pub const LABEL_FIELDS: [FieldBits; 2] =
    [("kernel", TaskLabel::KERNEL_BITS as u64), ("stream", TaskLabel::STREAM_BITS as u64)];

/// Bytes of a line here.
pub const LINE: u64 = LINE_BYTES;

/// Bytes of a line in the paper's sum.
pub const PUBLISHED_LINE: u64 = 64;

/// Additional storage of DKA in a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// SMs of the GPU.
    pub sms: u64,
    /// Tables of the allocator, besides the table of interpolated values.
    pub tables: u64,
    /// Bytes of the whole L2.
    pub l2: u64,
}

impl Cost {
    /// Cost of the allocator and of the labels on a machine with one GPU that has an allocator.
    ///
    /// # Errors
    /// A sentence about the part that the machine lacks.
    pub fn of(machine: &Machine) -> Result<Self, String> {
        let allocator = one(machine, ALLOCATOR)?;
        Ok(Cost {
            sms: of_kind(machine, "gpu/sm").count() as u64,
            tables: parameter(allocator, "tables")?,
            l2: l2(machine)?,
        })
    }

    /// The fields of a table's entry.
    pub fn entry(&self) -> [FieldBits; 3] {
        [("SMs of the first kernel", width(self.sms)), ("its performance", 16), ("that of the second", 16)]
    }

    /// Entries of a table: none to all SMs for the first kernel.
    pub fn entries(&self) -> u64 {
        self.sms + 1
    }

    /// Bits of all tables.
    pub fn table_bits(&self) -> u64 {
        (self.tables + 1) * self.entries() * bits(&self.entry())
    }

    /// Bytes of the labels of lines of `line` bytes, with `bits` bits each.
    pub fn labels(&self, line: u64, bits: u64) -> u64 {
        (self.l2 / line * bits).div_ceil(8)
    }

    /// The labels' share of the L2, as published.
    pub fn published(&self) -> (u64, f64) {
        let bytes = self.labels(PUBLISHED_LINE, bits(&LABEL_FIELDS));
        (bytes, bytes as f64 / self.l2 as f64)
    }

    /// Bytes of labels for this simulator's lines, each label with its valid bit, and their fraction of the L2.
    pub fn here(&self) -> (u64, f64) {
        let bytes = self.labels(LINE, bits(&LABEL_FIELDS) + 1);
        (bytes, bytes as f64 / self.l2 as f64)
    }

    fn table(&self) -> Table {
        let tables = format!(
            "({} tables + 1) x {} entries x {} bits: {}",
            self.tables,
            self.entries(),
            bits(&self.entry()),
            named(&self.entry())
        );
        let labels = |name: &str, (bytes, share): (u64, f64), bits: u64, line: u64| {
            let of = format!("{bits} bits for each {line} B of {} KiB", self.l2 / 1024);
            vec![name.to_owned(), of, format!("{bytes} B, {:.4} %", 100.0 * share)]
        };
        let bits = bits(&LABEL_FIELDS);
        vec![
            vec!["kernel allocator".to_owned(), tables, format!("{:.1} B", self.table_bits() as f64 / 8.0)],
            labels("labels of the L2, as published", self.published(), bits, PUBLISHED_LINE),
            labels("for lines as they are here", self.here(), bits + 1, LINE),
        ]
    }
}

#[cfg(test)]
mod tests {
    use counterpoint::run::registry_with;
    use counterpoint_tests::support;

    use super::*;

    fn machine(name: &str, overlays: &[&str], sets: &[&str]) -> Machine {
        support::machine(name, overlays, sets, &registry_with(&[crate::register]))
    }

    #[test]
    fn the_cost_is_that_of_the_paper() {
        let cost = Cost::of(&machine("dka", &["dka-l2"], &["sms=24"])).unwrap();
        assert_eq!((bits(&cost.entry()), cost.entries(), cost.table_bits()), (37, 25, 8325));
        let fermi = Cost::of(&machine("dka", &["dka-l2"], &["sms=16"])).unwrap();
        assert_eq!(fermi.l2, 768 << 10);
        assert_eq!(fermi.published(), (12 << 10, 0.015625));
        assert_eq!(fermi.here().0, 6912, "half as many lines, nine bits each");
    }

    #[test]
    fn a_channel_has_the_bandwidth_of_the_paper() {
        // Two chips of 4 bytes, two transfers a cycle of 1107 MHz; the paper divides by 1024.
        let published = 1107.0 * 8.0 * 2.0 / 1024.0;
        assert!((published - 17.297_f64).abs() < 5e-4);
        for (sms, channels, total) in [(8, 3, 51.9), (16, 6, 103.8), (24, 9, 155.7)] {
            let machine = machine("dka", &[], &[&format!("sms={sms}")]);
            let controllers: Vec<_> = of_kind(&machine, "memory/dram-controller").collect();
            assert_eq!(controllers.len(), channels);
            assert!((published * channels as f64 - total).abs() < 0.05, "{channels} channels");
            assert_eq!(parameter::<String>(&controllers[0].params, "timing.standard").unwrap(), "gddr3");
        }
    }
}
