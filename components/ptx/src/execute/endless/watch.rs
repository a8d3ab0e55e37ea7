//! A warp that is watched while it runs, because it may loop forever on values that nobody changes.
//!
//! Running a copy of the warp ahead proves nothing if other warps may change the memory that it reads. The warp itself is compared with
//! one of its earlier states instead: a warp that returns to that state again and again without changing memory does not act. If no
//! component of a machine acts, memory stays the same forever. Marks are found as in `round.rs`.

use super::{Failure, lanes_of, name_at};
use crate::execute::repeat::{Deciding, LoopRole, part};
use crate::execute::{Access, AccessKind, CtaEnvironment, ExecError, Warp};
use crate::isa::Space;
use crate::program::{Action, Instruction, Kernel, Row};

/// Instructions for which a warp is watched until it repeats itself.
const LONGEST: u64 = 4096;

/// Rounds in a row at whose ends a value may be late, so that they are not compared.
const LATE: u64 = 64;

/// Words that are remembered of a round.
const WORDS: usize = 4;

/// The state of a watched warp before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// Nothing yet.
    Open,
    /// The warp has returned to an earlier state once more.
    Repeats,
    /// The warp acts, or may act: it is watched no more.
    Acts,
}

/// A word that lanes have read in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    pc: u32,
    space: Space,
    address: u64,
    value: u32,
}

/// The watch over a warp.
#[derive(Clone, Debug)]
pub struct Watch {
    mark: Warp,
    /// Instructions since the watch began, and at the mark.
    step: u64,
    marked: u64,
    /// Instructions from the mark to the next one.
    next: u64,
    /// Instructions of a round, once one has been seen.
    period: Option<u64>,
    pcs: Vec<u32>,
    lanes: u32,
    deciding: (usize, Deciding),
    changes: bool,
    seen: Vec<Seen>,
}

impl Watch {
    /// A watch of a warp that begins with its next instruction.
    pub fn new(warp: &Warp) -> Self {
        Watch {
            mark: warp.clone(),
            step: 0,
            marked: 0,
            next: 1,
            period: None,
            pcs: Vec::new(),
            lanes: 0,
            deciding: (0, Deciding::default()),
            changes: false,
            seen: Vec::new(),
        }
    }

    /// Looks at the warp before it executes its next instruction. It is `settled` if no register waits for a value.
    pub fn inspect(&mut self, kernel: &Kernel, warp: &Warp, settled: bool) -> Sight {
        let since = self.step - self.marked;
        let due = settled && since > 0 && self.period.is_none_or(|period| since.is_multiple_of(period));
        let mut sight = Sight::Open;
        if due && self.is_met(kernel, warp) {
            self.period = self.period.or(Some(since));
            (self.marked, sight) = (self.step, Sight::Repeats);
        } else if self.period.is_some_and(|period| due || since > LATE * period)
            || self.period.is_none() && self.step > LONGEST
        {
            return Sight::Acts;
        } else if self.period.is_none() && settled && since >= self.next {
            (self.mark, self.marked, self.next) = (warp.clone(), self.step, 2 * self.next);
            (self.lanes, self.deciding) = (0, (0, Deciding::default()));
            self.pcs.clear();
            self.seen.clear();
        }
        let Some(pc) = warp.pc() else { return Sight::Acts };
        if self.changes || acts(&kernel.instructions[pc as usize]) {
            return Sight::Acts;
        }
        if !self.pcs.contains(&pc) {
            self.pcs.push(pc);
        }
        self.lanes |= warp.active();
        self.step += 1;
        sight
    }

    fn is_met(&mut self, kernel: &Kernel, warp: &Warp) -> bool {
        if self.mark.pc() != warp.pc() || self.mark.active() != warp.active() {
            return false;
        }
        if self.deciding.0 != self.pcs.len() {
            self.deciding = (self.pcs.len(), Deciding::of(kernel, &self.pcs));
        }
        warp.repeats(&self.mark, &self.deciding.1)
    }

    /// Lanes have the values of an access; of an atomic, the old ones.
    pub fn loaded(&mut self, access: &Access, lanes: u32, words: &[Row; 4]) {
        let (width, lanes) = (usize::from(access.width), lanes & access.mask);
        if let AccessKind::Atomic(..) = access.kind {
            for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
                let mut before = [0; 16];
                for (bytes, row) in before.chunks_exact_mut(4).zip(words) {
                    bytes.copy_from_slice(&row.0[lane].to_le_bytes());
                }
                let mut after = before;
                access.atomic(1 << lane, access.addresses[lane], &mut after[..width], &mut [Row::ZERO; 4]);
                self.changes |= after[..width] != before[..width];
            }
        }
        let lane = lanes.trailing_zeros() as usize & 31;
        let seen = Seen {
            pc: access.pc,
            space: access.space,
            address: access.addresses[lane],
            value: words[0].0[lane],
        };
        if matches!(access.space, Space::Global | Space::Shared) {
            self.seen.retain(|other| (other.pc, other.address) != (seen.pc, seen.address));
            self.seen.truncate(WORDS - 1);
            self.seen.insert(0, seen);
        }
    }

    /// Addresses of the words of global memory that it reads.
    pub fn global_words(&self) -> impl Iterator<Item = u64> + '_ {
        let global = self.seen.iter().filter(|seen| seen.space == Space::Global);
        global.map(|seen| seen.address)
    }

    /// The loop of the warp, for a report that nobody acts any more.
    ///
    /// # Panics
    /// If the kernel is not the one of the warp.
    pub fn failure(&self, kernel: &Kernel, env: &CtaEnvironment) -> Failure {
        let lines = self.pcs.iter().map(|pc| kernel.instructions[*pc as usize].line);
        let (first, last) = (lines.clone().min().unwrap_or_default(), lines.max().unwrap_or_default());
        let up_to = if last > first { format!(" (up to line {last})") } else { String::new() };
        let verb = if self.lanes.count_ones() == 1 { "goes" } else { "go" };
        let mut message = format!("{} {verb} round a loop that does not end{up_to}", lanes_of(self.lanes));
        let mut words: Vec<Seen> = Vec::new();
        for seen in &self.seen {
            if words.iter().all(|word| (word.space, word.address) != (seen.space, seen.address)) {
                words.push(*seen);
            }
        }
        let told = words.iter().map(|seen| {
            let (space, name) = match seen.space {
                Space::Shared => ("shared", name_at(kernel.shared_symbols(), seen.address)),
                _ => {
                    let offset = seen.address.wrapping_sub(env.global_base);
                    ("global", name_at(kernel.global_symbols(), offset))
                }
            };
            format!(
                "the word of {space} memory at {:#x}{name}, where it reads {:#x}",
                seen.address, seen.value
            )
        });
        let told: Vec<String> = told.collect();
        if !told.is_empty() {
            message += &format!(
                ", and {} for {}",
                if self.lanes.count_ones() == 1 { "waits" } else { "wait" },
                told.join(" or ")
            );
        }
        let error = ExecError::new(first, self.lanes.trailing_zeros(), message);
        Failure::of_warp(kernel, env.ctaid, self.mark.index(), error)
    }
}

/// Whether others see that a warp executes it, or it does not depend on registers and memory alone.
fn acts(instruction: &Instruction) -> bool {
    let form = &instruction.memory;
    match instruction.action {
        Action::Memory => form.store || form.atomic.is_some() && !instruction.is_load(),
        action => part(action) == LoopRole::Outside,
    }
}
