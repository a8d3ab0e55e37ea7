//! Host memory with its controller: the bytes, a bandwidth and a latency, shared by CPU and devices; and the data availability
//! tracker, which sends pages to devices as the CPU completes them.

use std::collections::VecDeque;
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::time::{Bytes, BytesPerSecond, SimTime, Wire};
use counterpoint_protocols::bus::BusMessage;
use counterpoint_protocols::host::{DeviceMessage, DeviceSocket, HostAccess, HostMemoryServer, HostReply};
use counterpoint_protocols::write_log::WriteLog;
use counterpoint_ptx::functional::Space;

use crate::dat::{Complete, Dat, Outcome};

/// The data availability tracker.
#[derive(Clone, Debug, Params)]
pub struct DatParams {
    /// Bytes of a page.
    #[param(default = "4 KiB", min = "64 B", max = "2 MiB")]
    page: Bytes,
    /// Entries on chip; the others are in host memory alone.
    #[param(default = "64", min = "1", max = "65536")]
    entries: u32,
}

/// Size and speed of host memory.
#[derive(Clone, Debug, Params)]
pub struct HostMemoryParams {
    /// Bytes of memory.
    #[param(default = "16 GiB", min = "4 KiB")]
    capacity: Bytes,
    /// Bytes a second, reads and writes together.
    #[param(default = "51.2 GB/s", min = "1 MB/s")]
    bandwidth: BytesPerSecond,
    /// From the end of a transfer to its answer.
    #[param(default = "60 ns")]
    latency: SimTime,
    /// The data availability tracker, for copies that go page by page.
    dat: DatParams,
}

/// The ports of host memory.
#[derive(Ports)]
pub struct HostMemoryPorts {
    /// The CPU.
    cpu: HostMemoryServer,
    /// The devices.
    devices: DeviceSocket,
}

/// Statistics of host memory.
#[derive(Default, Stats)]
pub struct HostMemoryStats {
    /// Accesses of the CPU.
    #[stat(unit = "accesses")]
    cpu_accesses: Counter,
    /// Bytes of the CPU's accesses.
    #[stat(unit = "bytes")]
    cpu_bytes: Counter,
    /// Accesses of devices.
    #[stat(unit = "accesses")]
    device_accesses: Counter,
    /// Bytes of the devices' accesses.
    #[stat(unit = "bytes")]
    device_bytes: Counter,
    /// Pages whose copy the tracker has started.
    #[stat(unit = "pages")]
    dat_pages: Counter,
    /// Entries of the tracker read from memory.
    #[stat(unit = "entries")]
    dat_fetches: Counter,
    /// Entries of the tracker written to memory.
    #[stat(unit = "entries")]
    dat_spills: Counter,
}

/// Bytes of a segment, the unit in which memory is allocated; only written bytes cost memory.
const SEGMENT: u64 = 1 << 20;

/// Host memory.
pub struct HostMemory {
    params: HostMemoryParams,
    segments: Vec<Option<Space>>,
    wire: Wire,
    dat: Dat,
    /// Pages that are complete, and when they have been written.
    complete: VecDeque<(SimTime, Complete)>,
    /// Log of writes to watched buffers.
    log: Option<Arc<WriteLog>>,
}

impl HostMemory {
    fn check(&self, address: u64, bytes: u64) -> Result<(), Fault> {
        let capacity = self.params.capacity.get();
        if address.checked_add(bytes).is_none_or(|end| end > capacity) {
            return Err(Fault::new(format!(
                "{bytes} bytes at {address:#x} lie beyond the memory of {capacity} bytes"
            )));
        }
        Ok(())
    }

    fn read(&self, address: u64, bytes: u32) -> Result<Box<[u8]>, Fault> {
        self.check(address, u64::from(bytes))?;
        let mut values = vec![0; bytes as usize].into_boxed_slice();
        for (number, start, range) in pieces(address, u64::from(bytes)) {
            if let Some(Some(segment)) = self.segments.get(number) {
                let length = range.len();
                values[range].copy_from_slice(&segment[start..start + length]);
            }
        }
        Ok(values)
    }

    fn write(&mut self, now: SimTime, address: u64, values: &[u8]) -> Result<(), Fault> {
        self.check(address, values.len() as u64)?;
        if let Some(log) = &self.log {
            log.on_host(now, address, values);
        }
        for (number, start, range) in pieces(address, values.len() as u64) {
            if number >= self.segments.len() {
                self.segments.resize_with(number + 1, || None);
            }
            let segment = match &mut self.segments[number] {
                Some(segment) => segment,
                none => {
                    let full = |error| Fault::new(format!("the simulation has no memory left: {error}"));
                    none.insert(Space::zeroed(SEGMENT as usize).map_err(full)?)
                }
            };
            let length = range.len();
            segment[start..start + length].copy_from_slice(&values[range]);
        }
        Ok(())
    }

    /// Occupies the memory with a transfer; gives how long from now until its answer.
    fn transfer(&mut self, now: SimTime, bytes: u64) -> SimTime {
        self.wire.pass(now, bytes, self.params.bandwidth) + self.params.latency - now
    }

    /// Occupies the memory with the tracker's entries, and sends complete pages when their values are in memory.
    fn follow(&mut self, now: SimTime, outcome: Outcome, stats: &HostMemoryStats) {
        let Outcome { complete, fetched, spilled } = outcome;
        let mut written = now;
        if fetched + spilled > 0 || !complete.is_empty() {
            written = now + self.transfer(now, (fetched + spilled) * self.dat.entry_bytes());
        }
        stats.dat_fetches.add(fetched);
        stats.dat_spills.add(spilled);
        stats.dat_pages.add(complete.len() as u64);
        self.complete.extend(complete.into_iter().map(|page| (written, page)));
    }
}

/// The segments of a range: number of the segment, start within it, and the part of the range that it holds.
fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let end = address + bytes;
    let mut at = address;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let stop = (at / SEGMENT * SEGMENT + SEGMENT).min(end);
        let range = (at - address) as usize..(stop - address) as usize;
        let piece = ((at / SEGMENT) as usize, (at % SEGMENT) as usize, range);
        at = stop;
        Some(piece)
    })
}

impl Component for HostMemory {
    const KIND: &'static str = "host/memory";
    const DOC: &'static str = "Host memory: the bytes, a bandwidth and a latency, shared by CPU and devices; and the data \
                               availability tracker.";
    const DAEMON: bool = true;
    type Params = HostMemoryParams;
    type Ports = HostMemoryPorts;
    type Stats = HostMemoryStats;

    fn new(params: HostMemoryParams) -> Result<Self, Invalid> {
        let page = params.dat.page.get();
        if !page.is_power_of_two() {
            return Err("dat.page must be a power of two".into());
        }
        let dat = Dat::new(page, params.dat.entries as usize);
        Ok(HostMemory {
            params,
            segments: Vec::new(),
            wire: Wire::default(),
            dat,
            complete: VecDeque::new(),
            log: None,
        })
    }

    async fn run(&mut self, io: &mut HostMemoryPorts, sim: &Context<HostMemoryStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        self.log = sim.resource();
        loop {
            if io.cpu.rx.has_message()
                && let Some(permit) = io.cpu.tx.try_reserve()
                && let Some(access) = io.cpu.rx.try_recv()
            {
                let now = sim.now();
                let written = match &access {
                    HostAccess::Write { address, data, .. } => Some((*address, data.len() as u64)),
                    _ => None,
                };
                let (bytes, reply) = match access {
                    HostAccess::Track { device, copy } => {
                        let outcome = self.dat.track(device, copy).map_err(Fault::new)?;
                        self.follow(now, outcome, &sim.stats);
                        continue;
                    }
                    HostAccess::Read { tag, address, bytes } => {
                        (u64::from(bytes), HostReply::Values { tag, data: self.read(address, bytes)? })
                    }
                    HostAccess::Write { tag, address, data } => {
                        self.write(now, address, &data)?;
                        (data.len() as u64, HostReply::Written { tag })
                    }
                };
                sim.stats.cpu_accesses.add(1);
                sim.trace(|| format!("access of the CPU to {bytes} bytes"));
                sim.stats.cpu_bytes.add(bytes);
                permit.send_after(self.transfer(now, bytes), reply);
                if let Some((address, bytes)) = written {
                    let outcome = self.dat.write(address, bytes).map_err(Fault::new)?;
                    self.follow(now, outcome, &sim.stats);
                }
            }
            if let Some(&(written, _)) = self.complete.front()
                && let Some(permit) = io.devices.tx.try_reserve()
                && let Some((_, Complete { device, copy })) = self.complete.pop_front()
            {
                let delay = if written > sim.now() { written - sim.now() } else { SimTime::ZERO };
                permit.send_after(delay, DeviceMessage { device, message: BusMessage::Page(copy) });
            }
            if io.devices.rx.has_message()
                && let Some(permit) = io.devices.tx.try_reserve()
                && let Some(DeviceMessage { device, message }) = io.devices.rx.try_recv()
            {
                let (bytes, message) = match message {
                    BusMessage::Read { tag, address, bytes } => {
                        (u64::from(bytes), BusMessage::Values { tag, data: self.read(address, bytes)? })
                    }
                    BusMessage::Write { tag, address, data } => {
                        self.write(sim.now(), address, &data)?;
                        (data.len() as u64, BusMessage::Written { tag })
                    }
                    other => return Err(Fault::new(format!("device {device} sent {other:?} to memory"))),
                };
                sim.stats.device_accesses.add(1);
                sim.trace(|| format!("access of device {device} to {bytes} bytes"));
                sim.stats.device_bytes.add(bytes);
                permit.send_after(self.transfer(sim.now(), bytes), DeviceMessage { device, message });
            }
            sim.wait_tried(SimTime::MAX, io).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_segments() {
        let cut: Vec<_> = pieces((1 << 20) - 96, (1 << 20) + 904).collect();
        let whole = 96..(1 << 20) + 96;
        assert_eq!(cut, [(0, (1 << 20) - 96, 0..96), (1, 0, whole), (2, 0, (1 << 20) + 96..(1 << 20) + 904)]);
    }
}
