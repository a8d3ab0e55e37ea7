//! Products of matrices by a warp, `D = A·B + C` (PTX ISA 9.7.14): shapes, types, and the lane that holds each element.
//!
//! Of `mma`, g is the lane divided by four and t the rest, and a register holds e elements. Register r of A has the elements
//! j of row `g + 8·(r mod 2)` and column `t·e + j + 4·e·(r / 2)`; register r of B those of row `t·e + j + 4·e·r` and column
//! g; value v of C and D is in row `g + 8·(v / 2)` and column `2·t + v mod 2`. Matrices of eight rows have only the even
//! registers of A and the first two values. The `m8n8k4` of halves is four products, one by each eight lanes.
//!
//! The fragments of `wmma` have no layout in the manual: here, each lane holds a run of the matrix that is contiguous along k in
//! A and B and along a row in C and D, and a fragment of halves, which has eight registers, holds it again in those that are left.

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
}
