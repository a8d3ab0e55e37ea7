//! A block's accesses on their way to the checker of races, and its findings.

use super::FlatMemory;
use super::cta::Cta;
use super::findings::{Check, mistake};
use super::races::Race;
use crate::execute::{AccessKind, CtaEnvironment};
use crate::isa::Space;

impl Cta<'_> {
    /// The threads of a warp have met since the last check.
    pub(super) fn meet(&mut self, index: usize) {
        if let Some(races) = &mut self.races {
            races.meet(index, self.warps[index].meetings());
        }
    }

    /// Lanes of a warp have executed a fence.
    pub(super) fn fence(&mut self, index: usize, lanes: u32, pc: u32) {
        self.meet(index);
        if let Some(races) = &mut self.races {
            races.fence(index, lanes, pc);
        }
    }

    /// Notes the races of the current access, for the lanes that are within memory.
    #[cold]
    pub(super) fn look_for_races(&mut self, index: usize, env: &CtaEnvironment, memory: &mut FlatMemory) {
        let mut found: Vec<Race> = Vec::new();
        self.meet(index);
        let Cta { races, access, shared, .. } = self;
        let Some(races) = races else { return };
        if access.space == Space::Shared {
            races.meet_barriers(access, index, shared);
            let inside = access.lanes_within(access.mask, 0, shared.len() as u64);
            found.extend(races.note(access, inside, index, 0, shared));
        } else {
            memory.touch_lanes(access);
            let mut rest = access.mask;
            while rest != 0 {
                let address = access.addresses[rest.trailing_zeros() as usize];
                let Some(place) = memory.allocation(address) else {
                    rest &= rest - 1;
                    continue;
                };
                let inside = access.lanes_within(rest, place.start, place.bytes.len() as u64);
                if !place.library {
                    found.extend(races.note(access, inside, index, place.start, place.bytes));
                }
                // The first lane may extend across the end.
                rest &= !inside & (rest - 1);
            }
        }
        for race in found {
            self.report(index, env, memory, race);
        }
    }

    /// Notes texels that the launch has written: a fetch need not see that.
    #[cold]
    pub(super) fn look_for_written(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &FlatMemory,
        texels: &[(u64, usize)],
    ) {
        let lane = self.access.mask.trailing_zeros();
        for &(address, bytes) in texels {
            let Some(race) = self.races.as_mut().and_then(|races| races.written(lane, address, bytes as u64))
            else {
                continue;
            };
            self.access.addresses[lane as usize & 31] = address;
            (self.access.kind, self.access.space, self.access.width) =
                (AccessKind::Load, Space::Global, bytes as u8);
            self.report(index, env, memory, race);
        }
    }

    /// Makes a finding of a race.
    #[cold]
    pub(super) fn report(&mut self, index: usize, env: &CtaEnvironment, memory: &FlatMemory, race: Race) {
        let Cta { races, access, kernel, findings, .. } = self;
        let Some(races) = races else { return };
        let here = kernel.instructions()[access.pc as usize].line;
        let there = races.line(race);
        let lines = [here.min(there), here.max(there)];
        if findings.count(Check::Race, lines, 1) {
            return;
        }
        let Some(told) = races.tell(kernel, access, index, race) else { return };
        let place = match access.space {
            Space::Shared => "of shared memory".to_owned(),
            _ => format!("in {}", memory.name_of(race.byte)),
        };
        let message = format!(
            "{} {place}; {}, byte {:#x}, in no order: {}",
            access.describe(race.lane),
            told.whose,
            race.byte,
            told.missing
        );
        let first = mistake(kernel, env.ctaid, index, race.lane, access.pc, message);
        findings.begin(Check::Race, lines, 1, first);
    }
}
