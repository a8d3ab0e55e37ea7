//! Contents that a rule of applications makes, so that no data need to be kept: one number everywhere, or numbers that grow evenly.

use crate::buffers::Element;

/// Elements from which on numbers that grow evenly are a rule: a few do so by chance.
const LEAST_RAMP: usize = 16;
/// Largest whole number up to which double precision, in which rules compute, represents all whole numbers.
const LARGEST_WHOLE: f64 = (1_u64 << 53) as f64;

/// Rule that generates these elements, in the form of an application; `None` if no rule does.
pub(crate) fn rule(contents: &[u8], element: Element) -> Option<String> {
    let size = element.bytes as usize;
    let elements = contents.len() / size;
    let first = number(contents.get(..size)?, element)?;
    if contents.chunks_exact(size).all(|one| one == &contents[..size]) {
        return Some(format!("{{ constant: {{ value: {first:?} }} }}"));
    }
    let step = number(contents.get(size..2 * size)?, element)? - first;
    let grown = |index: usize| first + step * index as f64;
    // Below zero, and beyond its largest value, a type without fractions begins anew; a rule does not.
    let last = number(contents.get((elements - 1) * size..)?, element)?;
    if elements < LEAST_RAMP || !step.is_finite() || !element.floats && last != grown(elements - 1) {
        return None;
    }
    let bits = |value: f64| match (element.floats, element.bytes) {
        (true, 4) => (value as f32).to_bits().into(),
        (true, _) => value.to_bits(),
        (false, _) => value as i64 as u64,
    };
    let made = |(index, one): (usize, &[u8])| bits(grown(index)).to_le_bytes()[..size] == *one;
    let grows = contents.chunks_exact(size).enumerate().all(made);
    grows.then(|| format!("{{ ramp: {{ start: {first:?}, step: {step:?} }} }}"))
}

/// An element as a number of double precision, if it is one that a rule can name.
fn number(bytes: &[u8], element: Element) -> Option<f64> {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let raw = u64::from_le_bytes(wide);
    let unused = 64 - 8 * bytes.len() as u32;
    let value = match (element.floats, bytes.len()) {
        (true, 4) => f64::from(f32::from_bits(raw as u32)),
        (true, _) => f64::from_bits(raw),
        (false, _) if element.name.starts_with('s') => (((raw << unused) as i64) >> unused) as f64,
        (false, _) => raw as f64,
    };
    // The sign of a zero and the bits of what is no number would be lost.
    let kept = value.is_finite() && (value != 0.0 || value.is_sign_positive());
    (kept && value.abs() <= LARGEST_WHOLE).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::{BYTE, named};

    #[test]
    fn constants_and_ramps_are_rules() {
        let of = |name: &str, contents: &[u8]| rule(contents, named(name).expect("a type"));
        let words = |values: &[i32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let floats =
            |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
        let ramp: Vec<i32> = (0..20).map(|index| 7 - 3 * index).collect();
        let value = |text: &str| Some(format!("{{ constant: {{ value: {text} }} }}"));
        assert_eq!(rule(&[7; 5], BYTE), value("7.0"));
        assert_eq!(of("s32", &words(&[-1; 3])), value("-1.0"));
        assert_eq!(of("u32", &words(&[-1; 3])), value("4294967295.0"));
        assert_eq!(of("f32", &floats(&[0.1; 3])), value("0.10000000149011612"));
        assert_eq!(of("f32", &floats(&[-0.0; 3])), None, "a sign");
        assert_eq!(of("u64", &[255; 16]), None, "too large a number");
        let expected = "{ ramp: { start: 7.0, step: -3.0 } }";
        assert_eq!(of("s32", &words(&ramp)).as_deref(), Some(expected));
        assert_eq!(of("u32", &words(&ramp)), None, "below zero");
        assert_eq!(of("s32", &words(&ramp[..8])), None, "few");
        let halves: Vec<f32> = (0..20).map(|index| 0.5 * index as f32).collect();
        assert_eq!(of("f32", &floats(&halves)).as_deref(), Some("{ ramp: { start: 0.0, step: 0.5 } }"));
    }
}
