//! Kernels executed as state machines: instead of instructions, an extension gives the effects of the blocks of a kernel on
//! memory, and their times.
//!
//! Blocks of an ordinary kernel are executed one after another, without time, when they arrive at an SM. In this way a
//! kernel whose blocks wait for each other, or for the host, never ends, and a kernel whose blocks share out work as they
//! go leaves all work to the first block. A [`StateMachine`] serves such a kernel: it is called when a block arrives, when
//! its work on an SM ends, and when the copy engine has written to memory. Computation of the kernel in between, such as
//! tasks from a queue, is executed as ordinary blocks are ([`Device::execute`]).
//!
//! Unstable: this interface follows the model, and may change with any version of the crate.

use counterpoint::kernel::Fault;
use counterpoint::messages::launch::RunCta;
use counterpoint::ptx::functional::ctas;

use super::GpuContext;
use super::sm::Worker;

pub use super::blocks::Ended;
pub use super::demands::{Demands, Resource};
pub use super::execute::Code;
pub use super::isolated::{Warp, collecting};
pub use super::sm::ENDLESS;

/// Serves kernels of some names on one GPU.
///
/// `gpu/throughput-model` holds every registered member of the family (`Every<dyn StateMachine>`), with parameters under
/// `state_machines`.
pub trait StateMachine {
    /// Whether it serves kernels of this name. Two that serve one name are an error.
    fn serves(&self, kernel: &str) -> bool;

    /// A block of a kernel that the machine serves arrives at an SM.
    ///
    /// # Errors
    /// If the kernel, or the contents of memory that it finds, are unknown to the machine.
    fn begin(&mut self, block: RunCta, device: &mut Device<'_>) -> Result<(), Fault>;

    /// Work is done that the machine has put on an SM ([`Device::begin`]). Returns the block that ends with this work, if
    /// one does.
    ///
    /// # Errors
    /// If the execution that follows fails.
    fn done(&mut self, work: Work, device: &mut Device<'_>) -> Result<Option<Ended>, Fault>;

    /// The copy engine has written to the line of memory at an address, in bytes.
    ///
    /// # Errors
    /// If the written data makes no sense to the machine.
    fn written(&mut self, _line: u64, _device: &mut Device<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// The cycle in which it has something to do that is not the end of work on an SM.
    fn due(&self) -> Option<u64> {
        None
    }

    /// Executes the work that is due.
    ///
    /// # Errors
    /// If the execution of this work fails.
    fn advance(&mut self, _device: &mut Device<'_>) -> Result<(), Fault> {
        Ok(())
    }

    /// Whether the machine has begun work that must end without the host: the report of a deadlock names such a GPU.
    fn is_busy(&self) -> bool {
        false
    }
}

/// Names work on an SM; the number has a meaning for the machine only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work(pub u64);

/// The GPU as a state machine sees it, at one cycle: SMs that warps share, and memory.
pub struct Device<'a> {
    pub(super) gpu: GpuContext<'a>,
    /// The position of the machine among those of the model.
    pub(super) machine: u32,
    pub(super) random: &'a dyn Fn() -> u64,
}

impl Device<'_> {
    /// The cycle of the SMs' clock.
    pub fn cycle(&self) -> u64 {
        self.gpu.cycle
    }

    /// Number of SMs.
    pub fn sms(&self) -> usize {
        self.gpu.sms.len()
    }

    /// A random number of 64 bits, of the model's own.
    pub fn random(&self) -> u64 {
        (self.random)()
    }

    /// Cycles from the issue of a load of global memory, of one sector, to the use of its value, if nothing is in its way.
    pub fn global_latency(&self) -> u64 {
        self.gpu.costs.global
    }

    /// Puts work on an SM: how many cycles it takes alone, and its demands in each of these. It takes longer where others want the same.
    pub fn begin(&mut self, sm: usize, work: Work, cycles: f64, rates: Demands) {
        let worker = Worker::Machine(self.machine, work);
        self.at(sm).begin(worker, cycles, rates);
    }

    /// Takes work from an SM before its end; gives the cycles that are left of it, alone. Nothing if it is not there or done in this cycle:
    /// then [`StateMachine::done`] follows.
    pub fn stop(&mut self, sm: usize, work: Work) -> Option<f64> {
        let worker = Worker::Machine(self.machine, work);
        self.at(sm).stop(worker)
    }

    /// Adds `more` warps of an SM, or removes some, that poll until they get something to do, each with these
    /// demands in a cycle.
    pub fn poll(&mut self, sm: usize, more: i32, rates: &Demands) {
        self.at(sm).poll(more, rates);
    }

    /// From now on accesses of an SM to memory wait `cycles` on their way.
    pub fn delay(&mut self, sm: usize, cycles: f64) {
        self.at(sm).delay(cycles);
    }

    /// The bytes of memory from an address on, of something that was allocated.
    pub fn bytes<const N: usize>(&mut self, address: u64) -> [u8; N] {
        self.gpu.memory.bytes(address)
    }

    /// Writes bytes to memory, beginning at an address.
    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        self.gpu.memory.put(address, bytes);
    }

    /// Executes all blocks of a grid one after another, on memory as it is; gives the warps of each, as they would run alone.
    ///
    /// # Errors
    /// If a block does something wrong or never ends.
    pub fn execute(&mut self, code: &Code<'_>) -> Result<Vec<Vec<Warp>>, Fault> {
        code.execute(ctas(code.grid), &mut self.gpu)
    }

    /// An SM whose work has been done up to this cycle.
    fn at(&mut self, sm: usize) -> &mut super::sm::Sm {
        let sm = &mut self.gpu.sms[sm];
        sm.advance(self.gpu.cycle);
        sm
    }
}
