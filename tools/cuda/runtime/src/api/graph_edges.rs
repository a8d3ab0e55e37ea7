//! Edges of graphs: added, removed, and asked for. From CUDA 13 on, the runtime's functions have a description of each edge, which is the usual one
//! for all; before, they have none.

use super::entries;
use super::graph_nodes::{list, put_list};
use crate::errors::{Error, Result};
use crate::foreign::{get, put};
use crate::graphs::Graph;
use crate::made::graphs::{Handle, number};
use crate::settings::version;
use crate::state::State;

/// The first version of the runtime whose functions have descriptions of edges.
const DESCRIBED: u32 = 13;

/// Puts nodes behind others, or takes that back.
pub(super) fn connect(
    state: &mut State,
    graph: Handle,
    (from, to): (*const Handle, *const Handle),
    count: usize,
    is_new: bool,
) -> Result {
    let (from, to) = (list(from, count)?, list(to, count)?);
    let graph = state.graphs.graph(graph)?;
    for (from, to) in from.into_iter().zip(to) {
        graph.node(from)?;
        let behind = &mut graph.node(to)?.behind;
        let known = behind.iter().position(|other| *other == from);
        match known {
            Some(at) if !is_new => drop(behind.remove(at)),
            None if is_new => behind.push(from),
            _ => return Err(Error::INVALID_VALUE),
        }
    }
    Ok(())
}

/// Puts the edges of a graph where the program wants them, with descriptions that are all the usual one.
pub(super) fn put_edges(
    state: &mut State,
    graph: Handle,
    (from, to): (*mut Handle, *mut Handle),
    descriptions: *mut u64,
    count: *mut usize,
) -> Result {
    let nodes = &state.graphs.graph(graph)?.nodes;
    let edges = nodes.iter().flat_map(|node| node.behind.iter().map(|before| (*before, node.number)));
    let (begins, ends): (Vec<u64>, Vec<u64>) = edges.unzip();
    let wanted = get(count)?;
    put_list(from, count, &begins)?;
    if !to.is_null() {
        put(count, wanted)?;
        put_list(to, count, &ends)?;
    }
    put_descriptions(descriptions, get(count)?)
}

fn put_descriptions(descriptions: *mut u64, count: usize) -> Result {
    if descriptions.is_null() {
        return Ok(());
    }
    (0..count).try_for_each(|index| put(descriptions.wrapping_add(index), 0))
}

/// Puts the nodes before a node, or those behind it.
pub(super) fn put_neighbours(
    state: &mut State,
    node: Handle,
    place: *mut Handle,
    (descriptions, count): (*mut u64, *mut usize),
    before: bool,
) -> Result {
    let wanted = number(node);
    let has = |graph: &&Graph| graph.nodes.iter().any(|node| node.number == wanted);
    let graph = state.graphs.graphs.values().find(has).ok_or(Error::INVALID_VALUE)?;
    let found: Vec<u64> = if before {
        let node = graph.nodes.iter().find(|node| node.number == wanted);
        node.map(|node| node.behind.clone()).unwrap_or_default()
    } else {
        let behind = graph.nodes.iter().filter(|node| node.behind.contains(&wanted));
        behind.map(|node| node.number).collect()
    };
    put_list(place, count, &found)?;
    if place.is_null() { Ok(()) } else { put_descriptions(descriptions, get(count)?) }
}

/// The places of descriptions and of the count, by the version of the runtime.
fn places(third: u64, fourth: u64) -> (*mut u64, *mut usize) {
    let place = |word: u64| std::ptr::without_provenance_mut(word as usize);
    if version() < DESCRIBED {
        return (std::ptr::null_mut(), std::ptr::without_provenance_mut(third as usize));
    }
    (place(third), std::ptr::without_provenance_mut(fourth as usize))
}

entries! {
    fn cudaGraphAddDependencies(
        graph: Handle, from: *const Handle, to: *const Handle, edges_or_count: usize, count: usize,
    ) |state| {
        let count = if version() < DESCRIBED { edges_or_count } else { count };
        connect(state, graph, (from, to), count, true)
    }

    fn cudaGraphRemoveDependencies(
        graph: Handle, from: *const Handle, to: *const Handle, edges_or_count: usize, count: usize,
    ) |state| {
        let count = if version() < DESCRIBED { edges_or_count } else { count };
        connect(state, graph, (from, to), count, false)
    }

    fn cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, fourth: u64, fifth: u64) |state| {
        let (descriptions, count) = places(fourth, fifth);
        put_edges(state, graph, (from, to), descriptions, count)
    }

    fn cudaGraphNodeGetDependencies(node: Handle, before: *mut Handle, third: u64, fourth: u64) |state| {
        put_neighbours(state, node, before, places(third, fourth), true)
    }

    fn cudaGraphNodeGetDependentNodes(node: Handle, behind: *mut Handle, third: u64, fourth: u64) |state| {
        put_neighbours(state, node, behind, places(third, fourth), false)
    }
}
