//! The committed kernels, in both compilers' dialects, against plain loops.

use counterpoint_ptx::functional::{FlatMemory, Options, Statistics, run};
use counterpoint_ptx::{Kernel, Param};

/// The dialect beside the applications, and one of the corpus.
const DIALECTS: [&str; 2] = ["nvrtc-sm_35", "clang-sm_35"];

fn kernel(name: &str, dialect: &str) -> Kernel {
    let path = format!("{name}/kernel.{dialect}.ptx");
    let beside = format!("{}/../../experiments/applications/{path}", env!("CARGO_MANIFEST_DIR"));
    let packed = |_| crate::common::text(&crate::common::corpus(), &path);
    let source = std::fs::read_to_string(&beside).unwrap_or_else(packed);
    Kernel::compile(&source, Some(name)).unwrap_or_else(|errors| panic!("{path}: {errors:?}"))
}

enum Value {
    Pointer(u64),
    Int(i32),
    Float(f32),
}

fn params(kernel: &Kernel, values: &[Value]) -> Vec<u8> {
    let mut bytes = vec![0; kernel.param_bytes() as usize];
    assert_eq!(kernel.params().len(), values.len());
    for (Param { offset, size, .. }, value) in kernel.params().iter().zip(values) {
        let raw: Vec<u8> = match value {
            Value::Pointer(p) => p.to_le_bytes().to_vec(),
            Value::Int(i) => i.to_le_bytes().to_vec(),
            Value::Float(f) => f.to_le_bytes().to_vec(),
        };
        assert_eq!(raw.len(), *size as usize);
        bytes[*offset as usize..][..raw.len()].copy_from_slice(&raw);
    }
    bytes
}

fn noise(seed: u32, count: usize, low: f32, high: f32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        low + (high - low) * (state >> 8) as f32 / (1 << 24) as f32
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn vecadd_adds() {
    for dialect in DIALECTS {
        let kernel = kernel("vecadd", dialect);
        let n = 1000;
        let (a, b) = (noise(1, n, -1.0, 1.0), noise(2, n, -1.0, 1.0));
        let mut memory = FlatMemory::new(0);
        let pa = memory.push_f32(&a);
        let pb = memory.push_f32(&b);
        let pc = memory.push_f32(&vec![7.0; n + 24]);
        use Value::*;
        let params = params(&kernel, &[Pointer(pa), Pointer(pb), Pointer(pc), Int(n as i32)]);
        run(&kernel, [4, 1, 1], [256, 1, 1], &params, &mut memory, &Options::default()).expect("it runs");
        let c = memory.read_f32(pc, n + 24);
        for i in 0..n {
            assert_eq!(c[i], a[i] + b[i]);
        }
        assert!(c[n..].iter().all(|untouched| *untouched == 7.0));
    }
}

/// Rodinia's constants for a chip of `n` x `n` cells.
struct Chip {
    capacity: f32,
    rx: f32,
    ry: f32,
    rz: f32,
    step: f32,
}

fn chip(n: usize) -> Chip {
    let (thickness, side, conductivity, heat) = (0.0005f32, 0.016f32, 100.0f32, 1.75e6f32);
    let cell = side / n as f32;
    let capacity = 0.5 * heat * thickness * cell * cell;
    let lateral = cell / (2.0 * conductivity * thickness * cell);
    let slope = 3.0e6 / (0.5 * thickness * heat);
    Chip {
        capacity,
        rx: lateral,
        ry: lateral,
        rz: thickness / (conductivity * cell * cell),
        step: 0.001 / slope,
    }
}

fn reference(temperature: &[f32], power: &[f32], n: usize, steps: usize, chip: &Chip) -> Vec<f32> {
    let gain = f64::from(chip.step / chip.capacity);
    let (rx, ry, rz) = (f64::from(1.0 / chip.rx), f64::from(1.0 / chip.ry), 1.0 / chip.rz);
    let mut old = temperature.to_vec();
    let mut new = old.clone();
    for _ in 0..steps {
        for y in 0..n {
            for x in 0..n {
                let at = |y: usize, x: usize| old[y * n + x];
                let here = at(y, x);
                let vertical = at((y + 1).min(n - 1), x) + at(y.saturating_sub(1), x);
                let horizontal = at(y, (x + 1).min(n - 1)) + at(y, x.saturating_sub(1));
                let twice = 2.0 * f64::from(here);
                let sum = f64::from(power[y * n + x])
                    + (f64::from(vertical) - twice) * ry
                    + (f64::from(horizontal) - twice) * rx
                    + f64::from((80.0 - here) * rz);
                new[y * n + x] = (f64::from(here) + gain * sum) as f32;
            }
        }
        std::mem::swap(&mut old, &mut new);
    }
    old
}

fn hotspot(dialect: &str, n: usize, options: &Options) -> (Vec<f32>, Vec<f32>, Statistics) {
    let kernel = kernel("hotspot", dialect);
    assert_eq!(kernel.shared_bytes(), 3 * 1024);
    let chip = chip(n);
    let (temperature, power) = (noise(3, n * n, 320.0, 340.0), noise(4, n * n, 0.0, 0.01));
    let mut memory = FlatMemory::new(0);
    let power_at = memory.push_f32(&power);
    let source_at = memory.push_f32(&temperature);
    let result_at = memory.push_f32(&vec![0.0; n * n]);
    let (steps, inner) = (2usize, 12);
    let tiles = n.div_ceil(inner) as u32;
    use Value::*;
    let params = params(
        &kernel,
        &[
            Int(steps as i32),
            Pointer(power_at),
            Pointer(source_at),
            Pointer(result_at),
            Int(n as i32),
            Int(n as i32),
            Int(steps as i32),
            Int(steps as i32),
            Float(chip.capacity),
            Float(chip.rx),
            Float(chip.ry),
            Float(chip.rz),
            Float(chip.step),
        ],
    );
    let statistics =
        run(&kernel, [tiles, tiles, 1], [16, 16, 1], &params, &mut memory, options).expect("it runs");
    (memory.read_f32(result_at, n * n), reference(&temperature, &power, n, steps, &chip), statistics)
}

#[test]
fn hotspot_matches_plain_loops() {
    for dialect in DIALECTS {
        for n in [64, 512] {
            let (got, want, statistics) = hotspot(dialect, n, &Options::default());
            for (index, (a, b)) in got.iter().zip(&want).enumerate() {
                assert!((a - b).abs() <= 1e-5 * b.abs(), "{dialect} {n} cell {index}: {a} {b}");
            }
            if n == 512 {
                // 43 x 43 CTAs of 8 warps, about 200 instructions each. The numbers are exact, so that a change
                // of the SIMT stack or of guards shows here first.
                let expected = if dialect == DIALECTS[0] { 3_100_988 } else { 2_992_714 };
                assert_eq!(statistics.warp_instructions, expected, "{dialect}");
            }
        }
    }
}

#[test]
fn both_builds_of_the_executor_agree_to_the_bit() {
    let options = Options { baseline: true, ..Options::default() };
    for dialect in DIALECTS {
        let (fast, _, counted) = hotspot(dialect, 64, &Options::default());
        let (plain, _, counted_plain) = hotspot(dialect, 64, &options);
        assert_eq!(counted, counted_plain);
        assert!(fast.iter().zip(&plain).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
