//! A five-point stencil whose borders are closed: `reference-stencil`.

use super::{ReferenceInput, bytes_of_f32s};

/// The heat after `launches` steps on `n` x `n` cells, from buffers `heat` and `source`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (n, share) = (input.size("n")?, input.parameter("share")? as f32);
    let (mut heat, source) = (input.f32s_of("heat", n * n)?, input.f32s_of("source", n * n)?);
    for _ in 0..input.size("launches")? {
        heat = step(&heat, &source, n, share);
    }
    Ok(bytes_of_f32s(&heat))
}

/// One step. A neighbour beyond the border is the cell itself.
fn step(heat: &[f32], source: &[f32], n: usize, share: f32) -> Vec<f32> {
    let cell = |index: usize| {
        let (y, x) = (index / n, index % n);
        let at = |y: usize, x: usize| heat[y.min(n - 1) * n + x.min(n - 1)];
        let own = heat[index];
        let neighbours =
            at(y, x.saturating_sub(1)) + at(y, x + 1) + at(y.saturating_sub(1), x) + at(y + 1, x);
        own + share * (neighbours - 4.0 * own) + source[index]
    };
    (0..n * n).map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::step;

    #[test]
    fn a_step_by_hand() {
        // The hot corner gives to two neighbours and, as its own neighbour, to itself.
        let found = step(&[8.0, 0.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 1.0], 2, 0.25);
        assert_eq!(found, [4.0, 2.0, 2.0, 1.0]);
    }
}
