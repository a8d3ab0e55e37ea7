//! Products of every shape and type, by both versions, against sums that are made element by element where
//! [`Product::place`] says.

use super::*;
use crate::isa::narrow::{Brain, E4M3, E5M2, Rounding, Tensor, encode, round};
use crate::program::Row;

/// Rows of a warp: fragments of 64 bits need two for each of eight registers.
const ROWS: usize = 4 * 16;

fn number(element: Element, bits: u64) -> f64 {
    let word = bits as u32;
    match element {
        Element::F16 => decode::<Half>(word, false),
        Element::Bf16 => decode::<Brain>(word, false),
        Element::Tf32 => decode::<Tensor>(word >> 13, false),
        Element::E4m3 => decode::<E4M3>(word, false),
        Element::E5m2 => decode::<E5M2>(word, false),
        Element::F64 => f64::from_bits(bits),
        _ => f64::from(f32::from_bits(word)),
    }
}

fn integer(element: Element, word: u32) -> i64 {
    match element {
        Element::S8 => i64::from(word as i8),
        Element::U8 => i64::from(word as u8),
        Element::S4 => i64::from((word << 28) as i32 >> 28),
        Element::U4 => i64::from(word & 15),
        Element::B1 => i64::from(word & 1),
        _ => i64::from(word as i32),
    }
}

/// The bits of an element of D.
fn element_of_d(product: &Product, c: u64, factors: impl Iterator<Item = (u64, u64)>) -> u64 {
    let [a_type, b_type, c_type, d_type] = product.types;
    if a_type.is_integer() {
        let products = factors.map(|(a, b)| {
            let (a, b) = (integer(a_type, a as u32), integer(b_type, b as u32));
            match product.logic {
                None => a * b,
                Some(Logic::And) => a & b,
                Some(Logic::Xor) => a ^ b,
            }
        });
        let sum = integer(c_type, c as u32) + products.sum::<i64>();
        let bounded = sum.clamp(i32::MIN.into(), i32::MAX.into());
        return u64::from(if product.saturate { bounded as u32 } else { sum as u32 });
    }
    let add = |sum: f64, (a, b)| sum + number(a_type, a) * number(b_type, b);
    let sum = factors.fold(number(c_type, c), add);
    match d_type {
        Element::F16 => encode::<Half>(round::<Half>(sum, Rounding::Nearest), false).into(),
        Element::F64 if sum.is_nan() => 0x7ff8_0000_0000_0000,
        Element::F64 => sum.to_bits(),
        _ if sum.is_nan() => 0x7fff_ffff,
        _ => (sum as f32).to_bits().into(),
    }
}

/// The bits that an element has in the rows.
fn read(site: &MatrixSite, rows: &[Row], part: MatrixOperand, (lane, index): (u32, u32)) -> u64 {
    let element = site.product.element(part);
    let first = site.registers[part as usize][(index / element.packed()) as usize] as usize;
    let lane = lane as usize;
    if element == Element::F64 {
        let word = |at: usize| u64::from(rows[first + at / 32].0[at % 32]);
        return word(2 * lane) | word(2 * lane + 1) << 32;
    }
    let bits = rows[first].0[lane] >> (index % element.packed() * element.bits() % 32);
    u64::from(bits) & (u64::MAX >> (64 - element.bits()))
}

/// Where each element of a matrix is: lane and index, by quarter, row and column.
fn elements(product: &Product, part: MatrixOperand) -> Vec<(u32, u32)> {
    let (rows, columns) = product.extent(part);
    let mut found = vec![(0, 0); (4 * rows * columns) as usize];
    for (lane, index) in (0..32).flat_map(|lane| (0..product.held(part)).map(move |index| (lane, index))) {
        let (row, column, quarter) = product.place(part, lane, index);
        found[((quarter * rows + row) * columns + column) as usize] = (lane, index);
    }
    found
}

fn check(product: Product, seed: &mut u64) {
    let wide = product.types[0] == Element::F64;
    let registers = [MatrixOperand::A, MatrixOperand::B, MatrixOperand::C, MatrixOperand::D].map(|part| {
        let first = part as u16 * 16;
        (0..product.registers(part) as u16).map(|next| first + next * if wide { 2 } else { 1 }).collect()
    });
    let site = MatrixSite { product, registers };
    let mut random = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 32) as u32
    };
    let places = [MatrixOperand::A, MatrixOperand::B, MatrixOperand::C, MatrixOperand::D]
        .map(|part| elements(&product, part));
    // Any bits, among which NaNs win, and bits of exponents near one.
    for tame in [false, true, true] {
        let mask = if tame { 0xbfff_bfff } else { u32::MAX };
        let mut rows = [Row::ZERO; ROWS];
        rows.iter_mut().flat_map(|row| &mut row.0).for_each(|word| {
            *word = random() & mask | if tame && wide { 0x3000_0000 } else { 0 };
        });
        let mut versions = [rows, rows];
        for (rows, version) in versions.iter_mut().zip([baseline as MatrixFunction, best()]) {
            let operands = Operands {
                rows: rows.as_mut_ptr(),
                constants: std::ptr::null(),
                predicates: std::ptr::null(),
            };
            // SAFETY: the site's registers are among the rows.
            unsafe { version(operands, &site) };
        }
        let (m, n, k) = (product.m, product.n, product.k);
        for quarter in 0..product.quarters() {
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let at = ((quarter * m + row) * n + column) as usize;
                let [a, b, c, d] = &places;
                let factors = (0..k).map(|step| {
                    let (left, right) = ((quarter * m + row) * k + step, (quarter * k + step) * n + column);
                    (
                        read(&site, &rows, MatrixOperand::A, a[left as usize]),
                        read(&site, &rows, MatrixOperand::B, b[right as usize]),
                    )
                });
                let want = element_of_d(&product, read(&site, &rows, MatrixOperand::C, c[at]), factors);
                for rows in &versions {
                    let found = read(&site, rows, MatrixOperand::D, d[at]);
                    assert_eq!(found, want, "{product:?}: row {row}, column {column} of {quarter}");
                }
            }
        }
    }
}

#[test]
fn every_product_is_that_of_its_elements() {
    use Element::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let halves = [[F32, F32], [F16, F16], [F32, F16], [F16, F32]];
    let mut seed = 1;
    let mut each = |layout, shapes: &[[u32; 3]], factors: &[[Element; 2]], sums: &[[Element; 2]]| {
        let logics: &[Option<Logic>] =
            if factors[0][0] == B1 { &[Some(Logic::And), Some(Logic::Xor)] } else { &[None] };
        for ((&[m, n, k], &[a, b]), &[c, d]) in shapes
            .iter()
            .flat_map(|shape| factors.iter().map(move |pair| (shape, pair)))
            .flat_map(|it| sums.iter().map(move |sums| (it, sums)))
        {
            for (saturate, &logic) in
                [false, true].into_iter().flat_map(|it| logics.iter().map(move |l| (it, l)))
            {
                let types = [a, b, c, d];
                check(Product { m, n, k, types, layout, saturate, logic }, &mut seed);
            }
        }
    };
    let fragments = [[16, 16, 16], [32, 8, 16], [8, 32, 16]];
    let bytes = [[S8, S8], [U8, U8], [S8, U8], [U8, S8]];
    let nibbles = [[S4, S4], [U4, U4], [S4, U4], [U4, S4]];
    each(Layout::Runs, &fragments, &[[F16, F16]], &halves);
    each(Layout::Runs, &fragments, &[[Bf16, Bf16]], &[[F32, F32]]);
    each(Layout::Runs, &fragments, &bytes, &[[S32, S32]]);
    each(Layout::Runs, &[[16, 16, 8]], &[[Tf32, Tf32]], &[[F32, F32]]);
    each(Layout::Runs, &[[8, 8, 4]], &[[F64, F64]], &[[F64, F64]]);
    each(Layout::Runs, &[[8, 8, 32]], &nibbles, &[[S32, S32]]);
    each(Layout::Runs, &[[8, 8, 128]], &[[B1, B1]], &[[S32, S32]]);
    each(Layout::Warp, &[[16, 8, 8], [16, 8, 16]], &[[F16, F16]], &halves);
    each(Layout::Warp, &[[16, 8, 8], [16, 8, 16]], &[[Bf16, Bf16]], &[[F32, F32]]);
    each(Layout::Warp, &[[16, 8, 4], [16, 8, 8]], &[[Tf32, Tf32]], &[[F32, F32]]);
    let doubles = [[8, 8, 4], [16, 8, 4], [16, 8, 8], [16, 8, 16]];
    each(Layout::Warp, &doubles, &[[F64, F64]], &[[F64, F64]]);
    each(Layout::Warp, &[[8, 8, 16], [16, 8, 16], [16, 8, 32]], &bytes, &[[S32, S32]]);
    each(Layout::Warp, &[[8, 8, 32], [16, 8, 32], [16, 8, 64]], &nibbles, &[[S32, S32]]);
    each(Layout::Warp, &[[8, 8, 128], [16, 8, 128], [16, 8, 256]], &[[B1, B1]], &[[S32, S32]]);
    let small = [[E4m3, E4m3], [E5m2, E5m2], [E4m3, E5m2], [E5m2, E4m3]];
    each(Layout::Warp, &[[16, 8, 16], [16, 8, 32]], &small, &halves);
    for (a_by_rows, b_by_columns) in [(false, false), (false, true), (true, false), (true, true)] {
        each(Layout::Quads { a_by_rows, b_by_columns }, &[[8, 8, 4]], &[[F16, F16]], &halves);
    }
}
