//! `rodinia-hw`: templates of points correlated with the windows of a frame around them.

use counterpoint::application::ReferenceInput;

use super::bytes_of_f32s;

/// Places of a window, in each direction.
const PLACES: usize = 16;
/// Pixels of a template, in each direction.
const TEMPLATE: usize = 5;

/// The reference as applications name it: parameters `points`, `side` and `copies`, input buffers `frame`, `templates` and `places`,
/// results `match` (of each place) and `total` (of each point).
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (points, side, copies) = (input.size("points")?, input.size("side")?, input.size("copies")?);
    let frames = input.f32s_of("frame", copies * side * side)?;
    let templates = input.f32s_of("templates", copies * points * TEMPLATE * TEMPLATE)?;
    let places = input.u32s_of("places", copies * points * 2)?;
    let mut matches = Vec::new();
    for (point, template) in templates.chunks(TEMPLATE * TEMPLATE).enumerate() {
        let frame = &frames[point / points * side * side..];
        let (first_row, first_column) = (places[2 * point] as usize, places[2 * point + 1] as usize);
        for row in first_row..first_row + PLACES {
            for column in first_column..first_column + PLACES {
                matches.push(correlation(&frame[row * side + column..], side, template));
            }
        }
    }
    match input.wanted {
        "match" => Ok(bytes_of_f32s(&matches)),
        "total" => Ok(bytes_of_f32s(&matches.chunks(PLACES * PLACES).map(total).collect::<Vec<_>>())),
        other => Err(format!("the reference knows no buffer `{other}`")),
    }
}

/// Correlation of a template with the pixels from the start of `frame` on.
fn correlation(frame: &[f32], side: usize, template: &[f32]) -> f32 {
    let row = |(row, template): (usize, &[f32])| -> f64 {
        let pixels = &frame[row * side..];
        template.iter().zip(pixels).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    template.chunks(TEMPLATE).enumerate().map(row).sum::<f64>() as f32
}

fn total(matches: &[f32]) -> f32 {
    matches.iter().map(|value| f64::from(*value)).sum::<f64>() as f32
}

#[cfg(test)]
mod tests {
    use super::{TEMPLATE, correlation};

    #[test]
    fn of_ones_a_template_has_its_size() {
        assert_eq!(correlation(&[1.0; 6 * TEMPLATE], 6, &[1.0; TEMPLATE * TEMPLATE]), 25.0);
        assert_eq!(correlation(&[0.0; 6 * TEMPLATE], 6, &[1.0; TEMPLATE * TEMPLATE]), 0.0);
    }
}
