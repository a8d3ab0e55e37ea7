//! Loads and stores of fragments of matrices (PTX ISA 9.7.14): each becomes accesses by lanes and instructions that compute their
//! addresses.

use super::call::under_guard;
use super::instruction::Line;
use super::matrix::{register_type, wmma_shape};
use super::operands::Wanted;
use super::{RegisterType, blank};
use crate::analysis::liveness::Effects;
use crate::isa::matrix::{Element, Layout, MatrixOperand, Product};
use crate::isa::warp::WarpOp;
use crate::isa::{self, LaneType, Latency, Space, Unit};
use crate::program::{Action, CONSTANT, Instruction, MemoryForm, NONE, Row};
use crate::syntax::ast::{Operand, Span};
use crate::syntax::error::PtxError;

/// An address in a register of 64 bits and the bytes to be added to it.
#[derive(Clone, Copy)]
pub(super) struct Address {
    pub(super) register: u16,
    form: MemoryForm,
    pub(super) offset: i64,
}

impl Address {
    /// A load of nothing yet from there.
    pub(super) fn load(&self, span: Span) -> Instruction {
        let mut instruction = blank(span);
        (instruction.unit, instruction.latency) = (Unit::LdSt, Latency::Load);
        (instruction.address, instruction.offset, instruction.memory) =
            (self.register, self.offset, self.form);
        instruction
    }
}

fn by_lane(of: impl Fn(u32) -> u32) -> Row {
    Row(std::array::from_fn(|lane| of(lane as u32)))
}

impl<'s> Line<'_, 's, '_> {
    /// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 r, [a], stride`, and `wmma.store.d` in the same way.
    pub(super) fn fragment(&mut self, stores: bool) -> Result<(), PtxError> {
        let words = self.matrix_words();
        let part = match self.opcode.split('.').nth(2) {
            Some("a") => MatrixOperand::A,
            Some("b") => MatrixOperand::B,
            Some("c") => MatrixOperand::C,
            _ => MatrixOperand::D,
        };
        let (Some([m, n, k]), &[element], &[layout]) =
            (words.shape, words.types.as_slice(), words.layouts.as_slice())
        else {
            return Err(self.no_such_form());
        };
        let factor = matches!(part, MatrixOperand::A | MatrixOperand::B);
        let allowed = match element {
            Element::F32 | Element::S32 => !factor,
            Element::F16 | Element::F64 => true,
            _ => factor,
        };
        if words.others || !allowed || !self.has_wmma_shape(element, factor, [m, n, k]) {
            return Err(self.no_such_form());
        }
        let types = [element; 4];
        let product = Product { m, n, k, types, layout: Layout::Runs, saturate: false, logic: None };
        let operands = self.operands(2..=3)?;
        let (values, at) = if stores { (&operands[1], &operands[0]) } else { (&operands[0], &operands[1]) };
        let registers = self.fragment_registers(values, product.registers(part), element, stores)?;
        let (rows, columns) = product.extent(part);
        // The lane's run is contiguous in memory if the matrix has the fragment's order there.
        let along = (layout == "row") == (part != MatrixOperand::B);
        let stride = match operands.get(2) {
            Some(stride) => self.read(stride, Wanted::exactly("u32"))?,
            None => {
                let default = if layout == "row" { columns } else { rows };
                self.decoder.constant(default.into(), false, at.span.place)?
            }
        };
        let address = self.fragment_address(at, words.space)?;
        let first: [(u32, u32); 32] = std::array::from_fn(|lane| {
            let (row, column, _) = product.place(part, lane as u32, 0);
            if part == MatrixOperand::B { (column, row) } else { (row, column) }
        });
        let lines = Row(first.map(|(line, within)| if along { line } else { within }));
        let within = Row(first.map(|(line, within)| if along { within } else { line }));
        let lines = self.decoder.lanes(lines, at.span.place)?;
        let within = self.decoder.lanes(within, at.span.place)?;
        let place = self.compute("mad.lo.u32", &[lines, stride, within])?;
        let unique = &registers[..(product.held(part) / element.packed()) as usize];
        if along {
            self.move_run(address, place, unique, element, stores)?;
        } else {
            self.move_elements(address, (place, stride), unique, element, stores)?;
        }
        for (index, &register) in registers.iter().enumerate().skip(unique.len()).filter(|_| !stores) {
            self.compute_into("mov.b32", &[unique[index % unique.len()]], register)?;
        }
        self.end_with_last();
        Ok(())
    }

    fn has_wmma_shape(&self, element: Element, factor: bool, shape: [u32; 3]) -> bool {
        if factor {
            return wmma_shape(element, shape);
        }
        let factors: &[Element] = match element {
            Element::F16 => &[Element::F16],
            Element::F32 => &[Element::F16, Element::Tf32],
            Element::F64 => &[Element::F64],
            _ => &[Element::S8, Element::S4, Element::B1],
        };
        factors.iter().any(|factor| wmma_shape(*factor, shape))
    }

    fn fragment_registers(
        &mut self,
        values: &Operand,
        count: usize,
        element: Element,
        stores: bool,
    ) -> Result<Vec<u16>, PtxError> {
        let wanted = Wanted::exactly(register_type(element));
        let place = values.span.place;
        let mut registers = Vec::new();
        for kind in self.elements(values, count as u8)?.iter() {
            registers.push(match stores {
                true => self.read_kind(kind, place, wanted)?,
                false => self.write(kind, place, wanted)?.id,
            });
        }
        Ok(registers)
    }

    /// The base address of an operand in brackets.
    pub(super) fn fragment_address(
        &mut self,
        operand: &Operand,
        space: Option<Space>,
    ) -> Result<Address, PtxError> {
        self.out.memory.space = space;
        self.address(operand, space)?;
        let base = self.out.memory.base.take();
        let form = MemoryForm { wide_address: true, ..self.out.memory };
        let register = match (self.out.address, self.out.memory.wide_address) {
            (NONE, _) if let Some(base) = base => {
                let register = self.decoder.temporary(RegisterType::Wide, operand.span.place)?;
                let mut symbol = self.before(Action::SymbolAddress(base));
                symbol.destinations[0] = register;
                self.add(symbol, Effects { writes: vec![register], ..Effects::default() });
                register
            }
            (NONE, _) => self.decoder.constant(0, true, operand.span.place)?,
            (narrow, false) => self.compute("cvt.u64.u32", &[narrow])?,
            (wide, true) => wide,
        };
        (self.out.address, self.out.memory) = (NONE, MemoryForm::NONE);
        Ok(Address { register, form, offset: std::mem::take(&mut self.out.offset) })
    }

    fn element_address(&mut self, base: u16, place: u16, element: Element) -> Result<u16, PtxError> {
        let span = self.span.place;
        if element.bits() < 8 {
            let shift = self.decoder.constant(u64::from((8 / element.bits()).ilog2()), false, span)?;
            let bytes = self.compute("shr.u32", &[place, shift])?;
            let bytes = self.compute("cvt.u64.u32", &[bytes])?;
            return self.compute("add.u64", &[base, bytes]);
        }
        let bytes = self.decoder.constant(u64::from(element.bits() / 8), false, span)?;
        self.compute("mad.wide.u32", &[place, bytes, base])
    }

    /// Moves a lane's run, of up to 16 bytes at once.
    fn move_run(
        &mut self,
        address: Address,
        place: u16,
        registers: &[u16],
        element: Element,
        stores: bool,
    ) -> Result<(), PtxError> {
        let bytes = if element == Element::F64 { 8 } else { 4 };
        let register = self.element_address(address.register, place, element)?;
        let mut offset = address.offset;
        for some in registers.chunks(16 / bytes) {
            self.access(Address { register, offset, ..address }, bytes as u8, some, stores);
            offset += (bytes * some.len()) as i64;
        }
        Ok(())
    }

    /// Moves a lane's elements one by one: the next is a stride further.
    fn move_elements(
        &mut self,
        address: Address,
        (mut place, stride): (u16, u16),
        registers: &[u16],
        element: Element,
        stores: bool,
    ) -> Result<(), PtxError> {
        let (packed, bytes) = (element.packed() as usize, (element.bits() / 8) as u8);
        for (index, &register) in registers.iter().enumerate() {
            let mut items = vec![register];
            if packed > 1 {
                items.clear();
                for _ in 0..packed {
                    items.push(self.decoder.temporary(RegisterType::Narrow(32), self.span.place)?);
                }
                if stores {
                    self.pack(Action::Unpack, &[register], &items, bytes);
                }
            }
            for (item, value) in items.iter().enumerate() {
                if index + item > 0 {
                    place = self.compute("add.u32", &[place, stride])?;
                }
                let at = self.element_address(address.register, place, element)?;
                self.access(Address { register: at, ..address }, bytes, &[*value], stores);
            }
            if packed > 1 && !stores {
                self.pack(Action::Pack, &items, &[register], bytes);
            }
        }
        Ok(())
    }

    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 r, [a]`, and `stmatrix` in the same way: lanes 8i to 8i + 7 have the
    /// addresses of the rows of matrix i, and each lane moves two elements of a row of each.
    pub(super) fn matrix_rows(&mut self, stores: bool) -> Result<(), PtxError> {
        let words: Vec<&str> = self.opcode.split('.').collect();
        let count = match words.iter().find_map(|word| word.strip_prefix('x')) {
            Some("2") => 2,
            Some("4") => 4,
            _ => 1,
        };
        let transposed = words.contains(&"trans");
        let operands = self.operands(2..=2)?;
        let (values, at) = if stores { (&operands[1], &operands[0]) } else { (&operands[0], &operands[1]) };
        let registers = self.fragment_registers(values, count, Element::F16, stores)?;
        let space = self.opcode.contains(".shared").then_some(Space::Shared);
        let place = at.span.place;
        let mut address = self.fragment_address(at, space)?;
        let word = self.decoder.lanes(by_lane(|lane| 4 * (lane & 3)), place)?;
        let word = self.compute("cvt.u64.u32", &[word])?;
        let halves = [0, 1].map(|_| self.decoder.temporary(RegisterType::Narrow(32), place));
        let [low, high] = [halves[0].clone()?, halves[1].clone()?];
        self.pack(Action::Unpack, &[address.register], &[low, high], 4);
        for (index, &register) in registers.iter().enumerate() {
            let row = self.decoder.lanes(by_lane(|lane| 8 * index as u32 + (lane >> 2)), place)?;
            let low = self.collective(WarpOp::ShuffleIndex, low, Some(row))?;
            let high = self.collective(WarpOp::ShuffleIndex, high, Some(row))?;
            let start = self.decoder.temporary(RegisterType::Wide, place)?;
            self.pack(Action::Pack, &[low, high], &[start], 4);
            address.register = self.compute("add.u64", &[start, word])?;
            match (stores, transposed) {
                (true, true) => {
                    let value = self.collective(WarpOp::Transpose, register, None)?;
                    self.access(address, 4, &[value], true);
                }
                (false, true) => {
                    let value = self.decoder.temporary(RegisterType::Narrow(32), place)?;
                    self.access(address, 4, &[value], false);
                    let value = self.collective(WarpOp::Transpose, value, None)?;
                    self.compute_into("mov.b32", &[value], register)?;
                }
                _ => self.access(address, 4, &[register], stores),
            }
        }
        self.end_with_last();
        Ok(())
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`
    pub(super) fn transpose(&mut self) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let register = self.read(&operands[1], Wanted::exactly("b32"))?;
        let to = self.write(&operands[0].kind, operands[0].span.place, Wanted::exactly("b32"))?.id;
        let value = self.collective(WarpOp::Transpose, register, None)?;
        self.compute_into("mov.b32", &[value], to)?;
        self.end_with_last();
        Ok(())
    }

    // Instructions that an expansion is made of, each under the guard of the whole.

    pub(super) fn add(&mut self, mut instruction: Instruction, mut effects: Effects) {
        under_guard(&mut instruction, &mut effects, self.out);
        effects.reads.retain(|id| id & CONSTANT == 0);
        effects.reads.iter().for_each(|id| instruction.reads.insert(*id));
        effects.writes.iter().for_each(|id| instruction.writes.insert(*id));
        effects.late = instruction.action == Action::Memory;
        instruction.text = (self.span.start, self.span.start);
        self.expansion.push((instruction, effects));
    }

    /// The result of an instruction of the table, in a register of its own.
    pub(super) fn compute(&mut self, opcode: &str, sources: &[u16]) -> Result<u16, PtxError> {
        let wide = isa::lane_row(opcode).is_some_and(|row| row.result == LaneType::Bits(64));
        let kind = if wide { RegisterType::Wide } else { RegisterType::Narrow(32) };
        let to = self.decoder.temporary(kind, self.span.place)?;
        self.compute_into(opcode, sources, to)?;
        Ok(to)
    }

    pub(super) fn compute_into(&mut self, opcode: &str, sources: &[u16], to: u16) -> Result<(), PtxError> {
        let Some(row) = isa::lane_row(opcode) else { return Err(self.unknown()) };
        let wide = row.result == LaneType::Bits(64);
        let mut instruction = blank(self.span);
        instruction.action = if wide { Action::LaneWide } else { Action::Lane };
        (instruction.op, instruction.unit, instruction.latency) = (row.op, row.unit, row.latency);
        instruction.memory.wide_value = wide;
        instruction.sources[..sources.len()].copy_from_slice(sources);
        instruction.destinations[0] = to;
        self.add(instruction, Effects { reads: sources.to_vec(), writes: vec![to], ..Effects::default() });
        Ok(())
    }

    pub(super) fn pack(&mut self, action: Action, from: &[u16], to: &[u16], bytes: u8) {
        let mut instruction = blank(self.span);
        instruction.action = action;
        (instruction.unit, instruction.latency) = (Unit::Sp, Latency::IntOther);
        instruction.memory.elements = from.len().max(to.len()) as u8;
        instruction.memory.bytes = bytes;
        instruction.sources[..from.len()].copy_from_slice(from);
        instruction.destinations[..to.len()].copy_from_slice(to);
        self.add(instruction, Effects { reads: from.to_vec(), writes: to.to_vec(), ..Effects::default() });
    }

    /// An operation of all lanes of the warp among each other.
    fn collective(&mut self, op: WarpOp, value: u16, from: Option<u16>) -> Result<u16, PtxError> {
        let place = self.span.place;
        let to = self.decoder.temporary(RegisterType::Narrow(32), place)?;
        let mut instruction = blank(self.span);
        instruction.action = Action::Warp(op);
        (instruction.unit, instruction.latency) = (Unit::Sp, Latency::IntShuffle);
        instruction.sources[0] = value;
        if let Some(from) = from {
            instruction.sources[1] = from;
            instruction.sources[2] = self.decoder.constant(31, false, place)?;
        }
        instruction.sources[3] = self.decoder.constant(0xffff_ffff, false, place)?;
        instruction.destinations[0] = to;
        let reads = [Some(value), from].into_iter().flatten().collect();
        self.add(instruction, Effects { reads, writes: vec![to], ..Effects::default() });
        Ok(to)
    }

    /// A load or store of up to four registers.
    fn access(&mut self, address: Address, bytes: u8, registers: &[u16], stores: bool) {
        let mut instruction = address.load(self.span);
        instruction.action = Action::Memory;
        instruction.latency = if stores { Latency::Store } else { Latency::Load };
        instruction.memory = MemoryForm {
            store: stores,
            elements: registers.len() as u8,
            bytes,
            wide_value: bytes == 8,
            ..address.form
        };
        let mut reads = vec![address.register];
        let mut writes = Vec::new();
        if stores {
            instruction.sources[..registers.len()].copy_from_slice(registers);
            reads.extend(registers);
        } else {
            instruction.destinations[..registers.len()].copy_from_slice(registers);
            writes.extend(registers);
        }
        self.add(instruction, Effects { reads, writes, ..Effects::default() });
    }

    /// Puts the expansion into the function: its last instruction represents the original one.
    pub(super) fn end_with_last(&mut self) {
        let Some((last, effects)) = self.expansion.pop() else { return };
        for (instruction, effects) in std::mem::take(&mut self.expansion) {
            self.decoder.push(instruction, effects);
        }
        let text = self.out.text;
        *self.out = Instruction { text, ..last };
        *self.effects = effects;
    }
}
