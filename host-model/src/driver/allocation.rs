//! Addresses of buffers, and their lifetimes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::{Description, Work};
use counterpoint_protocols::local::Capacity;
use counterpoint_protocols::preload::Preloaded;
use counterpoint_protocols::write_log::WriteLog;
use counterpoint_ptx::printf::Ring;
use counterpoint_ptx::{Allocation, Rights};

use super::Driver;
use super::modules::{Hidden, Placed};
use super::printing::Printing;
use crate::program::{Application, Buffer, BufferId, BufferPlace};

/// Address of the first buffer on every device; below it nothing is mapped, so a null pointer is caught.
const FIRST_DEVICE_ADDRESS: u64 = 1 << 16;

/// Addresses of the buffers of an application.
#[derive(Debug)]
pub struct Layout {
    /// For each buffer, its address on the host and on its device.
    pub host: Vec<u64>,
    /// See `host`.
    pub device: Vec<u64>,
    /// For each device, the address behind the last buffer.
    pub ends: BTreeMap<u32, u64>,
    /// The host's address behind the last buffer.
    host_end: u64,
}

impl Layout {
    /// Buffers in sequence, each at the beginning of a page of this size; buffers without a fixed address follow everything with one. A
    /// variable of a module is allocated with its module, and has no address here.
    pub fn of(application: &Application, page: u64) -> Self {
        let (mut host, mut device, mut next) = (Vec::new(), Vec::new(), 0);
        let first = |device| match application.fixed_end(device) {
            0 => (device, FIRST_DEVICE_ADDRESS),
            end => (device, end.next_multiple_of(page)),
        };
        let mut ends: BTreeMap<u32, u64> = application.devices().into_iter().map(first).collect();
        for buffer in &application.buffers {
            host.push(next);
            next += buffer.bytes.next_multiple_of(page);
            device.push(match buffer.place {
                BufferPlace::At(address) => address + application.space_of(device.len()).shift,
                BufferPlace::Variable(_) => 0,
                BufferPlace::Anywhere => {
                    let end = ends.entry(buffer.device).or_default();
                    let start = *end;
                    *end += buffer.bytes.next_multiple_of(page);
                    start
                }
            });
        }
        Layout { host, device, ends, host_end: next }
    }

    /// Message for buffers beyond the memory of a device, which has `memory` bytes.
    pub fn beyond(&self, device: u32, memory: u64) -> Option<String> {
        beyond("the buffers need", *self.ends.get(&device)?, device, memory)
    }

    /// Message for buffers together with all other memory that the kernels need, beyond the memory of a device that holds
    /// threads of this capacity, in pages of this size.
    pub fn all_beyond(
        &self,
        application: &Application,
        page: u64,
        device: u32,
        memory: u64,
        capacity: Capacity,
    ) -> Option<String> {
        let next = *self.ends.get(&device)?;
        self.beyond(device, memory).or_else(|| {
            Placed::new(application, page, (device, memory), next, capacity).beyond(device, memory)
        })
    }
}

/// Message for contents of a device, up to an address, beyond its memory.
pub(super) fn beyond(what: &str, end: u64, device: u32, memory: u64) -> Option<String> {
    let (needed, room) = (end - FIRST_DEVICE_ADDRESS, memory.saturating_sub(FIRST_DEVICE_ADDRESS));
    (end > memory).then(|| format!("{what} {needed} bytes on device {device}, which has room for {room}"))
}

impl Driver<'_> {
    /// Requests the description of each device.
    pub(crate) async fn describe(&mut self) -> Result<(), Fault> {
        for device in self.application.devices() {
            let id = self.command(device, 0, Work::Describe, None, 0).await;
            let description = loop {
                match self.descriptions.remove(&id) {
                    Some(description) => break description,
                    None => self.event().await?,
                }
            };
            self.devices.insert(device, description);
        }
        Ok(())
    }

    /// Descriptions of the devices that the application uses, by number.
    pub fn devices(&self) -> &BTreeMap<u32, Description> {
        &self.devices
    }

    /// Gives every buffer its address on host and device.
    pub(crate) fn allocate(&mut self) -> Result<(), Fault> {
        let application = self.application();
        let layout = Layout::of(&application, self.page);
        self.host_address.clone_from(&layout.host);
        self.device_address.clone_from(&layout.device);
        let mut host_end = layout.host_end;
        for (&device, &buffers) in &layout.ends {
            let Description { memory, capacity, path, .. } =
                self.devices.get(&device).cloned().unwrap_or_default();
            let too_small = self.place_modules((device, memory), buffers, capacity);
            if let Some(message) = layout.beyond(device, memory).or(too_small) {
                return Err(Fault::new(message));
            }
            for (place, buffer) in application.buffers.iter().enumerate() {
                if buffer.device == device
                    && let Some((variable, module)) = application.variable_of(place)
                {
                    self.device_address[place] = variable.address(self.loaded[module].variables);
                }
            }
            if let Some(&Hidden { printf, .. }) = self.hidden.get(&device).filter(|hidden| hidden.printf != 0)
            {
                let ring = Ring::new(application.library.printf);
                let (device_address, host_address) = (printf, host_end);
                host_end += ring.bytes().next_multiple_of(self.page);
                self.printing.insert(device, Printing { ring, device_address, host_address, due: false });
            }
            if let Some(preloaded) = self.sim.resource::<Preloaded>() {
                self.load_buffers(device, &path, &preloaded);
                self.load_modules(device, &path, &preloaded);
            }
            self.map(device);
        }
        match self.sim.resource::<WriteLog>() {
            Some(log) => self.watch(&log),
            None => Ok(()),
        }
    }

    /// Registers the addresses of the buffers whose writes are watched.
    fn watch(&self, log: &WriteLog) -> Result<(), Fault> {
        let buffers = &self.application.buffers;
        for wanted in log.wanted() {
            let Some(place) = buffers.iter().position(|buffer| buffer.name == *wanted) else {
                let known: Vec<String> = buffers.iter().map(|buffer| format!("`{}`", buffer.name)).collect();
                return Err(Fault::new(format!(
                    "there is no buffer `{wanted}` to watch; there are {}",
                    known.join(", ")
                )));
            };
            let path = self.devices.get(&buffers[place].device).map_or("", |device| &device.path);
            let (host, device) = (self.host_address[place], self.device_address[place]);
            log.place(wanted, buffers[place].bytes, host, (path, device));
        }
        Ok(())
    }

    /// Preloads the initial contents of a device's buffers at their addresses.
    fn load_buffers(&self, device: u32, path: &str, memory: &Preloaded) {
        let buffers = self.application.buffers.iter().zip(&self.device_address).zip(0..);
        for ((_, &address), number) in buffers.filter(|((buffer, _), _)| buffer.device == device) {
            memory.place_buffer(number, path, address);
        }
    }

    /// Sets the memory that the kernels of a device may access from now on.
    pub(super) fn map(&mut self, device: u32) {
        let all = self.application.buffers.iter().zip(&self.device_address).zip(&self.freed);
        // A variable is part of its module.
        let own = |buffer: &Buffer| buffer.bytes > 0 && !matches!(buffer.place, BufferPlace::Variable(_));
        let here = all.filter(|((buffer, _), _)| buffer.device == device && own(buffer));
        let allocations = here.map(|((buffer, &start), &freed_after)| Allocation {
            name: buffer.name.clone(),
            range: start..start + buffer.bytes,
            freed_after,
            rights: Rights::All,
        });
        let hidden =
            self.hidden.get(&device).into_iter().flat_map(|hidden| hidden.allocations.iter().cloned());
        let all: Vec<Allocation> = allocations.chain(hidden).collect();
        for space in self.application.spaces(device) {
            let seen = |allocation: &Allocation| {
                let Range { start, end } = allocation.range;
                let range = start.checked_sub(space.shift)?..end - space.shift;
                Some(Allocation { range, ..allocation.clone() })
            };
            self.mapped.insert(space, Arc::new(all.iter().filter_map(seen).collect()));
        }
    }

    /// Frees a buffer's memory on its device, after the launches so far.
    pub fn free(&mut self, name: BufferId) -> Result<(), Fault> {
        let place = self.place(name);
        self.check_live(place)?;
        self.freed[place] = Some(self.next_launch - 1);
        self.map(self.application.buffers[place].device);
        Ok(())
    }

    /// Checks that a buffer, by its position, has not been freed.
    pub(super) fn check_live(&self, place: usize) -> Result<(), Fault> {
        match self.freed[place] {
            Some(_) => Err(Fault::new(self.application.buffers[place].is_freed())),
            None => Ok(()),
        }
    }
}
