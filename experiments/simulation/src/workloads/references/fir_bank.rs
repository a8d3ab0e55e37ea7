//! `fir-bank`: the convolution of complex signals with filters; every product is added where it belongs.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `filters`, `taps` and `samples`, input buffers `signals` and
/// `filters`, complex numbers with the real part first.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (count, taps, samples) = (input.size("filters")?, input.size("taps")?, input.size("samples")?);
    let signals = input.f32s_of("signals", 2 * count * samples)?;
    let filters = input.f32s_of("filters", 2 * count * taps)?;
    Ok(bytes_of_f32s(&through(&signals, samples, &filters, taps)))
}

/// Two banks behind each other, for each of a stream: parameters `batches`, `filters`, `taps` and `samples`, input buffers
/// `signals`, `first` and `second`.
pub(super) fn of_stream(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (count, taps, samples) = (input.size("filters")?, input.size("taps")?, input.size("samples")?);
    let signals = input.f32s_of("signals", 2 * input.size("batches")? * count * samples)?;
    let [first, second] = ["first", "second"].map(|bank| input.f32s_of(bank, 2 * count * taps));
    let between = through(&signals, samples, &first?, taps);
    Ok(bytes_of_f32s(&through(&between, samples + taps - 1, &second?, taps)))
}

/// Signals through a bank, from its first filter again where there are more of them.
fn through(signals: &[f32], samples: usize, filters: &[f32], taps: usize) -> Vec<f32> {
    let filters = filters.chunks(2 * taps).cycle();
    signals.chunks(2 * samples).zip(filters).flat_map(|(signal, filter)| convolve(signal, filter)).collect()
}

fn convolve(signal: &[f32], filter: &[f32]) -> Vec<f32> {
    let mut result = vec![0.0; signal.len() + filter.len() - 2];
    for (at, sample) in signal.as_chunks::<2>().0.iter().enumerate() {
        for (by, tap) in filter.as_chunks::<2>().0.iter().enumerate() {
            let ([a, b], [c, d]) = (sample.map(f64::from), tap.map(f64::from));
            result[2 * (at + by)] += a * c - b * d;
            result[2 * (at + by) + 1] += a * d + b * c;
        }
    }
    result.into_iter().map(|value| value as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::convolve;

    #[test]
    fn i_times_i_is_minus_one() {
        assert_eq!(convolve(&[0.0, 1.0, 2.0, 0.0], &[0.0, 1.0, 1.0, 0.0]), [-1.0, 0.0, 0.0, 3.0, 2.0, 0.0]);
    }
}
