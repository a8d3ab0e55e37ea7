//! Copies of bytes, and of rows of them.

use std::ffi::{c_int, c_void};

use counterpoint_cuda_capture::{Entry, Region, Way};

use super::devices::check_device;
use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{read, read_to, write};
use crate::graphs::Operation;
use crate::made::Stream;
use crate::pitched::{PitchedAddress, Planes, Shape, flat, line, pitched, plane};
use crate::state::State;

/// A direction as programs name it.
pub(super) type Kind = c_int;

/// Host to host, which with one space of addresses means what the addresses say, as [`DEFAULT`] does.
const HOST_TO_HOST: Kind = 0;
pub(super) const TO_DEVICE: Kind = 1;
pub(super) const TO_HOST: Kind = 2;
pub(super) const ON_DEVICE: Kind = 3;
pub(super) const DEFAULT: Kind = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    OnDevice,
}

impl State {
    /// Whether kernels reach an address, and the host does not.
    fn is_on_device(&self, address: u64) -> bool {
        self.device.holds(address) && self.shared.find(address).is_none()
    }

    /// Whether an end of a copy that the program declares to be on the device is there: the address may also
    /// be that of pinned host memory.
    fn device_end(&self, address: u64) -> Result<bool> {
        let is_there = self.device.holds(address);
        let is_pinned = self.shared.find(address).is_some() || self.registered_at(address).is_some();
        if is_there || is_pinned { Ok(is_there) } else { Err(Error::INVALID_VALUE) }
    }

    fn host_end(&self, address: u64) -> Result {
        if self.is_on_device(address) { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    fn ends(&self, kind: Kind, to: u64, from: u64) -> Result<Ends> {
        let (from, to) = match kind {
            HOST_TO_HOST | DEFAULT => (self.is_on_device(from), self.is_on_device(to)),
            TO_DEVICE => {
                self.host_end(from)?;
                (false, self.device_end(to)?)
            }
            TO_HOST => {
                self.host_end(to)?;
                (self.device_end(from)?, false)
            }
            ON_DEVICE => (self.device_end(from)?, self.device_end(to)?),
            _ => return Err(Error::INVALID_MEMCPY_DIRECTION),
        };
        Ok(match (from, to) {
            (false, false) => Ends::HostToHost,
            (false, true) => Ends::HostToDevice,
            (true, false) => Ends::DeviceToHost,
            (true, true) => Ends::OnDevice,
        })
    }

    /// Copies rows, now or when the graph is launched that watches the stream.
    pub(super) fn copy(
        &mut self,
        (to, from): (PitchedAddress, PitchedAddress),
        shape: Shape,
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        self.copy_planes((Planes::one(to, from), shape), kind, stream, waits)
    }

    pub(super) fn copy_planes(
        &mut self,
        (planes, shape): (Planes, Shape),
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        if !waits || self.is_watched(stream) {
            return self.submit(Operation::Copy { planes, shape, kind }, stream);
        }
        self.settle(Some(stream))?;
        self.copy_now((planes, shape), kind, stream, true)
    }

    pub(super) fn copy_now(
        &mut self,
        (planes, shape): (Planes, Shape),
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        if shape.is_empty() || planes.count == 0 {
            return Ok(());
        }
        // The last of several planes lies behind all others: nothing is copied if it has no place.
        if planes.count > 1 {
            self.check_copy(planes.places(planes.count - 1)?, shape, kind)?;
        }
        for index in 0..planes.count {
            self.copy_plane(planes.places(index)?, shape, kind, stream, waits)?;
        }
        Ok(())
    }

    /// An error where the device has no memory at a place, before any byte of the host is looked at.
    fn check_copy(
        &self,
        (to, from): (PitchedAddress, PitchedAddress),
        shape: Shape,
        kind: Kind,
    ) -> Result<Ends> {
        shape.check(to)?;
        shape.check(from)?;
        let ends = self.ends(kind, to.address, from.address)?;
        if matches!(ends, Ends::HostToDevice | Ends::OnDevice) {
            self.device.check(to.region(shape))?;
        }
        if matches!(ends, Ends::DeviceToHost | Ends::OnDevice) {
            self.device.check(from.region(shape))?;
        }
        Ok(ends)
    }

    fn copy_plane(
        &mut self,
        (to, from): (PitchedAddress, PitchedAddress),
        shape: Shape,
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        let ends = self.check_copy((to, from), shape, kind)?;
        let is_shared =
            [to.address, from.address].iter().any(|address| self.shared.find(*address) == Some(true));
        let (to, from) = (to.region(shape), from.region(shape));
        if !is_shared {
            return self.copy_apart(ends, (to, from), stream, waits);
        }
        // Host and device have a copy each, which are one to the program.
        self.share(stream)?;
        self.copy_apart(ends, (to, from), stream, waits)?;
        match ends {
            Ends::HostToDevice | Ends::OnDevice => self.unshare(stream),
            Ends::HostToHost | Ends::DeviceToHost => self.share(stream),
        }
    }

    /// Executes a copy in memory that only the host or only the device has.
    fn copy_apart(&mut self, ends: Ends, (to, from): (Region, Region), stream: u32, waits: bool) -> Result {
        match ends {
            Ends::HostToHost => write_rows(to, &rows(from)?),
            Ends::HostToDevice => {
                let bytes = rows(from)?;
                self.device.write(to, &bytes)?;
                self.note_copy(Way::In, to, &bytes, stream, waits);
                Ok(())
            }
            Ends::DeviceToHost => {
                let bytes = self.device.read(from)?;
                let bytes = self.as_timed(from, bytes, stream, waits)?;
                write_rows(to, &bytes)?;
                self.note_copy(Way::Out, from, &bytes, stream, waits);
                Ok(())
            }
            Ends::OnDevice => {
                self.device.copy(from, to)?;
                if from.overlaps(&to) {
                    let name = self.device.name_of(to.address);
                    self.say_once(&format!(
                        "a copy within {name} has ends that overlap, whose result CUDA does not define: the application makes it through other memory"
                    ));
                }
                self.recorder.entry(&Entry::Move { from, to, stream });
                Ok(())
            }
        }
    }

    /// The bytes of a copy to the host: those of the machine with time, if there is one that gives them.
    pub(crate) fn as_timed(
        &mut self,
        device: Region,
        bytes: Vec<u8>,
        stream: u32,
        waits: bool,
    ) -> Result<Vec<u8>> {
        self.recorder.settle();
        let machine = self.recorder.machine.as_mut();
        let seen = machine.and_then(|machine| machine.copy_out(device, stream, waits, &bytes));
        if let Some(seen) = seen {
            self.device.write(device, &seen)?;
            return Ok(seen);
        }
        Ok(bytes)
    }

    /// Notes a copy of rows, and prints where the host waits for it.
    pub(crate) fn note_copy(&mut self, way: Way, device: Region, bytes: &[u8], stream: u32, waits: bool) {
        let blob = self.recorder.keep(bytes);
        let unwritten = if way == Way::Out { self.device.unwritten(device) } else { None };
        if unwritten.is_some() {
            let name = self.device.name_of(device.address);
            self.say_once(&format!(
                "a copy to the host reads bytes of {name} that nobody has written: the application does not expect them"
            ));
        }
        let unwritten = unwritten.map(|bits| self.recorder.keep(&bits));
        self.recorder.entry(&Entry::Copy { way, device, blob, stream, waits, unwritten });
        if waits {
            self.print();
        }
    }
}

/// Rows of host memory, behind one another.
fn rows(region: Region) -> Result<Vec<u8>> {
    if region.pitch == region.width {
        return read(region.address, region.bytes());
    }
    let mut bytes = Vec::new();
    for start in region.starts() {
        read_to(&mut bytes, start, region.width)?;
    }
    Ok(bytes)
}

/// Puts rows into host memory.
pub(super) fn write_rows(region: Region, bytes: &[u8]) -> Result {
    if region.pitch == region.width {
        return write(region.address, bytes);
    }
    let rows = bytes.chunks_exact(region.width as usize);
    region.starts().zip(rows).try_for_each(|(start, row)| write(start, row))
}

fn check_devices(devices: [c_int; 2]) -> Result {
    devices.into_iter().try_for_each(check_device)
}

entries! {
    fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: Kind) |state| {
        let stream = state.default_stream();
        state.copy((line(to), line(from)), flat(bytes), kind, stream, true)
    }

    fn cudaMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: Kind, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        state.copy((line(to), line(from)), flat(bytes), kind, stream, false)
    }

    fn cudaMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, rows: usize, kind: Kind,
    ) |state| {
        let (shape, stream) = (plane(width, rows), state.default_stream());
        shape.check_pitches(&[to_pitch, from_pitch])?;
        state.copy((pitched(to, to_pitch), pitched(from, from_pitch)), shape, kind, stream, true)
    }

    fn cudaMemcpy2DAsync(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, rows: usize, kind: Kind,
        stream: Stream,
    ) |state| {
        let (shape, stream) = (plane(width, rows), state.stream(stream)?);
        shape.check_pitches(&[to_pitch, from_pitch])?;
        state.copy((pitched(to, to_pitch), pitched(from, from_pitch)), shape, kind, stream, false)
    }

    fn cudaMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize) |state| {
        check_devices([to_device, from_device])?;
        let stream = state.default_stream();
        state.copy((line(to), line(from)), flat(bytes), ON_DEVICE, stream, true)
    }

    fn cudaMemcpyPeerAsync(
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, bytes: usize, stream: Stream,
    ) |state| {
        check_devices([to_device, from_device])?;
        let stream = state.stream(stream)?;
        state.copy((line(to), line(from)), flat(bytes), ON_DEVICE, stream, false)
    }
}
