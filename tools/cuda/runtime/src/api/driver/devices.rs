//! The driver, and the device before any context.

use std::ffi::{c_char, c_int, c_uint};

use super::super::devices::check_device;
use super::super::entries;
use super::super::properties::NAME;
use crate::errors::{Error, Result};
use crate::foreign::{plain, put, text, write};
use crate::state::State;

/// The version of CUDA that the driver supports.
pub(in crate::api) const VERSION: c_int = 13050;
/// The device's number in the world, and its place on the bus.
pub(in crate::api) const UUID: [u8; 16] = *b"counterpoint gpu";
const PCI: &str = "0000:00:00.0";
/// Attributes with domain, bus and device of this place.
pub(super) const PCI_ATTRIBUTES: [c_int; 3] = [50, 33, 34];

/// Properties of a device as the driver's oldest function gives them.
#[repr(C)]
#[derive(Clone, Copy)]
struct Properties {
    threads_of_block: c_int,
    block: [c_int; 3],
    grid: [c_int; 3],
    shared_of_block: c_int,
    constant: c_int,
    warp: c_int,
    pitch: c_int,
    registers: c_int,
    clock: c_int,
    texture_alignment: c_int,
}

plain!(Properties);

/// Puts a text into a place of so many bytes, cut where it is too long, with a zero behind it.
pub(crate) fn put_text(place: *mut c_char, bytes: usize, text: &[u8]) -> Result {
    let room = bytes.checked_sub(1).ok_or(Error::INVALID_VALUE)?;
    let mut all = text[..text.len().min(room)].to_vec();
    all.push(0);
    write(place.addr() as u64, &all)
}

impl State {
    pub(super) fn attributes<const N: usize>(&self, numbers: [c_int; N]) -> Result<[c_int; N]> {
        let mut found = [0; N];
        for (place, number) in found.iter_mut().zip(numbers) {
            *place = self.attribute(number)?;
        }
        Ok(found)
    }
}

entries! {
    fn cuInit(flags: c_uint) => Always |state| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        state.contexts.is_initialized = true;
        Ok(())
    }

    fn cuDriverGetVersion(version: *mut c_int) => Always |_state| { put(version, VERSION) }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) => Device |_state| {
        check_device(ordinal)?;
        put(device, 0)
    }

    fn cuDeviceGetCount(count: *mut c_int) => Device |_state| { put(count, 1) }

    fn cuDeviceGetName(place: *mut c_char, bytes: c_int, device: c_int) => Device |_state| {
        check_device(device)?;
        put_text(place, usize::try_from(bytes).map_err(|_| Error::INVALID_VALUE)?, NAME)
    }

    fn cuDeviceGetUuid(place: *mut c_char, device: c_int) => Device |_state| {
        check_device(device)?;
        write(place.addr() as u64, &UUID)
    }

    fn cuDeviceGetUuid_v2(place: *mut c_char, device: c_int) => Device |_state| {
        check_device(device)?;
        write(place.addr() as u64, &UUID)
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) => Device |state| {
        check_device(device)?;
        put(bytes, state.device.room().1 as usize)
    }

    fn cuDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) => Device |state| {
        check_device(device)?;
        put(value, state.attribute(number)?)
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) => Device |state| {
        check_device(device)?;
        let capability = state.limits().capability;
        put(major, capability.0 as c_int)?;
        put(minor, capability.1 as c_int)
    }

    fn cuDeviceGetProperties(place: *mut Properties, device: c_int) => Device |state| {
        check_device(device)?;
        let [threads_of_block, shared_of_block, constant, warp, pitch] = state.attributes([1, 8, 9, 10, 11])?;
        let [registers, clock, texture_alignment] = state.attributes([12, 13, 14])?;
        let (block, grid) = (state.attributes([2, 3, 4])?, state.attributes([5, 6, 7])?);
        put(place, Properties {
            threads_of_block, block, grid, shared_of_block, constant, warp, pitch, registers, clock, texture_alignment,
        })
    }

    fn cuDeviceGetPCIBusId(place: *mut c_char, bytes: c_int, device: c_int) => Device |_state| {
        check_device(device)?;
        put_text(place, usize::try_from(bytes).map_err(|_| Error::INVALID_VALUE)?, PCI.as_bytes())
    }

    fn cuDeviceGetByPCIBusId(device: *mut c_int, place: *const c_char) => Device |_state| {
        // The domain may be left out, and digits may be of either case.
        let wanted = text(place).to_lowercase();
        if !wanted.is_empty() && PCI.ends_with(&wanted) { put(device, 0) } else { Err(Error::INVALID_VALUE) }
    }

    /// Only Windows has such numbers.
    fn cuDeviceGetLuid(_luid: *mut c_char, _mask: *mut c_uint, device: c_int) => Device |_state| {
        check_device(device)?;
        Err(Error::NOT_SUPPORTED)
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(
        width: *mut usize, _format: c_int, _channels: c_uint, device: c_int,
    ) => Device |_state| {
        check_device(device)?;
        put(width, 1 << 28)
    }

    /// SMs cannot be given to contexts.
    fn cuDeviceGetExecAffinitySupport(has: *mut c_int, _kind: c_int, device: c_int) => Device |_state| {
        check_device(device)?;
        put(has, 0)
    }

    fn cuModuleGetLoadingMode(mode: *mut c_int) => Device |_state| { put(mode, EAGER) }

}

/// Modules are put on the device when they are loaded.
const EAGER: c_int = 1;
