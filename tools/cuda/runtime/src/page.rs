//! The page that a program and its server share: a call is written into it, and then its answer. Both sides compile this file.
//!
//! The page belongs to one side at a time, and each side hands it to the other. A waiting side polls for a while, and then sleeps in a read
//! of the socket: a byte wakes it, and the end of the file means that the other side has gone.

use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Words of a call: of every function in registers and on the stack, whether it has as many or not.
pub(crate) const WORDS: usize = 24;
/// Numbers with a fraction that a call passes in registers of their own.
pub(crate) const FLOATS: usize = 2;
/// Files whose progress a call can tell.
pub(crate) const NOTES: usize = 32;
/// Bytes of text that an answer can have, and behind them those of names and texts of errors, which stay.
pub(crate) const TEXT_BYTES: usize = 4096;
pub(crate) const ERROR_BYTES: usize = 8192;

/// Nanoseconds that a side looks for the other's turn at least and at most: a short call takes as long, and nobody would notice ten.
pub(crate) const PATIENCE: [u32; 2] = [5_000, 50_000];

/// The two sides.
pub(crate) const PROGRAM: u32 = 0;
pub(crate) const SERVER: u32 = 1;

/// Values in place of a function's number: `FILES` reports only progress of files, and `RETURNED` reports the return of the function that
/// the server wanted called.
pub(crate) const FILES: u32 = u32::MAX;
pub(crate) const RETURNED: u32 = u32::MAX - 1;

/// Kinds of answers. The result of the call, which is over.
pub(crate) const DONE: u32 = 0;
/// The program is to call a function at an address with three words, and to come back; meanwhile other threads may call.
pub(crate) const CALL: u32 = 1;
/// The other side is to print this number of bytes of the text.
pub(crate) const PRINT: u32 = 2;
/// The program must map pages of the file that the text names, at an address and with a length. The reply is the address, or another word
/// on failure.
pub(crate) const MAP: u32 = 3;
/// The program must unmap pages.
pub(crate) const UNMAP: u32 = 4;
/// The program is to make the call again after a while, in which other threads may call.
pub(crate) const AGAIN: u32 = 5;

/// First message of a program, after the server's process number: the file of the page, the address of its text, the names of its
/// functions by their numbers, a line each, and the functions' addresses.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Hello {
    pub(crate) page: u64,
    pub(crate) text: u64,
    pub(crate) names: u64,
    pub(crate) names_bytes: u64,
    /// Addresses of the functions, in the same order.
    pub(crate) functions: u64,
}

/// The progress of a file.
#[repr(C)]
pub(crate) struct Note {
    pub(crate) path: AtomicU64,
    pub(crate) from: AtomicU64,
    pub(crate) to: AtomicU64,
    /// 1 if it is written, 0 if it is read.
    pub(crate) written: AtomicU64,
}

#[repr(C)]
pub(crate) struct Page {
    turn: AtomicU32,
    /// Sides that sleep, or are about to.
    asleep: [AtomicU32; 2],
    /// Nanoseconds that a side looks before it sleeps: longer where that has been of use, and none if there is one processor.
    pub(crate) patience: [AtomicU32; 2],
    pub(crate) function: AtomicU32,
    pub(crate) kind: AtomicU32,
    pub(crate) thread: AtomicU32,
    /// The thread's number in its process.
    pub(crate) thread_pointer: AtomicU64,
    pub(crate) notes: AtomicU32,
    /// Processor time of the program since it called last.
    pub(crate) work: AtomicU64,
    /// Words of the call, and of the answer.
    pub(crate) words: [AtomicU64; WORDS],
    /// Bits of the numbers with a fraction.
    pub(crate) floats: [AtomicU64; FLOATS],
    pub(crate) files: [Note; NOTES],
}

impl Page {
    /// Whether the page is a side's.
    pub(crate) fn is_at(&self, side: u32) -> bool {
        self.turn.load(Acquire) == side
    }

    /// Gives the page to a side; `wake` writes a byte to it.
    pub(crate) fn give(&self, to: u32, wake: impl FnOnce()) {
        self.turn.store(to, SeqCst);
        if self.asleep[to as usize].swap(0, SeqCst) == 1 {
            wake();
        }
    }

    /// Waits until the page is a side's; false if the other has gone. `now` is a clock, and `sleep` reads a byte, or says that none will come.
    pub(crate) fn wait(&self, side: u32, now: impl Fn() -> u64, sleep: impl Fn() -> bool) -> bool {
        let has_turn = || self.turn.load(Acquire) == side;
        let (asleep, patience) = (&self.asleep[side as usize], &self.patience[side as usize]);
        loop {
            let usual = patience.load(Relaxed);
            let end = now() + u64::from(usual);
            while now() < end {
                for _ in 0..64 {
                    if has_turn() {
                        patience.store((2 * usual).min(PATIENCE[1]), Relaxed);
                        return true;
                    }
                    core::hint::spin_loop();
                }
            }
            patience.store((usual / 2).max(PATIENCE[0].min(usual)), Relaxed);
            asleep.store(1, SeqCst);
            // The side that clears the mark writes a byte, which must be read.
            let is_woken = self.turn.load(SeqCst) == side && asleep.swap(0, SeqCst) == 1;
            if is_woken || !sleep() || has_turn() {
                return has_turn();
            }
        }
    }
}
