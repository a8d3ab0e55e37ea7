//! Steps of the host by itself: transfers between files and parts of buffers, and time in which it is busy.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::{Level, SpanId};
use counterpoint_framework::time::{SimTime, Wire};
use counterpoint_protocols::host::{HostAccess, StorageRequest};
use counterpoint_protocols::memory::Tag;

use super::{Driver, Page};
use crate::program::{HostStep, Transfer};

impl Driver<'_> {
    /// Executes a step of the host, which does not wait for devices.
    ///
    /// # Errors
    /// If storage or memory answers no request.
    pub async fn host(&mut self, step: &HostStep, parent: Option<SpanId>) -> Result<(), Fault> {
        match *step {
            HostStep::Read(transfer) => self.read_file(transfer, parent).await,
            HostStep::Write(transfer) => self.write_file(transfer, parent).await,
            HostStep::Busy(time) => self.work(time, parent).await,
        }
    }

    /// Is busy for a time, and takes messages meanwhile.
    async fn work(&mut self, time: SimTime, parent: Option<SpanId>) -> Result<(), Fault> {
        let span = self.begin(parent, Level::Kernels, "compute on the host");
        let end = self.sim.now() + time;
        while self.sim.now() < end {
            self.event_until(end).await?;
        }
        self.end(span);
        Ok(())
    }

    /// Reads a file into a part of a buffer, or computes its contents, page by page.
    ///
    /// # Errors
    /// If storage or memory answers no request.
    pub async fn read_file(&mut self, transfer: Transfer, parent: Option<SpanId>) -> Result<(), Fault> {
        let application = self.application();
        let place = self.place(transfer.part.buffer);
        let computed = application.computed.get(&transfer.file);
        let verb = if computed.is_some() { "compute" } else { "read" };
        let name = format!("{verb} {}", application.buffers[place].name);
        let span = self.begin(parent, Level::Kernels, name);
        let (size, address) = (transfer.part.bytes, self.host_address[place] + transfer.part.offset);
        let mut cpu = Wire::default();
        for offset in (0..size).step_by(self.page as usize) {
            let bytes = self.page.min(size - offset) as u32;
            if let Some(computed) = computed {
                let ready = computed.ready(&mut cpu, self.sim.now(), offset, bytes.into());
                self.sim.until(ready).await;
            }
            let tag = self.page_slot(Page::Fill { address: address + offset, bytes }).await?;
            self.fill_page(tag, transfer, offset, (address + offset, bytes)).await;
        }
        self.settle().await?;
        self.end_transfer(span, size);
        Ok(())
    }

    /// Asks for a page of a file, `offset` bytes behind the beginning of the transfer, or writes one that the CPU has computed to memory.
    pub(super) async fn fill_page(
        &mut self,
        tag: Tag,
        transfer: Transfer,
        offset: u64,
        (address, bytes): (u64, u32),
    ) {
        match self.application.computed.get(&transfer.file) {
            Some(computed) => {
                let data = computed.values[offset as usize..offset as usize + bytes as usize].into();
                self.io.memory.tx.send(HostAccess::Write { tag, address, data }).await;
            }
            None => {
                let (file, offset) = (transfer.file, transfer.at + offset);
                self.io.input.tx.send(StorageRequest::Read { tag, file, offset, bytes }).await;
            }
        }
    }

    /// Writes a part of a buffer to a file, page by page.
    ///
    /// # Errors
    /// As [`Driver::read_file`].
    pub async fn write_file(&mut self, transfer: Transfer, parent: Option<SpanId>) -> Result<(), Fault> {
        let place = self.place(transfer.part.buffer);
        let name = format!("write {}", self.application.buffers[place].name);
        let span = self.begin(parent, Level::Kernels, name);
        let (size, address) = (transfer.part.bytes, self.host_address[place] + transfer.part.offset);
        for offset in (0..size).step_by(self.page as usize) {
            let bytes = self.page.min(size - offset) as u32;
            let tag = self.page_slot(Page::Drain { transfer, offset, bytes }).await?;
            self.io.memory.tx.send(HostAccess::Read { tag, address: address + offset, bytes }).await;
        }
        self.settle().await?;
        self.end_transfer(span, size);
        Ok(())
    }
}
