//! `stencil3d`: 0.4 of a cell and 0.1 of each of its six neighbours, whole volumes at a time.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `nx`, `ny`, `nz` and `launches`, input buffer `volume`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let size = [input.size("nx")?, input.size("ny")?, input.size("nz")?];
    let mut volume = input.f32s_of("volume", size.iter().product())?;
    for _ in 0..input.size("launches")? {
        volume = step(&volume, size);
    }
    Ok(bytes_of_f32s(&volume))
}

fn step(old: &[f32], [nx, ny, nz]: [usize; 3]) -> Vec<f32> {
    let strides = [1, nx, nx * ny];
    let value = |(index, here): (usize, &f32)| {
        let place = [index % nx, index / nx % ny, index / (nx * ny)];
        if place.iter().zip([nx, ny, nz]).any(|(at, size)| *at == 0 || at + 1 == size) {
            return *here;
        }
        let neighbours: f64 =
            strides.iter().map(|by| f64::from(old[index - by]) + f64::from(old[index + by])).sum();
        (0.4 * f64::from(*here) + 0.1 * neighbours) as f32
    };
    old.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn a_single_cell_spreads() {
        let mut volume = vec![0.0; 27];
        (volume[13], volume[12]) = (1.0, 1.0);
        let after = step(&volume, [3, 3, 3]);
        assert_eq!((after[13], after[12], after[0]), (0.5, 1.0, 0.0));
    }
}
