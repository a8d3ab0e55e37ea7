//! Sizes of slices: the smallest that costs little, and those of two kernels that end together (sections 4.1 and 4.4, Eq. 8).

use std::cmp::Reverse;

use counterpoint::gpu::cta_scheduler::occupancy;
use counterpoint::messages::launch::SmResources;

/// `p`: the maximum cost of slices, in the time of the kernel as a whole.
pub const OVERHEAD: f64 = 0.02;

/// A kernel's time in slices of one size, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sliced {
    /// Blocks of a slice.
    pub blocks: u32,
    /// The time of all slices, in the unit of the unsliced kernel's.
    pub time: f64,
}

/// The slices of two kernels that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Candidates that leave an SM no room for another block of either kernel.
    ///
    /// The paper evaluates "slice ratios", and wants slices "tuned for GPU utilization". Eq. 8 has a difference of times, not of ratios:
    /// with fewer warps both times are shorter, and so is the difference. It would leave SMs half empty.
    #[default]
    Full,
    /// All candidates that fit: Eq. 8 to the letter.
    Any,
}

/// Sizes of slices that are tried: multiples of the number of SMs, up to the blocks that all SMs hold.
pub fn sizes(sms: u32, blocks_per_sm: u32) -> impl Iterator<Item = u32> {
    (1..=blocks_per_sm).map(move |blocks| blocks * sms)
}

/// The cost of slices, in the time of the kernel as a whole: `Ts / Tns - 1`.
pub fn overhead(sliced: f64, unsliced: f64) -> f64 {
    sliced / unsliced - 1.0
}

/// The smallest slice whose overhead is at most `limit` ([`OVERHEAD`]). `None` if all cost more.
pub fn minimum(measured: &[Sliced], unsliced: f64, limit: f64) -> Option<u32> {
    let cheap = measured.iter().filter(|sliced| overhead(sliced.time, unsliced) <= limit);
    cheap.map(|sliced| sliced.blocks).min()
}

/// Blocks of two kernels that an SM holds together, at least one of each. `offer` gives the SM's resources,
/// `demands` the needs of a block of each kernel.
pub fn feasible(offer: &SmResources, demands: [&SmResources; 2], fill: Fill) -> Vec<[u32; 2]> {
    let [first, second] = demands.map(of_one_block);
    let all = (1..=occupancy::blocks(offer, &first)).flat_map(|blocks| {
        let left = SmResources {
            threads: offer.threads - blocks * first.threads,
            ctas: offer.ctas - blocks * first.ctas,
            registers: offer.registers - blocks * first.registers,
            shared: offer.shared - blocks * first.shared,
        };
        (1..=occupancy::blocks(&left, &second)).map(move |others| [blocks, others])
    });
    let all: Vec<[u32; 2]> = all.collect();
    let has_room = |[blocks, others]: [u32; 2]| {
        all.contains(&[blocks + 1, others]) || all.contains(&[blocks, others + 1])
    };
    let stays = |pair: &[u32; 2]| fill == Fill::Any || !has_room(*pair);
    all.iter().copied().filter(stays).collect()
}

/// Blocks of a kernel that an SM holds.
pub fn most(offer: &SmResources, demand: &SmResources) -> u32 {
    occupancy::blocks(offer, &of_one_block(demand))
}

/// A block takes a slot, whatever else it needs.
fn of_one_block(demand: &SmResources) -> SmResources {
    SmResources { ctas: demand.ctas.max(1), ..*demand }
}

/// Cycles that slices of two kernels take together: instructions of each per SM, and its IPC.
pub fn times(instructions_per_block: [f64; 2], blocks_per_sm: [u32; 2], ipc: [f64; 2]) -> [f64; 2] {
    std::array::from_fn(|kernel| {
        instructions_per_block[kernel] * f64::from(blocks_per_sm[kernel]) / ipc[kernel]
    })
}

/// Slices of two kernels, as the model predicts them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Cycles of a slice of each.
    pub times: [f64; 2],
    /// Warps of each on an SM.
    pub warps: [u32; 2],
}

/// Index of the candidate with the smallest difference of times (Eq. 8).
///
/// Where differences are equal but for rounding, more warps win, then the more even split, and then the first candidate. Of two
/// instances of one kernel all candidates are equal: the model has the IPC in proportion to the warps.
pub fn balanced(candidates: &[Candidate]) -> Option<usize> {
    (0..candidates.len()).reduce(|best, at| if candidates[at].beats(&candidates[best]) { at } else { best })
}

impl Candidate {
    fn beats(&self, other: &Candidate) -> bool {
        let [own, others] = [self, other].map(|it| (it.times[0] - it.times[1]).abs());
        let rounding = 1e-9 * other.times[0].max(other.times[1]);
        let rank = |it: &Candidate| (it.warps[0] + it.warps[1], Reverse(it.warps[0].abs_diff(it.warps[1])));
        own < others - rounding || own <= others + rounding && rank(self) > rank(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(threads: u32, registers: u32, shared: u32) -> SmResources {
        SmResources { threads, ctas: 1, registers, shared }
    }

    const OFFER: SmResources = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 49152 };

    /// A5.12.
    #[test]
    fn three_blocks_per_sm_of_the_c2050_are_a_slice_of_42() {
        assert_eq!(sizes(14, 8).nth(2), Some(42));
        assert_eq!(sizes(8, 3).collect::<Vec<_>>(), [8, 16, 24]);
    }

    #[test]
    fn the_smallest_slice_is_the_first_below_two_per_cent() {
        let measured = [(14, 166.7), (28, 110.0), (42, 101.9), (56, 102.5), (70, 100.1)];
        let measured = measured.map(|(blocks, time)| Sliced { blocks, time });
        assert!((overhead(166.7, 100.0) - 0.667).abs() < 1e-12);
        assert_eq!(minimum(&measured, 100.0, OVERHEAD), Some(42));
        assert_eq!(minimum(&measured, 100.0, 0.001), Some(70));
        assert_eq!(minimum(&measured[..2], 100.0, OVERHEAD), None);
    }

    #[test]
    fn slices_share_each_resource() {
        let of = |first: &SmResources, second: &SmResources| feasible(&OFFER, [first, second], Fill::Any);
        let by_slots = of(&block(32, 0, 0), &block(32, 0, 0));
        assert!(by_slots.iter().all(|[first, second]| first + second <= 8) && by_slots.len() == 28);
        let by_threads = of(&block(512, 0, 0), &block(256, 0, 0));
        assert_eq!(by_threads, [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2]]);
        let by_registers = of(&block(32, 16384, 0), &block(32, 8192, 0));
        assert_eq!(by_registers, [[1, 1], [1, 2]]);
        let by_shared = of(&block(32, 0, 30000), &block(32, 0, 10000));
        assert_eq!(by_shared, [[1, 1]]);
        assert_eq!(of(&block(1536, 0, 0), &block(32, 0, 0)), [[0; 2]; 0]);
    }

    #[test]
    fn full_sms_have_no_room_for_another_block() {
        let (small, large) = (block(192, 0, 0), block(512, 0, 0));
        let of = |second| feasible(&OFFER, [&small, second], Fill::Full);
        assert_eq!(of(&small), (1..8).map(|blocks| [blocks, 8 - blocks]).collect::<Vec<_>>());
        assert_eq!(of(&large), [[2, 2], [5, 1]]);
    }

    /// Candidates with these times and warps.
    fn candidates<const N: usize>(of: [([f64; 2], [u32; 2]); N]) -> [Candidate; N] {
        of.map(|(times, warps)| Candidate { times, warps })
    }

    /// Eq. 8.
    #[test]
    fn the_balanced_slices_differ_least_in_time() {
        let times = [[1, 1], [1, 2], [2, 1]].map(|blocks| times([100.0, 50.0], blocks, [0.5, 0.25]));
        assert_eq!(times, [[200.0, 200.0], [200.0, 400.0], [400.0, 200.0]]);
        assert_eq!(balanced(&candidates(times.map(|times| (times, [4, 4])))), Some(0));
        assert_eq!(balanced(&[]), None);
    }

    #[test]
    fn of_equal_differences_the_larger_occupancy_wins_then_the_more_even_one() {
        let by_warps = [
            ([10.0, 10.0], [4, 4]),
            ([20.0, 20.0], [8, 8]),
            ([30.0, 30.0 + 1e-9], [12, 12]),
            ([30.0, 31.0], [24, 24]),
        ];
        assert_eq!(balanced(&candidates(by_warps)), Some(2));
        let by_evenness =
            [([9.0, 9.0], [1, 7]), ([9.0, 9.0], [5, 3]), ([9.0, 9.0], [4, 4]), ([9.0, 9.0], [7, 1])];
        assert_eq!(balanced(&candidates(by_evenness)), Some(2));
    }
}
