//! Streams, and the host's waits for what they do.
//!
//! Kernels have run and bytes have moved when a call returns, so nothing waits here; the record has the order.

use std::ffi::{c_int, c_uint, c_void};

use counterpoint_cuda_capture::Entry;

use super::attributes::{self, Attribute};
use super::entries;
use super::events::{check_flags, event_number};
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::graphs::{HostCall, Operation};
use crate::made::contexts::Owned;
use crate::made::{Made, NON_BLOCKING, Stream};
use crate::state::State;

/// Handles below it are CUDA's own names for default streams: the one that a call means, the legacy one, and that of the thread.
const FIRST_HANDLE: usize = 16;
const DEFAULT: usize = 0;
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;

/// Priorities, from the least to the greatest.
const PRIORITIES: [c_int; 2] = [0, -5];

impl State {
    /// The stream of a handle; the default streams of threads are made when they are first used.
    pub(crate) fn stream(&mut self, handle: Stream) -> Result<u32> {
        let number = match handle.addr() {
            DEFAULT => self.default_stream(),
            LEGACY => 0,
            PER_THREAD => self.stream_of_thread(),
            address => {
                let number = address.checked_sub(FIRST_HANDLE).and_then(|number| u32::try_from(number).ok());
                number.filter(|number| *number > 0).ok_or(Error::INVALID_RESOURCE_HANDLE)?
            }
        };
        if self.streams.contains_key(&number) { Ok(number) } else { Err(Error::INVALID_RESOURCE_HANDLE) }
    }

    /// The stream of a call that names none: the legacy one, or that of the thread in a program that is compiled so.
    pub(super) fn default_stream(&mut self) -> u32 {
        if self.per_thread { self.stream_of_thread() } else { 0 }
    }

    fn stream_of_thread(&mut self) -> u32 {
        if let Some(number) = self.of_thread().stream {
            return number;
        }
        let number = self.new_stream_of(Made::default());
        *self.of_thread().stream.insert(number)
    }

    fn new_stream(&mut self, flags: c_uint, priority: c_int) -> Result<Stream> {
        if flags & !NON_BLOCKING != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let [least, greatest] = PRIORITIES;
        let number = self.new_stream_of(Made { flags, priority: priority.clamp(greatest, least) });
        Ok(std::ptr::without_provenance_mut(FIRST_HANDLE + number as usize))
    }

    pub(crate) fn new_stream_of(&mut self, made: Made) -> u32 {
        let number = self.next_stream;
        self.next_stream += 1;
        self.streams.insert(number, made);
        self.own(Owned::Stream(number));
        if made.is_non_blocking() {
            self.recorder.write(&Entry::NonBlocking { stream: number });
        }
        number
    }

    fn made(&mut self, handle: Stream) -> Result<Made> {
        let number = self.stream(handle)?;
        Ok(self.streams.get(&number).copied().unwrap_or_default())
    }

    /// The host waits for a stream, or for all.
    pub(crate) fn synchronize(&mut self, stream: Option<u32>) {
        self.recorder.entry(&Entry::Synchronize { stream });
        self.print();
    }
}

entries! {
    fn cudaStreamCreate(handle: *mut Stream) |state| { put(handle, state.new_stream(0, 0)?) }

    fn cudaStreamCreateWithFlags(handle: *mut Stream, flags: c_uint) |state| { put(handle, state.new_stream(flags, 0)?) }

    fn cudaStreamCreateWithPriority(handle: *mut Stream, flags: c_uint, priority: c_int) |state| {
        put(handle, state.new_stream(flags, priority)?)
    }

    /// A program may request one of the two priorities.
    fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) |_state| {
        let mut places = [least, greatest].into_iter().zip(PRIORITIES).filter(|(place, _)| !place.is_null());
        places.try_for_each(|(place, priority)| put(place, priority))
    }

    fn cudaStreamGetPriority(stream: Stream, priority: *mut c_int) |state| {
        put(priority, state.made(stream)?.priority)
    }

    fn cudaStreamGetFlags(stream: Stream, flags: *mut c_uint) |state| { put(flags, state.made(stream)?.flags) }

    fn cudaStreamSetAttribute(stream: Stream, number: c_int, value: *const c_void) |state| {
        let stream = state.stream(stream)?;
        match attributes::of_stream(number)? {
            _ if value.is_null() => Err(Error::INVALID_VALUE),
            Attribute::Priority => {
                let [least, greatest] = PRIORITIES;
                let priority = get(value.cast::<c_int>())?.clamp(greatest, least);
                let made = state.streams.get(&stream).copied().unwrap_or_default();
                state.streams.insert(stream, Made { priority, ..made });
                Ok(())
            }
            Attribute::Harmless => Ok(()),
            Attribute::Other(name) => Err(state.refuse("cudaStreamSetAttribute", &format!("{name} is not supported"))),
            // The attribute is one of launches only.
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaStreamDestroy(stream: Stream) |state| {
        let number = state.stream(stream)?;
        state.print();
        if stream.addr() < FIRST_HANDLE || state.streams.remove(&number).is_none() {
            return Err(Error::INVALID_RESOURCE_HANDLE);
        }
        Ok(())
    }

    fn cudaStreamSynchronize(stream: Stream) |state| {
        let number = state.stream(stream)?;
        if state.is_watched(number) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        state.settle(Some(number))?;
        state.synchronize(Some(number));
        Ok(())
    }

    fn cudaStreamQuery(stream: Stream) |state| {
        let stream = state.stream(stream)?;
        state.print();
        state.check_done(Some(stream), None)
    }

    fn cudaStreamWaitEvent(stream: Stream, event: *mut c_void, flags: c_uint) |state| {
        let (stream, event) = (state.stream(stream)?, event_number(state, event)?);
        let is_watched = state.is_watched(stream);
        if check_flags(flags, is_watched)? {
            return state.watched(stream, Operation::Wait(event));
        }
        if is_watched || state.graphs.watched_events.contains_key(&event) {
            return state.graphs.watch_wait(event, stream);
        }
        if state.is_held(stream) || state.is_held_by(event) {
            state.put_off(stream, Operation::Wait(event));
            return Ok(());
        }
        state.recorder.entry(&Entry::Wait { event, stream });
        Ok(())
    }

    fn cudaDeviceSynchronize() |state| {
        state.settle(None)?;
        state.synchronize(None);
        Ok(())
    }

    fn cudaThreadSynchronize() |state| {
        state.settle(None)?;
        state.synchronize(None);
        Ok(())
    }

    /// A function of the program, which is called when the stream reaches it. The host waits until then,
    /// unless the stream is being captured into a graph.
    fn cudaLaunchHostFunc(stream: Stream, function: u64, data: u64) |state| {
        let number = state.stream(stream)?;
        let host = HostCall::new(function, data)?;
        if state.is_watched(number) {
            return state.watched(number, Operation::Host(host));
        }
        state.settle(Some(number))?;
        state.perform_all(vec![(number, Operation::Host(host))])
    }

    /// A function of the program that receives the stream and its state; no graph can call such a function.
    fn cudaStreamAddCallback(stream: Stream, function: u64, data: u64, flags: c_uint) |state| {
        let number = state.stream(stream)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if state.is_watched(number) {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        let host = HostCall { words: [stream.addr() as u64, 0, data], ..HostCall::new(function, data)? };
        state.settle(Some(number))?;
        state.perform_all(vec![(number, Operation::Host(host))])
    }
}
