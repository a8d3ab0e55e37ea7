//! Basic blocks and immediate post-dominators.
//!
//! A virtual exit follows every block that ends its threads. A loop without a way out gets a pseudo-edge
//! to it, so that post-dominators exist everywhere. Dominators of the reversed graph follow Cooper,
//! Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".

/// A pc that is never reached: the branch's paths meet only at the end of the kernel.
pub const NO_PC: u32 = u32::MAX;

/// Successors of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The instruction to which control may jump.
    pub target: Option<u32>,
    /// Whether it may continue with the next instruction.
    pub falls: bool,
    /// Whether it may end the thread.
    pub exits: bool,
}

/// A basic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub first: u32,
    /// One past the last instruction.
    pub end: u32,
    /// Blocks that may follow, in the order fall-through, target.
    pub successors: Vec<u32>,
    /// The block where all paths from here meet first; `None` is the end of the kernel.
    pub post_dominator: Option<u32>,
}

/// A control-flow graph.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// The blocks, in the order of the text.
    pub blocks: Vec<Block>,
    /// The block of each instruction.
    pub block_of: Vec<u32>,
}

impl ControlFlow {
    /// Builds the graph; `flow` has one entry for each instruction.
    pub fn new(flow: &[Flow]) -> Self {
        let count = flow.len();
        let mut leader = vec![false; count];
        if let Some(first) = leader.first_mut() {
            *first = true;
        }
        for (pc, step) in flow.iter().enumerate() {
            if let Some(target) = step.target {
                leader[target as usize] = true;
            }
            if (step.target.is_some() || step.exits) && pc + 1 < count {
                leader[pc + 1] = true;
            }
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut block_of = vec![0; count];
        for pc in 0..count {
            if leader[pc] {
                let first = pc as u32;
                blocks.push(Block { first, end: first, successors: Vec::new(), post_dominator: None });
            }
            let index = blocks.len() - 1;
            blocks[index].end = pc as u32 + 1;
            block_of[pc] = index as u32;
        }
        let exit = blocks.len();
        let mut successors: Vec<Vec<usize>> = vec![Vec::new(); exit];
        for (index, block) in blocks.iter_mut().enumerate() {
            let last = flow[block.end as usize - 1];
            if last.falls && (block.end as usize) < count {
                block.successors.push(block_of[block.end as usize]);
            }
            if let Some(target) = last.target {
                let next = block_of[target as usize];
                if !block.successors.contains(&next) {
                    block.successors.push(next);
                }
            }
            successors[index] = block.successors.iter().map(|&s| s as usize).collect();
            // Threads that end under a guard never meet the others: where these meet does not depend on them.
            let last_block = block.end as usize == count;
            if last.exits && !last.falls || last.falls && last_block {
                successors[index].push(exit);
            }
        }
        let parents = post_dominators(&mut successors);
        for (block, parent) in blocks.iter_mut().zip(parents) {
            block.post_dominator = (parent != exit).then_some(parent as u32);
        }
        ControlFlow { blocks, block_of }
    }

    /// The reconvergence point of a branch at `pc`, or `NO_PC`.
    pub fn reconvergence(&self, pc: u32) -> u32 {
        let block = &self.blocks[self.block_of[pc as usize] as usize];
        block.post_dominator.map_or(NO_PC, |index| self.blocks[index as usize].first)
    }
}

/// Immediate post-dominator of each node; the exit is the number of nodes. Adds the pseudo-edges.
fn post_dominators(successors: &mut [Vec<usize>]) -> Vec<usize> {
    let exit = successors.len();
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); exit + 1];
    for (node, next) in successors.iter().enumerate() {
        for &to in next {
            predecessors[to].push(node);
        }
    }
    let mut order = Vec::new();
    let mut seen = vec![false; exit + 1];
    reverse_post_order(exit, &predecessors, &mut seen, &mut order);
    // The last block of an endless loop gets the edge: it holds the jump back in compilers' output.
    for node in (0..exit).rev() {
        if !seen[node] {
            successors[node].push(exit);
            predecessors[exit].push(node);
            seen.fill(false);
            order.clear();
            reverse_post_order(exit, &predecessors, &mut seen, &mut order);
        }
    }
    let mut parent = closest_common(exit, &order, successors);
    parent.truncate(exit);
    parent
}

/// Immediate dominator of each node, `usize::MAX` if it is not reached; `order` is the reverse post-order from
/// `root`, and `towards` gives the neighbours on the way to it.
pub(super) fn closest_common(root: usize, order: &[usize], towards: &[Vec<usize>]) -> Vec<usize> {
    let count = order.iter().map(|node| node + 1).max().unwrap_or(0).max(towards.len()).max(root + 1);
    let mut rank = vec![usize::MAX; count];
    for (position, &node) in order.iter().enumerate() {
        rank[node] = position;
    }
    let mut parent = vec![usize::MAX; count];
    parent[root] = root;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().skip(1) {
            let mut best = usize::MAX;
            for &next in &towards[node] {
                if parent[next] == usize::MAX {
                    continue;
                }
                best = if best == usize::MAX { next } else { meet(best, next, &parent, &rank) };
            }
            if parent[node] != best {
                parent[node] = best;
                changed = true;
            }
        }
    }
    parent
}

fn meet(mut a: usize, mut b: usize, parent: &[usize], rank: &[usize]) -> usize {
    while a != b {
        while rank[a] > rank[b] {
            a = parent[a];
        }
        while rank[b] > rank[a] {
            b = parent[b];
        }
    }
    a
}

/// Depth first without recursion: a kernel may have more blocks than the stack has frames.
pub(super) fn reverse_post_order(
    root: usize,
    edges: &[Vec<usize>],
    seen: &mut [bool],
    order: &mut Vec<usize>,
) {
    let mut stack = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, next)) = stack.pop() {
        if let Some(&to) = edges[node].get(next) {
            stack.push((node, next + 1));
            if !seen[to] {
                seen[to] = true;
                stack.push((to, 0));
            }
        } else {
            order.push(node);
        }
    }
    order.reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    const FALL: Flow = Flow { target: None, falls: true, exits: false };
    const EXIT: Flow = Flow { target: None, falls: false, exits: true };
    fn branch(target: u32) -> Flow {
        Flow { target: Some(target), falls: true, exits: false }
    }
    fn jump(target: u32) -> Flow {
        Flow { target: Some(target), falls: false, exits: false }
    }

    #[test]
    fn if_else_meets_behind_both() {
        let flow = ControlFlow::new(&[branch(3), FALL, jump(4), FALL, EXIT]);
        assert_eq!(flow.reconvergence(0), 4);
        assert_eq!(flow.blocks.len(), 4);
    }

    #[test]
    fn a_loop_meets_at_its_exit() {
        let flow = ControlFlow::new(&[FALL, FALL, branch(1), EXIT]);
        assert_eq!(flow.reconvergence(2), 3);
    }

    #[test]
    fn a_path_that_exits_meets_only_at_the_end() {
        let flow = ControlFlow::new(&[branch(2), EXIT, EXIT]);
        assert_eq!(flow.reconvergence(0), NO_PC);
    }

    #[test]
    fn threads_that_end_under_a_guard_hold_nobody_apart() {
        let guarded = Flow { falls: true, ..EXIT };
        let flow = ControlFlow::new(&[branch(3), guarded, FALL, FALL, EXIT]);
        assert_eq!(flow.reconvergence(0), 3);
        // If a guarded exit is the only way out, the paths never meet.
        let only = ControlFlow::new(&[branch(2), guarded, guarded, jump(0)]);
        assert_eq!(only.reconvergence(0), 2);
        assert_eq!(only.blocks.last().expect("a block").post_dominator, None);
    }

    #[test]
    fn endless_loops_have_post_dominators() {
        let flow = ControlFlow::new(&[branch(3), FALL, jump(1), branch(5), jump(3), EXIT]);
        assert_eq!(flow.reconvergence(0), NO_PC);
        assert_eq!(flow.reconvergence(3), 5);
        let whole = ControlFlow::new(&[FALL, jump(0)]);
        assert_eq!(whole.blocks[0].post_dominator, None);
    }
}
