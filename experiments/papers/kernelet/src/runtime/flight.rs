//! Slices of a kernel that are under way. Each is on a stream of its own, so that none waits at the head of the device's queue for
//! another one, and blocks of the next slice take the places of blocks that end.

use counterpoint::messages::bus::CommandId;

use crate::schedule::cut::Cut;

/// Slices of one kernel in flight.
#[derive(Default)]
pub(super) struct Flight(Vec<InFlight>);

struct InFlight {
    lane: u32,
    command: CommandId,
    blocks: u64,
}

impl Flight {
    /// The lane of the next slice, the lowest that is free. `None` while as many blocks are in flight as there may be.
    pub(super) fn lane(&mut self, cut: Cut, is_under_way: impl Fn(CommandId) -> bool) -> Option<u32> {
        self.0.retain(|slice| is_under_way(slice.command));
        let blocks: u64 = self.0.iter().map(|slice| slice.blocks).sum();
        let is_free = |lane: &u32| self.0.iter().all(|slice| slice.lane != *lane);
        if blocks >= cut.window { None } else { (0..).find(is_free) }
    }

    /// Notes that a slice has been sent on a lane.
    pub(super) fn sent(&mut self, lane: u32, command: CommandId, blocks: u64) {
        self.0.push(InFlight { lane, command, blocks });
    }

    /// The slices that were under way when the last one was sent.
    pub(super) fn commands(&self) -> impl Iterator<Item = CommandId> {
        self.0.iter().map(|slice| slice.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_sent_while_fewer_blocks_than_the_window_are_in_flight() {
        let cut = Cut { slice: 4, window: 10 };
        let mut flight = Flight::default();
        for (lane, command) in [(0, 7), (1, 8), (2, 9)] {
            assert_eq!(flight.lane(cut, |_| true), Some(lane));
            flight.sent(lane, CommandId(command), 4);
        }
        assert_eq!(flight.lane(cut, |_| true), None);
        // The second slice has ended, and its lane is free.
        assert_eq!(flight.lane(cut, |command| command.0 != 8), Some(1));
        assert_eq!(flight.commands().map(|command| command.0).collect::<Vec<_>>(), [7, 9]);
    }
}
