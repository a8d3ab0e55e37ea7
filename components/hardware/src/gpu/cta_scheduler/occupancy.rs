//! Occupancy, the number of thread blocks on an SM: arithmetic without time.
//!
//! Threads are counted in whole warps. Registers are allotted to warps in units, and warps are counted in
//! units there, too, because the warps of a block spread over the parts of an SM that have register files of
//! their own. Occupancy is the least of the limits by threads, registers, shared memory and block slots. The
//! units are those of a generation:
//!
//! | | `register_unit` | `warp_unit` | `shared_unit` | source |
//! | --- | --- | --- | --- | --- |
//! | GPGPU-Sim 3.x | 128: four a thread | 1 | 1 B | `shader_core_config::max_cta` (shader.cc) |
//! | Fermi | 64 | 2 | 128 B | CUDA Occupancy Calculator, 2.x |
//! | Kepler, Maxwell | 256 | 4 | 256 B | the same, 3.x and 5.x |

use counterpoint_framework::model::Params;
use counterpoint_framework::time::Bytes;
use counterpoint_protocols::launch::{Launch, SmResources};

const WARP: u32 = 32;

/// Granularity of an SM's resource allocation to blocks.
#[derive(Clone, Debug, Params)]
pub struct Occupancy {
    /// Registers of a warp are rounded up to a multiple of this: 128 as GPGPU-Sim does, 64 on Fermi, 256 from Kepler on.
    #[param(default = "128", min = "1", max = "4096")]
    register_unit: u32,
    /// Warps of a block are rounded up to a multiple of this when registers are counted: 2 on Fermi, 4 from Kepler on.
    #[param(default = "1", min = "1", max = "32")]
    warp_unit: u32,
    /// Shared memory of a block is rounded up to a multiple of this: 128 B on Fermi, 256 B from Kepler on.
    #[param(default = "1 B", min = "1 B", max = "4 KiB")]
    shared_unit: Bytes,
    /// Whether a grid that cannot fill the SMs is spread: an SM holds at most the blocks of the grid divided by the SMs, rounded up
    /// (GPGPU-Sim).
    #[param(default = "on")]
    spread: bool,
}

impl Occupancy {
    /// Allocation of one block of a launch.
    pub fn demand(&self, launch: &Launch) -> SmResources {
        self.allotted(
            launch.threads(),
            launch.registers,
            launch.kernel.shared_bytes() + launch.dynamic_shared,
        )
    }

    /// Allocation of a block with this number of threads, registers per thread and bytes of shared memory.
    pub fn allotted(&self, threads: u32, registers: u32, shared: u32) -> SmResources {
        let warps = threads.div_ceil(WARP);
        let of_warp = (registers * WARP).next_multiple_of(self.register_unit);
        SmResources {
            threads: warps * WARP,
            ctas: 1,
            registers: warps.next_multiple_of(self.warp_unit) * of_warp,
            shared: shared.next_multiple_of(self.shared_unit.get() as u32),
        }
    }

    /// Maximum number of blocks of a grid on one of these SMs: the number that the largest SM holds when it is empty, and
    /// the even share of a grid that is spread.
    pub(super) fn most_per_sm(&self, ctas: u32, demand: &SmResources, offers: &[SmResources]) -> u32 {
        let held = offers.iter().map(|offer| blocks(offer, demand));
        let capacity: u64 = held.clone().map(u64::from).sum();
        let most = held.max().unwrap_or_default();
        let fills = u64::from(ctas) >= capacity;
        if fills || !self.spread { most } else { most.min(ctas.div_ceil(offers.len() as u32)) }
    }
}

/// Number of blocks that fit into the resources that an SM offers.
pub fn blocks(offer: &SmResources, demand: &SmResources) -> u32 {
    let fit = |offer: u32, demand: u32| offer.checked_div(demand).unwrap_or(u32::MAX);
    fit(offer.threads, demand.threads)
        .min(fit(offer.ctas, demand.ctas))
        .min(fit(offer.registers, demand.registers))
        .min(fit(offer.shared, demand.shared))
}

/// The resources that are too few for a block, each with the amount that it needs and the amount left.
pub(super) fn missing(free: &SmResources, demand: &SmResources) -> Vec<String> {
    let all = [
        ("threads", demand.threads, free.threads),
        ("block slots", demand.ctas, free.ctas),
        ("registers", demand.registers, free.registers),
        ("bytes of shared memory", demand.shared, free.shared),
    ];
    let lacking = all.into_iter().filter(|(_, need, have)| need > have);
    lacking.map(|(name, need, have)| format!("it needs {need} {name}, {have} are left")).collect()
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::model::Families;
    use counterpoint_framework::testing::params;

    use super::*;

    const GPGPU_SIM: &str = "{}";
    const FERMI: &str = "{ register_unit: 64, warp_unit: 2, shared_unit: 128 B }";
    const KEPLER: &str = "{ register_unit: 256, warp_unit: 4, shared_unit: 256 B }";

    const GTX_480: SmResources = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 48 << 10 };
    /// The SM of a Tesla K20.
    const K20: SmResources = SmResources { threads: 2048, ctas: 16, registers: 65536, shared: 48 << 10 };

    #[test]
    fn blocks_of_an_sm_by_generation() {
        // Units, SM, threads, registers a thread, bytes of shared memory, and the blocks that fit.
        let table = [
            (GPGPU_SIM, GTX_480, 256, 8, 0, 6),
            (GPGPU_SIM, GTX_480, 256, 29, 0, 4),
            (GPGPU_SIM, GTX_480, 32, 8, 0, 8),
            (GPGPU_SIM, GTX_480, 1024, 20, 0, 1),
            (GPGPU_SIM, GTX_480, 250, 8, 0, 6),
            // Four a thread: 34 registers become 36, where a warp of Fermi has 34 exactly.
            (GPGPU_SIM, GTX_480, 192, 34, 0, 4),
            (FERMI, GTX_480, 192, 34, 0, 5),
            (FERMI, GTX_480, 256, 29, 0, 4),
            // Three warps count as four.
            (GPGPU_SIM, GTX_480, 96, 40, 0, 8),
            (FERMI, GTX_480, 96, 40, 0, 6),
            // Five blocks of 9830 B are two bytes less than there is, until they are rounded.
            (GPGPU_SIM, GTX_480, 64, 8, 9830, 5),
            (FERMI, GTX_480, 64, 8, 9830, 4),
            (KEPLER, K20, 256, 37, 0, 6),
            (KEPLER, K20, 96, 32, 0, 16),
            (KEPLER, K20, 96, 64, 0, 8),
            (KEPLER, K20, 128, 16, 12289, 3),
        ];
        for (units, sm, threads, registers, shared, expected) in table {
            let occupancy: Occupancy = params(&Families::default(), units);
            let found = blocks(&sm, &occupancy.allotted(threads, registers, shared));
            assert_eq!(found, expected, "{units}: {threads} threads, {registers} registers, {shared} B");
        }
    }

    #[test]
    fn a_grid_that_cannot_fill_the_sms_is_spread() {
        let (spread, packed): (Occupancy, Occupancy) =
            (params(&Families::default(), "{}"), params(&Families::default(), "{ spread: off }"));
        let demand = spread.allotted(256, 8, 0);
        let sms = [GTX_480; 15];
        let most = |ctas| spread.most_per_sm(ctas, &demand, &sms);
        assert_eq!((most(1), most(15), most(16), most(31), most(89)), (1, 1, 2, 3, 6));
        assert_eq!((most(90), most(1000)), (6, 6), "15 SMs of 6 blocks are full");
        assert_eq!(packed.most_per_sm(1, &demand, &sms), 6);
        // SMs of two kinds: the limit is that of the roomier one.
        let mixed = [SmResources { threads: 512, ..GTX_480 }, GTX_480];
        assert_eq!((packed.most_per_sm(1, &demand, &mixed), spread.most_per_sm(8, &demand, &mixed)), (6, 6));
        assert_eq!(spread.most_per_sm(5, &demand, &mixed), 3);
    }
}
