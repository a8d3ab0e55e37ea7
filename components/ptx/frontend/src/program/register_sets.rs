//! The registers of an instruction: for the scoreboard, and for the banks of the register file.

/// Up to six scoreboard ids. SMs copy a set with every instruction, so its size is two words without padding: a copy in
/// overlapping parts stalls the next load (store forwarding).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(align(8))]
pub struct RegisterSet {
    ids: [u16; RegisterSet::MOST],
    count: u32,
}

impl RegisterSet {
    pub const MOST: usize = 6;

    /// The ids.
    #[inline]
    pub fn as_slice(&self) -> &[u16] {
        &self.ids[..self.count as usize]
    }

    /// Shifts every id to its number in a kernel with other code before it.
    pub fn shift(&mut self, first: u16) {
        for id in &mut self.ids[..self.count as usize] {
            *id += first;
        }
    }

    /// Adds an id once; more than six cannot occur in PTX's operand forms.
    pub fn insert(&mut self, id: u16) {
        if !self.as_slice().contains(&id) {
            self.ids[self.count as usize] = id;
            self.count += 1;
        }
    }
}

impl FromIterator<u16> for RegisterSet {
    /// The ids; more than six do not fit.
    fn from_iter<I: IntoIterator<Item = u16>>(ids: I) -> Self {
        let mut set = RegisterSet::default();
        ids.into_iter().for_each(|id| set.insert(id));
        set
    }
}

/// Register file accesses of an instruction: the numbers of the registers that it reads and writes.
///
/// A register's number is that in its name, as in GPGPU-Sim: `%r12`, `%f12` and `%rd12` share a bank. An operand that
/// occurs twice is read twice; guards and the carry flag are not in the file. Numbers are kept modulo 256, a multiple of
/// all numbers of banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(8))]
pub struct FileAccesses {
    numbers: [u8; 14],
    reads: u8,
    all: u8,
}

impl FileAccesses {
    /// Accesses with these numbers; those beyond the limit of a PTX instruction are left out.
    pub fn new(reads: impl IntoIterator<Item = u8>, writes: impl IntoIterator<Item = u8>) -> Self {
        let mut accesses = FileAccesses::default();
        accesses.all = accesses.put(reads);
        accesses.reads = accesses.all;
        accesses.all = accesses.put(writes);
        accesses
    }

    fn put(&mut self, numbers: impl IntoIterator<Item = u8>) -> u8 {
        let mut end = self.all;
        for (place, number) in self.numbers[usize::from(end)..].iter_mut().zip(numbers) {
            *place = number;
            end += 1;
        }
        end
    }

    /// The registers that are read.
    #[inline]
    pub fn reads(&self) -> &[u8] {
        &self.numbers[..usize::from(self.reads)]
    }

    /// The registers that are written.
    #[inline]
    pub fn writes(&self) -> &[u8] {
        &self.numbers[usize::from(self.reads)..usize::from(self.all)]
    }
}
