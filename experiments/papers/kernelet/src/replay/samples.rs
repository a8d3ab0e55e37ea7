//! Tables that tests share.

use counterpoint::component::Report;
use counterpoint::messages::launch::SmResources;

use super::{Arrival, Measured, Policy, Queue, Source};
use crate::model::Memory;
use crate::schedule::{GpuDescription, Options};

/// The first line of a table of kernels.
pub(super) const KERNELS: &str = "kernel,blocks,rate,instructions_per_block,memory_fraction,uncoalesced_fraction,\
    warps_per_block,threads,registers,shared,pur,mur,minimum_slice\n";

/// The first line of a table of pairs.
pub(super) const PAIRS: &str = "first,second,slice_first,slice_second,rate_first,rate_second\n";

/// Eight warps at most, each of them a block, on each of two SMs.
pub(super) const MACHINE: GpuDescription = GpuDescription {
    sms: 2,
    schedulers: 1,
    peak_ipc: 1.0,
    offer: SmResources { threads: 256, ctas: 8, registers: 32768, shared: 49152 },
    memory: Memory::constant(100.0),
};

/// A kernel that computes and a kernel that loads: the model lets them run in slices of eight blocks each. Alone they take 10 ms and 20 ms.
pub(super) const TWO: &str = "\
computes,100,10,819.552268,0.02,0,1,32,0,0,0.99,0.02,0
loads,100,5,119.037872,0.3,0,1,32,0,0,0.25,0.3,0
";

/// Kernelet on [`MACHINE`].
pub(super) fn kernelet() -> Policy {
    Policy::Kernelet { machine: MACHINE, options: Options::default() }
}

/// The measurements in texts without their first lines; `tails` has none if it is empty.
pub(super) fn read(kernels: &str, pairs: &str, tails: &str) -> Result<Measured, Box<Report>> {
    let texts = [(KERNELS, kernels), (PAIRS, pairs), ("first,second,both\n", tails)];
    let [kernels, pairs, both] = texts.map(|(head, rows)| format!("{head}{rows}"));
    let source = |name, text| Source { name, text };
    let both = (!tails.is_empty()).then_some(source("tails.csv", both.as_str()));
    Measured::read(source("kernels.csv", &kernels), source("pairs.csv", &pairs), both)
}

/// The measurements in correct texts.
#[track_caller]
pub(super) fn measured(kernels: &str, pairs: &str, tails: &str) -> Measured {
    read(kernels, pairs, tails).unwrap()
}

/// Instances by time and kernel.
pub(super) fn queue<const N: usize>(arrivals: [(f64, usize); N]) -> Queue {
    Queue::new(arrivals.map(|(time, kernel)| Arrival { time, kernel }))
}
