//! The state of routers, their inputs and outputs, and of the ends of a network.

use std::ops::Range;

use counterpoint_framework::kernel::Inputs;

use crate::interconnect::lane::Cut;

/// No index.
pub(super) const NONE: usize = usize::MAX;

/// A router: ranges of the arrays of all routers.
pub(super) struct Router {
    /// The first of its inputs, and the first virtual channel of this one.
    pub(super) input: usize,
    pub(super) channel: usize,
    /// Its outputs: first those to ends, then those to links.
    pub(super) outputs: Range<usize>,
    /// By port the output, [`NONE`] where there is no link.
    pub(super) ports: Vec<usize>,
    /// Flits in its queues.
    pub(super) flits: usize,
}

/// An end that sends.
pub(super) struct Injector {
    pub(super) router: usize,
    pub(super) input: usize,
    /// Slot of the message.
    pub(super) slot: usize,
    /// Packets of the message that have not been sent.
    pub(super) rest: Cut,
    /// Flits of the packet that have been sent, and their virtual channel.
    pub(super) sent: u64,
    pub(super) lane: usize,
}

/// A virtual channel of an input.
#[derive(Clone)]
pub(super) struct InputChannel {
    /// The place of the front flit, and the number of flits.
    pub(super) first: usize,
    pub(super) length: usize,
    /// The output of the packet at the front; [`NONE`] if no head has reached the front.
    pub(super) output: usize,
    /// The class of virtual channels behind the output.
    pub(super) class: usize,
    /// The virtual channel behind the output that the packet has; [`NONE`] before it has one.
    pub(super) next: usize,
}

/// A flit in a queue.
#[derive(Clone, Copy, Default)]
pub(super) struct Flit {
    /// The message.
    pub(super) slot: usize,
    /// The last one of its packet.
    pub(super) is_tail: bool,
    /// The cycle from which on it can leave the router.
    pub(super) ready: u64,
}

/// The receiver of an output's flits.
pub(super) enum Exit {
    /// An end that takes messages.
    End(usize),
    /// An input of another router.
    Link { router: usize, input: usize },
}

/// An output of a router.
pub(super) struct Output {
    pub(super) exit: Exit,
    /// The virtual channels that request the output, numbered within the router, and the one whose turn it is.
    pub(super) wanted: Inputs<Box<[u64]>>,
    pub(super) turn: usize,
    /// Number of these that still need a virtual channel of the link, and the virtual channel that is granted next.
    pub(super) heads: usize,
    pub(super) lane_turn: usize,
}

/// The first member of a set that fits, from the one whose turn it is on and round.
pub(super) fn find_from(
    set: &Inputs<Box<[u64]>>,
    turn: usize,
    mut fits: impl FnMut(usize) -> bool,
) -> Option<usize> {
    let (mut place, mut wrapped) = (turn, false);
    loop {
        let member = set.turn(place)?;
        let goes_round = member < place;
        if goes_round && wrapped || (goes_round || wrapped) && member >= turn {
            return None;
        }
        if fits(member) {
            return Some(member);
        }
        (place, wrapped) = (member + 1, wrapped || goes_round);
    }
}

/// A message on its way.
#[derive(Clone, Copy, Default)]
pub(super) struct Passage {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Packets that have not left the network.
    pub(super) packets: u64,
}
