//! Asynchronous copies from global to shared memory. The owner of the warp performs them when it likes, before the warp passes a
//! wait for them.

use super::{Access, ExecError, Issue, Warp, fault};
use crate::program::{Instruction, Kernel, NONE, Row};

impl Warp {
    /// Makes a copy of an access to the source. Lanes that read nothing or a part leave its mask and are in those of zeros and parts.
    pub(super) fn copy(
        &self,
        kernel: &Kernel,
        instruction: &Instruction,
        access: &mut Access,
    ) -> Result<Issue, Box<ExecError>> {
        access.copies = true;
        access.wants_value = false;
        (access.zeros, access.parts) = (0, 0);
        access.values[0] = *self.row(kernel, instruction.sources[0]);
        if instruction.sources[1] == NONE {
            return Ok(Issue::Memory);
        }
        access.values[1] = *self.row(kernel, instruction.sources[1]);
        let width = u32::from(access.width);
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            match access.values[1].0[lane] {
                0 => access.zeros |= 1 << lane,
                size if size < width => access.parts |= 1 << lane,
                size if size == width => {}
                size => {
                    let message = format!("a copy of {width} bytes cannot read {size}");
                    return Err(fault(instruction, 1 << lane, message));
                }
            }
        }
        let others = access.zeros | access.parts;
        access.mask &= !others;
        access.contiguous &= others == 0;
        Ok(Issue::Memory)
    }
}

impl Access {
    /// Writes the words that lanes of a copy have read into shared memory; the error is a lane whose destination is outside.
    pub fn land(&self, lanes: u32, words: &[Row; 4], shared: &mut [u8]) -> Result<(), u32> {
        let width = usize::from(self.width);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let start = self.values[0].0[lane] as usize;
            let place = shared.get_mut(start..start + width).ok_or(lane as u32)?;
            for (index, part) in place.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&words[index].0[lane].to_le_bytes());
            }
            if self.parts >> lane & 1 != 0 {
                place[self.values[1].0[lane] as usize..].fill(0);
            }
        }
        Ok(())
    }
}
