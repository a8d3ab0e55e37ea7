//! Fills of memory with a value.

use std::ffi::{c_int, c_void};

use counterpoint_cuda_capture::Entry;

use super::copies::write_rows;
use super::entries;
use super::volumes::PitchedPointer;
use crate::errors::{Error, Result};
use crate::graphs::Operation;
use crate::made::Stream;
use crate::made::arrays::Extent;
use crate::pitched::{PitchedAddress, Shape, flat, line, pitched, plane};
use crate::state::State;

impl State {
    /// Fills rows with a value of one byte or more, now or when the graph is launched that watches the stream.
    pub(super) fn fill(
        &mut self,
        place: PitchedAddress,
        shape: Shape,
        value: Vec<u8>,
        stream: u32,
    ) -> Result {
        self.submit(Operation::Fill { place, shape, value }, stream)
    }

    /// Fills rows with a value of one byte or more.
    pub(super) fn fill_now(
        &mut self,
        place: PitchedAddress,
        shape: Shape,
        value: Vec<u8>,
        stream: u32,
    ) -> Result {
        if shape.is_empty() {
            return Ok(());
        }
        if shape.rows > 1 && shape.width > place.pitch {
            return Err(Error::INVALID_VALUE);
        }
        shape.check(place)?;
        let region = place.region(shape);
        let fill_host = || write_rows(region, &value.repeat(region.bytes() as usize / value.len()));
        let shared = self.shared.find(place.address);
        // Memory of the host that kernels do not reach yet is filled all the same.
        if shared == Some(false) {
            if !self.shared.holds(place.address, region.extent()) {
                return Err(Error::INVALID_VALUE);
            }
            return fill_host();
        }
        self.device.fill(region, &value)?;
        if shared.is_some() {
            fill_host()?;
        }
        self.recorder.entry(&Entry::Fill { region, value, stream });
        Ok(())
    }

    fn fill_planes(&mut self, pointer: PitchedPointer, value: c_int, extent: Extent, stream: u32) -> Result {
        if extent.is_empty() {
            return Ok(());
        }
        let shape = plane(extent.width, extent.height);
        let (first, between) = pointer.block(Extent::default())?;
        if extent.depth > 1 && extent.height > pointer.height {
            return Err(Error::INVALID_VALUE);
        }
        let last = first.later(between.checked_mul(extent.depth as u64 - 1).ok_or(Error::INVALID_VALUE)?)?;
        shape.check(last)?;
        // No plane is filled if the last plane, which has the highest addresses, does not fit.
        if self.shared.find(first.address) != Some(false) {
            self.device.check(last.region(shape)).map_err(|_| Error::INVALID_VALUE)?;
        }
        for index in 0..extent.depth as u64 {
            self.fill(first.later(index * between)?, shape, vec![value as u8], stream)?;
        }
        Ok(())
    }
}

entries! {
    fn cudaMemset(address: *mut c_void, value: c_int, bytes: usize) |state| {
        let stream = state.default_stream();
        state.fill(line(address), flat(bytes), vec![value as u8], stream)
    }

    fn cudaMemsetAsync(address: *mut c_void, value: c_int, bytes: usize, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        state.fill(line(address), flat(bytes), vec![value as u8], stream)
    }

    fn cudaMemset2D(address: *mut c_void, pitch: usize, value: c_int, width: usize, rows: usize) |state| {
        let stream = state.default_stream();
        state.fill(pitched(address, pitch), plane(width, rows), vec![value as u8], stream)
    }

    fn cudaMemset2DAsync(
        address: *mut c_void, pitch: usize, value: c_int, width: usize, rows: usize, stream: Stream,
    ) |state| {
        let stream = state.stream(stream)?;
        state.fill(pitched(address, pitch), plane(width, rows), vec![value as u8], stream)
    }

    fn cudaMemset3D(pointer: PitchedPointer, value: c_int, extent: Extent) |state| {
        let stream = state.default_stream();
        state.fill_planes(pointer, value, extent, stream)
    }

    fn cudaMemset3DAsync(pointer: PitchedPointer, value: c_int, extent: Extent, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        state.fill_planes(pointer, value, extent, stream)
    }
}
