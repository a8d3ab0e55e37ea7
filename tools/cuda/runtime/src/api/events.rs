//! Events. Everything before an event is done when it is recorded, and no time passes between two.

use std::ffi::{c_int, c_uint, c_void};

use counterpoint_cuda_capture::Entry;

use super::entries;
use super::streams::Stream;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::state::State;

/// Handle of an event: its number.
pub(super) type Event = *mut c_void;

pub(crate) fn event_number(state: &State, handle: Event) -> Result<u32> {
    let number = u32::try_from(handle.addr()).map_err(|_| Error::INVALID_RESOURCE_HANDLE)?;
    state.events.get(&number).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
}

fn new_event(state: &mut State) -> Event {
    std::ptr::without_provenance_mut(state.new_event() as usize)
}

fn record(state: &mut State, event: Event, stream: Stream) -> Result {
    let (event, stream) = (event_number(state, event)?, state.stream(stream)?);
    if state.is_watched(stream) {
        return state.graphs.watch_record(event, stream);
    }
    state.record(event, stream);
    Ok(())
}

impl State {
    pub(super) fn record(&mut self, event: u32, stream: u32) {
        self.graphs.watched_events.remove(&event);
        self.recorded.insert(event);
        self.recorder.entry(&Entry::Record { event, stream });
    }

    pub(super) fn new_event(&mut self) -> u32 {
        let number = self.next_event;
        self.next_event += 1;
        self.events.insert(number);
        number
    }
}

fn elapsed(state: &mut State, first: Event, second: Event) -> Result<f32> {
    for event in [first, second] {
        let number = event_number(state, event)?;
        if !state.recorded.contains(&number) {
            return Err(Error::INVALID_RESOURCE_HANDLE);
        }
    }
    state.say_once("no time passes between events while a program is recorded: cudaEventElapsedTime gives 0");
    Ok(0.0)
}

entries! {
    fn cudaEventCreate(event: *mut Event) |state| { put(event, new_event(state)) }

    fn cudaEventCreateWithFlags(event: *mut Event, _flags: c_uint) |state| { put(event, new_event(state)) }

    fn cudaEventDestroy(event: Event) |state| {
        let number = event_number(state, event)?;
        state.events.remove(&number);
        state.recorded.remove(&number);
        Ok(())
    }

    fn cudaEventRecord(event: Event, stream: Stream) |state| { record(state, event, stream) }

    fn cudaEventRecordWithFlags(event: Event, stream: Stream, _flags: c_uint) |state| { record(state, event, stream) }

    fn cudaEventSynchronize(event: Event) |state| {
        let event = event_number(state, event)?;
        state.recorder.entry(&Entry::Await { event });
        state.print();
        Ok(())
    }

    fn cudaEventQuery(event: Event) |state| {
        event_number(state, event)?;
        Ok(())
    }

    fn cudaEventElapsedTime(milliseconds: *mut f32, first: Event, second: Event) |state| {
        put(milliseconds, elapsed(state, first, second)?)
    }

    fn cudaEventElapsedTime_v2(milliseconds: *mut f32, first: Event, second: Event) |state| {
        put(milliseconds, elapsed(state, first, second)?)
    }

    fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) |_state| {
        put(least, 0)?;
        put(greatest, 0)
    }
}
