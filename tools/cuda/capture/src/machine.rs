//! A machine on which a program's work runs as the program calls, so that its times are the machine's.

use std::sync::Arc;

use counterpoint_ptx::texture::Textures;

use crate::record::{Entry, Region};

/// Bytes of the device as they are without time, for a machine that takes over in the middle of a program.
pub type Memory<'a> = &'a mut dyn FnMut(u64, u64) -> Vec<u8>;

/// A machine with time beside the device without time, which has the same work. What is copied to the host may come from either.
pub trait Machine: Send {
    /// The PTX of a module whose entry follows.
    fn file(&mut self, name: &str, text: &str);

    /// A launch is about to be noted: the machine may take over what devices hold so far.
    /// Its textures and surfaces are given.
    fn before_launch(&mut self, kernel: &str, textures: &Arc<Textures>, memory: Memory<'_>);

    /// Does what an entry says; `bytes` are those of a copy to the device.
    fn entry(&mut self, entry: &Entry, bytes: &[u8]);

    /// Copies a region to the host. The result is what the machine has there, if the host waits and a kernel has read clocks; `expected`
    /// is what the device without time has.
    fn copy_out(&mut self, device: Region, stream: u32, waits: bool, expected: &[u8]) -> Option<Vec<u8>>;

    /// Whether a stream, an event or, without both, everything is done.
    fn is_done(&mut self, stream: Option<u32>, event: Option<u32>) -> bool;

    /// Picoseconds from one event to another; nothing if one of them has not come.
    fn elapsed(&mut self, first: u32, second: u32) -> Option<i64>;

    /// Picoseconds since the program began.
    fn now(&mut self) -> u64;
}
