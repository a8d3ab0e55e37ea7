//! The execution layer: a warp, its environment, and reports on warps that do not continue.
//!
//! A warp has its registers and its SIMT stack, and executes an instruction at a time.
//! Divergence follows GPGPU-Sim: the taken side runs first, and a branch leaves an entry for its
//! reconvergence point unless that is the point at which the current entry ends anyway.

#![allow(clippy::needless_range_loop, reason = "a lane indexes several arrays at once")]

#[cfg(target_endian = "big")]
compile_error!("64-bit registers are read as pairs of little-endian words");

mod access;
pub(crate) mod allocations;
mod call;
mod copy;
pub mod endless;
mod environment;
mod failure;
mod fetch;
mod lanes;
mod matrix;
mod memory;
mod moves;
mod paths;
mod poll;
mod predicates;
pub mod printf;
mod range;
pub(crate) mod repeat;
mod spaces;
mod stack;
pub(crate) mod standstill;
pub(crate) mod straight;
pub mod surface;
pub mod texture;
mod vector;
mod video;
mod warp;
mod words;

pub use access::{Access, AccessKind};
pub use allocations::{Allocation, Allocations, Rights};
use call::Frame;
pub use environment::{CtaEnvironment, Windows};
pub use failure::{ExecError, Failure, FaultKind};
use poll::Poll;
pub use poll::PollStep;
pub use range::RangeCall;
pub use standstill::{Waiting, standstill};
pub use warp::Votes;

use crate::analysis::cfg::NO_PC;
use crate::isa::{Base, Order, RangeAction};
use crate::program::{Action, CONSTANT, Instruction, Kernel, NONE, Row};
use lanes::{LaneFunction, Operands, blend};
use matrix::MatrixFunction;
use paths::Paths;

/// The kind of an instruction issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The instruction is done; its registers are written.
    Done,
    /// A branch, or a path that waits for others of the warp while another path continues.
    Branch,
    /// The warp reached a barrier. Its owner lets it continue with [`Warp::pass_barrier`].
    Barrier {
        /// The barrier, among the CTA's.
        id: u32,
        /// Number of threads for which the barrier waits; all of the CTA if not given.
        count: Option<u32>,
        /// Whether the warp waits there (`bar.arrive` does not).
        waits: bool,
        /// For `bar.red`, how the warp's threads vote.
        votes: Option<Votes>,
        /// Whether the whole warp arrives, and counts with all its 32 threads. Otherwise a part arrives and `waits` by itself, while the
        /// warp continues; its owner asks [`Warp::arrivals`] for the threads, and calls [`Warp::pass_apart`] when the barrier opens.
        whole: bool,
    },
    /// No path of the warp can continue until a barrier opens at which a part of the warp waits.
    Held,
    /// Later accesses must wait until earlier ones are visible, and see all that the order requires.
    Fence(Order),
    /// The access is filled in. A load's registers wait for [`Warp::complete_load`]. If the lanes of a generic access are in
    /// several spaces, the instruction is issued once for each space, and [`Warp::is_between_spaces`] is true until the last.
    Memory,
    /// A kernel parameter was read; its registers are written. The access holds its offset among the parameters, of the
    /// first lane's if they differ, as the address of lane 0.
    Parameter,
    /// Texels are to be fetched. The access holds the lanes in `mask`, the coordinates in the first rows of
    /// `values`, and each lane's handle in `addresses`, if the instruction has one. [`Textures::fetch`](texture::Textures::fetch) gives the
    /// results for [`Warp::complete_texture`].
    Texture,
    /// A range of an array is set or released. [`Access::range`] reads the arguments of the one lane in `mask`.
    Range(RangeAction),
    /// Lanes ended.
    Exit {
        /// No lane is left.
        finished: bool,
    },
    /// The copies issued since the last commit become a group.
    CommitCopies,
    /// The warp waits for its copies.
    AwaitCopies {
        /// Number of the newest groups for which the warp does not wait; if not given, the warp waits for all copies, even those
        /// in no group.
        newest: Option<u32>,
    },
    /// All active lanes sleep for the longest of their times.
    Sleep {
        /// The time, at most a millisecond.
        nanoseconds: u32,
    },
    /// The guard was false in all lanes.
    Nothing,
}

/// The outcome of one issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Kind of the instruction.
    pub kind: Issue,
    /// The lanes that executed it: active, and their guard true.
    pub lanes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    pc: u32,
    reconvergence: u32,
    mask: u32,
}

/// 32 threads that share a pc, or have paths of their own (`execute/paths.rs`).
///
/// The fields that are read for every warp are first, in one line of the host's cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Warp {
    rows: Vec<Row>,
    /// The top of the stack, unpacked.
    pc: u32,
    reconvergence: u32,
    mask: u32,
    /// Lanes that have ended or never began.
    exited: u32,
    poll: Poll,
    index: u32,
    /// Number of `bar.warp.sync` executed.
    meetings: u32,
    predicates: Vec<u32>,
    lanes: LaneFunction,
    stack: Vec<Entry>,
    /// The barrier instruction that was executed last.
    barrier: u32,
    /// The function that runs, and the entries of the stack that belong to its callers.
    function: u32,
    floor: usize,
    /// Calls that are open, outermost first.
    frames: Vec<Frame>,
    /// Lanes that have returned from the function.
    returned: u32,
    /// The `bar.red` that the warp waits at, and its lanes.
    voting: Option<(u32, u32)>,
    /// Parameters of calls: those of the function that runs begin at `frame_row`.
    frame: Vec<Row>,
    frame_row: usize,
    /// Address of its local memory, and bytes of each lane's.
    local_base: u64,
    local_bytes: u32,
    saved_rows: Vec<Row>,
    saved_predicates: Vec<u32>,
    /// Lanes of a generic access that has been issued for those in another space, and is issued for these next.
    elsewhere: u32,
    paths: Paths,
    products: MatrixFunction,
}

impl Warp {
    /// A warp at the start of a kernel; lanes beyond the block's end are inactive.
    pub fn new(kernel: &Kernel, env: &CtaEnvironment, index: u32) -> Self {
        let mut warp = Warp {
            pc: 0,
            reconvergence: NO_PC,
            mask: 0,
            exited: 0,
            barrier: 0,
            meetings: 0,
            poll: Poll::NONE,
            voting: None,
            index,
            stack: Vec::with_capacity(8),
            frames: Vec::new(),
            function: 0,
            floor: 0,
            returned: 0,
            frame: Vec::new(),
            frame_row: 0,
            local_base: 0,
            local_bytes: 0,
            saved_rows: Vec::new(),
            saved_predicates: Vec::new(),
            elsewhere: 0,
            rows: Vec::new(),
            predicates: Vec::new(),
            paths: Paths::default(),
            lanes: lanes::best(),
            products: matrix::best(),
        };
        warp.restart(kernel, env, index);
        warp
    }

    /// Resets the warp to a new one, without new allocations where the old ones suffice.
    pub fn restart(&mut self, kernel: &Kernel, env: &CtaEnvironment, index: u32) {
        let threads = env.threads().saturating_sub(index.saturating_mul(32));
        self.mask = if threads >= 32 { u32::MAX } else { (1 << threads) - 1 };
        self.pc = if self.mask == 0 { NO_PC } else { 0 };
        self.reconvergence = NO_PC;
        self.exited = !self.mask;
        self.barrier = 0;
        self.meetings = 0;
        self.poll = Poll::NONE;
        self.voting = None;
        self.index = index;
        self.stack.clear();
        self.frames.clear();
        (self.function, self.floor, self.returned, self.frame_row, self.local_base) = (0, 0, 0, 0, 0);
        self.local_bytes = kernel.local_bytes(env.stack);
        self.frame.clear();
        self.frame.resize(kernel.functions[0].frame_bytes.div_ceil(4) as usize, Row::ZERO);
        self.saved_rows.clear();
        self.saved_predicates.clear();
        self.elsewhere = 0;
        self.paths = Paths::default();
        self.rows.clear();
        self.rows.resize(kernel.rows as usize, Row::ZERO);
        self.predicates.clear();
        self.predicates.resize(kernel.predicates as usize, 0);
        self.clear_stack(kernel);
    }

    /// Executes without the host's vector extensions, so that tests can compare both.
    pub fn use_baseline(&mut self) {
        self.lanes = lanes::baseline::run;
        self.products = matrix::baseline;
    }

    /// The next instruction, or `None` if all lanes have ended.
    #[inline]
    pub fn pc(&self) -> Option<u32> {
        (self.pc != NO_PC).then_some(self.pc)
    }

    /// The lanes that would execute it, its guard aside.
    #[inline]
    pub fn active(&self) -> u32 {
        self.mask
    }

    /// The barrier instruction that it executed last; 0 if it has not executed one.
    pub fn last_barrier(&self) -> u32 {
        self.barrier
    }

    /// Number of `bar.warp.sync` that it has executed.
    pub fn meetings(&self) -> u32 {
        self.meetings
    }

    /// The warp's number in its CTA.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Executes the next instruction.
    ///
    /// # Panics
    /// If the kernel is not the one for which the warp was made.
    #[inline]
    pub fn issue(
        &mut self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        access: &mut Access,
    ) -> Result<Issued, Box<ExecError>> {
        let Some(instruction) = kernel.instructions.get(self.pc as usize) else {
            return Ok(Issued { kind: Issue::Nothing, lanes: 0 });
        };
        self.check(kernel);
        let lanes = self.executing(instruction);
        if matches!(instruction.action, Action::Branch) {
            self.branch(kernel, instruction, lanes);
            return Ok(Issued { kind: Issue::Branch, lanes });
        }
        if lanes == 0 {
            self.advance(kernel);
            return Ok(Issued { kind: Issue::Nothing, lanes });
        }
        let mut kind = Issue::Done;
        match instruction.action {
            Action::Lane | Action::LaneWide => {
                // SAFETY: the warp has the kernel's rows, as asserted above.
                unsafe { (self.lanes)(self.operands(kernel), instruction, lanes) };
            }
            Action::Carry(carry) => self.with_carry(kernel, instruction, carry, lanes),
            Action::Compare(combine) => self.compare(kernel, instruction, combine, lanes),
            Action::ComparePair(combine) => self.compare_pairs(kernel, instruction, combine, lanes),
            Action::Set(combine, value) => self.set_number(kernel, instruction, combine, value, lanes),
            Action::SetPair(combine, value) => self.set_pair(kernel, instruction, combine, value, lanes),
            Action::Predicate(operation) => self.predicate(instruction, operation, lanes),
            Action::Video(ref video) => self.video(kernel, instruction, video, lanes),
            Action::Memory => {
                self.access(kernel, env, instruction, lanes, access)?;
                if !self.is_between_spaces() {
                    self.advance(kernel);
                }
                return Ok(Issued { kind: Issue::Memory, lanes: access.mask });
            }
            Action::LoadParam => {
                self.load_param(env, instruction, lanes, access)?;
                kind = Issue::Parameter;
            }
            Action::Barrier { .. } | Action::BarrierReduction(_) | Action::Warp(_) => {
                return self.collective(kernel, instruction, lanes);
            }
            Action::Texture(_) => {
                self.texture(kernel, instruction, lanes, access);
                kind = Issue::Texture;
            }
            Action::SurfaceAddress(form) => self.surface_address(kernel, env, instruction, form, lanes)?,
            Action::SurfaceQuery(field) => self.query_surface(kernel, env, instruction, field, lanes)?,
            Action::InSpace(base) => self.in_space(kernel, env, instruction, base, lanes),
            Action::Fence => kind = Issue::Fence(instruction.order),
            Action::Exit => {
                self.exit(kernel, lanes);
                return Ok(Issued { kind: Issue::Exit { finished: self.pc == NO_PC }, lanes });
            }
            Action::LoadFrame | Action::StoreFrame => self.move_frame(kernel, instruction, lanes, access)?,
            Action::Call => {
                self.call(kernel, instruction, lanes)?;
                return Ok(Issued { kind: Issue::Branch, lanes });
            }
            Action::Return => {
                self.return_(kernel, lanes);
                return Ok(Issued { kind: Issue::Branch, lanes });
            }
            Action::Range(action) => kind = self.call_range(kernel, instruction, action, lanes, access)?,
            Action::Assert => {
                let message = "an assertion of the program failed".into();
                return Err(fault_of(FaultKind::Assertion, instruction, lanes, message));
            }
            Action::BadFree => {
                let message = "`free` is given what `malloc` did not give, or what is free already";
                return Err(fault(instruction, lanes, message.into()));
            }
            Action::Copy => {
                self.access(kernel, env, instruction, lanes, access)?;
                kind = self.copy(kernel, instruction, access)?;
            }
            Action::CommitCopies => kind = Issue::CommitCopies,
            Action::AwaitCopies => {
                kind = Issue::AwaitCopies { newest: u32::try_from(instruction.offset).ok() }
            }
            Action::Stack(operation) => self.stack(kernel, instruction, operation, lanes)?,
            Action::Matrix => self.multiply_matrices(kernel, instruction, lanes)?,
            Action::Sleep => {
                // The manual's longest sleep is a millisecond (PTX ISA 9.7.19.2).
                const LONGEST: u32 = 1_000_000;
                let times = self.row(kernel, instruction.sources[0]).0;
                let asked = (0..32).filter(|lane| lanes >> lane & 1 != 0).map(|lane| times[lane]);
                kind = Issue::Sleep { nanoseconds: asked.max().unwrap_or_default().min(LONGEST) };
            }
            Action::Breakpoint => {
                let message = "the program executed `brkpt`, and there is no debugger".into();
                return Err(fault(instruction, lanes, message));
            }
            Action::Trap => return Err(fault(instruction, lanes, "the program executed `trap`".into())),
            Action::Special(special) => {
                self.move_special(kernel, env, instruction, (special, lanes), access);
            }
            Action::SymbolAddress(base) => {
                self.move_address(instruction, self.base_of(base, env), lanes);
            }
            Action::ToGeneric(base) => {
                self.shift_addresses(kernel, instruction, self.base_of(base, env), lanes);
            }
            Action::FromGeneric(base) => {
                let by = self.base_of(base, env).wrapping_neg();
                self.shift_addresses(kernel, instruction, by, lanes);
            }
            Action::Pack => self.pack(kernel, instruction, lanes),
            Action::Unpack => self.unpack(kernel, instruction, lanes),
            // Branches have been taken above.
            Action::Branch | Action::Hint => {}
        }
        self.advance(kernel);
        Ok(Issued { kind, lanes })
    }

    /// Everything unsafe rests on this: operands index rows that exist.
    #[inline]
    fn check(&self, kernel: &Kernel) {
        assert!(
            self.rows.len() == kernel.rows as usize && self.predicates.len() == kernel.predicates as usize
        );
    }

    /// The active lanes in which the guard holds.
    #[inline]
    fn executing(&self, instruction: &Instruction) -> u32 {
        self.guarded(instruction, self.mask)
    }

    /// The lanes of `lanes` in which the guard holds.
    #[inline]
    fn guarded(&self, instruction: &Instruction, lanes: u32) -> u32 {
        if instruction.guard == NONE {
            return lanes;
        }
        let guard = self.predicates[instruction.guard as usize];
        lanes & if instruction.guard_negated { !guard } else { guard }
    }

    #[inline]
    fn operands(&mut self, kernel: &Kernel) -> Operands {
        Operands {
            rows: self.rows.as_mut_ptr(),
            constants: kernel.constants.as_ptr(),
            predicates: self.predicates.as_ptr(),
        }
    }

    /// A 32-bit operand.
    #[inline]
    fn row<'a>(&'a self, kernel: &'a Kernel, operand: u16) -> &'a Row {
        if operand & CONSTANT != 0 {
            &kernel.constants[(operand & !CONSTANT) as usize]
        } else {
            &self.rows[operand as usize]
        }
    }

    /// A 64-bit operand.
    #[inline]
    fn wide<'a>(&'a self, kernel: &'a Kernel, operand: u16) -> &'a [u64; 32] {
        let first = (operand & !CONSTANT) as usize;
        let rows = if operand & CONSTANT != 0 { &kernel.constants } else { &self.rows };
        wide_of(rows, first)
    }

    #[inline]
    fn wide_mut(&mut self, register: u16) -> &mut [u64; 32] {
        let first = register as usize;
        // SAFETY: as in `wide`.
        unsafe { &mut *self.rows[first..first + 2].as_mut_ptr().cast() }
    }

    #[inline]
    fn set_wide(&mut self, register: u16, values: &[u64; 32], lanes: u32) {
        blend(self.wide_mut(register), values, lanes);
    }

    #[inline]
    fn set_narrow(&mut self, register: u16, values: &[u32; 32], lanes: u32) {
        blend(&mut self.rows[register as usize].0, values, lanes);
    }

    #[inline]
    fn set_predicate(&mut self, register: u16, value: u32, lanes: u32) {
        let predicate = &mut self.predicates[register as usize];
        *predicate = (*predicate & !lanes) | (value & lanes);
    }

    // Control.

    #[inline]
    fn advance(&mut self, kernel: &Kernel) {
        self.pc += 1;
        if self.pc == self.reconvergence {
            self.pop(kernel);
        }
    }

    fn pop(&mut self, kernel: &Kernel) {
        loop {
            while self.stack.len() > self.floor
                && let Some(entry) = self.stack.pop()
            {
                let mask = entry.mask & !(self.exited | self.returned);
                if mask != 0 && entry.pc != entry.reconvergence {
                    (self.pc, self.reconvergence, self.mask) = (entry.pc, entry.reconvergence, mask);
                    if mask & self.paths.stopped() != 0 {
                        self.go_elsewhere(kernel);
                    }
                    return;
                }
            }
            if !self.leave(kernel) && !self.next_strand() {
                (self.pc, self.reconvergence, self.mask) = (NO_PC, NO_PC, 0);
                return;
            }
        }
    }

    #[inline]
    fn branch(&mut self, kernel: &Kernel, instruction: &Instruction, taken: u32) {
        let not_taken = self.mask & !taken;
        if taken == 0 {
            self.advance(kernel);
            return;
        }
        if not_taken == 0 {
            let last = self.pc;
            self.pc = instruction.target;
            if self.pc == self.reconvergence {
                self.pop(kernel);
            } else if instruction.polls || instruction.spins {
                self.go_round(kernel, instruction, last);
            }
            return;
        }
        let meet = instruction.reconvergence;
        if meet != self.reconvergence {
            self.stack.push(Entry { pc: meet, reconvergence: self.reconvergence, mask: self.mask });
        }
        self.stack.push(Entry { pc: self.pc + 1, reconvergence: meet, mask: not_taken });
        self.stack.push(Entry { pc: instruction.target, reconvergence: meet, mask: taken });
        self.pop(kernel);
    }

    /// The branch at `last` has taken all lanes back to the beginning of a loop that waits.
    #[inline]
    fn go_round(&mut self, kernel: &Kernel, instruction: &Instruction, last: u32) {
        let apart = instruction.spins && !(self.stack.is_empty() && self.paths.is_one());
        if !(apart && self.give_way(kernel)) && instruction.polls {
            self.begin_polling(kernel, last);
        }
    }

    fn exit(&mut self, kernel: &Kernel, lanes: u32) {
        self.reconsider();
        self.exited |= lanes;
        self.mask &= !lanes;
        if self.mask == 0 {
            self.pop(kernel);
        } else {
            self.advance(kernel);
        }
    }

    /// The base address of a space.
    fn base_of(&self, base: Base, env: &CtaEnvironment) -> u64 {
        match base {
            Base::Shared => env.windows.shared,
            Base::Local => env.windows.local,
            Base::Global => env.global_base,
            Base::Const => env.constant_base,
            Base::Frame => self.local_base,
        }
    }
}

/// Two rows as one 64-bit value a lane.
#[inline]
fn wide_of(rows: &[Row], first: usize) -> &[u64; 32] {
    // SAFETY: two rows are 32 words of 64 bits, the bounds are checked, and rows are aligned to 64 bytes.
    unsafe { &*rows[first..first + 2].as_ptr().cast() }
}

#[cold]
fn fault(instruction: &Instruction, lanes: u32, message: String) -> Box<ExecError> {
    fault_of(FaultKind::Other, instruction, lanes, message)
}

#[cold]
fn fault_of(kind: FaultKind, instruction: &Instruction, lanes: u32, message: String) -> Box<ExecError> {
    Box::new(ExecError { kind, line: instruction.line, lane: lanes.trailing_zeros(), message })
}
