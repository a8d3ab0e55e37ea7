//! Matrix instructions (PTX ISA 9.7.14): `mma`, `wmma`, `ldmatrix`, `stmatrix` and `movmatrix`.
//!
//! A product reads more registers than the scoreboard holds for one instruction: hints before the product wait for the excess
//! operands, and hints behind it represent the excess results. Loads and stores of fragments are accesses by lanes, whose
//! addresses are computed by instructions before them.

use super::call::under_guard;
use super::instruction::Line;
use super::operands::Wanted;
use crate::analysis::liveness::Effects;
use crate::isa::matrix::{Element, Layout, Logic, MatrixOperand, Product};
use crate::isa::{Latency, Space, Unit};
use crate::program::{Action, Instruction, MatrixSite, RegisterSet};
use crate::syntax::ast::Operand;
use crate::syntax::error::PtxError;

/// Shapes of `mma` by the type of A (PTX ISA 9.7.14.5).
const SHAPES: &[(&[&str], [u32; 3])] = &[
    (&["f16"], [8, 8, 4]),
    (&["f16"], [16, 8, 8]),
    (&["f16"], [16, 8, 16]),
    (&["bf16"], [16, 8, 8]),
    (&["bf16"], [16, 8, 16]),
    (&["tf32"], [16, 8, 4]),
    (&["tf32"], [16, 8, 8]),
    (&["f64"], [8, 8, 4]),
    (&["f64"], [16, 8, 4]),
    (&["f64"], [16, 8, 8]),
    (&["f64"], [16, 8, 16]),
    (&["s8", "u8"], [8, 8, 16]),
    (&["s8", "u8"], [16, 8, 16]),
    (&["s8", "u8"], [16, 8, 32]),
    (&["s4", "u4"], [8, 8, 32]),
    (&["s4", "u4"], [16, 8, 32]),
    (&["s4", "u4"], [16, 8, 64]),
    (&["b1"], [8, 8, 128]),
    (&["b1"], [16, 8, 128]),
    (&["b1"], [16, 8, 256]),
    (&["e4m3", "e5m2"], [16, 8, 16]),
    (&["e4m3", "e5m2"], [16, 8, 32]),
];

/// Shapes of `wmma` by the type of A (PTX ISA 9.7.14.4).
const WMMA_SHAPES: &[(&[&str], &[[u32; 3]])] = &[
    (&["f16", "bf16", "s8", "u8"], &[[16, 16, 16], [32, 8, 16], [8, 32, 16]]),
    (&["tf32"], &[[16, 16, 8]]),
    (&["f64"], &[[8, 8, 4]]),
    (&["s4", "u4"], &[[8, 8, 32]]),
    (&["b1"], &[[8, 8, 128]]),
];

/// `m16n8k16` as three numbers.
fn shape(word: &str) -> Option<[u32; 3]> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

impl<'s> Line<'_, 's, '_> {
    /// The words of the opcode: shape, layouts, types and the rest.
    pub(super) fn matrix_words(&self) -> Words<'s> {
        let mut words = Words::default();
        for word in self.opcode.split('.').skip(1) {
            match word {
                "row" | "col" => words.layouts.push(word),
                "satfinite" => words.saturate = true,
                // Double precision is rounded to nearest unless an instruction says otherwise.
                "rn" if self.opcode.contains(".f64") => {}
                "popc" | "sync" | "aligned" | "mma" | "load" | "store" | "a" | "b" | "c" | "d" => {}
                "global" => words.space = Some(Space::Global),
                "shared" | "shared::cta" => words.space = Some(Space::Shared),
                "and" => words.logic = Some(Logic::And),
                "xor" => words.logic = Some(Logic::Xor),
                word => match (shape(word), Element::of(word)) {
                    (Some(shape), _) => words.shape = Some(shape),
                    (_, Some(element)) => words.types.push(element),
                    _ => words.others = true,
                },
            }
        }
        words
    }

    /// `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c`
    pub(super) fn mma(&mut self) -> Result<(), PtxError> {
        let words = self.matrix_words();
        let (Some([m, n, k]), &[d, a, b, c]) = (words.shape, words.types.as_slice()) else {
            return Err(self.no_such_form());
        };
        let name = self.opcode.split('.').filter(|word| Element::of(word).is_some()).nth(1).unwrap_or("");
        let known = SHAPES.iter().any(|(types, shape)| types.contains(&name) && *shape == [m, n, k]);
        let by_rows = words.layouts == ["row", "col"];
        let quads = (a, [m, n, k]) == (Element::F16, [8, 8, 4]);
        if words.others
            || !known
            || !(by_rows || quads && words.layouts.len() == 2)
            || !fits(a, b, c, d, words.logic)
        {
            return Err(self.no_such_form());
        }
        let layout = match words.layouts.as_slice() {
            [a, b] if quads => Layout::Quads { a_by_rows: *a == "row", b_by_columns: *b == "col" },
            _ => Layout::Warp,
        };
        let types = [a, b, c, d];
        let product = Product { m, n, k, types, layout, saturate: words.saturate, logic: words.logic };
        let operands = self.operands(4..=4)?;
        self.product(product, operands)
    }

    /// `wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 d, a, b, c`
    pub(super) fn wmma(&mut self) -> Result<(), PtxError> {
        let words = self.matrix_words();
        let Some([m, n, k]) = words.shape else { return Err(self.no_such_form()) };
        // Halves name only D and C.
        let types = match *words.types.as_slice() {
            [d, c] => [Element::F16, Element::F16, c, d],
            [d, a, b, c] => [a, b, c, d],
            _ => return Err(self.no_such_form()),
        };
        let [a, b, c, d] = types;
        if words.others
            || !wmma_shape(a, [m, n, k])
            || !fits(a, b, c, d, words.logic)
            || words.layouts.len() != 2
        {
            return Err(self.no_such_form());
        }
        let product =
            Product { m, n, k, types, layout: Layout::Runs, saturate: words.saturate, logic: words.logic };
        let operands = self.operands(4..=4)?;
        self.product(product, operands)
    }

    fn product(&mut self, product: Product, operands: &'s [Operand]) -> Result<(), PtxError> {
        let mut site = MatrixSite { product, registers: Default::default() };
        let [to, from @ ..] = operands else { return Ok(()) };
        for (part, operand) in [MatrixOperand::A, MatrixOperand::B, MatrixOperand::C].into_iter().zip(from) {
            let wanted = Wanted::exactly(register_type(product.element(part)));
            for kind in self.elements(operand, product.registers(part) as u8)?.iter() {
                let register = self.read_kind(kind, operand.span.place, wanted)?;
                site.registers[part as usize].push(register);
            }
        }
        let wanted = Wanted::exactly(register_type(product.element(MatrixOperand::D)));
        for kind in self.elements(to, product.registers(MatrixOperand::D) as u8)?.iter() {
            let register = self.write(kind, to.span.place, wanted)?;
            site.registers[MatrixOperand::D as usize].push(register.id);
        }
        self.wait_for_operands();
        self.stand_for_results();
        self.out.offset = self.decoder.matrices.len() as i64;
        self.decoder.matrices.push(site);
        self.book(Action::Matrix, Unit::Tensor, latency(product.element(MatrixOperand::A)));
        self.out.work = work(&product);
        Ok(())
    }

    /// Hints before the instruction wait for the registers that it reads beyond those of its scoreboard entry.
    fn wait_for_operands(&mut self) {
        let mut reads = self.effects.reads.clone();
        reads.sort_unstable();
        reads.dedup();
        let (own, others) = reads.split_at(reads.len().min(RegisterSet::MOST));
        own.iter().for_each(|id| self.out.reads.insert(*id));
        for some in others.chunks(RegisterSet::MOST) {
            let mut hint = self.before(Action::Hint);
            some.iter().for_each(|id| hint.reads.insert(*id));
            self.decoder.push(hint, Effects { reads: some.to_vec(), ..Effects::default() });
        }
    }

    /// Hints behind the instruction represent the registers that it writes beyond those of its scoreboard entry.
    fn stand_for_results(&mut self) {
        let writes = self.effects.writes.clone();
        let (own, others) = writes.split_at(writes.len().min(RegisterSet::MOST));
        own.iter().for_each(|id| self.out.writes.insert(*id));
        for some in others.chunks(RegisterSet::MOST / 2) {
            let mut hint = self.before(Action::Hint);
            hint.text = (self.span.end, self.span.end);
            some.iter().for_each(|id| hint.writes.insert(*id));
            let mut effects = Effects { reads: some.to_vec(), writes: some.to_vec(), ..Effects::default() };
            under_guard(&mut hint, &mut effects, self.out);
            self.after.push((hint, effects));
        }
    }
}

/// The words of a matrix instruction's opcode.
#[derive(Default)]
pub(super) struct Words<'a> {
    pub(super) shape: Option<[u32; 3]>,
    pub(super) layouts: Vec<&'a str>,
    pub(super) types: Vec<Element>,
    pub(super) space: Option<Space>,
    /// Whether there are words that no form here has.
    pub(super) others: bool,
    saturate: bool,
    logic: Option<Logic>,
}

/// Whether the types go together: integers with `.s32`, halves with either, all others with `.f32`, double precision with itself.
fn fits(a: Element, b: Element, c: Element, d: Element, logic: Option<Logic>) -> bool {
    let alike = a == b
        || a.is_integer() && b.is_integer() && a.bits() == b.bits()
        || a.bits() == 8 && b.bits() == 8 && !a.is_integer() && !b.is_integer();
    let sums: &[Element] = match a {
        Element::F64 => &[Element::F64],
        Element::F16 | Element::E4m3 | Element::E5m2 => &[Element::F16, Element::F32],
        Element::Bf16 | Element::Tf32 => &[Element::F32],
        _ => &[Element::S32],
    };
    let is_factor = !matches!(a, Element::F32 | Element::S32);
    alike && is_factor && sums.contains(&c) && sums.contains(&d) && logic.is_some() == (a == Element::B1)
}

pub(super) fn wmma_shape(a: Element, shape: [u32; 3]) -> bool {
    let of_type = |types: &[&str]| types.iter().any(|name| Element::of(name) == Some(a));
    WMMA_SHAPES.iter().any(|(types, shapes)| of_type(types) && shapes.contains(&shape))
}

/// The type that the registers of a fragment have.
pub(super) fn register_type(element: Element) -> &'static str {
    match element {
        Element::F64 => "f64",
        Element::F32 => "f32",
        _ => "b32",
    }
}

fn latency(element: Element) -> Latency {
    match element {
        Element::F64 => Latency::MatrixDouble,
        Element::Tf32 | Element::F32 => Latency::MatrixSingle,
        Element::F16 | Element::Bf16 => Latency::MatrixHalf,
        Element::S4 | Element::U4 => Latency::MatrixNibble,
        Element::B1 => Latency::MatrixBit,
        _ => Latency::MatrixByte,
    }
}

/// Multiplications and additions in units of [`Instruction::WORK`](crate::program::Instruction::WORK).
fn work(product: &Product) -> u8 {
    (product.quarters() * product.m * product.n * product.k / Instruction::WORK) as u8
}
