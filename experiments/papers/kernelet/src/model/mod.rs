//! The Markov model: the IPC of one kernel on an SM, and of several together (section 4.4). Arithmetic that knows no time.
//!
//! A warp is ready or idle. The scheduler polls the warps in rounds, and in a round each ready warp issues an instruction. With
//! probability `R_m`, the fraction of memory instructions, the instruction is a memory instruction and its warp is idle in the
//! next round; an idle warp is ready in the next round with the probability `round / L`. The state of the SM is the number of its
//! idle warps, a step is a round, and the steady state of the chain gives the IPC:
//!
//! ```text
//! round(i) = max(1, W - i)                                              cycles; all idle: one idle cycle
//! p(i)     = min(1, round(i) / L(i))                                    an idle warp gets ready
//! L(i)     = L0 + a0 * i / B + b0                                       cycles
//! P(i, j)  = sum over m - k = j - i of Bin(i, k, p(i)) * Bin(W - i, m, R_m)
//! IPC      = sum of gamma(i) * (W - i) / sum of gamma(i) * round(i)     Eq. 4; gamma = gamma * P
//! ```
//!
//! Kernels that run together have a state each, and share the round and `L`: the round depends on the number of all ready warps,
//! and `L` on the number of all idle warps. Given the joint state, they are independent of each other (Eqs. 5 to 7).
//!
//! # Where the paper is silent, or wrong
//!
//! | the paper | here |
//! | --- | --- |
//! | `p = (W - I) / L` is 0 when all warps are idle: they stay so for ever, and the IPC is 0 | the round has at least one cycle, as in Eq. 4; `p` has at most 1 |
//! | the fraction of `L` is garbled: `B` stands above `a0 * S` | `a0 * S / B`: more idle warps are slower, more bandwidth is faster |
//! | states of uncoalesced accesses are "developed in a similar way" | [`Warps`]; the linear model counts their requests ([`Memory`]) |
//! | a virtual SM has the "active thread blocks and bandwidth" divided by the schedulers | [`Sm`]; the result is multiplied by them |
//! | blocks are units instead of warps, for speed | [`Unit::Block`] |
//!
//! # Time to solve
//!
//! Measured on one core of a shared AMD EPYC, with constant latency:
//!
//! | chain | states | optimised | as tests are built |
//! | --- | --- | --- | --- |
//! | 8 + 8 units | 81 | 0.1 ms | 0.2 ms |
//! | 48 warps | 49 | 0.3 ms | 0.6 ms |
//! | 4 + 4 units, accesses of both kinds in both | 225 | 1 ms | 3 to 15 ms |
//! | 24 warps, accesses of both kinds | 325 | 4 ms | 40 ms |
//! | 24 + 24 warps | 625 | 25 to 40 ms | 0.2 s |
//! | 48 warps, accesses of both kinds | 1225 | 0.2 s | 2 s |
//! | 8 + 8 units, accesses of both kinds in both | 2025 | 2 s | 12 s |

mod chain;
mod latency;
mod sm;
mod steady;
mod warps;

pub use chain::{Chain, Unsolvable, ipc};
pub use latency::{Latency, Memory};
pub use sm::{Resident, Sm, Unit};
pub use warps::{Idle, Warps};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
