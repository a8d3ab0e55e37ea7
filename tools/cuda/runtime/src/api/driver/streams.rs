//! Properties of streams, and their operations on single words of memory: writes of values, and waits for values.

use std::ffi::{c_int, c_uint, c_void};

use super::super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{put, write};
use crate::made::Stream;
use crate::made::graphs::handle;
use crate::pitched::{flat, line};
use crate::state::State;

/// Whether a stream is watched, by CUDA's numbers.
const NOT_WATCHED: c_int = 0;
const WATCHED: c_int = 1;

/// Conditions of a wait: the value has been reached, is equal, has a bit in common, and has a bit that is not set in both.
const REACHED: c_uint = 0;
const EQUAL: c_uint = 1;
const AND: c_uint = 2;
const NOR: c_uint = 3;

/// Puts whether a graph is made of what a stream does, and the graph's number.
pub(in crate::api) fn put_capture(
    state: &mut State,
    stream: Stream,
    (status, number): (*mut c_int, *mut u64),
    [graph, nodes, edges, count]: [*mut c_void; 4],
) -> Result {
    let stream = state.stream(stream)?;
    let Some(capture) = state.graphs.capture_of(stream) else { return put(status, NOT_WATCHED) };
    let ends = state.graphs.captures.get(&capture).and_then(|capture| capture.ends.get(&stream));
    let ends: Vec<u64> = ends.into_iter().flatten().copied().collect();
    if !graph.is_null() {
        put(graph.cast(), handle(capture))?;
    }
    // Nodes, and descriptions of edges, all of which are zero, lie where the program may read them from now on.
    let bytes = 8 * ends.len() as u64;
    if !nodes.is_null() {
        let place = if bytes == 0 { 0 } else { state.room_in_program(bytes)? };
        for (index, node) in ends.iter().enumerate() {
            write(place + 8 * index as u64, &node.to_le_bytes())?;
        }
        put(nodes.cast(), place)?;
    }
    if !edges.is_null() {
        let place = if bytes == 0 { 0 } else { state.room_in_program(bytes)? };
        write(place, &vec![0; bytes as usize])?;
        put(edges.cast(), place)?;
    }
    if !count.is_null() {
        put(count.cast(), ends.len())?;
    }
    if !number.is_null() {
        put(number, capture)?;
    }
    put(status, WATCHED)
}

fn write_value(state: &mut State, stream: Stream, place: *mut c_void, value: &[u8]) -> Result {
    let stream = state.stream(stream)?;
    state.fill(line(place), flat(value.len()), value.to_vec(), stream)
}

/// A stream waits for a value: all that could write it has been done, so that a value which is not there never comes.
fn wait_value(
    state: &mut State,
    stream: Stream,
    (place, bytes): (u64, u64),
    wanted: u64,
    how: c_uint,
) -> Result {
    state.stream(stream)?;
    let found = state.device.read(counterpoint_cuda_capture::Region::line(place, bytes))?;
    let found = found.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let signed = |word: u64| if bytes == 4 { i64::from(word as i32) } else { word as i64 };
    let is_there = match how & 3 {
        REACHED => signed(found.wrapping_sub(wanted)) >= 0,
        EQUAL => found == wanted,
        AND => found & wanted != 0,
        NOR => signed(!(found | wanted)) != 0,
        _ => false,
    };
    if is_there {
        return Ok(());
    }
    Err(state.refuse("cuStreamWaitValue", "a stream waits for a value that no earlier call has written"))
}

entries! {
    fn cuStreamGetCaptureInfo(stream: Stream, status: *mut c_int, number: *mut u64) |state| {
        put_capture(state, stream, (status, number), [std::ptr::null_mut(); 4])
    }

    fn cuStreamGetCaptureInfo_v2(
        stream: Stream, status: *mut c_int, number: *mut u64, graph: *mut c_void, nodes: *mut c_void, count: *mut c_void,
    ) |state| {
        put_capture(state, stream, (status, number), [graph, nodes, std::ptr::null_mut(), count])
    }

    fn cuStreamGetCaptureInfo_v3(
        stream: Stream, status: *mut c_int, number: *mut u64, graph: *mut c_void, nodes: *mut c_void, edges: *mut c_void,
        count: *mut c_void,
    ) |state| {
        put_capture(state, stream, (status, number), [graph, nodes, edges, count])
    }

    fn cuStreamGetId(stream: Stream, number: *mut u64) |state| {
        let stream = state.stream(stream)?;
        put(number, u64::from(stream) + 1)
    }

    fn cuStreamGetCtx(stream: Stream, context: *mut u64) |state| {
        state.stream(stream)?;
        put(context, state.current_context()?)
    }

    fn cuStreamGetDevice(stream: Stream, device: *mut c_int) |state| {
        state.stream(stream)?;
        put(device, 0)
    }

    fn cuStreamCopyAttributes(to: Stream, from: Stream) |state| {
        let (to, from) = (state.stream(to)?, state.stream(from)?);
        let priority = state.streams.get(&from).copied().unwrap_or_default().priority;
        state.streams.entry(to).and_modify(|made| made.priority = priority);
        Ok(())
    }

    fn cuStreamWriteValue32_v2(stream: Stream, place: *mut c_void, value: c_uint, _flags: c_uint) |state| {
        write_value(state, stream, place, &value.to_le_bytes())
    }

    fn cuStreamWriteValue64_v2(stream: Stream, place: *mut c_void, value: u64, _flags: c_uint) |state| {
        write_value(state, stream, place, &value.to_le_bytes())
    }

    fn cuStreamWaitValue32_v2(stream: Stream, place: u64, value: c_uint, how: c_uint) |state| {
        wait_value(state, stream, (place, 4), value.into(), how)
    }

    fn cuStreamWaitValue64_v2(stream: Stream, place: u64, value: u64, how: c_uint) |state| {
        wait_value(state, stream, (place, 8), value, how)
    }

    fn cuCtxGetSharedMemConfig(width: *mut c_int) |_state| { put(width, FOUR_BYTES) }

    fn cuCtxEnablePeerAccess(context: u64, _flags: c_uint) |state| {
        Err(if state.contexts.is_alive(context) { Error::PEER_ACCESS_UNSUPPORTED } else { Error::INVALID_CONTEXT })
    }

    fn cuCtxDisablePeerAccess(_context: u64) |_state| { Err(Error::PEER_ACCESS_NOT_ENABLED) }
}

/// Width of the banks of shared memory.
const FOUR_BYTES: c_int = 1;
