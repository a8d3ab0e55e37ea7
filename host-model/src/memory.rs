//! Host memory with its controller: the bytes, a bandwidth and a latency, shared by CPU and devices.

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::time::{Bytes, BytesPerSecond, SimTime, Wire};
use counterpoint_protocols::bus::BusMessage;
use counterpoint_protocols::host::{DeviceMessage, DeviceSocket, HostAccess, HostMemoryServer, HostReply};

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
}

/// The ports of host memory.
#[derive(Ports)]
pub struct HostMemoryPorts {
    /// The CPU.
    cpu: HostMemoryServer,
    /// The devices.
    devices: DeviceSocket,
}

/// What host memory counts.
#[derive(Default, Stats)]
pub struct HostMemoryStats {
    /// Accesses of the CPU.
    cpu_accesses: Counter,
    /// Bytes of these.
    #[stat(unit = "bytes")]
    cpu_bytes: Counter,
    /// Accesses of devices.
    device_accesses: Counter,
    /// Bytes of these.
    #[stat(unit = "bytes")]
    device_bytes: Counter,
}

/// Bytes of a page, the unit in which memory comes into being.
const PAGE: u64 = 4096;

/// Host memory.
pub struct HostMemory {
    params: HostMemoryParams,
    pages: Vec<Option<Box<[u8; PAGE as usize]>>>,
    wire: Wire,
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
        for (page, start, range) in pieces(address, u64::from(bytes)) {
            if let Some(Some(page)) = self.pages.get(page) {
                let length = range.len();
                values[range].copy_from_slice(&page[start..start + length]);
            }
        }
        Ok(values)
    }

    fn write(&mut self, address: u64, values: &[u8]) -> Result<(), Fault> {
        self.check(address, values.len() as u64)?;
        for (page, start, range) in pieces(address, values.len() as u64) {
            if page >= self.pages.len() {
                self.pages.resize_with(page + 1, || None);
            }
            let length = range.len();
            let page = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE as usize]));
            page[start..start + length].copy_from_slice(&values[range]);
        }
        Ok(())
    }

    /// Occupies the memory with a transfer; gives how long from now until its answer.
    fn transfer(&mut self, now: SimTime, bytes: u64) -> SimTime {
        self.wire.pass(now, bytes, self.params.bandwidth) + self.params.latency - now
    }
}

/// The pages of a range: number of the page, start within it, and the part of the range that it holds.
fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (usize, usize, std::ops::Range<usize>)> {
    let end = address + bytes;
    let mut at = address;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let stop = (at / PAGE * PAGE + PAGE).min(end);
        let piece =
            ((at / PAGE) as usize, (at % PAGE) as usize, (at - address) as usize..(stop - address) as usize);
        at = stop;
        Some(piece)
    })
}

impl Component for HostMemory {
    const KIND: &'static str = "host/memory";
    const DOC: &'static str = "Host memory: the bytes, a bandwidth and a latency, shared by CPU and devices.";
    const DAEMON: bool = true;
    type Params = HostMemoryParams;
    type Ports = HostMemoryPorts;
    type Stats = HostMemoryStats;

    fn new(params: HostMemoryParams) -> Result<Self, Invalid> {
        Ok(HostMemory { params, pages: Vec::new(), wire: Wire::default() })
    }

    async fn run(&mut self, io: &mut HostMemoryPorts, sim: &Context<HostMemoryStats>) -> Result<(), Fault> {
        loop {
            if io.cpu.rx.has_message()
                && let Some(permit) = io.cpu.tx.try_reserve()
                && let Some(access) = io.cpu.rx.try_recv()
            {
                let (bytes, reply) = match access {
                    HostAccess::Read { tag, address, bytes } => {
                        (u64::from(bytes), HostReply::Values { tag, data: self.read(address, bytes)? })
                    }
                    HostAccess::Write { tag, address, data } => {
                        self.write(address, &data)?;
                        (data.len() as u64, HostReply::Written { tag })
                    }
                };
                sim.stats.cpu_accesses.add(1);
                sim.stats.cpu_bytes.add(bytes);
                permit.send_after(self.transfer(sim.now(), bytes), reply);
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
                        self.write(address, &data)?;
                        (data.len() as u64, BusMessage::Written { tag })
                    }
                    other => return Err(Fault::new(format!("device {device} sent {other:?} to memory"))),
                };
                sim.stats.device_accesses.add(1);
                sim.stats.device_bytes.add(bytes);
                permit.send_after(self.transfer(sim.now(), bytes), DeviceMessage { device, message });
            }
            let (cpu, devices) = (io.cpu.rx.has_message(), io.devices.rx.has_message());
            let sources = [
                io.cpu.rx.when(!cpu),
                io.cpu.tx.when(cpu),
                io.devices.rx.when(!devices),
                io.devices.tx.when(devices),
            ];
            sim.wait(SimTime::MAX, sources).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_pages() {
        let cut: Vec<_> = pieces(4000, 5000).collect();
        assert_eq!(cut, [(0, 4000, 0..96), (1, 0, 96..4192), (2, 0, 4192..5000)]);
    }
}
