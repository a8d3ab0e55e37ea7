//! The CPU's cores as far as they execute tasks themselves: the time of a kernel's instructions on a core.
//!
//! A core executes the instructions of the kernel's PTX, in vectors: an instruction of a warp of 32 lanes becomes one
//! vector instruction for each vector of its 32 lanes, or, if few lanes take part, one scalar instruction for each
//! lane, whichever is less in all. Differences between the instruction sets, and caches, are not modelled: tasks are
//! small, and their inputs and results cross the memory's bus once.

use counterpoint_framework::model::Params;

/// Lanes of a warp.
const WARP: u64 = 32;

/// Cores of the CPU, which execute tasks.
#[derive(Clone, Debug, Params)]
pub struct CoreParams {
    /// Cores.
    #[param(default = "4", min = "1", max = "1024")]
    cores: u32,
    /// Numbers of 32 bits that a vector holds: 4 with SSE, 8 with AVX.
    #[param(default = "8", min = "1", max = "32")]
    lanes: u32,
    /// Instructions that a core executes in a cycle, on average.
    #[param(default = "2", min = "1", max = "16")]
    issue: u32,
}

impl CoreParams {
    /// Number of cores.
    pub fn cores(&self) -> u32 {
        self.cores
    }

    /// Cycles of a core for these instructions, counted once for a warp and once for every lane.
    pub fn cycles(&self, warp_instructions: u64, thread_instructions: u64) -> u64 {
        let vectors = warp_instructions * WARP.div_ceil(self.lanes.into());
        vectors.min(thread_instructions).div_ceil(self.issue.into())
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::model::Families;
    use counterpoint_framework::testing::params;

    use super::*;

    #[test]
    fn instructions_are_vectors_or_those_of_single_lanes() {
        let cycles = |text: &str, warps, lanes| {
            let cores: CoreParams = params(&Families::default(), text);
            cores.cycles(warps, lanes)
        };
        // 100 instructions of full warps: four vectors of eight lanes each, two a cycle.
        assert_eq!(cycles("{}", 100, 3200), 200);
        assert_eq!(cycles("{ lanes: 1, issue: 1 }", 100, 3200), 3200);
        assert_eq!(cycles("{ lanes: 32, issue: 1 }", 100, 3200), 100);
        assert_eq!(cycles("{ lanes: 12, issue: 1 }", 100, 3200), 300, "three vectors hold 32 lanes");
        // With two active lanes of 32, vectors do not pay.
        assert_eq!(cycles("{ issue: 1 }", 100, 200), 200);
        assert_eq!(cycles("{ issue: 3 }", 1, 32), 2, "a cycle that has begun counts");
    }
}
