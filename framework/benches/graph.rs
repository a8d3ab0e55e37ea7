//! Common parts of every version of the four workloads: sizes, the PHOLD graph, random numbers and the result to check.
//!
//! - **Ring**: [`RING`] components, a token starts at each, every link takes one unit. An operation is a hop.
//! - **Pipeline**: a source, [`STAGES`] stages (the last one is the sink) behind buffers of [`BUFFER`] items; every stage
//!   takes one unit an item, the source none. An operation is an item through a stage.
//! - **PHOLD**: [`PROCESSES`] processes joined by a random graph, [`TOKENS`] tokens on the move. A token that leaves a
//!   process takes [`FLIGHT`] ticks to arrive, and is then held by the receiver for an exponential time of mean [`UNIT`]
//!   ticks. Arrival and end of the hold are events of their own; an operation is the two together, a hop.
//! - **Clocked**: components that are woken at every cycle and do one [`xorshift`]. An operation is a wake-up.
//!
//! A draw depends on the token and the tick alone. So neither the order of simultaneous events nor the kernel
//! changes what happens to a token, and all kernels must arrive at the same [`Work`].

/// Components of the ring, and tokens in it.
pub(crate) const RING: usize = 64;
/// Stages of the pipeline, the sink included.
pub(crate) const STAGES: usize = 9;
/// Items that fit between two stages.
pub(crate) const BUFFER: usize = 4;
pub(crate) const PROCESSES: usize = 1_024;
/// Outputs of a process of PHOLD.
pub(crate) const OUTPUTS: usize = 8;
/// Tokens that start at each process of PHOLD.
pub(crate) const TOKENS_EACH: usize = 16;
pub(crate) const TOKENS: usize = PROCESSES * TOKENS_EACH;
/// Ticks of a unit of PHOLD: the mean time for which a process holds a token.
pub(crate) const UNIT: u64 = 1_000;
/// Ticks that a token takes from process to process.
pub(crate) const FLIGHT: u64 = 100;

/// Work that a run has done; equal for every kernel that has done the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Hops, items through stages, wake-ups.
    pub(crate) operations: u64,
    /// Sum of what was received (tokens, items, draws) or of the final states.
    pub(crate) check: u64,
}

impl Work {
    /// Adds an operation on `value`.
    #[inline]
    pub(crate) fn add(&mut self, value: u64) {
        self.operations += 1;
        self.check = self.check.wrapping_add(value);
    }

    pub(crate) fn and(self, other: Work) -> Work {
        Work { operations: self.operations + other.operations, check: self.check.wrapping_add(other.check) }
    }
}

/// One step of the clocked components' generator.
#[inline]
pub(crate) fn xorshift(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

/// A random number that depends on the token and the tick: the finaliser of splitmix64.
#[inline]
pub(crate) fn draw(token: u32, tick: u64) -> u64 {
    let mut bits = (u64::from(token) << 40 ^ tick).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Ticks for which a process holds a token: exponential, rounded up, at least one.
#[inline]
pub(crate) fn hold(draw: u64) -> u64 {
    // In (0, 1], so that the logarithm is finite.
    let uniform = ((draw >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    1 + (-uniform.ln() * UNIT as f64) as u64
}

/// The output that a token leaves through.
#[inline]
pub(crate) fn output(draw: u64) -> usize {
    (draw >> 61) as usize
}

/// End of a PHOLD run of about `events` hops, in ticks: events at this tick or later do not count.
pub(crate) fn last_tick(events: u64) -> u64 {
    events * (UNIT + FLIGHT) / TOKENS as u64
}

/// The receivers of each process's outputs: seeded, no process twice, none its own receiver.
pub(crate) fn graph() -> Vec<[u32; OUTPUTS]> {
    let mut state = 0x2545_f491_4f6c_dd1d;
    (0..PROCESSES as u32)
        .map(|process| {
            let mut receivers = [process; OUTPUTS];
            let mut found = 0;
            while found < OUTPUTS {
                state = xorshift(state);
                let receiver = (state >> 33) as u32 % PROCESSES as u32;
                if receiver != process && !receivers[..found].contains(&receiver) {
                    receivers[found] = receiver;
                    found += 1;
                }
            }
            receivers
        })
        .collect()
}
