//! Nodes of graphs: added, changed, and asked for.

use std::ffi::{c_int, c_uint, c_void};

use super::entries;
use super::events::{Event, event_number};
use super::launches::Arguments;
use super::volumes::{Copy3D, planes};
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put};
use crate::graphs::{HostCall, Operation};
use crate::made::Configuration;
use crate::made::graphs::{Handle, handle, number};
use crate::pitched::{Planes, Shape, flat, line, pitched};
use crate::state::State;
use crate::words::Dim3;

/// A launch, as CUDA describes it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct KernelNode {
    pub(super) stub: *const c_void,
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
}

/// A fill of rows with values of 1, 2 or 4 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FillNode {
    to: *mut c_void,
    pitch: usize,
    value: c_uint,
    value_bytes: c_uint,
    width: usize,
    rows: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct HostNode {
    function: u64,
    data: u64,
}

/// Memory, behind a description of its pool and a list of devices that reach it.
#[repr(C)]
#[derive(Clone, Copy)]
struct MemoryNode {
    pool: [u64; 11],
    devices: *const c_void,
    device_count: usize,
    bytes: usize,
    address: u64,
}

plain!(KernelNode, FillNode, HostNode, MemoryNode);

impl KernelNode {
    pub(super) fn operation(self, state: &mut State) -> Result<Operation> {
        let KernelNode { stub, grid, block, shared, arguments, extra } = self;
        let sizes = Configuration { grid, block, shared: shared as usize, stream: std::ptr::null_mut() };
        state.kernel_call(stub, sizes, Arguments { places: arguments, extra }, false).map(Operation::Kernel)
    }
}

impl FillNode {
    pub(super) fn operation(self) -> Result<Operation> {
        let bytes = self.value_bytes as usize;
        if ![1, 2, 4].contains(&bytes) {
            return Err(Error::INVALID_VALUE);
        }
        let width = self.width.checked_mul(bytes).ok_or(Error::INVALID_VALUE)?;
        let shape = Shape { width: width as u64, rows: self.rows as u64 };
        let value = self.value.to_le_bytes()[..bytes].to_vec();
        Ok(Operation::Fill { place: pitched(self.to, self.pitch), shape, value })
    }
}

impl HostNode {
    pub(super) fn operation(self) -> Result<Operation> {
        HostCall::new(self.function, self.data).map(Operation::Host)
    }
}

fn copy_of(state: &mut State, copy: Copy3D) -> Result<Operation> {
    let (planes, shape) = planes(state, copy)?;
    Ok(Operation::Copy { planes, shape, kind: copy.kind })
}

fn flat_copy(to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int) -> Operation {
    Operation::Copy { planes: Planes::one(line(to), line(from)), shape: flat(bytes), kind }
}

pub(super) fn list(nodes: *const Handle, count: usize) -> Result<Vec<u64>> {
    (0..count).map(|index| get(nodes.wrapping_add(index)).map(number)).collect()
}

/// Adds a node to a graph behind others.
pub(super) fn add(
    state: &mut State,
    node: *mut Handle,
    graph: Handle,
    (behind, count): (*const Handle, usize),
    operation: Operation,
) -> Result {
    let next = state.graphs.next();
    state.graphs.graph(graph)?.add(next, &list(behind, count)?, operation)?;
    put(node, handle(next))
}

pub(super) fn change(own: &mut Operation, new: Operation) -> Result {
    if own.kind() != new.kind() {
        return Err(Error::INVALID_VALUE);
    }
    *own = new;
    Ok(())
}

/// Writes handles to the program's array, as many as fit; without an array, writes their number.
pub(super) fn put_list(place: *mut Handle, count: *mut usize, nodes: &[u64]) -> Result {
    if place.is_null() {
        return put(count, nodes.len());
    }
    for (index, node) in nodes.iter().take(get(count)?).enumerate() {
        put(place.wrapping_add(index), handle(*node))?;
    }
    put(count, nodes.len().min(get(count)?))
}

entries! {
    fn cudaGraphAddKernelNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, kernel: *const KernelNode,
    ) |state| {
        let operation = get(kernel)?.operation(state)?;
        add(state, node, graph, (behind, count), operation)
    }

    fn cudaGraphAddMemcpyNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, copy: *const Copy3D,
    ) |state| {
        let operation = copy_of(state, get(copy)?)?;
        add(state, node, graph, (behind, count), operation)
    }

    fn cudaGraphAddMemcpyNode1D(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize,
        to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int,
    ) |state| {
        add(state, node, graph, (behind, count), flat_copy(to, from, bytes, kind))
    }

    fn cudaGraphAddMemcpyNodeToSymbol(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize,
        symbol: *const c_void, from: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |state| {
        let planes = Planes::one(state.part(symbol, bytes, offset)?, line(from));
        add(state, node, graph, (behind, count), Operation::Copy { planes, shape: flat(bytes), kind })
    }

    fn cudaGraphAddMemcpyNodeFromSymbol(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize,
        to: *mut c_void, symbol: *const c_void, bytes: usize, offset: usize, kind: c_int,
    ) |state| {
        let planes = Planes::one(line(to), state.part(symbol, bytes, offset)?);
        add(state, node, graph, (behind, count), Operation::Copy { planes, shape: flat(bytes), kind })
    }

    fn cudaGraphAddMemsetNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, fill: *const FillNode,
    ) |state| {
        add(state, node, graph, (behind, count), get(fill)?.operation()?)
    }

    fn cudaGraphAddHostNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, host: *const HostNode,
    ) |state| {
        add(state, node, graph, (behind, count), get(host)?.operation()?)
    }

    fn cudaGraphAddEmptyNode(node: *mut Handle, graph: Handle, behind: *const Handle, count: usize) |state| {
        add(state, node, graph, (behind, count), Operation::Nothing)
    }

    fn cudaGraphAddChildGraphNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, child: Handle,
    ) |state| {
        let child = state.graphs.graph(child)?.clone();
        add(state, node, graph, (behind, count), Operation::Graph(child))
    }

    fn cudaGraphAddEventRecordNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, event: Event,
    ) |state| {
        let operation = Operation::Record(event_number(state, event)?);
        add(state, node, graph, (behind, count), operation)
    }

    fn cudaGraphAddEventWaitNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, event: Event,
    ) |state| {
        let operation = Operation::Wait(event_number(state, event)?);
        add(state, node, graph, (behind, count), operation)
    }

    fn cudaGraphAddMemAllocNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, memory: *mut MemoryNode,
    ) |state| {
        let mut described = get(memory)?;
        let bytes = described.bytes as u64;
        let address = state.promise(bytes)?;
        add(state, node, graph, (behind, count), Operation::Allocate { address, bytes })?;
        described.address = address;
        put(memory, described)
    }

    fn cudaGraphAddMemFreeNode(
        node: *mut Handle, graph: Handle, behind: *const Handle, count: usize, address: u64,
    ) |state| {
        add(state, node, graph, (behind, count), Operation::Free { address })
    }

    fn cudaGraphKernelNodeSetParams(node: Handle, kernel: *const KernelNode) |state| {
        let operation = get(kernel)?.operation(state)?;
        change(state.graphs.operation(node)?, operation)
    }

    fn cudaGraphMemcpyNodeSetParams(node: Handle, copy: *const Copy3D) |state| {
        let operation = copy_of(state, get(copy)?)?;
        change(state.graphs.operation(node)?, operation)
    }

    fn cudaGraphMemcpyNodeSetParams1D(
        node: Handle, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int,
    ) |state| {
        change(state.graphs.operation(node)?, flat_copy(to, from, bytes, kind))
    }

    fn cudaGraphMemsetNodeSetParams(node: Handle, fill: *const FillNode) |state| {
        change(state.graphs.operation(node)?, get(fill)?.operation()?)
    }

    fn cudaGraphHostNodeSetParams(node: Handle, host: *const HostNode) |state| {
        change(state.graphs.operation(node)?, get(host)?.operation()?)
    }

    fn cudaGraphExecKernelNodeSetParams(ready: Handle, node: Handle, kernel: *const KernelNode) |state| {
        let operation = get(kernel)?.operation(state)?;
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, operation)
    }

    fn cudaGraphExecMemcpyNodeSetParams(ready: Handle, node: Handle, copy: *const Copy3D) |state| {
        let operation = copy_of(state, get(copy)?)?;
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, operation)
    }

    fn cudaGraphExecMemcpyNodeSetParams1D(
        ready: Handle, node: Handle, to: *mut c_void, from: *const c_void, bytes: usize, kind: c_int,
    ) |state| {
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, flat_copy(to, from, bytes, kind))
    }

    fn cudaGraphExecMemsetNodeSetParams(ready: Handle, node: Handle, fill: *const FillNode) |state| {
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, get(fill)?.operation()?)
    }

    fn cudaGraphExecHostNodeSetParams(ready: Handle, node: Handle, host: *const HostNode) |state| {
        change(state.graphs.ready(ready)?.plan.operation(number(node))?, get(host)?.operation()?)
    }

    fn cudaGraphGetNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) |state| {
        let all: Vec<u64> = state.graphs.graph(graph)?.nodes.iter().map(|node| node.number).collect();
        put_list(nodes, count, &all)
    }

    fn cudaGraphGetRootNodes(graph: Handle, nodes: *mut Handle, count: *mut usize) |state| {
        let roots = state.graphs.graph(graph)?.nodes.iter().filter(|node| node.behind.is_empty());
        let roots: Vec<u64> = roots.map(|node| node.number).collect();
        put_list(nodes, count, &roots)
    }

    fn cudaGraphNodeGetType(node: Handle, kind: *mut c_int) |state| {
        put(kind, state.graphs.operation(node)?.kind())
    }

    fn cudaGraphNodeFindInClone(node: *mut Handle, original: Handle, clone: Handle) |state| {
        let found = state.graphs.clones.get(&(number(clone), number(original))).copied();
        put(node, handle(found.ok_or(Error::INVALID_VALUE)?))
    }

    fn cudaGraphDestroyNode(node: Handle) |state| {
        state.graphs.operation(node)?;
        for graph in state.graphs.graphs.values_mut() {
            graph.remove(number(node));
        }
        Ok(())
    }
}
