//! `pattern-match`: every shift of every template is tried, and then every gain; sums are in the order of the points, as
//! the device has them, so that the errors have the same bits.

use super::{ReferenceInput, bytes_of_f32s, bytes_of_u32s};

/// Shifts, half of them to either side.
const SHIFTS: usize = 96;
/// Gains, and their step in decibels.
const GAINS: usize = 32;
const STEP: f32 = 0.125;

/// The reference as applications name it: parameters `batches`, `templates` and `points`, input buffers `tests`, `weights`
/// and `library`; computes `shifts`, `errors` and `gains`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (batches, templates, points) =
        (input.size("batches")?, input.size("templates")?, input.size("points")?);
    let tests = input.f32s_of("tests", batches * points)?;
    let weights = input.f32s_of("weights", points)?;
    let library = input.f32s_of("library", templates * points)?;
    let matches = tests.chunks(points).flat_map(|test| {
        library.chunks(points).map(|template| Match::of(test, &weights, template)).collect::<Vec<_>>()
    });
    let matches: Vec<Match> = matches.collect();
    Ok(match input.wanted {
        "shifts" => bytes_of_u32s(&matches.iter().map(|found| found.shift as u32).collect::<Vec<_>>()),
        "gains" => bytes_of_u32s(&matches.iter().map(|found| found.gain as u32).collect::<Vec<_>>()),
        _ => bytes_of_f32s(&matches.iter().map(|found| found.error).collect::<Vec<_>>()),
    })
}

/// Alignment of a template with a test profile.
struct Match {
    shift: usize,
    gain: usize,
    error: f32,
}

impl Match {
    fn of(test: &[f32], weights: &[f32], template: &[f32]) -> Self {
        // The template's points, with what is shifted in on both sides.
        let beyond = [0.0; SHIFTS / 2];
        let wide = [&beyond, template, &beyond].concat();
        let error = |shift: usize, decibels: f32| {
            let pairs = test.iter().zip(&wide[shift..]).zip(weights);
            pairs.fold(0.0, |sum: f32, ((test, template), weight)| {
                let difference = test - template - decibels;
                sum + weight * (difference * difference)
            })
        };
        let (shift, _) = least((0..SHIFTS).map(|shift| error(shift, 0.0)));
        let decibels = |gain: usize| (gain as f32 - (GAINS / 2) as f32) * STEP;
        let (gain, error) = least((0..GAINS).map(|gain| error(shift, decibels(gain))));
        Match { shift, gain, error }
    }
}

/// The least number and its place, the first of equals.
fn least(numbers: impl Iterator<Item = f32>) -> (usize, f32) {
    numbers.enumerate().fold((0, f32::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_template_that_is_louder_is_found() {
        let template: Vec<f32> = (0..128).map(|k| ((k * 37 + 11) % 29 + 1) as f32).collect();
        // Four places on and a decibel more; what comes in is as loud as nothing.
        let test: Vec<f32> = (0..128).map(|k| template.get(k + 4).map_or(1.0, |point| point + 1.0)).collect();
        let found = Match::of(&test, &[0.5; 128], &template);
        assert_eq!((found.shift, found.gain, found.error), (SHIFTS / 2 + 4, GAINS / 2 + 8, 0.0));
    }
}
