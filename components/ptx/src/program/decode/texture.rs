//! Texture fetches.

use super::instruction::Line;
use super::operands::Wanted;
use crate::program::Action;
use crate::syntax::ast::{OperandKind, StorageSpace};
use crate::syntax::error::PtxError;

impl Line<'_, '_, '_> {
    /// `tex.2d.v4.f32.s32 {a, b, c, d}, [texture, {x, y}]`
    pub(super) fn texture(&mut self, dimensions: u8, floats: bool) -> Result<(), PtxError> {
        let operands = self.operands(2..=2)?;
        let (to, from) = (&operands[0], &operands[1]);
        let OperandKind::Texture(name, coordinates) = &from.kind else {
            return Err(self.misfit(from, "`[texture, {coordinates}]`"));
        };
        let place = from.span.place;
        let count = usize::from(dimensions);
        // A vector may be longer than the coordinates: the rest is ignored.
        let vector = coordinates.len().is_power_of_two() && coordinates.len() <= 4;
        if coordinates.len() != count && !(vector && coordinates.len() > count) {
            let message = format!("{} coordinates for {count} dimensions", coordinates.len());
            return Err(PtxError::new(place, message).expecting(format!("{count} coordinates")));
        }
        let coordinate = Wanted::exactly(if floats { "f32" } else { "s32" });
        for (index, kind) in coordinates.iter().take(count).enumerate() {
            self.out.sources[index] = self.read_kind(kind, place, coordinate)?;
        }
        if let Some(register) = self.decoder.find_register(name, place)? {
            self.check(name, register, Wanted::exactly("u64"), place)?;
            self.out.address = register.id;
            self.out.memory.wide_address = true;
            self.effects.reads.push(register.id);
        } else {
            match self.decoder.storage.texture(name) {
                Some(index) => self.out.offset = index as i64,
                None if matches!(self.decoder.storage.find(name), Some((StorageSpace::Param, _))) => {
                    let error = PtxError::new(place, format!("`{name}` is a parameter"));
                    return Err(error.expecting("a register with the parameter's value"));
                }
                None if self.decoder.storage.find(name).is_some() => {
                    return Err(
                        PtxError::new(place, format!("`{name}` is no texture")).expecting("a `.texref`")
                    );
                }
                None => return Err(self.decoder.undeclared(name, place)),
            }
        }
        let parts = self.elements(to, 4)?;
        let result = Wanted::exactly(self.opcode.split('.').nth(3).unwrap_or(""));
        for (index, kind) in parts.iter().enumerate() {
            if *kind != OperandKind::Discard {
                self.out.destinations[index] = self.write(kind, to.span.place, result)?.id;
            }
        }
        let result_floats = self.opcode.contains(".v4.f32.");
        self.out.action = Action::Texture { floats, result_floats };
        Ok(())
    }
}
