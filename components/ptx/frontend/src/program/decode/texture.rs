//! Texture fetches.

use super::instruction::Line;
use super::operands::Wanted;
use crate::analysis::liveness::Effects;
use crate::program::{Action, Fetch};
use crate::syntax::ast::{Operand, OperandKind, StorageSpace};
use crate::syntax::error::{PtxError, SourcePosition};

/// The number of dimensions, and whether the texture or surface is an array, by the word of the opcode.
pub(super) fn geometry(word: &str) -> Option<(usize, bool)> {
    let layered = word.starts_with('a');
    let dimensions = match word.trim_start_matches('a') {
        "1d" => 1,
        "2d" => 2,
        "3d" | "cube" => 3,
        _ => return None,
    };
    Some((dimensions, layered))
}

impl Line<'_, '_, '_> {
    /// `tex.2d.v4.f32.s32 {a, b, c, d}, [texture, {x, y}]`. Textures have one level, to which a level that is given or comes from
    /// gradients is clamped.
    pub(super) fn texture(&mut self) -> Result<(), PtxError> {
        let words: Vec<&str> = self.opcode.split('.').collect();
        let (result, floats) = (words[words.len() - 2], words[words.len() - 1] == "f32");
        let (count, layered) = words.iter().find_map(|word| geometry(word)).unwrap_or((1, false));
        let gathers =
            ["r", "g", "b", "a"].iter().position(|channel| words[0] == "tld4" && words[1] == *channel);
        let (level, gradients) = (words[1] == "level", words[1] == "grad");
        let operand_count = 2 + usize::from(level) + 2 * usize::from(gradients);
        // An offset, or a depth to compare with.
        if self.source.operands.len() > operand_count {
            return Err(self.no_such_form());
        }
        let operands = self.operands(operand_count..=operand_count)?;
        let (to, from) = (&operands[0], &operands[1]);
        let OperandKind::Texture(name, coordinates) = &from.kind else {
            return Err(self.misfit(from, "`[texture, {coordinates}]`"));
        };
        let place = from.span.place;
        if gradients {
            self.gradients(&operands[2..], count)?;
        }
        let coordinate = Wanted::exactly(if floats { "f32" } else { "s32" });
        if level {
            self.read(&operands[2], coordinate)?;
        }
        let coordinates = parts(coordinates, count + usize::from(layered), place, "coordinates")?;
        let (layer, coordinates) = coordinates.split_at(usize::from(layered));
        for kind in layer {
            self.out.sources[3] = self.read_kind(kind, place, Wanted::exactly("u32"))?;
        }
        for (index, kind) in coordinates.iter().enumerate() {
            self.out.sources[index] = self.read_kind(kind, place, coordinate)?;
        }
        self.named_opaque(name, place, "texture", "texref")?;
        let parts = self.elements(to, 4)?;
        let result_floats = result == "f32";
        let result = Wanted::exactly(result);
        for (index, kind) in parts.iter().enumerate() {
            if *kind != OperandKind::Discard {
                self.out.destinations[index] = self.write(kind, to.span.place, result)?.id;
            }
        }
        let gathers = gathers.map(|channel| channel as u8);
        let cube = words.iter().any(|word| word.ends_with("cube"));
        self.out.action = Action::Texture(Fetch { floats, result_floats, layered, cube, gathers });
        Ok(())
    }

    /// The gradients are waited for, by an instruction of their own: with the coordinates they are more registers than one reads.
    fn gradients(&mut self, operands: &[Operand], count: usize) -> Result<(), PtxError> {
        let before = self.effects.reads.len();
        for operand in operands {
            let place = operand.span.place;
            let OperandKind::Vector(gradient) = &operand.kind else {
                return Err(self.misfit(operand, "the gradient of each coordinate, in braces"));
            };
            for kind in parts(gradient, count, place, "gradients")? {
                self.read_kind(kind, place, Wanted::exactly("f32"))?;
            }
        }
        let mut waits = self.before(Action::Hint);
        let effects = Effects { reads: self.effects.reads.split_off(before), ..Effects::default() };
        effects.reads.iter().for_each(|id| waits.reads.insert(*id));
        self.decoder.push(waits, effects);
        Ok(())
    }

    /// The texture or surface: a register with its handle, or a variable of a type.
    pub(super) fn named_opaque(
        &mut self,
        name: &str,
        place: SourcePosition,
        what: &str,
        element: &str,
    ) -> Result<(), PtxError> {
        if let Some(register) = self.decoder.find_register(name, place)? {
            self.check(name, register, Wanted::exactly("u64"), place)?;
            self.out.address = register.id;
            self.out.memory.wide_address = true;
            self.effects.reads.push(register.id);
            return Ok(());
        }
        match self.decoder.storage.opaque(name, element) {
            Some(index) => self.out.offset = index as i64,
            None if matches!(self.decoder.storage.find(name), Some((StorageSpace::Param, _))) => {
                let error = PtxError::new(place, format!("`{name}` is a parameter"));
                return Err(error.expecting("a register with the parameter's value"));
            }
            None if self.decoder.storage.find(name).is_some() => {
                let error = PtxError::new(place, format!("`{name}` is not a {what}"));
                return Err(error.expecting(format!("a `.{element}`")));
            }
            None => return Err(self.decoder.undeclared(name, place)),
        }
        Ok(())
    }
}

/// The first parts of a vector, which may be longer: the rest is ignored.
pub(super) fn parts<'o>(
    vector: &'o [OperandKind],
    count: usize,
    place: SourcePosition,
    what: &str,
) -> Result<&'o [OperandKind], PtxError> {
    let padded = vector.len().is_power_of_two() && vector.len() <= 4;
    match vector.get(..count) {
        Some(parts) if vector.len() == count || padded => Ok(parts),
        _ => {
            let message = format!("{} {what} for {count} dimensions", vector.len());
            Err(PtxError::new(place, message).expecting(format!("{count} {what}")))
        }
    }
}
