//! Loops that wait for others: whether they go round again depends on memory that other threads change.
//!
//! Such a loop has, on the way back to its beginning, an atomic or a load that is not weak (volatile, relaxed or acquire), and a branch
//! or an end under a predicate that its value decides: through registers, or through a path that it chooses. A weak load does not
//! count, since the manual (PTX ISA 8.6) does not promise that it ever sees another thread's store.

use super::{Action, Instruction, Kernel};
use crate::isa::Space;

/// Marks the branches back of such loops.
pub(crate) fn mark(kernel: &mut Kernel) {
    let instructions = &kernel.instructions;
    if !instructions.iter().any(is_strong) {
        return;
    }
    let flow = Flow::of(instructions);
    let backs = (0..instructions.len()).filter(|&last| {
        let Instruction { action, target, .. } = instructions[last];
        action == Action::Branch && target as usize <= last
    });
    let registers = usize::from(kernel.scoreboard_registers);
    let spins: Vec<usize> =
        backs.filter(|&last| waits(instructions, &flow.round(instructions, last), registers)).collect();
    for last in spins {
        kernel.instructions[last].spins = true;
    }
}

/// Whether others can change the value that an instruction loads.
fn is_strong(instruction: &Instruction) -> bool {
    let form = &instruction.memory;
    instruction.is_load() && form.volatile && !matches!(form.space, Some(Space::Local | Space::Const))
}

/// Whether instructions that go round decide by the value of a strong load whether to go round again. The result of a call may
/// be such a value.
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
        for &at in round {
            if writes(&decides, at) {
                for id in instructions[at].reads.as_slice() {
                    grows |= !std::mem::replace(&mut decides[usize::from(*id)], true);
                }
            }
        }
    }
    round.iter().filter(loads).any(|&at| writes(&decides, at))
}

/// The instructions from which each can be reached in one step.
struct Flow {
    before: Vec<Vec<u32>>,
}

impl Flow {
    fn of(instructions: &[Instruction]) -> Self {
        let mut before = vec![Vec::new(); instructions.len()];
        for (at, instruction) in instructions.iter().enumerate() {
            for next in after(instruction, at).into_iter().flatten() {
                if let Some(before) = before.get_mut(next) {
                    before.push(at as u32);
                }
            }
        }
        Flow { before }
    }

    /// The instructions that lie on a way from the target of a branch back to it.
    fn round(&self, instructions: &[Instruction], last: usize) -> Vec<usize> {
        let reached = |from: usize, next: &dyn Fn(usize, &mut Vec<usize>)| {
            let (mut seen, mut open) = (vec![false; instructions.len()], vec![from]);
            while let Some(at) = open.pop() {
                if seen.get(at) == Some(&false) {
                    seen[at] = true;
                    next(at, &mut open);
                }
            }
            seen
        };
        let forth = reached(instructions[last].target as usize, &|at, open| {
            open.extend(after(&instructions[at], at).into_iter().flatten());
        });
        let back =
            reached(last, &|at, open| open.extend(self.before[at].iter().map(|before| *before as usize)));
        (0..instructions.len()).filter(|&at| forth[at] && back[at]).collect()
    }
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
            // A part of the loop lies behind its branch back.
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
