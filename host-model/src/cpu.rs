//! The CPU: executes the application's steps as its runtime orders them.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, Params, Ports, Slot, Stats, Variant,
};
use counterpoint_framework::telemetry::Level;
use counterpoint_framework::time::Bytes;
use counterpoint_protocols::host::{DeviceSocket, HostMemoryClient, StorageClient};
use counterpoint_protocols::roles;

use crate::calls::CallParams;
use crate::cores::CoreParams;
use crate::driver::Driver;
use crate::runtimes::Runtime;
use crate::runtimes::serial::Serial;

/// How the host works.
#[derive(Clone, Debug, Params)]
pub struct CpuParams {
    /// Runtime, which orders prelude, copies, kernels and postlude.
    #[param(default = <Serial as Variant<dyn Runtime>>::NAME)]
    runtime: Slot<dyn Runtime>,
    /// Cores for tasks on the CPU itself.
    pub(crate) cores: CoreParams,
    /// Time of calls of the GPU's programming interface.
    pub(crate) calls: CallParams,
    /// Unit of storage and memory traffic, and alignment of buffers.
    #[param(default = "4 KiB", min = "512 B", max = "64 KiB")]
    pub(crate) page: Bytes,
    /// Pages under way between storage and memory at most.
    #[param(default = "32", min = "1", max = "1024")]
    pub(crate) queue_depth: u32,
}

impl CpuParams {
    /// The runtime under which the CPU executes applications, outside a run; nothing if it has ports.
    pub fn runtime(&self) -> Option<Box<dyn Runtime>> {
        self.runtime.build_detached()
    }

    /// Unit of traffic, and alignment of buffers.
    pub fn page(&self) -> Bytes {
        self.page
    }
}

/// The ports of the CPU.
#[derive(Ports)]
pub struct CpuPorts {
    /// The device that holds the input files.
    pub(crate) input: StorageClient,
    /// The device that takes the output files.
    pub(crate) output: StorageClient,
    /// Host memory.
    pub(crate) memory: HostMemoryClient,
    /// The devices, through the root complex.
    pub(crate) devices: DeviceSocket,
}

/// Statistics of the CPU.
#[derive(Default, Stats)]
pub struct CpuStats {
    /// Pages read from storage.
    #[stat(unit = "pages")]
    pub(crate) pages_read: Counter,
    /// Pages written to storage.
    #[stat(unit = "pages")]
    pub(crate) pages_written: Counter,
    /// Commands sent to devices.
    #[stat(unit = "commands")]
    pub(crate) commands: Counter,
    /// Times that a thread had to wait for a page that a device had not sent.
    #[stat(unit = "faults")]
    pub(crate) page_faults: Counter,
    /// Tasks that the runtime has executed otherwise than as launches of their own.
    #[stat(unit = "tasks")]
    pub(crate) tasks: Counter,
    /// Latency of such a task from its submission until the host knows of its completion, in nanoseconds.
    #[stat(unit = "ns")]
    pub(crate) task_latency: Distribution,
}

/// The CPU.
pub struct Cpu {
    params: CpuParams,
}

impl Component for Cpu {
    const KIND: &'static str = "host/cpu";
    const DOC: &'static str =
        "The CPU: executes the application's steps, from prelude to postlude, under a runtime.";
    const ROLE: &'static str = roles::HOST;
    type Params = CpuParams;
    type Ports = CpuPorts;
    type Stats = CpuStats;

    fn new(params: CpuParams) -> Result<Self, Invalid> {
        Ok(Cpu { params })
    }

    async fn run(&mut self, io: &mut CpuPorts, sim: &Context<CpuStats>) -> Result<(), Fault> {
        let runtime = self.params.runtime.build(sim)?;
        let mut driver = Driver::new(io, sim, &self.params)?;
        let run = driver.begin_run();
        let setup = driver.begin(Some(run), Level::Phases, "setup");
        driver.describe().await?;
        driver.replace(runtime.prepare(&driver.application(), driver.devices())?);
        driver.allocate()?;
        driver.end(setup);
        runtime.run(&mut driver, run).await?;
        driver.end_printing().await?;
        driver.end(run);
        driver.inspect().await
    }
}
