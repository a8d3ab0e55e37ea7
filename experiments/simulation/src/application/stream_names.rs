//! The streams and events that the steps of an application name.

use counterpoint_framework::model::Span;
use counterpoint_host_model::program::EventId;

/// A stream that the file mentions.
pub(super) struct StreamUse {
    pub(super) name: String,
    /// Device of the stream's work; `None` if no work runs on the stream.
    pub(super) device: Option<u32>,
    pub(super) mentioned: Span,
}

/// An event that the file mentions.
pub(super) struct EventUse {
    pub(super) name: String,
    /// Positions in the file of the event's records, with the stream of each.
    pub(super) recorded: Vec<(Span, u32)>,
}

/// A wait of a stream or of the host for an event.
pub(super) struct Wait {
    pub(super) span: Span,
    pub(super) event: EventId,
    /// The stream that waits, or the host.
    pub(super) stream: Option<u32>,
    /// The wait may run after a record that follows it in the file, because it is in a loop.
    pub(super) again: bool,
}

/// The streams and events that the steps name.
#[derive(Default)]
pub(super) struct StreamNames {
    pub(super) streams: Vec<StreamUse>,
    pub(super) events: Vec<EventUse>,
    pub(super) waits: Vec<Wait>,
}

impl StreamNames {
    pub(super) fn event(&mut self, name: String) -> EventId {
        let known = self.events.iter().position(|event| event.name == name);
        let index = known.unwrap_or_else(|| {
            self.events.push(EventUse { name, recorded: Vec::new() });
            self.events.len() - 1
        });
        EventId(index as u32)
    }

    pub(super) fn named(&mut self, number: u32) -> Option<&mut StreamUse> {
        (number as usize).checked_sub(1).and_then(|index| self.streams.get_mut(index))
    }

    pub(super) fn device_of(&self, number: u32) -> u32 {
        let named = (number as usize).checked_sub(1).and_then(|index| self.streams[index].device);
        named.unwrap_or(0)
    }
}
