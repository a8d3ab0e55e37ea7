//! Where buffers lie, and until when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::{Description, Work};
use counterpoint_protocols::preload::Preloaded;
use counterpoint_protocols::write_log::WriteLog;
use counterpoint_ptx::{Allocation, Rights};

use super::Driver;
use crate::program::BufferId;

/// Where the first buffer lies on every device; below it nothing is mapped, so a null pointer is caught.
const FIRST_DEVICE_ADDRESS: u64 = 1 << 16;

impl Driver<'_> {
    /// Asks each device what it is.
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

    /// What the devices have said.
    pub(crate) fn devices(&self) -> &BTreeMap<u32, Description> {
        &self.devices
    }

    /// Gives every buffer its place on host and device.
    pub(crate) fn allocate(&mut self) -> Result<(), Fault> {
        let application = self.application();
        let devices: BTreeSet<u32> = application.devices();
        let mut next_host = 0;
        let mut next_device: BTreeMap<u32, u64> =
            devices.iter().map(|&device| (device, FIRST_DEVICE_ADDRESS)).collect();
        for buffer in &application.buffers {
            self.host_address.push(next_host);
            next_host += buffer.bytes.next_multiple_of(self.page);
            let next = next_device.entry(buffer.device).or_default();
            self.device_address.push(*next);
            *next += buffer.bytes.next_multiple_of(self.page);
        }
        for device in devices {
            let Description { memory, capacity, path, .. } =
                self.devices.get(&device).cloned().unwrap_or_default();
            let buffers = next_device[&device];
            let all = self.place_modules(device, buffers, capacity);
            let (what, needed) = match buffers > memory {
                true => ("the buffers need", buffers),
                false => ("the buffers and the kernels' code, variables and local memory need", all),
            };
            if needed > memory {
                let (needed, memory) =
                    (needed - FIRST_DEVICE_ADDRESS, memory.saturating_sub(FIRST_DEVICE_ADDRESS));
                return Err(Fault::new(format!(
                    "{what} {needed} bytes on device {device}, which has room for {memory}"
                )));
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

    /// Says where the buffers lie whose writes are wanted.
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

    /// Puts what a device's buffers hold before the run where they have their places.
    fn load_buffers(&self, device: u32, path: &str, memory: &Preloaded) {
        let buffers = self.application.buffers.iter().zip(&self.device_address).zip(0..);
        for ((_, &address), number) in buffers.filter(|((buffer, _), _)| buffer.device == device) {
            memory.place_buffer(number, path, address);
        }
    }

    /// What the kernels of a device may touch from now on.
    fn map(&mut self, device: u32) {
        let all = self.application.buffers.iter().zip(&self.device_address).zip(&self.freed);
        let here = all.filter(|((buffer, _), _)| buffer.device == device && buffer.bytes > 0);
        let allocations = here.map(|((buffer, &start), &freed_after)| Allocation {
            name: buffer.name.clone(),
            range: start..start + buffer.bytes,
            freed_after,
            rights: Rights::All,
        });
        let hidden =
            self.hidden.get(&device).into_iter().flat_map(|hidden| hidden.allocations.iter().cloned());
        self.mapped.insert(device, Arc::new(allocations.chain(hidden).collect()));
    }

    /// Gives a buffer's memory on its device back, after the launches so far.
    pub fn free(&mut self, name: BufferId) -> Result<(), Fault> {
        let place = self.place(name);
        self.check_live(place)?;
        self.freed[place] = Some(self.next_launch - 1);
        self.map(self.application.buffers[place].device);
        Ok(())
    }

    /// Checks that nobody has freed a buffer, by where it lies.
    pub(super) fn check_live(&self, place: usize) -> Result<(), Fault> {
        match self.freed[place] {
            Some(_) => Err(Fault::new(self.application.buffers[place].is_freed())),
            None => Ok(()),
        }
    }
}
