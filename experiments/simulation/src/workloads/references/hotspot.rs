//! `hotspot` in plain Rust: whole-grid time steps, without tiles, halos or shared memory, so that it
//! shares no idea with the kernel but the formula.
//!
//! The order of the sums is the kernel's. A compiler may contract products and sums to fused ones, so
//! results agree to about one part in 10⁵ and not to the bit.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `n` and `launches`, input buffers `temperature` and `power`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, launches) = (input.parameter("n")? as usize, input.parameter("launches")? as usize);
    let (temperature, power) = (input.f32s("temperature")?, input.f32s("power")?);
    if temperature.len() < n * n || power.len() < n * n {
        return Err(format!("the reference needs {n} x {n} temperatures and powers"));
    }
    Ok(bytes_of_f32s(&hotspot(&temperature, &power, n, launches, &Chip::rodinia(n))))
}

/// The physical constants that a launch passes to the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Chip {
    /// Heat capacity of a cell.
    capacity: f32,
    /// Thermal resistance between cells of one row.
    rx: f32,
    /// Thermal resistance between cells of one column.
    ry: f32,
    /// Thermal resistance to the surroundings.
    rz: f32,
    /// Length of a time step.
    step: f32,
}

impl Chip {
    /// Rodinia's chip (16 mm square, 0.5 mm thick, silicon) in a grid of `n` x `n` cells.
    fn rodinia(n: usize) -> Self {
        const THICKNESS: f32 = 0.0005;
        const SIDE: f32 = 0.016;
        const CONDUCTIVITY: f32 = 100.0;
        const SPECIFIC_HEAT: f32 = 1.75e6;
        const CHIP_FACTOR: f32 = 0.5;
        const MOST_POWER_DENSITY: f32 = 3.0e6;
        const PRECISION: f32 = 0.001;
        let cell = SIDE / n as f32;
        let lateral = cell / (2.0 * CONDUCTIVITY * THICKNESS * cell);
        Chip {
            capacity: CHIP_FACTOR * SPECIFIC_HEAT * THICKNESS * cell * cell,
            rx: lateral,
            ry: lateral,
            rz: THICKNESS / (CONDUCTIVITY * cell * cell),
            step: PRECISION / (MOST_POWER_DENSITY / (CHIP_FACTOR * THICKNESS * SPECIFIC_HEAT)),
        }
    }
}

/// Temperatures of an `n` x `n` grid after `launches` launches of two time steps each.
///
/// # Panics
/// If a slice has fewer than `n * n` elements.
fn hotspot(temperature: &[f32], power: &[f32], n: usize, launches: usize, chip: &Chip) -> Vec<f32> {
    let mut now = temperature[..n * n].to_vec();
    for _ in 0..2 * launches {
        now = step(&now, power, n, chip);
    }
    now
}

fn step(old: &[f32], power: &[f32], n: usize, chip: &Chip) -> Vec<f32> {
    let gain = f64::from(chip.step / chip.capacity);
    let (rx_1, ry_1) = (f64::from(1.0 / chip.rx), f64::from(1.0 / chip.ry));
    let rz_1 = 1.0 / chip.rz;
    let mut new = vec![0.0; n * n];
    for y in 0..n {
        let (north, south) = (y.saturating_sub(1), (y + 1).min(n - 1));
        for x in 0..n {
            let (west, east) = (x.saturating_sub(1), (x + 1).min(n - 1));
            let here = old[y * n + x];
            let twice = 2.0 * f64::from(here);
            let vertical = f64::from(old[south * n + x] + old[north * n + x]) - twice;
            let horizontal = f64::from(old[y * n + east] + old[y * n + west]) - twice;
            let outward = f64::from((80.0 - here) * rz_1);
            let heat = f64::from(power[y * n + x]) + vertical * ry_1 + horizontal * rx_1 + outward;
            new[y * n + x] = (f64::from(here) + gain * heat) as f32;
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_power_a_chip_at_ambient_stays_there() {
        let chip = Chip::rodinia(16);
        let still = hotspot(&[80.0; 256], &[0.0; 256], 16, 3, &chip);
        assert!(still.iter().all(|t| *t == 80.0));
        let warm = hotspot(&[80.0; 256], &[0.1; 256], 16, 1, &chip);
        assert!(warm.iter().all(|t| *t > 80.0));
    }
}
