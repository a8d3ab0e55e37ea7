//! Dominators of a control-flow graph, and the loops that they show.

use super::cfg::{ControlFlow, closest_common, reverse_post_order};

/// A natural loop: the blocks from which a jump back to its header is reached without passing the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that every way in goes through.
    pub header: u32,
    /// Blocks that jump back to it.
    pub latches: Vec<u32>,
    /// All its blocks, ascending.
    pub blocks: Vec<u32>,
}

/// The dominator relation.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// The blocks that are reached, each before those that it dominates.
    pub order: Vec<u32>,
    /// Immediate dominator; `None` for the first block and for unreached ones.
    pub parent: Vec<Option<u32>>,
    /// Blocks that may precede each block.
    pub predecessors: Vec<Vec<u32>>,
}

impl Dominators {
    /// Finds the dominators of a graph.
    pub fn new(flow: &ControlFlow) -> Self {
        let count = flow.blocks.len();
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (index, block) in flow.blocks.iter().enumerate() {
            for &next in &block.successors {
                successors[index].push(next as usize);
                predecessors[next as usize].push(index);
            }
        }
        let mut order = Vec::new();
        let mut parent = vec![None; count];
        if count > 0 {
            reverse_post_order(0, &successors, &mut vec![false; count], &mut order);
            for (index, found) in closest_common(0, &order, &predecessors).into_iter().enumerate() {
                parent[index] = (index != 0 && found != usize::MAX).then_some(found as u32);
            }
        }
        let narrow = |list: &Vec<usize>| list.iter().map(|&index| index as u32).collect::<Vec<u32>>();
        Dominators { order: narrow(&order), parent, predecessors: predecessors.iter().map(narrow).collect() }
    }

    /// Whether every way to `block` goes through `above`; a block dominates itself.
    pub fn dominates(&self, above: u32, block: u32) -> bool {
        let mut at = Some(block);
        while let Some(here) = at {
            if here == above {
                return true;
            }
            at = self.parent[here as usize];
        }
        false
    }

    /// The natural loops, outer ones first.
    pub fn loops(&self) -> Vec<Loop> {
        let mut loops = Vec::new();
        for &header in &self.order {
            let mut latches = self.predecessors[header as usize].clone();
            latches.retain(|&from| self.dominates(header, from));
            if latches.is_empty() {
                continue;
            }
            let mut blocks = vec![header];
            let mut open = latches.clone();
            while let Some(block) = open.pop() {
                if !blocks.contains(&block) {
                    blocks.push(block);
                    open.extend(&self.predecessors[block as usize]);
                }
            }
            blocks.sort_unstable();
            loops.push(Loop { header, latches, blocks });
        }
        loops
    }
}

#[cfg(test)]
mod tests {
    use super::super::cfg::Flow;
    use super::*;

    fn flow(target: Option<u32>, falls: bool) -> Flow {
        Flow { target, falls, exits: target.is_none() && !falls }
    }

    #[test]
    fn nested_loops_are_found_outer_first() {
        // 0; 1: outer header; 2: inner header and latch; 3: back to 1; 4: exit.
        let graph = ControlFlow::new(&[
            flow(None, true),
            flow(Some(4), true),
            flow(Some(2), true),
            flow(Some(1), false),
            flow(None, false),
        ]);
        let dominators = Dominators::new(&graph);
        let loops = dominators.loops();
        assert_eq!(loops.len(), 2);
        assert_eq!((loops[0].header, loops[0].blocks.clone()), (1, vec![1, 2, 3]));
        assert_eq!((loops[1].header, loops[1].latches.clone()), (2, vec![2]));
        assert!(dominators.dominates(1, 4) && !dominators.dominates(2, 4));
    }
}
