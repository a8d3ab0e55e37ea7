//! Products of matrices by a warp, `D = A·B + C` (PTX ISA 9.7.14): shapes, types, and the lane that holds each element.
//!
//! Of `mma`, g is the lane divided by four and t the rest, and a register holds e elements. Register r of A has the elements
//! j of row `g + 8·(r mod 2)` and column `t·e + j + 4·e·(r / 2)`; register r of B those of row `t·e + j + 4·e·r` and column
//! g; value v of C and D is in row `g + 8·(v / 2)` and column `2·t + v mod 2`. Matrices of eight rows have only the even
//! registers of A and the first two values. The `m8n8k4` of halves is four products, one by each eight lanes.
//!
//! The fragments of `wmma` have no layout in the manual: here, each lane holds a run of the matrix that is contiguous along k in
//! A and B and along a row in C and D, and a fragment of halves, which has eight registers, holds it again in those that are left.
//!
//! Arithmetic: a product of two floats is exact, and the sum of all products and C's element is made in double precision, in the
//! order of k beginning with C, and rounded once, to nearest. The hardware's sums are less exact: it cuts addends off
//! (Fasi et al., PeerJ Computer Science 2021). Integers wrap around, or are clamped with `.satfinite`.

use super::narrow::{self, Brain, E4M3, E5M2, Half, Rounding, Tensor};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    B1,
    S32,
}

impl Element {
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "f32" => Element::F32,
            "f64" => Element::F64,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            "s8" => Element::S8,
            "u8" => Element::U8,
            "s4" => Element::S4,
            "u4" => Element::U4,
            "b1" => Element::B1,
            "s32" => Element::S32,
            _ => return None,
        })
    }

    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Element::F64 => 64,
            Element::F32 | Element::Tf32 | Element::S32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
        }
    }

    #[inline]
    pub fn packed(self) -> u32 {
        (32 / self.bits()).max(1)
    }

    #[inline]
    pub fn is_integer(self) -> bool {
        matches!(self, Element::S8 | Element::U8 | Element::S4 | Element::U4 | Element::B1 | Element::S32)
    }

    /// The number that the low bits of a word are; of `.f32` and `.s32`, the word.
    fn number(self, word: u32) -> i64 {
        match self {
            Element::S8 => i64::from(word as i8),
            Element::U8 => i64::from(word as u8),
            Element::S4 => i64::from((word << 28) as i32 >> 28),
            Element::U4 => i64::from(word & 15),
            Element::B1 => i64::from(word & 1),
            _ => i64::from(word as i32),
        }
    }

    fn float(self, bits: u64) -> f64 {
        let word = bits as u32;
        match self {
            Element::F16 => narrow::decode::<Half>(word & 0xffff, false),
            Element::Bf16 => narrow::decode::<Brain>(word & 0xffff, false),
            // The unit reads the high 19 bits of the word.
            Element::Tf32 => narrow::decode::<Tensor>(word >> 13, false),
            Element::E4m3 => narrow::decode::<E4M3>(word & 0xff, false),
            Element::E5m2 => narrow::decode::<E5M2>(word & 0xff, false),
            Element::F64 => f64::from_bits(bits),
            _ => f64::from(f32::from_bits(word)),
        }
    }

    fn bits_of(self, value: f64) -> u64 {
        match self {
            Element::F16 => {
                u64::from(narrow::encode::<Half>(narrow::round::<Half>(value, Rounding::Nearest), false))
            }
            Element::F64 if value.is_nan() => 0x7ff8_0000_0000_0000,
            Element::F64 => value.to_bits(),
            _ if value.is_nan() => 0x7fff_ffff,
            _ => u64::from((value as f32).to_bits()),
        }
    }
}

/// The combination of two bits, whose sum is the number of ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Xor,
}

/// The lanes that hold the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Layout of `mma`.
    Warp,
    /// Layout of the `m8n8k4` of halves, with A by rows and B by columns or not.
    Quads { a_by_rows: bool, b_by_columns: bool },
    /// Layout of `wmma`.
    Runs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub m: u32,
    pub n: u32,
    pub k: u32,
    /// Types of A, B, C and D.
    pub types: [Element; 4],
    pub layout: Layout,
    pub saturate: bool,
    pub logic: Option<Logic>,
}

/// The most elements of a matrix: the bits of `m16n8k256`.
const MOST: usize = 16 * 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixOperand {
    A,
    B,
    C,
    D,
}

impl Product {
    #[inline]
    pub fn element(&self, part: MatrixOperand) -> Element {
        self.types[part as usize]
    }

    /// Rows and columns of a matrix.
    #[inline]
    pub fn extent(&self, part: MatrixOperand) -> (u32, u32) {
        match part {
            MatrixOperand::A => (self.m, self.k),
            MatrixOperand::B => (self.k, self.n),
            MatrixOperand::C | MatrixOperand::D => (self.m, self.n),
        }
    }

    /// Elements that one lane holds.
    #[inline]
    pub fn held(&self, part: MatrixOperand) -> u32 {
        let (rows, columns) = self.extent(part);
        match self.layout {
            // Each quarter of the warp has matrices of its own.
            Layout::Quads { .. } => rows * columns / 8,
            _ => rows * columns / 32,
        }
    }

    /// Registers of a lane's fragment.
    #[inline]
    pub fn registers(&self, part: MatrixOperand) -> usize {
        let element = self.element(part);
        let halves = self.layout == Layout::Runs
            && element == Element::F16
            && matches!(part, MatrixOperand::A | MatrixOperand::B);
        if halves { 8 } else { (self.held(part) / element.packed()) as usize }
    }

    /// Products of this kind that run beside each other: all but one kind have one.
    #[inline]
    pub fn quarters(&self) -> u32 {
        if matches!(self.layout, Layout::Quads { .. }) { 4 } else { 1 }
    }

    /// Row and column of an element that a lane holds, and the product to which the element belongs.
    #[inline]
    pub fn place(&self, part: MatrixOperand, lane: u32, index: u32) -> (u32, u32, u32) {
        let packed = self.element(part).packed();
        let (register, item) = (index / packed, index % packed);
        let (group, rest) = (lane >> 2, lane & 3);
        match (self.layout, part) {
            (Layout::Warp, MatrixOperand::A) => {
                let register = if self.m == 8 { 2 * register } else { register };
                (group + 8 * (register & 1), rest * packed + item + 4 * packed * (register >> 1), 0)
            }
            (Layout::Warp, MatrixOperand::B) => (rest * packed + item + 4 * packed * register, group, 0),
            (Layout::Warp, _) => (group + 8 * (index >> 1), 2 * rest + (index & 1), 0),
            (Layout::Quads { a_by_rows, b_by_columns }, _) => {
                let half = if lane >= 16 { 4 } else { 0 };
                let place = match part {
                    MatrixOperand::A if a_by_rows => (rest + half, index),
                    MatrixOperand::A => (index + half, rest),
                    MatrixOperand::B if b_by_columns => (index, rest + half),
                    MatrixOperand::B => (rest, index + half),
                    _ if self.element(part) == Element::F16 => (rest + half, index),
                    _ => ((lane & 1) + (index & 2) + half, (index & 4) + (lane & 2) + (index & 1)),
                };
                (place.0, place.1, (lane >> 2) & 3)
            }
            (Layout::Runs, _) => {
                let (rows, columns) = self.extent(part);
                let at = lane * self.held(part) + index;
                if part == MatrixOperand::B {
                    (at % rows, at / rows, 0)
                } else {
                    (at / columns, at % columns, 0)
                }
            }
        }
    }

    /// Multiplies. `word` gives the bits of a register of a matrix in a lane, and `put` takes those of D.
    pub fn multiply(
        &self,
        word: impl Fn(MatrixOperand, usize, usize) -> u64,
        put: impl FnMut(usize, usize, u64),
    ) {
        if self.element(MatrixOperand::A).is_integer() {
            self.run::<i64>(word, put);
        } else {
            self.run::<f64>(word, put);
        }
    }

    fn run<N: Number>(
        &self,
        word: impl Fn(MatrixOperand, usize, usize) -> u64,
        mut put: impl FnMut(usize, usize, u64),
    ) {
        let (m, n, k) = (self.m as usize, self.n as usize, self.k as usize);
        let (mut a, mut b, mut c) = ([N::ZERO; MOST], [N::ZERO; MOST], [N::ZERO; 32 * 32]);
        for quarter in 0..self.quarters() {
            let read = |part: MatrixOperand, into: &mut [N]| {
                let element = self.element(part);
                let (packed, columns) = (element.packed(), self.extent(part).1);
                for lane in 0..32 {
                    for index in 0..self.held(part) {
                        let (row, column, of) = self.place(part, lane, index);
                        if of == quarter {
                            let bits = word(part, lane as usize, (index / packed) as usize);
                            let bits = bits >> (index % packed * element.bits()).min(63);
                            into[(row * columns + column) as usize] = N::read(element, bits);
                        }
                    }
                }
            };
            read(MatrixOperand::A, &mut a);
            read(MatrixOperand::B, &mut b);
            read(MatrixOperand::C, &mut c);
            for row in 0..m {
                for column in 0..n {
                    let mut sum = c[row * n + column];
                    for step in 0..k {
                        sum = N::add(sum, a[row * k + step], b[step * n + column], self.logic);
                    }
                    c[row * n + column] = sum;
                }
            }
            let element = self.element(MatrixOperand::D);
            let packed = element.packed();
            for lane in 0..32 {
                let mut bits = 0;
                for index in 0..self.held(MatrixOperand::D) {
                    let (row, column, of) = self.place(MatrixOperand::D, lane, index);
                    if of != quarter {
                        continue;
                    }
                    let value = c[(row as usize) * n + column as usize].write(element, self.saturate);
                    let item = index % packed;
                    bits |= value << (item * element.bits()).min(63);
                    if item + 1 == packed {
                        put(lane as usize, (index / packed) as usize, bits);
                        bits = 0;
                    }
                }
            }
        }
    }
}

/// The number type in which sums are computed.
trait Number: Copy {
    const ZERO: Self;
    fn read(element: Element, bits: u64) -> Self;
    fn add(sum: Self, a: Self, b: Self, logic: Option<Logic>) -> Self;
    fn write(self, element: Element, saturate: bool) -> u64;
}

impl Number for f64 {
    const ZERO: f64 = 0.0;

    #[inline]
    fn read(element: Element, bits: u64) -> f64 {
        element.float(bits)
    }

    #[inline]
    fn add(sum: f64, a: f64, b: f64, _: Option<Logic>) -> f64 {
        sum + a * b
    }

    #[inline]
    fn write(self, element: Element, _: bool) -> u64 {
        element.bits_of(self)
    }
}

impl Number for i64 {
    const ZERO: i64 = 0;

    #[inline]
    fn read(element: Element, bits: u64) -> i64 {
        element.number(bits as u32)
    }

    #[inline]
    fn add(sum: i64, a: i64, b: i64, logic: Option<Logic>) -> i64 {
        sum + match logic {
            None => a * b,
            Some(Logic::And) => a & b,
            Some(Logic::Xor) => a ^ b,
        }
    }

    #[inline]
    fn write(self, _: Element, saturate: bool) -> u64 {
        let value = if saturate { self.clamp(i32::MIN.into(), i32::MAX.into()) } else { self };
        u64::from(value as u32)
    }
}
