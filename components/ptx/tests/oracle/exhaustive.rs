//! Instructions of one narrow source, over all its values: approximations against the host's double precision, rounded by
//! software, and conversions against the interpreter.

use rustc_apfloat::ieee::{BFloat, Double, Half};
use rustc_apfloat::{Float, FloatConvert};

use crate::oracle::alone::{alone, compile, run_alone};
use crate::oracle::scalar::{Class, Opcode, Outcome, evaluate};

const THREADS: usize = 1024;

/// The results of all sources of 16 bits; a source of 32 has a second number in its high half.
fn results(op: &Opcode<'_>, baseline: bool) -> Vec<(u64, u64)> {
    let kernel = compile(&alone(op, 0));
    let wide = op.signature().expect("a function of registers").1[0].bits == 32;
    let all: Vec<u64> = (0..1 << 16).map(|low| if wide { low | (low ^ 0x1234) << 16 } else { low }).collect();
    let launches = all.chunks(THREADS).flat_map(|bits| {
        let inputs: Vec<[u64; 5]> = bits.iter().map(|bits| [*bits, 0, 0, 0, 0]).collect();
        run_alone(&kernel, &inputs, baseline)
    });
    let found: Vec<u64> = launches.map(|words| words[0]).collect();
    all.into_iter().zip(found).collect()
}

/// A function of a number of 16 bits, correctly rounded.
fn rounded<N>(bits: u64, exact: fn(f64) -> f64, flush: bool) -> u64
where
    N: Float + FloatConvert<Double>,
    Double: FloatConvert<N>,
{
    let flushed = |value: N| if flush && value.is_denormal() { N::ZERO.copy_sign(value) } else { value };
    let source = flushed(N::from_bits(bits.into()));
    let wide: Double = source.convert(&mut false).value;
    let value = exact(f64::from_bits(wide.to_bits() as u64));
    if value.is_nan() {
        return 0x7fff;
    }
    flushed(Double::from_bits(value.to_bits().into()).convert(&mut false).value).to_bits() as u64
}

/// `tanh` and `ex2` may be off by 2^-11 and by 2^-9.9 of the result; these are the nearest numbers.
#[test]
fn approximations_of_halves_are_the_nearest_numbers() {
    for (text, exact) in [
        ("tanh.approx.f16", f64::tanh as fn(f64) -> f64),
        ("tanh.approx.f16x2", f64::tanh),
        ("tanh.approx.bf16", f64::tanh),
        ("tanh.approx.bf16x2", f64::tanh),
        ("ex2.approx.f16", f64::exp2),
        ("ex2.approx.f16x2", f64::exp2),
        ("ex2.approx.ftz.bf16", f64::exp2),
        ("ex2.approx.ftz.bf16x2", f64::exp2),
    ] {
        let op = Opcode::new(text);
        let one = |bits: u64| match op.types[0].class {
            Class::Brain | Class::Brains => rounded::<BFloat>(bits, exact, op.has("ftz")),
            _ => rounded::<Half>(bits, exact, false),
        };
        for baseline in [false, true] {
            for (source, found) in results(&op, baseline) {
                let high = if op.types[0].bits == 32 { one(source >> 16) << 16 } else { 0 };
                let want = one(source & 0xffff) | high;
                assert_eq!(found, want, "{text} {source:#x}: {found:#x}, not {want:#x}");
            }
        }
    }
}

#[test]
fn conversions_of_all_narrow_numbers_are_those_of_the_interpreter() {
    for text in [
        "cvt.f32.f16",
        "cvt.f32.bf16",
        "cvt.rn.bf16.f16",
        "cvt.rz.f16.bf16",
        "cvt.rni.s16.f16",
        "cvt.rn.f16x2.e4m3x2",
        "cvt.rn.f16x2.e5m2x2",
        "cvt.rn.satfinite.e4m3x2.f16x2",
        "cvt.rn.satfinite.e5m2x2.f16x2",
    ] {
        let op = Opcode::new(text);
        let result = op.signature().expect("a function of registers").0;
        for (source, found) in results(&op, false) {
            let Outcome::Value(value) = evaluate(&op, &[source], &mut false) else {
                panic!("{text} is a value")
            };
            assert_eq!(found, result.cut(value), "{text} {source:#x}: {found:#x}");
        }
    }
}
