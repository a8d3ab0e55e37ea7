//! `rodinia-bp-2`: each weight and its last change, corrected by the unit before it and the error behind it.

use counterpoint::application::ReferenceInput;

use super::bytes_of_f32s;

const RATE: f64 = 0.3;
const MOMENTUM: f64 = 0.3;

/// The reference as applications name it: parameters `inputs`, `hidden` and `copies`, input buffers `delta`, `layer`, `weights` and
/// `changes`, results `new_weights` and `new_changes`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (inputs, hidden, copies) = (input.size("inputs")?, input.size("hidden")?, input.size("copies")?);
    let (units, width) = (inputs + 1, hidden + 1);
    let delta = input.f32s_of("delta", copies * width)?;
    let layer = input.f32s_of("layer", copies * units)?;
    let weights = input.f32s_of("weights", copies * units * width)?;
    let changes = input.f32s_of("changes", copies * units * width)?;
    let of_weights = match input.wanted {
        "new_weights" => true,
        "new_changes" => false,
        other => return Err(format!("the reference knows no buffer `{other}`")),
    };
    let mut new = vec![0.0; copies * units * width];
    for copy in 0..copies {
        for unit in 0..units {
            // Unit 0 is the bias: always 1.
            let value = if unit == 0 { 1.0 } else { layer[copy * units + unit] };
            for column in 1..width {
                let place = (copy * units + unit) * width + column;
                let change = RATE * f64::from(delta[copy * width + column]) * f64::from(value)
                    + MOMENTUM * f64::from(changes[place]);
                let old = if of_weights { f64::from(weights[place]) } else { 0.0 };
                new[place] = (old + change) as f32;
            }
        }
    }
    Ok(bytes_of_f32s(&new))
}
