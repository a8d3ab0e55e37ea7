//! Graphs that a program has made, and those that can be launched.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;

use crate::errors::{Error, Result};
use crate::graphs::{Capture, Graph, Operation, Plan};

/// Handles of graphs, of their nodes, and of those that can be launched: numbers, each given once.
pub(crate) type Handle = *mut c_void;

pub(crate) fn number(handle: Handle) -> u64 {
    handle.addr() as u64
}

pub(crate) fn handle(number: u64) -> Handle {
    std::ptr::without_provenance_mut(number as usize)
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    /// The streams of lanes behind the first one, for a launch on a stream that blocks and for one on a stream that does not, and the events that hold
    /// lanes together: every launch uses them again.
    pub(crate) streams: [Vec<u32>; 2],
    pub(crate) events: BTreeMap<Mark, u32>,
}

/// A place in a launch that has an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Begin,
    Step(usize),
}

/// Graphs of the program.
#[derive(Default)]
pub(crate) struct Graphs {
    pub(crate) last: u64,
    pub(crate) graphs: BTreeMap<u64, Graph>,
    pub(crate) ready: BTreeMap<u64, Ready>,
    /// Streams and events of launches by kernels.
    pub(crate) of_kernels: Ready,
    /// Node of a clone, by the clone and the node of the original.
    pub(crate) clones: BTreeMap<(u64, u64), u64>,
    /// Graphs under construction by stream capture.
    pub(crate) captures: BTreeMap<u64, Capture>,
    /// Capture of each event that was recorded on a captured stream, and the nodes before the event.
    pub(crate) watched_events: BTreeMap<u32, (u64, BTreeSet<u64>)>,
    /// Addresses of values by which graphs choose, each with the value that it has when a graph is launched, if it is set then.
    pub(crate) conditions: BTreeMap<u64, Option<u32>>,
    /// Addresses that graphs allocate when they are launched.
    pub(crate) promised: BTreeSet<u64>,
}

impl Graphs {
    /// A number that no handle has.
    pub(crate) fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// A graph, also one that is being made of what streams do.
    pub(crate) fn graph(&mut self, graph: Handle) -> Result<&mut Graph> {
        let watching = self.captures.get_mut(&number(graph)).map(|capture| &mut capture.graph);
        watching.or_else(|| self.graphs.get_mut(&number(graph))).ok_or(Error::INVALID_VALUE)
    }

    /// A graph whose choices have the graphs that they choose among.
    pub(crate) fn filled(&self, mut graph: Graph) -> Result<Graph> {
        for node in &mut graph.nodes {
            match &mut node.operation {
                Operation::Conditional(choice) => {
                    let body = |number: &u64| {
                        self.filled(self.graphs.get(number).cloned().ok_or(Error::INVALID_VALUE)?)
                    };
                    choice.graphs = choice.bodies.iter().map(body).collect::<Result<Vec<Graph>>>()?.into();
                }
                Operation::Graph(inner) => *inner = self.filled(std::mem::take(inner))?,
                _ => {}
            }
        }
        Ok(graph)
    }

    pub(crate) fn ready(&mut self, ready: Handle) -> Result<&mut Ready> {
        self.ready.get_mut(&number(ready)).ok_or(Error::INVALID_VALUE)
    }

    pub(crate) fn operation(&mut self, node: Handle) -> Result<&mut Operation> {
        let watching = self.captures.values_mut().map(|capture| &mut capture.graph);
        let node = self.graphs.values_mut().chain(watching).find_map(|graph| graph.node(number(node)).ok());
        node.map(|node| &mut node.operation).ok_or(Error::INVALID_VALUE)
    }

    pub(crate) fn keep(&mut self, graph: Graph) -> Handle {
        let number = self.next();
        self.graphs.insert(number, graph);
        handle(number)
    }

    /// Forgets all but the last number.
    pub(crate) fn clear(&mut self) {
        *self = Graphs { last: self.last, ..Graphs::default() };
    }

    /// Whether graphs allocate memory at an address.
    pub(crate) fn has_promised(&self, address: u64) -> bool {
        self.promised.contains(&address)
    }
}
