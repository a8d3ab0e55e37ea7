//! Memory of the device: given, and given back.

use std::ffi::c_int;

use counterpoint_cuda_capture::Entry;

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{plain, put};
use crate::graphs::Operation;
use crate::made::Stream;
use crate::made::contexts::Owned;
use crate::state::State;

/// Bytes between rows of memory that has rows are a multiple of it.
const PITCH: u64 = 512;

impl State {
    pub(super) fn allocate(&mut self, bytes: u64) -> Result<u64> {
        let address = self.device.allocate(bytes)?;
        self.recorder.write(&Entry::Allocate { address, bytes });
        self.own(Owned::Buffer(address));
        Ok(address)
    }

    /// Allocates memory; for 0 bytes returns CUDA's null pointer.
    fn allocate_some(&mut self, bytes: u64) -> Result<u64> {
        if bytes == 0 { Ok(0) } else { self.allocate(bytes) }
    }

    /// Memory with rows, if their number is one, and the bytes between them.
    pub(super) fn allocate_rows(&mut self, width: u64, rows: Option<u64>) -> Result<(u64, u64)> {
        if width == 0 || rows == Some(0) {
            return Ok((0, 0));
        }
        let pitch = width.checked_next_multiple_of(PITCH).ok_or(Error::INVALID_VALUE)?;
        let bytes = rows.and_then(|rows| pitch.checked_mul(rows)).ok_or(Error::MEMORY_ALLOCATION)?;
        Ok((self.allocate(bytes)?, pitch))
    }

    pub(super) fn free(&mut self, address: u64) -> Result {
        self.settle(None)?;
        self.print();
        if address == 0 {
            return Ok(());
        }
        // Memory of the host is not given back like this, and stays.
        if self.shared.find(address).is_some() {
            return if self.shared.is_managed(address) {
                self.free_shared(address)
            } else {
                Err(Error::INVALID_VALUE)
            };
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

#[repr(C)]
#[derive(Clone, Copy)]
struct PointerAttributes {
    kind: c_int,
    number: c_int,
    device: u64,
    host: u64,
}

plain!(PointerAttributes);

/// Types of memory: unknown, of the host, of the device, and managed.
const UNREGISTERED: c_int = 0;
const HOST: c_int = 1;
const DEVICE: c_int = 2;
const MANAGED: c_int = 3;

entries! {
    fn cudaMalloc(address: *mut u64, bytes: usize) |state| {
        put(address, state.allocate_some(bytes as u64)?)
    }

    fn cudaMallocAsync(address: *mut u64, bytes: usize, stream: Stream) |state| {
        allocate_in_stream(state, address, bytes as u64, stream)
    }

    fn cudaFree(address: u64) |state| { state.free(address) }

    fn cudaFreeAsync(address: u64, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        if state.is_watched(stream) { state.watched(stream, Operation::Free { address }) } else { state.free(address) }
    }

    fn cudaMemGetInfo(free: *mut usize, all: *mut usize) |state| {
        let (left, bytes) = state.device.room();
        put(free, left as usize)?;
        put(all, bytes as usize)
    }

    fn cudaPointerGetAttributes(attributes: *mut PointerAttributes, pointer: u64) |state| {
        let (kind, device, host) = match state.shared.find(pointer) {
            Some(_) if state.shared.is_managed(pointer) => (MANAGED, pointer, pointer),
            Some(_) => (HOST, pointer, pointer),
            None if state.device.holds(pointer) => (DEVICE, pointer, 0),
            // Kernels do not reach memory that the program has registered.
            None if state.registered_at(pointer).is_some() => (HOST, 0, pointer),
            None => (UNREGISTERED, 0, 0),
        };
        put(attributes, PointerAttributes { kind, number: 0, device, host })
    }
}
