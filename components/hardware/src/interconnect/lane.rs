//! One direction of a switch: messages pass one after another, a flit a cycle.

use counterpoint_framework::kernel::{Message, Permit, Process};
use counterpoint_framework::model::{Counter, Params};
use counterpoint_framework::time::Bytes;
use counterpoint_protocols::memory::{Packets, SECTOR_BYTES};

/// How messages are cut into packets, and packets into flits.
#[derive(Clone, Copy, Debug, Params)]
pub(crate) struct PacketParams {
    /// Bytes that pass in a cycle: the width of the network.
    #[param(default = "40 B", min = "1 B")]
    flit: Bytes,
    /// Bytes of values that a packet is about at most; a message about more is several packets.
    #[param(default = "32 B", min = "32 B", max = "128 B")]
    packet: Bytes,
    /// Bytes of a packet besides its values.
    #[param(default = "8 B")]
    header: Bytes,
}

impl PacketParams {
    /// Flits of a message.
    #[inline]
    fn flits(&self, message: &impl Packets) -> u64 {
        let (sectors, carries) = message.sectors();
        let mut rest = u64::from(sectors) * SECTOR_BYTES;
        let (packet, header, flit) = (self.packet.get(), self.header.get(), self.flit.get());
        let mut flits = 0;
        while rest > 0 {
            let values = rest.min(packet);
            flits += (header + if carries { values } else { 0 }).div_ceil(flit);
            rest -= values;
        }
        flits.max(1)
    }
}

/// What a lane counts.
pub(crate) struct LaneStats<'a> {
    pub(crate) messages: &'a Counter,
    pub(crate) flits: &'a Counter,
}

/// Passes a message that starts in this cycle; returns when the next one may start.
pub(crate) async fn pass<M: Message + Packets>(
    process: &Process,
    permit: Permit<'_, M>,
    message: M,
    packets: &PacketParams,
    stats: LaneStats<'_>,
) {
    let flits = packets.flits(&message);
    stats.messages.add(1);
    stats.flits.add(flits);
    // The message has arrived when its last flit has.
    permit.send_after(process.span(flits - 1), message);
    process.cycles(flits).await;
}
