//! Texture fetches of a warp.

use super::{CtaEnvironment, Warp, blend, fault};
use crate::error::ExecError;
use crate::program::{Instruction, NONE, Program, Row};
use crate::texture::Texture;

impl Warp {
    pub(super) fn texture(
        &mut self,
        program: &Program,
        env: &CtaEnvironment,
        instruction: &Instruction,
        (floats, result_floats): (bool, bool),
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        let mut words = [Row::ZERO; 4];
        let mut reference: Option<&Texture> = None;
        if instruction.address == NONE {
            let name = &program.global_symbols[instruction.offset as usize].name;
            let Some(bound) = env.textures.references.get(name) else {
                return Err(fault(instruction, lanes, format!("no texture is bound to `{name}`")));
            };
            reference = Some(bound);
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let texture = match reference {
                Some(texture) => texture,
                None => {
                    let handle = self.address_of(instruction, lane);
                    let found = env.textures.objects.get(&handle);
                    found.ok_or_else(|| {
                        fault(instruction, 1 << lane, format!("no texture has the handle {handle:#x}"))
                    })?
                }
            };
            if texture.gives_floats() != result_floats {
                let (gives, wants) =
                    if result_floats { ("integers", "floats") } else { ("floats", "integers") };
                let message = format!("the texture gives {gives}, the instruction wants {wants}");
                return Err(fault(instruction, 1 << lane, message));
            }
            let coordinate = |axis: usize| match instruction.sources[axis] {
                NONE => 0,
                source => self.row(program, source).0[lane],
            };
            let coordinates: [u32; 3] = std::array::from_fn(coordinate);
            let found = if floats {
                texture.fetch(coordinates.map(f32::from_bits))
            } else {
                texture.fetch_at(coordinates.map(|bits| bits as i32))
            };
            for (row, value) in words.iter_mut().zip(found) {
                row.0[lane] = value;
            }
        }
        for (destination, row) in instruction.destinations.into_iter().zip(&words) {
            if destination != NONE {
                blend(&mut self.rows[destination as usize].0, &row.0, lanes);
            }
        }
        Ok(())
    }
}
