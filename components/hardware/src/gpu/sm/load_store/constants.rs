//! Constants and kernel parameters in the load-store unit: they are read through a cache of their own, one address a
//! cycle (CUDA C programming guide, "Constant Memory").

use counterpoint_protocols::memory::line_of;
use counterpoint_ptx::{Access, Space};

use super::in_flight::{InFlight, Waiter};
use super::queue::Work;
use super::{LoadStore, SmContext, Taken};
use crate::gpu::sm::read_cache::Lookup;

impl LoadStore {
    /// Looks up the line of a parameter's address, if a lane takes part; the value itself arrived with the launch.
    pub(super) fn parameter(
        &mut self,
        (warp, pc): (u32, u32),
        address: Option<u64>,
        sm: &mut SmContext<'_>,
    ) -> Taken {
        let Some(address) = address.filter(|_| !self.constants.is_perfect()) else {
            sm.write_back(warp, pc, None, sm.cycle);
            sm.done(warp);
            return Taken::all(1);
        };
        let label = sm.label(warp);
        let (instructions, spare) = (&mut self.instructions, &mut self.spare);
        let waiter = || {
            let mut access: Box<Access> = spare.pop().unwrap_or_default();
            (access.pc, access.mask, access.space, access.wants_value) = (pc, 0, Space::Const, true);
            let instruction = InFlight { pending: 1, complete: true, ..InFlight::new(warp, access, None) };
            Waiter { instruction: instructions.insert(instruction), lanes: 0, part: 0 }
        };
        let found = self.constants.look_up(address, label, waiter);
        let hit = matches!(found, Lookup::Hit(_));
        if !sm.sim.stats.l1c.count(&found) {
            self.starved = true;
            return Taken::part(0, Work::Parameter(Some(address)));
        }
        if hit {
            sm.write_back(warp, pc, None, sm.cycle);
            sm.done(warp);
        }
        Taken::all(1)
    }

    /// Reads the constant of the first of those lanes, and of all others that want the same.
    pub(super) fn constant(&mut self, index: u32, lanes: u32, sm: &mut SmContext<'_>) -> Taken {
        let label = sm.label(self.instructions.get(index).warp);
        let instruction = self.instructions.get(index);
        let (warp, access) = (instruction.warp, &instruction.access);
        let address = access.addresses[lanes.trailing_zeros() as usize];
        let alike = |lane: &usize| lanes >> lane & 1 != 0 && access.addresses[*lane] == address;
        let group = (0..32).filter(alike).fold(0, |group, lane| group | 1 << lane);
        let found =
            self.constants.look_up(address, label, || Waiter { instruction: index, lanes: group, part: 0 });
        if !sm.sim.stats.l1c.count(&found) {
            self.starved = true;
            return Taken::part(0, Work::Constant(index, lanes));
        }
        if let Lookup::Hit(data) = found {
            access.gather(group, line_of(address), data, &mut self.words);
            sm.deliver(warp, access, group, &self.words);
        } else {
            instruction.pending += 1;
        }
        let rest = lanes & !group;
        if rest != 0 {
            return Taken::part(1, Work::Constant(index, rest));
        }
        instruction.complete = true;
        if instruction.pending == 0 {
            let InFlight { access, since, .. } = self.instructions.take(index);
            sm.write_back(warp, access.pc, since, sm.cycle);
            self.end(warp, access, sm);
        }
        Taken::all(1)
    }
}
