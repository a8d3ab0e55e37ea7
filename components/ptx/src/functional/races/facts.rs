//! Facts about an instruction for the memory model, computed once for a kernel.

use crate::isa::{AtomicOperation, CacheOperator, LaneOp, Reach, Scope};
use crate::program::{Action, Instruction, Kernel};

/// The first architecture with the memory model, whose threads run each for itself.
pub(super) const FIRST_TARGET: u32 = 70;

/// An instruction, as the memory model sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fact {
    /// The scope of a strong operation or of a fence; none of a weak one.
    pub(super) scope: Option<Scope>,
    pub(super) acquires: bool,
    pub(super) releases: bool,
    /// Bytes of an element: operations on two sizes are not morally strong.
    pub(super) bytes: u8,
    /// Whether the instruction reads through a non-coherent path, which writes of the launch need not reach (`ld.global.nc`,
    /// `tex`).
    pub(super) apart: bool,
    /// A load that a loop without a write repeats at one address: it waits for others.
    pub(super) polls: bool,
    /// A weak load whose value a compare-and-swap expects.
    pub(super) guesses: bool,
    /// An operation on a barrier in memory, which orders by itself.
    pub(super) barrier: bool,
    pub(super) line: u32,
}

impl Fact {
    /// Whether its scope includes other blocks. A launch without clusters has one a block.
    pub(super) fn is_wide(&self) -> bool {
        self.scope.is_some_and(|scope| scope >= Scope::Gpu)
    }

    /// Whether two strong operations on the same bytes are morally strong, in one block or in two.
    pub(super) fn is_strong_with(&self, other: &Fact, same_block: bool) -> bool {
        let both = self.scope.is_some() && other.scope.is_some();
        both && self.bytes == other.bytes && (same_block || (self.is_wide() && other.is_wide()))
    }
}

/// The facts of a kernel by instruction.
pub(super) fn of(kernel: &Kernel) -> Vec<Fact> {
    let instructions = kernel.instructions();
    let mut facts: Vec<Fact> = instructions.iter().map(|one| fact(one, kernel.target())).collect();
    for (last, one) in instructions.iter().enumerate() {
        let first = one.target as usize;
        if one.action == Action::Branch && one.is_guarded() && first <= last {
            polls(&instructions[first..last]).for_each(|at| facts[first + at].polls = true);
        }
    }
    for (at, one) in instructions.iter().enumerate() {
        let loads = one.action == Action::Memory && one.is_load() && one.scope.is_none();
        facts[at].guesses = loads && is_expected(instructions, one.destinations[0]);
    }
    facts
}

/// Whether a compare-and-swap compares with the value of a register, perhaps moved to another register by then.
fn is_expected(instructions: &[Instruction], register: u16) -> bool {
    let is_swap = |one: &Instruction| matches!(one.memory.atomic, Some((AtomicOperation::CompareAndSwap, _)));
    if !instructions.iter().any(is_swap) {
        return false;
    }
    let is_move = |one: &Instruction| matches!(one.op, LaneOp::MovB32 | LaneOp::MovB64);
    let mut holds = vec![register];
    let mut next = 0;
    while let Some(&from) = holds.get(next) {
        next += 1;
        for one in instructions.iter().filter(|one| is_move(one) && one.sources[0] == from) {
            if !holds.contains(&one.destinations[0]) {
                holds.push(one.destinations[0]);
            }
        }
    }
    instructions.iter().any(|one| is_swap(one) && holds.contains(&one.sources[0]))
}

/// The loads of a loop that wait for others.
fn polls(round: &[Instruction]) -> impl Iterator<Item = usize> {
    let is_write = |one: &Instruction| one.is_memory() && (one.memory.store || one.memory.atomic.is_some());
    let only_looks = !round.iter().any(|one| is_write(one) || one.action == Action::Call);
    let writes = |id: &u16| round.iter().any(|one| one.writes.as_slice().contains(id));
    let moves = move |load: &Instruction| load.reads.as_slice().iter().any(writes);
    round
        .iter()
        .enumerate()
        .filter(move |(_, one)| only_looks && one.action == Action::Memory && !moves(one))
        .map(|(at, _)| at)
}

pub(super) fn is_on_barrier(operation: AtomicOperation) -> bool {
    use AtomicOperation as Op;
    matches!(
        operation,
        Op::BarrierArrive
            | Op::BarrierDrop
            | Op::BarrierExpectArrivals
            | Op::BarrierExpectBytes
            | Op::BarrierCompleteBytes
            | Op::BarrierTest
    )
}

fn fact(one: &Instruction, target: u32) -> Fact {
    let legacy = target < FIRST_TARGET;
    let barrier = one.memory.atomic.is_some_and(|(operation, _)| is_on_barrier(operation));
    let scope = match one.scope {
        // Before the model `.cv` and `.wt` were the ways past all caches.
        None if legacy && one.memory.cache == CacheOperator::Volatile => Some(Scope::System),
        None if barrier => Some(Scope::Block),
        scope => scope,
    };
    let fence = one.action == Action::Fence && scope.is_some();
    Fact {
        scope,
        acquires: scope.is_some() && one.order.acquires != Reach::None || (fence && legacy),
        releases: scope.is_some() && one.order.releases != Reach::None || (fence && legacy),
        bytes: one.memory.bytes,
        apart: one.memory.cache == CacheOperator::NonCoherent || matches!(one.action, Action::Texture(_)),
        polls: false,
        guesses: false,
        barrier,
        line: one.line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_of(target: u32, body: &str) -> Vec<Fact> {
        let text = format!(
            ".version 7.8\n.target sm_{target}\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p;\n\
             .reg .b32 %r<4>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [a];\n{body}\nret;\n}}\n"
        );
        let kernel = Kernel::compile(&text, None).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
        of(&kernel)[1..].to_vec()
    }

    #[test]
    fn fences_order_before_and_after_the_model() {
        for target in [35, 70] {
            for (fence, scope) in
                [("membar.cta", Scope::Block), ("membar.gl", Scope::Gpu), ("membar.sys", Scope::System)]
            {
                let fact = facts_of(target, &format!("{fence};"))[0];
                assert!(fact.acquires && fact.releases && fact.scope == Some(scope), "sm_{target} {fence}");
            }
        }
    }

    #[test]
    fn a_guess_is_a_load_whose_value_a_swap_expects() {
        let body = "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r3, [%rd1+4];\nmov.u32 %r2, %r1;\natom.global.cas.b32 %r1, [%rd1], %r2, %r3;";
        let guesses: Vec<bool> = facts_of(70, body).iter().map(|fact| fact.guesses).collect();
        assert_eq!(guesses, [true, false, false, false, false]);
    }

    #[test]
    fn a_fence_of_proxies_orders_no_threads() {
        let fact = facts_of(75, "fence.proxy.alias;")[0];
        assert!(!fact.acquires && !fact.releases);
    }

    #[test]
    fn strength_comes_from_the_words_of_an_access() {
        let fact = |target, text: &str| facts_of(target, text)[0];
        assert_eq!(fact(70, "ld.global.cv.u32 %r1, [%rd1];").scope, None);
        assert_eq!(fact(35, "ld.global.cv.u32 %r1, [%rd1];").scope, Some(Scope::System));
        assert!(fact(35, "ld.global.nc.u32 %r1, [%rd1];").apart);
        let (block, device) =
            (fact(70, "atom.cta.add.u32 %r1, [%rd1], 1;"), fact(70, "ld.relaxed.gpu.u32 %r1, [%rd1];"));
        assert!(block.is_strong_with(&device, true) && !block.is_strong_with(&device, false));
        let wide = fact(70, "ld.relaxed.gpu.u64 %rd2, [%rd1];");
        assert!(!wide.is_strong_with(&device, true), "they overlap in part");
    }

    #[test]
    fn a_poll_is_a_load_of_a_loop_that_waits() {
        let body =
            "W:\nld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra W;\nld.global.u32 %r2, [%rd1];";
        let facts = facts_of(70, body);
        assert!(facts[0].polls && !facts[3].polls);
        let body =
            "W:\nadd.u64 %rd1, %rd1, 4;\nld.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p, %r1, 0;\n@%p bra W;";
        assert!(!facts_of(70, body)[1].polls, "it searches");
    }
}
