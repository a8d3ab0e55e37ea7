//! Reads and writes of the CPU itself, of buffers in its memory.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Lane, Level, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::CommandId;
use counterpoint_protocols::host::HostAccess;

use super::{Driver, Page};
use crate::program::Range;

impl Driver<'_> {
    /// Reads a part of a buffer from host memory.
    ///
    /// # Errors
    /// If memory answers no request.
    pub async fn read_part(&mut self, part: Range) -> Result<Vec<u8>, Fault> {
        let address = self.host_address[self.place(part.buffer)] + part.offset;
        self.read_host(address, part.bytes).await
    }

    /// Reads bytes of host memory.
    pub(super) async fn read_host(&mut self, address: u64, size: u64) -> Result<Vec<u8>, Fault> {
        self.seen = vec![0; size as usize];
        for offset in (0..size).step_by(self.page as usize) {
            let bytes = self.page.min(size - offset) as u32;
            let tag = self.page_slot(Page::Poll { offset }).await?;
            self.io.memory.tx.send(HostAccess::Read { tag, address: address + offset, bytes }).await;
        }
        self.settle().await?;
        Ok(std::mem::take(&mut self.seen))
    }

    /// Writes values into host memory, from the place on at which a part of a buffer begins.
    ///
    /// # Errors
    /// As [`Driver::read_part`].
    pub async fn write_part(&mut self, part: Range, values: Vec<u8>) -> Result<(), Fault> {
        let mut address = self.host_address[self.place(part.buffer)] + part.offset;
        for values in values.chunks(self.page as usize) {
            let tag = self.page_slot(Page::Note).await?;
            self.io.memory.tx.send(HostAccess::Write { tag, address, data: values.into() }).await;
            address += values.len() as u64;
        }
        self.settle().await
    }

    /// Whether a command is done.
    pub fn is_done(&self, id: CommandId) -> bool {
        !self.commands.contains_key(&id)
    }

    /// Counts a task that is executed otherwise than as a launch.
    pub fn count_task(&self) {
        self.sim.stats.tasks.add(1);
    }

    /// Begins the span of a task, if such spans are wanted; tasks at the same time have different entries (an index in a table, a
    /// thread).
    pub fn begin_task(&self, parent: SpanId, kernel: &str, entry: usize) -> Option<SpanId> {
        let open = || {
            self.sim.open_span(
                Level::Ctas,
                Some(parent),
                format!("task {kernel}"),
                Lane::Numbered("entry", entry as u32),
            )
        };
        self.sim.wants_spans(Level::Ctas).then(open)
    }

    /// A task that was handed over at some time is known to be done: ends its span, and counts its latency.
    pub fn task_done(&self, since: SimTime, span: Option<SpanId>) {
        if let Some(span) = span {
            self.end(span);
        }
        self.sim.stats.task_latency.record(self.now().saturating_sub(since).as_ps() / 1000);
        self.sim.progress();
        self.journal.launched();
    }

    /// Time of `cycles` cycles of the CPU.
    pub fn cycles(&self, cycles: u64) -> SimTime {
        self.sim.span(cycles)
    }

    /// The simulated time.
    pub fn now(&self) -> SimTime {
        self.sim.now()
    }
}
