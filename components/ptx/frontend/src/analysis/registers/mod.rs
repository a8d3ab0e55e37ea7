//! The registers of a thread, as an optimising assembler would need them: an estimate.
//!
//! PTX has an unlimited number of registers; the assembler that makes machine code decides the number of a thread. The
//! estimate follows the assembler in outline: values that need no register of the thread are set aside (`homes`), inner
//! loops are unrolled (`regions`), each block is scheduled so that loads go out early (`schedule`), and the most registers
//! in use at once count. `cargo xtask ptxas` prints it beside the assembler's own numbers.

mod code;
mod counts;
mod homes;
mod regions;
mod schedule;

use super::ssa::Ssa;
use crate::syntax::ast::Function;
use homes::Homes;
use regions::Regions;

/// Registers of a thread beside those of its values: the stack pointer, and two that Volta and later keep.
fn reserved(architecture: u32) -> u32 {
    if architecture < VOLTA { 1 } else { 3 }
}

/// Registers that stay unused, because pairs are aligned and operands are kept in different banks: the limit, and the number of
/// registers in use for each unused one. Both are medians over the committed modules; Volta has two banks, older SMs four.
fn gaps(architecture: u32) -> (u32, u32) {
    if architecture < VOLTA { (3, 5) } else { (3, 2) }
}

/// The architecture from which registers are allocated otherwise.
const VOLTA: u32 = 70;

/// The registers of a thread whose values take `pressure` at once.
pub fn allocated(pressure: u32, architecture: u32) -> u32 {
    let (most, each) = gaps(architecture);
    pressure + (pressure / each).min(most) + reserved(architecture)
}

/// The least registers of a kernel that calls functions: a callee may use these without saving them.
pub const LEAST_WITH_CALLS: u32 = 24;

/// The least bound that the assembler takes.
pub const LEAST: u32 = 16;

const REGISTERS: u32 = 1 << 16;

/// Functions with more values times blocks than this have no estimate: their sets would grow too large.
const LARGEST: usize = 1 << 26;

/// The most registers that values of a function take at once, on an architecture such as 80; `None` for a function that is too large.
pub fn pressure(function: &Function, architecture: u32) -> Option<u32> {
    let ssa = Ssa::new(function);
    if ssa.definitions.len() * ssa.flow.blocks.len() > LARGEST {
        return None;
    }
    let homes = Homes::new(&ssa);
    let regions = Regions::new(&ssa, &homes);
    let free = free(architecture) - reserved(architecture) - gaps(architecture).0;
    regions.blocks().iter().map(|block| schedule::pressure(block, &regions, free)).max()
}

/// The most registers that a thread may have so that `blocks` blocks of `threads` threads fit on an SM.
pub fn bound(threads: u32, blocks: u32) -> u32 {
    let threads = threads.max(1).next_multiple_of(32).saturating_mul(blocks.max(1));
    ((REGISTERS / threads) & !7).clamp(LEAST, 255)
}

/// Registers of a thread with which an SM holds all the threads that it can: up to them, the assembler does not save any.
fn free(architecture: u32) -> u32 {
    bound(
        match architecture {
            75 => 1024,
            86..=89 | 120.. => 1536,
            _ => 2048,
        },
        1,
    )
}
