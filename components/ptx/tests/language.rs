//! CUDA C of ours, as two compilers translate it: calls, recursion, tables of functions, printf, local memory.

use counterpoint_ptx::Program;
use counterpoint_ptx::functional::{FlatMemory, Options, Statistics, run};

const DIALECTS: [&str; 3] = ["nvrtc-sm_35", "nvrtc-sm_70", "clang-sm_35"];
const THREADS: u32 = 48;

fn execute(file: &str, kernel: &str, dialect: &str, threads: u32) -> (Vec<u64>, Statistics) {
    let path = format!("{}/tests/language/{file}.{dialect}.ptx", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).expect("the kernels are committed");
    let program =
        Program::compile(&source, Some(kernel)).unwrap_or_else(|errors| panic!("{path}: {errors:#?}"));
    let mut memory = FlatMemory::new(0);
    let input: Vec<u8> = (0..threads as i32).flat_map(|t| value(t).to_le_bytes()).collect();
    let from = memory.push(&input);
    let to = memory.push(&vec![0; 8 * threads as usize]);
    let params: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    let options = Options { limit: 10_000_000, ..Options::default() };
    let statistics = run(&program, [1; 3], [threads, 1, 1], &params, &mut memory, &options)
        .unwrap_or_else(|fault| panic!("{kernel} {dialect}: {fault}"));
    let words = memory.bytes[(to - memory.base) as usize..].chunks_exact(8);
    let words = words.map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    (words.take(threads as usize).collect(), statistics)
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
        let (found, _) = execute("kernel", "calls", dialect, THREADS);
        assert_eq!(found, (0..THREADS as i32).map(want).collect::<Vec<u64>>(), "{dialect}");
    }
}

#[test]
fn printf_writes_thread_after_thread() {
    for dialect in DIALECTS {
        let (found, statistics) = execute("kernel", "prints", dialect, THREADS);
        assert_eq!(found[..4], [3, 3, 3, 0], "{dialect}");
        let want = "thread 0: 0.00 even\nthread 1: 0.50 odd\nthread 2: 1.00 even\n";
        assert_eq!(statistics.output, want, "{dialect}");
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
        let (found, _) = execute("kernel", "memory", dialect, THREADS);
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
        let (found, _) = execute("warp", "together", dialect, 64);
        assert_eq!(found, (0..64).map(want).collect::<Vec<u64>>(), "{dialect}");
    }
}
