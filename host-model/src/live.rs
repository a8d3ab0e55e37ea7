//! A program that runs beside the simulation: its steps come one by one, and each is answered when the host has done it.
//!
//! The program and the simulation have a thread each. The simulation's thread waits while the program thinks: no simulated time passes
//! meanwhile, so the times do not depend on the computer.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{Description, Direction};
use counterpoint_ptx::Kernel;
use counterpoint_ptx::texture::Textures;

/// Rows of bytes on a device: the address of the first, bytes of a row, rows, and bytes from a row to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveRows {
    /// Address of the first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Number of rows.
    pub rows: u64,
    /// Bytes from the beginning of a row to that of the next.
    pub pitch: u64,
}

impl LiveRows {
    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.width * self.rows
    }
}

/// A step of the program.
#[derive(Clone, Debug)]
pub enum LiveStep {
    /// A module is put on the device; its variables and constants have these addresses.
    Module {
        /// Name of the module.
        name: Arc<str>,
        /// Its kernels; all have the same variables.
        kernels: Vec<Arc<Kernel>>,
        /// Address of its variables, and of its constants.
        places: [u64; 2],
        /// Values of the variables and of the constants, if not their first ones.
        contents: Option<[Vec<u8>; 2]>,
    },
    /// Memory of the device, which begins with these bytes or with zeros.
    Allocate {
        /// The address.
        address: u64,
        /// Its size.
        bytes: u64,
        /// Its contents without time, if it has any.
        contents: Option<Vec<u8>>,
    },
    /// Bytes of the heap, of what kernels print, and of each thread's stack.
    Library([u64; 3]),
    /// Memory of the device is given back.
    Free(u64),
    /// A stream that the default stream does not wait for, nor it for the default stream.
    NonBlocking(u32),
    /// A copy of rows; `bytes` are those that the host has, of a copy to the device.
    Copy {
        /// Direction of the copy.
        direction: Direction,
        /// The rows on the device.
        rows: LiveRows,
        /// Bytes of the rows, for a copy to the device.
        bytes: Vec<u8>,
        /// Stream of the copy.
        stream: u32,
        /// Whether the host waits for it.
        waits: bool,
        /// Whether the host then reads what has come, of a copy to the host.
        reads: bool,
    },
    /// The host reads rows that it has been copied before.
    Look(LiveRows),
    /// Rows are copied on the device.
    Within {
        /// Source of the rows.
        from: LiveRows,
        /// Destination of the rows.
        to: LiveRows,
        /// Stream of the copy.
        stream: u32,
    },
    /// Rows are filled with a value of up to eight bytes.
    Fill {
        /// The rows.
        rows: LiveRows,
        /// The value.
        value: Vec<u8>,
        /// Stream of the fill.
        stream: u32,
    },
    /// A launch.
    Launch {
        /// Number of the module, in the order of their steps.
        module: usize,
        /// The kernel.
        kernel: Arc<Kernel>,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
        /// Dynamic shared memory in bytes.
        shared: u32,
        /// The parameters as bytes.
        parameters: Vec<u8>,
        /// Textures and surfaces, at their addresses.
        textures: Arc<Textures>,
        /// Stream of the launch.
        stream: u32,
    },
    /// An event is recorded on a stream.
    Record(u32, u32),
    /// A stream waits for an event: event and stream.
    Wait(u32, u32),
    /// The host waits for a stream, or for all.
    Synchronize(Option<u32>),
    /// The host waits for an event.
    Await(u32),
    /// The host is busy.
    Busy(SimTime),
    /// The program asks whether a stream, an event or, without both, everything is done; looking takes time.
    Query {
        /// The stream.
        stream: Option<u32>,
        /// The event.
        event: Option<u32>,
    },
    /// The program asks when two events came.
    Elapsed(u32, u32),
    /// The program asks for the time.
    Now,
    /// The program has ended.
    End,
}

/// The answer to a step.
#[derive(Clone, Debug, Default)]
pub struct LiveReply {
    /// The time when the host has done the step.
    pub now: SimTime,
    /// Bytes of a copy to the host for which it has waited.
    pub bytes: Option<Vec<u8>>,
    /// Whether what was asked for is done.
    pub is_done: bool,
    /// Times of the two events, if both have come.
    pub times: Option<[SimTime; 2]>,
    /// The device, in the first answer, before any step.
    pub device: Option<Description>,
}

/// The simulation's end of the way to the program: a resource of the run.
#[derive(Debug)]
pub struct Feed {
    steps: Mutex<Receiver<LiveStep>>,
    replies: Mutex<Sender<LiveReply>>,
}

/// The program's end.
#[derive(Debug)]
pub struct LiveProgram {
    steps: Sender<LiveStep>,
    replies: Receiver<LiveReply>,
}

/// Both ends of a way between a program and a simulation.
#[must_use]
pub fn live() -> (LiveProgram, Arc<Feed>) {
    let ((steps, taken), (answers, replies)) = (channel(), channel());
    let feed = Feed { steps: Mutex::new(taken), replies: Mutex::new(answers) };
    (LiveProgram { steps, replies }, Arc::new(feed))
}

impl LiveProgram {
    /// Waits for the device's description, before any step; none if the simulation has ended.
    pub fn begin(&self) -> Option<Description> {
        self.replies.recv().ok()?.device
    }

    /// Has the host do a step, and waits until it has; none if the simulation has ended.
    pub fn step(&self, step: LiveStep) -> Option<LiveReply> {
        self.steps.send(step).ok()?;
        self.replies.recv().ok()
    }
}

impl Feed {
    /// The next step; the end where the program has gone.
    pub(crate) fn next(&self) -> LiveStep {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.recv().unwrap_or(LiveStep::End)
    }

    pub(crate) fn reply(&self, reply: LiveReply) {
        // A program that has gone needs no answer.
        let _ = self.replies.lock().unwrap_or_else(PoisonError::into_inner).send(reply);
    }
}
