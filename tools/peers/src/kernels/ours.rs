//! Our kernel, with one clock and with three, and the hand-written loops.

use counterpoint_framework::kernel::RunOptions;

use crate::measure::{COMPONENTS, Run, Workload};
use crate::workloads::{Clocks, work};
use crate::{floors, workloads};

/// Every component at 1 GHz.
pub(crate) fn unit(workload: Workload, size: u64) -> Run {
    machine(Clocks::Unit, workload, size)
}

/// Components at 700, 924 and 1600 MHz in rotation.
pub(crate) fn mixed(workload: Workload, size: u64) -> Run {
    machine(Clocks::Mixed, workload, size)
}

fn machine(clocks: Clocks, workload: Workload, size: u64) -> Run {
    let machine = match workload {
        Workload::Ring => workloads::ring(clocks, size),
        Workload::Pipeline => workloads::pipeline(clocks, size),
        Workload::Phold => workloads::phold(clocks, size),
        Workload::Clocked => workloads::clocked(clocks, COMPONENTS, size),
    };
    Run::time(|| work(machine.run(&RunOptions::default())))
}

/// The hand-written loops.
pub(crate) fn floor(workload: Workload, size: u64) -> Run {
    Run::time(|| match workload {
        Workload::Ring => floors::ring(size),
        Workload::Pipeline => floors::pipeline(size),
        Workload::Phold => floors::phold(size),
        Workload::Clocked => floors::clocked(COMPONENTS, size),
    })
}
