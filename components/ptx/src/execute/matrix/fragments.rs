//! Fragments of matrices, registers of 32 lanes, and the order in which products take their words. [`Product::place`] says
//! where each element is; here whole registers move at once.
//!
//! A line is a row of A or a column of B, and its words hold elements that follow each other along k. Factors are taken word by word:
//! the first words of all lines, then their second ones. C and D are taken by rows.

use std::mem::MaybeUninit;

use crate::isa::matrix::{Layout, MatrixOperand, Product};

/// Lines of a factor, and words of each.
pub(super) fn extent(product: &Product, part: MatrixOperand) -> (usize, usize) {
    let (rows, columns) = product.extent(part);
    let lines = if part == MatrixOperand::A { rows } else { columns };
    (lines as usize, (product.k / product.element(part).packed()) as usize)
}

/// Puts what `of` makes of a factor's words in order.
#[inline(always)]
pub(super) fn lines<'r, W: Copy + 'r, N>(
    product: &Product,
    part: MatrixOperand,
    register: impl Fn(usize) -> &'r [W; 32],
    to: &mut [MaybeUninit<N>],
    of: impl Fn(W) -> N,
) {
    let (lines, words) = extent(product, part);
    let registers = lines * words / 32;
    for index in 0..registers {
        let from = register(index);
        if product.layout == Layout::Warp {
            // Registers of A take turns in the upper and the lower half of sixteen rows.
            let (word, line) = if part == MatrixOperand::A && lines == 16 {
                (index / 2 * 4, index % 2 * 8)
            } else {
                (index * 4, 0)
            };
            spread::<4, W, N>(from, &mut to[word * lines + line..], lines, &of);
        } else {
            let (to, step) = (&mut to[index * lines..], registers * lines);
            match words / registers {
                1 => spread::<1, W, N>(from, to, step, &of),
                2 => spread::<2, W, N>(from, to, step, &of),
                _ => spread::<4, W, N>(from, to, step, &of),
            }
        }
    }
}

/// Splits a register whose lanes hold `EACH` words of a line after each other; these get `step` apart.
#[inline(always)]
fn spread<const EACH: usize, W: Copy, N>(
    from: &[W; 32],
    to: &mut [MaybeUninit<N>],
    step: usize,
    of: impl Fn(W) -> N,
) {
    for word in 0..EACH {
        let to = &mut to[word * step..][..32 / EACH];
        for line in 0..32 / EACH {
            to[line].write(of(from[line * EACH + word]));
        }
    }
}

/// Registers of C or D whose words alternate along a row.
fn woven(product: &Product, part: MatrixOperand) -> usize {
    match product.layout {
        Layout::Warp if product.element(part).packed() == 1 => 2,
        Layout::Warp => 1,
        _ => product.registers(part),
    }
}

/// Puts the words of C in the order of its rows, each by `put`.
#[inline(always)]
pub(super) fn weave<'r, W: Copy + 'r, N>(
    product: &Product,
    register: impl Fn(usize) -> &'r [W; 32],
    to: &mut [N],
    put: impl Fn(&mut N, W),
) {
    let each = woven(product, MatrixOperand::C);
    for group in 0..product.registers(MatrixOperand::C) / each {
        let first = group * each;
        let to = &mut to[32 * first..];
        match each {
            1 => weave_some::<1, W, N>([register(first)], to, &put),
            2 => weave_some::<2, W, N>(std::array::from_fn(|next| register(first + next)), to, &put),
            4 => weave_some::<4, W, N>(std::array::from_fn(|next| register(first + next)), to, &put),
            _ => weave_some::<8, W, N>(std::array::from_fn(|next| register(first + next)), to, &put),
        }
    }
}

#[inline(always)]
fn weave_some<const EACH: usize, W: Copy, N>(from: [&[W; 32]; EACH], to: &mut [N], put: impl Fn(&mut N, W)) {
    let (to, _) = to[..32 * EACH].as_chunks_mut::<EACH>();
    for (lane, to) in to.iter_mut().enumerate() {
        for (to, from) in to.iter_mut().zip(from) {
            put(to, from[lane]);
        }
    }
}

/// Gives the registers of D the words that lie in the order of its rows.
#[inline(always)]
pub(super) fn unweave<W: Copy + Default>(
    product: &Product,
    from: &[W],
    mut put: impl FnMut(usize, &[W; 32]),
) {
    let each = woven(product, MatrixOperand::D);
    for (first, from) in from.chunks_exact(32 * each).enumerate() {
        let mut put = |next: usize, values: &[W; 32]| put(each * first + next, values);
        match each {
            1 => unweave_some::<1, W>(from, &mut put),
            2 => unweave_some::<2, W>(from, &mut put),
            4 => unweave_some::<4, W>(from, &mut put),
            _ => unweave_some::<8, W>(from, &mut put),
        }
    }
}

#[inline(always)]
fn unweave_some<const EACH: usize, W: Copy + Default>(from: &[W], mut put: impl FnMut(usize, &[W; 32])) {
    let (from, _) = from[..32 * EACH].as_chunks::<EACH>();
    for next in 0..EACH {
        let mut values = [W::default(); 32];
        for lane in 0..32 {
            values[lane] = from[lane][next];
        }
        put(next, &values);
    }
}
