//! A slow interpreter of PTX: one thread and one instruction at a time, from the module as it is written.
//!
//! It is the reference of the executor, so it shares the parser with it and nothing else: no decoding, no
//! instruction table, no host floats. Threads of a CTA run one after another from barrier to barrier, and the
//! lanes of a warp meet where they work together.

mod access;
mod code;
mod float;
mod integer;
mod opcode;
mod operation;
mod thread;
mod video;
mod warp;

pub(crate) use opcode::{Class, Opcode, PREDICATE, Type};
pub(crate) use operation::{Outcome, evaluate};

use counterpoint_ptx::ast::Module;

use access::Memories;
use code::Code;
use thread::{State, Thread};

/// Instructions of one thread after which a run is given up.
const LIMIT: u64 = 1_000_000;

/// A launch of one-dimensional CTAs.
pub(crate) struct Launch<'a> {
    pub(crate) module: &'a Module,
    pub(crate) kernel: &'a str,
    pub(crate) ctas: u32,
    pub(crate) threads: u32,
    pub(crate) parameters: &'a [u8],
    /// Address of the first byte of global memory.
    pub(crate) base: u64,
}

impl Launch<'_> {
    /// Runs all CTAs on these bytes of global memory; returns how many instructions the threads executed.
    pub(crate) fn run(&self, global: &mut [u8]) -> u64 {
        let functions: Vec<Code<'_>> = self.module.functions.iter().map(Code::new).collect();
        let kernel = functions.iter().position(|code| code.function.name == self.kernel).expect("the kernel");
        let mut count = 0;
        for cta in 0..self.ctas {
            let mut memories = Memories::new(self, global);
            let shape = [self.threads, self.ctas, cta];
            let mut threads: Vec<Thread> =
                (0..self.threads).map(|index| Thread::new(&functions, kernel, index, shape)).collect();
            while threads.iter().any(|thread| thread.state != State::Ended) {
                for thread in &mut threads {
                    while thread.state == State::Runs {
                        thread.step(&functions, &mut memories);
                        count += 1;
                        assert!(thread.count < LIMIT, "a thread does not end");
                    }
                }
                for warp in threads.chunks_mut(32) {
                    warp::meet(warp, &functions, &memories);
                }
                let at_barrier = |thread: &Thread| matches!(thread.state, State::Waits | State::Ended);
                if threads.iter().all(at_barrier) {
                    for thread in threads.iter_mut().filter(|thread| thread.state == State::Waits) {
                        thread.state = State::Runs;
                    }
                }
            }
        }
        count
    }
}
