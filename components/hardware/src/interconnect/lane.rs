//! One direction of a switch: messages pass one after another, a flit a cycle.

use counterpoint_framework::kernel::{Message, Permit, Process};
use counterpoint_framework::model::Counter;

/// What a lane counts.
pub(crate) struct LaneStats<'a> {
    pub(crate) messages: &'a Counter,
    pub(crate) bytes: &'a Counter,
}

/// Passes a message that starts in this cycle; returns when the next one may start.
pub(crate) async fn pass<M: Message>(
    process: &Process,
    permit: Permit<'_, M>,
    message: M,
    flit: u64,
    stats: LaneStats<'_>,
) {
    let bytes = message.wire_bytes();
    stats.messages.add(1);
    stats.bytes.add(bytes);
    let flits = bytes.div_ceil(flit).max(1);
    // The message has arrived when its last flit has.
    permit.send_after(process.span(flits - 1), message);
    process.cycles(flits).await;
}
