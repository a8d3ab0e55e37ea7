//! Properties of the device: attributes by number, and the structure that holds them, whose form depends on the version of CUDA.

use std::ffi::{c_char, c_int};

use crate::errors::{Error, Result};
use crate::limits::Limits;
use crate::settings::version;
use crate::state::State;

/// Bytes of the structure up to CUDA 11, in 12, and from 13 on.
const SIZES: [usize; 3] = [728, 1032, 1008];
pub(super) const NAME: &[u8] = b"Counterpoint functional device";

/// Numbers of attributes that CUDA 13.0 has.
const ATTRIBUTES: std::ops::RangeInclusive<c_int> = 1..=147;

/// A property: the number of its attribute, its offsets in the structure before CUDA 13 and since, and its size in bytes. Offset 0 means
/// that the structure lacks the property.
struct Property {
    attribute: c_int,
    offsets: [usize; 2],
    bytes: usize,
    value: fn(&Device) -> u64,
}

/// The values on which properties depend.
struct Device {
    limits: Limits,
    sms: u32,
    memory: u64,
}

const fn property(
    attribute: c_int,
    offsets: [usize; 2],
    bytes: usize,
    value: fn(&Device) -> u64,
) -> Property {
    Property { attribute, offsets, bytes, value }
}

/// Offsets after `driver_types.h` of CUDA 11.8, 12.9 and 13.0. What is not here is 0.
static PROPERTIES: &[Property] = &[
    property(0, [288, 288], 8, |device| device.memory),
    property(8, [296, 296], 8, |device| device.limits.shared_of_block),
    property(12, [304, 304], 4, |device| device.limits.registers_of_sm.min(65536).into()),
    property(10, [308, 308], 4, |_| 32),
    property(11, [312, 312], 8, |_| i32::MAX as u64),
    property(1, [320, 320], 4, |_| 1024),
    property(2, [324, 324], 4, |_| 1024),
    property(3, [328, 328], 4, |_| 1024),
    property(4, [332, 332], 4, |_| 64),
    property(5, [336, 336], 4, |_| i32::MAX as u64),
    property(6, [340, 340], 4, |_| 65535),
    property(7, [344, 344], 4, |_| 65535),
    // Kilohertz; a program that divides by it must not divide by 0.
    property(13, [348, 0], 4, |_| 1_000_000),
    property(9, [352, 352], 8, |_| 65536),
    property(75, [360, 360], 4, |device| device.limits.capability.0.into()),
    property(76, [364, 364], 4, |device| device.limits.capability.1.into()),
    property(14, [368, 368], 8, |_| 512),
    property(51, [376, 376], 8, |_| 32),
    property(15, [384, 0], 4, |_| 1),
    property(16, [388, 384], 4, |device| device.sms.into()),
    property(19, [400, 392], 4, |_| 1),
    property(21, [408, 396], 4, |_| 131_072),
    property(22, [420, 404], 4, |_| 131_072),
    property(23, [424, 408], 4, |_| 65536),
    property(24, [456, 440], 4, |_| 16384),
    property(25, [460, 444], 4, |_| 16384),
    property(26, [464, 448], 4, |_| 16384),
    property(31, [576, 560], 4, |_| 1),
    property(40, [600, 584], 4, |_| 2),
    property(41, [604, 588], 4, |_| 1),
    property(36, [608, 0], 4, |_| 1_000_000),
    property(37, [612, 592], 4, |_| 256),
    property(38, [616, 596], 4, |_| 1 << 20),
    property(108, [620, 600], 4, |device| device.limits.persisting_bytes()),
    property(39, [624, 604], 4, |device| device.limits.threads_of_sm.into()),
    property(78, [628, 608], 4, |_| 0),
    property(81, [640, 624], 8, |device| device.limits.shared_of_sm),
    property(82, [648, 632], 4, |device| device.limits.registers_of_sm.into()),
    property(83, [652, 636], 4, |_| 1),
    // Half of the single precision's rate, as on cards for computing.
    property(87, [668, 0], 4, |_| 2),
    property(95, [688, 668], 4, |_| 1),
    property(97, [696, 672], 8, |device| device.limits.shared_of_block_at_most),
    property(106, [712, 688], 4, |device| device.limits.blocks_of_sm.into()),
    property(109, [716, 692], 4, |device| if device.limits.capability.0 >= 8 { 1 << 27 } else { 0 }),
    // Memory of the host for copies, virtual memory, and pools of memory.
    property(99, [0, 704], 4, |_| 1),
    property(102, [0, 0], 4, |_| 1),
    property(115, [0, 720], 4, |_| 1),
];

impl State {
    fn properties(&self) -> Device {
        Device { limits: self.limits(), sms: self.settings.sms, memory: self.settings.memory }
    }

    /// The value of an attribute, 0 for those that are not in the table.
    ///
    /// # Errors
    /// There is no such attribute.
    pub(super) fn attribute(&self, number: c_int) -> Result<c_int> {
        if !ATTRIBUTES.contains(&number) {
            return Err(Error::INVALID_VALUE);
        }
        let device = self.properties();
        let found = PROPERTIES.iter().find(|property| property.attribute == number);
        Ok(found.map_or(0, |property| (property.value)(&device).min(i32::MAX as u64) as c_int))
    }

    /// The structure in the form of a version of CUDA.
    pub(super) fn structure(&self, form: usize) -> Vec<u8> {
        let device = self.properties();
        let mut bytes = vec![0; SIZES[form]];
        bytes[..NAME.len()].copy_from_slice(NAME);
        for Property { offsets, bytes: width, value, .. } in PROPERTIES {
            let at = offsets[usize::from(form == 2)];
            if at != 0 {
                bytes[at..at + width].copy_from_slice(&value(&device).to_le_bytes()[..*width]);
            }
        }
        bytes
    }
}

/// Puts the structure of a form where the program wants it.
fn put_structure(state: &State, place: *mut c_char, device: c_int, form: usize) -> Result {
    if device != 0 {
        return Err(Error::INVALID_DEVICE);
    }
    crate::foreign::write(place.addr() as u64, &state.structure(form))
}

super::entries! {
    /// Before CUDA 12 the first form, since CUDA 13 the last.
    fn cudaGetDeviceProperties(place: *mut c_char, device: c_int) |state| {
        let form = if version() < 13 { 0 } else { 2 };
        put_structure(state, place, device, form)
    }

    fn cudaGetDeviceProperties_v2(place: *mut c_char, device: c_int) |state| { put_structure(state, place, device, 1) }
}
