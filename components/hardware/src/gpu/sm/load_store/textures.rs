//! Texture fetches in the load-store unit: the lines that hold a warp's texels are looked up in a cache of their own, one
//! a cycle; when all lines are here, the values are computed from them.

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::memory::{ByteMask, LINE_BYTES, Line};
use counterpoint_ptx::texture::channel_of;
use counterpoint_ptx::{Access, ExecError, Failure, Row};

use super::in_flight::{InFlight, Waiter};
use super::queue::Work;
use super::{LoadStore, SmContext, Taken};
use crate::gpu::sm::operands::collector::Operands;
use crate::gpu::sm::read_cache::Lookup;

/// Result of a warp's fetch, with texels read by `read`.
fn fetch(
    (warp, access): (u32, &Access),
    sm: &mut SmContext<'_>,
    read: impl FnMut(u64, usize) -> u32,
) -> Result<[Row; 4], Fault> {
    let number = sm.number(warp);
    let cta = sm.cta(warp);
    let kernel = &*cta.launch.kernel;
    cta.launch.textures.fetch(kernel, access, read).map_err(|error: Box<ExecError>| {
        cta.fault(Failure::of_warp(kernel, cta.environment.ctaid, number, *error))
    })
}

impl LoadStore {
    /// Takes a texture fetch.
    pub(in crate::gpu::sm) fn push_texture(
        &mut self,
        warp: u32,
        access: Box<Access>,
        operands: Operands,
        sm: &mut SmContext<'_>,
    ) -> Result<(), Fault> {
        let mut texels: Vec<(u64, Line)> = Vec::new();
        let size = self.textures.size();
        fetch((warp, &access), sm, |address, _| {
            let line = size.transfer_of(address);
            if texels.iter().all(|(known, _)| *known != line) {
                texels.push((line, [0; LINE_BYTES as usize]));
            }
            0
        })?;
        let (pc, since) = (access.pc, Some(sm.cycle));
        let instruction = InFlight { texels, ..InFlight::new(warp, access, since) };
        let work = Work::Texels(self.instructions.insert(instruction), 0);
        self.enqueue((warp, pc), work, operands, sm);
        Ok(())
    }

    /// Looks up one of the lines of a fetch.
    pub(super) fn texels(&mut self, index: u32, line: u32, sm: &mut SmContext<'_>) -> Result<Taken, Fault> {
        let instruction = self.instructions.get(index);
        let label = sm.label(instruction.warp);
        let count = instruction.texels.len();
        // A fetch beyond a texture's edge may need no texel.
        if let Some((address, texels)) = instruction.texels.get_mut(line as usize) {
            let waiter = || Waiter { instruction: index, lanes: 0, part: line };
            let found = self.textures.look_up(*address, label, waiter);
            if !sm.sim.stats.l1t.count(&found) {
                self.starved = true;
                return Ok(Taken::part(0, Work::Texels(index, line)));
            }
            match found {
                Lookup::Hit(data) => *texels = *data,
                _ => instruction.pending += 1,
            }
        }
        if line as usize + 1 < count {
            return Ok(Taken::part(1, Work::Texels(index, line + 1)));
        }
        instruction.complete = true;
        if instruction.pending == 0 {
            self.finish_texture(index, sm)?;
        }
        Ok(Taken::all(1))
    }

    /// A line of texels has arrived.
    pub(super) fn fill_texels(
        &mut self,
        miss: u32,
        mask: ByteMask,
        data: &Line,
        sm: &mut SmContext<'_>,
    ) -> Result<(), Fault> {
        self.starved = false;
        let mut waiting = self.textures.fill(miss, mask, data);
        for Waiter { instruction: index, part, .. } in waiting.drain(..) {
            let instruction = self.instructions.get(index);
            instruction.texels[part as usize].1 = *data;
            instruction.pending -= 1;
            if instruction.pending == 0 && instruction.complete {
                self.finish_texture(index, sm)?;
            }
        }
        self.textures.give_back(waiting);
        Ok(())
    }

    /// Notes that all texels of a fetch have arrived.
    fn finish_texture(&mut self, index: u32, sm: &mut SmContext<'_>) -> Result<(), Fault> {
        let size = self.textures.size();
        let InFlight { warp, access, since, texels, .. } = self.instructions.take(index);
        let words = fetch((warp, &access), sm, |address, bytes| {
            let found = texels.iter().find(|(line, _)| *line == size.transfer_of(address));
            let start = (address % LINE_BYTES) as usize;
            channel_of(found.and_then(|(_, line)| line.get(start..start + bytes)).unwrap_or_default())
        })?;
        sm.deliver_texture(warp, access.pc, access.mask, &words);
        self.retire(warp, access, since, sm);
        Ok(())
    }
}
