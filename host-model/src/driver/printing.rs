//! Text that kernels print: the host reads the ring of each device whose kernels may have printed when it waits for all that it
//! has sent, as CUDA's host does when it synchronises.
//!
//! The host copies the ring's counter first, and then the records that it has not read, and makes text of them at no cost in time. The
//! copies take the time of any other copies.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_protocols::bus::{Copy, Direction, Title, Work};
use counterpoint_protocols::extra::LineTag;
use counterpoint_ptx::functional::FlatMemory;
use counterpoint_ptx::printf::Ring;

use super::Driver;
use crate::program::DEFAULT_STREAM;

/// The ring of a device.
pub(super) struct Printing {
    pub(super) ring: Ring,
    pub(super) device_address: u64,
    /// The place in host memory to which it is copied.
    pub(super) host_address: u64,
    /// Whether kernels may have printed since the host read it.
    pub(super) due: bool,
}

/// Bytes before the end of the counter of reserved bytes.
const COUNTER_END: u64 = 16;

impl Driver<'_> {
    /// Notes text that kernels have printed on the CPU, in a memory of its own.
    pub fn printed_in(&self, memory: &mut FlatMemory) {
        self.journal.printed_in(memory);
    }

    /// Ends the printing of a run: waits for all commands if text may be left on a device.
    pub(crate) async fn end_printing(&mut self) -> Result<(), Fault> {
        match self.printing.values().any(|printing| printing.due) {
            true => self.drain().await,
            false => Ok(()),
        }
    }

    /// Reads the rings into which kernels may have printed; no command is under way.
    pub(super) async fn read_printed(&mut self) -> Result<(), Fault> {
        let due: Vec<u32> =
            self.printing.iter().filter(|(_, printing)| printing.due).map(|(device, _)| *device).collect();
        if due.is_empty() {
            return Ok(());
        }
        let span = self.begin(self.run, Level::Phases, "printf");
        for device in due {
            let header = self.fetch_ring(device, 0..COUNTER_END, span).await?;
            let unread = self.printing.get(&device).map(|printing| printing.ring.unread(&header));
            let mut records = Vec::new();
            for part in unread.into_iter().flatten() {
                records.extend(self.fetch_ring(device, part, span).await?);
            }
            if let Some(Printing { ring, due, .. }) = self.printing.get_mut(&device) {
                let (mut text, lost) = (String::new(), ring.lost());
                ring.take(&header, &records, &mut text);
                *due = false;
                self.journal.printed(&text, ring.lost() - lost);
            }
        }
        self.end(span);
        Ok(())
    }

    /// Copies a part of a device's ring to host memory and reads it there.
    async fn fetch_ring(
        &mut self,
        device: u32,
        part: std::ops::Range<u64>,
        parent: SpanId,
    ) -> Result<Vec<u8>, Fault> {
        let Some(Printing { device_address, host_address, .. }) = self.printing.get(&device) else {
            return Ok(Vec::new());
        };
        let (host, bytes) = (host_address + part.start, part.end - part.start);
        let copy = Copy {
            direction: Direction::DeviceToHost,
            host,
            device: device_address + part.start,
            bytes,
            tag: LineTag::NONE,
        };
        let title = Title { name: "D2H printf buffer".into(), parent: Some(parent) };
        let copy = self.command(device, DEFAULT_STREAM, Work::Copy(copy), Some(title), 0).await;
        self.wait(copy).await?;
        self.read_host(host, bytes).await
    }
}
