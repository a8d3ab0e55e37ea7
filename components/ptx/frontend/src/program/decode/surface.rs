//! Accesses to surfaces (PTX ISA 9.7.11): an instruction computes the addresses of the elements, and an access to global memory
//! follows.

use super::instruction::Line;
use super::operands::Wanted;
use super::texture::{geometry, parts};
use super::{Register, RegisterType};
use crate::analysis::liveness::Effects;
use crate::isa::forms::{PredicateOp, SurfaceAccess};
use crate::isa::{AtomicOperation, AtomicType, CacheOperator, Latency, Space, Unit};
use crate::program::{Action, Instruction, MemoryForm, NONE, Outside, SurfaceField, SurfacePlace};
use crate::syntax::ast::{Operand, OperandKind};
use crate::syntax::error::PtxError;
use crate::syntax::types::element_size;

/// The words behind `suld.b`, `sust.b` and `sured.b`, which may be in any order.
#[derive(Default)]
struct Words<'a> {
    dimensions: Option<(usize, bool)>,
    cache: CacheOperator,
    elements: u8,
    element: &'a str,
    outside: Option<Outside>,
    operation: Option<AtomicOperation>,
}

impl<'a> Words<'a> {
    /// The error is a word that does not fit.
    fn read(opcode: &'a str, access: SurfaceAccess) -> Result<Self, &'a str> {
        let mut found = Words { elements: 1, ..Words::default() };
        let mut seen = Vec::new();
        for word in opcode.split('.').skip(2) {
            let kind = match (word, access) {
                ("trap" | "clamp" | "zero", _) => {
                    found.outside = Some(match word {
                        "trap" => Outside::Fault,
                        "clamp" => Outside::Nearest,
                        _ => Outside::Nothing,
                    });
                    "outside"
                }
                ("a1d" | "a2d", SurfaceAccess::Reduction) => return Err(word),
                ("1d" | "2d" | "3d" | "a1d" | "a2d", _) => {
                    found.dimensions = geometry(word);
                    "dimensions"
                }
                ("v2" | "v4", SurfaceAccess::Load | SurfaceAccess::Store) => {
                    found.elements = if word == "v2" { 2 } else { 4 };
                    "vector"
                }
                ("ca" | "cv", SurfaceAccess::Load) | ("wb" | "wt", SurfaceAccess::Store) => {
                    let past = matches!(word, "cv" | "wt");
                    found.cache = if past { CacheOperator::Volatile } else { CacheOperator::All };
                    "cache"
                }
                ("cg" | "cs", SurfaceAccess::Load | SurfaceAccess::Store) => {
                    found.cache = if word == "cg" { CacheOperator::Global } else { CacheOperator::Streaming };
                    "cache"
                }
                ("b8" | "b16" | "b32" | "b64", SurfaceAccess::Load | SurfaceAccess::Store)
                | ("u32" | "s32" | "b32" | "u64" | "s64", SurfaceAccess::Reduction) => {
                    found.element = word;
                    "type"
                }
                ("add" | "min" | "max" | "and" | "or", SurfaceAccess::Reduction) => {
                    found.operation = Some(match word {
                        "add" => AtomicOperation::Add,
                        "min" => AtomicOperation::Min,
                        "max" => AtomicOperation::Max,
                        "and" => AtomicOperation::And,
                        _ => AtomicOperation::Or,
                    });
                    "operation"
                }
                _ => return Err(word),
            };
            if seen.contains(&kind) {
                return Err(word);
            }
            seen.push(kind);
        }
        Ok(found)
    }

    fn reduction(&self) -> Option<(AtomicOperation, AtomicType)> {
        use AtomicOperation::{Add, And, Max, Min, Or};
        let operation = self.operation?;
        let kind = match (operation, self.element) {
            (Add | Min | Max, "u32") | (And | Or, "b32") => AtomicType::U32,
            (Add | Min | Max, "s32") => AtomicType::S32,
            (Add | Min | Max, "u64") => AtomicType::U64,
            (Min | Max, "s64") => AtomicType::S64,
            _ => return None,
        };
        Some((operation, kind))
    }
}

impl<'s> Line<'_, 's, '_> {
    /// `suld.b.2d.v2.b32.trap {a, b}, [surface, {x, y}]`, and `sust.b` and `sured.b.add` in the same way.
    pub(super) fn surface(&mut self, access: SurfaceAccess) -> Result<(), PtxError> {
        let opcode = self.opcode;
        let words = Words::read(opcode, access).map_err(|word| self.unknown_modifier(word))?;
        let (Some((dimensions, layered)), Some(outside), Some(bytes)) =
            (words.dimensions, words.outside, element_size(words.element))
        else {
            let error = self.error(format!("`{}` lacks a part", self.source.opcode));
            return Err(error.expecting("dimensions, a type, and `.trap`, `.clamp` or `.zero`"));
        };
        let bytes = bytes as u8;
        if bytes * words.elements > 16 {
            return Err(self.error("a vector has 16 bytes at most"));
        }
        let atomic = words.reduction();
        if atomic.is_none() && access == SurfaceAccess::Reduction {
            return Err(self.unknown_modifier(words.element));
        }
        let operands = self.operands(2..=2)?;
        let (at, values) = match access {
            SurfaceAccess::Load => (&operands[1], &operands[0]),
            SurfaceAccess::Store | SurfaceAccess::Reduction => (&operands[0], &operands[1]),
        };
        let form = SurfacePlace { layered, bytes: bytes * words.elements, outside };
        let (address, inside) = self.surface_address(at, dimensions, form)?;
        let mut out = self.before(Action::Memory);
        out.unit = Unit::LdSt;
        out.address = address;
        out.memory = MemoryForm {
            space: Some(Space::Global),
            store: access == SurfaceAccess::Store,
            atomic,
            volatile: atomic.is_some() || words.cache == CacheOperator::Volatile,
            cache: words.cache,
            elements: words.elements,
            bytes,
            wide_address: true,
            ..MemoryForm::NONE
        };
        let mut effects = Effects { reads: vec![address], ..Effects::default() };
        if access == SurfaceAccess::Load {
            out.latency = Latency::Load;
            let registers = self.loaded(values, words.elements)?;
            for (index, register) in registers.into_iter().enumerate() {
                let Some(register) = register else { continue };
                out.destinations[index] = register.id;
                out.memory.wide_value = register.kind == RegisterType::Wide;
                effects.writes.push(register.id);
                if inside.is_some() {
                    self.clear(register)?;
                }
            }
        } else if access == SurfaceAccess::Reduction {
            out.latency = Latency::Atomic;
            out.sources[0] = self.read(values, Wanted::exactly(words.element))?;
            out.memory.wide_value = bytes == 8;
            effects.reads.push(out.sources[0]);
        } else {
            out.latency = Latency::Store;
            let (sources, wide) = self.stored(values, words.elements)?;
            out.sources[..sources.len()].copy_from_slice(&sources);
            out.memory.wide_value = wide;
            effects.reads.extend(sources);
        }
        if let Some(inside) = inside {
            // `inside` is false in every lane in which the guard of the original instruction is false.
            (self.out.guard, self.out.guard_negated) = (inside, false);
        }
        self.add(out, effects);
        self.end_with_last();
        Ok(())
    }

    /// The address of the element at the coordinates of an operand, and the predicate of the lanes that have one, if others go
    /// without.
    fn surface_address(
        &mut self,
        at: &Operand,
        dimensions: usize,
        form: SurfacePlace,
    ) -> Result<(u16, Option<u16>), PtxError> {
        let place = at.span.place;
        let OperandKind::Texture(name, coordinates) = &at.kind else {
            return Err(self.misfit(at, "`[surface, {coordinates}]`"));
        };
        let mut compute = self.before(Action::SurfaceAddress(form));
        let mut reads = Vec::new();
        let coordinates = parts(coordinates, dimensions + usize::from(form.layered), place, "coordinates")?;
        let (layer, coordinates) = coordinates.split_at(usize::from(form.layered));
        for kind in layer {
            compute.sources[3] = self.read_kind(kind, place, Wanted::exactly("u32"))?;
            reads.push(compute.sources[3]);
        }
        for (index, kind) in coordinates.iter().enumerate() {
            compute.sources[index] = self.read_kind(kind, place, Wanted::exactly("s32"))?;
            reads.push(compute.sources[index]);
        }
        self.surface_of(name, at, &mut compute, &mut reads)?;
        let address = self.decoder.temporary(RegisterType::Wide, place)?;
        compute.destinations[0] = address;
        let mut inside = None;
        if form.outside == Outside::Nothing {
            let predicate = self.decoder.temporary(RegisterType::Predicate, place)?;
            if self.out.is_guarded() {
                let mut none = self.before(Action::Predicate(PredicateOp::Mov));
                none.destinations[0] = predicate;
                none.writes.insert(predicate);
                self.decoder.push(none, Effects { writes: vec![predicate], ..Effects::default() });
            }
            compute.destinations[1] = predicate;
            inside = Some(predicate);
        }
        let writes = [Some(address), inside].into_iter().flatten().collect();
        self.add(compute, Effects { reads, writes, ..Effects::default() });
        Ok((address, inside))
    }

    /// The surface of an instruction, for it.
    fn surface_of(
        &mut self,
        name: &str,
        operand: &Operand,
        instruction: &mut Instruction,
        reads: &mut Vec<u16>,
    ) -> Result<(), PtxError> {
        self.named_opaque(name, operand.span.place, "surface", "surfref")?;
        (instruction.address, instruction.offset) = (self.out.address, self.out.offset);
        instruction.memory.wide_address = true;
        reads.extend((instruction.address != NONE).then_some(instruction.address));
        Ok(())
    }

    /// A lane whose access is outside the surface reads zeros.
    fn clear(&mut self, register: Register) -> Result<(), PtxError> {
        let wide = register.kind == RegisterType::Wide;
        let zero = self.decoder.constant(0, wide, self.span.place)?;
        self.compute_into(if wide { "mov.b64" } else { "mov.b32" }, &[zero], register.id)
    }

    /// `suq.width.b32 d, [surface]`
    pub(super) fn surface_query(&mut self) -> Result<(), PtxError> {
        let field = match self.opcode.split('.').nth(1) {
            Some("width") => SurfaceField::Size(0),
            Some("height") => SurfaceField::Size(1),
            Some("depth") => SurfaceField::Size(2),
            Some("array_size") => SurfaceField::Layers,
            _ => SurfaceField::IsLinear,
        };
        let operands = self.operands(2..=2)?;
        let OperandKind::Address(name, 0) = &operands[1].kind else {
            return Err(self.misfit(&operands[1], "`[surface]`"));
        };
        self.named_opaque(name, operands[1].span.place, "surface", "surfref")?;
        let to = self.write(&operands[0].kind, operands[0].span.place, Wanted::exactly("b32"))?;
        self.out.destinations[0] = to.id;
        self.out.action = Action::SurfaceQuery(field);
        Ok(())
    }
}
