//! Events. Everything before an event is done when it is recorded, and no time passes between two.

use std::ffi::{c_uint, c_void};

use counterpoint_cuda_capture::Entry;

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::put;
use crate::graphs::Operation;
use crate::made::contexts::Owned;
use crate::made::{Known, Stream};
use crate::state::State;

/// Flags of events: the host sleeps while it waits, they have no time, and other processes see them.
const BLOCKING: c_uint = 1;
const NO_TIME: c_uint = 2;
const INTERPROCESS: c_uint = 4;

/// Flag of a record or a wait in a graph, of an event that is outside of it.
const EXTERNAL: c_uint = 1;

/// Handle of an event: its number.
pub(super) type Event = *mut c_void;

pub(crate) fn event_number(state: &State, handle: Event) -> Result<u32> {
    let number = u32::try_from(handle.addr()).ok().filter(|number| state.events.contains_key(number));
    number.ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// Checks flags of a record or of a wait; true if the event is to be outside of the graph that watches the stream.
pub(super) fn check_flags(flags: c_uint, is_watched: bool) -> Result<bool> {
    match flags {
        0 => Ok(false),
        EXTERNAL if is_watched => Ok(true),
        EXTERNAL => Err(Error::ILLEGAL_STATE),
        _ => Err(Error::INVALID_VALUE),
    }
}

fn new_event(state: &mut State, flags: c_uint) -> Result<Event> {
    let is_wrong = flags & !(BLOCKING | NO_TIME | INTERPROCESS) != 0
        || flags & INTERPROCESS != 0 && flags & NO_TIME == 0;
    if is_wrong {
        return Err(Error::INVALID_VALUE);
    }
    let number = state.new_event();
    state.events.insert(number, Known { has_no_time: flags & NO_TIME != 0, is_recorded: false });
    Ok(std::ptr::without_provenance_mut(number as usize))
}

fn record(state: &mut State, event: Event, stream: Stream, flags: c_uint) -> Result {
    let (event, stream) = (event_number(state, event)?, state.stream(stream)?);
    let is_watched = state.is_watched(stream);
    if check_flags(flags, is_watched)? {
        return state.watched(stream, Operation::Record(event));
    }
    if is_watched {
        return state.graphs.watch_record(event, stream);
    }
    if state.is_held(stream) {
        state.put_off(stream, Operation::Record(event));
        return Ok(());
    }
    state.record(event, stream);
    Ok(())
}

impl State {
    /// An error if a stream or an event is not done on the machine with time; without one, everything is.
    pub(super) fn check_done(&mut self, stream: Option<u32>, event: Option<u32>) -> Result {
        if !self.waiting.is_empty() {
            self.resume()?;
        }
        if event.is_some_and(|event| self.is_held_by(event))
            || stream.is_some_and(|stream| self.is_held(stream))
        {
            return Err(Error::NOT_READY);
        }
        let machine = self.recorder.machine.as_mut();
        if machine.is_none_or(|machine| machine.is_done(stream, event)) {
            Ok(())
        } else {
            Err(Error::NOT_READY)
        }
    }

    pub(super) fn record(&mut self, event: u32, stream: u32) {
        self.graphs.watched_events.remove(&event);
        if let Some(known) = self.events.get_mut(&event) {
            known.is_recorded = true;
        }
        self.recorder.entry(&Entry::Record { event, stream });
    }

    pub(super) fn new_event(&mut self) -> u32 {
        let number = self.next_event;
        self.next_event += 1;
        self.events.insert(number, Known::default());
        self.own(Owned::Event(number));
        number
    }
}

const PICOSECONDS_OF_MILLISECOND: f64 = 1e9;

fn elapsed(state: &mut State, first: Event, second: Event) -> Result<f32> {
    for event in [first, second] {
        let number = event_number(state, event)?;
        let Some(Known { has_no_time: false, is_recorded: true }) = state.events.get(&number) else {
            return Err(Error::INVALID_RESOURCE_HANDLE);
        };
    }
    let (first, second) = (event_number(state, first)?, event_number(state, second)?);
    if let Some(machine) = &mut state.recorder.machine {
        let picoseconds = machine.elapsed(first, second).ok_or(Error::NOT_READY)?;
        return Ok((picoseconds as f64 / PICOSECONDS_OF_MILLISECOND) as f32);
    }
    state.say_once("no time passes between events while a program is recorded: cudaEventElapsedTime gives 0");
    Ok(0.0)
}

entries! {
    fn cudaEventCreate(event: *mut Event) |state| { put(event, new_event(state, 0)?) }

    fn cudaEventCreateWithFlags(event: *mut Event, flags: c_uint) |state| { put(event, new_event(state, flags)?) }

    fn cudaEventDestroy(event: Event) |state| {
        let number = event_number(state, event)?;
        state.events.remove(&number);
        Ok(())
    }

    fn cudaEventRecord(event: Event, stream: Stream) |state| { record(state, event, stream, 0) }

    fn cudaEventRecordWithFlags(event: Event, stream: Stream, flags: c_uint) |state| { record(state, event, stream, flags) }

    fn cudaEventSynchronize(event: Event) |state| {
        let event = event_number(state, event)?;
        state.settle_event(event)?;
        state.recorder.entry(&Entry::Await { event });
        state.print();
        Ok(())
    }

    fn cudaEventQuery(event: Event) |state| {
        let event = event_number(state, event)?;
        state.check_done(None, Some(event))
    }

    fn cudaEventElapsedTime(milliseconds: *mut f32, first: Event, second: Event) |state| {
        put(milliseconds, elapsed(state, first, second)?)
    }

    fn cudaEventElapsedTime_v2(milliseconds: *mut f32, first: Event, second: Event) |state| {
        put(milliseconds, elapsed(state, first, second)?)
    }
}
