//! Loads, stores and atomics as written to their decoded form.

use std::borrow::Cow;

use super::instruction::Line;
use super::operands::Wanted;
use crate::analysis::liveness::Effects;
use crate::isa::{self, Base, Latency, Space, Unit, memory};
use crate::program::decode::{Class, Register, RegisterType};
use crate::program::{Action, MemoryForm, NONE};
use crate::syntax::ast::{Operand, OperandKind, StorageSpace};
use crate::syntax::error::{PtxError, SourcePosition};
use crate::syntax::types::element_size;

impl<'s> Line<'_, 's, '_> {
    fn memory_form(&mut self) -> Result<memory::Modifiers, PtxError> {
        let opcode = self.opcode;
        let found = memory::modifiers(opcode).map_err(|word| self.unknown_modifier(&word))?;
        (self.out.order, self.out.scope) = (found.order, found.scope);
        self.out.memory = MemoryForm {
            space: found.space,
            store: opcode.starts_with("st"),
            atomic: found.atomic,
            volatile: found.volatile,
            cache: found.cache,
            elements: found.elements,
            bytes: found.bytes,
            signed: found.signed,
            ..MemoryForm::NONE
        };
        Ok(found)
    }

    /// The operands without the policy for the cache, which is read and has no effect.
    fn without_policy(&mut self, count: usize, policy: bool) -> Result<&'s [Operand], PtxError> {
        let all = self.operands(count + usize::from(policy)..=count + usize::from(policy))?;
        let (operands, policies) = all.split_at(count);
        for policy in policies {
            self.read(policy, Wanted::exactly("b64"))?;
        }
        Ok(operands)
    }

    pub(super) fn address(&mut self, operand: &Operand, space: Option<Space>) -> Result<(), PtxError> {
        let place = operand.span.place;
        match &operand.kind {
            OperandKind::Absolute(value) => {
                self.out.offset = *value as i64;
                Ok(())
            }
            OperandKind::Address(name, plus) => {
                self.out.offset = *plus;
                if let Some(register) = self.decoder.find_register(name, place)? {
                    self.check(name, register, Wanted::at_least("u32"), place)?;
                    self.out.memory.wide_address = register.kind == RegisterType::Wide;
                    self.out.address = register.id;
                    self.effects.reads.push(register.id);
                    return Ok(());
                }
                if self.out.action == Action::LoadFrame || self.out.action == Action::StoreFrame {
                    let Some(part) = self.decoder.find_frame(name) else {
                        return Err(self.decoder.undeclared(name, place));
                    };
                    self.out.offset = plus.wrapping_add(i64::from(part.offset));
                    let bytes = self.out.memory.elements * self.out.memory.bytes;
                    if *plus < 0 || plus.saturating_add(i64::from(bytes)) > i64::from(part.size) {
                        return Err(PtxError::new(place, format!("`{name}` has {} bytes", part.size))
                            .expecting(format!("an offset that leaves {bytes} bytes")));
                    }
                    return Ok(());
                }
                let Some((home, offset)) = self.decoder.storage.find(name) else {
                    return Err(self.decoder.undeclared(name, place));
                };
                let own = match home {
                    StorageSpace::Shared => Some(Space::Shared),
                    StorageSpace::Local => Some(Space::Local),
                    StorageSpace::Global => Some(Space::Global),
                    StorageSpace::Const => Some(Space::Const),
                    StorageSpace::Param | StorageSpace::Register => None,
                };
                let fits = match own {
                    Some(own) => space.is_none_or(|space| space == own),
                    None => home == StorageSpace::Param && self.out.action == Action::LoadParam,
                };
                // An access without a space to a variable is one to the variable's space.
                self.out.memory.space = own;
                if !fits {
                    return Err(PtxError::new(place, format!("`{name}` lies in another space")));
                }
                self.out.offset = plus.wrapping_add(offset as i64);
                self.out.memory.base = match home {
                    StorageSpace::Global => Some(Base::Global),
                    StorageSpace::Const => Some(Base::Const),
                    StorageSpace::Local if !self.decoder.entry => Some(Base::Frame),
                    _ => None,
                };
                Ok(())
            }
            _ => {
                Err(PtxError::new(place, "this operand does not fit here")
                    .expecting("an address in brackets"))
            }
        }
    }

    /// Whether a `.param` address means the parameters of calls and functions, not those of the kernel.
    fn in_frame(&self, operand: &Operand) -> bool {
        match &operand.kind {
            OperandKind::Address(name, _) if self.decoder.entry => self.decoder.find_frame(name).is_some(),
            _ => !self.decoder.entry,
        }
    }

    /// The values of a vector, which may be a register of vector type, or the only value.
    pub(super) fn elements<'o>(
        &self,
        operand: &'o Operand,
        count: u8,
    ) -> Result<Cow<'o, [OperandKind]>, PtxError> {
        let parts = match &operand.kind {
            _ if self.element() == "b128" => Cow::Owned(self.halves(operand)?.into()),
            OperandKind::Vector(parts) => Cow::Borrowed(parts.as_slice()),
            OperandKind::Name(name) => match self.decoder.vector(name) {
                Some(parts) => Cow::Owned(parts),
                None => Cow::Borrowed(std::slice::from_ref(&operand.kind)),
            },
            kind => Cow::Borrowed(std::slice::from_ref(kind)),
        };
        if parts.len() != count as usize {
            return Err(PtxError::new(
                operand.span.place,
                format!("{} values where {count} are moved", parts.len()),
            ));
        }
        Ok(parts)
    }

    /// The type that registers must fit: those of a vector may be integers or floats, whatever the type is.
    fn moved_type(&self, elements: u8) -> &'s str {
        let element = self.element();
        match (elements, element_size(element)) {
            (1, _) => element,
            (_, Some(1)) => "b8",
            (_, Some(2)) => "b16",
            (_, Some(4)) => "b32",
            _ => "b64",
        }
    }

    pub(super) fn load(&mut self) -> Result<(), PtxError> {
        let form = self.memory_form()?;
        let operands = self.without_policy(2, form.policy)?;
        if form.param {
            self.out.action = if self.in_frame(&operands[1]) { Action::LoadFrame } else { Action::LoadParam };
        }
        self.address(&operands[1], form.space)?;
        for (index, register) in self.loaded(&operands[0], form.elements)?.into_iter().enumerate() {
            let Some(register) = register else { continue };
            self.out.destinations[index] = register.id;
            self.out.memory.wide_value = register.kind == RegisterType::Wide;
        }
        if form.param {
            if self.out.action == Action::LoadFrame {
                self.book(self.out.action, Unit::Sp, Latency::IntOther);
                return Ok(());
            }
            // Parameters are in constant memory, behind the load-store unit (GPGPU-Sim).
            self.book(self.out.action, Unit::LdSt, Latency::Load);
            let end = self.out.offset.saturating_add(i64::from(form.bytes * form.elements));
            let inside = self.out.offset >= 0 && end <= i64::from(self.decoder.storage.param_bytes);
            if self.out.address == NONE && !inside {
                return Err(PtxError::new(operands[1].span.place, "the address lies outside the parameters"));
            }
        } else {
            self.out.action = Action::Memory;
        }
        Ok(())
    }

    /// The registers that a load writes; none for an element that is discarded.
    pub(super) fn loaded(
        &mut self,
        operand: &Operand,
        elements: u8,
    ) -> Result<Vec<Option<Register>>, PtxError> {
        let place = operand.span.place;
        let parts = self.elements(operand, elements)?;
        self.alike(&parts, place)?;
        let wanted = Wanted::at_least(self.moved_type(elements));
        let mut registers = Vec::new();
        for kind in parts.iter() {
            let is_kept = *kind != OperandKind::Discard;
            registers.push(if is_kept { Some(self.write(kind, place, wanted)?) } else { None });
        }
        Ok(registers)
    }

    /// The operands that a store reads, and whether they have 64 bits.
    pub(super) fn stored(&mut self, operand: &Operand, elements: u8) -> Result<(Vec<u16>, bool), PtxError> {
        let place = operand.span.place;
        let parts = self.elements(operand, elements)?;
        self.alike(&parts, place)?;
        let mut wide = element_size(self.element()) >= Some(8);
        for kind in parts.iter() {
            if let OperandKind::Name(name) = kind
                && let Some(register) = self.decoder.find_register(name, place)?
            {
                wide |= register.kind == RegisterType::Wide;
            }
        }
        let wanted = Wanted::at_least(self.moved_type(elements));
        let mut sources = Vec::new();
        for kind in parts.iter() {
            // A constant is as wide as the registers beside it.
            let is_integer = matches!(kind, OperandKind::Integer(_));
            let wanted = if wide && is_integer { wanted.of(64) } else { wanted };
            sources.push(self.read_kind(kind, place, wanted)?);
        }
        Ok((sources, wide))
    }

    /// The elements of a vector have one width, and are not integers here and floats there.
    fn alike(&mut self, parts: &[OperandKind], place: SourcePosition) -> Result<(), PtxError> {
        let (mut width, mut typed) = (None, None);
        for kind in parts {
            let (have, class) = match kind {
                OperandKind::Name(name) => match self.decoder.find_register(name, place)? {
                    Some(register) => (Some(register.kind.bits()), register.class),
                    None => continue,
                },
                OperandKind::Integer(_) => (None, Class::Integer),
                OperandKind::Float32(_) | OperandKind::Float64(_) => (None, Class::Float),
                _ => continue,
            };
            if have.is_some() && *width.get_or_insert(have) != have {
                return Err(PtxError::new(place, "registers of different widths in one vector"));
            }
            if class != Class::Bits && *typed.get_or_insert(class) != class {
                return Err(PtxError::new(place, "integers and floating-point numbers in one vector"));
            }
        }
        Ok(())
    }

    pub(super) fn store(&mut self) -> Result<(), PtxError> {
        let form = self.memory_form()?;
        let operands = self.without_policy(2, form.policy)?;
        if form.param && self.in_frame(&operands[0]) {
            self.out.action = Action::StoreFrame;
        } else if let OperandKind::Address(name, _) = &operands[0].kind
            && form.param
            && self.decoder.storage.find(name).is_none()
        {
            return Err(self.decoder.undeclared(name, operands[0].span.place));
        } else if form.param || form.space == Some(Space::Const) {
            return Err(self
                .error("this space cannot be stored to")
                .expecting("`.global`, `.shared` or `.local`"));
        }
        self.address(&operands[0], form.space)?;
        let (sources, wide) = self.stored(&operands[1], form.elements)?;
        self.out.sources[..sources.len()].copy_from_slice(&sources);
        self.out.memory.wide_value = wide;
        if form.param {
            self.book(Action::StoreFrame, Unit::Sp, Latency::IntOther);
        } else {
            self.out.action = Action::Memory;
        }
        Ok(())
    }

    pub(super) fn atomic(&mut self) -> Result<(), PtxError> {
        let form = self.memory_form()?;
        let reduction = self.opcode.starts_with("red");
        let swap = matches!(form.atomic, Some((isa::AtomicOperation::CompareAndSwap, _)));
        if reduction && (swap || matches!(form.atomic, Some((isa::AtomicOperation::Exchange, _)))) {
            return Err(self.error("`red` has no exchange").expecting("`atom`"));
        }
        let count = 3 - usize::from(reduction) + usize::from(swap);
        let operands = self.without_policy(count, form.policy)?;
        let bits = form.bytes * 8;
        let element = self.element();
        let wanted = Wanted::exactly(element);
        let rest = if reduction {
            operands
        } else {
            if operands[0].kind != OperandKind::Discard && form.elements == 1 {
                let register = self.write(&operands[0].kind, operands[0].span.place, wanted)?;
                self.out.destinations[0] = register.id;
            }
            &operands[1..]
        };
        self.out.memory.wide_value = bits == 64;
        self.address(&rest[0], form.space)?;
        if matches!(form.atomic, Some((_, isa::AtomicType::B128))) {
            return self.atomic_pair(operands);
        }
        if form.elements > 1 {
            return self.atomic_vector(&form, operands, rest);
        }
        for (index, operand) in rest[1..].iter().enumerate() {
            self.out.sources[index] = self.read(operand, wanted)?;
        }
        self.out.action = Action::Memory;
        Ok(())
    }

    /// `atom.exch.b128 d, [a], b` and `atom.cas.b128 d, [a], b, c`, behind the address
    fn atomic_pair(&mut self, operands: &'s [Operand]) -> Result<(), PtxError> {
        let wanted = Wanted::exactly("b64");
        let (to, values) = (&operands[0], &operands[2..]);
        if to.kind != OperandKind::Discard {
            for (index, half) in self.halves(to)?.iter().enumerate() {
                self.out.destinations[index] = self.write(half, to.span.place, wanted)?.id;
            }
        }
        for (index, value) in values.iter().enumerate() {
            for (half, kind) in self.halves(value)?.iter().enumerate() {
                self.out.sources[2 * index + half] = self.read_kind(kind, value.span.place, wanted)?;
            }
        }
        self.out.action = Action::Memory;
        Ok(())
    }

    /// Each element of a vector is updated by an instruction of its own, since the elements are independent atomics.
    fn atomic_vector(
        &mut self,
        form: &memory::Modifiers,
        operands: &'s [Operand],
        rest: &'s [Operand],
    ) -> Result<(), PtxError> {
        let wanted = Wanted::exactly(self.element());
        let values = self.elements(&rest[1], form.elements)?;
        let results = match rest.len() == operands.len() {
            true => None,
            false => Some(self.elements(&operands[0], form.elements)?),
        };
        let address = self.effects.reads.clone();
        for (index, kind) in values.iter().enumerate() {
            let mut one = self.out.clone();
            one.action = Action::Memory;
            one.memory.elements = 1;
            one.offset += (index * usize::from(form.bytes)) as i64;
            one.sources[0] = self.read_kind(kind, rest[1].span.place, wanted)?;
            let mut effects = Effects { reads: address.clone(), ..Effects::default() };
            effects.reads.push(one.sources[0]);
            if let Some(kind) = results.as_ref().map(|results| &results[index])
                && *kind != OperandKind::Discard
            {
                one.destinations[0] = self.write(kind, operands[0].span.place, wanted)?.id;
                effects.writes.push(one.destinations[0]);
            }
            self.add(one, effects);
        }
        self.end_with_last();
        Ok(())
    }
}
