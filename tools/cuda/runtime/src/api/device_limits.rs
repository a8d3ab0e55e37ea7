//! Limits that a program sets for its kernels (`cudaLimit`): the bounds of each, and the value that the device sets. Bounds and roundings
//! are those of CUDA 13.0 on an H200.

use std::ffi::c_int;

use counterpoint_cuda_capture::Entry;
use counterpoint_ptx::{Heap, Kernel, StackSize};

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::made::device_limits::{DEPTH, DeviceLimits, FETCH, HEAP, LibraryBytes, PENDING, PRINTF, STACK};
use crate::state::State;

const LARGEST_STACK: u64 = 256 << 10;
/// The ring's positions are words of 32 bits, so that it ends at half of CUDA's bound.
const PRINTF_BYTES: std::ops::RangeInclusive<u64> = 512 << 10..=1 << 30;
const LEAST_HEAP: u64 = 4 << 20;
const DEPTHS: std::ops::RangeInclusive<u64> = 0..=24;
const PENDING_LAUNCHES: std::ops::RangeInclusive<u64> = 32..=599_186;
const FETCH_BYTES: std::ops::RangeInclusive<u64> = 0..=128;
/// Generations from this one on have no kernels that wait for those that they launch.
const NO_DEPTH: u32 = 90;

impl State {
    fn limit(&self, limit: c_int) -> Result<u64> {
        let (major, minor) = self.limits().capability;
        if limit == DEPTH && major * 10 + minor >= NO_DEPTH {
            return Err(Error::UNSUPPORTED_LIMIT);
        }
        self.device_limits.value(limit).ok_or(Error::INVALID_VALUE)
    }

    fn set_limit(&mut self, limit: c_int, wanted: u64) -> Result {
        self.limit(limit)?;
        let within = |bounds: std::ops::RangeInclusive<u64>| {
            if bounds.contains(&wanted) { Ok(wanted) } else { Err(Error::INVALID_VALUE) }
        };
        let value = match limit {
            STACK => within(0..=LARGEST_STACK)?.next_multiple_of(16),
            PRINTF if self.device_limits.has_printed => return Err(Error::INVALID_VALUE),
            PRINTF => clamp(wanted, PRINTF_BYTES).next_multiple_of(256),
            HEAP if self.device_limits.has_allocated => return Err(Error::INVALID_VALUE),
            HEAP => clamp(wanted, LEAST_HEAP..=self.largest_heap()).next_multiple_of(32 << 10),
            DEPTH => within(DEPTHS)?,
            PENDING => clamp(wanted, PENDING_LAUNCHES),
            FETCH => within(FETCH_BYTES)?,
            _ => within(0..=self.limits().persisting_bytes())?,
        };
        self.device_limits.set.insert(limit, value);
        Ok(())
    }

    /// Half of the device's memory, and no more than the heap can number.
    fn largest_heap(&self) -> u64 {
        (self.device.room().1 / 2).clamp(LEAST_HEAP, Heap::MOST_BYTES)
    }

    /// Gives a kernel that is launched now the memory that it uses of the sizes that are set; the result is its stack.
    pub(super) fn give_memory(&mut self, kernel: &Kernel) -> StackSize {
        let (allocates, prints) = (kernel.calls("malloc") || kernel.calls("free"), kernel.calls("vprintf"));
        let of = |limit| self.device_limits.value(limit).unwrap_or_default();
        let mut bytes = self.device_limits.noted;
        if allocates {
            bytes.heap = of(HEAP);
        }
        if prints {
            bytes.printf = of(PRINTF);
        }
        if kernel.needs_stack() {
            bytes.stack = StackSize::new(of(STACK)).unwrap_or_default().max(StackSize::default());
        }
        self.device_limits.has_allocated |= allocates;
        self.device_limits.has_printed |= prints;
        let noted = std::mem::replace(&mut self.device_limits.noted, bytes);
        if noted.heap != bytes.heap {
            self.device.renew_heap(bytes.heap, &mut self.modules);
        }
        if noted.printf != bytes.printf {
            self.print();
            self.device.renew_printf(bytes.printf, &mut self.modules);
        }
        if noted != bytes {
            let LibraryBytes { heap, printf, stack } = bytes;
            self.recorder.write(&Entry::Library { heap, printf, stack: stack.bytes().into() });
        }
        bytes.stack
    }

    /// Limits are as they were in the beginning, and the heap is empty.
    pub(crate) fn reset_limits(&mut self) {
        let DeviceLimits { noted, has_allocated, .. } = std::mem::take(&mut self.device_limits);
        let usual = LibraryBytes::default();
        if has_allocated || noted.heap != usual.heap {
            self.device.renew_heap(usual.heap, &mut self.modules);
        }
        if noted.printf != usual.printf {
            self.device.renew_printf(usual.printf, &mut self.modules);
        }
    }
}

fn clamp(value: u64, bounds: std::ops::RangeInclusive<u64>) -> u64 {
    value.clamp(*bounds.start(), *bounds.end())
}

entries! {
    fn cudaDeviceSetLimit(limit: c_int, value: usize) |state| { state.set_limit(limit, value as u64) }

    fn cudaDeviceGetLimit(value: *mut usize, limit: c_int) |state| { put(value, state.limit(limit)? as usize) }
}
