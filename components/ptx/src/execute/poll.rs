//! Warps that wait for a word of shared memory: a loop that loads it, compares it, and goes back.
//!
//! When a polling loop has completed a round and all lanes have loaded one word, another round has exactly the same
//! effect on the registers while the word is the same: all its results come from the word and from values that the loop
//! does not change. Rounds then need only be timed. A GPU whose warps poll by the thousand is simulated several times
//! as fast for it.

use super::Warp;
use crate::analysis::cfg::NO_PC;
use crate::program::{Kernel, NONE, Row};

/// The round of a polling loop that a warp has executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Poll {
    /// The load; [`NO_PC`] if the warp does not poll.
    first: u32,
    /// The branch back to it.
    last: u32,
    address: u32,
    word: u32,
}

impl Poll {
    pub(super) const NONE: Poll = Poll { first: NO_PC, last: NO_PC, address: 0, word: 0 };
}

/// A step of a round that need not be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PollStep {
    /// The word at this address of shared memory is loaded. Its reader calls [`Warp::polled`].
    Load(u32),
    /// A comparison or the branch.
    Other,
}

impl Warp {
    /// The branch at `last` has jumped back with all lanes: later rounds are like this one, if all lanes have loaded one word.
    #[inline(never)]
    pub(super) fn begin_polling(&mut self, kernel: &Kernel, last: u32) {
        let first = self.pc;
        // Paths that meet within the loop would leave it there.
        if (first..=last).contains(&self.reconvergence) {
            return;
        }
        let load = &kernel.instructions[first as usize];
        let word_of = |lane: usize| self.rows[load.destinations[0] as usize].0[lane];
        let address_of = |lane: usize| match load.address {
            NONE => load.offset as u64,
            _ if load.memory.wide_address => self.address_of(load, lane).wrapping_add(load.offset as u64),
            _ => u64::from((self.address_of(load, lane) as u32).wrapping_add(load.offset as u32)),
        };
        let lane = self.mask.trailing_zeros() as usize;
        let (address, word) = (address_of(lane), word_of(lane));
        let mut others = (lane..32).filter(|lane| self.mask >> lane & 1 != 0);
        if let Ok(address) = u32::try_from(address)
            && others.all(|lane| (address_of(lane), word_of(lane)) == (address.into(), word))
        {
            self.poll = Poll { first, last, address, word };
        }
    }

    /// Advances a step in a round that need not be executed; does nothing if there is none. All active lanes take part.
    /// Without this, [`Warp::issue`] executes every round.
    #[inline]
    pub fn poll(&mut self) -> Option<PollStep> {
        let Poll { first, last, address, .. } = self.poll;
        if first == NO_PC {
            return None;
        }
        let step = if self.pc == first { PollStep::Load(address) } else { PollStep::Other };
        self.pc = if self.pc == last { first } else { self.pc + 1 };
        Some(step)
    }

    /// The word that a [`PollStep::Load`] has loaded. If it is another one, the following instructions are
    /// executed.
    ///
    /// # Panics
    /// If the kernel is not the one for which the warp was made.
    #[inline]
    pub fn polled(&mut self, kernel: &Kernel, word: u32) {
        if word != self.poll.word {
            let first = std::mem::replace(&mut self.poll, Poll::NONE).first;
            let mut words = [Row::ZERO; 4];
            words[0] = Row([word; 32]);
            self.complete_load(kernel, first, self.mask, &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Access, CtaEnvironment, Issue};
    use super::*;

    /// A kernel whose block has 64 words of shared memory.
    fn kernel(body: &str) -> Kernel {
        let text = format!(
            ".version 7.0\n.target sm_35\n.address_size 64\n.visible .entry wait() {{\n.reg .b32 %r<9>; .reg .pred %p<9>;\n\
             .shared .align 4 .b8 words[256];\nmov.u32 %r1, %tid.x;\nmov.u32 %r4, 0;\n{body}\nret;\n}}"
        );
        Kernel::compile(&text, Some("wait")).unwrap()
    }

    /// Executes a kernel on shared memory whose word `k` becomes 1 after `k` loads; gives the instructions,
    /// with their lanes, the final registers, and the number of steps not executed.
    fn run(kernel: &Kernel, remembers: bool) -> (Vec<(u32, u32)>, Vec<Row>, u32) {
        let env = CtaEnvironment::new([1, 1, 1], [32, 1, 1], Arc::from([]));
        let mut warp = Warp::new(kernel, &env, 0);
        let (mut access, mut loads, mut steps, mut spared) = (Access::default(), 0, Vec::new(), 0);
        while let Some(pc) = warp.pc() {
            assert!(steps.len() < 10_000, "it does not end");
            let at = |address: u64, loads: u64| u32::from(address / 4 <= loads);
            if let Some(step) = remembers.then(|| warp.poll()).flatten() {
                steps.push((pc, warp.active()));
                spared += 1;
                if let PollStep::Load(address) = step {
                    loads += 1;
                    warp.polled(kernel, at(address.into(), loads));
                }
                continue;
            }
            let issued = warp.issue(kernel, &env, &mut access).unwrap();
            steps.push((pc, issued.lanes));
            if issued.kind == Issue::Memory {
                loads += 1;
                let words = Row(access.addresses.map(|address| at(address, loads)));
                warp.complete_load(kernel, pc, issued.lanes, &[words, Row::ZERO, Row::ZERO, Row::ZERO]);
            }
        }
        (steps, warp.rows.clone(), spared)
    }

    #[test]
    fn rounds_that_are_not_executed_leave_what_executed_ones_would() {
        let again = "ld.volatile.shared.u32 %r2, [words+160]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A; add.u32 %r5, %r2, 9;";
        let alone = "setp.gt.u32 %p3, %r1, 4; @%p3 bra B; A: ld.volatile.shared.u32 %r2, [words+160]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A; B: add.u32 %r5, %r1, 9;";
        let each = "shl.b32 %r3, %r1, 2; A: ld.volatile.shared.u32 %r2, [%r3]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A; add.u32 %r5, %r2, %r1;";
        for (body, spares) in
            [(format!("A: {again}"), true), (alone.to_owned(), true), (each.to_owned(), false)]
        {
            let kernel = kernel(&body);
            let (plain, remembered) = (run(&kernel, false), run(&kernel, true));
            assert_eq!((&plain.0, &plain.1, plain.2), (&remembered.0, &remembered.1, 0), "{body}");
            assert_eq!(
                remembered.2 > 100,
                spares,
                "{body}: {} of {} steps",
                remembered.2,
                remembered.0.len()
            );
        }
    }
}
