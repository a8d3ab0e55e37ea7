//! A decoded instruction: its action, and the rows that it works on.
//!
//! Operands are indices of rows: a register's row in the warp, or, with the top bit set, a constant's row in the kernel.

use super::{FileAccesses, RegisterSet};
use crate::isa::forms::{PredicateOp, StackOp};
use crate::isa::matrix::Product;
use crate::isa::warp::{Reduction, WarpOp};
use crate::isa::{
    AtomicOperation, AtomicType, Base, CacheOperator, LaneOp, Latency, Order, RangeAction, Scope, Space,
    Unit, Video,
};

/// "No register" in an operand field.
pub const NONE: u16 = u16::MAX;
/// Marks an operand as a row of the kernel's constants.
pub const CONSTANT: u16 = 0x8000;

/// The combination of a comparison's truth with a third predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    None,
    And,
    Or,
    Xor,
}

/// Special registers, PTX ISA 10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    WarpCount,
    SmId,
    SmCount,
    GridId,
    Clock,
    ClockHigh,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    DynamicShared,
    TotalShared,
    /// `%envreg<n>` and the like, where the driver sets nothing.
    Zero,
    /// Half of the address of the workspace that the driver gives a grid: `%envreg1` has the high half, `%envreg2` the low half.
    /// The instruction's offset is the workspace's offset among the variables of the module.
    Workspace {
        high: bool,
    },
    /// An offset in the shared memory that is reserved for the driver, which is the instruction's offset, or the size of this
    /// memory.
    Reserved(Reserved),
    /// `%globaltimer`: nanoseconds of the run.
    GlobalTimer,
    GlobalTimerHigh,
}

/// The registers that describe the reserved part of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved {
    Begin,
    /// The second half, in which CUDA's groups of several warps meet.
    Middle,
    End,
    Size,
}

impl Special {
    /// Whether it has 64 bits.
    pub fn is_wide(self) -> bool {
        matches!(self, Special::Clock | Special::GridId | Special::GlobalTimer)
    }
}

/// The action of an instruction, beyond the lane-wise table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The table's operation into one row.
    Lane,
    /// The table's operation into a 64-bit register.
    LaneWide,
    /// The table's operation into one row or a 64-bit register, and the carry, which another one computes, into
    /// the second destination.
    Carry(LaneOp),
    /// The table's comparison into predicates.
    Compare(Combine),
    /// The table's comparison of pairs into a predicate for each half.
    ComparePair(Combine),
    /// The table's comparison into a number, with the word that it writes for true.
    Set(Combine, u32),
    /// The table's comparison of pairs into two numbers of 16 bits.
    SetPair(Combine, u16),
    Predicate(PredicateOp),
    Special(Special),
    /// Address of a module variable: base in the environment plus `offset`.
    SymbolAddress(Base),
    /// `cvta`: source plus a window's base.
    ToGeneric(Base),
    /// `cvta.to`: source minus a window's base.
    FromGeneric(Base),
    /// `isspacep`: `None` for parameters, which have no window.
    InSpace(Option<Base>),
    /// `mov.b64 d, {a, b}` and the 16-bit form.
    Pack,
    /// `mov.b64 {a, b}, s` and the 16-bit form.
    Unpack,
    Video(Video),
    LoadParam,
    /// The thread's stack; `offset` is the alignment of an allocation.
    Stack(StackOp),
    Memory,
    Branch,
    Barrier {
        waits: bool,
    },
    /// A barrier that returns a reduction of the CTA's predicates.
    BarrierReduction(Reduction),
    /// Lanes among each other; a mask of lanes is the fourth source.
    Warp(WarpOp),
    /// `tex` and `tld4`; the texture is the global variable at `offset`, or its handle is in the address register.
    Texture(Fetch),
    /// The address of a surface's element for the access that follows, and the predicate of the lanes that have one. The surface is
    /// named as for `Texture`; the sources are x, y, z and the layer.
    SurfaceAddress(SurfacePlace),
    /// `suq`
    SurfaceQuery(SurfaceField),
    Fence,
    /// Parameters of calls, which are stored in the warp.
    LoadFrame,
    StoreFrame,
    /// `offset` is the call site.
    Call,
    Return,
    /// A call of a function that reports a range; `offset` is the call site.
    Range(RangeAction),
    Exit,
    Trap,
    /// `brkpt`
    Breakpoint,
    /// An instruction without an effect on values.
    Hint,
    /// `nanosleep`
    Sleep,
    /// `cp.async` from global memory to the address in the first source; the second is the bytes to be read.
    Copy,
    CommitCopies,
    /// Waits for all groups of copies but the newest `offset`, and for all copies if it is negative.
    AwaitCopies,
    /// A product of matrices; `offset` is its site.
    Matrix,
    /// `__assertfail`
    Assert,
    /// The device library's call for a pointer that is no block.
    BadFree,
}

/// The parts of a texture fetch. Coordinates are the first sources, the layer is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    pub floats: bool,
    pub result_floats: bool,
    /// Whether the texture is an array of layers, or of cubes.
    pub layered: bool,
    /// Coordinates are a direction, which meets a face of a cube.
    pub cube: bool,
    /// `tld4` gathers this channel of four texels.
    pub gathers: Option<u8>,
}

/// The coordinates of an access to a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurfacePlace {
    /// Whether the surface is an array of layers.
    pub layered: bool,
    /// Bytes of a lane's access.
    pub bytes: u8,
    pub outside: Outside,
}

/// The meaning of coordinates outside of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// `.trap`
    Fault,
    /// `.clamp`: the nearest place inside.
    Nearest,
    /// `.zero`: zeros are read and nothing is written.
    Nothing,
}

/// A number that describes a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceField {
    /// Elements along an axis.
    Size(u8),
    Layers,
    /// Whether the rows of the surface are consecutive.
    IsLinear,
}

/// Bytes in the parameters of a function that runs: offset and size, at multiples of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePart {
    pub offset: u32,
    pub size: u32,
}

#[derive(Clone, Debug)]
pub struct CallSite {
    /// Index in `Kernel::functions`; `None` if the address is in the first source.
    pub callee: Option<u32>,
    pub arguments: Vec<FramePart>,
    pub results: Vec<FramePart>,
}

/// A product of matrices and the registers of its fragments A, B, C and D.
#[derive(Clone, Debug)]
pub struct MatrixSite {
    pub product: Product,
    pub registers: [Vec<u16>; 4],
}

#[derive(Clone, Copy, Debug)]
pub struct MemoryForm {
    /// `None` is generic.
    pub space: Option<Space>,
    /// The address is that of a module variable: `offset` counts from this base.
    pub base: Option<Base>,
    pub store: bool,
    pub atomic: Option<(AtomicOperation, AtomicType)>,
    pub volatile: bool,
    pub cache: CacheOperator,
    pub elements: u8,
    pub bytes: u8,
    pub signed: bool,
    /// Whether the address register has 64 bits.
    pub wide_address: bool,
    /// Whether the value registers have 64 bits.
    pub wide_value: bool,
}

impl MemoryForm {
    pub const NONE: MemoryForm = MemoryForm {
        space: None,
        base: None,
        store: false,
        atomic: None,
        volatile: false,
        cache: CacheOperator::Default,
        elements: 0,
        bytes: 0,
        signed: false,
        wide_address: false,
        wide_value: false,
    };
}

/// A decoded instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// Action of the instruction.
    pub action: Action,
    /// The operation on lanes, where the action is one.
    pub op: LaneOp,
    /// Rows of the results, or `NONE`.
    pub destinations: [u16; 4],
    /// Rows of the operands, or `NONE`.
    pub sources: [u16; 4],
    /// Address register, or `NONE`.
    pub address: u16,
    /// The predicate that guards it, or `NONE`.
    pub guard: u16,
    /// Whether it is executed where the guard is false.
    pub guard_negated: bool,
    /// The access to memory, of a memory instruction.
    pub memory: MemoryForm,
    /// Bytes that are added to the address, or an index that depends on the action.
    pub offset: i64,
    /// See [`Instruction::drains`].
    pub drains: bool,
    /// A barrier that all threads of a warp must execute together.
    pub aligned: bool,
    /// The order that it imposes on its threads' memory accesses.
    pub order: Order,
    /// Of a short loop that loads and hands nothing from a round to the next.
    pub waits: bool,
    /// The scope of a strong access or a fence; none of a weak access. It stays where the target has no memory model.
    pub scope: Option<Scope>,
    /// The branch of a loop that waits for a word of shared memory.
    pub polls: bool,
    /// The branch back of a loop that waits for others, whose threads make progress by themselves.
    pub spins: bool,
    /// The target of a branch; `NO_PC` for others.
    pub target: u32,
    /// The reconvergence point of a branch; `NO_PC` if only at the end.
    pub reconvergence: u32,
    /// The unit it occupies.
    pub unit: Unit,
    /// Multiplications and additions of a product of matrices, in units of [`WORK`](Instruction::WORK).
    pub work: u8,
    /// Latency class of the instruction.
    pub latency: Latency,
    /// Scoreboard ids of the registers it reads, its guard included.
    pub reads: RegisterSet,
    /// Scoreboard ids of the registers it writes.
    pub writes: RegisterSet,
    /// Its accesses to the register file.
    pub accesses: FileAccesses,
    /// Line in the PTX text.
    pub line: u32,
    /// Its bytes in the PTX text.
    pub text: (u32, u32),
}

impl Instruction {
    /// The multiplications and additions of the smallest product of matrices, `m8n8k4`.
    pub const WORK: u32 = 256;

    /// Whether a predicate decides which lanes execute it.
    pub fn is_guarded(&self) -> bool {
        self.guard != NONE
    }

    /// Whether it may be issued only when no register of the warp waits for a value: a recursive call saves
    /// registers, and its return restores them.
    #[inline]
    pub fn drains(&self) -> bool {
        self.drains
    }

    /// Whether it makes a memory access that leaves the core (`ld.param` does not).
    pub fn is_memory(&self) -> bool {
        matches!(self.action, Action::Memory | Action::Copy)
    }

    /// Whether it is a load or an atomic whose value is wanted.
    pub fn is_load(&self) -> bool {
        self.is_memory() && !self.memory.store && self.destinations[0] != NONE
    }
}
