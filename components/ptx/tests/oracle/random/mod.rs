//! Random programs: proptest chooses and shrinks a tree of nodes that hold numbers; [`text`] makes PTX of it.
//!
//! Every program is legal, ends, and writes all its registers to memory: a thread touches its own bytes only, but
//! for counters that are added to, so that the order of threads does not show.

mod catalogue;
mod function;
mod operands;
mod writer;

use proptest::prelude::*;

pub(crate) use catalogue::{Catalogue, UNTESTED};
pub(crate) use operands::edge;

/// Numbers that a node's text is chosen by, one after another.
pub(crate) type Choices = Vec<u16>;

/// One piece of a program.
#[derive(Clone, Debug)]
pub(crate) enum ProgramNode {
    /// An instruction of the table.
    Operation(Choices),
    /// Additions and the like that hand on a carry.
    Chain(Choices),
    /// A load, a store or an atomic.
    Access(Choices),
    /// Packing, unpacking and special registers.
    Move(Choices),
    /// Some threads take the one way, some the other.
    Branch(Choices, Vec<ProgramNode>, Vec<ProgramNode>),
    /// A loop that each thread leaves when its own count is over.
    Loop(Choices, Vec<ProgramNode>),
    /// An exit, or a jump out of a loop or to the end.
    Leave(Choices),
    Call(Choices),
    /// A barrier, where all threads come by.
    Barrier,
    /// An operation of a warp's threads together, at a place that all of them reach.
    Collective(Choices),
}

/// A program, and the launch it is run in.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    pub(crate) kernel: Vec<ProgramNode>,
    pub(crate) functions: Vec<Vec<ProgramNode>>,
    pub(crate) threads: u32,
    pub(crate) ctas: u32,
    pub(crate) seed: u64,
}

fn choices() -> impl Strategy<Value = Choices> {
    prop::collection::vec(any::<u16>(), 16)
}

fn leaf() -> impl Strategy<Value = ProgramNode> {
    prop_oneof![
        12 => choices().prop_map(ProgramNode::Operation),
        1 => choices().prop_map(ProgramNode::Chain),
        3 => choices().prop_map(ProgramNode::Access),
        1 => choices().prop_map(ProgramNode::Move),
        2 => choices().prop_map(ProgramNode::Leave),
        1 => choices().prop_map(ProgramNode::Call),
    ]
}

fn nodes(count: usize) -> impl Strategy<Value = Vec<ProgramNode>> {
    let node = leaf().prop_recursive(3, 24, 6, |inner| {
        let few = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            6 => inner.clone(),
            2 => (choices(), few(), few()).prop_map(|(c, a, b)| ProgramNode::Branch(c, a, b)),
            1 => (choices(), few()).prop_map(|(c, body)| ProgramNode::Loop(c, body)),
        ]
    });
    let collective = choices().prop_map(ProgramNode::Collective);
    let top = prop_oneof![20 => node, 1 => Just(ProgramNode::Barrier), 2 => collective];
    prop::collection::vec(top, 0..count)
}

pub(crate) fn random() -> impl Strategy<Value = Random> {
    let functions = prop::collection::vec(nodes(14), function::COUNT);
    (nodes(40), functions, 1u32..70, 1u32..3, any::<u64>()).prop_map(
        |(kernel, functions, threads, ctas, seed)| Random { kernel, functions, threads, ctas, seed },
    )
}

pub(crate) fn text(program: &Random, catalogue: &Catalogue) -> String {
    let mut text =
        String::from(".version 7.8\n.target sm_80\n.address_size 64\n.shared .align 16 .b8 tile[8192];\n");
    for index in (0..function::COUNT).rev() {
        text +=
            &function::function(index, program.functions.get(index).map_or(&[], Vec::as_slice), catalogue);
    }
    text + &function::kernel(&program.kernel, catalogue)
}

pub(crate) use function::{INPUT, OUTPUT, SLOT};
