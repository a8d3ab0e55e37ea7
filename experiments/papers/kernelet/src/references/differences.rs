//! `kernelet-sad`: sums of absolute differences of 4 x 4 pixels of a frame and those of another, at all displacements of a window.

use counterpoint::application::ReferenceInput;

/// Pixels of a macroblock, in each direction.
const MACROBLOCK: usize = 16;
/// Pixels of the compared part, in each direction.
const PART: usize = 4;

/// The reference as applications name it: parameters `columns` and `rows` (of macroblocks) and `range`, input buffers `frame` and
/// `other`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (columns, rows, range) = (input.size("columns")?, input.size("rows")?, input.size("range")?);
    let pixels = columns * rows * MACROBLOCK * MACROBLOCK;
    let frame = Frame { pixels: &u16s_of(input, "frame", pixels)?, width: columns * MACROBLOCK };
    let other = Frame { pixels: &u16s_of(input, "other", pixels)?, width: columns * MACROBLOCK };
    let parts = MACROBLOCK / PART;
    let far = range as isize;
    let mut sums = Vec::new();
    for macroblock in 0..columns * rows {
        for part in 0..parts * parts {
            let x = macroblock % columns * MACROBLOCK + part % parts * PART;
            let y = macroblock / columns * MACROBLOCK + part / parts * PART;
            for down in -far..=far {
                let displaced = (-far..=far).map(|right| sum(frame, other, [x, y], [right, down]));
                sums.extend(displaced.flat_map(u16::to_le_bytes));
            }
        }
    }
    Ok(sums)
}

fn u16s_of(input: &ReferenceInput<'_>, buffer: &str, count: usize) -> Result<Vec<u16>, String> {
    let two = input.bytes_of(buffer, 2 * count)?.as_chunks::<2>().0;
    Ok(two.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect())
}

#[derive(Clone, Copy)]
struct Frame<'a> {
    pixels: &'a [u16],
    width: usize,
}

impl Frame<'_> {
    /// The pixel at a place, or the nearest one where the frame has ended.
    fn at(self, x: isize, y: isize) -> u16 {
        let (width, height) = (self.width as isize, (self.pixels.len() / self.width) as isize);
        self.pixels[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize]
    }
}

/// Sum of absolute differences between the block of `frame` at a position and the block of `other` at that position plus a
/// displacement.
fn sum(frame: Frame<'_>, other: Frame<'_>, [x, y]: [usize; 2], [right, down]: [isize; 2]) -> u16 {
    let places = (y..y + PART).flat_map(|y| (x..x + PART).map(move |x| (x as isize, y as isize)));
    places.map(|(x, y)| frame.at(x, y).abs_diff(other.at(x + right, y + down))).sum()
}

#[cfg(test)]
mod tests {
    use super::{Frame, sum};

    #[test]
    fn a_frame_goes_on_as_it_ends() {
        let pixels: Vec<u16> = (0..64).map(|i| i % 8).collect();
        let ramp = Frame { pixels: &pixels, width: 8 };
        assert_eq!(sum(ramp, ramp, [4, 4], [0, 3]), 0);
        assert_eq!(sum(ramp, ramp, [0, 0], [2, 0]), 32);
        // Columns 0 to 3 against 0, 0, 0 and 1.
        assert_eq!(sum(ramp, ramp, [0, 0], [-2, 0]), 4 * (1 + 2 + 2));
    }
}
