//! Copies that go page by page, and notes of extensions to devices.

use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::{Copy, Direction, Work};
use counterpoint_protocols::extra::{LineTag, Note};
use counterpoint_protocols::host::HostAccess;

use super::Driver;
use crate::program::{Application, BufferId, DEFAULT_STREAM};

impl Driver<'_> {
    /// Executes another application in the place of the one that the run was given: the same buffers, files and results, with
    /// kernels that have been rewritten, and buffers behind the others. Before anything is allocated.
    pub(crate) fn replace(&mut self, application: Arc<Application>) {
        self.freed.resize(application.buffers.len(), None);
        self.meaning = (0..application.buffers.len() as u32).map(BufferId).collect();
        self.application = application;
    }

    /// Prepares a copy of a buffer that goes page by page: to the device as soon as the CPU has written all words of a page,
    /// to the host as soon as the device's authority over pages permits it.
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

    /// Sends a note of an extension to all devices: to their CTA schedulers and, if `pages`, to their authorities over pages.
    pub async fn note(&mut self, note: &Note, pages: bool) {
        for device in self.application.devices() {
            self.command(device, DEFAULT_STREAM, Work::Note { note: note.clone(), pages }, None, 0).await;
        }
    }
}

/// The stream of notes beside the order of kernels and copies.
pub(super) const ASIDE: u32 = u32::MAX;
