//! The memory instructions of a warp: addresses and data of requests, and registers of answers.

use super::{Access, AccessKind, CtaEnvironment, ExecError, FaultKind, Warp, blend, fault_of, vector};
use crate::isa::AtomicType;
use crate::program::{Instruction, Kernel, NONE, Row};

impl Warp {
    pub(super) fn load_param(
        &mut self,
        env: &CtaEnvironment,
        instruction: &Instruction,
        lanes: u32,
        access: &mut Access,
    ) -> Result<(), Box<ExecError>> {
        let form = &instruction.memory;
        let width = usize::from(form.bytes) * usize::from(form.elements);
        let uniform = instruction.address == NONE;
        let of_first = || self.address_of(instruction, lanes.trailing_zeros() as usize);
        access.addresses[0] = (instruction.offset as u64).wrapping_add(if uniform { 0 } else { of_first() });
        if uniform
            && form.elements == 1
            && instruction.destinations[0] != NONE
            && let Some(bytes) = usize::try_from(instruction.offset)
                .ok()
                .and_then(|start| env.params.get(start..start.checked_add(width)?))
            && !form.signed
        {
            // Nearly every parameter is read so, once a warp.
            let mut value = [0; 8];
            value[..width].copy_from_slice(bytes);
            let value = u64::from_le_bytes(value);
            if form.wide_value {
                blend(self.wide_mut(instruction.destinations[0]), &[value; 32], lanes);
            } else {
                self.set_narrow(instruction.destinations[0], &[value as u32; 32], lanes);
            }
            return Ok(());
        }
        let mut words = [Row::ZERO; 4];
        for lane in 0..if uniform { 1 } else { 32 } {
            if !uniform && lanes & (1 << lane) == 0 {
                continue;
            }
            let start = instruction.offset.wrapping_add(if uniform {
                0
            } else {
                self.address_of(instruction, lane) as i64
            });
            let bytes = usize::try_from(start)
                .ok()
                .and_then(|start| env.params.get(start..start.checked_add(width)?));
            let Some(bytes) = bytes else {
                let message = format!("parameter bytes at {start} do not exist");
                return Err(fault_of(FaultKind::IllegalAddress, instruction, 1 << lane, message));
            };
            let piece = usize::from(form.bytes.min(4));
            for (row, part) in words.iter_mut().zip(bytes.chunks_exact(piece)) {
                let mut word = [0; 4];
                word[..piece].copy_from_slice(part);
                let value = u32::from_le_bytes(word);
                if uniform {
                    row.0 = [value; 32];
                } else {
                    row.0[lane] = value;
                }
            }
        }
        self.write_loaded(instruction, lanes, &words);
        Ok(())
    }

    pub(super) fn address_of(&self, instruction: &Instruction, lane: usize) -> u64 {
        let base = instruction.address as usize;
        if instruction.memory.wide_address {
            let row = &self.rows[base + lane / 16].0;
            u64::from(row[2 * (lane % 16)]) | u64::from(row[2 * (lane % 16) + 1]) << 32
        } else {
            u64::from(self.rows[base].0[lane])
        }
    }

    #[inline]
    pub(super) fn access(
        &mut self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        instruction: &Instruction,
        lanes: u32,
        access: &mut Access,
    ) -> Result<(), Box<ExecError>> {
        let form = &instruction.memory;
        let width = form.bytes * form.elements;
        access.pc = self.pc;
        access.mask = lanes;
        access.kind = match form.atomic {
            Some((operation, kind)) => AccessKind::Atomic(operation, kind),
            None if form.store => AccessKind::Store,
            None => AccessKind::Load,
        };
        access.volatile = form.volatile;
        access.copies = false;
        access.acquires = instruction.order.acquires;
        access.cache = form.cache;
        access.width = width;
        access.elements = form.elements;
        access.element_bytes = form.bytes;
        access.wants_value = instruction.destinations[0] != NONE;

        let offset = instruction.offset as u64;
        let step = u64::from(width);
        let shape = if instruction.address == NONE {
            let base = form.base.map_or(0, |base| self.base_of(base, env));
            vector::wide_addresses(&[base; 32], offset, step, &mut access.addresses)
        } else if form.wide_address {
            let words = self.wide(kernel, instruction.address);
            vector::wide_addresses(words, offset, step, &mut access.addresses)
        } else {
            let words = &self.rows[instruction.address as usize].0;
            vector::narrow_addresses(words, offset as u32, step, &mut access.addresses)
        };
        access.contiguous = shape.contiguous;
        access.space = match form.space {
            Some(space) => space,
            None => self.resolve(env, instruction, access)?,
        };
        // Widths are powers of two, so one test serves all lanes; those that are switched off may hold anything.
        if shape.bits & (step - 1) != 0 {
            check_alignment(instruction, access.mask, access)?;
        }
        match form.atomic {
            Some((_, kind)) => {
                self.store_values(kernel, instruction, access);
                if kind == AtomicType::B128 && instruction.sources[3] != NONE {
                    self.swapped_values(kernel, instruction, access);
                }
            }
            None if form.store => self.store_values(kernel, instruction, access),
            None => {}
        }
        Ok(())
    }

    #[inline]
    pub(super) fn store_values(&self, kernel: &Kernel, instruction: &Instruction, access: &mut Access) {
        let form = &instruction.memory;
        let mut next = 0;
        for &source in instruction.sources.iter().take_while(|source| **source != NONE) {
            if form.wide_value {
                // The second operand of an atomic of 128 bits has another place.
                let Some(low) = access.values.get_mut(next) else { return };
                let words = self.wide(kernel, source);
                for lane in 0..32 {
                    low.0[lane] = words[lane] as u32;
                }
                if form.bytes == 8 {
                    for lane in 0..32 {
                        access.values[next + 1].0[lane] = (words[lane] >> 32) as u32;
                    }
                }
                next += if form.bytes == 8 { 2 } else { 1 };
            } else {
                access.values[next] = *self.row(kernel, source);
                next += 1;
            }
        }
    }

    /// Fills in the values that a compare-and-swap of 128 bits stores.
    #[cold]
    fn swapped_values(&self, kernel: &Kernel, instruction: &Instruction, access: &mut Access) {
        let rows = access.swap.get_or_insert_with(|| Box::new([Row::ZERO; 4]));
        for (half, &source) in instruction.sources[2..].iter().enumerate() {
            for (lane, word) in self.wide(kernel, source).iter().enumerate() {
                rows[2 * half].0[lane] = *word as u32;
                rows[2 * half + 1].0[lane] = (word >> 32) as u32;
            }
        }
    }

    /// Writes the registers of a load or atomic at `pc`, in `lanes`, from `words` as
    /// [`Access::gather`] fills them. An answer may come in several parts with different lanes.
    ///
    /// Until the last part has arrived, no instruction that names a written register in its
    /// [`reads`](Instruction::reads) or [`writes`](Instruction::writes) may be issued, whatever its guard
    /// says, and the warp may not be restarted: rows are shared on that promise.
    ///
    /// # Panics
    /// If `pc` is no instruction of the kernel.
    #[inline]
    pub fn complete_load(&mut self, kernel: &Kernel, pc: u32, lanes: u32, words: &[Row; 4]) {
        assert!(self.rows.len() == kernel.rows as usize);
        self.write_loaded(&kernel.instructions[pc as usize], lanes, words);
    }

    /// The row that takes the words of a load as they are, if it is one of a word in each lane.
    #[inline]
    pub(crate) fn loaded_row(&mut self, kernel: &Kernel, access: &Access) -> Option<&mut Row> {
        if access.kind != AccessKind::Load || !access.wants_value {
            return None;
        }
        let instruction = &kernel.instructions[access.pc as usize];
        let form = &instruction.memory;
        let is_word = form.elements == 1 && form.bytes == 4 && !form.wide_value;
        if is_word { self.rows.get_mut(instruction.destinations[0] as usize) } else { None }
    }

    #[inline(never)]
    pub(super) fn write_loaded(&mut self, instruction: &Instruction, lanes: u32, words: &[Row; 4]) {
        let form = &instruction.memory;
        let elements = usize::from(form.elements);
        for element in 0..elements {
            let register = instruction.destinations[element];
            if register == NONE {
                continue;
            }
            if form.bytes == 8 {
                let (low, high) = (&words[2 * element].0, &words[2 * element + 1].0);
                let values = std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32);
                self.set_wide(register, &values, lanes);
                continue;
            }
            let row = &words[element].0;
            if form.bytes == 4 && !form.wide_value {
                vector::write(&mut self.rows[register as usize].0, row, lanes);
                continue;
            }
            // The register is wider than the type: fill it with zeros or with the sign.
            let unused = 64 - 8 * u32::from(form.bytes);
            let values: [u64; 32] = std::array::from_fn(|lane| {
                let high = u64::from(row[lane]) << unused;
                if form.signed { ((high as i64) >> unused) as u64 } else { high >> unused }
            });
            if form.wide_value {
                self.set_wide(register, &values, lanes);
            } else {
                self.set_narrow(register, &values.map(|value| value as u32), lanes);
            }
        }
    }
}

#[cold]
fn check_alignment(instruction: &Instruction, lanes: u32, access: &Access) -> Result<(), Box<ExecError>> {
    let width = u64::from(access.width);
    let bad = (0..32).find(|lane| lanes & (1 << lane) != 0 && !access.addresses[*lane].is_multiple_of(width));
    let Some(bad) = bad else { return Ok(()) };
    let message =
        format!("address {:#x} is not a multiple of the {width} bytes accessed", access.addresses[bad]);
    Err(fault_of(FaultKind::MisalignedAddress, instruction, 1 << bad, message))
}
