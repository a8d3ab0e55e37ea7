//! `neural-network`: the layers one after another, in double precision.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `batches` and `images`, input buffers `images` and the weights of the
/// four layers.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let doubles =
        |name: &str| Ok::<_, String>(input.f32s(name)?.into_iter().map(f64::from).collect::<Vec<_>>());
    let count = input.size("batches")? * input.size("images")?;
    let images = doubles("images")?;
    let first = doubles("first_weights")?;
    let second = doubles("second_weights")?;
    let third = doubles("third_weights")?;
    let fourth = doubles("fourth_weights")?;
    let read = |image: &[f64]| {
        let maps = folded(&folded(image, 29, &first), 13, &second);
        connected(&connected(&maps, &third), &fourth)
    };
    let digits = images.chunks(29 * 29).take(count).flat_map(read);
    Ok(bytes_of_f32s(&digits.map(|digit| digit as f32).collect::<Vec<_>>()))
}

/// Outputs of a convolutional layer over consecutive square maps: each neuron of a map sees a window of every input map.
fn folded(maps: &[f64], side: usize, weights: &[f64]) -> Vec<f64> {
    const WINDOW: usize = 5;
    let inputs = maps.len() / (side * side);
    let positions = || (0..=side - WINDOW).step_by(2);
    let mut results = Vec::new();
    for own in weights.chunks(1 + inputs * WINDOW * WINDOW) {
        for (top, left) in positions().flat_map(|top| positions().map(move |left| (top, left))) {
            let window = maps.chunks(side * side).flat_map(|map| {
                let rows = map.chunks(side).skip(top).take(WINDOW);
                rows.flat_map(|row| &row[left..left + WINDOW]).collect::<Vec<_>>()
            });
            results.push(neuron(window, own));
        }
    }
    results
}

/// Outputs of a fully connected layer: each neuron sees all inputs.
fn connected(inputs: &[f64], weights: &[f64]) -> Vec<f64> {
    weights.chunks(1 + inputs.len()).map(|own| neuron(inputs.iter(), own)).collect()
}

fn neuron<'a>(inputs: impl Iterator<Item = &'a f64>, weights: &[f64]) -> f64 {
    let sum: f64 = inputs.zip(&weights[1..]).map(|(input, weight)| input * weight).sum();
    1.7159 * libm::tanh(2.0 / 3.0 * (weights[0] + sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_go_in_steps_of_two_over_all_maps() {
        // Two maps of 7 x 7 with a one each; the second window of the first row sees both.
        let mut maps = vec![0.0; 2 * 49];
        (maps[3], maps[49 + 4 * 7 + 6]) = (1.0, 1.0);
        let mut weights = vec![0.0; 51];
        (weights[0], weights[1 + 1], weights[1 + 25 + 24]) = (0.5, 1.0, 2.0);
        let expected = [0.5, 3.5, 0.5, 0.5].map(|sum| 1.7159 * libm::tanh(2.0 / 3.0 * sum));
        assert_eq!(folded(&maps, 7, &weights), expected);
    }

    #[test]
    fn one_stays_nearly_one() {
        assert!((neuron([].iter(), &[1.0]) - 1.0).abs() < 1e-4);
    }
}
