//! Products of matrices: the registers of all lanes are the operands.
//!
//! Arithmetic: a product of two floats is exact, and the sum of all products and C's element is made in double precision, in the
//! order of k beginning with C, and rounded once, to nearest. The hardware's sums are less exact: it cuts addends off
//! (Fasi et al., PeerJ Computer Science 2021). Integers wrap around, or are clamped with `.satfinite`; their sums are exact.
//!
//! As the table's operations, products are compiled for any host and for one with AVX2 and FMA.

mod fragments;
mod sums;
#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;

use super::lanes::{self, Operands};
use super::{ExecError, Warp, fault};
use crate::isa::matrix::{Element, Layout, Logic, MatrixOperand, Product};
use crate::isa::narrow::{Half, decode};
use crate::program::{Instruction, Kernel, MatrixSite};

impl Warp {
    pub(super) fn multiply_matrices(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        if lanes != u32::MAX {
            let message =
                format!("a product of matrices needs all lanes of the warp, and {:#010x} are here", lanes);
            return Err(fault(instruction, lanes, message));
        }
        let site = &kernel.matrices[instruction.offset as usize];
        // SAFETY: `issue` asserted that the warp has the kernel's rows.
        unsafe { (self.products)(self.operands(kernel), site) };
        Ok(())
    }
}

/// Multiplies the matrices of a site.
pub(super) type MatrixFunction = unsafe fn(Operands, &MatrixSite);

/// The best version for this host.
pub(super) fn best() -> MatrixFunction {
    #[cfg(target_arch = "x86_64")]
    if lanes::is_extended() {
        return with_avx2;
    }
    baseline
}

/// The version for any host.
///
/// # Safety
/// See [`Operands::row`]; the registers of the site must fit.
pub(super) unsafe fn baseline(operands: Operands, site: &MatrixSite) {
    multiply::<false>(&mut Fragments { operands, site });
}

/// # Safety
/// As for the baseline, and the host must have the extensions.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn with_avx2(operands: Operands, site: &MatrixSite) {
    multiply::<true>(&mut Fragments { operands, site });
}

/// Words of the largest matrix, of 32 lines of sixteen halves.
const WORDS: usize = 256;
/// Numbers in the largest factor of floats, of 32 lines of sixteen or of sixteen lines of 32.
const FLOATS: usize = 512;
/// Numbers in the largest factor of integers, of sixteen lines of 64.
const INTEGERS: usize = 1024;
/// Elements of the largest C and D.
const SUMS: usize = 256;

/// The registers of a product in a warp.
struct Fragments<'a> {
    operands: Operands,
    site: &'a MatrixSite,
}

impl Fragments<'_> {
    #[inline(always)]
    fn narrow(&self, part: MatrixOperand, register: usize) -> &[u32; 32] {
        let operand = self.site.registers[part as usize][register];
        // SAFETY: who made the fragments promises that the operands are there.
        unsafe { &(*self.operands.row(operand)).0 }
    }

    #[inline(always)]
    fn wide(&self, part: MatrixOperand, register: usize) -> &[u64; 32] {
        let operand = self.site.registers[part as usize][register];
        // SAFETY: as above; a register of 64 bits has two rows, which are aligned to 64 bytes.
        unsafe { &*self.operands.row(operand).cast() }
    }

    #[inline(always)]
    fn set_narrow(&mut self, register: usize, values: &[u32; 32]) {
        let register = self.site.registers[MatrixOperand::D as usize][register];
        // SAFETY: as above, for registers, which results are.
        unsafe { (*self.operands.rows.add(register as usize)).0 = *values };
    }

    #[inline(always)]
    fn set_wide(&mut self, register: usize, values: &[u64; 32]) {
        let register = self.site.registers[MatrixOperand::D as usize][register];
        // SAFETY: as above, for two rows.
        unsafe { *self.operands.rows.add(register as usize).cast() = *values };
    }

    /// The words of a factor, in order.
    #[inline(always)]
    fn words<'t>(&self, part: MatrixOperand, to: &'t mut [MaybeUninit<u32>; WORDS]) -> &'t [u32] {
        let product = &self.site.product;
        let (lines, words) = fragments::extent(product, part);
        fragments::lines(product, part, |index| self.narrow(part, index), to, |word| word);
        // SAFETY: all words have been put there.
        unsafe { to[..lines * words].assume_init_ref() }
    }
}

#[inline(always)]
fn multiply<const FUSES: bool>(fragments: &mut Fragments<'_>) {
    match fragments.site.product {
        Product { layout: Layout::Quads { .. }, .. } => quarters::<FUSES>(fragments),
        Product { types: [Element::F64, ..], .. } => doubles(fragments),
        Product { logic: Some(logic), .. } => bits(fragments, logic),
        Product { types: [element, ..], .. } if element.is_integer() => integers::<FUSES>(fragments),
        _ => floats::<FUSES>(fragments),
    }
}

/// Products of floats of at most 32 bits, whose sums are in double precision.
#[inline(always)]
fn floats<const FUSES: bool>(fragments: &mut Fragments<'_>) {
    let product = &fragments.site.product;
    let (m, n, k) = (product.m as usize, product.n as usize, product.k as usize);
    let packed = product.types[0].packed() as usize;
    let mut words = [MaybeUninit::uninit(); WORDS];
    let (mut a, mut b) = ([MaybeUninit::uninit(); FLOATS], [MaybeUninit::uninit(); FLOATS]);
    let mut sums = [MaybeUninit::uninit(); SUMS];
    sums::floats(product.types[0], fragments.words(MatrixOperand::A, &mut words), &mut a);
    sums::floats(product.types[1], fragments.words(MatrixOperand::B, &mut words), &mut b);
    let register = |index: usize| fragments.narrow(MatrixOperand::C, index);
    if product.element(MatrixOperand::C) == Element::F16 {
        let mut pairs = [0; SUMS / 2];
        fragments::weave(product, register, &mut pairs, |to, word| *to = word);
        for (to, word) in sums.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            to[0].write(decode::<Half>(word, false));
            to[1].write(decode::<Half>(word >> 16, false));
        }
    } else {
        fragments::weave(product, register, &mut sums, |to, word| {
            to.write(f64::from(f32::from_bits(word)));
        });
    }
    // SAFETY: all numbers of the factors, and all elements of C, have been put there.
    let (a, b, sums) = unsafe {
        (a[..m * k].assume_init_ref(), b[..n * k].assume_init_ref(), sums[..m * n].assume_init_mut())
    };
    sums::multiply::<4, f64, f64>(a, b, packed, sums, [m, n], sums::add::<FUSES>);
    let mut words = [0; SUMS];
    if product.element(MatrixOperand::D) == Element::F16 {
        for (word, [low, high]) in words.iter_mut().zip(sums.as_chunks::<2>().0) {
            *word = sums::half(*low) | sums::half(*high) << 16;
        }
        fragments::unweave(product, &words[..m * n / 2], |index, row| fragments.set_narrow(index, row));
    } else {
        for (word, sum) in words.iter_mut().zip(sums) {
            *word = sums::single(*sum);
        }
        fragments::unweave(product, &words[..m * n], |index, row| fragments.set_narrow(index, row));
    }
}

/// Products in double precision, each rounded before it is added.
#[inline(always)]
fn doubles(fragments: &mut Fragments<'_>) {
    let product = &fragments.site.product;
    let (m, n, k) = (product.m as usize, product.n as usize, product.k as usize);
    let (mut a, mut b) = ([MaybeUninit::uninit(); FLOATS], [MaybeUninit::uninit(); FLOATS]);
    let mut sums = [MaybeUninit::uninit(); SUMS];
    for (part, to) in [(MatrixOperand::A, &mut a), (MatrixOperand::B, &mut b)] {
        fragments::lines(product, part, |index| fragments.wide(part, index), to, f64::from_bits);
    }
    let register = |index: usize| fragments.wide(MatrixOperand::C, index);
    fragments::weave(product, register, &mut sums, |to, word| {
        to.write(f64::from_bits(word));
    });
    // SAFETY: all numbers of the factors, and all elements of C, have been put there.
    let (a, b, sums) = unsafe {
        (a[..m * k].assume_init_ref(), b[..n * k].assume_init_ref(), sums[..m * n].assume_init_mut())
    };
    sums::multiply::<4, f64, f64>(a, b, 1, sums, [m, n], sums::add::<false>);
    let mut words = [0; SUMS];
    for (word, sum) in words.iter_mut().zip(sums) {
        *word = sums::double(*sum);
    }
    fragments::unweave(product, &words[..m * n], |index, row| fragments.set_wide(index, row));
}

/// Products of integers. Single precision holds their sums exactly: they stay below 2^22, and C is added behind.
#[inline(always)]
fn integers<const FUSES: bool>(fragments: &mut Fragments<'_>) {
    let product = &fragments.site.product;
    let (m, n, k) = (product.m as usize, product.n as usize, product.k as usize);
    let packed = product.types[0].packed() as usize;
    let mut words = [MaybeUninit::uninit(); WORDS];
    let (mut a, mut b) = ([MaybeUninit::uninit(); INTEGERS], [MaybeUninit::uninit(); INTEGERS]);
    sums::integers(product.types[0], fragments.words(MatrixOperand::A, &mut words), &mut a);
    sums::integers(product.types[1], fragments.words(MatrixOperand::B, &mut words), &mut b);
    // SAFETY: all numbers have been put there.
    let (a, b) = unsafe { (a[..m * k].assume_init_ref(), b[..n * k].assume_init_ref()) };
    let mut sums = [0.0; SUMS];
    sums::multiply::<8, f32, f32>(a, b, packed, &mut sums, [m, n], sums::add_integers::<FUSES>);
    // SAFETY: the sums are integers that fit.
    add_to_c(fragments, &sums.map(|sum| unsafe { sum.to_int_unchecked() }));
}

/// Products of bits: the number of ones in the combined words.
#[inline(always)]
fn bits(fragments: &mut Fragments<'_>, logic: Logic) {
    let product = &fragments.site.product;
    let (m, n) = (product.m as usize, product.n as usize);
    let (mut a, mut b) = ([MaybeUninit::uninit(); WORDS], [MaybeUninit::uninit(); WORDS]);
    let a = fragments.words(MatrixOperand::A, &mut a);
    let b = fragments.words(MatrixOperand::B, &mut b);
    let mut sums = [0; SUMS];
    let ones = |word: u32| word.count_ones() as i32;
    match logic {
        Logic::And => {
            sums::multiply::<8, u32, i32>(a, b, 1, &mut sums, [m, n], |sum, a, b| sum + ones(a & b))
        }
        Logic::Xor => {
            sums::multiply::<8, u32, i32>(a, b, 1, &mut sums, [m, n], |sum, a, b| sum + ones(a ^ b))
        }
    }
    add_to_c(fragments, &sums);
}

/// Adds sums of integers to the elements of C.
#[inline(always)]
fn add_to_c(fragments: &mut Fragments<'_>, sums: &[i32; SUMS]) {
    let product = &fragments.site.product;
    let mut results = [[0; 32]; 8];
    fragments::unweave(product, &sums[..(product.m * product.n) as usize], |index, sums| {
        let c = fragments.narrow(MatrixOperand::C, index);
        for lane in 0..32 {
            let c = c[lane] as i32;
            let sum =
                if product.saturate { c.saturating_add(sums[lane]) } else { c.wrapping_add(sums[lane]) };
            results[index][lane] = sum as u32;
        }
    });
    for (index, values) in results.iter().enumerate().take(product.registers(MatrixOperand::D)) {
        fragments.set_narrow(index, values);
    }
}

/// The four products of halves with eight rows and columns, each by a quarter of the warp.
#[inline(always)]
fn quarters<const FUSES: bool>(fragments: &mut Fragments<'_>) {
    let product = &fragments.site.product;
    let halves = |part, lane: u32, index: u32| {
        let packed = product.element(part).packed();
        fragments.narrow(part, (index / packed) as usize)[lane as usize] >> (16 * (index % packed))
    };
    let places = |part| {
        (0..32).flat_map(move |lane| (0..product.held(part)).map(move |index| (lane, index))).map(
            move |(lane, index)| {
                let (row, column, quarter) = product.place(part, lane, index);
                ((lane, index), (row as usize, column as usize, quarter as usize))
            },
        )
    };
    let (mut a, mut b, mut sums) = ([[0.0; 32]; 4], [[0.0; 32]; 4], [[0.0; 64]; 4]);
    for ((lane, index), (row, k, quarter)) in places(MatrixOperand::A) {
        a[quarter][8 * k + row] = decode::<Half>(halves(MatrixOperand::A, lane, index), false);
    }
    for ((lane, index), (k, column, quarter)) in places(MatrixOperand::B) {
        b[quarter][8 * k + column] = decode::<Half>(halves(MatrixOperand::B, lane, index), false);
    }
    let is_half = |part| product.element(part) == Element::F16;
    for ((lane, index), (row, column, quarter)) in places(MatrixOperand::C) {
        let word = halves(MatrixOperand::C, lane, index);
        let single = f64::from(f32::from_bits(word));
        sums[quarter][8 * row + column] =
            if is_half(MatrixOperand::C) { decode::<Half>(word, false) } else { single };
    }
    for (sums, (a, b)) in sums.iter_mut().zip(a.iter().zip(&b)) {
        sums::multiply::<4, f64, f64>(a, b, 1, sums, [8, 8], sums::add::<FUSES>);
    }
    let mut results = [[0; 32]; 8];
    for ((lane, index), (row, column, quarter)) in places(MatrixOperand::D) {
        let sum = sums[quarter][8 * row + column];
        if is_half(MatrixOperand::D) {
            results[index as usize / 2][lane as usize] |= sums::half(sum) << (16 * (index % 2));
        } else {
            results[index as usize][lane as usize] = sums::single(sum);
        }
    }
    for (index, values) in results.iter().enumerate().take(product.registers(MatrixOperand::D)) {
        fragments.set_narrow(index, values);
    }
}
