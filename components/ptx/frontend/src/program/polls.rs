//! Loops that wait for memory: short loops that load and carry no value from one round to the next; and among them polling loops, which
//! only load a word of shared memory and compare it.

use super::{Action, Instruction, NONE};
use crate::isa::Space;

/// Instructions of a loop of the first kind at most, and of the second.
const LONGEST: u32 = 32;
const LONGEST_POLL: u32 = 8;

/// Marks the instructions of loops that wait, and the branches back of those that poll.
pub fn mark(instructions: &mut [Instruction]) {
    for last in 0..instructions.len() {
        let Instruction { target, .. } = instructions[last];
        let Some(length) = (last as u32).checked_sub(target).filter(|length| *length < LONGEST) else {
            continue;
        };
        let round = &mut instructions[target as usize..=last];
        if !waits(round) {
            continue;
        }
        round.iter_mut().for_each(|instruction| instruction.waits = true);
        if length < LONGEST_POLL && polls(round) {
            instructions[last].polls = true;
        }
    }
}

/// Whether instructions load and store nothing, and none of them reads a register that it or a later one writes, so that a round hands
/// nothing to the next.
fn waits(round: &[Instruction]) -> bool {
    let is_rewritten = |(place, instruction): (usize, &Instruction)| {
        let written = |id: &u16| round[place..].iter().any(|later| later.writes.as_slice().contains(id));
        instruction.reads.as_slice().iter().any(written)
    };
    round.iter().any(Instruction::is_load)
        && round.iter().all(|instruction| !instruction.memory.store)
        && !round.iter().enumerate().any(is_rewritten)
}

/// Whether a waiting round loads a word of shared memory, compares it, and does nothing else.
fn polls(round: &[Instruction]) -> bool {
    let [load, compares @ .., branch] = round else { return false };
    let form = &load.memory;
    let is_load = load.action == Action::Memory && form.space == Some(Space::Shared) && form.base.is_none();
    let is_word =
        form.atomic.is_none() && !form.store && (form.elements, form.bytes) == (1, 4) && !form.wide_value;
    let is_compare =
        |compare: &Instruction| matches!(compare.action, Action::Compare(_)) && !compare.is_guarded();
    // The effect of an acquire on later accesses is not repeated by timing it.
    is_load
        && load.order.is_none()
        && is_word
        && load.destinations[0] != NONE
        && !load.is_guarded()
        && compares.iter().all(is_compare)
        && branch.action == Action::Branch
        && branch.is_guarded()
}

#[cfg(test)]
mod tests {
    use crate::program::Kernel;

    /// A kernel whose block has 64 words of shared memory.
    fn kernel(body: &str) -> Kernel {
        let text = format!(
            ".version 7.0\n.target sm_35\n.address_size 64\n.visible .entry wait() {{\n.reg .b32 %r<9>; .reg .pred %p<9>;\n\
             .shared .align 4 .b8 words[256];\nmov.u32 %r1, %tid.x;\nmov.u32 %r4, 0;\n{body}\nret;\n}}"
        );
        Kernel::compile(&text, Some("wait")).unwrap()
    }

    fn marked(body: &str) -> bool {
        kernel(body).instructions().iter().any(|instruction| instruction.polls)
    }

    #[test]
    fn loops_that_only_wait_are_known() {
        assert!(marked("A: ld.volatile.shared.u32 %r2, [words+8]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;"));
        assert!(marked(
            "A: ld.shared.s32 %r2, [%r1]; setp.eq.s32 %p1, %r2, %r3; setp.lt.and.s32 %p2, %r2, 7, %p1; @!%p2 bra A;"
        ));
        for (why, body) in [
            (
                "counts",
                "A: ld.shared.u32 %r2, [words]; add.u32 %r4, %r4, 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;",
            ),
            ("follows what it loads", "A: ld.shared.u32 %r2, [%r2]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;"),
            (
                "hands a predicate on",
                "A: ld.shared.u32 %r2, [words]; setp.eq.and.s32 %p1, %r2, 0, %p1; @%p1 bra A;",
            ),
            (
                "compares what it loaded before",
                "A: ld.shared.u32 %r2, [words]; setp.eq.s32 %p1, %r2, 0; @%p1 ld.shared.u32 %r2, [words]; @%p1 bra A;",
            ),
            (
                "stores",
                "A: st.shared.u32 [words], %r4; ld.shared.u32 %r2, [words]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;",
            ),
            ("changes", "A: atom.shared.add.u32 %r2, [words], 1; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;"),
            ("takes a byte", "A: ld.shared.u8 %r2, [words]; setp.eq.s32 %p1, %r2, 0; @%p1 bra A;"),
            ("never ends by itself", "A: ld.shared.u32 %r2, [words]; setp.eq.s32 %p1, %r2, 0; bra A;"),
        ] {
            assert!(!marked(body), "a loop that {why}");
        }
    }
}
