//! Variables of the program's device code.

use std::ffi::c_void;

use super::copies::{DEFAULT, Kind, ON_DEVICE, TO_DEVICE, TO_HOST};
use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::made::Stream;
use crate::modules::Placed;
use crate::pitched::{PitchedAddress, flat, line};
use crate::state::State;

impl State {
    fn symbol(&mut self, host: *const c_void) -> Result<Placed> {
        let variable = self.modules.host_variable(host.addr())?;
        self.load(variable.binary)?;
        let module = self.modules.module(variable.binary).ok_or(Error::NO_KERNEL_IMAGE)?;
        module.variable(&variable.name).ok_or(Error::INVALID_SYMBOL)
    }

    /// The part of a variable that a copy touches.
    pub(super) fn part(
        &mut self,
        host: *const c_void,
        bytes: usize,
        offset: usize,
    ) -> Result<PitchedAddress> {
        let Placed { address, bytes: all } = self.symbol(host)?;
        let end = (offset as u64).checked_add(bytes as u64);
        match end {
            Some(end) if end <= all => Ok(PitchedAddress { address: address + offset as u64, pitch: 0 }),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// Checks that a direction is one to a variable, or one from it.
fn check_kind(kind: Kind, one: Kind) -> Result {
    if [one, ON_DEVICE, DEFAULT].contains(&kind) { Ok(()) } else { Err(Error::INVALID_MEMCPY_DIRECTION) }
}

entries! {
    fn cudaMemcpyToSymbol(symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: Kind) |state| {
        let (to, stream) = (state.part(symbol, bytes, offset)?, state.default_stream());
        check_kind(kind, TO_DEVICE)?;
        state.copy((to, line(from)), flat(bytes), kind, stream, true)
    }

    fn cudaMemcpyFromSymbol(to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: Kind) |state| {
        let (from, stream) = (state.part(symbol, bytes, offset)?, state.default_stream());
        check_kind(kind, TO_HOST)?;
        state.copy((line(to), from), flat(bytes), kind, stream, true)
    }

    fn cudaMemcpyToSymbolAsync(
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: Kind, stream: Stream,
    ) |state| {
        let (to, stream) = (state.part(symbol, bytes, offset)?, state.stream(stream)?);
        check_kind(kind, TO_DEVICE)?;
        state.copy((to, line(from)), flat(bytes), kind, stream, false)
    }

    fn cudaMemcpyFromSymbolAsync(
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: Kind, stream: Stream,
    ) |state| {
        let (from, stream) = (state.part(symbol, bytes, offset)?, state.stream(stream)?);
        check_kind(kind, TO_HOST)?;
        state.copy((line(to), from), flat(bytes), kind, stream, false)
    }

    fn cudaGetSymbolAddress(address: *mut u64, symbol: *const c_void) |state| {
        put(address, state.symbol(symbol)?.address)
    }

    fn cudaGetSymbolSize(bytes: *mut usize, symbol: *const c_void) |state| {
        put(bytes, state.symbol(symbol)?.bytes as usize)
    }
}
