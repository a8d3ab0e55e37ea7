//! The observer of a block that is executed without time: a model of its warps' actions.

use crate::execute::{Access, Issued};

/// Receives the instructions that the warps of a block execute: those of each warp in its order, and those of
/// several in the order of their turns.
pub trait Observer {
    /// Whether nothing is made of the instructions, so that their accesses need not be filled in.
    const IS_BLIND: bool = false;

    /// A warp has executed `count` consecutive instructions that only compute, beginning with `first`. `threads` is the sum
    /// over them of the threads that executed each; the count may be 0.
    fn computed(&mut self, warp: usize, first: u32, count: u32, threads: u64);

    /// A warp has executed the instruction at a pc. The access is that of a memory instruction, and anything for others.
    fn issued(&mut self, warp: usize, pc: u32, issued: Issued, access: &Access);

    /// A warp that waited at a barrier continues.
    fn passed(&mut self, warp: usize, barrier: u32);

    /// All warps that waited at a barrier have been released: the barrier is empty again.
    fn opened(&mut self, barrier: u32);
}

/// No observer.
impl Observer for () {
    const IS_BLIND: bool = true;

    #[inline]
    fn computed(&mut self, _warp: usize, _first: u32, _count: u32, _threads: u64) {}

    #[inline]
    fn issued(&mut self, _warp: usize, _pc: u32, _issued: Issued, _access: &Access) {}

    #[inline]
    fn passed(&mut self, _warp: usize, _barrier: u32) {}

    #[inline]
    fn opened(&mut self, _barrier: u32) {}
}
