//! Approximations over dense sweeps: within the manual's error, and the same bits on every machine.
//!
//! The exact value is taken from the host's double precision, whose error does not show at these bounds.

use Bound::{Absolute, Relative, Units};

use crate::oracle::alone::{alone, compile, run_alone};
use crate::oracle::scalar::Opcode;

/// Tolerance of a result, from the exact value.
#[derive(Clone, Copy)]
enum Bound {
    /// Times the exact value.
    Relative(f64),
    Absolute(f64),
    /// Units in the last place of single precision.
    Units(f64),
}

/// One sweep: the instruction, the bits that its source goes from and to, the exact value, how far a result may be
/// from it, and a hash of all results.
type Sweep = (&'static str, f32, f32, fn(f64) -> f64, Bound, u64);

const SWEEPS: [Sweep; 20] = [
    // 9.7.3.10: 2^-23 from 1 to 2; the other exponents follow from it.
    ("rcp.approx.f32", 1.0, 2.0, inverse, Absolute(R23), 0xee71_586b_f04a_f6a1),
    ("rcp.approx.f32", 1e-37, 1e37, inverse, Relative(R23), 0x2ac3_980a_20fd_1342),
    ("rcp.approx.ftz.f32", -1e-37, -1e37, inverse, Relative(R23), 0x2be3_968c_2323_0942),
    ("sqrt.approx.f32", 1e-44, 3e38, f64::sqrt, Relative(R23), 0x9763_6a33_f8e3_a5e8),
    ("sqrt.approx.ftz.f32", 1e-37, 3e38, f64::sqrt, Relative(R23), 0x998d_6b87_2ea8_a12d),
    ("rsqrt.approx.f32", 1e-44, 3e38, inverse_root, Relative(R22_9), 0x92ea_5d41_fc15_0538),
    ("rsqrt.approx.ftz.f32", 1.0, 4.0, inverse_root, Relative(R22_9), 0x9cea_d55c_f463_2171),
    ("sin.approx.f32", 1e-6, 6.2831855, f64::sin, Absolute(R20_5), 0xa51f_b13d_a4e0_fd4e),
    ("sin.approx.ftz.f32", -1e-6, -6.2831855, f64::sin, Absolute(R20_5), 0x6140_3aa5_5590_e94e),
    ("sin.approx.f32", 6.2831855, 314.15927, f64::sin, Absolute(R14_7), 0x3f2e_1115_002b_8575),
    ("cos.approx.f32", 1e-6, 6.2831855, f64::cos, Absolute(R20_5), 0x2307_a041_d58c_451d),
    ("cos.approx.ftz.f32", -6.2831855, -314.15927, f64::cos, Absolute(R14_7), 0x0d16_7f7f_c801_531d),
    ("lg2.approx.f32", 0.5, 2.0, f64::log2, Absolute(R22), 0xd616_154e_777e_7906),
    ("lg2.approx.f32", 2.0, 3e38, f64::log2, Relative(R22), 0x9282_c907_1df0_4382),
    ("lg2.approx.ftz.f32", 1.2e-38, 0.5, f64::log2, Relative(R22), 0xce47_9000_e5f4_3e70),
    ("ex2.approx.f32", 1e-6, 127.0, f64::exp2, Relative(R22), 0xc84c_4a81_ca09_c2a1),
    ("ex2.approx.ftz.f32", -1e-6, -126.0, f64::exp2, Relative(R22), 0x3ac2_4b45_c6b8_89c9),
    ("tanh.approx.f32", 1e-6, 20.0, f64::tanh, Relative(R11), 0x30d5_6465_b793_6836),
    ("div.approx.f32", 1e-37, 1e37, quotient, Units(2.0), 0x7fcd_e72a_9a3d_4bbe),
    ("div.full.ftz.f32", -1e-37, -1e37, quotient, Units(2.0), 0x7e5d_2e48_2e6a_c9be),
];

fn inverse(x: f64) -> f64 {
    1.0 / x
}

fn inverse_root(x: f64) -> f64 {
    1.0 / x.sqrt()
}

fn quotient(x: f64) -> f64 {
    DIVIDEND / x
}

const R23: f64 = 1.0 / (1 << 23) as f64;
const R22: f64 = 1.0 / (1 << 22) as f64;
const R11: f64 = 1.0 / (1 << 11) as f64;
/// 2^-22.9, 2^-20.5, 2^-14.7.
const R22_9: f64 = 1.277_732e-7;
const R20_5: f64 = 6.743_495e-7;
const R14_7: f64 = 3.757_029e-5;

/// The dividend of the sweeps of `div`.
const DIVIDEND: f64 = 0.7;

const THREADS: u32 = 1024;

const LAUNCHES: u32 = 8;

/// The results of a sweep, each behind its source.
fn results(sweep: &Sweep, baseline: bool) -> Vec<(f32, f32)> {
    let (opcode, first, last, ..) = sweep;
    let kernel = compile(&alone(&Opcode::new(opcode), 0));
    let (first, last) = (first.to_bits(), last.to_bits());
    let step = (last - first) / (THREADS * LAUNCHES);
    let mut all = Vec::new();
    for launch in 0..LAUNCHES {
        let bits: Vec<u32> = (0..THREADS).map(|thread| first + step * (launch * THREADS + thread)).collect();
        let two = opcode.starts_with("div");
        let inputs: Vec<[u64; 5]> = bits
            .iter()
            .map(|bits| match two {
                true => [u64::from((DIVIDEND as f32).to_bits()), u64::from(*bits), 0, 0, 0],
                false => [u64::from(*bits), 0, 0, 0, 0],
            })
            .collect();
        let found = run_alone(&kernel, &inputs, baseline);
        let floats = found.iter().map(|words| f32::from_bits(words[0] as u32));
        all.extend(bits.iter().map(|bits| f32::from_bits(*bits)).zip(floats));
    }
    all
}

/// FNV-1a over the bits of all results.
fn hash(results: &[(f32, f32)]) -> u64 {
    let bytes = results.iter().flat_map(|(_, value)| value.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn approximations_are_as_near_as_the_manual_says() {
    let mut wrong = Vec::new();
    for sweep in &SWEEPS {
        let (opcode, _, _, exact_of, bound, _) = sweep;
        for (source, value) in results(sweep, false) {
            let exact = match opcode.starts_with("div") {
                // The dividend is rounded to single precision.
                true => exact_of(f64::from(source)) / DIVIDEND * f64::from(DIVIDEND as f32),
                false => exact_of(f64::from(source)),
            };
            let error = (f64::from(value) - exact).abs();
            let limit = match *bound {
                Bound::Absolute(limit) => limit,
                Bound::Relative(limit) => limit * exact.abs(),
                Bound::Units(units) => units * f64::from((exact.abs() as f32).next_up() - exact.abs() as f32),
            };
            if error > limit {
                wrong.push(format!("{} {source:e}: {value:e}, not {exact:e}", opcode));
                break;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn approximations_have_the_same_bits_everywhere() {
    let mut wrong = Vec::new();
    for (index, sweep) in SWEEPS.iter().enumerate() {
        let found = [hash(&results(sweep, false)), hash(&results(sweep, true))];
        if found != [sweep.5; 2] {
            wrong.push(format!("sweep {index}, {}: {found:#018x?}", sweep.0));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
