//! Textures (CUDA C Programming Guide, "Texture Fetching"; PTX ISA 9.7.10): the result of a fetch, as a pure
//! function of a description and of the texels that it reads.
//!
//! A launch binds textures by the name of a `.texref`, or by the 64-bit handle that is the kernel's argument.
//! The filter's weights have 8 bits of fraction, as the hardware's. A texture has one level. A cube is a texture of six layers, its
//! faces, and the filter does not reach from one face into another. Multisampled textures are not supported; a fetch of this form is
//! refused when the text is decoded.

use std::collections::BTreeMap;

use super::surface::Surfaces;

/// The texels beyond the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The texture repeated. As in CUDA, only for normalised coordinates; else the same as `Clamp`.
    Wrap,
    /// The texture mirrored. Also only for normalised coordinates.
    Mirror,
    /// No texel: the values are zero.
    Border,
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
    /// Bytes from the beginning of a row to that of the next; those of a row's texels if there is none.
    pub pitch: Option<u64>,
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
    /// Surfaces of the textures.
    pub surfaces: Surfaces,
}

impl Texture {
    /// Whether a fetch gives floats.
    pub fn gives_floats(&self) -> bool {
        self.channel == Channel::F32 || (self.fractions && self.channel.bytes() < 4)
    }

    /// Bytes of all texels.
    pub fn bytes(&self) -> u64 {
        // The last row has nothing behind it.
        let behind = self.row_bytes().saturating_sub(u64::from(self.size[0]) * self.texel_bytes());
        self.layer_bytes() * u64::from(self.layers.unwrap_or(1)) - behind
    }

    /// Bytes of a texel.
    pub fn texel_bytes(&self) -> u64 {
        u64::from(self.channels) * self.channel.bytes() as u64
    }

    fn row_bytes(&self) -> u64 {
        self.pitch.unwrap_or(u64::from(self.size[0]) * self.texel_bytes())
    }

    fn layer_bytes(&self) -> u64 {
        self.row_bytes() * u64::from(self.size[1]) * u64::from(self.size[2])
    }

    /// A layer as a texture of its own.
    pub fn layer(&self, index: u32) -> Option<Texture> {
        let texels = self.texels + u64::from(index) * self.layer_bytes();
        (index < self.layers?).then(|| Texture { layers: None, texels, ..self.clone() })
    }

    /// The coordinates of a direction on the face of a cube that it meets: x and y of the face, from 0 to 1, and the face's number
    /// (CUDA C Programming Guide, "Cubemap Textures"). The face belongs to the axis of the largest component; where two are equal,
    /// to the later axis.
    pub fn on_cube(direction: [f32; 3]) -> ([f32; 3], u32) {
        let [x, y, z] = direction;
        let [width, height, depth] = direction.map(f32::abs);
        let (face, most, s, t) = match (width > height && width > depth, height > depth) {
            (true, _) => (0, x, if x < 0.0 { z } else { -z }, -y),
            (_, true) => (2, y, x, if y < 0.0 { -z } else { z }),
            _ => (4, z, if z < 0.0 { -x } else { x }, -y),
        };
        let [s, t] = [s, t].map(|at| (at / most.abs() + 1.0) / 2.0);
        ([s, t, 0.0], face + u32::from(most < 0.0))
    }

    /// The four channels at float coordinates, as bits; channels absent from the texture are 0, 0 and 1.
    /// `read` gives a number of bytes at an address; the addresses do not depend on its results.
    pub fn fetch(&self, coordinates: [f32; 3], read: &mut impl FnMut(u64, usize) -> u32) -> [u32; 4] {
        let scaled = self.all_scaled(coordinates);
        if !(self.linear && self.gives_floats()) {
            return self.texel(self.place(scaled.map(f32::floor)), read);
        }
        // There is no interpolation along an axis of one texel.
        let lower: [f32; 3] = std::array::from_fn(|axis| {
            let middle = if self.size[axis] > 1 { 0.5 } else { 0.0 };
            (scaled[axis] - middle).floor()
        });
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
            let place = std::array::from_fn(|axis| lower[axis] + f32::from(u8::from(upper(axis))));
            let texel = self.texel(self.place(place), read).map(f32::from_bits);
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
        [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
            .map(|[x, y]| self.texel(self.place([lower[0] + x, lower[1] + y, 0.0]), read)[channel])
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
        self.texel(Some(place), read)
    }

    fn all_scaled(&self, coordinates: [f32; 3]) -> [f32; 3] {
        std::array::from_fn(|axis| self.scaled(coordinates[axis], axis))
    }

    /// A coordinate in texels.
    fn scaled(&self, x: f32, axis: usize) -> f32 {
        if !self.normalized {
            return x;
        }
        let fraction = x - x.floor();
        let x = match self.address[axis] {
            AddressMode::Wrap => fraction,
            AddressMode::Mirror if x.floor().rem_euclid(2.0) == 1.0 => 1.0 - fraction,
            AddressMode::Mirror => fraction,
            AddressMode::Clamp | AddressMode::Border => x,
        };
        x * self.size[axis] as f32
    }

    /// The texel at whole coordinates, which may be beyond an edge; `None` if there is no texel.
    fn place(&self, coordinates: [f32; 3]) -> Option<[u32; 3]> {
        let mut place = [0; 3];
        for axis in 0..3 {
            let size = i64::from(self.size[axis].max(1));
            // Rust's conversion saturates, and makes 0 of NaN.
            let index = coordinates[axis] as i64;
            place[axis] = match self.address[axis] {
                AddressMode::Wrap if self.normalized => index.rem_euclid(size),
                AddressMode::Border if !(0..size).contains(&index) => return None,
                // In a mirrored texture only half a texel of the filter is beyond the edge, and its image is the texel at the
                // edge.
                _ => index.clamp(0, size - 1),
            } as u32;
        }
        Some(place)
    }

    fn texel(&self, place: Option<[u32; 3]>, read: &mut impl FnMut(u64, usize) -> u32) -> [u32; 4] {
        let one = if self.gives_floats() { 1f32.to_bits() } else { 1 };
        let mut channels = [0, 0, 0, one];
        let Some(place) = place else {
            channels[..self.channels as usize].fill(0);
            return channels;
        };
        let [x, y, z] = place.map(u64::from);
        let bytes = self.channel.bytes() as u64;
        let start =
            self.texels + x * self.texel_bytes() + self.row_bytes() * (y + u64::from(self.size[1]) * z);
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
            pitch: None,
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
    fn edges_mirror_or_have_nothing_behind_them() {
        // The guide: x becomes its fraction where its floor is even, else 1 less the fraction; then the texel is the floor.
        let mirror = ramp([4, 1, 1], false, true, AddressMode::Mirror);
        let found = [-0.2, 0.0, 0.3, 0.99, 1.0, 1.2, 1.9, 2.1, -1.2].map(|x| at(&mirror, [x, 0.0, 0.0]));
        assert_eq!(found, [0.0, 0.0, 1.0, 3.0, 3.0, 3.0, 0.0, 0.0, 3.0]);
        let line = ramp([4, 1, 1], true, true, AddressMode::Mirror);
        let found = [0.0, 0.25, 1.0, 1.25, 2.0, -0.25].map(|x| at(&line, [x, 0.0, 0.0]));
        assert_eq!(found, [0.0, 0.5, 3.0, 2.5, 0.0, 0.5]);
        let plane = ramp([4, 2, 1], false, false, AddressMode::Border);
        let found = [[1.0, 1.0], [4.0, 1.0], [-0.1, 1.0], [1.0, 2.0]].map(|[x, y]| at(&plane, [x, y, 0.0]));
        assert_eq!(found, [5.0, 0.0, 0.0, 0.0]);
        let smooth = Texture { linear: true, ..plane.clone() };
        assert_eq!(at(&smooth, [4.0, 1.5, 0.0]), 3.5, "half of the last texel");
        assert_eq!(at(&Texture { size: [8, 1, 1], ..smooth.clone() }, [7.0, 0.0, 0.0]), 6.5, "a line");
        assert_eq!(plane.fetch([-1.0; 3], &mut numbers), [0, 0, 0, 1f32.to_bits()]);
        let four = Texture { channels: 4, size: [1, 1, 1], ..plane };
        assert_eq!(four.fetch([-1.0; 3], &mut numbers), [0; 4]);
    }

    #[test]
    fn rows_may_have_bytes_between_them() {
        let rows = Texture { pitch: Some(32), ..ramp([4, 3, 1], false, false, AddressMode::Clamp) };
        assert_eq!((at(&rows, [3.0, 2.0, 0.0]), rows.bytes()), (8.0 * 2.0 + 3.0, 80));
    }

    /// The guide's table.
    #[test]
    fn a_direction_meets_a_face_of_a_cube() {
        for (direction, s, t, face) in [
            ([4.0, 1.0, 2.0], -2.0, -1.0, 0),
            ([-4.0, 1.0, 2.0], 2.0, -1.0, 1),
            ([1.0, 4.0, 2.0], 1.0, 2.0, 2),
            ([1.0, -4.0, 2.0], 1.0, -2.0, 3),
            ([1.0, 2.0, 4.0], 1.0, -2.0, 4),
            ([1.0, 2.0, -4.0], -1.0, -2.0, 5),
        ] {
            let want = [(s / 4.0 + 1.0) / 2.0, (t / 4.0 + 1.0) / 2.0, 0.0];
            assert_eq!(Texture::on_cube(direction), (want, face), "{direction:?}");
        }
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
