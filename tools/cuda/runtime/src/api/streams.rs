//! Streams, and the host's waits for what they do.
//!
//! Kernels have run and bytes have moved when a call returns, so nothing waits here; the record has the order.

use std::ffi::{c_int, c_uint, c_void};

use counterpoint_cuda_capture::Entry;

use super::entries;
use super::events::event_number;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::graphs::{HostCall, Operation};
use crate::state::State;

/// Handles below it are CUDA's own names for default streams.
const FIRST_HANDLE: usize = 16;

/// Attributes of streams that programs set.
const WINDOW: c_int = 1;
const PRIORITY: c_int = 8;

/// Handle of a stream: its number, behind CUDA's own.
pub(crate) type Stream = *mut c_void;

impl State {
    pub(crate) fn stream(&self, handle: Stream) -> Result<u32> {
        // 0, 1 and 2 are CUDA's default streams.
        let number = match handle.addr() {
            0..=2 => 0,
            address => address.checked_sub(FIRST_HANDLE).unwrap_or(usize::MAX),
        };
        let number = u32::try_from(number).map_err(|_| Error::INVALID_RESOURCE_HANDLE)?;
        self.streams.get(&number).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    fn new_stream(&mut self) -> Stream {
        std::ptr::without_provenance_mut(FIRST_HANDLE + self.new_stream_number() as usize)
    }

    pub(super) fn new_stream_number(&mut self) -> u32 {
        let number = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(number);
        number
    }

    /// The host waits for a stream, or for all.
    pub(crate) fn synchronize(&mut self, stream: Option<u32>) {
        self.recorder.entry(&Entry::Synchronize { stream });
        self.print();
    }
}

entries! {
    fn cudaStreamCreate(handle: *mut Stream) |state| { put(handle, state.new_stream()) }

    fn cudaStreamCreateWithFlags(handle: *mut Stream, _flags: c_uint) |state| { put(handle, state.new_stream()) }

    fn cudaStreamCreateWithPriority(handle: *mut Stream, _flags: c_uint, _priority: c_int) |state| {
        put(handle, state.new_stream())
    }

    fn cudaStreamGetPriority(stream: Stream, priority: *mut c_int) |state| {
        state.stream(stream)?;
        put(priority, 0)
    }

    fn cudaStreamGetFlags(stream: Stream, flags: *mut c_uint) |state| {
        state.stream(stream)?;
        put(flags, 0)
    }

    /// The window of the L2 that a stream keeps, and the priority: no value depends on either.
    fn cudaStreamSetAttribute(stream: Stream, attribute: c_int, value: *const c_void) |state| {
        state.stream(stream)?;
        match attribute {
            _ if value.is_null() => Err(Error::INVALID_VALUE),
            WINDOW | PRIORITY => Ok(()),
            _ => Err(state.refuse("cudaStreamSetAttribute", &format!("the attribute {attribute} is not supported"))),
        }
    }

    fn cudaStreamDestroy(stream: Stream) |state| {
        let number = state.stream(stream)?;
        state.print();
        if number == 0 || !state.streams.remove(&number) { Err(Error::INVALID_RESOURCE_HANDLE) } else { Ok(()) }
    }

    fn cudaStreamSynchronize(stream: Stream) |state| {
        let number = state.stream(stream)?;
        if state.is_watched(number) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        state.synchronize(Some(number));
        Ok(())
    }

    fn cudaStreamQuery(stream: Stream) |state| {
        state.stream(stream)?;
        state.print();
        Ok(())
    }

    fn cudaStreamWaitEvent(stream: Stream, event: *mut c_void, _flags: c_uint) |state| {
        let (stream, event) = (state.stream(stream)?, event_number(state, event)?);
        if state.is_watched(stream) || state.graphs.watched_events.contains_key(&event) {
            return state.graphs.watch_wait(event, stream);
        }
        state.recorder.entry(&Entry::Wait { event, stream });
        Ok(())
    }

    fn cudaDeviceSynchronize() |state| {
        state.synchronize(None);
        Ok(())
    }

    fn cudaThreadSynchronize() |state| {
        state.synchronize(None);
        Ok(())
    }

    /// A function of the program, which is called when the stream has come to it. The host waits until it has, unless a graph watches the stream.
    fn cudaLaunchHostFunc(stream: Stream, function: u64, data: u64) |state| {
        let number = state.stream(stream)?;
        let host = HostCall::new(function, data)?;
        if state.is_watched(number) {
            return state.watched(number, Operation::Host(host));
        }
        state.go_on(vec![(number, Operation::Host(host))])
    }

    /// The same for a function that is given the stream and its state, which no graph can call.
    fn cudaStreamAddCallback(stream: Stream, function: u64, data: u64, _flags: c_uint) |state| {
        let number = state.stream(stream)?;
        if state.is_watched(number) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        let host = HostCall { words: [stream.addr() as u64, 0, data], ..HostCall::new(function, data)? };
        state.go_on(vec![(number, Operation::Host(host))])
    }
}
