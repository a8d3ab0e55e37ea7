//! `narrow-filter-bank`: a channel is filtered, thinned, raised to its rate again and filtered, in double precision.

use super::{ReferenceInput, bytes_of_tasks};

/// The reference as applications name it: parameters `samples`, `every` and `taps` beside those of all narrow tasks, input buffers
/// `signals`, `h` and `f`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (samples, every, taps) = (input.size("samples")?, input.size("every")?, input.size("taps")?);
    let doubles = |values: Vec<f32>| values.into_iter().map(f64::from).collect::<Vec<f64>>();
    let signals = doubles(input.f32s_of("signals", input.tasks()? * samples)?);
    let (h, f) = (doubles(input.f32s_of("h", taps)?), doubles(input.f32s_of("f", taps)?));
    let sizes = input.chances(2, 8)?.map(|eighths| samples - eighths * (samples / 8));
    Ok(bytes_of_tasks(sizes, samples, |task, size| {
        let signal = &signals[task * samples..][..size];
        channel(signal, &h, &f, every).into_iter().map(|value| value as f32).collect()
    }))
}

/// One channel: all samples of the filtered signal except one in `every` are set to zero before the second filter.
fn channel(signal: &[f64], h: &[f64], f: &[f64], every: usize) -> Vec<f64> {
    let mut thinned = filtered(signal, h);
    // The beginning of a group that is not whole is not kept either.
    let whole = thinned.len() / every * every;
    for (at, value) in thinned.iter_mut().enumerate() {
        if at % every != 0 || at >= whole {
            *value = 0.0;
        }
    }
    filtered(&thinned, f)
}

/// A signal after a filter, as the sum of the responses to its samples.
fn filtered(signal: &[f64], taps: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; signal.len()];
    for (at, sample) in signal.iter().enumerate() {
        for (place, tap) in out[at..].iter_mut().zip(taps) {
            *place += sample * tap;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_becomes_the_second_filter() {
        let signal = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(channel(&signal, &[2.0, 9.0], &[1.0, 0.5, 0.25], 3), [2.0, 1.0, 0.5, 0.0, 0.0, 0.0]);
        let late = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        assert_eq!(
            channel(&late, &[2.0, 9.0], &[1.0], 3),
            [0.0, 0.0, 0.0, 9.0, 0.0, 0.0],
            "one sample later"
        );
    }
}
