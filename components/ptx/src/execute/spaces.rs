//! Spaces of generic addresses (PTX ISA 5.1 and 6.4.1.1).
//!
//! The lanes of a generic access are mostly in one space. If they are in several, the warp stays at the instruction and issues it
//! for one space after another: for shared memory, then for local memory, then for the rest.

use super::{Access, CtaEnvironment, ExecError, FaultKind, Warp, fault_of};
use crate::isa::Space;
use crate::program::Instruction;

impl Warp {
    /// Whether the access issued last has lanes in other spaces, for which its instruction is issued next.
    #[inline]
    pub fn is_between_spaces(&self) -> bool {
        self.elsewhere != 0
    }

    /// The space of a generic access; its addresses become those of the space. Lanes in other spaces leave its mask.
    pub(super) fn resolve(
        &mut self,
        env: &CtaEnvironment,
        instruction: &Instruction,
        access: &mut Access,
    ) -> Result<Space, Box<ExecError>> {
        let windows = env.windows;
        let (mut shared, mut local) = (0u32, 0u32);
        for (lane, address) in access.addresses.iter().enumerate() {
            shared |= u32::from(address.wrapping_sub(windows.shared) < windows.size) << lane;
            local |= u32::from(address.wrapping_sub(windows.local) < windows.size) << lane;
        }
        if self.elsewhere != 0 {
            access.mask = std::mem::take(&mut self.elsewhere);
        }
        let lanes = access.mask;
        let (shared, local) = (shared & lanes, local & lanes);
        let (space, start, inside) = if shared | local == 0 {
            return Ok(Space::Global);
        } else if shared != 0 {
            (Space::Shared, windows.shared, shared)
        } else {
            (Space::Local, windows.local, local)
        };
        if space == Space::Local && instruction.memory.atomic.is_some() {
            let message = "an atomic changes shared or global memory, and the address is one of local memory";
            return Err(fault_of(FaultKind::InvalidAddressSpace, instruction, inside, message.into()));
        }
        self.elsewhere = lanes & !inside;
        access.mask = inside;
        for address in &mut access.addresses {
            *address = address.wrapping_sub(start);
        }
        Ok(space)
    }
}
