//! The latency of memory under contention: linear in the requests outstanding, inverse in the bandwidth.

/// The constants of `L = L0 + a0 * S / B + b0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// `L0`: cycles of a request without contention, from the specification.
    pub base: f64,
    /// `a0`: cycles are this many times those in which the bandwidth serves the outstanding requests; fitted.
    /// The paper counts the warps of one SM against the bandwidth of the GPU, so that it holds the number of
    /// SMs, too.
    pub slope: f64,
    /// `b0`: further cycles; fitted.
    pub offset: f64,
}

/// The model's knowledge of the memory.
///
/// `S`, on which the latency depends, is the number of outstanding requests: one for each warp that is idle
/// on a coalesced access, and [`requests`](Memory::requests) for each one that is idle on an uncoalesced
/// access. It is the same for both latencies, because both wait for the same bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// `B`: requests per cycle.
    pub bandwidth: f64,
    /// Latency of a coalesced access.
    pub coalesced: Latency,
    /// Latency of an uncoalesced access.
    pub uncoalesced: Latency,
    /// Requests of an uncoalesced access, 1 to 32.
    pub requests: f64,
}

impl Latency {
    /// A latency of this many cycles without regard to contention.
    pub const fn constant(cycles: f64) -> Self {
        Latency { base: cycles, slope: 0.0, offset: 0.0 }
    }

    /// Latency in cycles with `outstanding` requests at a bandwidth of `bandwidth` requests per cycle; at
    /// least one.
    pub fn at(&self, outstanding: f64, bandwidth: f64) -> f64 {
        (self.base + self.slope * outstanding / bandwidth + self.offset).max(1.0)
    }
}

impl Memory {
    /// A memory of unlimited bandwidth: this many cycles for every access.
    pub const fn constant(cycles: f64) -> Self {
        let latency = Latency::constant(cycles);
        Memory { bandwidth: f64::INFINITY, coalesced: latency, uncoalesced: latency, requests: 1.0 }
    }

    /// A memory with one latency for every access, at a bandwidth in requests per cycle.
    pub const fn uniform(latency: Latency, bandwidth: f64) -> Self {
        Memory { bandwidth, coalesced: latency, uncoalesced: latency, requests: 1.0 }
    }

    /// Cycles of a coalesced and of an uncoalesced access, while warps are idle on this many of each.
    pub fn latencies(&self, coalesced: f64, uncoalesced: f64) -> [f64; 2] {
        let outstanding = coalesced + self.requests * uncoalesced;
        [self.coalesced, self.uncoalesced].map(|latency| latency.at(outstanding, self.bandwidth))
    }
}
