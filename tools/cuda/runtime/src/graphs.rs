//! Graphs: operations and their order, put together by calls or by watching streams, and launched as often as a program wants.
//!
//! A graph that can be launched is a plan: its operations in an order in which each follows those that it depends on, spread over lanes. The first
//! lane is the stream of the launch, the others are streams of their own, and events hold the lanes together.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::Arc;

use crate::errors::{Error, Result};
use crate::pitched::{PitchedAddress, Planes, Shape};

/// A call of a function of the program, with its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HostCall {
    pub(crate) function: u64,
    pub(crate) words: [u64; 3],
}

impl HostCall {
    /// A call with one word, if there is a function.
    pub(crate) fn new(function: u64, word: u64) -> Result<Self> {
        if function == 0 { Err(Error::INVALID_VALUE) } else { Ok(HostCall { function, words: [word, 0, 0] }) }
    }
}

/// A launch as the program makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelCall {
    pub(crate) stub: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
    pub(crate) parameters: Vec<u8>,
}

/// A thing that a stream does.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    Nothing,
    Kernel(KernelCall),
    /// Copies of the same shape.
    Copy {
        planes: Planes,
        shape: Shape,
        kind: c_int,
    },
    Fill {
        place: PitchedAddress,
        shape: Shape,
        value: Vec<u8>,
    },
    Host(HostCall),
    Graph(Graph),
    Conditional(Choice),
    Record(u32),
    Wait(u32),
    /// Memory of the graph, at an address that was promised.
    Allocate {
        address: u64,
        bytes: u64,
    },
    Free {
        address: u64,
    },
}

impl Operation {
    /// Addresses of the values by which it chooses, and the graphs in it.
    pub(crate) fn handles(&self) -> BTreeSet<u64> {
        match self {
            Operation::Conditional(choice) => {
                choice.graphs.iter().flat_map(Graph::handles).chain([choice.handle]).collect()
            }
            Operation::Graph(graph) => graph.handles(),
            _ => BTreeSet::new(),
        }
    }

    /// Number of the operation in CUDA's list of kinds of nodes.
    pub(crate) fn kind(&self) -> c_int {
        match self {
            Operation::Kernel(_) => 0,
            Operation::Copy { .. } => 1,
            Operation::Fill { .. } => 2,
            Operation::Host(_) => 3,
            Operation::Graph(_) => 4,
            Operation::Nothing => 5,
            Operation::Wait(_) => 6,
            Operation::Record(_) => 7,
            Operation::Allocate { .. } => 10,
            Operation::Free { .. } => 11,
            Operation::Conditional(_) => 13,
        }
    }
}

/// The rule by which a value chooses among graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The first one, or for zero the second.
    If,
    /// The only one, again and again until the value is zero.
    While,
    /// The one whose place the value is.
    Switch,
}

/// A choice among graphs by a value on the device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    /// Address of the value.
    pub(crate) handle: u64,
    pub(crate) rule: Rule,
    /// Numbers of the graphs, which the program goes on making.
    pub(crate) bodies: Vec<u64>,
    /// The graphs as they were when the whole was made ready.
    pub(crate) graphs: Arc<[Graph]>,
}

impl Choice {
    /// The graph for a value, and whether the choice is made again behind it.
    pub(crate) fn chosen(&self, value: u32) -> Option<(&Graph, bool)> {
        let place = match self.rule {
            Rule::If => usize::from(value == 0),
            Rule::While if value == 0 => return None,
            Rule::While => 0,
            Rule::Switch => value as usize,
        };
        Some((self.graphs.get(place)?, self.rule == Rule::While))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GraphNode {
    pub(crate) number: u64,
    /// Numbers of the nodes before it.
    pub(crate) behind: Vec<u64>,
    pub(crate) operation: Operation,
}

/// Operations and their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
}

impl Graph {
    /// Adds a node behind others.
    pub(crate) fn add(&mut self, number: u64, behind: &[u64], operation: Operation) -> Result {
        let mut behind = behind.to_vec();
        behind.sort_unstable();
        behind.dedup();
        if !behind.iter().all(|other| self.nodes.iter().any(|node| node.number == *other)) {
            return Err(Error::INVALID_VALUE);
        }
        self.nodes.push(GraphNode { number, behind, operation });
        Ok(())
    }

    pub(crate) fn node(&mut self, number: u64) -> Result<&mut GraphNode> {
        self.nodes.iter_mut().find(|node| node.number == number).ok_or(Error::INVALID_VALUE)
    }

    /// Takes a node away, and every order that it was in.
    pub(crate) fn remove(&mut self, number: u64) {
        self.nodes.retain(|node| node.number != number);
        self.nodes.iter_mut().for_each(|node| node.behind.retain(|other| *other != number));
    }

    /// The nodes that every path to a node has, and the node.
    pub(crate) fn before(&self, numbers: &BTreeSet<u64>) -> BTreeSet<u64> {
        let mut found = numbers.clone();
        let mut next: Vec<u64> = numbers.iter().copied().collect();
        while let Some(number) = next.pop() {
            let node = self.nodes.iter().find(|node| node.number == number);
            next.extend(node.into_iter().flat_map(|node| &node.behind).filter(|other| found.insert(**other)));
        }
        found
    }

    /// A clone of the graph with new numbers, and the map from old to new numbers.
    pub(crate) fn renumbered(&self, mut next: impl FnMut() -> u64) -> (Graph, BTreeMap<u64, u64>) {
        let numbers: BTreeMap<u64, u64> = self.nodes.iter().map(|node| (node.number, next())).collect();
        let node = |node: &GraphNode| GraphNode {
            number: numbers[&node.number],
            behind: node.behind.iter().map(|number| numbers[number]).collect(),
            operation: node.operation.clone(),
        };
        (Graph { nodes: self.nodes.iter().map(node).collect() }, numbers)
    }

    /// Addresses of the values by which its nodes choose, and those of the graphs that they choose among.
    pub(crate) fn handles(&self) -> BTreeSet<u64> {
        self.nodes.iter().flat_map(|node| node.operation.handles()).collect()
    }

    /// Nodes in an order in which each follows its dependencies; of the possible next nodes, the one that was added first comes next.
    fn ordered(&self) -> Result<Vec<&GraphNode>> {
        let mut left: Vec<&GraphNode> = self.nodes.iter().collect();
        let mut done = BTreeSet::new();
        let mut order = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let is_next = |node: &&GraphNode| node.behind.iter().all(|other| done.contains(other));
            let index = left.iter().position(is_next).ok_or(Error::INVALID_VALUE)?;
            let node = left.remove(index);
            done.insert(node.number);
            order.push(node);
        }
        Ok(order)
    }

    /// Spreads it over lanes.
    pub(crate) fn plan(&self) -> Result<Plan> {
        let order = self.ordered()?;
        let mut steps: Vec<GraphStep> = Vec::with_capacity(order.len());
        // Step of each node, and last step of each lane.
        let (mut places, mut ends) = (BTreeMap::new(), Vec::<usize>::new());
        for (index, node) in order.into_iter().enumerate() {
            let before: Vec<usize> = node.behind.iter().map(|other| places[other]).collect();
            let follows = before.iter().copied().find(|step| ends[steps[*step].lane] == *step);
            let lane = match follows {
                Some(step) => steps[step].lane,
                None => {
                    ends.push(index);
                    ends.len() - 1
                }
            };
            ends[lane] = index;
            let waits: Vec<usize> = before.into_iter().filter(|step| steps[*step].lane != lane).collect();
            waits.iter().for_each(|step| steps[*step].is_awaited = true);
            steps.push(GraphStep { node: node.clone(), lane, waits, is_awaited: false });
            places.insert(node.number, index);
        }
        Ok(Plan { steps, ends })
    }
}

/// A node with its place in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GraphStep {
    pub(crate) node: GraphNode,
    pub(crate) lane: usize,
    /// Steps of other lanes that it waits for.
    pub(crate) waits: Vec<usize>,
    /// A step of another lane waits for it.
    pub(crate) is_awaited: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<GraphStep>,
    /// Last step of each lane.
    pub(crate) ends: Vec<usize>,
}

impl Plan {
    pub(crate) fn operation(&mut self, number: u64) -> Result<&mut Operation> {
        let step = self.steps.iter_mut().find(|step| step.node.number == number);
        step.map(|step| &mut step.node.operation).ok_or(Error::INVALID_VALUE)
    }

    /// Takes the operations of a graph of the same form, with nodes that were added in the same order.
    pub(crate) fn update(&mut self, graph: &Graph) -> Result {
        let other = graph.plan()?;
        let same = |(own, new): (&GraphStep, &GraphStep)| {
            (own.lane, &own.waits, own.node.operation.kind())
                == (new.lane, &new.waits, new.node.operation.kind())
        };
        if self.steps.len() != other.steps.len() || !self.steps.iter().zip(&other.steps).all(same) {
            return Err(Error::GRAPH_EXEC_UPDATE_FAILURE);
        }
        for (own, new) in self.steps.iter_mut().zip(other.steps) {
            own.node.operation = new.node.operation;
        }
        Ok(())
    }
}

/// A graph that is made by watching streams.
pub(crate) struct Capture {
    pub(crate) graph: Graph,
    /// The stream with which it began.
    pub(crate) origin: u32,
    /// Nodes that the next node of each stream depends on.
    pub(crate) ends: BTreeMap<u32, BTreeSet<u64>>,
}

impl Capture {
    pub(crate) fn new(origin: u32) -> Self {
        Capture { graph: Graph::default(), origin, ends: BTreeMap::from([(origin, BTreeSet::new())]) }
    }

    pub(crate) fn add(&mut self, stream: u32, number: u64, operation: Operation) -> Result {
        let behind: Vec<u64> = self.ends.get(&stream).into_iter().flatten().copied().collect();
        self.graph.add(number, &behind, operation)?;
        self.ends.insert(stream, BTreeSet::from([number]));
        Ok(())
    }

    /// Ends it. Each stream must have come back to the first one.
    pub(crate) fn end(self) -> Result<Graph> {
        let Capture { graph, origin, ends } = self;
        let reached = graph.before(&ends[&origin]);
        let is_back = ends.values().flatten().all(|number| reached.contains(number));
        if is_back { Ok(graph) } else { Err(Error::STREAM_CAPTURE_UNJOINED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(nodes: &[(u64, &[u64])]) -> Graph {
        let mut graph = Graph::default();
        for (number, behind) in nodes {
            graph.add(*number, behind, Operation::Nothing).expect("nodes before it");
        }
        graph
    }

    fn lanes(plan: &Plan) -> Vec<(u64, usize, Vec<usize>)> {
        plan.steps.iter().map(|step| (step.node.number, step.lane, step.waits.clone())).collect()
    }

    #[test]
    fn a_chain_is_one_lane() {
        let plan = graph(&[(7, &[]), (8, &[7]), (9, &[8, 7])]).plan().expect("a plan");
        assert_eq!(lanes(&plan), [(7, 0, vec![]), (8, 0, vec![]), (9, 0, vec![])]);
        assert_eq!(plan.ends, [2]);
        assert!(plan.steps.iter().all(|step| !step.is_awaited));
    }

    #[test]
    fn branches_are_lanes_that_wait_for_each_other() {
        // One, two behind it, and one behind these.
        let plan = graph(&[(1, &[]), (2, &[1]), (3, &[1]), (4, &[2, 3])]).plan().expect("a plan");
        assert_eq!(lanes(&plan), [(1, 0, vec![]), (2, 0, vec![]), (3, 1, vec![0]), (4, 0, vec![2])]);
        assert_eq!(
            plan.steps.iter().map(|step| step.is_awaited).collect::<Vec<_>>(),
            [true, false, true, false]
        );
        assert_eq!(plan.ends, [3, 2]);
    }

    #[test]
    fn an_order_that_was_added_later_counts_and_a_circle_is_refused() {
        let mut later = graph(&[(1, &[]), (2, &[])]);
        later.node(1).expect("a node").behind.push(2);
        assert_eq!(lanes(&later.plan().expect("a plan")), [(2, 0, vec![]), (1, 0, vec![])]);
        later.node(2).expect("a node").behind.push(1);
        assert_eq!(later.plan(), Err(Error::INVALID_VALUE));
        assert_eq!(later.add(3, &[4], Operation::Nothing), Err(Error::INVALID_VALUE));
    }

    #[test]
    fn an_update_needs_the_same_form() {
        let mut plan = graph(&[(1, &[]), (2, &[1])]).plan().expect("a plan");
        let mut same = graph(&[(5, &[]), (6, &[5])]);
        assert_eq!(plan.update(&same), Ok(()));
        same.node(6).expect("a node").operation = Operation::Record(1);
        assert_eq!(plan.update(&same), Err(Error::GRAPH_EXEC_UPDATE_FAILURE));
        assert_eq!(plan.update(&graph(&[(5, &[]), (6, &[])])), Err(Error::GRAPH_EXEC_UPDATE_FAILURE));
        assert_eq!(plan.update(&graph(&[(5, &[])])), Err(Error::GRAPH_EXEC_UPDATE_FAILURE));
    }

    #[test]
    fn values_choose_graphs() {
        let [one, two] = [graph(&[(1, &[])]), graph(&[(2, &[])])];
        let choice = |rule, graphs: &[&Graph]| Choice {
            handle: 64,
            rule,
            bodies: Vec::new(),
            graphs: graphs.iter().map(|graph| (*graph).clone()).collect(),
        };
        let both = choice(Rule::If, &[&one, &two]);
        assert_eq!([both.chosen(3), both.chosen(0)], [Some((&one, false)), Some((&two, false))]);
        assert_eq!(choice(Rule::If, &[&one]).chosen(0), None);
        let again = choice(Rule::While, &[&one]);
        assert_eq!([again.chosen(2), again.chosen(0)], [Some((&one, true)), None]);
        let among = choice(Rule::Switch, &[&one, &two]);
        assert_eq!([among.chosen(1), among.chosen(2)], [Some((&two, false)), None]);
        let mut whole = graph(&[(7, &[])]);
        whole.add(8, &[7], Operation::Conditional(among)).expect("a node");
        assert_eq!(whole.handles(), BTreeSet::from([64]));
    }

    #[test]
    fn a_capture_follows_streams_and_wants_them_back() {
        let mut capture = Capture::new(3);
        capture.add(3, 1, Operation::Nothing).expect("a node");
        capture.ends.insert(4, BTreeSet::from([1]));
        capture.add(4, 2, Operation::Nothing).expect("a node");
        capture.add(3, 5, Operation::Nothing).expect("a node");
        let forked = capture.graph.clone();
        assert_eq!(forked, graph(&[(1, &[]), (2, &[1]), (5, &[1])]));
        let unjoined = Capture { graph: forked, origin: 3, ends: capture.ends.clone() };
        assert_eq!(unjoined.end(), Err(Error::STREAM_CAPTURE_UNJOINED));
        capture.ends.entry(3).or_default().insert(2);
        assert!(capture.end().is_ok());
    }
}
