//! `histogram-pipeline`: the range of some samples, and how often each 256th of it occurs in a window.

use super::{ReferenceInput, bytes_of_u32s};

/// Particles that a CTA looks at.
const SAMPLES: usize = 64;

/// The reference as applications name it: parameters `batches`, `n`, `step` and `samplers`, input buffer `particles`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (batches, n, step) = (input.size("batches")?, input.size("n")?, input.size("step")?);
    let samplers = input.size("samplers")?;
    let particles = input.f32s_of("particles", 4 * (n + (batches - 1) * step))?;
    let energies: Vec<f32> = particles.as_chunks::<4>().0.iter().map(|particle| particle[3]).collect();
    let windows = (0..batches).map(|batch| &energies[batch * step..][..n]);
    Ok(bytes_of_u32s(&windows.flat_map(|window| counts(window, samplers)).collect::<Vec<_>>()))
}

fn counts(energies: &[f32], samplers: usize) -> [u32; 256] {
    let samples =
        energies.chunks_exact(energies.len() / samplers).take(samplers).flat_map(|part| &part[..SAMPLES]);
    let (low, high) =
        samples.fold((f32::MAX, 0.0_f32), |(low, high), sample| (low.min(*sample), high.max(*sample)));
    let scale = 256.0 / (high - low);
    let mut counts = [0; 256];
    for energy in energies {
        counts[((energy - low) * scale).clamp(0.0, 255.0) as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_the_samples_is_counted_in_the_outermost_bins() {
        // Two parts; the last energies of each are not looked at.
        let mut energies = vec![2.0; 200];
        (energies[0], energies[1], energies[100]) = (1.0, 1.5, 3.0);
        (energies[99], energies[199]) = (0.5, 100.0);
        let counts = counts(&energies, 2);
        let filled: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        assert_eq!(filled, [(0, &2), (64, &1), (128, &195), (255, &2)]);
    }
}
