//! Addresses of rows and planes in memory, and the shapes of what is copied between them.

use std::ffi::c_void;

use counterpoint_cuda_capture::Region;

use crate::errors::{Error, Result};

/// Sizes of a copy: bytes of a row, and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) width: u64,
    pub(crate) rows: u64,
}

/// A place, and the bytes between its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PitchedAddress {
    pub(crate) address: u64,
    pub(crate) pitch: u64,
}

impl Shape {
    pub(crate) fn is_empty(self) -> bool {
        self.width == 0 || self.rows == 0
    }

    /// An error where its rows reach beyond all addresses.
    pub(crate) fn check(self, place: PitchedAddress) -> Result {
        let before = place.pitch.checked_mul(self.rows - 1);
        let end = before.and_then(|bytes| bytes.checked_add(self.width)?.checked_add(place.address));
        end.and(self.width.checked_mul(self.rows)).map(drop).ok_or(Error::INVALID_VALUE)
    }

    /// An error where rows are wider than the bytes between their beginnings.
    pub(crate) fn check_pitches(self, pitches: &[usize]) -> Result {
        let is_wider = pitches.iter().any(|pitch| self.width > *pitch as u64);
        match self.rows {
            _ if self.is_empty() || !is_wider => Ok(()),
            1 => Err(Error::INVALID_VALUE),
            _ => Err(Error::INVALID_PITCH),
        }
    }
}

impl PitchedAddress {
    pub(crate) fn region(self, Shape { width, rows }: Shape) -> Region {
        Region { address: self.address, width, rows, pitch: if rows > 1 { self.pitch } else { width } }
    }

    /// A place some bytes behind, if there are as many addresses.
    pub(crate) fn later(self, bytes: u64) -> Result<PitchedAddress> {
        let address = self.address.checked_add(bytes).ok_or(Error::INVALID_VALUE)?;
        Ok(PitchedAddress { address, ..self })
    }
}

/// Copies of the same shape, one after another: the first one, and bytes from each to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planes {
    pub(crate) to: PitchedAddress,
    pub(crate) from: PitchedAddress,
    pub(crate) steps: [u64; 2],
    pub(crate) count: u64,
}

impl Planes {
    pub(crate) fn one(to: PitchedAddress, from: PitchedAddress) -> Self {
        Planes { to, from, steps: [0; 2], count: 1 }
    }

    /// The places of a copy.
    pub(crate) fn places(self, index: u64) -> Result<(PitchedAddress, PitchedAddress)> {
        let bytes = |step: u64| step.checked_mul(index).ok_or(Error::INVALID_VALUE);
        Ok((self.to.later(bytes(self.steps[0])?)?, self.from.later(bytes(self.steps[1])?)?))
    }
}

/// A place without rows.
pub(crate) fn line(address: *const c_void) -> PitchedAddress {
    PitchedAddress { address: address.addr() as u64, pitch: 0 }
}

/// A place with bytes between the beginnings of its rows.
pub(crate) fn pitched(address: *const c_void, pitch: usize) -> PitchedAddress {
    PitchedAddress { address: address.addr() as u64, pitch: pitch as u64 }
}

/// The shape of bytes behind one another.
pub(crate) fn flat(bytes: usize) -> Shape {
    Shape { width: bytes as u64, rows: 1 }
}

pub(crate) fn plane(width: usize, rows: usize) -> Shape {
    Shape { width: width as u64, rows: rows as u64 }
}
