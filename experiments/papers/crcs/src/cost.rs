//! Storage cost of CRCS and PPCS, computed as the paper does (Kim et al., PACT 2016, section 5.4): additional
//! bits of TLB entries and of the CTA scheduler's table, against the caches and the shared memory of the GPU.
//!
//! The paper's numbers do not fit the machine that it evaluates, so both are here. Five bits do not count 64 SMs, nor do eleven bits
//! the pages of its largest program, which has 40 MB; and its Table 1 has 16 KB of shared memory and no read-only cache, while
//! the share of 0.77 % is of a GPU with 32 KB and 48 KB. The ready bit of each entry of the instruction buffers is not in that
//! share, and is not here.

use counterpoint::component::Node;
use counterpoint::machine::Machine;

use counterpoint::cost::{
    CostReport, FieldBits, Table, bits, l2, named, of_kind, one, parameter, size, width,
};

/// CRCS and PPCS, for machines whose MMU knows owners of pages.
pub const REPORT: CostReport = CostReport {
    name: "CRCS and PPCS",
    with: "`--with crcs-ppcs`",
    applies: |machine| one(machine, "gpu/mmu").is_ok_and(has_owners),
    tables: |machine| Ok(Cost::of(machine)?.tables()),
};

fn has_owners(mmu: &Node) -> bool {
    let authority = mmu.get("authority");
    authority.is_some_and(|chosen| chosen.as_scalar() == Some("owners") || chosen.get("owners").is_some())
}

/// Additional fields of a TLB entry.
pub const TLB_FIELDS: [FieldBits; 6] = [
    ("ready", 1),
    ("goes to the host", 1),
    ("owner", 10),
    ("blocks that read", 10),
    ("blocks that write", 10),
    ("place of the page's list", 32),
];

/// The CTA scheduler's fields per kernel, as printed.
pub const KERNEL_FIELDS: [FieldBits; 3] = [("kernel", 10), ("SMs", 5), ("pages", 11)];

/// The SM assumed by the share of section 5.4, besides its L1.
const ASSUMED_SHARED: u64 = 32 << 10;
const ASSUMED_READ_ONLY: u64 = 48 << 10;

/// Bytes of a GPU's caches and shared memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The L1 of an SM.
    pub l1: u64,
    /// The shared memory of an SM.
    pub shared: u64,
    /// The read-only cache of an SM.
    pub read_only: u64,
    /// The whole L2.
    pub l2: u64,
}

/// Additional storage of CRCS and PPCS in a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// SMs of the GPU.
    pub sms: u64,
    /// Entries of each TLB.
    pub entries: u64,
    /// Kernels that can run at a time.
    pub kernels: u64,
    /// Pages of the device memory.
    pub pages: u64,
    /// Other storage of the GPU.
    pub storage: Storage,
}

impl Storage {
    /// The bytes of a GPU with `sms` SMs.
    pub fn bytes(&self, sms: u64) -> u64 {
        sms * (self.l1 + self.shared + self.read_only) + self.l2
    }

    /// This storage with the shared memory and the read-only cache that section 5.4 assumes.
    pub fn assumed(&self) -> Storage {
        Storage { shared: ASSUMED_SHARED, read_only: ASSUMED_READ_ONLY, ..*self }
    }
}

impl Cost {
    /// Cost of CRCS and PPCS on a machine with one GPU whose SMs have TLBs.
    ///
    /// # Errors
    /// A sentence about the part that the machine lacks.
    pub fn of(machine: &Machine) -> Result<Self, String> {
        let [sm, scheduler, mmu] = ["gpu/sm", "gpu/cta-scheduler", "gpu/mmu"].map(|kind| one(machine, kind));
        let (sm, scheduler, mmu) = (sm?, scheduler?, mmu?);
        let entries: u64 = parameter(sm, "tlb.entries")?;
        if entries == 0 {
            return Err(
                "the SMs of the machine have no TLBs; the overlay `crcs-ppcs` gives them some".to_owned()
            );
        }
        Ok(Cost {
            sms: of_kind(machine, "gpu/sm").count() as u64,
            entries,
            kernels: parameter(scheduler, "concurrent_kernels")?,
            pages: size(mmu, "memory")? / size(mmu, "page")?,
            storage: Storage {
                l1: size(sm, "l1d.capacity")?,
                shared: size(sm, "shared")?,
                read_only: size(sm, "l1t.capacity")?,
                l2: l2(machine)?,
            },
        })
    }

    /// Bytes that the TLB of an SM gets.
    pub fn tlb(&self) -> u64 {
        (self.entries * bits(&TLB_FIELDS)).div_ceil(8)
    }

    /// Bytes that the CTA scheduler gets, with these fields.
    pub fn scheduler(&self, fields: &[FieldBits]) -> u64 {
        (self.kernels * bits(fields)).div_ceil(8)
    }

    /// The fields that the CTA scheduler needs to count this machine's SMs and pages.
    pub fn needed(&self) -> [FieldBits; 3] {
        let [(kernel, _), (sms, _), (pages, _)] = KERNEL_FIELDS;
        [(kernel, width(self.kernels.saturating_sub(1))), (sms, width(self.sms)), (pages, width(self.pages))]
    }

    /// Bytes in all, with these fields of the CTA scheduler.
    pub fn bytes(&self, fields: &[FieldBits]) -> u64 {
        self.sms * self.tlb() + self.scheduler(fields)
    }

    /// Fraction of `storage` that fields of these widths need.
    pub fn share(&self, fields: &[FieldBits], storage: &Storage) -> f64 {
        self.bytes(fields) as f64 / storage.bytes(self.sms) as f64
    }

    /// The sum in tables: the fields, and shares of the GPU's storage.
    fn tables(&self) -> Vec<Table> {
        let needed = self.needed();
        let scheduler = |name: &str, fields: &[FieldBits]| {
            let bits = format!("{} bits x {} kernels: {}", bits(fields), self.kernels, named(fields));
            vec![name.to_owned(), bits, format!("{} B", self.scheduler(fields))]
        };
        let tlb = format!("{} bits x {} entries: {}", bits(&TLB_FIELDS), self.entries, named(&TLB_FIELDS));
        let parts = vec![
            vec!["TLB of an SM".to_owned(), tlb, format!("{} B", self.tlb())],
            scheduler("CTA scheduler", &KERNEL_FIELDS),
            scheduler("with counters that fit", &needed),
        ];
        let share = |name: &str, fields: &[FieldBits], storage: Storage| {
            let kib = |bytes: u64| bytes / 1024;
            let of = format!(
                "{} B of {} x ({} + {} + {}) KiB + {} KiB",
                self.bytes(fields),
                self.sms,
                kib(storage.l1),
                kib(storage.shared),
                kib(storage.read_only),
                kib(storage.l2)
            );
            vec![name.to_owned(), of, format!("{:.4} %", 100.0 * self.share(fields, &storage))]
        };
        let shares = vec![
            share("as published", &KERNEL_FIELDS, self.storage.assumed()),
            share("with counters that fit", &needed, self.storage.assumed()),
            share("and this machine's storage", &needed, self.storage),
        ];
        vec![parts, shares]
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

    fn cost(overlays: &[&str], sets: &[&str]) -> Result<Cost, String> {
        Cost::of(&machine("crcs-64sm-pcie3-ssd", overlays, sets))
    }

    #[test]
    fn the_cost_is_that_of_the_paper() {
        let cost = cost(&["crcs-ppcs"], &[]).unwrap();
        assert_eq!((bits(&TLB_FIELDS), cost.tlb()), (64, 1024));
        assert_eq!((bits(&KERNEL_FIELDS), cost.scheduler(&KERNEL_FIELDS)), (26, 3328));
        let assumed = cost.storage.assumed();
        assert_eq!(assumed.bytes(cost.sms), (64 * (32 + 32 + 48) + 1536) * 1024);
        let percent = 100.0 * cost.share(&KERNEL_FIELDS, &assumed);
        assert!((percent - 0.7726).abs() < 5e-5, "{percent}");
        // Cases beyond the paper's counters: 64 SMs, and the pages of 1 GiB.
        assert_eq!(cost.needed().map(|(_, bits)| bits), [10, 7, 19]);
        assert!(cost.share(&cost.needed(), &cost.storage) > percent / 100.0);
    }

    #[test]
    fn the_cost_is_that_of_the_machine_as_it_is_set() {
        let half = cost(&["crcs-ppcs"], &["gpu.sms=32", "gpu.sm.tlb.entries=64"]).unwrap();
        assert_eq!(half.bytes(&KERNEL_FIELDS), 32 * 512 + 3328);
        let problem = cost(&[], &[]).unwrap_err();
        assert_eq!(problem, "the machine has no component of kind gpu/mmu");
        let without = cost(&["crcs-ppcs"], &["gpu.sm.tlb.entries=0"]).unwrap_err();
        assert!(without.contains("no TLBs"), "{without}");
    }
}
