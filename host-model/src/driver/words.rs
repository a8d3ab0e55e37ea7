//! What the CPU itself reads and writes of buffers in its memory.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Lane, Level, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::CommandId;
use counterpoint_protocols::host::HostAccess;

use super::{Driver, Page};
use crate::cpu::CpuStats;
use crate::program::Range;

impl Driver<'_> {
    /// Reads a part of a buffer from host memory.
    pub(crate) async fn read_part(&mut self, part: Range) -> Result<Vec<u8>, Fault> {
        let address = self.host_address[self.place(part.buffer)] + part.offset;
        self.seen = vec![0; part.bytes as usize];
        for offset in (0..part.bytes).step_by(self.page as usize) {
            let bytes = self.page.min(part.bytes - offset) as u32;
            let tag = self.page_slot(Page::Look { offset }).await?;
            self.io.memory.tx.send(HostAccess::Read { tag, address: address + offset, bytes }).await;
        }
        self.settle().await?;
        Ok(std::mem::take(&mut self.seen))
    }

    /// Writes values into host memory, where a part of a buffer lies.
    pub(crate) async fn write_part(&mut self, part: Range, values: Vec<u8>) -> Result<(), Fault> {
        let mut address = self.host_address[self.place(part.buffer)] + part.offset;
        for values in values.chunks(self.page as usize) {
            let tag = self.page_slot(Page::Note).await?;
            self.io.memory.tx.send(HostAccess::Write { tag, address, data: values.into() }).await;
            address += values.len() as u64;
        }
        self.settle().await
    }

    /// Whether a command is done.
    pub(crate) fn is_done(&self, id: CommandId) -> bool {
        !self.commands.contains_key(&id)
    }

    /// What the CPU counts.
    pub(crate) fn stats(&self) -> &CpuStats {
        &self.sim.stats
    }

    /// Begins the span of a task in an entry of a table, if such spans are wanted.
    pub(crate) fn begin_task(&self, parent: SpanId, kernel: &str, entry: usize) -> Option<SpanId> {
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

    /// A task that was put into a table at some time is known to be done.
    pub(crate) fn task_done(&self, since: SimTime, span: Option<SpanId>) {
        if let Some(span) = span {
            self.end(span);
        }
        self.stats().task_latency.record(self.now().saturating_sub(since).as_ps() / 1000);
        self.sim.progress();
        self.journal.launched();
    }

    /// How long so many cycles of the CPU take.
    pub(crate) fn cycles(&self, cycles: u64) -> SimTime {
        self.sim.span(cycles)
    }

    /// The simulated time.
    pub(crate) fn now(&self) -> SimTime {
        self.sim.now()
    }
}
