//! Matrices of small integers in every type, their product by integers, and a kernel of one warp to compute it.

use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Options, run};

/// A small number in a type, as its bits.
pub(crate) fn bits_of(kind: &str, value: i64) -> u64 {
    let float = value as f32;
    match kind {
        "f16" => {
            // Integers below 2048 are exact: sign, exponent and fraction of single precision, cut.
            let bits = float.to_bits();
            let exponent = (bits >> 23 & 0xff) as i32 - 127 + 15;
            let magnitude = if value == 0 { 0 } else { (exponent as u32) << 10 | (bits >> 13 & 0x3ff) };
            u64::from(bits >> 31 << 15 | magnitude)
        }
        "bf16" => u64::from(float.to_bits() >> 16),
        "tf32" | "f32" => u64::from(float.to_bits()),
        "f64" => (value as f64).to_bits(),
        "e4m3" => small_float(value, 3, 7),
        "e5m2" => small_float(value, 2, 15),
        "s8" | "u8" => value as u64 & 0xff,
        "s4" | "u4" => value as u64 & 0xf,
        "b1" => value as u64 & 1,
        _ => value as u64 & 0xffff_ffff,
    }
}

/// A small integer in eight bits.
fn small_float(value: i64, fraction: u32, bias: u32) -> u64 {
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let exponent = magnitude.ilog2();
    let below = (magnitude << fraction >> exponent) & ((1 << fraction) - 1);
    (u64::from(value < 0)) << 7 | u64::from(exponent + bias) << fraction | below
}

pub(crate) fn value_of(kind: &str, bits: u64) -> i64 {
    match kind {
        "f16" => {
            (-2048..2048).find(|value| bits_of("f16", *value) == bits & 0xffff).expect("a small integer")
        }
        "f32" => f32::from_bits(bits as u32) as i64,
        "f64" => f64::from_bits(bits) as i64,
        _ => i64::from(bits as u32 as i32),
    }
}

pub(crate) fn width(kind: &str) -> usize {
    match kind {
        "f64" => 64,
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        "b1" => 1,
        _ => 8,
    }
}

/// A matrix of small numbers that its type has.
pub(crate) fn numbers(kind: &str, rows: usize, columns: usize, seed: usize) -> Vec<Vec<i64>> {
    let (low, range) = match kind {
        "u8" => (0, 256),
        "s8" => (-128, 256),
        "u4" => (0, 16),
        "s4" => (-8, 16),
        "b1" => (0, 2),
        "e4m3" | "e5m2" => (-3, 7),
        _ => (-7, 15),
    };
    let number = |row: usize, column: usize| {
        let mixed = (row * 131 + column * 29 + seed * 7919).wrapping_mul(2_654_435_761) >> 7;
        low + (mixed % range) as i64
    };
    (0..rows).map(|row| (0..columns).map(|column| number(row, column)).collect()).collect()
}

/// The bytes of a matrix, row by row or column by column.
pub(crate) fn bytes(kind: &str, matrix: &[Vec<i64>], by_rows: bool) -> Vec<u8> {
    let (rows, columns) = (matrix.len(), matrix[0].len());
    let each: Vec<i64> = if by_rows {
        matrix.iter().flatten().copied().collect()
    } else {
        (0..columns)
            .flat_map(|column| (0..rows).map(move |row| (row, column)))
            .map(|(r, c)| matrix[r][c])
            .collect()
    };
    let width = width(kind);
    let mut bytes = vec![0; (each.len() * width).div_ceil(8)];
    for (index, value) in each.iter().enumerate() {
        let bits = bits_of(kind, *value);
        for bit in 0..width {
            bytes[(index * width + bit) / 8] |= ((bits >> bit & 1) as u8) << ((index * width + bit) % 8);
        }
    }
    bytes
}

pub(crate) fn product(a: &[Vec<i64>], b: &[Vec<i64>], c: &[Vec<i64>], logic: &str) -> Vec<Vec<i64>> {
    let term = |x: i64, y: i64| match logic {
        "and" => x & y,
        "xor" => x ^ y,
        _ => x * y,
    };
    let element = |row: usize, column: usize| {
        c[row][column] + (0..b.len()).map(|k| term(a[row][k], b[k][column])).sum::<i64>()
    };
    (0..a.len()).map(|row| (0..b[0].len()).map(|column| element(row, column)).collect()).collect()
}

/// Runs a kernel of one warp on an input; gives the bytes of its output.
pub(crate) fn run_warp(body: &str, input: &[u8], output: usize) -> Vec<u8> {
    let source = format!(
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 x, .param .u64 y)\n{{\n\
         .reg .pred %p<4>; .reg .b32 %r<40>; .reg .b32 %a<8>, %b<8>, %c<8>, %d<8>; .reg .f32 %fc<8>, %fd<8>;\n\
         .reg .f64 %ga<8>, %gb<8>, %gc<4>, %gd<4>; .reg .b64 %in, %out, %q<12>; .shared .align 16 .b8 tile[2048];\n\
         ld.param.u64 %in, [x]; ld.param.u64 %out, [y]; mov.u32 %r0, %laneid; and.b32 %r1, %r0, 3; shr.u32 %r2, %r0, 2;\n\
         {body}\nret;\n}}\n"
    );
    let kernel = Kernel::compile(&source, None).unwrap_or_else(|errors| panic!("{errors:#?}\n{source}"));
    let mut memory = FlatMemory::new(0);
    let from = memory.push(input);
    let to = memory.push(&vec![0xee; output]);
    let parameters: Vec<u8> = [from, to].into_iter().flat_map(u64::to_le_bytes).collect();
    run(&kernel, [1; 3], [32, 1, 1], &parameters, &mut memory, &Options::default())
        .unwrap_or_else(|error| panic!("{error}\n{source}"));
    memory.bytes[(to - memory.base) as usize..][..output].to_vec()
}

/// Numbers of a matrix that lies row by row or column by column.
pub(crate) fn read(kind: &str, bytes: &[u8], rows: usize, columns: usize, by_rows: bool) -> Vec<Vec<i64>> {
    let size = width(kind) / 8;
    let element = |row: usize, column: usize| {
        let at = size * if by_rows { row * columns + column } else { column * rows + row };
        let bits = bytes[at..at + size].iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        value_of(kind, bits)
    };
    (0..rows).map(|row| (0..columns).map(|column| element(row, column)).collect()).collect()
}

pub(crate) fn list(name: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|index| format!("{name}{index}")).collect();
    format!("{{{}}}", names.join(", "))
}
