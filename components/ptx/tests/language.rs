//! CUDA C of ours, as two compilers translate it for old and new architectures: calls, recursion, tables of functions,
//! printf, local memory, and the intrinsics of bits and of rounding.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, Statistics, run};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// The last two are by clang 14 and clang 19.
const DIALECTS: [&str; 4] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_35", "clang-sm_90"];
const THREADS: u32 = 48;

fn execute(file: &str, name: &str, dialect: &str, threads: u32) -> (Vec<u64>, Statistics, String) {
    let path = format!("{}/tests/language/{file}.{dialect}.ptx", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).expect("the kernels are committed");
    let kernel = Kernel::compile(&source, Some(name)).unwrap_or_else(|errors| panic!("{path}: {errors:#?}"));
    let mut memory = FlatMemory::new(0);
    let input: Vec<u8> = (0..threads as i32).flat_map(|t| value(t).to_le_bytes()).collect();
    let from = memory.push(&input);
    let to = memory.push(&vec![0; 8 * threads as usize]);
    let params: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { limit: 10_000_000, ..Options::default() };
    let statistics = run(&kernel, [1; 3], [threads, 1, 1], &params, &mut memory, &options)
        .unwrap_or_else(|fault| panic!("{name} {dialect}: {fault}"));
    let words = memory.bytes[(to - memory.base) as usize..].chunks_exact(8);
    let words = words.map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    let found = words.take(threads as usize).collect();
    (found, statistics, memory.take_printed())
}

fn value(thread: i32) -> i32 {
    thread * 5 + 3
}

fn gcd(a: i32, b: i32) -> i32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[test]
fn calls_recursion_structures_and_tables_of_functions() {
    let fibonacci = [0u64, 1, 1, 2, 3, 5, 8, 13];
    let want = |t: i32| {
        let v = value(t);
        let mut sum = gcd(v, 36) as u64;
        if t & 1 != 0 {
            sum += fibonacci[t as usize & 7] << 8;
        }
        sum += ((3 * t) as u64) << 24 | u64::from(b'b') << 40;
        let (a, b) = (t, 7);
        sum + (u64::from([a + b, a * b, a - b][v as usize % 3] as u16) << 48)
    };
    for dialect in DIALECTS {
        let (found, _, _) = execute("kernel", "calls", dialect, THREADS);
        assert_eq!(found, (0..THREADS as i32).map(want).collect::<Vec<u64>>(), "{dialect}");
    }
}

#[test]
fn printf_writes_thread_after_thread() {
    for dialect in DIALECTS {
        let (found, _, printed) = execute("kernel", "prints", dialect, THREADS);
        assert_eq!(found[..4], [3, 3, 3, 0], "{dialect}");
        let want = "thread 0: 0.00 even\nthread 1: 0.50 odd\nthread 2: 1.00 even\n";
        assert_eq!(printed, want, "{dialect}");
    }
}

#[test]
fn local_memory_constants_and_initial_values() {
    let primes = [2, 3, 5, 7, 11, 13, 17, 19];
    let want = |t: i32| {
        let stack: Vec<i32> = (0..16).map(|i| value(t) * primes[i & 7] + i as i32).collect();
        let sum: i32 = (0..16).map(|i| stack[(i * value(t)) as usize & 15] * i).sum();
        u64::from(sum as u32) | u64::from((2.5 * t as f32) as u32) << 32
    };
    for dialect in DIALECTS {
        let (found, _, _) = execute("kernel", "memory", dialect, THREADS);
        assert_eq!(found, (0..THREADS as i32).map(want).collect::<Vec<u64>>(), "{dialect}");
    }
}

#[test]
fn sums_scans_votes_and_barriers_that_reduce() {
    let values: Vec<i32> = (0..64).map(value).collect();
    let sum_of = |warp: usize| values[32 * warp..][..32].iter().sum::<i32>();
    let odd = |values: &[i32]| values.iter().filter(|v| *v & 1 != 0).count() as i32;
    let want = |t: usize| {
        let (warp, lane) = (t / 32, t % 32);
        let prefix: i32 = values[32 * warp..=t].iter().sum();
        let extra = if lane < 8 { 8 + values[t ^ 1] } else { 0 };
        let low =
            (sum_of(warp) + extra) * 3 + prefix + odd(&values[32 * warp..][..32]) + 3 + 8 * odd(&values);
        u64::from(low as u32) | u64::from((sum_of(0) + sum_of(1) + 64) as u32) << 32
    };
    for dialect in &DIALECTS[..2] {
        let (found, _, _) = execute("warp", "together", dialect, 64);
        assert_eq!(found, (0..64).map(want).collect::<Vec<u64>>(), "{dialect}");
    }
}

#[test]
fn reductions_of_a_warp_and_intrinsics_of_bits() {
    let values: Vec<i32> = (0..32).map(value).collect();
    let hashed = |v: i32| (v as u32).wrapping_mul(2_654_435_761);
    let sum: i32 = values.iter().sum();
    let most = values.iter().max().copied().unwrap_or(0);
    let least = values.iter().map(|v| hashed(*v)).min().unwrap_or(0);
    let xor = values.iter().fold(0, |all, v| all ^ hashed(*v));
    let (and, or) = values.iter().fold((!0, 0), |(and, or), v| (and & (*v as u32 | 1), or | *v as u32));
    let low = (sum as u32).wrapping_add(3 * most as u32).wrapping_add(least.wrapping_mul(5))
        ^ xor.wrapping_add(and).wrapping_add(or);
    let want = |t: i32| {
        let v = value(t);
        let (u, both) = (hashed(v), |high: u32, low: u32| u64::from(high) << 32 | u64::from(low));
        let funnel = ((both(v as u32, u) << t) >> 32) as u32 ^ (both(u, v as u32) >> (t + 20).min(32)) as u32;
        let selector = 0x5140 + t as u32;
        let byte =
            |place: u32| (both(v as u32, u) >> (8 * (selector >> (4 * place) & 7)) & 0xff) << (8 * place);
        let picked = (0..4).map(byte).sum::<u64>() as u32 ^ u.reverse_bits();
        let products = [
            ((i64::from(u as i32) * i64::from(v * 1000)) >> 32) as u32,
            ((u64::from(u) * u64::from(u)) >> 32) as u32,
            (v * t) as u32,
            u.abs_diff(v as u32) + t as u32,
            v.abs_diff(t) + 7,
        ];
        let counts = u.count_ones()
            + v.leading_zeros()
            + u.trailing_zeros()
            + 1
            + u.count_ones()
            + u64::from(u).leading_zeros()
            + ((v + t) / 2) as u32;
        let parts = products.into_iter().chain([picked, counts]);
        let high = parts.fold(funnel, u32::wrapping_add);
        u64::from(high) << 32 | u64::from(low)
    };
    let (found, _, _) = execute("modern", "bits", "nvrtc-sm_90", 32);
    assert_eq!(found, (0..32).map(want).collect::<Vec<u64>>());
}

#[test]
fn intrinsics_of_rounding() {
    use Round::{TowardNegative as Down, TowardPositive as Up, TowardZero as Zero};
    let single = |value: f32| Single::from_bits(u128::from(value.to_bits()));
    let double = |value: f64| Double::from_bits(u128::from(value.to_bits()));
    let want = |t: i32| {
        let (v, exact) = (value(t), &mut false);
        let (x, y) = (v as f32 + 0.1, t as f32 + 0.7);
        let (a, b) = (f64::from(v) + 0.1, f64::from(t) + 0.7);
        let (sx, sy, da, db) = (single(x), single(y), double(a), double(b));
        let word = |value: Single| value.to_bits() as u32;
        let long = |value: Double| value.to_bits() as u64;
        let mut low = word(sx.add_r(sy, Zero).value) ^ word(sx.mul_r(sy, Up).value).wrapping_mul(3);
        low ^= word(sx.mul_add_r(sy, -sx, Down).value)
            .wrapping_add(word(sx.div_r(sy, Up).value))
            .wrapping_add(word(single(1.0).div_r(sy, Down).value));
        low = low
            .wrapping_add((x * 10.0).round_ties_even() as u32)
            .wrapping_add(y.ceil() as u32)
            .wrapping_add((x - 50.0).clamp(0.0, 1.0).to_bits());
        let mut high = long(da.add_r(db, Up).value) ^ long(da.mul_r(db, Down).value);
        high = high.wrapping_add(long(da.mul_add_r(db, -da, Zero).value) ^ long(da.div_r(db, Down).value));
        let narrow: Single = da.convert_r(Up, exact).value;
        high = high
            .wrapping_add((a * -1e6).floor() as i64 as u64)
            .wrapping_add(u64::from(word(narrow)))
            .wrapping_add(((f64::from(-1 / (t + 1)).to_bits() as i64) >> 32) as u64);
        high.wrapping_mul(31).wrapping_add(u64::from(low))
    };
    let (found, _, _) = execute("modern", "rounding", "nvrtc-sm_90", 32);
    assert_eq!(found, (0..32).map(want).collect::<Vec<u64>>());
}
