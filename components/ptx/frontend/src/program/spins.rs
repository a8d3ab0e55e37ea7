//! Loops that wait for others: whether another round follows depends on memory that other threads change.
//!
//! A waiting loop has, on the path back to its beginning, an atomic or a load that is not weak (volatile, relaxed or acquire), and a
//! branch or an exit under a predicate that its value decides: through registers, or through a path that it chooses. A weak load does
//! not count, since the manual (PTX ISA 8.6) does not promise that it ever sees another thread's store.

use super::{Action, Instruction, Kernel};
use crate::isa::Space;

/// Marks the branches back of such loops.
pub fn mark(kernel: &mut Kernel) {
    let instructions = &kernel.instructions;
    if !instructions.iter().any(is_strong) {
        return;
    }
    let registers = usize::from(kernel.scoreboard_registers);
    let mut spins = Vec::new();
    for round in rounds(instructions) {
        let goes_back = |&last: &usize| {
            let Instruction { action, target, .. } = instructions[last];
            // A target among the others is one from which the branch can be reached.
            let target = target as usize;
            action == Action::Branch && target <= last && round.binary_search(&target).is_ok()
        };
        let backs: Vec<usize> = round.iter().copied().filter(goes_back).collect();
        if !backs.is_empty() && waits(instructions, &round, registers) {
            spins.extend(backs);
        }
    }
    for last in spins {
        kernel.instructions[last].spins = true;
    }
}

/// Whether others can change the value that an instruction loads.
fn is_strong(instruction: &Instruction) -> bool {
    let form = &instruction.memory;
    instruction.is_load() && form.volatile && !matches!(form.space, Some(Space::Local | Space::Const))
}

/// Whether the value of a strong load decides whether a round of these instructions is followed by another. The result of a
/// call counts as the value of a strong load.
fn waits(instructions: &[Instruction], round: &[usize], registers: usize) -> bool {
    let loads = |&&at: &&usize| is_strong(&instructions[at]) || instructions[at].action == Action::LoadFrame;
    if !round.iter().any(|at| loads(&at)) {
        return false;
    }
    let mut decides = vec![false; registers];
    let leaves =
        |at: &&usize| matches!(instructions[**at].action, Action::Branch | Action::Exit | Action::Return);
    for at in round.iter().filter(leaves) {
        instructions[*at].reads.as_slice().iter().for_each(|id| decides[usize::from(*id)] = true);
    }
    let writes = |decides: &[bool], at: usize| {
        instructions[at].writes.as_slice().iter().any(|id| decides[usize::from(*id)])
    };
    let mut grows = true;
    while grows {
        grows = false;
        // Values come from before, but for those that a round hands to the next.
        for &at in round.iter().rev() {
            if writes(&decides, at) {
                for id in instructions[at].reads.as_slice() {
                    grows |= !std::mem::replace(&mut decides[usize::from(*id)], true);
                }
            }
        }
    }
    round.iter().filter(loads).any(|&at| writes(&decides, at))
}

/// The strongly connected components of the instructions, each in order: the instructions on paths from the target of a branch
/// back to the branch are the component of both, or none if the two are in different components. By Tarjan (1972), without
/// recursion, in one pass over all.
fn rounds(instructions: &[Instruction]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let count = instructions.len();
    // The number of an instruction in the order of the walk, and the lowest number that it reaches among those on the stack.
    let (mut numbers, mut low) = (vec![NEW; count], vec![NEW; count]);
    let (mut stack, mut is_on_stack) = (Vec::new(), vec![false; count]);
    let (mut found, mut next) = (Vec::new(), 0);
    for start in 0..count {
        if numbers[start] != NEW {
            continue;
        }
        // Instructions on the way here, with how many of their successors have been seen.
        let mut way = vec![(start, 0)];
        while let Some(&mut (at, ref mut seen)) = way.last_mut() {
            if *seen == 0 {
                (numbers[at], low[at]) = (next, next);
                next += 1;
                stack.push(at);
                is_on_stack[at] = true;
            }
            let successor =
                after(&instructions[at], at).into_iter().flatten().filter(|to| *to < count).nth(*seen);
            *seen += 1;
            match successor {
                Some(to) if numbers[to] == NEW => way.push((to, 0)),
                Some(to) if is_on_stack[to] => low[at] = low[at].min(numbers[to]),
                Some(_) => {}
                None => {
                    way.pop();
                    if let Some((before, _)) = way.last() {
                        low[*before] = low[*before].min(low[at]);
                    }
                    if low[at] == numbers[at] {
                        let first = stack.iter().rposition(|it| *it == at).unwrap_or(0);
                        let mut part = stack.split_off(first);
                        part.iter().for_each(|it| is_on_stack[*it] = false);
                        part.sort_unstable();
                        found.push(part);
                    }
                }
            }
        }
    }
    found
}

/// The instructions that may follow one.
fn after(instruction: &Instruction, at: usize) -> [Option<usize>; 2] {
    let ends = matches!(instruction.action, Action::Branch | Action::Exit | Action::Return | Action::Trap);
    let next = (!ends || instruction.is_guarded()).then_some(at + 1);
    [next, (instruction.action == Action::Branch).then_some(instruction.target as usize)]
}

#[cfg(test)]
mod tests {
    use crate::program::Kernel;

    /// Whether the only loop of a kernel waits for others.
    fn spins(target: u32, body: &str) -> bool {
        let text = format!(
            ".version 7.0\n.target sm_{target}\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<9>;\nld.param.u64 %rd1, [p];\n{body}\nret;\n}}"
        );
        let kernel = Kernel::compile(&text, Some("k")).unwrap();
        let mut backs = (0..).zip(kernel.instructions()).filter(|(at, it)| it.target <= *at);
        let spins = backs.next().expect("a loop").1.spins;
        assert!(backs.all(|(_, back)| back.spins == spins), "{body}");
        spins
    }

    #[test]
    fn loops_that_wait_for_others_are_known() {
        for body in [
            "A: atom.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra A;",
            "A: ld.acquire.gpu.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;",
            "A: ld.volatile.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @!%p1 bra B; bra A; B:",
            "A: ld.volatile.global.u32 %r1, [%rd1]; setp.ne.u32 %p1, %r1, 0; @%p1 exit; bra A;",
            // The value chooses a path, and the path decides.
            "mov.u32 %r2, 0; A: atom.global.exch.b32 %r1, [%rd1], 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra B; mov.u32 %r2, 1;\nB: setp.eq.u32 %p2, %r2, 0; @%p2 bra A;",
            // A part of the loop is behind its backward branch.
            "A: bra C; B: setp.eq.u32 %p1, %r1, 0; @%p1 bra A; ret; C: ld.volatile.global.u32 %r1, [%rd1]; bra B;",
        ] {
            assert!(spins(70, body), "{body}");
            assert!(!spins(61, body), "warps stay in step: {body}");
        }
    }

    #[test]
    fn loops_that_end_by_themselves_are_left_alone() {
        for body in [
            "A: ld.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra A;",
            "A: atom.global.add.u32 %r1, [%rd1], 1; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra A;",
            "A: red.global.add.u32 [%rd1], 1; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra A;",
            "ld.volatile.global.u32 %r1, [%rd1]; A: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra A;",
        ] {
            assert!(!spins(70, body), "{body}");
        }
    }
}
