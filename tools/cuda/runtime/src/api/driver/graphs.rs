//! Calls of graphs that have another form in the driver: copies by its description, edges, and updates.

use std::ffi::{c_int, c_uint, c_void};

use super::super::entries;
use super::super::graph_edges::{connect, put_edges, put_neighbours};
use super::super::graph_nodes::{KernelNode, add, change};
use super::copies::{Copy3D, planes};
use crate::errors::Result;
use crate::foreign::{get, plain, put};
use crate::graphs::Operation;
use crate::made::graphs::{Handle, number};
use crate::state::State;

/// The outcome of an update: a result, and the nodes that differ.
#[repr(C)]
#[derive(Clone, Copy)]
struct Outcome {
    result: c_int,
    nodes: [Handle; 2],
}

/// The description of an instantiation, up to its result.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instantiation {
    flags: u64,
    stream: u64,
    node: Handle,
    result: c_int,
}

plain!(Outcome, Instantiation);

/// The form of a graph differs from that of the one that is updated.
const FORM_CHANGED: c_int = 2;

fn operation(state: &State, copy: *const Copy3D) -> Result<Operation> {
    let ((planes, shape), kind) = planes(state, get(copy)?)?;
    Ok(Operation::Copy { planes, shape, kind })
}

/// A kernel of a node, in the form that has a place for functions and one for kernels of libraries.
pub(in crate::api) fn kernel_of(state: &mut State, place: *const KernelNode) -> Result<Operation> {
    let mut node = get(place)?;
    if node.stub.is_null() {
        node.stub = get(place.wrapping_add(1).cast())?;
    }
    node.operation(state)
}

entries! {
    fn cuGraphAddKernelNode_v2(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, kernel: *const KernelNode,
    ) |state| {
        let operation = kernel_of(state, kernel)?;
        add(state, node, graph, (behind, count), operation)
    }

    fn cuGraphKernelNodeSetParams_v2(node: Handle, kernel: *const KernelNode) |state| {
        let operation = kernel_of(state, kernel)?;
        change(state.graphs.operation(node)?, operation)
    }

    fn cuGraphExecKernelNodeSetParams_v2(ready: Handle, node: Handle, kernel: *const KernelNode) |state| {
        let operation = kernel_of(state, kernel)?;
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, operation)
    }

    fn cuGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, copy: *const Copy3D,
    ) |state| {
        let operation = operation(state, copy)?;
        add(state, node, graph, (behind, count), operation)
    }

    fn cuGraphMemcpyNodeSetParams(node: Handle, copy: *const Copy3D) |state| {
        let operation = operation(state, copy)?;
        change(state.graphs.operation(node)?, operation)
    }

    fn cuGraphExecMemcpyNodeSetParams(ready: Handle, node: Handle, copy: *const Copy3D) |state| {
        let operation = operation(state, copy)?;
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, operation)
    }

    fn cuGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) |state| {
        connect(state, graph, (from, to), count, true)
    }

    fn cuGraphAddDependencies_v2(
        graph: Handle, from: *const Handle, to: *const Handle, _edges: *const c_void, count: usize,
    ) |state| {
        connect(state, graph, (from, to), count, true)
    }

    fn cuGraphRemoveDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) |state| {
        connect(state, graph, (from, to), count, false)
    }

    fn cuGraphRemoveDependencies_v2(
        graph: Handle, from: *const Handle, to: *const Handle, _edges: *const c_void, count: usize,
    ) |state| {
        connect(state, graph, (from, to), count, false)
    }

    fn cuGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) |state| {
        put_edges(state, graph, (from, to), std::ptr::null_mut(), count)
    }

    fn cuGraphGetEdges_v2(
        graph: Handle, from: *mut Handle, to: *mut Handle, edges: *mut u64, count: *mut usize,
    ) |state| {
        put_edges(state, graph, (from, to), edges, count)
    }

    fn cuGraphNodeGetDependencies(node: Handle, before: *mut Handle, count: *mut usize) |state| {
        put_neighbours(state, node, before, (std::ptr::null_mut(), count), true)
    }

    fn cuGraphNodeGetDependencies_v2(
        node: Handle, before: *mut Handle, edges: *mut u64, count: *mut usize,
    ) |state| {
        put_neighbours(state, node, before, (edges, count), true)
    }

    fn cuGraphNodeGetDependentNodes(node: Handle, behind: *mut Handle, count: *mut usize) |state| {
        put_neighbours(state, node, behind, (std::ptr::null_mut(), count), false)
    }

    fn cuGraphNodeGetDependentNodes_v2(
        node: Handle, behind: *mut Handle, edges: *mut u64, count: *mut usize,
    ) |state| {
        put_neighbours(state, node, behind, (edges, count), false)
    }

    fn cuGraphExecUpdate(ready: Handle, graph: Handle, _node: *mut Handle, result: *mut c_int) |state| {
        let done = state.update(ready, graph);
        put(result, if done.is_ok() { 0 } else { FORM_CHANGED })?;
        done
    }

    fn cuGraphExecUpdate_v2(ready: Handle, graph: Handle, outcome: *mut Outcome) |state| {
        let done = state.update(ready, graph);
        let result = if done.is_ok() { 0 } else { FORM_CHANGED };
        put(outcome, Outcome { result, nodes: [std::ptr::null_mut(); 2] })?;
        done
    }

    fn cuGraphInstantiateWithParams(ready: *mut Handle, graph: Handle, how: *mut Instantiation) |state| {
        let described = get(how)?;
        put(ready, state.make_ready(graph)?)?;
        put(how, Instantiation { node: std::ptr::null_mut(), result: 0, ..described })
    }

    fn cuGraphExecGetFlags(ready: Handle, flags: *mut c_uint) |state| {
        state.graphs.ready(ready)?;
        put(flags, 0)
    }
}
