//! Arrays that a program has made: texels in device memory.

use std::ffi::{c_int, c_uint};

use counterpoint_ptx::texture::Channel;

use crate::errors::{Error, Result};
use crate::foreign::plain;
use crate::pitched::PitchedAddress;
use crate::words::{Argument, Words};

/// Sizes in bytes, or elements of an array, in rows and in planes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) depth: usize,
}

impl Extent {
    pub(crate) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

/// Bits of each channel, and the kind of their numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChannelDescription {
    pub(crate) bits: [c_int; 4],
    pub(crate) kind: c_int,
}

/// Kinds of numbers: with a sign, without, with a fraction.
pub(crate) const SIGNED: c_int = 0;
pub(crate) const UNSIGNED: c_int = 1;
pub(crate) const FLOAT: c_int = 2;

impl ChannelDescription {
    /// The type of a channel, and the number of channels.
    pub(crate) fn channels(self) -> Option<(Channel, u32)> {
        let count = self.bits.iter().take_while(|bits| **bits != 0).count();
        let alike = self.bits[..count].iter().all(|bits| *bits == self.bits[0]);
        let channel = match (self.kind, self.bits[0]) {
            (FLOAT, 32) => Channel::F32,
            (SIGNED, 32) => Channel::S32,
            (SIGNED, 16) => Channel::S16,
            (SIGNED, 8) => Channel::S8,
            (UNSIGNED, 32) => Channel::U32,
            (UNSIGNED, 16) => Channel::U16,
            (UNSIGNED, 8) => Channel::U8,
            _ => return None,
        };
        (alike && matches!(count, 1 | 2 | 4)).then_some((channel, count as u32))
    }

    /// Bytes of a texel.
    pub(crate) fn bytes(self) -> u64 {
        self.bits.iter().map(|bits| (*bits).max(0) as u64 / 8).sum()
    }
}

/// Flags of arrays: the third dimension is one of layers; surfaces write it; six layers are a cube; gathers read it.
pub(crate) const LAYERED: c_uint = 1;
pub(crate) const SURFACE: c_uint = 2;
pub(crate) const CUBE: c_uint = 4;
pub(crate) const GATHER: c_uint = 8;
/// Texels in device memory, x fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Array {
    pub(crate) address: u64,
    pub(crate) description: ChannelDescription,
    /// Texels in x, y and z; 1 where it has no such dimension.
    pub(crate) size: [u32; 3],
    pub(crate) layers: Option<u32>,
    /// Size and flags of the array as the program gave them.
    pub(crate) extent: Extent,
    pub(crate) flags: c_uint,
}

impl Array {
    /// Number of dimensions, without that of layers.
    pub(crate) fn dimensions(&self) -> usize {
        match self.extent {
            Extent { depth: 1.., .. } if self.layers.is_none() => 3,
            Extent { height: 0, .. } => 1,
            _ => 2,
        }
    }

    pub(crate) fn is_for_surfaces(&self) -> bool {
        self.flags & SURFACE != 0
    }

    pub(crate) fn row(&self) -> u64 {
        u64::from(self.size[0]) * self.description.bytes()
    }

    /// A place in it, by bytes and rows.
    pub(crate) fn place(&self, x: usize, y: usize) -> Result<PitchedAddress> {
        let before = (y as u64).checked_mul(self.row()).and_then(|bytes| bytes.checked_add(x as u64));
        let first = PitchedAddress { address: self.address, pitch: self.row() };
        first.later(before.ok_or(Error::INVALID_VALUE)?)
    }

    /// A place in it by texels, rows and planes, if a block of this size is within it; and the bytes from a plane to the next.
    pub(crate) fn block(&self, at: Extent, block: Extent) -> Result<(PitchedAddress, u64)> {
        let [width, height, depth] = self.size.map(|size| size as usize);
        let fits = |at: usize, count: usize, size| at.checked_add(count).is_some_and(|end| end <= size);
        let planes = depth.max(self.layers.unwrap_or(1) as usize);
        if !(fits(at.width, block.width, width)
            && fits(at.height, block.height, height)
            && fits(at.depth, block.depth, planes))
        {
            return Err(Error::INVALID_VALUE);
        }
        let plane = self.row() * height as u64;
        let x = at.width as u64 * self.description.bytes();
        let address = self.address + at.depth as u64 * plane + at.height as u64 * self.row() + x;
        Ok((PitchedAddress { address, pitch: self.row() }, plane))
    }
}

plain!(Extent, ChannelDescription);

impl Argument for Extent {
    fn take(words: &mut Words) -> Result<Self> {
        let [width, height, depth] = words.many::<3>()?.map(|word| word as usize);
        Ok(Extent { width, height, depth })
    }
}
