//! Textures (CUDA C Programming Guide, "Texture Fetching"; PTX ISA 9.7.10): the result of a fetch, as a pure
//! function of a description and of the texels that it asks for.
//!
//! A launch binds textures by the name of a `.texref`, or by the 64-bit handle that is the kernel's argument.
//! The filter's weights have 8 bits of fraction, as the hardware's. A texture has one level. Not here: cubes and textures of
//! samples; a fetch of such a form is refused when the text is decoded.

use std::collections::BTreeMap;

use super::surface::Surfaces;

/// The texels beyond the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The texture again. As in CUDA, only for normalised coordinates; else the same as `Clamp`.
    Wrap,
}

/// The format of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the types")]
pub enum Channel {
    F32,
    U32,
    S32,
    U16,
    S16,
    U8,
    S8,
}

impl Channel {
    /// Bytes of a channel.
    pub fn bytes(self) -> usize {
        match self {
            Channel::F32 | Channel::U32 | Channel::S32 => 4,
            Channel::U16 | Channel::S16 => 2,
            Channel::U8 | Channel::S8 => 1,
        }
    }
}

/// A texture: texels and how they are fetched.
#[derive(Clone, Debug, Hash)]
pub struct Texture {
    /// Texels in x, y and z; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// Textures of this size, one behind the other, for a texture that is an array of them.
    pub layers: Option<u32>,
    /// Channels of a texel: 1, 2 or 4.
    pub channels: u32,
    /// Their type.
    pub channel: Channel,
    /// Integers of 8 or 16 bits are read as fractions: 0 to 1, or -1 to 1 if they have a sign.
    pub fractions: bool,
    /// Interpolates between texels; only textures that are read as floats can be.
    pub linear: bool,
    /// Coordinates run from 0 to 1 instead of to the size.
    pub normalized: bool,
    /// The texels beyond the edge in x, y and z.
    pub address: [AddressMode; 3],
    /// Address of the texels in device memory: x fastest, channels of a texel together, little endian.
    pub texels: u64,
}

/// The value of a channel in memory, little endian; of none, zero.
pub fn channel_of(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// The textures and surfaces of a launch.
#[derive(Clone, Debug, Default, Hash)]
pub struct Textures {
    /// By the name of the `.texref`.
    pub references: BTreeMap<String, Texture>,
    /// By handle.
    pub objects: BTreeMap<u64, Texture>,
    /// Its surfaces.
    pub surfaces: Surfaces,
}

impl Texture {
    /// Whether a fetch gives floats.
    pub fn gives_floats(&self) -> bool {
        self.channel == Channel::F32 || (self.fractions && self.channel.bytes() < 4)
    }

    /// Bytes of all texels.
    pub fn bytes(&self) -> u64 {
        self.layer_bytes() * u64::from(self.layers.unwrap_or(1))
    }

    /// Bytes of a layer's texels.
    fn layer_bytes(&self) -> u64 {
        let texels: u64 = self.size.iter().map(|&size| u64::from(size)).product();
        texels * u64::from(self.channels) * self.channel.bytes() as u64
    }

    /// A layer as a texture of its own.
    pub fn layer(&self, index: u32) -> Option<Texture> {
        let texels = self.texels + u64::from(index) * self.layer_bytes();
        (index < self.layers?).then(|| Texture { layers: None, texels, ..self.clone() })
    }

    /// The four channels at float coordinates, as bits; channels absent from the texture are 0, 0 and 1.
    /// `read` gives that many bytes at an address; the addresses that it is asked for do not depend on its
    /// results.
    pub fn fetch(&self, coordinates: [f32; 3], read: &mut impl FnMut(u64, usize) -> u32) -> [u32; 4] {
        let scaled = self.all_scaled(coordinates);
        if !(self.linear && self.gives_floats()) {
            return self.texel(std::array::from_fn(|axis| self.inside(scaled[axis].floor(), axis)), read);
        }
        let lower = scaled.map(|x| (x - 0.5).floor());
        let weights: [f32; 3] = std::array::from_fn(|axis| {
            ((scaled[axis] - 0.5 - lower[axis]) * 256.0).round_ties_even() / 256.0
        });
        let mut sum = [0.0f32; 4];
        for corner in 0..8 {
            let upper = |axis: usize| corner >> axis & 1 != 0;
            if (0..3).any(|axis| upper(axis) && self.size[axis] == 1) {
                continue;
            }
            let weight: f32 = (0..3)
                .filter(|axis| self.size[*axis] > 1)
                .map(|axis| if upper(axis) { weights[axis] } else { 1.0 - weights[axis] })
                .product();
            let place = |axis: usize| self.inside(lower[axis] + f32::from(u8::from(upper(axis))), axis);
            let texel = self.texel(std::array::from_fn(place), read).map(f32::from_bits);
            // A weight of zero must not make a NaN of an infinite texel.
            if weight > 0.0 {
                for (sum, value) in sum.iter_mut().zip(texel) {
                    *sum += weight * value;
                }
            }
        }
        sum.map(f32::to_bits)
    }

    /// A channel of the four texels between which the filter of a plane interpolates, counter-clockwise from the lower left, y being
    /// upward: (0, 1), (1, 1), (1, 0) and (0, 0). `read` as for [`fetch`](Self::fetch).
    pub fn gather(
        &self,
        channel: usize,
        coordinates: [f32; 3],
        read: &mut impl FnMut(u64, usize) -> u32,
    ) -> [u32; 4] {
        let lower = self.all_scaled(coordinates).map(|x| (x - 0.5).floor());
        [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]].map(|[x, y]| {
            let place = [self.inside(lower[0] + x, 0), self.inside(lower[1] + y, 1), 0];
            self.texel(place, read)[channel]
        })
    }

    /// The four channels of a texel by its integer coordinates; outside of the texture, zeros. `read` as for
    /// [`fetch`](Self::fetch).
    pub fn fetch_at(&self, coordinates: [i32; 3], read: &mut impl FnMut(u64, usize) -> u32) -> [u32; 4] {
        let mut place = [0; 3];
        for axis in 0..3 {
            match u32::try_from(coordinates[axis]) {
                Ok(at) if at < self.size[axis] => place[axis] = at,
                _ => return [0; 4],
            }
        }
        self.texel(place, read)
    }

    fn all_scaled(&self, coordinates: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|axis| self.scaled(coordinates[axis], axis))
    }

    /// A coordinate in texels.
    fn scaled(&self, x: f32, axis: usize) -> f32 {
        if !self.normalized {
            return x;
        }
        let x = if self.address[axis] == AddressMode::Wrap { x - x.floor() } else { x };
        x * self.size[axis] as f32
    }

    /// The texel of a whole coordinate, which may lie beyond an edge.
    fn inside(&self, x: f32, axis: usize) -> u32 {
        let size = i64::from(self.size[axis].max(1));
        // Rust's conversion saturates, and makes 0 of NaN.
        let index = x as i64;
        let wraps = self.normalized && self.address[axis] == AddressMode::Wrap;
        (if wraps { index.rem_euclid(size) } else { index.clamp(0, size - 1) }) as u32
    }

    fn texel(&self, place: [u32; 3], read: &mut impl FnMut(u64, usize) -> u32) -> [u32; 4] {
        let ([width, height, _], [x, y, z]) = (self.size.map(u64::from), place.map(u64::from));
        let bytes = self.channel.bytes() as u64;
        let start = self.texels + (x + width * (y + height * z)) * bytes * u64::from(self.channels);
        let one = if self.gives_floats() { 1f32.to_bits() } else { 1 };
        let mut channels = [0, 0, 0, one];
        for (number, channel) in channels.iter_mut().enumerate().take(self.channels as usize) {
            *channel = self.value(read(start + number as u64 * bytes, bytes as usize));
        }
        channels
    }

    fn value(&self, raw: u32) -> u32 {
        let signed = match self.channel {
            Channel::S16 => raw as u16 as i16 as i32,
            Channel::S8 => raw as u8 as i8 as i32,
            _ => raw as i32,
        };
        let most = match self.channel {
            Channel::U16 => 65535.0,
            Channel::S16 => 32767.0,
            Channel::U8 => 255.0,
            Channel::S8 => 127.0,
            _ => return raw,
        };
        if self.fractions { (signed as f32 / most).max(-1.0).to_bits() } else { signed as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address of the texels.
    const BASE: u64 = 4096;

    /// Every texel is its own number.
    fn ramp(size: [u32; 3], linear: bool, normalized: bool, mode: AddressMode) -> Texture {
        Texture {
            size,
            layers: None,
            channels: 1,
            channel: Channel::F32,
            fractions: false,
            linear,
            normalized,
            address: [mode; 3],
            texels: BASE,
        }
    }

    fn numbers(address: u64, _: usize) -> u32 {
        (((address - BASE) / 4) as f32).to_bits()
    }

    fn at(texture: &Texture, coordinates: [f32; 3]) -> f32 {
        f32::from_bits(texture.fetch(coordinates, &mut numbers)[0])
    }

    #[test]
    fn points() {
        let clamp = ramp([4, 1, 1], false, false, AddressMode::Clamp);
        let found = [-1.0, 0.0, 0.99, 1.0, 3.5, 9.0, f32::NAN].map(|x| at(&clamp, [x, 0.0, 0.0]));
        assert_eq!(found, [0.0, 0.0, 0.0, 1.0, 3.0, 3.0, 0.0]);
        let wrap = ramp([4, 1, 1], false, true, AddressMode::Wrap);
        let found = [-0.25, 0.0, 0.5, 1.0, 1.3, -3.9].map(|x| at(&wrap, [x, 0.0, 0.0]));
        assert_eq!(found, [3.0, 0.0, 2.0, 0.0, 1.0, 0.0]);
        // Without normalised coordinates there is no wrapping.
        let unwrapped = ramp([4, 1, 1], false, false, AddressMode::Wrap);
        assert_eq!(at(&unwrapped, [5.0, 0.0, 0.0]), 3.0);
        assert_eq!(clamp.fetch([2.0, 0.0, 0.0], &mut numbers)[1..], [0, 0, 1f32.to_bits()]);
    }

    #[test]
    fn interpolation_has_eight_bits_of_fraction() {
        let line = ramp([4, 1, 1], true, false, AddressMode::Clamp);
        let found = [0.5, 1.0, 1.25, 0.0, 4.0, 1.5 + 1.0 / 1024.0].map(|x| at(&line, [x, 0.0, 0.0]));
        assert_eq!(found, [0.0, 0.5, 0.75, 0.0, 3.0, 1.0]);
        let ring = ramp([4, 1, 1], true, true, AddressMode::Wrap);
        assert_eq!(at(&ring, [0.0, 0.0, 0.0]), 1.5, "between the last and the first");
        let plane = ramp([4, 2, 1], true, false, AddressMode::Clamp);
        assert_eq!(at(&plane, [2.0, 1.0, 0.0]), (1.0 + 2.0 + 5.0 + 6.0) / 4.0);
        let block = ramp([2, 2, 2], true, true, AddressMode::Clamp);
        assert_eq!(at(&block, [0.5, 0.5, 0.5]), 3.5);
    }

    #[test]
    fn integers_fractions_and_texels_by_number() {
        let mut texels = |address: u64, _: usize| u32::from([0u8, 127, 128, 255][(address - BASE) as usize]);
        let base = ramp([4, 1, 1], false, false, AddressMode::Clamp);
        let bytes = Texture { channel: Channel::S8, ..base.clone() };
        assert_eq!(bytes.fetch_at([2, 0, 0], &mut texels)[0], (-128i32) as u32);
        assert_eq!(bytes.fetch_at([4, 0, 0], &mut texels), [0; 4]);
        assert_eq!(bytes.fetch_at([-1, 0, 0], &mut texels), [0; 4]);
        let signed = Texture { fractions: true, ..bytes.clone() };
        let found = [1.0, 2.0].map(|x| f32::from_bits(signed.fetch([x, 0.0, 0.0], &mut texels)[0]));
        assert_eq!((found, signed.bytes()), ([1.0, -1.0], 4));
        let pairs = Texture { channel: Channel::U8, channels: 2, size: [2, 1, 1], fractions: true, ..base };
        let found = pairs.fetch([1.0, 0.0, 0.0], &mut texels).map(f32::from_bits);
        assert_eq!(found, [128.0 / 255.0, 1.0, 0.0, 1.0]);
    }
}
