//! The allocator of a MasterKernel block's task memory: a binary buddy tree in an array (Pagoda, PPoPP 2017, section 5.1).
//!
//! This is the pure twin of the tree in `cuda/pagoda`, which the scheduler warp keeps in shared memory, 32 lanes at a time. A
//! node is marked if it is allocated, is within an allocated node, or contains one: the parent of a marked node is thus marked.
//! Executors only mark the pieces that they give back; the scheduler frees them before it allocates again, and is the only one to
//! touch the tree, which therefore needs no lock.
//!
//! The paper's text says that node sizes "no smaller than the request" are searched, and that there are 128 nodes: 64 leaves of 512
//! bytes under 32 KiB are 127, and slot 0 of the array is not used. The paper frees by address; several nodes begin at one address,
//! so the size is needed as well: a [`BuddyNode`] has both.

use crate::task_entry::{LEAF, check_pool};

/// A piece of memory: its number in the array that holds the tree, where the root is 1 and the children of `n` are `2n` and `2n + 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BuddyNode(pub u32);

impl BuddyNode {
    /// Number of levels below the root.
    fn depth(self) -> u32 {
        self.0.ilog2()
    }

    /// Whether one of the two contains the other.
    pub(super) fn overlaps(self, other: BuddyNode) -> bool {
        let (low, high) = if self.0 < other.0 { (self, other) } else { (other, self) };
        high.0 >> (high.depth() - low.depth()) == low.0
    }
}

/// The tree over a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buddy {
    pool: u32,
    marked: Vec<bool>,
    /// Pieces that executors have given back and the scheduler has not freed.
    returned: Vec<bool>,
}

impl Buddy {
    /// The tree of a pool of `pool` bytes: a power of two, at least a leaf.
    ///
    /// # Errors
    /// If there is no tree of that size.
    pub fn new(pool: u32) -> Result<Self, String> {
        check_pool(pool)?;
        let slots = (2 * pool / LEAF) as usize;
        Ok(Buddy { pool, marked: vec![false; slots], returned: vec![false; slots] })
    }

    /// The beginning and the bytes of a piece.
    pub fn place(&self, node: BuddyNode) -> (u32, u32) {
        let bytes = self.pool >> node.depth();
        ((node.0 - (1 << node.depth())) * bytes, bytes)
    }

    /// Takes the lowest free piece of the smallest size that holds `bytes` bytes.
    pub fn allocate(&mut self, bytes: u32) -> Option<BuddyNode> {
        let size = bytes.max(LEAF).checked_next_power_of_two()?;
        if size > self.pool {
            return None;
        }
        let first = self.pool / size;
        let found = BuddyNode((first..2 * first).find(|&node| !self.marked[node as usize])?);
        for other in 1..self.marked.len() as u32 {
            self.marked[other as usize] |= found.overlaps(BuddyNode(other));
        }
        Some(found)
    }

    /// An executor releases a piece: the tree does not change yet.
    pub fn give_back(&mut self, node: BuddyNode) {
        self.returned[node.0 as usize] = true;
    }

    /// The scheduler frees the pieces given back.
    pub fn free_returned(&mut self) {
        for node in 1..self.returned.len() as u32 {
            if std::mem::take(&mut self.returned[node as usize]) {
                self.free(BuddyNode(node));
            }
        }
    }

    /// Frees a piece, and every larger one around it whose other half is free.
    fn free(&mut self, node: BuddyNode) {
        for other in node.0..self.marked.len() as u32 {
            if node.overlaps(BuddyNode(other)) {
                self.marked[other as usize] = false;
            }
        }
        let mut at = node.0;
        while at > 1 && !self.marked[at as usize ^ 1] {
            at /= 2;
            self.marked[at as usize] = false;
        }
    }

    /// The nodes that are marked.
    pub fn marked(&self) -> impl Iterator<Item = BuddyNode> {
        (1..self.marked.len() as u32).filter(|&node| self.marked[node as usize]).map(BuddyNode)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tree(pool: u32) -> Buddy {
        Buddy::new(pool).unwrap()
    }

    /// Offset and size of the marked pieces of at least `smallest` bytes, the largest first.
    fn marks(tree: &Buddy, smallest: u32) -> Vec<(u32, u32)> {
        tree.marked().map(|node| tree.place(node)).filter(|&(_, bytes)| bytes >= smallest).collect()
    }

    #[test]
    fn eight_kilobytes_of_an_empty_tree_mark_what_figure_3_shows() {
        let mut tree = tree(16 << 10);
        let node = tree.allocate(8 << 10).unwrap();
        assert_eq!(tree.place(node), (0, 8 << 10));
        let k = |offset: u32, bytes: u32| (offset << 10, bytes << 10);
        let expected = [k(0, 16), k(0, 8), k(0, 4), k(4, 4), k(0, 2), k(2, 2), k(4, 2), k(6, 2)];
        assert_eq!(marks(&tree, 2 << 10), expected);
    }

    #[test]
    fn freeing_four_kilobytes_goes_up_as_far_as_figure_4_shows() {
        let mut tree = tree(16 << 10);
        let left = tree.allocate(8 << 10).unwrap();
        let before = tree.clone();
        let four = tree.allocate(4 << 10).unwrap();
        assert_eq!(tree.place(four), (8 << 10, 4 << 10));
        let k = |offset: u32, bytes: u32| (offset << 10, bytes << 10);
        for marked in [k(8, 8), k(8, 4), k(8, 2), k(10, 2)] {
            assert!(marks(&tree, 2 << 10).contains(&marked), "{marked:?}");
        }
        tree.give_back(four);
        tree.free_returned();
        assert_eq!(tree, before, "16 KiB stay marked, because the left 8 KiB are");
        assert_eq!(tree.marked().next(), Some(BuddyNode(1)));
        tree.give_back(left);
        tree.free_returned();
        assert_eq!(tree.marked().count(), 0);
    }

    #[test]
    fn the_whole_pool_is_given_out_only_when_it_is_empty() {
        let mut tree = tree(32 << 10);
        let small = tree.allocate(1).unwrap();
        assert_eq!((tree.place(small), tree.allocate(32 << 10)), ((0, 512), None));
        tree.give_back(small);
        tree.free_returned();
        let all = tree.allocate(32 << 10).unwrap();
        assert_eq!((all, tree.marked().count(), tree.allocate(1)), (BuddyNode(1), 127, None));
        tree.give_back(all);
        tree.free_returned();
        assert_eq!((tree.marked().count(), tree.allocate((32 << 10) + 1)), (0, None));
    }

    #[test]
    fn what_executors_give_back_is_free_with_the_next_attempt() {
        let mut tree = tree(32 << 10);
        let all = tree.allocate(20 << 10).unwrap();
        let before = tree.marked().count();
        tree.give_back(all);
        assert_eq!((tree.marked().count(), tree.allocate(512)), (before, None), "it is only marked");
        tree.free_returned();
        assert!(tree.allocate(512).is_some());
    }

    #[test]
    fn pools_of_other_sizes_have_trees_and_odd_ones_have_none() {
        assert_eq!((tree(16 << 10).marked.len(), tree(32 << 10).marked.len()), (64, 128));
        assert!(Buddy::new(24 << 10).unwrap_err().contains("power of two") && Buddy::new(256).is_err());
    }

    /// Pieces that are given out, as intervals, with their nodes.
    #[derive(Default)]
    struct Naive {
        given: Vec<(u32, u32, BuddyNode)>,
    }

    impl Naive {
        /// The lowest aligned interval of a size that nobody has.
        fn lowest(&self, pool: u32, size: u32) -> Option<u32> {
            let is_free = |start: u32| {
                self.given.iter().all(|&(from, bytes, _)| start + size <= from || from + bytes <= start)
            };
            (0..pool).step_by(size as usize).find(|&start| start + size <= pool && is_free(start))
        }
    }

    proptest! {
        /// The tree gives the same pieces as a list of intervals, for all requests and returns, and a marked
        /// node's parent is marked.
        #[test]
        fn the_tree_is_an_allocator_of_aligned_intervals(
            log in 0_u32..=6, actions in prop::collection::vec((any::<bool>(), 0_u32..40_000, any::<u16>()), 1..120),
        ) {
            let pool = LEAF << log;
            let mut tree = tree(pool);
            let mut naive = Naive::default();
            for (gives, bytes, which) in actions {
                if gives && !naive.given.is_empty() {
                    let (.., node) = naive.given.swap_remove(which as usize % naive.given.len());
                    tree.give_back(node);
                    tree.free_returned();
                } else {
                    let size = bytes.max(LEAF).next_power_of_two();
                    let node = tree.allocate(bytes);
                    prop_assert_eq!(node.map(|node| tree.place(node).0), naive.lowest(pool, size));
                    naive.given.extend(node.map(|node| (tree.place(node).0, size, node)));
                }
                for node in tree.marked() {
                    prop_assert!(node.0 == 1 || tree.marked[node.0 as usize / 2], "{:?}", node);
                }
            }
            for (.., node) in naive.given {
                tree.give_back(node);
            }
            tree.free_returned();
            prop_assert_eq!(tree.marked().count(), 0);
        }
    }
}
