//! The functions of NVIDIA's management library that benchmarks ask for the device's name, clocks and memory. The device needs no power, has no
//! temperature, and runs at one clock.

use std::ffi::{c_char, c_int, c_uint};

use super::driver::devices::{UUID, VERSION, put_text};
use super::entries;
use super::properties::NAME;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put, text};
use crate::libraries::own;
use crate::state::State;

/// Results of the library: a thing is not there, and a place is too small.
const NOT_FOUND: Error = own(6);
const TOO_SMALL: Error = own(7);

/// The handle of the device.
const DEVICE: u64 = 0x0c08 << 48;
const PCI: &str = "00000000:00:00.0";
const SHORT_PCI: &str = "0000:00:00.0";
const DRIVER: &str = "580.00";
/// Attributes of clocks in kilohertz, of multiprocessors and of memory; clocks of a device are in megahertz.
const CLOCK: c_int = 13;
const MEMORY_CLOCK: c_int = 36;

/// Bytes of memory: all, unused, and used.
#[repr(C)]
#[derive(Clone, Copy)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// The same behind the version of the structure, with those that the driver has.
#[repr(C)]
#[derive(Clone, Copy)]
struct LaterMemory {
    version: u64,
    total: u64,
    reserved: u64,
    free: u64,
    used: u64,
}

/// A place on the bus, with a short text of it in front, and a long one behind.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pci {
    short: [u8; 16],
    numbers: [c_uint; 5],
    long: [u8; 32],
}

plain!(Memory, LaterMemory, Pci, [c_uint; 2]);

fn check(device: u64) -> Result {
    if device == DEVICE { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

fn put_name(place: *mut c_char, bytes: c_uint, text: &[u8]) -> Result {
    if (bytes as usize) <= text.len() { Err(TOO_SMALL) } else { put_text(place, bytes as usize, text) }
}

/// The number of the device in the world, as texts have it.
fn uuid() -> String {
    let hex: Vec<String> = UUID.iter().map(|byte| format!("{byte:02x}")).collect();
    let part = |range: std::ops::Range<usize>| hex[range].concat();
    format!("GPU-{}-{}-{}-{}-{}", part(0..4), part(4..6), part(6..8), part(8..10), part(10..16))
}

fn put_count(place: *mut c_uint) -> Result {
    put(place, 1)
}

fn by_index(index: c_uint, place: *mut u64) -> Result {
    if index == 0 { put(place, DEVICE) } else { Err(Error::INVALID_VALUE) }
}

fn by_bus(place: *const c_char, device: *mut u64) -> Result {
    // The domain may be left out.
    let wanted = text(place).to_lowercase();
    if !wanted.is_empty() && PCI.ends_with(&wanted) { put(device, DEVICE) } else { Err(NOT_FOUND) }
}

fn put_bus(device: u64, place: *mut Pci) -> Result {
    check(device)?;
    let (mut short, mut long) = ([0; 16], [0; 32]);
    short[..SHORT_PCI.len()].copy_from_slice(SHORT_PCI.as_bytes());
    long[..PCI.len()].copy_from_slice(PCI.as_bytes());
    put(place, Pci { short, numbers: [0; 5], long })
}

impl State {
    /// The clock of a domain: graphics, multiprocessors, memory, or video.
    fn clock(&self, device: u64, domain: c_int) -> Result<c_uint> {
        check(device)?;
        let attribute = match domain {
            0 | 1 | 3 => CLOCK,
            2 => MEMORY_CLOCK,
            _ => return Err(Error::INVALID_VALUE),
        };
        Ok(self.attribute(attribute)? as c_uint / 1000)
    }
}

/// Texts of results.
const TEXTS: [(c_int, &str); 10] = [
    (0, "Success"),
    (1, "Uninitialized"),
    (2, "Invalid Argument"),
    (3, "Not Supported"),
    (4, "Insufficient Permissions"),
    (6, "Not Found"),
    (7, "Insufficient Size"),
    (9, "Driver Not Loaded"),
    (20, "Insufficient Memory"),
    (999, "Unknown Error"),
];

entries! {
    fn nvmlInit() => Always |_state| { Ok(()) }
    fn nvmlInit_v2() => Always |_state| { Ok(()) }
    fn nvmlInitWithFlags(_flags: c_uint) => Always |_state| { Ok(()) }
    fn nvmlShutdown() => Always |_state| { Ok(()) }

    fn nvmlErrorString(result: c_int) => Answer |state| {
        let found = TEXTS.iter().find(|(number, _)| *number == result);
        state.lasting_text(found.map_or("Unknown Error", |(_, text)| text))
    }

    fn nvmlSystemGetDriverVersion(place: *mut c_char, bytes: c_uint) => Always |_state| {
        put_name(place, bytes, DRIVER.as_bytes())
    }
    fn nvmlSystemGetNVMLVersion(place: *mut c_char, bytes: c_uint) => Always |_state| {
        put_name(place, bytes, format!("13.{DRIVER}").as_bytes())
    }
    fn nvmlSystemGetCudaDriverVersion(place: *mut c_int) => Always |_state| { put(place, VERSION) }
    fn nvmlSystemGetCudaDriverVersion_v2(place: *mut c_int) => Always |_state| { put(place, VERSION) }

    fn nvmlDeviceGetCount(place: *mut c_uint) => Always |_state| { put_count(place) }
    fn nvmlDeviceGetCount_v2(place: *mut c_uint) => Always |_state| { put_count(place) }
    fn nvmlDeviceGetHandleByIndex(index: c_uint, place: *mut u64) => Always |_state| { by_index(index, place) }
    fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, place: *mut u64) => Always |_state| { by_index(index, place) }
    fn nvmlDeviceGetHandleByUUID(name: *const c_char, place: *mut u64) => Always |_state| {
        if text(name) == uuid() { put(place, DEVICE) } else { Err(NOT_FOUND) }
    }
    fn nvmlDeviceGetHandleByPciBusId(bus: *const c_char, place: *mut u64) => Always |_state| { by_bus(bus, place) }
    fn nvmlDeviceGetHandleByPciBusId_v2(bus: *const c_char, place: *mut u64) => Always |_state| { by_bus(bus, place) }

    fn nvmlDeviceGetIndex(device: u64, place: *mut c_uint) => Always |_state| {
        check(device)?;
        put(place, 0)
    }
    fn nvmlDeviceGetMinorNumber(device: u64, place: *mut c_uint) => Always |_state| {
        check(device)?;
        put(place, 0)
    }
    fn nvmlDeviceGetName(device: u64, place: *mut c_char, bytes: c_uint) => Always |_state| {
        check(device)?;
        put_name(place, bytes, NAME)
    }
    fn nvmlDeviceGetUUID(device: u64, place: *mut c_char, bytes: c_uint) => Always |_state| {
        check(device)?;
        put_name(place, bytes, uuid().as_bytes())
    }
    fn nvmlDeviceGetPciInfo(device: u64, place: *mut Pci) => Always |_state| { put_bus(device, place) }
    fn nvmlDeviceGetPciInfo_v2(device: u64, place: *mut Pci) => Always |_state| { put_bus(device, place) }
    fn nvmlDeviceGetPciInfo_v3(device: u64, place: *mut Pci) => Always |_state| { put_bus(device, place) }

    fn nvmlDeviceGetCudaComputeCapability(device: u64, major: *mut c_int, minor: *mut c_int) => Always |state| {
        check(device)?;
        let capability = state.limits().capability;
        put(major, capability.0 as c_int)?;
        put(minor, capability.1 as c_int)
    }

    fn nvmlDeviceGetMemoryInfo(device: u64, place: *mut Memory) => Always |state| {
        check(device)?;
        let (free, total) = state.device.room();
        put(place, Memory { total, free, used: total - free })
    }
    fn nvmlDeviceGetMemoryInfo_v2(device: u64, place: *mut LaterMemory) => Always |state| {
        check(device)?;
        let (free, total) = state.device.room();
        let version = get(place)?.version;
        put(place, LaterMemory { version, total, reserved: 0, free, used: total - free })
    }

    fn nvmlDeviceGetClockInfo(device: u64, domain: c_int, place: *mut c_uint) => Always |state| {
        put(place, state.clock(device, domain)?)
    }
    fn nvmlDeviceGetMaxClockInfo(device: u64, domain: c_int, place: *mut c_uint) => Always |state| {
        put(place, state.clock(device, domain)?)
    }
    fn nvmlDeviceGetApplicationsClock(device: u64, domain: c_int, place: *mut c_uint) => Always |state| {
        put(place, state.clock(device, domain)?)
    }
    fn nvmlDeviceGetDefaultApplicationsClock(device: u64, domain: c_int, place: *mut c_uint) => Always |state| {
        put(place, state.clock(device, domain)?)
    }
    fn nvmlDeviceGetClock(device: u64, domain: c_int, _which: c_int, place: *mut c_uint) => Always |state| {
        put(place, state.clock(device, domain)?)
    }

    /// The device has one clock, which stays.
    fn nvmlDeviceSetGpuLockedClocks(device: u64, least: c_uint, most: c_uint) => Always |_state| {
        check(device)?;
        if least > most { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }
    fn nvmlDeviceResetGpuLockedClocks(device: u64) => Always |_state| { check(device) }
    fn nvmlDeviceSetApplicationsClocks(device: u64, _memory: c_uint, _graphics: c_uint) => Always |_state| { check(device) }
    fn nvmlDeviceResetApplicationsClocks(device: u64) => Always |_state| { check(device) }
    fn nvmlDeviceSetPersistenceMode(device: u64, _mode: c_int) => Always |_state| { check(device) }
    fn nvmlDeviceGetPersistenceMode(device: u64, place: *mut c_int) => Always |_state| {
        check(device)?;
        put(place, 1)
    }

    /// Nothing slows the device down.
    fn nvmlDeviceGetCurrentClocksThrottleReasons(device: u64, place: *mut u64) => Always |_state| {
        check(device)?;
        put(place, 0)
    }

    /// No time passes, of which a part could be used.
    fn nvmlDeviceGetUtilizationRates(device: u64, place: *mut [c_uint; 2]) => Always |_state| {
        check(device)?;
        put(place, [0; 2])
    }

    fn nvmlDeviceGetTemperature(_device: u64, _sensor: c_int, _place: *mut c_uint) => Always |_state| { Err(Error::NOT_SUPPORTED) }
    fn nvmlDeviceGetPowerUsage(_device: u64, _place: *mut c_uint) => Always |_state| { Err(Error::NOT_SUPPORTED) }
    fn nvmlDeviceGetTotalEnergyConsumption(_device: u64, _place: *mut u64) => Always |_state| { Err(Error::NOT_SUPPORTED) }
    fn nvmlDeviceGetPowerManagementLimit(_device: u64, _place: *mut c_uint) => Always |_state| { Err(Error::NOT_SUPPORTED) }
    fn nvmlDeviceGetFanSpeed(_device: u64, _place: *mut c_uint) => Always |_state| { Err(Error::NOT_SUPPORTED) }
    fn nvmlDeviceGetTemperatureThreshold(_device: u64, _kind: c_int, _place: *mut c_uint) => Always |_state| {
        Err(Error::NOT_SUPPORTED)
    }
}
