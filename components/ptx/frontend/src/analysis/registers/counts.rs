//! Trip counts of loops.

use super::homes::Homes;
use crate::analysis::ssa::{Phi, Source, Ssa, SsaInstruction, ValueId};

/// Longer loops are not counted.
const LONGEST: u32 = 1024;

/// A loop of one block.
pub(super) struct Counts<'a> {
    pub(super) ssa: &'a Ssa,
    pub(super) homes: &'a Homes,
    pub(super) block: u32,
}

impl<'a> Counts<'a> {
    /// The value that a phi gets from the round before.
    pub(super) fn back(&self, phi: &Phi) -> Option<ValueId> {
        phi.arguments.iter().find(|(from, _)| *from == self.block).map(|(_, value)| *value)
    }

    /// The constant by which a value of the loop grows, and its start.
    pub(super) fn induction(&self, value: ValueId) -> Option<(i64, ValueId)> {
        let phi = self.ssa.phis[self.block as usize].iter().find(|phi| phi.result == value)?;
        let start = phi.arguments.iter().find(|(from, _)| *from != self.block)?.1;
        let root = self.homes.read(self.back(phi)?)?;
        let step = &self.ssa.steps[self.ssa.definitions[root as usize]? as usize];
        let [Source::Value(base), by] = &step.sources[..] else { return None };
        let by = self.homes.constant(by)?;
        let name = step.opcode.split('.').next().unwrap_or("");
        let grows = matches!(name, "add" | "sub") && self.homes.read(*base) == Some(value);
        grows.then_some((if name == "add" { by } else { by.wrapping_neg() }, start))
    }

    /// The test of the loop, and whether the loop continues when the test fails.
    fn test(&self) -> Option<(&'a SsaInstruction, bool)> {
        let range = &self.ssa.flow.blocks[self.block as usize];
        let (guard, negated) = self.ssa.steps[range.end as usize - 1].guard?;
        let test = &self.ssa.steps[self.ssa.definitions[guard as usize]? as usize];
        Some((test, negated))
    }

    fn is_inside(&self, value: ValueId) -> bool {
        match self.ssa.definitions[value as usize] {
            Some(pc) => self.ssa.block_of(pc) == self.block,
            None => self.ssa.phis[self.block as usize].iter().any(|phi| phi.result == value),
        }
    }

    /// The induction variable of a test: its step, its start, and whether the test sees the next round's value.
    fn counter(&self, test: &SsaInstruction) -> Option<(i64, ValueId, bool)> {
        let Some(Source::Value(counter)) = test.sources.first() else { return None };
        let root = self.homes.read(*counter)?;
        self.ssa.phis[self.block as usize].iter().find_map(|phi| {
            let (by, start) = self.induction(phi.result)?;
            let ahead = self.homes.read(self.back(phi)?) == Some(root);
            (ahead || root == phi.result).then_some((by, start, ahead))
        })
    }

    /// Whether the number of rounds is known before the first.
    pub(super) fn is_counted(&self) -> bool {
        self.test().is_some_and(|(test, _)| {
            let fixed = match test.sources.get(1) {
                Some(Source::Value(end)) => !self.is_inside(*end),
                end => end.is_some(),
            };
            fixed && self.counter(test).is_some()
        })
    }

    /// The number of rounds, if it is a constant.
    pub(super) fn trips(&self) -> Option<u32> {
        self.test().and_then(|(test, negated)| {
            let (by, start, ahead) = self.counter(test)?;
            let end = self.homes.constant(test.sources.get(1)?)?;
            let start = self.homes.constant(&Source::Value(start))?;
            let relation = test.opcode.split('.').nth(1)?;
            let stays = |value: i64| {
                let holds = match relation {
                    "lt" | "lo" => value < end,
                    "le" | "ls" => value <= end,
                    "gt" | "hi" => value > end,
                    "ge" | "hs" => value >= end,
                    "eq" => value == end,
                    _ => value != end,
                };
                holds != negated
            };
            let tested =
                |round: u32| start.wrapping_add(by.wrapping_mul(i64::from(round) + i64::from(ahead)));
            (0..LONGEST).find(|round| !stays(tested(*round))).map(|round| round + 1)
        })
    }
}
