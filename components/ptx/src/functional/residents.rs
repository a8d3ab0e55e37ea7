//! Blocks of a grid that wait for each other: a block that waits is paused, and resumes when others have run.
//!
//! A block runs to its end if it can. A block that provably loops until somebody changes global memory is paused, and the next block
//! begins. Whenever a block has ended or paused, the paused blocks are checked in turn whether they can continue. If all blocks have
//! begun and none can continue, the failure of the first block is that of the grid. So a grid whose blocks do not wait for each other
//! runs as if there were no pauses. Any number of blocks of the grid may be paused, regardless of the number that a machine can hold.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use super::cta::Cta;
use super::{FlatMemory, Grid, ctas};
use crate::execute::Failure;
use crate::execute::endless::budget;

/// The reason for which a CTA does not continue now.
pub(super) enum Progress {
    Ended,
    Interrupted,
    /// The CTA waits until another one changes global memory; its failure, if none does.
    Waits(Box<Failure>),
    /// Others are to have a turn.
    Slice,
}

struct Paused<'a> {
    ctaid: [u32; 3],
    cta: Cta<'a>,
    /// Failure of the block if no other block changes global memory; `None` if the block only gives others a turn.
    failure: Option<Box<Failure>>,
}

/// The state of a grid between two turns: which blocks have begun, and those that are paused.
#[derive(Default)]
pub struct Turns<'a> {
    begun: u64,
    paused: VecDeque<Paused<'a>>,
}

impl Turns<'_> {
    /// The failure of a block that waits, if nobody changes global memory for it.
    pub fn failure(&mut self) -> Option<Box<Failure>> {
        self.paused.iter_mut().find_map(|block| block.failure.take())
    }
}

/// The end of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// All blocks have ended.
    Ended,
    /// The caller has interrupted the run.
    Interrupted,
    /// No block can continue until somebody changes global memory.
    Waits,
}

impl<'a> Grid<'a> {
    /// Runs all CTAs of the grid; breaks if it was interrupted. `ended` is called for each that has ended.
    ///
    /// # Errors
    /// If the kernel makes a mistake, or blocks wait for each other forever.
    pub fn run_all(
        &mut self,
        memory: &mut FlatMemory,
        mut ended: impl FnMut(),
    ) -> Result<ControlFlow<()>, Box<Failure>> {
        let mut turns = Turns::default();
        loop {
            match self.advance(&mut turns, memory, &mut ended)? {
                Turn::Ended => return Ok(ControlFlow::Continue(())),
                Turn::Interrupted => return Ok(ControlFlow::Break(())),
                Turn::Waits => turns.failure().map_or(Ok(()), Err)?,
            }
        }
    }

    /// Runs blocks until all have ended or none can continue. A caller that changes global memory then gives the grid another turn.
    ///
    /// # Errors
    /// If the kernel makes a mistake.
    pub fn advance(
        &mut self,
        turns: &mut Turns<'a>,
        memory: &mut FlatMemory,
        mut ended: impl FnMut(),
    ) -> Result<Turn, Box<Failure>> {
        let Turns { begun, paused } = turns;
        for ctaid in ctas(self.env.nctaid).skip(*begun as usize) {
            *begun += 1;
            self.env.ctaid = ctaid;
            self.cta.begin(&self.env);
            if self.run_next(memory, paused, &mut ended)?.is_break()
                || self.go_round(memory, paused, &mut ended)?.is_break()
            {
                return Ok(Turn::Interrupted);
            }
        }
        while !paused.is_empty() {
            let before = paused.len();
            let moved = self.statistics().warp_instructions;
            if self.go_round(memory, paused, &mut ended)?.is_break() {
                return Ok(Turn::Interrupted);
            }
            let still = paused.len() == before && self.statistics().warp_instructions == moved;
            if still && paused.iter().any(|block| block.failure.is_some()) {
                return Ok(Turn::Waits);
            }
        }
        Ok(Turn::Ended)
    }

    /// Tries every paused block once, and continues it if it can.
    fn go_round(
        &mut self,
        memory: &mut FlatMemory,
        paused: &mut VecDeque<Paused<'a>>,
        ended: &mut impl FnMut(),
    ) -> Result<ControlFlow<()>, Box<Failure>> {
        for _ in 0..paused.len() {
            let Some(mut block) = paused.pop_front() else { break };
            self.env.ctaid = block.ctaid;
            if block.failure.is_some() {
                block.failure = block.cta.stuck(&self.env, memory, budget(0))?;
                if block.failure.is_some() {
                    paused.push_back(block);
                    continue;
                }
            }
            block.cta.take_over(&mut self.cta);
            std::mem::swap(&mut self.cta, &mut block.cta);
            self.cta.look_soon();
            if self.run_next(memory, paused, ended)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Runs the current block until it ends or pauses.
    fn run_next(
        &mut self,
        memory: &mut FlatMemory,
        paused: &mut VecDeque<Paused<'a>>,
        ended: &mut impl FnMut(),
    ) -> Result<ControlFlow<()>, Box<Failure>> {
        let failure = match self.cta.run_until_blocked(&self.env, memory, self.options, &mut ())? {
            Progress::Ended => {
                ended();
                return Ok(ControlFlow::Continue(()));
            }
            Progress::Interrupted => return Ok(ControlFlow::Break(())),
            Progress::Waits(failure) => Some(failure),
            Progress::Slice => None,
        };
        let mut next = Cta::new(self.kernel, &self.env, self.options);
        next.take_over(&mut self.cta);
        let cta = std::mem::replace(&mut self.cta, next);
        paused.push_back(Paused { ctaid: self.env.ctaid, cta, failure });
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functional::Options;
    use crate::program::{Kernel, VariableBases};

    #[test]
    fn a_grid_waits_until_somebody_writes_what_it_reads() {
        let source = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a) { .reg .u64 %a; .reg .u32 %r; .reg .pred %p;\n\
                      ld.param.u64 %a, [a];\nL: ld.volatile.global.u32 %r, [%a]; setp.eq.u32 %p, %r, 0; @%p bra L;\nst.global.u32 [%a+4], %r; ret; }";
        let kernel = Kernel::compile(source, None).expect("a kernel");
        let mut memory = FlatMemory::new(4096);
        let address = memory.allocate("words", 8, 0);
        let options = Options::default();
        let params = address.to_le_bytes();
        let mut grid = Grid::new(&kernel, [1; 3], [32, 1, 1], &params, VariableBases::default(), &options)
            .expect("a launch");
        let mut turns = Turns::default();
        for _ in 0..2 {
            assert_eq!(grid.advance(&mut turns, &mut memory, || {}), Ok(Turn::Waits));
        }
        let at = (address - memory.base) as usize;
        memory.bytes[at] = 7;
        assert_eq!(grid.advance(&mut turns, &mut memory, || {}), Ok(Turn::Ended));
        assert_eq!(memory.bytes[at + 4], 7);
    }
}
