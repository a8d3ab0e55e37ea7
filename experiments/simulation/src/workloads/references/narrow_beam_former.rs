//! `narrow-beam-former`: the strength of beams, as sums over whole signals in double precision.

use super::{ReferenceInput, bytes_of_tasks};

type Complex = (f64, f64);

/// The reference as applications name it: parameters `sensors`, `samples`, `beams` and `taps` beside those of all narrow tasks, input
/// buffers `signals` and `filters`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (tasks, sensors, samples) = (input.tasks()?, input.size("sensors")?, input.size("samples")?);
    let (beams, taps) = (input.size("beams")?, input.size("taps")?);
    let complex = |name: &str, count: usize| -> Result<Vec<Complex>, String> {
        let parts = input.f32s_of(name, 2 * count)?;
        Ok(parts.chunks(2).map(|pair| (f64::from(pair[0]), f64::from(pair[1]))).collect())
    };
    let signals = complex("signals", tasks * sensors * samples)?;
    let filters = complex("filters", beams * sensors * taps)?;
    let sizes = input.chances(0, 8)?.map(|eighths| samples - eighths * (samples / 8));
    Ok(bytes_of_tasks(sizes, beams * samples, |task, size| {
        let signals = &signals[task * sensors * samples..][..sensors * size];
        filters.chunks(sensors * taps).flat_map(|beam| strengths(signals, beam, size, taps)).collect()
    }))
}

/// Magnitude of the sum of the filtered signals.
fn strengths(signals: &[Complex], filters: &[Complex], samples: usize, taps: usize) -> Vec<f32> {
    let mut sums = vec![(0.0, 0.0); samples];
    for (signal, filter) in signals.chunks(samples).zip(filters.chunks(taps)) {
        add(&mut sums, signal, filter);
    }
    sums.iter().map(|(re, im)| libm::sqrt(re * re + im * im) as f32).collect()
}

fn add(sums: &mut [Complex], signal: &[Complex], filter: &[Complex]) {
    for (at, (x, y)) in signal.iter().enumerate() {
        for ((re, im), (a, b)) in sums[at..].iter_mut().zip(filter) {
            *re += x * a - y * b;
            *im += x * b + y * a;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impulse_becomes_the_filter() {
        let mut sums = vec![(1.0, 0.0); 3];
        add(&mut sums, &[(0.0, 1.0), (0.0, 0.0), (0.0, 0.0)], &[(2.0, 0.0), (0.0, 3.0)]);
        assert_eq!(sums, [(1.0, 2.0), (-2.0, 0.0), (1.0, 0.0)]);
    }
}
