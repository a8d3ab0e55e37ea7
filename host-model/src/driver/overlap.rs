//! What a runtime can do with kernels and copies whose pages are tracked.

use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_protocols::bus::{CommandId, Copy, Direction, Work};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::host::HostAccess;
use counterpoint_protocols::launch::{LaunchId, Tracking};

use super::Driver;
use crate::program::{Application, Argument, BufferId, DEFAULT_STREAM, LaunchStep};

impl Driver<'_> {
    /// Executes another application in the place of the one that the run was given: the same buffers, files and results, with
    /// kernels that have been rewritten, and buffers behind the others. Before anything is allocated.
    pub(crate) fn replace(&mut self, application: Arc<Application>) {
        self.freed.resize(application.buffers.len(), None);
        self.meaning = (0..application.buffers.len() as u32).map(BufferId).collect();
        self.application = application;
    }

    /// Prepares a copy of a buffer that goes page by page: to the device as soon as the CPU has written all words of a page,
    /// to the host as soon as no kernel will touch a page again.
    pub async fn overlap(&mut self, direction: Direction, buffer: BufferId) -> Result<(), Fault> {
        let place = self.place(buffer);
        self.check_live(place)?;
        let (bytes, device) = (self.application.buffers[place].bytes, self.application.buffers[place].device);
        let (host, on_device) = (self.host_address[place], self.device_address[place]);
        let copy = Copy { direction, host, device: on_device, bytes, tag: LineTag::NONE };
        if bytes == 0 {
            return Ok(());
        }
        match direction {
            Direction::HostToDevice => {
                self.io.memory.tx.send(HostAccess::Track { device, copy }).await;
            }
            Direction::DeviceToHost => {
                for start in (0..bytes).step_by(self.page as usize) {
                    self.invalid.expect(host + start, self.page.min(bytes - start));
                }
            }
        }
        self.command(device, DEFAULT_STREAM, Work::Overlap(copy), None, 0).await;
        Ok(())
    }

    /// Launches a kernel whose pages are tracked, behind its pre-profiler; without one nobody can tell which pages it touches.
    pub async fn launch_tracked(
        &mut self,
        step: &LaunchStep,
        profiler: Option<&LaunchStep>,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        let Some(profiler) = profiler else {
            return self.launch(step, DEFAULT_STREAM, Tracking::Irregular, parent).await;
        };
        let kernel = LaunchId(self.next_launch + 1);
        self.launch(profiler, DEFAULT_STREAM, Tracking::Profiler(kernel), parent).await?;
        self.launch(step, DEFAULT_STREAM, Tracking::Regular, parent).await
    }

    /// Tells the devices that no kernel whose pages are tracked will be launched any more.
    pub async fn end_launches(&mut self) {
        for device in self.application.devices() {
            self.command(device, DEFAULT_STREAM, Work::EndOfLaunches, None, 0).await;
        }
    }
}

/// The stream of what devices are told beside the order of kernels and copies.
pub(super) const ASIDE: u32 = u32::MAX;

/// The launch of a kernel's pre-profiler: the same grid, a thread for each block, and the block's dimensions behind the
/// kernel's own arguments.
pub(crate) fn profiler_of(step: &LaunchStep, kernel: Arc<counterpoint_ptx::Kernel>) -> LaunchStep {
    let dimensions = step.block.map(|size| Argument::Value(size.to_le_bytes().into()));
    LaunchStep {
        registers: kernel.registers_per_thread(),
        kernel,
        block: [1, 1, 1],
        shared: 0,
        arguments: step.arguments.iter().cloned().chain(dimensions).collect(),
        ..step.clone()
    }
}
