//! Kernels whose threads may end before others have passed their last barrier.
//!
//! A thread that has left such a kernel no longer counts at its barriers. With a post-profiler the thread would wait at
//! the added barrier, and its arrival would count at the barrier at which the others wait. These kernels therefore have
//! no profilers.

use std::collections::BTreeSet;

use crate::analysis::ssa::{Source, Ssa, SsaInstruction};

/// A branch at which threads diverge, some of them to the end, and a barrier at which the others arrive.
pub(super) struct Parting {
    pub(super) pc: u32,
    pub(super) barrier: u32,
}

/// The first such branch of a kernel.
pub(super) fn parting(ssa: &Ssa) -> Option<Parting> {
    let varies = varying(ssa);
    branches(ssa, &varies).find_map(|(block, pc)| {
        let barriers = region(ssa, block).into_iter().filter_map(|block| barrier_in(ssa, block));
        barriers.min().map(|barrier| Parting { pc, barrier })
    })
}

/// The guarded ends of blocks whose guard differs between the threads of a block.
fn branches<'a>(ssa: &'a Ssa, varies: &'a [bool]) -> impl Iterator<Item = (u32, u32)> + 'a {
    (0..ssa.flow.blocks.len() as u32).filter(|block| ssa.is_reached(*block)).filter_map(|block| {
        let pc = ssa.flow.blocks[block as usize].end - 1;
        let step = &ssa.steps[pc as usize];
        let parts = matches!(name(step), "bra" | "ret" | "exit");
        step.guard.filter(|(guard, _)| parts && varies[*guard as usize]).map(|_| (block, pc))
    })
}

fn name(step: &SsaInstruction) -> &str {
    step.opcode.split('.').next().unwrap_or("")
}

/// The line of a block's first barrier that waits for all threads that have not ended.
fn barrier_in(ssa: &Ssa, block: u32) -> Option<u32> {
    let range = &ssa.flow.blocks[block as usize];
    let mut steps = ssa.steps[range.first as usize..range.end as usize].iter();
    let waits = |step: &&SsaInstruction| {
        let known = matches!(name(step), "bar" | "barrier") && !step.opcode.starts_with("bar.warp");
        let operands = step.sources.len() - usize::from(step.opcode.contains(".red"));
        known && operands < 2
    };
    steps.find(waits).map(|step| step.line)
}

/// The block in which all threads meet again that diverge at the end of a block; `None` if the threads end there.
fn meeting(ssa: &Ssa, block: u32) -> Option<u32> {
    let block = &ssa.flow.blocks[block as usize];
    let goes_on = name(&ssa.steps[block.end as usize - 1]) == "bra";
    block.post_dominator.filter(|_| goes_on)
}

/// The blocks that threads may pass between a branch and the block in which all of them meet again.
fn region(ssa: &Ssa, block: u32) -> BTreeSet<u32> {
    let blocks = &ssa.flow.blocks;
    let meets = meeting(ssa, block);
    let mut found = BTreeSet::new();
    let mut open = blocks[block as usize].successors.clone();
    while let Some(next) = open.pop() {
        if Some(next) != meets && found.insert(next) {
            open.extend(&blocks[next as usize].successors);
        }
    }
    found
}

/// Values that may differ between the threads of a block.
fn varying(ssa: &Ssa) -> Vec<bool> {
    let mut varies = vec![false; ssa.definitions.len()];
    loop {
        let before = varies.iter().filter(|varies| **varies).count();
        for step in &ssa.steps {
            let own = match name(step) {
                "atom" | "shfl" | "vote" | "match" | "redux" | "activemask" | "elect" | "call" | "tex"
                | "tld4" | "suld" | "suq" | "alloca" | "stacksave" => true,
                "ld" => step.opcode.contains(".local"),
                _ => step.sources.iter().any(is_of_thread),
            };
            let values = step.sources.iter().flat_map(Source::values);
            let mut read =
                values.chain(step.guard.map(|(guard, _)| guard)).chain(step.previous.iter().copied());
            if own || read.any(|value| varies[value as usize]) {
                step.results.iter().for_each(|value| varies[*value as usize] = true);
            }
        }
        for phi in ssa.phis.iter().flatten() {
            varies[phi.result as usize] |= phi.arguments.iter().any(|(_, value)| varies[*value as usize]);
        }
        // Threads that have gone different ways bring different values along.
        let parted: Vec<u32> = branches(ssa, &varies).map(|(block, _)| block).collect();
        for block in parted {
            let meets = meeting(ssa, block);
            for place in region(ssa, block).into_iter().chain(meets) {
                ssa.phis[place as usize].iter().for_each(|phi| varies[phi.result as usize] = true);
            }
        }
        if varies.iter().filter(|varies| **varies).count() == before {
            return varies;
        }
    }
}

/// A special register that differs between the threads of a block.
fn is_of_thread(source: &Source) -> bool {
    let Source::Name(name, _) = source else { return false };
    ["%tid", "%laneid", "%lanemask", "%warpid", "%clock", "%globaltimer"]
        .iter()
        .any(|own| name.starts_with(own))
}
