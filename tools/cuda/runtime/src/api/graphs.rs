//! Graphs: made, copied, made ready and launched. What is in them is in [`super::graph_nodes`] and [`super::stream_capture`].
//!
//! A launch does the operations of a graph at once and notes them as those of streams: the lanes of its plan.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use counterpoint_cuda_capture::Entry;

use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{plain, put};
use crate::graphs::{Graph, Operation};
use crate::made::Stream;
use crate::made::graphs::{Handle, Mark, Ready, handle, number};
use crate::settings::version;
use crate::state::State;

impl State {
    /// An address for memory that a graph allocates when it is launched.
    pub(crate) fn promise(&mut self, bytes: u64) -> Result<u64> {
        let address = self.device.place(bytes)?;
        self.graphs.promised.insert(address);
        Ok(address)
    }

    pub(super) fn make_ready(&mut self, graph: Handle) -> Result<Handle> {
        let graph = self.graphs.graph(graph)?.clone();
        let plan = self.graphs.filled(graph)?.plan()?;
        let number = self.graphs.next();
        self.graphs.ready.insert(number, Ready { plan, ..Ready::default() });
        Ok(handle(number))
    }

    /// Has a graph that can be launched do what another graph of the same form does.
    pub(super) fn update(&mut self, ready: Handle, graph: Handle) -> Result {
        let graph = self.graphs.graph(graph)?.clone();
        let graph = self.graphs.filled(graph)?;
        self.graphs.ready(ready)?.plan.update(&graph)
    }

    /// The operations of a launch with the streams that do them, the records and waits of events between lanes among them.
    fn launched(&mut self, ready: Handle, stream: u32) -> Result<Vec<(u32, Operation)>> {
        let key = number(ready);
        let mut ready = self.graphs.ready.remove(&key).ok_or(Error::INVALID_VALUE)?;
        let handles = ready.plan.steps.iter().flat_map(|step| step.node.operation.handles()).collect();
        let mut operations = self.first_values(&handles, stream);
        operations.extend(self.lanes(&mut ready, stream));
        self.graphs.ready.insert(key, ready);
        Ok(operations)
    }

    /// Operations of a launch of a graph that has no number.
    pub(crate) fn lanes(&mut self, ready: &mut Ready, stream: u32) -> Vec<(u32, Operation)> {
        let Ready { plan, streams, events } = ready;
        let made = self.streams.get(&stream).copied().unwrap_or_default();
        let streams = &mut streams[usize::from(made.is_non_blocking())];
        while streams.len() + 1 < plan.ends.len() {
            streams.push(self.new_stream_of(made));
        }
        let lane = |lane: usize| if lane == 0 { stream } else { streams[lane - 1] };
        let mut event = |mark: Mark| *events.entry(mark).or_insert_with(|| self.new_event());
        let mut operations = Vec::new();
        let mut begun = BTreeSet::from([0]);
        if plan.ends.len() > 1 {
            operations.push((stream, Operation::Record(event(Mark::Begin))));
        }
        for (index, step) in plan.steps.iter().enumerate() {
            let own = lane(step.lane);
            if begun.insert(step.lane) && step.waits.is_empty() {
                operations.push((own, Operation::Wait(event(Mark::Begin))));
            }
            operations
                .extend(step.waits.iter().map(|before| (own, Operation::Wait(event(Mark::Step(*before))))));
            operations.push((own, step.node.operation.clone()));
            if step.is_awaited || step.lane > 0 && plan.ends[step.lane] == index {
                operations.push((own, Operation::Record(event(Mark::Step(index)))));
            }
        }
        let others = plan.ends.iter().skip(1);
        operations.extend(others.map(|end| (stream, Operation::Wait(event(Mark::Step(*end))))));
        operations
    }

    /// Does operations, the next one last. At a function of the host the call goes back to the program, and comes here again when that has returned.
    pub(crate) fn perform_all(&mut self, mut rest: Vec<(u32, Operation)>) -> Result {
        while let Some((stream, operation)) = rest.pop() {
            match operation {
                Operation::Host(host) => {
                    self.synchronize(Some(stream));
                    self.function_of_host = Some(host);
                    self.of_thread().rest = Some(rest);
                    return Ok(());
                }
                Operation::Graph(graph) => {
                    let mut ready = Ready { plan: graph.plan()?, ..Ready::default() };
                    rest.extend(self.lanes(&mut ready, stream).into_iter().rev());
                }
                Operation::Conditional(choice) => {
                    let value = self.condition(choice.handle)?;
                    if let Some((graph, again)) = choice.chosen(value) {
                        let graph = graph.clone();
                        if again {
                            rest.push((stream, Operation::Conditional(choice)));
                        }
                        rest.push((stream, Operation::Graph(graph)));
                    }
                }
                operation => self.perform(operation, stream)?,
            }
        }
        Ok(())
    }

    /// Does an operation that calls no function of the host.
    pub(crate) fn perform(&mut self, operation: Operation, stream: u32) -> Result {
        match operation {
            Operation::Nothing | Operation::Host(_) | Operation::Graph(_) | Operation::Conditional(_) => {
                Ok(())
            }
            Operation::Kernel(call) => self.launch_now(call, stream),
            Operation::Copy { planes, shape, kind } => self.copy_now((planes, shape), kind, stream, false),
            Operation::Fill { place, shape, value } => self.fill_now(place, shape, value, stream),
            Operation::Record(event) => {
                self.record(event, stream);
                Ok(())
            }
            Operation::Wait(event) => {
                self.recorder.entry(&Entry::Wait { event, stream });
                Ok(())
            }
            Operation::Allocate { address, bytes } => {
                if self.device.holds(address) {
                    return Err(Error::INVALID_VALUE);
                }
                self.device.allocate_at(address, bytes)?;
                self.graph_memory.take(bytes);
                self.recorder.write(&Entry::Allocate { address, bytes });
                Ok(())
            }
            Operation::Free { address } => self.free(address),
        }
    }
}

/// Result of an update: success, and a form that has changed.
const UPDATED: c_int = 0;
const FORM_CHANGED: c_int = 2;

/// The result of an update since CUDA 12, with the nodes that differ.
#[repr(C)]
#[derive(Clone, Copy)]
struct Update {
    result: c_int,
    nodes: [Handle; 2],
}

plain!(Update);

entries! {
    fn cudaGraphLaunch(ready: Handle, stream: Stream) |state| {
        let stream = state.stream(stream)?;
        if state.is_watched(stream) {
            let steps = state.graphs.ready(ready)?.plan.steps.iter();
            let nodes = steps.map(|step| step.node.clone()).collect();
            return state.watched(stream, Operation::Graph(Graph { nodes }));
        }
        state.settle(Some(stream))?;
        let mut operations = state.launched(ready, stream)?;
        operations.reverse();
        state.perform_all(operations)
    }

    fn cudaGraphCreate(graph: *mut Handle, _flags: c_uint) |state| { put(graph, state.graphs.keep(Graph::default())) }

    fn cudaGraphDestroy(graph: Handle) |state| {
        state.graphs.clones.retain(|(clone, _), _| *clone != number(graph));
        state.graphs.graphs.remove(&number(graph)).map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cudaGraphClone(clone: *mut Handle, graph: Handle) |state| {
        let original = state.graphs.graph(graph)?.clone();
        let (copy, nodes) = original.renumbered(|| state.graphs.next());
        let kept = state.graphs.keep(copy);
        state.graphs.clones.extend(nodes.into_iter().map(|(old, new)| ((number(kept), old), new)));
        put(clone, kept)
    }

    /// The further arguments of CUDA 11, a buffer for messages, are left unchanged.
    fn cudaGraphInstantiate(ready: *mut Handle, graph: Handle) |state| { put(ready, state.make_ready(graph)?) }

    fn cudaGraphInstantiateWithFlags(ready: *mut Handle, graph: Handle, _flags: c_ulonglong) |state| {
        put(ready, state.make_ready(graph)?)
    }

    fn cudaGraphExecDestroy(ready: Handle) |state| {
        state.graphs.ready.remove(&number(ready)).map(drop).ok_or(Error::INVALID_VALUE)
    }

    fn cudaGraphUpload(ready: Handle, stream: Stream) |state| {
        state.stream(stream)?;
        state.graphs.ready(ready).map(drop)
    }

    /// Before CUDA 12 with places for a node and a result, since then with one for both.
    fn cudaGraphExecUpdate(ready: Handle, graph: Handle, first: *mut c_void, second: *mut c_int) |state| {
        let done = state.update(ready, graph);
        let result = if done.is_ok() { UPDATED } else { FORM_CHANGED };
        if version() >= 12 {
            put(first.cast::<Update>(), Update { result, nodes: [std::ptr::null_mut(); 2] })?;
        } else {
            put(second, result)?;
        }
        done
    }
}
