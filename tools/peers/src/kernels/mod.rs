//! The kernels, one file each, and the list of them.

use crate::graph::Work;
use crate::measure::{Run, Workload};

mod desque;
mod nexosim;
mod odem;
mod ours;
mod systemc;
mod tokio;

pub(crate) type Answer = Result<Option<Run>, String>;

/// Runs a workload of a size. `None` where the kernel has no version of it.
pub(crate) type Runner = Box<dyn Fn(Workload, u64) -> Answer>;

pub(crate) struct Kernel {
    /// Name of the kernel's row in the table.
    pub(crate) name: String,
    /// Runs it, or says why it cannot run here.
    pub(crate) runner: Result<Runner, String>,
    /// Slow kernels do this part of the full size.
    pub(crate) share: u64,
    /// Whether times, and so the work of PHOLD, differ from those of one clock.
    pub(crate) own_times: bool,
}

impl Kernel {
    fn new(name: impl Into<String>, share: u64, run: fn(Workload, u64) -> Run) -> Kernel {
        let runner: Runner = Box::new(move |workload, size| Ok(Some(run(workload, size))));
        Kernel { name: name.into(), runner: Ok(runner), share, own_times: false }
    }
}

/// The row that ratios are taken of.
pub(crate) const REFERENCE: &str = "Counterpoint, 700/924/1600 MHz";

/// Kernels in the order of the table.
pub(crate) fn all() -> Vec<Kernel> {
    let mut kernels = vec![
        Kernel::new("Counterpoint, 1 GHz", 1, ours::unit),
        Kernel { own_times: true, ..Kernel::new(REFERENCE, 1, ours::mixed) },
        Kernel::new("hand-written loop, BinaryHeap", 1, ours::floor),
        Kernel::new(format!("desque {}", version("desque")), 1, desque::run),
        Kernel::new(format!("odem-rs {}", version("odem-rs")), 2, odem::run),
        Kernel::new(format!("NeXosim {}", version("nexosim")), 8, nexosim::run),
        Kernel::new(
            format!("tokio {} paused clock + flume {}", version("tokio"), version("flume")),
            4,
            tokio::run,
        ),
    ];
    kernels.extend(systemc::kernels());
    kernels
}

/// The work that every kernel must have done after a workload of a size.
pub(crate) fn expected(workload: Workload, size: u64) -> Work {
    ours::floor(workload, size).work
}

/// The version of a dependency, as locked.
fn version(package: &str) -> &'static str {
    let lock = include_str!("../../Cargo.lock");
    let entry = format!("name = \"{package}\"\nversion = \"");
    let rest = lock.split_once(&entry).map_or("", |(_, rest)| rest);
    rest.split_once('"').map_or("?", |(version, _)| version)
}
