//! Managed memory: allocated, and what a program says of its use, which changes no value and takes no time here.

use std::ffi::{c_int, c_uint};

use super::devices::check_device;
use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::made::Stream;
use crate::settings::version;
use crate::state::State;
use crate::words::{Argument, Words};

/// The streams that may use memory: all, none until it is attached to one, and one.
const GLOBAL: c_uint = 1;
const HOST: c_uint = 2;
const SINGLE: c_uint = 4;

/// Advice: that memory is mostly read, where it should be, and who uses it; each is given, and taken back.
const ADVICE: std::ops::RangeInclusive<c_int> = 1..=6;
/// Advice that needs no location.
const MOSTLY_READ: std::ops::RangeInclusive<c_int> = 1..=2;
const NO_PLACE_PREFERRED: c_int = 4;

/// Kinds of places: a device, and the host or one of its memories.
const DEVICE: u32 = 1;
const HOSTS: std::ops::RangeInclusive<u32> = 2..=4;
/// The number of the host where places are numbers of devices, which they are up to CUDA 12.
const CPU: c_int = -1;

/// A place of memory.
#[derive(Clone, Copy)]
pub(super) enum Location {
    Host,
    Device(c_int),
    None,
}

impl Location {
    /// A structure of its kind and its number, which a word holds.
    fn packed(word: u64) -> Self {
        match word as u32 {
            DEVICE => Location::Device((word >> 32) as c_int),
            kind if HOSTS.contains(&kind) => Location::Host,
            _ => Location::None,
        }
    }

    pub(super) fn of(device: c_int) -> Self {
        if device == CPU { Location::Host } else { Location::Device(device) }
    }

    fn check(self) -> Result {
        match self {
            Location::Host => Ok(()),
            Location::Device(device) => check_device(device),
            Location::None => Err(Error::INVALID_VALUE),
        }
    }
}

impl Argument for Location {
    fn take(words: &mut Words) -> Result<Self> {
        u64::take(words).map(Location::packed)
    }
}

impl State {
    fn check_managed(&self, address: u64, bytes: usize) -> Result {
        let is_there = self.shared.is_managed(address) && self.shared.holds(address, bytes as u64);
        if is_there && bytes > 0 { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    pub(super) fn advise(&self, address: u64, bytes: usize, advice: c_int, location: Location) -> Result {
        self.check_managed(address, bytes)?;
        if !ADVICE.contains(&advice) {
            return Err(Error::INVALID_VALUE);
        }
        if MOSTLY_READ.contains(&advice) || advice == NO_PLACE_PREFERRED {
            return Ok(());
        }
        location.check().map_err(|_| Error::INVALID_VALUE)
    }

    pub(super) fn prefetch(
        &mut self,
        address: u64,
        bytes: usize,
        location: Location,
        flags: c_uint,
        stream: Stream,
    ) -> Result {
        self.check_managed(address, bytes)?;
        location.check()?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        self.stream(stream).map(drop)
    }
}

entries! {
    fn cudaMallocManaged(address: *mut u64, bytes: usize, flags: c_uint) |state| {
        if flags != GLOBAL && flags != HOST {
            return Err(Error::INVALID_VALUE);
        }
        put(address, state.allocate_managed(bytes as u64)?)
    }

    /// Up to CUDA 12 with a device, since then with a place and flags.
    fn cudaMemPrefetchAsync(address: u64, bytes: usize, place: u64, third: u64, fourth: Stream) |state| {
        if version() >= 13 {
            let location = Location::packed(place);
            return state.prefetch(address, bytes, location, third as c_uint, fourth);
        }
        let stream = std::ptr::without_provenance_mut(third as usize);
        state.prefetch(address, bytes, Location::of(place as c_int), 0, stream)
    }

    fn cudaMemPrefetchAsync_v2(address: u64, bytes: usize, location: Location, flags: c_uint, stream: Stream) |state| {
        state.prefetch(address, bytes, location, flags, stream)
    }

    /// Advice on managed memory, with the location packed in one word from CUDA 13 on.
    fn cudaMemAdvise(address: u64, bytes: usize, advice: c_int, place: u64) |state| {
        let location = if version() >= 13 { Location::packed(place) } else { Location::of(place as c_int) };
        state.advise(address, bytes, advice, location)
    }

    fn cudaMemAdvise_v2(address: u64, bytes: usize, advice: c_int, location: Location) |state| {
        state.advise(address, bytes, advice, location)
    }

    /// Memory that a stream alone uses for a while: the device has all of it copied anyway.
    fn cudaStreamAttachMemAsync(stream: Stream, address: u64, bytes: usize, flags: c_uint) |state| {
        state.stream(stream)?;
        let is_there = state.shared.is_managed(address) && state.shared.holds(address, bytes as u64);
        if is_there && [GLOBAL, HOST, SINGLE].contains(&flags) { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }
}
