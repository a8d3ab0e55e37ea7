//! `kernelet-mriq`: for each voxel a sum of waves, one for each sample of k-space, in double precision.

use std::f64::consts::TAU;

use counterpoint::application::ReferenceInput;

/// Threads of a block, and voxels.
const THREADS: usize = 256;
const SAMPLES: usize = 1024;

/// The reference as applications name it: parameters `blocks` and `samples`, input buffers `x`, `y` and `z`, results `real` and
/// `imaginary`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (voxels, samples) = (input.size("blocks")? * THREADS, input.size("samples")?);
    if samples % 2 != 0 || samples > SAMPLES {
        return Err(format!("`samples` is {samples}, which is odd or above {SAMPLES}"));
    }
    let wave: fn(f64) -> f64 = match input.wanted {
        "real" => f64::cos,
        "imaginary" => f64::sin,
        other => return Err(format!("the reference knows no buffer `{other}`")),
    };
    let [x, y, z] = ["x", "y", "z"].map(|axis| input.f32s_of(axis, voxels));
    let (x, y, z) = (x?, y?, z?);
    let space: Vec<Sample> = (0..samples).map(Sample::made_up).collect();
    let sums = (0..voxels).map(|voxel| {
        let place = [x[voxel], y[voxel], z[voxel]].map(f64::from);
        space.iter().map(|sample| sample.magnitude * wave(sample.angle(place))).sum::<f64>() as f32
    });
    Ok(sums.flat_map(f32::to_le_bytes).collect())
}

/// A sample of k-space.
struct Sample {
    place: [f64; 3],
    magnitude: f64,
}

impl Sample {
    /// The sample of a number, which the kernel has in constant memory.
    fn made_up(i: usize) -> Self {
        let place = [i * 37, i * 53 / 8, i * 101 / 64].map(|at| ((at % 64) as f64 - 32.0) / 4.0);
        Sample { place, magnitude: (1 + i % 13) as f64 / 16.0 }
    }

    /// Phase angle of the sample's wave, at a position of the image.
    fn angle(&self, place: [f64; 3]) -> f64 {
        TAU * self.place.iter().zip(place).map(|(sample, image)| sample * image).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn a_wave_has_the_frequency_of_its_sample() {
        let sample = Sample::made_up(1);
        assert_eq!(sample.place, [1.25, -6.5, -7.75]);
        assert!((sample.angle([0.8, 0.0, 0.0]).cos() - 1.0).abs() < 1e-12);
        assert!((sample.angle([0.4, 0.0, 0.0]).cos() + 1.0).abs() < 1e-12);
    }
}
