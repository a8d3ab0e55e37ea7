//! Runtimes of narrow tasks: tasks go to a kernel that stays on the GPU, to one that takes them in batches, or are kernels of their own, the
//! blocks of one kernel, or work of the CPU's threads.

mod batches;
mod narrow;

counterpoint::component::variants! {
    /// Registers the runtimes that count nothing of their own.
    fn register_plain, of dyn Runtime;

    mod hyperq::HyperQ;
    mod gemtc::Gemtc;
    mod fusion::Fusion;
    mod pthreads::Pthreads;
}

pub mod pagoda;
pub mod resident;

use counterpoint::component::Registry;
use counterpoint::host::Runtime;

pub(crate) fn register(registry: &mut Registry) {
    registry.equipped::<dyn Runtime, pagoda::Pagoda>();
    register_plain(registry);
}
