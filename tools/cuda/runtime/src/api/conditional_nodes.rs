//! Conditional nodes of graphs, nodes by one description for all kinds, and graphs that streams add to.
//!
//! The handle of a condition is the address of its value on the device. Which graph it chooses is decided by the host when the nodes before have been
//! done, so that the record has the operations in the order that they had.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use counterpoint_cuda_capture::Region;

use super::driver::graphs::kernel_of;
use super::entries;
use super::events::event_number;
use super::graph_nodes::{FillNode, HostNode, add, list};
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put, write};
use crate::graphs::{Capture, Choice, Graph, Operation, Rule};
use crate::made::Stream;
use crate::made::graphs::{Handle, number};
use crate::pitched::{PitchedAddress, flat};
use crate::settings::version;
use crate::state::State;

/// Bytes of a condition's value.
const VALUE_BYTES: u64 = 4;
/// Flag of a condition: its first value is set when a graph is launched.
const SET_FIRST: c_uint = 1;
/// Ways to change what the next node of a stream depends on: more nodes, or others.
const MORE: c_uint = 0;
const OTHERS: c_uint = 1;
/// Bytes of a description before what differs by the kind of the node.
const KIND_BYTES: usize = 16;

/// A condition's node, and where the program finds the graphs.
#[repr(C)]
#[derive(Clone, Copy)]
struct ConditionalNode {
    handle: u64,
    rule: c_int,
    count: c_uint,
    bodies: u64,
}

plain!(ConditionalNode);

impl State {
    /// The value by which a graph chooses.
    pub(super) fn condition(&mut self, handle: u64) -> Result<u32> {
        let bytes = self.device.read(Region::line(handle, VALUE_BYTES))?;
        Ok(bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word)))
    }

    /// Operations that set conditions before a graph is launched.
    pub(super) fn first_values(&self, handles: &BTreeSet<u64>, stream: u32) -> Vec<(u32, Operation)> {
        let first = |handle: &u64| Some((*handle, (*self.graphs.conditions.get(handle)?)?));
        handles.iter().filter_map(first).map(|(handle, value)| (stream, set(handle, value))).collect()
    }
}

/// An operation that gives a condition a value.
fn set(handle: u64, value: u32) -> Operation {
    let place = PitchedAddress { address: handle, pitch: 0 };
    Operation::Fill { place, shape: flat(VALUE_BYTES as usize), value: value.to_le_bytes().to_vec() }
}

fn make(state: &mut State, place: *mut u64, graph: Handle, first: c_uint, flags: c_uint) -> Result {
    state.graphs.graph(graph)?;
    if flags & !SET_FIRST != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let handle = state.allocate(VALUE_BYTES)?;
    state.perform(set(handle, first), 0)?;
    state.graphs.conditions.insert(handle, (flags == SET_FIRST).then_some(first));
    put(place, handle)
}

/// A choice with new graphs, whose handles the program finds by the description.
fn choice(state: &mut State, place: *mut ConditionalNode) -> Result<Operation> {
    let described = get(place)?;
    let ConditionalNode { handle, rule, count, .. } = described;
    let (rule, most) = match rule {
        0 => (Rule::If, 2),
        1 => (Rule::While, 1),
        2 => (Rule::Switch, 1 << 16),
        _ => return Err(Error::INVALID_VALUE),
    };
    if !state.graphs.conditions.contains_key(&handle) || !(1..=most).contains(&count) {
        return Err(Error::INVALID_VALUE);
    }
    let bodies: Vec<u64> = (0..count).map(|_| number(state.graphs.keep(Graph::default()))).collect();
    let room = state.room_in_program(8 * u64::from(count))?;
    for (index, body) in bodies.iter().enumerate() {
        write(room + 8 * index as u64, &body.to_le_bytes())?;
    }
    put(place, ConditionalNode { bodies: room, ..described })?;
    Ok(Operation::Conditional(Choice { handle, rule, bodies, graphs: Arc::new([]) }))
}

/// Adds a node by a description that begins with its kind.
fn add_node(
    state: &mut State,
    node: *mut Handle,
    graph: Handle,
    behind: (*const Handle, usize),
    described: *mut c_void,
) -> Result {
    let details = described.wrapping_byte_add(KIND_BYTES);
    let operation = match get(described.cast::<c_int>())? {
        0 => kernel_of(state, details.cast())?,
        2 => get(details.cast::<FillNode>())?.operation()?,
        3 => get(details.cast::<HostNode>())?.operation()?,
        4 => Operation::Graph(state.graphs.graph(get(details.cast())?)?.clone()),
        5 => Operation::Nothing,
        6 => Operation::Wait(event_number(state, get(details.cast())?)?),
        7 => Operation::Record(event_number(state, get(details.cast())?)?),
        11 => Operation::Free { address: get(details.cast())? },
        13 => choice(state, details.cast())?,
        kind => {
            let reason = format!("nodes of kind {kind} are added by a function of their own");
            return Err(state.refuse("cudaGraphAddNode", &reason));
        }
    };
    add(state, node, graph, behind, operation)
}

fn depend(
    state: &mut State,
    stream: Stream,
    (nodes, count): (*const Handle, usize),
    flags: c_uint,
) -> Result {
    let stream = state.stream(stream)?;
    let number = state.graphs.capture_of(stream).ok_or(Error::INVALID_VALUE)?;
    let nodes = list(nodes, count)?;
    let capture = state.graphs.captures.get_mut(&number).ok_or(Error::INVALID_VALUE)?;
    nodes.iter().try_for_each(|node| capture.graph.node(*node).map(drop))?;
    let ends = capture.ends.entry(stream).or_default();
    match flags {
        MORE => {}
        OTHERS => ends.clear(),
        _ => return Err(Error::INVALID_VALUE),
    }
    ends.extend(nodes);
    Ok(())
}

entries! {
    fn cudaGraphConditionalHandleCreate(place: *mut u64, graph: Handle, first: c_uint, flags: c_uint) |state| {
        make(state, place, graph, first, flags)
    }

    fn cudaGraphConditionalHandleCreate_v2(
        place: *mut u64, graph: Handle, _context: *mut c_void, first: c_uint, flags: c_uint,
    ) |state| {
        make(state, place, graph, first, flags)
    }

    /// From CUDA 13 on with descriptions of edges, which are all the usual one.
    fn cudaGraphAddNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, fourth: usize, fifth: usize, sixth: *mut c_void,
    ) |state| {
        match version() < 13 {
            true => add_node(state, node, graph, (behind, fourth), std::ptr::with_exposed_provenance_mut(fifth)),
            false => add_node(state, node, graph, (behind, fifth), sixth),
        }
    }

    fn cudaGraphAddNode_v2(
        node: *mut Handle, graph: Handle, behind: *const Handle, _edges: *const c_void, count: usize,
        described: *mut c_void,
    ) |state| {
        add_node(state, node, graph, (behind, count), described)
    }

    fn cuGraphAddNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, described: *mut c_void,
    ) |state| {
        add_node(state, node, graph, (behind, count), described)
    }

    fn cudaStreamBeginCaptureToGraph(
        stream: Stream, graph: Handle, behind: *const Handle, _edges: *const c_void, count: usize, _mode: c_int,
    ) |state| {
        let stream = state.stream(stream)?;
        if stream == 0 {
            return Err(Error::STREAM_CAPTURE_UNSUPPORTED);
        }
        let key = number(graph);
        if state.is_watched(stream) || !state.graphs.graphs.contains_key(&key) {
            return Err(Error::INVALID_VALUE);
        }
        let behind = list(behind, count)?;
        behind.iter().try_for_each(|node| state.graphs.graph(graph)?.node(*node).map(drop))?;
        let mut capture = Capture::new(stream);
        capture.ends.entry(stream).or_default().extend(behind);
        capture.graph = state.graphs.graphs.remove(&key).unwrap_or_default();
        state.graphs.captures.insert(key, capture);
        Ok(())
    }

    /// From CUDA 13 on with descriptions of edges.
    fn cudaStreamUpdateCaptureDependencies(
        stream: Stream, nodes: *const Handle, third: usize, fourth: usize, fifth: c_uint,
    ) |state| {
        match version() < 13 {
            true => depend(state, stream, (nodes, third), fourth as c_uint),
            false => depend(state, stream, (nodes, fourth), fifth),
        }
    }

    fn cudaStreamUpdateCaptureDependencies_v2(
        stream: Stream, nodes: *const Handle, _edges: *const c_void, count: usize, flags: c_uint,
    ) |state| {
        depend(state, stream, (nodes, count), flags)
    }

    fn cuStreamUpdateCaptureDependencies(stream: Stream, nodes: *const Handle, count: usize, flags: c_uint) |state| {
        depend(state, stream, (nodes, count), flags)
    }
}
