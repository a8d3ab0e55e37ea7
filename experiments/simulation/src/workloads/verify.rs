//! Comparison of a run's results with the expected ones.

use std::fmt;
use std::io;

use crate::workloads::element::{Element, Value};

/// Largest accepted deviation from the expected value; zeros mean equal bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Deviation as a share of the expected value.
    pub relative: f64,
    /// Deviation in the unit of the value, for values around zero.
    pub absolute: f64,
}

impl Tolerance {
    fn accepts(self, expected: &[u8], found: &[u8], element: Element) -> bool {
        if expected == found {
            return true;
        }
        if self == Tolerance::default() {
            return false;
        }
        let (expected, found) = (element.value(expected).as_f64(), element.value(found).as_f64());
        if expected.is_nan() || found.is_nan() {
            return expected.is_nan() && found.is_nan();
        }
        // Equal infinities have no difference that could be compared.
        expected == found || (found - expected).abs() <= self.absolute.max(self.relative * expected.abs())
    }
}

/// Verdict of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Every element is as expected.
    Verified {
        /// Number of elements.
        elements: u64,
    },
    /// Some elements are outside the tolerance.
    Differs(Difference),
    /// The hash differs from the expected one.
    Hash {
        /// The expected one.
        expected: u64,
        /// The one found.
        found: u64,
    },
    /// No comparison was possible, with the reason.
    Unknown(String),
}

/// Elements that are not as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Index of the first differing element.
    pub index: u64,
    /// Expected value of that element.
    pub expected: Value,
    /// Value found in that element.
    pub found: Value,
    /// Number of elements that differ.
    pub differing: u64,
    /// Number of elements compared.
    pub elements: u64,
}

impl Difference {
    /// The relative error of the first differing element.
    pub fn relative_error(&self) -> f64 {
        let (expected, found) = (self.expected.as_f64(), self.found.as_f64());
        (found - expected).abs() / expected.abs()
    }
}

impl Verdict {
    /// This verdict with positions shifted by the `elements` that precede the compared part of the buffer.
    pub(crate) fn behind(self, elements: u64) -> Verdict {
        match self {
            Verdict::Differs(difference) => {
                Verdict::Differs(Difference { index: difference.index + elements, ..difference })
            }
            other => other,
        }
    }

    /// Whether all is as expected.
    pub fn is_verified(&self) -> bool {
        matches!(self, Verdict::Verified { .. })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Verified { elements } => write!(f, "verified, {elements} elements"),
            Verdict::Differs(difference) => {
                let Difference { index, expected, found, differing, elements } = difference;
                let error = difference.relative_error();
                write!(
                    f,
                    "{differing} of {elements} elements differ, first [{index}]: expected {expected}, found {found} \
                     (relative error {error:.3e})"
                )
            }
            Verdict::Hash { expected, found } => {
                write!(f, "FNV-64 is {found:016x}, expected {expected:016x}")
            }
            Verdict::Unknown(reason) => write!(f, "not verified: {reason}"),
        }
    }
}

/// Compares bytes element by element; where `only` has a byte for each, elements whose byte is 0 are left out.
pub fn compare(
    expected: &[u8],
    found: &[u8],
    element: Element,
    tolerance: Tolerance,
    only: Option<&[u8]>,
) -> Verdict {
    if expected.len() != found.len() {
        return Verdict::Unknown(format!(
            "{} bytes are expected, the buffer has {}",
            expected.len(),
            found.len()
        ));
    }
    let size = element.bytes();
    let counts = |index: usize| only.is_none_or(|only| only.get(index).is_some_and(|byte| *byte != 0));
    let all = || expected.chunks(size).zip(found.chunks(size)).enumerate();
    let pairs = || all().filter(|(index, _)| counts(*index));
    let wrong = |(expected, found): &(&[u8], &[u8])| !tolerance.accepts(expected, found, element);
    let differing = pairs().filter(|(_, pair)| wrong(pair)).count() as u64;
    let elements = match only {
        Some(only) => only.iter().filter(|byte| **byte != 0).count() as u64,
        None => (expected.len() / size) as u64,
    };
    match pairs().find(|(_, pair)| wrong(pair)) {
        None => Verdict::Verified { elements },
        Some((index, (expected, found))) => Verdict::Differs(Difference {
            index: index as u64,
            expected: element.value(expected),
            found: element.value(found),
            differing,
            elements,
        }),
    }
}

/// Compares the FNV-1a hash of bytes.
pub fn compare_hash(expected: u64, found: &[u8], element: Element) -> Verdict {
    let hash = fnv64(found);
    if hash == expected {
        Verdict::Verified { elements: (found.len() / element.bytes()) as u64 }
    } else {
        Verdict::Hash { expected, found: hash }
    }
}

/// FNV-1a with 64 bits.
pub fn fnv64(bytes: &[u8]) -> u64 {
    let mut hash = Fnv64::default();
    hash.add(bytes);
    hash.get()
}

/// FNV-1a with 64 bits, of bytes that come in pieces.
pub(crate) struct Fnv64(u64);

impl Default for Fnv64 {
    fn default() -> Self {
        Fnv64(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv64 {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, add);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0
    }
}

impl io::Write for Fnv64 {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn against(expected: &[f32], found: &[f32], relative: f64) -> Verdict {
        compare(&bytes(expected), &bytes(found), Element::F32, Tolerance { relative, absolute: 0.0 }, None)
    }

    #[test]
    fn equal_bytes_are_verified() {
        assert_eq!(against(&[1.0, f32::NAN], &[1.0, f32::NAN], 0.0), Verdict::Verified { elements: 2 });
    }

    #[test]
    fn the_first_difference_is_named() {
        let verdict = against(&[1.0, 2.0, 4.0], &[1.0, 2.5, 5.0], 1e-5);
        let text = "2 of 3 elements differ, first [1]: expected 2.0, found 2.5 (relative error 2.500e-1)";
        assert_eq!(verdict.to_string(), text);
        assert!(!verdict.is_verified());
    }

    #[test]
    fn elements_that_nobody_wrote_are_left_out() {
        let compare = |only: &[u8]| {
            let (expected, found) = (bytes(&[1.0, 2.0, 3.0]), bytes(&[1.0, 9.0, 8.0]));
            compare(&expected, &found, Element::F32, Tolerance::default(), Some(only))
        };
        assert_eq!(compare(&[1, 0, 0]), Verdict::Verified { elements: 1 });
        let text = "1 of 2 elements differ, first [12]: expected 3.0, found 8.0 (relative error 1.667e0)";
        assert_eq!(compare(&[1, 0, 1]).behind(10).to_string(), text);
    }

    #[test]
    fn tolerance_is_a_share_of_the_expected_value() {
        assert!(against(&[100.0], &[100.001], 1e-4).is_verified());
        assert!(!against(&[100.0], &[100.1], 1e-4).is_verified());
        assert!(!against(&[0.0], &[1e-9], 1e-4).is_verified());
        let tolerance = Tolerance { relative: 1e-4, absolute: 1e-6 };
        assert!(compare(&bytes(&[0.0]), &bytes(&[1e-9]), Element::F32, tolerance, None).is_verified());
        assert!(!against(&[1.0], &[f32::NAN], 1e-4).is_verified());
        assert!(against(&[f32::INFINITY], &[f32::INFINITY], 1e-4).is_verified());
        // With a tolerance of zero not even the sign of a zero may differ.
        assert!(!against(&[0.0], &[-0.0], 0.0).is_verified());
    }

    #[test]
    fn lengths_and_hashes() {
        assert!(matches!(against(&[1.0], &[], 0.0), Verdict::Unknown(_)));
        assert_eq!(fnv64(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv64(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert!(compare_hash(fnv64(b"abcd"), b"abcd", Element::F32).is_verified());
        assert!(!compare_hash(1, b"abcd", Element::F32).is_verified());
    }
}
