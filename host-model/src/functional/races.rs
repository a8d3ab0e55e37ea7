//! Races between streams: kernels and copies that nothing orders and that touch the same byte, one of them writing.
//!
//! Every command tells what it touches when it is executed. It is compared with those before it that may run beside it;
//! what all that follows is behind is forgotten.

use std::collections::BTreeMap;

use counterpoint_ptx::functional::{Conflict, Touched};

use super::order::{Epoch, Order};

/// An allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// On a device, by its address.
    Device(u32, u64),
    /// On the host, by the number of its buffer.
    Host(usize),
}

/// What a command touches.
pub(super) type Touches = BTreeMap<Place, Touched>;

/// A command that others may run beside.
struct Command {
    epoch: Epoch,
    name: Name,
    touches: Touches,
}

/// What a command is called.
#[derive(Clone)]
pub(super) struct Name {
    /// What it has in common with others, as the launches of a kernel have.
    pub(super) title: String,
    /// In full.
    pub(super) full: String,
}

/// Two commands that race.
pub(super) struct Race {
    /// The earlier one and the later one as they are sent, and the numbers of their streams.
    pub(super) commands: [(Name, u32); 2],
    pub(super) place: Place,
    pub(super) conflict: Conflict,
}

/// The commands that may still race with others.
pub(super) struct Races {
    pub(super) order: Order,
    open: Vec<Command>,
}

impl Races {
    pub(super) fn new(order: Order) -> Self {
        Races { order, open: Vec::new() }
    }

    /// A command has been sent to a stream and touches this. Gives its races.
    pub(super) fn send(&mut self, device: u32, stream: u32, name: Name, touches: Touches) -> Vec<Race> {
        let Some(epoch) = self.order.send(device, stream) else { return Vec::new() };
        let mut races = Vec::new();
        for earlier in self.open.iter().filter(|earlier| !self.order.is_before(earlier.epoch, epoch.lane)) {
            for (&place, touched) in &earlier.touches {
                if let Some(conflict) = touches.get(&place).and_then(|own| touched.conflict(own)) {
                    let commands = [(&earlier.name, earlier.epoch.lane), (&name, epoch.lane)];
                    let commands = commands.map(|(name, lane)| (name.clone(), self.order.stream(lane)));
                    races.push(Race { commands, place, conflict });
                }
            }
        }
        self.open.push(Command { epoch, name, touches });
        self.open.retain(|command| !self.order.is_past(command.epoch));
        races
    }
}
