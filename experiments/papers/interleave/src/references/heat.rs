//! `rodinia-hot`: two time steps of a chip, each over the whole of it, without tiles.
//!
//! The order of the sums is the kernel's, and so is their precision: the published kernel writes `2.0` among floats.

use counterpoint::application::ReferenceInput;

use super::bytes_of_f32s;

/// Time steps of a launch.
const STEPS: usize = 2;
/// Length of a time step: a share of the time in which the greatest power heats the chip.
const STEP: f32 = 1.458_333_3e-7;

/// The reference as applications name it: parameters `n`, `copies`, `capacity`, `resistance` and `outward`, input buffers
/// `temperature` and `power`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, copies) = (input.size("n")?, input.size("copies")?);
    let number = |name| input.parameter(name).map(|value| value as f32);
    let chip = Chip {
        gain: STEP / number("capacity")?,
        lateral: 1.0 / number("resistance")?,
        outward: 1.0 / number("outward")?,
    };
    let temperature = input.f32s_of("temperature", copies * n * n)?;
    let power = input.f32s_of("power", copies * n * n)?;
    let chips = temperature.chunks(n * n).zip(power.chunks(n * n));
    let next: Vec<f32> = chips
        .flat_map(|(temperature, power)| {
            (0..STEPS).fold(temperature.to_vec(), |now, _| chip.step(&now, power, n))
        })
        .collect();
    Ok(bytes_of_f32s(&next))
}

/// The physics of a cell.
struct Chip {
    /// Temperature that a power gives in a step.
    gain: f32,
    /// Conductance to each neighbour.
    lateral: f32,
    /// Conductance to the surroundings.
    outward: f32,
}

impl Chip {
    fn step(&self, old: &[f32], power: &[f32], n: usize) -> Vec<f32> {
        let (gain, lateral) = (f64::from(self.gain), f64::from(self.lateral));
        let mut new = Vec::with_capacity(n * n);
        for y in 0..n {
            let (north, south) = (y.saturating_sub(1), (y + 1).min(n - 1));
            for x in 0..n {
                let (west, east) = (x.saturating_sub(1), (x + 1).min(n - 1));
                let here = old[y * n + x];
                let twice = 2.0 * f64::from(here);
                let vertical = f64::from(old[south * n + x] + old[north * n + x]) - twice;
                let horizontal = f64::from(old[y * n + east] + old[y * n + west]) - twice;
                let outward = f64::from((80.0 - here) * self.outward);
                let heat = f64::from(power[y * n + x]) + vertical * lateral + horizontal * lateral + outward;
                new.push((f64::from(here) + gain * heat) as f32);
            }
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::Chip;

    #[test]
    fn without_power_a_chip_at_ambient_stays_there() {
        let chip = Chip { gain: 0.1, lateral: 0.1, outward: 0.1 };
        assert_eq!(chip.step(&[80.0; 16], &[0.0; 16], 4), [80.0; 16]);
        assert!(chip.step(&[80.0; 16], &[1.0; 16], 4).iter().all(|value| *value > 80.0));
    }
}
