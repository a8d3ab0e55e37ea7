//! Graphs that are made by watching streams: between the beginning and the end, a stream's operations become nodes and are not done. Another stream
//! takes part once it waits for an event of one that does.

use std::ffi::{c_int, c_void};

use super::driver::streams::put_capture;
use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::graphs::{Capture, Operation};
use crate::made::Stream;
use crate::made::graphs::{Graphs, Handle, handle};
use crate::settings::version;
use crate::state::State;

/// Whether a stream is watched, by CUDA's numbers.
const NOT_WATCHED: c_int = 0;
const WATCHED: c_int = 1;

impl Graphs {
    pub(super) fn capture_of(&self, stream: u32) -> Option<u64> {
        let found = self.captures.iter().find(|(_, capture)| capture.ends.contains_key(&stream));
        found.map(|(number, _)| *number)
    }

    pub(super) fn watch_record(&mut self, event: u32, stream: u32) -> Result {
        let number = self.capture_of(stream).ok_or(Error::INVALID_VALUE)?;
        let ends = self.captures.get(&number).and_then(|capture| capture.ends.get(&stream)).cloned();
        self.watched_events.insert(event, (number, ends.unwrap_or_default()));
        Ok(())
    }

    /// A stream waits for an event; stream or event is of a capture.
    pub(super) fn watch_wait(&mut self, event: u32, stream: u32) -> Result {
        let (number, before) =
            self.watched_events.get(&event).cloned().ok_or(Error::STREAM_CAPTURE_ISOLATION)?;
        if self.capture_of(stream).is_some_and(|own| own != number) {
            return Err(Error::STREAM_CAPTURE_MERGE);
        }
        let capture = self.captures.get_mut(&number).ok_or(Error::INVALID_VALUE)?;
        capture.ends.entry(stream).or_default().extend(before);
        Ok(())
    }
}

impl State {
    /// Whether a graph is made of what a stream is asked to do.
    pub(crate) fn is_watched(&self, stream: u32) -> bool {
        !self.graphs.captures.is_empty() && self.graphs.capture_of(stream).is_some()
    }

    /// Adds an operation of a stream to the graph that watches it.
    pub(crate) fn watched(&mut self, stream: u32, operation: Operation) -> Result {
        let number = self.graphs.next();
        let capture = self.graphs.capture_of(stream).ok_or(Error::INVALID_VALUE)?;
        let capture = self.graphs.captures.get_mut(&capture).ok_or(Error::INVALID_VALUE)?;
        capture.add(stream, number, operation)
    }
}

entries! {
    fn cudaStreamBeginCapture(stream: Stream, _mode: c_int) |state| {
        let stream = state.stream(stream)?;
        // The default stream cannot be watched.
        if stream == 0 {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        if state.is_watched(stream) {
            return Err(Error::INVALID_VALUE);
        }
        let number = state.graphs.next();
        state.graphs.captures.insert(number, Capture::new(stream));
        Ok(())
    }

    fn cudaStreamEndCapture(stream: Stream, graph: *mut Handle) |state| {
        let stream = state.stream(stream)?;
        let number = state.graphs.capture_of(stream).ok_or(Error::INVALID_VALUE)?;
        if state.graphs.captures.get(&number).is_some_and(|capture| capture.origin != stream) {
            return Err(Error::STREAM_CAPTURE_UNMATCHED);
        }
        state.graphs.watched_events.retain(|_, (capture, _)| *capture != number);
        let capture = state.graphs.captures.remove(&number).ok_or(Error::INVALID_VALUE)?;
        if !graph.is_null() {
            put(graph, std::ptr::null_mut())?;
        }
        let made = capture.end()?;
        // The graph has the number that it had while it was made.
        state.graphs.graphs.insert(number, made);
        if graph.is_null() { Ok(()) } else { put(graph, handle(number)) }
    }

    /// Whether a stream is captured, and the number of the graph; from CUDA 13 on also the graph and the last nodes.
    fn cudaStreamGetCaptureInfo(
        stream: Stream, status: *mut c_int, number: *mut u64, graph: *mut c_void, nodes: *mut c_void, edges: *mut c_void,
        count: *mut c_void,
    ) |state| {
        let details = if version() < 13 { [std::ptr::null_mut(); 4] } else { [graph, nodes, edges, count] };
        put_capture(state, stream, (status, number), details)
    }

    fn cudaStreamIsCapturing(stream: Stream, status: *mut c_int) |state| {
        let stream = state.stream(stream)?;
        put(status, if state.is_watched(stream) { WATCHED } else { NOT_WATCHED })
    }

    /// Each thread may do what it likes while a stream is watched, but is given back the mode that it has set.
    fn cudaThreadExchangeStreamCaptureMode(mode: *mut c_int) |state| {
        put(mode, std::mem::replace(&mut state.of_thread().mode, get(mode)?))
    }
}
