//! Texture fetches of a warp.

use super::{Access, ExecError, Warp, blend, fault};
use crate::execute::texture::{AddressMode, Texture, Textures};
use crate::program::{Action, Fetch, Instruction, Kernel, NONE, Row};

impl Warp {
    /// Fills in the coordinates of a fetch, the layer as the fourth, and the handles of its textures if a register holds them.
    pub(super) fn texture(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
        access: &mut Access,
    ) {
        (access.pc, access.mask, access.wants_value) = (self.pc, lanes, true);
        for (value, source) in access.values.iter_mut().zip(instruction.sources) {
            *value = if source == NONE { Row::ZERO } else { *self.row(kernel, source) };
        }
        if instruction.address != NONE {
            access.addresses = std::array::from_fn(|lane| self.address_of(instruction, lane));
        }
    }

    /// Writes the registers of a fetch at `pc`, in `lanes`, from `words` as [`Textures::fetch`] gives them.
    ///
    /// # Panics
    /// If `pc` is no instruction of the kernel.
    pub fn complete_texture(&mut self, kernel: &Kernel, pc: u32, lanes: u32, words: &[Row; 4]) {
        let destinations = kernel.instructions[pc as usize].destinations;
        for (destination, row) in destinations.into_iter().zip(words) {
            if destination != NONE {
                blend(&mut self.rows[destination as usize].0, &row.0, lanes);
            }
        }
    }
}

impl Textures {
    /// The result of a warp's fetch, a channel a row. `read` gives a number of bytes at an address of device memory; the
    /// addresses do not depend on its results.
    ///
    /// # Errors
    /// No texture is bound, it is not of the type that the instruction wants, or it has no such layer.
    pub fn fetch(
        &self,
        kernel: &Kernel,
        access: &Access,
        mut read: impl FnMut(u64, usize) -> u32,
    ) -> Result<[Row; 4], Box<ExecError>> {
        let instruction = &kernel.instructions[access.pc as usize];
        let Action::Texture(form) = instruction.action else {
            return Err(fault(instruction, access.mask, "no texture is fetched here".into()));
        };
        let mut words = [Row::ZERO; 4];
        let mut reference: Option<&Texture> = None;
        if instruction.address == NONE {
            let name = &kernel.global_symbols[instruction.offset as usize].name;
            let Some(bound) = self.references.get(name) else {
                return Err(fault(instruction, access.mask, format!("no texture is bound to `{name}`")));
            };
            reference = Some(bound);
        }
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let texture = match reference {
                Some(texture) => texture,
                None => {
                    let handle = access.addresses[lane];
                    self.objects.get(&handle).ok_or_else(|| {
                        fault(instruction, 1 << lane, format!("no texture has the handle {handle:#x}"))
                    })?
                }
            };
            let [x, y, z, layer] = std::array::from_fn(|axis| access.values[axis].0[lane]);
            let mut floats = [x, y, z].map(f32::from_bits);
            let mut layer = form.layered.then_some(layer);
            check(texture, &form, layer).map_err(|message| fault(instruction, 1 << lane, message))?;
            if form.cube {
                let (on_face, face) = Texture::on_cube(floats);
                floats = on_face;
                layer = Some(FACES * layer.unwrap_or(0) + face);
            }
            let mut own = layer.and_then(|index| texture.layer(index));
            if let Some(face) = own.as_mut().filter(|_| form.cube) {
                face.address = [AddressMode::Clamp; 3];
            }
            let texture = own.as_ref().unwrap_or(texture);
            let found = match form.gathers {
                Some(channel) => texture.gather(channel.into(), floats, &mut read),
                None if form.floats => texture.fetch(floats, &mut read),
                None => texture.fetch_at([x, y, z].map(|bits| bits as i32), &mut read),
            };
            for (row, value) in words.iter_mut().zip(found) {
                row.0[lane] = value;
            }
        }
        Ok(words)
    }
}

const FACES: u32 = 6;

/// Whether a texture and its layers give what an instruction wants.
fn check(texture: &Texture, form: &Fetch, layer: Option<u32>) -> Result<(), String> {
    let floats = form.result_floats;
    if texture.gives_floats() != floats {
        let (gives, wants) = if floats { ("integers", "floats") } else { ("floats", "integers") };
        return Err(format!("the texture gives {gives}, the instruction wants {wants}"));
    }
    if form.cube {
        let layers = texture.layers.unwrap_or(1);
        return match layer {
            _ if !texture.normalized => Err("the coordinates of a cube are normalised".into()),
            _ if !layers.is_multiple_of(FACES) || (layer.is_none() && layers != FACES) => {
                Err(format!("the instruction wants a cube, and the texture has {layers} layers"))
            }
            Some(index) if index >= layers / FACES => Err(format!(
                "the texture has {} cubes, and the instruction names cube {index}",
                layers / FACES
            )),
            _ => Ok(()),
        };
    }
    match (texture.layers, layer) {
        (Some(_), None) => Err("the texture has layers, and the instruction names none".into()),
        (None, Some(_)) => Err("the instruction names a layer, and the texture has none".into()),
        (Some(count), Some(index)) if index >= count => {
            Err(format!("the texture has {count} layers, and the instruction names layer {index}"))
        }
        _ => Ok(()),
    }
}
