//! `black-scholes`: prices of European options, with the normal distribution as a series instead of a fit.

use super::{ReferenceInput, bytes_of_f32s};

/// The reference as applications name it: parameters `rate` and `volatility`, input buffers `prices`, `strikes` and
/// `years`; computes `calls` and `puts`.
pub(super) fn reference(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (rate, volatility) = (input.parameter("rate")?, input.parameter("volatility")?);
    let n = input.size("n")?;
    let (prices, strikes) = (input.f32s_of("prices", n)?, input.f32s_of("strikes", n)?);
    let years = input.f32s_of("years", n)?;
    let option = |index: usize| {
        let [price, strike, time] = [prices[index], strikes[index], years[index]].map(f64::from);
        let spread = volatility * time.sqrt();
        let d1 = (libm::log(price / strike) + (rate + volatility * volatility / 2.0) * time) / spread;
        let discounted = strike * libm::exp(-rate * time);
        let call = price * normal(d1) - discounted * normal(d1 - spread);
        // The value of a put follows from the call: having both, one has the price for the strike.
        let put = call - price + discounted;
        (if input.wanted == "puts" { put } else { call }) as f32
    };
    Ok(bytes_of_f32s(&(0..n).map(option).collect::<Vec<_>>()))
}

/// The standard normal distribution, by Marsaglia's series (Journal of Statistical Software 11(4), 2004).
fn normal(d: f64) -> f64 {
    if d.abs() > 8.0 {
        return if d > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut odd) = (d, d, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= d * d / odd;
        sum += term;
    }
    0.5 + sum * libm::exp(-0.5 * d * d) / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::normal;

    #[test]
    fn known_values_of_the_normal_distribution() {
        for (d, expected) in [(0.0, 0.5), (1.0, 0.841_344_746_068_543), (-1.959_963_984_540_054, 0.025)] {
            assert!((normal(d) - expected).abs() < 1e-12, "{d}");
        }
        assert!(normal(7.9) > 1.0 - 1e-12 && normal(-9.0) == 0.0);
    }
}
