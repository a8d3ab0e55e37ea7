//! Memory: allocations, copies, and fills.

use std::ffi::{c_int, c_uint, c_void};

use counterpoint_cuda_capture::{Entry, Region, Way};

use super::arrays::Array;
use super::entries;
use super::streams::Stream;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put, read, read_to, write};
use crate::graphs::Operation;
use crate::state::State;
use crate::words::{Argument, Words};

/// Bytes between rows of memory that has rows are a multiple of it.
const PITCH: u64 = 512;
/// Flag of host memory that kernels reach.
const MAPPED: c_uint = 2;

/// A direction as programs name it: host to host, to the device, to the host, on the device, or as the addresses say.
type Kind = c_int;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    HostToHost,
    HostToDevice,
    DeviceToHost,
    OnDevice,
}

/// Sizes of a copy: bytes of a row, and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) width: u64,
    pub(crate) rows: u64,
}

/// A place, and the bytes between its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) address: u64,
    pub(crate) pitch: u64,
}

impl Shape {
    /// An error where its rows reach beyond all addresses.
    fn check(self, place: Place) -> Result {
        let extent = place.pitch.max(self.width).checked_mul(self.rows);
        let end = extent.and_then(|bytes| place.address.checked_add(bytes));
        end.map(drop).ok_or(Error::INVALID_VALUE)
    }
}

impl Place {
    fn region(self, Shape { width, rows }: Shape) -> Region {
        Region { address: self.address, width, rows, pitch: if rows > 1 { self.pitch } else { width } }
    }
}

impl State {
    /// Whether an address is in memory that the program has registered.
    fn is_registered(&self, address: u64) -> bool {
        let before = self.registered.range(..=address).next_back();
        before.is_some_and(|(start, bytes)| address - start < *bytes as u64)
    }

    /// Whether kernels reach an address.
    fn is_on_device(&self, address: u64) -> bool {
        self.device.holds(address) && self.shared.find(address).is_none()
    }

    fn ends(&self, kind: Kind, to: u64, from: u64) -> Result<Ends> {
        match kind {
            0 => Ok(Ends::HostToHost),
            1 => Ok(Ends::HostToDevice),
            2 => Ok(Ends::DeviceToHost),
            3 => Ok(Ends::OnDevice),
            4 => Ok(match (self.is_on_device(from), self.is_on_device(to)) {
                (false, false) => Ends::HostToHost,
                (false, true) => Ends::HostToDevice,
                (true, false) => Ends::DeviceToHost,
                (true, true) => Ends::OnDevice,
            }),
            _ => Err(Error::INVALID_MEMCPY_DIRECTION),
        }
    }

    /// Copies rows, now or when the graph is launched that watches the stream.
    pub(super) fn copy(
        &mut self,
        places: (Place, Place),
        shape: Shape,
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        if self.is_watched(stream) {
            return self.watched(stream, Operation::Copy { places: vec![places], shape, kind });
        }
        self.copy_now(places, shape, kind, stream, waits)
    }

    pub(super) fn copy_now(
        &mut self,
        (to, from): (Place, Place),
        shape: Shape,
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        if shape.width == 0 || shape.rows == 0 {
            return Ok(());
        }
        shape.check(to)?;
        shape.check(from)?;
        let is_shared =
            [to.address, from.address].iter().any(|address| self.shared.find(*address) == Some(true));
        if !is_shared {
            return self.copy_apart((to, from), shape, kind, stream, waits);
        }
        // Host and device have a copy each, which are one to the program.
        self.share()?;
        self.copy_apart((to, from), shape, kind, stream, waits)?;
        match self.ends(kind, to.address, from.address)? {
            Ends::HostToDevice | Ends::OnDevice => self.unshare(),
            Ends::HostToHost | Ends::DeviceToHost => self.share(),
        }
    }

    /// The same, of memory that either host or device has.
    fn copy_apart(
        &mut self,
        (to, from): (Place, Place),
        shape: Shape,
        kind: Kind,
        stream: u32,
        waits: bool,
    ) -> Result {
        match self.ends(kind, to.address, from.address)? {
            Ends::HostToHost => {
                let bytes = rows(from.region(shape))?;
                write_rows(to.region(shape), &bytes)
            }
            Ends::HostToDevice => {
                let bytes = rows(from.region(shape))?;
                self.device.write(to.region(shape), &bytes)?;
                self.note_copy(Way::In, to.region(shape), &bytes, stream, waits);
                Ok(())
            }
            Ends::DeviceToHost => {
                let bytes = self.device.read(from.region(shape))?;
                write_rows(to.region(shape), &bytes)?;
                self.note_copy(Way::Out, from.region(shape), &bytes, stream, waits);
                Ok(())
            }
            Ends::OnDevice => {
                let (from, to) = (from.region(shape), to.region(shape));
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

    /// Fills rows with bytes, now or when the graph is launched that watches the stream.
    fn fill(&mut self, place: Place, shape: Shape, value: c_int, stream: u32) -> Result {
        let value = vec![value as u8];
        if self.is_watched(stream) {
            return self.watched(stream, Operation::Fill { place, shape, value });
        }
        self.fill_now(place, shape, value, stream)
    }

    /// Fills rows with a value of one byte or more.
    pub(super) fn fill_now(&mut self, place: Place, shape: Shape, value: Vec<u8>, stream: u32) -> Result {
        if shape.width == 0 || shape.rows == 0 {
            return Ok(());
        }
        shape.check(place)?;
        let region = place.region(shape);
        if self.shared.find(place.address).is_some() {
            write_rows(region, &value.repeat(region.bytes() as usize / value.len()))?;
        }
        self.device.fill(region, &value)?;
        self.recorder.entry(&Entry::Fill { region, value, stream });
        Ok(())
    }

    pub(super) fn allocate(&mut self, bytes: u64) -> Result<u64> {
        let address = self.device.allocate(bytes)?;
        self.recorder.write(&Entry::Allocate { address, bytes });
        Ok(address)
    }

    /// The same, with CUDA's null pointer for nothing.
    fn allocate_some(&mut self, bytes: u64) -> Result<u64> {
        if bytes == 0 { Ok(0) } else { self.allocate(bytes) }
    }

    fn allocate_rows(&mut self, width: u64, rows: u64) -> Result<(u64, u64)> {
        let pitch = width.checked_next_multiple_of(PITCH).ok_or(Error::MEMORY_ALLOCATION)?;
        let bytes = pitch.checked_mul(rows).ok_or(Error::MEMORY_ALLOCATION)?;
        Ok((self.allocate(bytes)?, pitch))
    }

    pub(super) fn free(&mut self, address: u64) -> Result {
        self.print();
        if address == 0 {
            return Ok(());
        }
        if self.shared.find(address).is_some() {
            return self.free_shared(address);
        }
        if self.graphs.has_promised(address) {
            let bytes = self.device.retire(address)?;
            self.graph_memory.give_back(bytes);
        } else {
            self.device.free(address)?;
        }
        self.recorder.entry(&Entry::Free { address });
        Ok(())
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
fn write_rows(region: Region, bytes: &[u8]) -> Result {
    if region.pitch == region.width {
        return write(region.address, bytes);
    }
    let rows = bytes.chunks_exact(region.width as usize);
    region.starts().zip(rows).try_for_each(|(start, row)| write(start, row))
}

/// Allocates memory in the order of a stream, now or when the graph is launched that watches it.
pub(super) fn allocate_in_stream(state: &mut State, address: *mut u64, bytes: u64, stream: Stream) -> Result {
    let stream = state.stream(stream)?;
    if !state.is_watched(stream) {
        return put(address, state.allocate_some(bytes)?);
    }
    let promised = state.promise(bytes)?;
    put(address, promised)?;
    state.watched(stream, Operation::Allocate { address: promised, bytes })
}

/// A place without rows.
pub(super) fn line(address: *const c_void) -> Place {
    Place { address: address.addr() as u64, pitch: 0 }
}

/// A place with bytes between the beginnings of its rows.
pub(super) fn pitched(address: *const c_void, pitch: usize) -> Place {
    Place { address: address.addr() as u64, pitch: pitch as u64 }
}

/// The shape of bytes behind one another.
pub(super) fn flat(bytes: usize) -> Shape {
    Shape { width: bytes as u64, rows: 1 }
}

pub(super) fn plane(width: usize, rows: usize) -> Shape {
    Shape { width: width as u64, rows: rows as u64 }
}

entries! {
    fn cudaMalloc(address: *mut u64, bytes: usize) |state| {
        put(address, state.allocate_some(bytes as u64)?)
    }

    fn cudaMallocAsync(address: *mut u64, bytes: usize, stream: Stream) |state| {
        allocate_in_stream(state, address, bytes as u64, stream)
    }

    fn cudaMallocPitch(address: *mut u64, pitch: *mut usize, width: usize, rows: usize) |state| {
        let (given, between) = state.allocate_rows(width as u64, rows as u64)?;
        put(pitch, between as usize)?;
        put(address, given)
    }

    fn cudaFree(address: u64) |state| { state.free(address) }

    fn cudaFreeAsync(address: u64, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        if state.is_watched(stream) { state.watched(stream, Operation::Free { address }) } else { state.free(address) }
    }

    fn cudaMallocManaged(address: *mut u64, bytes: usize, _flags: c_uint) |state| {
        put(address, state.allocate_managed(bytes as u64)?)
    }

    fn cudaMallocHost(address: *mut u64, bytes: usize) |state| {
        put(address, state.allocate_shared(bytes as u64, false)?)
    }

    fn cudaHostAlloc(address: *mut u64, bytes: usize, flags: c_uint) |state| {
        put(address, state.allocate_shared(bytes as u64, flags & MAPPED != 0)?)
    }

    fn cudaFreeHost(address: u64) |state| {
        state.print();
        if address == 0 { Ok(()) } else { state.free_shared(address) }
    }

    fn cudaHostGetDevicePointer(device: *mut u64, host: u64, _flags: c_uint) |state| {
        if state.shared.find(host).is_none() && state.is_registered(host) {
            let reason = "memory that kernels reach must come from cudaHostAlloc or cudaMallocManaged, not from cudaHostRegister";
            return Err(state.refuse("cudaHostGetDevicePointer", reason));
        }
        state.put_on_device(host)?;
        put(device, host)
    }

    fn cudaHostGetFlags(flags: *mut c_uint, host: u64) |state| {
        let on_device = state.shared.find(host).ok_or(Error::INVALID_VALUE)?;
        put(flags, if on_device { MAPPED } else { 0 })
    }

    /// Memory of the host that copies may use: all may. Kernels do not reach it, whatever the flags say.
    fn cudaHostRegister(address: u64, bytes: usize, _flags: c_uint) |state| {
        if address == 0 || bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        if state.registered.insert(address, bytes).is_some() { Err(Error::ALREADY_REGISTERED) } else { Ok(()) }
    }

    fn cudaHostUnregister(address: u64) |state| {
        state.registered.remove(&address).map(drop).ok_or(Error::NOT_REGISTERED)
    }

    fn cudaMemGetInfo(free: *mut usize, all: *mut usize) |state| {
        let (left, bytes) = state.device.room();
        put(free, left as usize)?;
        put(all, bytes as usize)
    }

    fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: Kind) |state| {
        state.copy((line(to), line(from)), flat(bytes), kind, 0, true)
    }

    fn cudaMemcpyAsync(to: *mut c_void, from: *const c_void, bytes: usize, kind: Kind, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        state.copy((line(to), line(from)), flat(bytes), kind, stream, false)
    }

    fn cudaMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, rows: usize, kind: Kind,
    ) |state| {
        state.copy((pitched(to, to_pitch), pitched(from, from_pitch)), plane(width, rows), kind, 0, true)
    }

    fn cudaMemcpy2DAsync(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, rows: usize, kind: Kind,
        stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        state.copy((pitched(to, to_pitch), pitched(from, from_pitch)), plane(width, rows), kind, stream, false)
    }

    fn cudaMemcpyPeer(to: *mut c_void, _to_device: c_int, from: *const c_void, _from_device: c_int, bytes: usize) |state| {
        state.copy((line(to), line(from)), flat(bytes), 3, 0, true)
    }

    fn cudaMemcpyPeerAsync(
        to: *mut c_void, _to_device: c_int, from: *const c_void, _from_device: c_int, bytes: usize, stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        state.copy((line(to), line(from)), flat(bytes), 3, stream, false)
    }

    fn cudaMemset(address: *mut c_void, value: c_int, bytes: usize) |state| {
        state.fill(line(address), flat(bytes), value, 0)
    }

    fn cudaMemsetAsync(address: *mut c_void, value: c_int, bytes: usize, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        state.fill(line(address), flat(bytes), value, stream)
    }

    fn cudaMemset2D(address: *mut c_void, pitch: usize, value: c_int, width: usize, rows: usize) |state| {
        state.fill(pitched(address, pitch), plane(width, rows), value, 0)
    }

    fn cudaMemset2DAsync(
        address: *mut c_void, pitch: usize, value: c_int, width: usize, rows: usize, stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        state.fill(pitched(address, pitch), plane(width, rows), value, stream)
    }

    fn cudaMemPrefetchAsync(_address: *const c_void, _bytes: usize, _device: c_int, _stream: Stream) |_state| { Ok(()) }

    fn cudaMemAdvise(_address: *const c_void, _bytes: usize, _advice: c_int, _device: c_int) |_state| { Ok(()) }

    /// Memory that a stream alone uses for a while: the device has all of it copied anyway.
    fn cudaStreamAttachMemAsync(stream: Stream, address: u64, _bytes: usize, _flags: c_uint) |state| {
        state.stream(stream)?;
        if state.shared.is_managed(address) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn cudaPointerGetAttributes(attributes: *mut PointerAttributes, pointer: u64) |state| {
        // Types: 0 unknown, 1 host, 2 device, 3 managed.
        let (kind, device, host) = match state.shared.find(pointer) {
            Some(_) if state.shared.is_managed(pointer) => (3, pointer, pointer),
            Some(_) => (1, pointer, pointer),
            None if state.device.holds(pointer) => (2, pointer, 0),
            None => (0, 0, 0),
        };
        put(attributes, PointerAttributes { kind, number: 0, device, host })
    }

    fn cudaMalloc3D(pointer: *mut PitchedPointer, extent: Extent) |state| {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::MEMORY_ALLOCATION)?;
        let (address, pitch) = state.allocate_rows(extent.width as u64, rows as u64)?;
        put(pointer, PitchedPointer { address, pitch: pitch as usize, width: extent.width, height: extent.height })
    }

    fn cudaMemcpy3D(copy: *const Copy3D) |state| { copy_planes(state, get(copy)?, 0, true) }

    fn cudaMemcpy3DAsync(copy: *const Copy3D, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        copy_planes(state, get(copy)?, stream, false)
    }

    fn cudaMemset3D(pointer: PitchedPointer, value: c_int, extent: Extent) |state| {
        for index in 0..extent.depth {
            let address = pointer.address + (index * pointer.height * pointer.pitch) as u64;
            let place = Place { address, pitch: pointer.pitch as u64 };
            state.fill(place, plane(extent.width, extent.height), value, 0)?;
        }
        Ok(())
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct PointerAttributes {
    kind: c_int,
    number: c_int,
    device: u64,
    host: u64,
}

/// A place with rows and planes, as CUDA describes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct PitchedPointer {
    address: u64,
    pitch: usize,
    width: usize,
    height: usize,
}

impl PitchedPointer {
    /// A place by bytes, rows and planes, and the bytes from a plane to the next.
    fn block(self, at: Extent) -> (Place, u64) {
        let plane = self.height * self.pitch;
        let address = self.address + (at.depth * plane + at.height * self.pitch + at.width) as u64;
        (Place { address, pitch: self.pitch as u64 }, plane as u64)
    }
}

/// Sizes in bytes, or elements of an array, in rows and in planes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) depth: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Copy3D {
    from_array: *mut c_void,
    from_position: Extent,
    from: PitchedPointer,
    to_array: *mut c_void,
    to_position: Extent,
    to: PitchedPointer,
    extent: Extent,
    pub(super) kind: Kind,
}

/// The places of the planes of a copy, one after another, and the shape of each.
pub(super) fn planes(state: &State, copy: Copy3D) -> Result<(Vec<(Place, Place)>, Shape)> {
    let [from, to] = [copy.from_array, copy.to_array]
        .map(|array| if array.is_null() { Ok(None) } else { state.array(array).map(Some) });
    let (from, to) = (from?, to?);
    let element = |array: &Array| array.description.bytes() as usize;
    let [from_bytes, to_bytes] = [&from, &to].map(|array| array.as_ref().map(element));
    // Sizes of a copy of an array count its elements.
    let bytes = match (from_bytes, to_bytes) {
        (Some(from), Some(to)) if from != to => return Err(Error::INVALID_VALUE),
        (from, to) => from.or(to).unwrap_or(1),
    };
    let place = |array: Option<Array>, pointer: PitchedPointer, at: Extent| match array {
        Some(array) => array.block(at, copy.extent),
        None => Ok(pointer.block(at)),
    };
    let (from, from_plane) = place(from, copy.from, copy.from_position)?;
    let (to, to_plane) = place(to, copy.to, copy.to_position)?;
    let later = |place: Place, bytes| Place { address: place.address + bytes, ..place };
    let both = |index| (later(to, index * to_plane), later(from, index * from_plane));
    let all = (0..copy.extent.depth as u64).map(both).collect();
    Ok((all, plane(copy.extent.width * bytes, copy.extent.height)))
}

/// Copies planes, one after another.
fn copy_planes(state: &mut State, copy: Copy3D, stream: u32, waits: bool) -> Result {
    let (all, shape) = planes(state, copy)?;
    for places in all {
        state.copy(places, shape, copy.kind, stream, waits)?;
    }
    Ok(())
}

plain!(PointerAttributes, PitchedPointer, Extent, Copy3D);

impl Argument for PitchedPointer {
    fn take(words: &mut Words) -> Result<Self> {
        let [address, pitch, width, height] = words.many()?;
        Ok(PitchedPointer { address, pitch: pitch as usize, width: width as usize, height: height as usize })
    }
}

impl Argument for Extent {
    fn take(words: &mut Words) -> Result<Self> {
        let [width, height, depth] = words.many::<3>()?.map(|word| word as usize);
        Ok(Extent { width, height, depth })
    }
}
