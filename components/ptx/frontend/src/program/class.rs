//! Classes of instructions, as in a profiler's instruction mix.

use super::{Action, Instruction};
use crate::isa::{Latency, Space};

/// Classes of the instruction mix. Arithmetic is classed as its latency is; an access of memory by the state space that
/// the instruction names, and by generic addresses as one of global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Integer arithmetic, moves and logic.
    #[default]
    Integer,
    /// Floating-point arithmetic of 32 bits and below.
    Single,
    /// Floating-point arithmetic of 64 bits.
    Double,
    /// Special functions: reciprocals, roots, sines.
    Special,
    /// Loads of global memory.
    GlobalLoad,
    /// Stores to global memory.
    GlobalStore,
    /// Atomics and reductions on global memory.
    GlobalAtomic,
    /// Loads of shared memory.
    SharedLoad,
    /// Stores to shared memory.
    SharedStore,
    /// Atomics and reductions on shared memory.
    SharedAtomic,
    /// Loads of local memory.
    LocalLoad,
    /// Stores to local memory.
    LocalStore,
    /// Loads of constant memory.
    ConstantLoad,
    /// Loads of kernel parameters.
    ParameterLoad,
    /// Texture fetches.
    Texture,
    /// Branches.
    Branch,
    /// Barriers.
    Barrier,
    /// Memory fences.
    Fence,
    /// Ends of threads.
    Exit,
    /// Products of matrices.
    Matrix,
}

impl Class {
    /// Number of classes.
    pub const COUNT: usize = Class::Matrix as usize + 1;

    /// Whether it accesses memory: loads, stores, atomics and reductions of global, shared and local memory, loads of constants,
    /// and texture fetches. Kernel parameters are none of these: their values arrive with the launch.
    #[inline]
    pub const fn is_memory(self) -> bool {
        matches!(
            self,
            Class::GlobalLoad
                | Class::GlobalStore
                | Class::GlobalAtomic
                | Class::SharedLoad
                | Class::SharedStore
                | Class::SharedAtomic
                | Class::LocalLoad
                | Class::LocalStore
                | Class::ConstantLoad
                | Class::Texture
        )
    }
}

impl Instruction {
    /// Its class in the instruction mix.
    #[inline]
    pub fn class(&self) -> Class {
        match self.latency {
            Latency::IntAdd
            | Latency::IntMax
            | Latency::IntMul
            | Latency::IntMad
            | Latency::IntDiv
            | Latency::IntMul24
            | Latency::IntMad24
            | Latency::IntShuffle
            | Latency::IntOther => Class::Integer,
            Latency::FpAdd
            | Latency::FpMax
            | Latency::FpMul
            | Latency::FpMad
            | Latency::FpDiv
            | Latency::FpRoot
            | Latency::FpOther => Class::Single,
            Latency::DpAdd
            | Latency::DpMax
            | Latency::DpMul
            | Latency::DpMad
            | Latency::DpDiv
            | Latency::DpRoot
            | Latency::DpOther => Class::Double,
            Latency::Sfu => Class::Special,
            Latency::Load => self.load(),
            Latency::Store => match self.memory.space {
                Some(Space::Shared) => Class::SharedStore,
                Some(Space::Local) => Class::LocalStore,
                Some(Space::Global | Space::Const) | None => Class::GlobalStore,
            },
            Latency::Atomic => match self.memory.space {
                Some(Space::Shared) => Class::SharedAtomic,
                Some(_) | None => Class::GlobalAtomic,
            },
            Latency::Branch => Class::Branch,
            Latency::Barrier => Class::Barrier,
            Latency::Fence => Class::Fence,
            Latency::Exit => Class::Exit,
            Latency::MatrixHalf
            | Latency::MatrixSingle
            | Latency::MatrixDouble
            | Latency::MatrixByte
            | Latency::MatrixNibble
            | Latency::MatrixBit => Class::Matrix,
        }
    }

    fn load(&self) -> Class {
        match (&self.action, self.memory.space) {
            (Action::LoadParam, _) => Class::ParameterLoad,
            (Action::Texture(_), _) => Class::Texture,
            (_, Some(Space::Shared)) => Class::SharedLoad,
            (_, Some(Space::Local)) => Class::LocalLoad,
            (_, Some(Space::Const)) => Class::ConstantLoad,
            (_, Some(Space::Global) | None) => Class::GlobalLoad,
        }
    }
}
