//! A race in words: the other access, and what is missing to put one before the other.
//!
//! If a thread has seen a strong write that follows the other access, this write is the link between the two, and the
//! missing part is named: a fence before the write, a scope, a fence after the read. Otherwise the reason is in the accesses
//! themselves.

use super::cells::{Deed, Mark};
use super::facts::{FIRST_TARGET, Fact};
use super::threads::{BLOCK, DEVICE, Seen};
use super::{Launch, Race, Races};
use crate::execute::Access;
use crate::isa::Space;
use crate::program::Kernel;

/// The text about a race.
pub(in crate::functional) struct Told {
    /// The thread of the access.
    pub(in crate::functional) whose: String,
    /// The missing order.
    pub(in crate::functional) missing: String,
}

/// The two sides of a race.
struct Sides<'a> {
    launch: &'a Launch,
    kernel: &'a Kernel,
    other: Mark,
    theirs: Fact,
    own: Fact,
    pc: u32,
    deed: Deed,
    /// The block of each, the other's first.
    blocks: [u32; 2],
    same_warp: bool,
}

impl Races {
    /// Describes a race of a warp's access.
    pub(in crate::functional) fn tell(
        &self,
        kernel: &Kernel,
        access: &Access,
        warp: usize,
        race: Race,
    ) -> Option<Told> {
        let launch = self.launch.as_deref()?;
        let (other, lane) = (race.other, race.other.lane());
        let (number, _) = launch.epochs[other.epoch() as usize];
        let block = number / launch.warps;
        let sides = Sides {
            launch,
            kernel,
            other,
            theirs: launch.facts[other.pc() as usize],
            own: launch.facts[access.pc as usize],
            pc: access.pc,
            deed: Deed::of(access.kind),
            blocks: [block, self.block],
            same_warp: number == self.warps[warp].number,
        };
        let line = sides.theirs.line;
        let where_ = if access.space == Space::Shared {
            String::new()
        } else {
            let [x, y, z] = launch.blocks[block as usize];
            format!("block ({x}, {y}, {z}), ")
        };
        let whose = format!(
            "{where_}warp {}, lane {lane}, {} it at {}",
            number % launch.warps,
            other.deed().verb(),
            kernel.quote(line)
        );
        let missing = if race.within {
            "lanes of one instruction write different values".to_owned()
        } else {
            sides.missing(&self.warps[warp].group(race.lane).known.seen)
        };
        Some(Told { whose, missing })
    }
}

impl Sides<'_> {
    fn missing(&self, seen: &[Seen]) -> String {
        let Sides { theirs, own, .. } = self;
        if own.apart && self.deed == Deed::Reads {
            return "the read-only path need not see what its own launch writes, whatever the order: `ld.global` does".to_owned();
        }
        if let (Some(_), Some(_)) = (theirs.scope, own.scope) {
            return self.not_strong_together((self.other.pc(), *theirs), (self.pc, *own));
        }
        if let Some(missing) = seen.iter().rev().find_map(|seen| self.link(seen)) {
            return missing;
        }
        let [mine, other] = [(self.deed, own), (self.other.deed(), theirs)];
        for (reads, writes) in [(mine, other), (other, mine)] {
            // Threads of a warp that do not wait for each other have a barrier at hand.
            if reads.0 == Deed::Writes || (self.same_warp && !reads.1.polls) {
                continue;
            }
            let (is_weak, write_is_weak) = (reads.1.scope.is_none(), writes.1.scope.is_none());
            let mut parts = Vec::new();
            if is_weak && (reads.1.polls || !write_is_weak) {
                let what = if reads.1.polls { "poll" } else { "read" };
                parts.push(format!("the {what} at {} is a weak load: {}", self.line(reads.1), self.read()));
            }
            if write_is_weak && (reads.1.polls || !is_weak) {
                parts.push(format!("the write at {} is weak: {}", self.line(writes.1), self.write()));
            }
            if !parts.is_empty() {
                return parts.join(", and ");
            }
        }
        if self.same_warp {
            "nothing orders the threads of a warp here: `bar.warp.sync` (`__syncwarp()`) does".to_owned()
        } else if self.blocks[0] == self.blocks[1] {
            "nothing orders them: `bar.sync` (`__syncthreads()`) between them does".to_owned()
        } else {
            "nothing orders them: no release that follows the one has been acquired before the other"
                .to_owned()
        }
    }

    /// The missing link by which a strong write that the thread has seen would order the other access before this one; `None` if the write
    /// does not follow the other access.
    fn link(&self, seen: &Seen) -> Option<String> {
        let Launch { epochs, facts, warps, .. } = self.launch;
        let (warp, time) = epochs[self.other.epoch() as usize];
        let (writer, written) = epochs[seen.writer.epoch() as usize];
        let follows =
            if warp == writer { time <= written } else { seen.knew.covers(warp, self.other.lane(), time) };
        if !follows {
            return None;
        }
        let same = writer / warps == self.blocks[1];
        let (write, read) = (facts[seen.writer.pc() as usize], facts[seen.pc as usize]);
        let reach = if same { BLOCK } else { DEVICE };
        let released = |reach: usize| seen.released[reach].covers(warp, self.other.lane(), time);
        let mut parts = Vec::new();
        // A release or acquire of too narrow a scope is reported as such.
        let (narrow_release, narrow_acquire) =
            (write.releases && released(BLOCK), read.acquires && !read.is_wide());
        if !(released(reach) || narrow_release) {
            let between = format!("between {} and {}", self.line(&self.theirs), self.line(&write));
            parts.push(match released(BLOCK) {
                true => format!(
                    "the fence {between} reaches its block alone: {} reaches others",
                    self.fence(same)
                ),
                false => format!("{} is missing {between}", self.fence(same)),
            });
        }
        if !write.is_strong_with(&read, same) {
            parts.push(self.not_strong_together((seen.writer.pc(), write), (seen.pc, read)));
        }
        if !(seen.acquired[reach] || narrow_acquire) {
            let behind = format!("behind {}", self.line(&read));
            parts.push(match seen.acquired[BLOCK] {
                true => {
                    format!("the fence {behind} reaches its block alone: {} reaches others", self.fence(same))
                }
                false => format!("{} is missing {behind}", self.fence(same)),
            });
        }
        (!parts.is_empty()).then(|| parts.join(", and "))
    }

    /// Reason for which two strong accesses are not morally strong.
    fn not_strong_together(&self, (one_pc, one): (u32, Fact), (other_pc, other): (u32, Fact)) -> String {
        if one.bytes != other.bytes {
            return format!(
                "{} and {} are strong, but of {} and {} bytes: only accesses to the same bytes are ordered so",
                self.line(&one),
                self.line(&other),
                one.bytes,
                other.bytes
            );
        }
        let [theirs, own] = self.blocks.map(|block| {
            let [x, y, z] = self.launch.blocks[block as usize];
            format!("block ({x}, {y}, {z})")
        });
        let narrow = |pc: u32, fact: Fact, block: &str| {
            let opcode = self.opcode(pc);
            let scope = fact.scope.filter(|_| !fact.is_wide())?;
            Some(format!(
                "scope {scope} of `{opcode}` at {} does not include {block}: .gpu does",
                self.line(&fact)
            ))
        };
        let parts = [narrow(one_pc, one, &own), narrow(other_pc, other, &theirs)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", and ")
    }

    /// The first word of an instruction's text, behind its guard.
    fn opcode(&self, pc: u32) -> &str {
        let (start, end) = self.kernel.instructions()[pc as usize].text;
        let text = self.kernel.source().get(start as usize..end as usize).unwrap_or_default();
        text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default()
    }

    fn line(&self, fact: &Fact) -> String {
        self.kernel.quote(fact.line)
    }

    fn is_legacy(&self) -> bool {
        self.kernel.target() < FIRST_TARGET
    }

    /// The fence that reaches a thread of the same block, or of another.
    fn fence(&self, same_block: bool) -> &'static str {
        match (self.is_legacy(), same_block) {
            (true, true) => "`membar.cta` (`__threadfence_block()`)",
            (true, false) => "`membar.gl` (`__threadfence()`)",
            (false, true) => "`fence.acq_rel.cta` (`__threadfence_block()`)",
            (false, false) => "`fence.acq_rel.gpu` (`__threadfence()`)",
        }
    }

    fn scope(&self) -> &'static str {
        if self.blocks[0] == self.blocks[1] { "cta" } else { "gpu" }
    }

    /// The loads that see a signal.
    fn read(&self) -> String {
        let fence = self.fence(self.blocks[0] == self.blocks[1]);
        match (self.is_legacy(), self.scope()) {
            (true, _) => format!("`ld.volatile` and {fence} behind it"),
            (false, scope) => format!("`ld.acquire.{scope}`, or `ld.relaxed.{scope}` and {fence} behind it"),
        }
    }

    /// The stores that give one.
    fn write(&self) -> String {
        let fence = self.fence(self.blocks[0] == self.blocks[1]);
        match (self.is_legacy(), self.scope()) {
            (true, _) => format!("`st.volatile`, and {fence} before it"),
            (false, scope) => format!("`st.release.{scope}`, or `st.relaxed.{scope}` and {fence} before it"),
        }
    }
}
