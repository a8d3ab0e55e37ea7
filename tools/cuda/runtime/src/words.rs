//! The words of a call as typed arguments, by the conventions of Linux for C on this processor.
//!
//! Numbers and addresses have a word each. A structure of up to 16 bytes has the words of its bytes, all in registers or all on the stack; a larger one
//! is on the stack, or on Arm in memory that a word has the address of.

use crate::errors::Result;
use crate::page::{FLOATS, WORDS};

/// Words that come in registers; those on the stack follow.
#[cfg(not(target_arch = "aarch64"))]
const REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const REGISTERS: usize = 8;

/// The words of a call that are not taken yet.
pub(crate) struct Words {
    words: [u64; WORDS],
    floats: [u64; FLOATS],
    register: usize,
    stack: usize,
    float: usize,
}

impl Words {
    pub(crate) fn new(words: [u64; WORDS], floats: [u64; FLOATS]) -> Self {
        Words { words, floats, register: 0, stack: REGISTERS, float: 0 }
    }

    fn on_stack(&mut self) -> u64 {
        self.stack += 1;
        self.words.get(self.stack - 1).copied().unwrap_or(0)
    }

    fn word(&mut self) -> u64 {
        if self.register == REGISTERS {
            return self.on_stack();
        }
        self.register += 1;
        self.words[self.register - 1]
    }

    /// The words of a structure of 9 to 16 bytes.
    fn two(&mut self) -> [u64; 2] {
        if self.register + 2 <= REGISTERS {
            return [self.word(), self.word()];
        }
        if cfg!(target_arch = "aarch64") {
            self.register = REGISTERS;
        }
        [self.on_stack(), self.on_stack()]
    }

    /// The words of a larger structure.
    pub(crate) fn many<const N: usize>(&mut self) -> Result<[u64; N]> {
        if cfg!(target_arch = "aarch64") {
            let mut all = [0; N];
            let start: *const u64 = std::ptr::without_provenance(self.word() as usize);
            for (index, word) in all.iter_mut().enumerate() {
                *word = crate::foreign::get(start.wrapping_add(index))?;
            }
            return Ok(all);
        }
        Ok(std::array::from_fn(|_| self.on_stack()))
    }
}

/// Three sizes as CUDA passes them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dim3 {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) z: u32,
}

crate::foreign::plain!(Dim3);

impl Dim3 {
    pub(crate) fn sizes(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

pub(crate) trait Argument: Sized {
    fn take(words: &mut Words) -> Result<Self>;
}

macro_rules! numbers {
    ($($type:ty),*) => {
        $(impl Argument for $type {
            fn take(words: &mut Words) -> Result<Self> {
                Ok(words.word() as $type)
            }
        })*
    };
}

numbers!(i32, u32, u64, usize);

impl Argument for f64 {
    fn take(words: &mut Words) -> Result<Self> {
        words.float += 1;
        Ok(f64::from_bits(words.floats.get(words.float - 1).copied().unwrap_or(0)))
    }
}

impl Argument for f32 {
    fn take(words: &mut Words) -> Result<Self> {
        f64::take(words).map(|both| f32::from_bits(both.to_bits() as u32))
    }
}

impl<T> Argument for *const T {
    fn take(words: &mut Words) -> Result<Self> {
        Ok(std::ptr::without_provenance(words.word() as usize))
    }
}

impl<T> Argument for *mut T {
    fn take(words: &mut Words) -> Result<Self> {
        Ok(std::ptr::without_provenance_mut(words.word() as usize))
    }
}

impl Argument for Dim3 {
    fn take(words: &mut Words) -> Result<Self> {
        let [xy, z] = words.two();
        Ok(Dim3 { x: xy as u32, y: (xy >> 32) as u32, z: z as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn arguments_are_where_c_puts_them() {
        let mut words = Words::new(
            std::array::from_fn(|index| index as u64),
            [1.5_f64.to_bits(), u64::from(2.5_f32.to_bits())],
        );
        assert_eq!((f64::take(&mut words), f32::take(&mut words)), (Ok(1.5), Ok(2.5)));
        let function: u64 = Argument::take(&mut words).expect("a word");
        let grid: Dim3 = Argument::take(&mut words).expect("two words");
        assert_eq!((function, grid), (0, Dim3 { x: 1, y: 0, z: 2 }));
        let [_, fifth] = words.two();
        // One register is left, too small for the next structure, but large enough for a number.
        assert_eq!((fifth, words.two(), words.word()), (4, [6, 7], 5));
        assert_eq!(words.many::<3>().expect("words of the stack"), [8, 9, 10]);
        let beyond: [u64; 4] = words.many().expect("words of the stack");
        assert_eq!(beyond, [11, 12, 13, 14]);
    }
}
