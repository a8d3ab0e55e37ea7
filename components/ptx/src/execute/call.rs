//! Calls: frames of parameters, and the stack of functions that run.
//!
//! A call leaves an entry for its return on the stack of paths, so that lanes that call together continue together:
//! they reconverge at the return. Lanes that call different functions through registers execute one function after
//! another and reconverge behind the call. Within a function, lanes that have returned wait until the last has.

use super::{Access, Entry, ExecError, FaultKind, Warp, blend, fault, fault_of, wide_of};
use crate::analysis::cfg::NO_PC;
use crate::program::{Action, CallSite, FramePart, Instruction, Kernel, NONE, Row};

/// Calls that may always be open at once. Registers are saved on the host, so something must bound them.
const DEEP_CALLS: usize = 256;
/// Bytes of stack that a call takes on a GPU, for its return address and the registers that it saves: a large stack holds more calls.
const BYTES_OF_CALL: usize = 32;

/// The state that a return restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// The call, and its lanes.
    call: u32,
    pub(super) lanes: u32,
    /// The caller's values of the warp's fields.
    function: u32,
    pub(super) floor: usize,
    pub(super) returned: u32,
    frame_row: usize,
    local_base: u64,
    /// The beginnings of the saved rows and predicates, if the function was running already.
    pub(super) saved: Option<(usize, usize)>,
}

impl Warp {
    pub(super) fn call(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        let site = &kernel.calls[instruction.offset as usize];
        let (callee, group) = match site.callee {
            Some(callee) => (callee as usize, lanes),
            None => self.indirect(kernel, instruction, site, lanes)?,
        };
        let (caller, function) = (&kernel.functions[self.function as usize], &kernel.functions[callee]);
        let local_base = self.local_base + u64::from(caller.local_bytes);
        let deepest = DEEP_CALLS.max(self.stack_bytes(kernel) as usize / BYTES_OF_CALL);
        if self.frames.len() >= deepest {
            let message = format!("calls nest deeper than {deepest}");
            return Err(fault_of(FaultKind::StackOverflow, instruction, lanes, message));
        }
        if local_base + u64::from(function.local_bytes) > self.end_of_frames(kernel, group) {
            let depth = self.frames.len() + 1;
            let bytes = self.stack_bytes(kernel);
            let message = format!("the stack of {bytes} bytes is exhausted, {depth} calls deep");
            return Err(fault_of(FaultKind::StackOverflow, instruction, lanes, message));
        }
        let (back, meet) = (self.pc + 1, self.reconvergence);
        self.stack.push(Entry { pc: back, reconvergence: meet, mask: self.mask });
        if group != lanes {
            self.stack.push(Entry { pc: self.pc, reconvergence: back, mask: lanes & !group });
        }
        let running = self.function as usize == callee
            || self.frames.iter().any(|frame| frame.function as usize == callee);
        let saved = running.then(|| {
            let start = (self.saved_rows.len(), self.saved_predicates.len());
            let rows = usize::from(function.rows.start)..usize::from(function.rows.end);
            self.saved_rows.extend_from_slice(&self.rows[rows]);
            let predicates = usize::from(function.predicates.start)..usize::from(function.predicates.end);
            self.saved_predicates.extend_from_slice(&self.predicates[predicates]);
            start
        });
        self.keep_stack(kernel, callee, group);
        self.frames.push(Frame {
            call: self.pc,
            lanes: group,
            function: self.function,
            floor: self.floor,
            returned: self.returned,
            frame_row: self.frame_row,
            local_base: self.local_base,
            saved,
        });
        let frame_row = self.frame_row + caller.frame_bytes.div_ceil(4) as usize;
        let end = frame_row + function.frame_bytes.div_ceil(4) as usize;
        if self.frame.len() < end {
            self.frame.resize(end, Row::ZERO);
        }
        for (from, to) in site.arguments.iter().zip(&function.params) {
            self.copy_frame(self.frame_row, *from, frame_row, *to, group);
        }
        self.function = callee as u32;
        self.floor = self.stack.len();
        self.returned = 0;
        self.frame_row = frame_row;
        self.local_base = local_base;
        (self.pc, self.reconvergence, self.mask) = (function.entry, NO_PC, group);
        Ok(())
    }

    /// The function that the first lane calls, and the lanes that call it too.
    fn indirect(
        &self,
        kernel: &Kernel,
        instruction: &Instruction,
        site: &CallSite,
        lanes: u32,
    ) -> Result<(usize, u32), Box<ExecError>> {
        let targets = self.wide(kernel, instruction.sources[0]);
        let first = targets[lanes.trailing_zeros() as usize & 31];
        let group =
            (0..32).filter(|lane| targets[*lane] == first).fold(0, |all, lane| all | 1 << lane) & lanes;
        let found = kernel.functions[1..].iter().position(|function| function.address == first);
        let Some(index) = found else {
            let message = format!("no function lies at {first:#x}");
            return Err(fault_of(FaultKind::InvalidProgramCounter, instruction, group, message));
        };
        let function = &kernel.functions[index + 1];
        let fits = |a: &[FramePart], b: &[FramePart]| a.iter().map(|p| p.size).eq(b.iter().map(|p| p.size));
        if !fits(&site.arguments, &function.params) || !fits(&site.results, &function.results) {
            let message = format!("the function at {first:#x} has other parameters than the prototype");
            return Err(fault(instruction, group, message));
        }
        Ok((index + 1, group))
    }

    pub(super) fn return_(&mut self, kernel: &Kernel, lanes: u32) {
        self.returned |= lanes;
        self.mask &= !lanes;
        if self.mask == 0 {
            self.pop(kernel);
        } else {
            self.advance(kernel);
        }
    }

    /// All lanes of the function have returned or ended; gives `false` if it is the kernel.
    pub(super) fn leave(&mut self, kernel: &Kernel) -> bool {
        let Some(frame) = self.frames.pop() else { return false };
        let callee = &kernel.functions[self.function as usize];
        let lanes = frame.lanes & !self.exited;
        let instruction = &kernel.instructions[frame.call as usize];
        let site = &kernel.calls[instruction.offset as usize];
        for (from, to) in callee.results.iter().zip(&site.results) {
            self.copy_frame(self.frame_row, *from, frame.frame_row, *to, lanes);
        }
        self.release_stack(kernel, self.function as usize, frame.lanes);
        if let Some((rows, predicates)) = frame.saved {
            // A 64-bit register's pair of rows holds the lanes one behind the other, not word by word.
            let (first, wide) = (usize::from(callee.rows.start), usize::from(callee.wide_rows));
            for index in (0..wide).step_by(2) {
                let saved = *wide_of(&self.saved_rows, rows + index);
                blend(self.wide_mut((first + index) as u16), &saved, frame.lanes);
            }
            for index in wide..callee.rows.len() {
                blend(&mut self.rows[first + index].0, &self.saved_rows[rows + index].0, frame.lanes);
            }
            for (index, predicate) in callee.predicates.clone().enumerate() {
                let value = self.saved_predicates[predicates + index];
                self.set_predicate(predicate, value, frame.lanes);
            }
            self.saved_rows.truncate(rows);
            self.saved_predicates.truncate(predicates);
        }
        self.function = frame.function;
        self.floor = frame.floor;
        self.returned = frame.returned;
        self.frame_row = frame.frame_row;
        self.local_base = frame.local_base;
        true
    }

    fn copy_frame(&mut self, from_row: usize, from: FramePart, to_row: usize, to: FramePart, lanes: u32) {
        for word in 0..from.size.min(to.size).div_ceil(4) as usize {
            let row = self.frame[from_row + from.offset as usize / 4 + word].0;
            blend(&mut self.frame[to_row + to.offset as usize / 4 + word].0, &row, lanes);
        }
    }

    /// `ld.param` and `st.param` of calls.
    pub(super) fn move_frame(
        &mut self,
        kernel: &Kernel,
        instruction: &Instruction,
        lanes: u32,
        scratch: &mut Access,
    ) -> Result<(), Box<ExecError>> {
        let form = &instruction.memory;
        let width = i64::from(form.bytes * form.elements);
        let bytes = i64::from(kernel.functions[self.function as usize].frame_bytes);
        let stores = instruction.action == Action::StoreFrame;
        if stores {
            self.store_values(kernel, instruction, scratch);
        }
        let mut words = [Row::ZERO; 4];
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let base =
                if instruction.address == NONE { 0 } else { self.address_of(instruction, lane) as i64 };
            let start = instruction.offset.wrapping_add(base);
            if start < 0 || start + width > bytes || start % width != 0 {
                let message =
                    format!("parameter bytes at {start} do not exist, or {width} bytes are misaligned there");
                return Err(fault(instruction, 1 << lane, message));
            }
            let first = self.frame_row + start as usize / 4;
            if form.bytes >= 4 {
                for word in 0..width as usize / 4 {
                    let place = &mut self.frame[first + word].0[lane];
                    if stores {
                        *place = scratch.values[word & 3].0[lane];
                    } else {
                        words[word & 3].0[lane] = *place;
                    }
                }
                continue;
            }
            let piece = usize::from(form.bytes);
            for element in 0..usize::from(form.elements) {
                let at = start as usize + element * piece;
                let shift = 8 * (at % 4) as u32;
                let ones = (1u32 << (8 * piece)) - 1;
                let place = &mut self.frame[self.frame_row + at / 4].0[lane];
                if stores {
                    let value = scratch.values[element].0[lane] & ones;
                    *place = *place & !(ones << shift) | value << shift;
                } else {
                    words[element].0[lane] = *place >> shift & ones;
                }
            }
        }
        if !stores {
            self.write_loaded(instruction, lanes, &words);
        }
        Ok(())
    }
}
