//! Who looks on while a block is executed without time: a model that wants to know what its warps did.

use crate::execute::{Access, Issued};

/// Is told what the warps of a block execute: of each warp in its order, and of several in the order in which they take turns.
pub trait Observer {
    /// A warp has executed so many instructions that only compute and stand one behind the other, from a pc on, by so many threads, all
    /// added up; it may be none.
    fn computed(&mut self, warp: usize, first: u32, count: u32, threads: u64);

    /// A warp has executed the instruction at a pc. The access is that of a memory instruction, and anything for others.
    fn issued(&mut self, warp: usize, pc: u32, issued: Issued, access: &Access);

    /// A warp that waited at a barrier goes on.
    fn passed(&mut self, warp: usize, barrier: u32);

    /// All warps that waited at a barrier have been told: it is as if nobody had come to it.
    fn opened(&mut self, barrier: u32);
}

/// Nobody looks on.
impl Observer for () {
    #[inline]
    fn computed(&mut self, _warp: usize, _first: u32, _count: u32, _threads: u64) {}

    #[inline]
    fn issued(&mut self, _warp: usize, _pc: u32, _issued: Issued, _access: &Access) {}

    #[inline]
    fn passed(&mut self, _warp: usize, _barrier: u32) {}

    #[inline]
    fn opened(&mut self, _barrier: u32) {}
}
