//! Queues of kernel instances, replayed from measured rates: the total times of Figs. 13 and 14 without a simulation of every plan.
//!
//! [`Measured`] has the rate of each kernel alone, and beside each other kernel in slices of several sizes. A [`Queue`] has the instances
//! and their arrival times. [`replay`] runs it under a [`Policy`], and [`monte_carlo`] under many random plans. A seed gives the same
//! arrivals and the same random plans on every computer.
//!
//! Time is in milliseconds. A rate holds for as long as two kernels run together: neither the start of a co-schedule nor its end has a
//! cost of its own. Blocks are whole: when one kernel of a co-schedule has none left, the finished blocks of the other kernel are rounded
//! to the nearest number. The remaining blocks wait for the next decision.
//!
//! ```
//! use counterpoint_kernelet::replay::{Arrival, Measured, Policy, Queue, Source, replay};
//!
//! let kernels = "kernel,blocks,rate,instructions_per_block,memory_fraction,uncoalesced_fraction,warps_per_block,threads,registers,\
//!     shared,pur,mur,minimum_slice\n\
//!     A,100,10,4000,0.01,0,4,128,2560,0,0.95,0.02,14\n\
//!     B,100,10,800,0.3,0,4,128,2560,0,0.2,0.12,14\n";
//! let pairs = "first,second,slice_first,slice_second,rate_first,rate_second\nA,B,14,28,8,8\n";
//! let [kernels, pairs] = [("kernels.csv", kernels), ("pairs.csv", pairs)].map(|(name, text)| Source { name, text });
//! let measured = Measured::read(kernels, pairs, None)?;
//! let queue = Queue::new([Arrival { time: 0.0, kernel: 0 }, Arrival { time: 0.0, kernel: 1 }]);
//! assert_eq!(replay(&measured, &queue, &Policy::Base)?.total, 20.0);
//! assert_eq!(replay(&measured, &queue, &Policy::Optimal)?.total, 12.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod base;
mod greedy;
mod measured;
mod monte_carlo;
mod outcome;
mod pending;
mod policy;
mod queue;
mod rates;
mod read;
mod run;
mod table;

pub(crate) use greedy::ByMeasurement;
pub use measured::{Kernel, Measured, PairRates, Unknown};
pub(crate) use monte_carlo::random_kernels;
pub use monte_carlo::{monte_carlo, quantile};
pub use outcome::{Choice, Outcome, Used};
pub(crate) use pending::Pending;
pub use policy::{Policy, replay};
pub use queue::{Arrival, Queue};
pub use table::{Source, Text};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
