//! Loops that provably do not end.
//!
//! A copy of a warp runs ahead without time, on copies of its block's shared memory and of its own local memory. If the copy returns
//! to an earlier state, and has meanwhile neither read values that others or time can change nor had an effect that others see, the
//! warp loops forever. Words of shared memory can be changed by the other warps of the block, so a warp that reads them is endless
//! if all others have ended, wait at barriers, or loop forever themselves, and none of them writes a word that another one reads.
//! This also holds for words of global memory that nobody but the block can change. Otherwise an access to global memory proves
//! nothing, like a clock, a barrier or a texture: others may change the value.
//!
//! The check costs nothing until it is requested. The executor of a warp requests it when the warp has executed a power of two of
//! instructions, [`FIRST_LOOK`] or more, with a budget that is a part of them ([`budget`]).

mod round;
mod watch;

use crate::execute::standstill::{Waiting, lanes_of, listed};
use crate::execute::{CtaEnvironment, ExecError, Failure, Warp};
use crate::program::{Kernel, Symbol};
use round::Round;
pub use watch::{Sight, Watch};

/// Instructions after which a warp is checked for the first time.
pub const FIRST_LOOK: u64 = 1 << 16;

/// Number of instructions that a copy runs ahead of a warp that has executed `executed`.
pub fn budget(executed: u64) -> u64 {
    (executed / 16).max(4096)
}

/// A block's memory other than its shared memory.
pub trait Memories {
    /// The bytes of a lane of a warp at an offset of its local memory; false if they are not known now.
    fn local(&mut self, warp: usize, lane: usize, offset: usize, bytes: &mut [u8]) -> bool;

    /// The bytes of constant memory at an address; false if they are not known now.
    fn constant(&mut self, address: u64, bytes: &mut [u8]) -> bool;

    /// Reads bytes of global memory at an address; false if others than the block may change them, or the address is not
    /// allocated.
    fn global(&mut self, address: u64, bytes: &mut [u8]) -> bool;
}

/// The state of a warp of a block.
#[derive(Clone, Debug)]
pub enum Doing {
    /// The warp has ended.
    Ended,
    /// The warp waits at a barrier.
    Waiting(Waiting),
    /// The warp continues from this state.
    Running(Box<Warp>),
    /// The warp continues, and waits for the answer to an access.
    InFlight,
}

/// A block at a moment.
#[derive(Debug)]
pub struct Moment<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The block as its warps see it.
    pub env: &'a CtaEnvironment,
    /// Shared memory of the block.
    pub shared: Vec<u8>,
    /// Warps of the block.
    pub warps: Vec<Doing>,
}

/// The outcome of a check of a warp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The warp loops forever.
    Endless(Box<Failure>),
    /// The warp loops forever, unless global memory is changed from outside the block.
    Waits(Box<Failure>),
    /// The warp may end.
    Open,
    /// An access is in flight: check again soon.
    Later,
}

/// The reason for which nothing is proven about a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unproven {
    Open,
    /// Something is not known now.
    Later,
}

impl From<Unproven> for Verdict {
    fn from(unproven: Unproven) -> Self {
        match unproven {
            Unproven::Open => Verdict::Open,
            Unproven::Later => Verdict::Later,
        }
    }
}

impl Moment<'_> {
    /// Whether a warp loops forever, judged by a copy that runs `budget` instructions ahead.
    pub fn judge(&self, warp: usize, memories: &mut impl Memories, budget: u64) -> Verdict {
        self.try_judge(warp, memories, budget).unwrap_or_else(Verdict::from)
    }

    fn try_judge(&self, warp: usize, memories: &mut impl Memories, budget: u64) -> Result<Verdict, Unproven> {
        let Some(round) = self.round(warp, memories, budget)? else { return Ok(Verdict::Open) };
        if round.reads.is_empty() {
            return Ok(self.failure(warp, &round, &[], memories));
        }
        let mut rounds = vec![(warp, round)];
        for other in (0..self.warps.len()).filter(|other| *other != warp) {
            rounds.extend(self.round(other, memories, budget)?.map(|round| (other, round)));
        }
        for (writer, round) in &rounds {
            let disturbs =
                |(reader, other): &(usize, Round)| reader != writer && other.reads.meets(&round.writes);
            if !round.writes.is_empty() && rounds.iter().any(disturbs) {
                return Ok(Verdict::Open);
            }
        }
        let waits = rounds[0].1.waits_for_global();
        if waits && rounds.iter().any(|(_, round)| round.changes_global()) {
            // Somebody outside of the block may wait for that, and then help.
            return Ok(Verdict::Open);
        }
        let others: Vec<usize> = rounds[1..].iter().map(|(warp, _)| *warp).collect();
        Ok(self.failure(warp, &rounds[0].1, &others, memories))
    }

    /// The round of a warp that loops; `None` if it does not.
    fn round(
        &self,
        warp: usize,
        memories: &mut impl Memories,
        budget: u64,
    ) -> Result<Option<Round>, Unproven> {
        match &self.warps[warp] {
            Doing::Ended | Doing::Waiting(_) => Ok(None),
            Doing::InFlight => Err(Unproven::Later),
            Doing::Running(state) => round::find(self, warp, state, memories, budget).map(Some),
        }
    }

    #[cold]
    fn failure(&self, warp: usize, round: &Round, others: &[usize], memories: &mut impl Memories) -> Verdict {
        let kernel = self.kernel;
        let line = |pc: &u32| kernel.instructions()[*pc as usize].line;
        let lines = round.pcs.iter().map(line);
        let (first, last) = (lines.clone().min().unwrap_or_default(), lines.max().unwrap_or_default());
        let each = if round.period == 1 {
            "instruction".to_owned()
        } else {
            format!("{} instructions", round.period)
        };
        let up_to = if last > first { format!(" (up to line {last})") } else { String::new() };
        let lanes = lanes_of(round.lanes);
        let verb = if round.lanes.count_ones() == 1 { "goes" } else { "go" };
        let mut message = format!(
            "a loop that does not end: {lanes} {verb} round it{up_to}, and all that decides repeats every {each}"
        );
        let (shared, global) = round.words_of_period();
        if shared.is_empty() && global.is_empty() {
            message += "; the loop reads nothing that could change";
        } else {
            let told = [self.of_shared(&shared), self.of_global(&global, memories)];
            let told: Vec<String> = told.into_iter().flatten().collect();
            message += &format!("; it waits for {}", told.join(", and for "));
            message += &self.company(warp, others);
        }
        let error = ExecError::new(first, round.lanes.trailing_zeros(), message);
        let failure = Box::new(Failure::of_warp(kernel, self.env.ctaid, warp as u32, error));
        if round.waits_for_global() { Verdict::Waits(failure) } else { Verdict::Endless(failure) }
    }

    /// The words of shared memory that a loop reads.
    fn of_shared(&self, words: &[u64]) -> Option<String> {
        let value = |address: u64| {
            let bytes = self.shared.get(address as usize..).and_then(|bytes| bytes.first_chunk());
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        words_of("shared", words, |at| name_at(self.kernel.shared_symbols(), at), value)
    }

    /// The words of global memory that a loop reads.
    fn of_global(&self, words: &[u64], memories: &mut impl Memories) -> Option<String> {
        let value = |address: u64| {
            let mut bytes = [0; 4];
            memories.global(address, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        let name = |at: u64| name_at(self.kernel.global_symbols(), at.wrapping_sub(self.env.global_base));
        words_of("global", words, name, value)
    }

    /// The reason why the other warps of a block change nothing.
    fn company(&self, warp: usize, looping: &[usize]) -> String {
        let which = |wanted: &dyn Fn(&Doing) -> bool| -> Vec<usize> {
            (0..self.warps.len()).filter(|index| *index != warp && wanted(&self.warps[*index])).collect()
        };
        let mut told = Vec::new();
        for barrier in 0..16 {
            let at = which(&|doing| matches!(doing, Doing::Waiting(waiting) if waiting.barrier == barrier));
            if !at.is_empty() {
                let verb = if at.len() == 1 { "waits" } else { "wait" };
                told.push(format!("{} {verb} at barrier {barrier}", listed(&at)));
            }
        }
        let ended = which(&|doing| matches!(doing, Doing::Ended));
        if !ended.is_empty() {
            told.push(format!("{} {} ended", listed(&ended), if ended.len() == 1 { "has" } else { "have" }));
        }
        if !looping.is_empty() {
            let verb = if looping.len() == 1 { "is" } else { "are" };
            told.push(format!("{} {verb} in such a loop, too", listed(looping)));
        }
        if told.is_empty() {
            ": the block has no other warp".to_owned()
        } else {
            format!(": {}", told.join("; "))
        }
    }
}

fn name_at(symbols: &[Symbol], offset: u64) -> String {
    let symbol = symbols.iter().find(|symbol| symbol.holds(offset));
    symbol.map_or(String::new(), |symbol| format!(" (`{}`)", symbol.name))
}

/// Words of a space at some addresses, in readable form.
fn words_of(
    space: &str,
    words: &[u64],
    name: impl Fn(u64) -> String,
    mut value: impl FnMut(u64) -> u32,
) -> Option<String> {
    match words {
        [] => None,
        [word] => Some(format!(
            "the word of {space} memory at {word:#x}{}, which holds {:#x} and which nobody can change any more",
            name(*word),
            value(*word)
        )),
        [first, .., last] => Some(format!(
            "{} words of {space} memory from {first:#x}{} to {last:#x}, which nobody can change any more",
            words.len(),
            name(*first)
        )),
    }
}

#[cfg(test)]
mod tests;
