//! Asynchronous copies without time: the source is read when the copy is issued, and shared memory is written when the warp waits for
//! the copy. A program that fails to wait thus reads the old contents.

use std::collections::VecDeque;

use super::FlatMemory;
use super::cta::Cta;
use crate::execute::{Access, AccessKind, CtaEnvironment, ExecError};
use crate::isa::Space;
use crate::program::Row;

/// The copies of a warp that have not landed, oldest first, each with the number of its group.
#[derive(Clone, Default)]
pub(super) struct Copies {
    open: VecDeque<(u32, Access)>,
    /// The number of the group that the next commit makes.
    group: u32,
}

impl Copies {
    pub(super) fn restart(&mut self) {
        self.open.clear();
        self.group = 0;
    }

    pub(super) fn add(&mut self, access: &Access, words: &[Row; 4]) {
        let mut store = Access {
            addresses: access.values[0].0.map(u64::from),
            values: *words,
            mask: access.mask | access.zeros | access.parts,
            space: Space::Shared,
            kind: AccessKind::Store,
            copies: false,
            contiguous: false,
            ..access.clone()
        };
        for row in &mut store.values {
            for lane in (0..32).filter(|lane| access.zeros >> lane & 1 != 0) {
                row.0[lane] = 0;
            }
        }
        self.open.push_back((self.group, store));
    }

    pub(super) fn commit(&mut self) {
        self.group += 1;
    }

    /// The next copy to land as a store, of those that are in no group or in one of all but the newest.
    pub(super) fn next(&mut self, newest: Option<u32>) -> Option<Access> {
        let end = newest.map_or(u32::MAX, |newest| self.group.saturating_sub(newest));
        let &(group, _) = self.open.front()?;
        if group < end { self.open.pop_front().map(|(_, store)| store) } else { None }
    }
}

impl Cta<'_> {
    /// The lanes that copy all of their bytes have read them.
    pub(super) fn begin_copy(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
    ) -> Result<(), Box<ExecError>> {
        if self.access.parts != 0 {
            self.read_parts(index, env, memory)?;
        }
        self.copies[index].add(&self.access, &self.words);
        Ok(())
    }

    /// Reads for lanes that copy a part of their bytes, one byte after another.
    #[cold]
    fn read_parts(
        &mut self,
        index: usize,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
    ) -> Result<(), Box<ExecError>> {
        let byte = Access { pc: self.access.pc, width: 1, element_bytes: 1, ..Access::default() };
        let copy = std::mem::replace(&mut self.access, byte);
        let mut words = self.words;
        for lane in (0..32).filter(|lane| copy.parts >> lane & 1 != 0) {
            self.access.mask = 1 << lane;
            words.iter_mut().for_each(|row| row.0[lane] = 0);
            for byte in 0..copy.values[1].0[lane] {
                self.access.addresses[lane] = copy.addresses[lane].wrapping_add(byte.into());
                self.memory(index, env, memory)?;
                words[byte as usize / 4].0[lane] |= self.words[0].0[lane] << (8 * (byte % 4));
            }
        }
        (self.access, self.words) = (copy, words);
        Ok(())
    }

    /// Copies that a warp waits for land in shared memory.
    pub(super) fn land_copies(
        &mut self,
        index: usize,
        newest: Option<u32>,
        env: &CtaEnvironment,
        memory: &mut FlatMemory,
    ) -> Result<(), Box<ExecError>> {
        while let Some(store) = self.copies[index].next(newest) {
            self.access = store;
            self.memory(index, env, memory)?;
        }
        Ok(())
    }
}
