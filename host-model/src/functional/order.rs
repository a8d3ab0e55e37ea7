//! The order of the commands of streams, whatever runtime sends them: that of CUDA (C Programming Guide, "Streams" and
//! "Events"), tracked by vector clocks.
//!
//! A stream is in order. An event orders the streams that wait for it after itself; synchronizing does so for the host, and
//! so for everything that the host sends later. The default stream of a device is the legacy one: it waits for all streams of
//! the device, and they wait for it, except for the non-blocking ones.

use std::collections::BTreeMap;

use crate::program::{Application, DEFAULT_STREAM, EventId};

/// A stream of a device, by its position among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane(usize);

/// A stream of a device.
struct OnDevice {
    device: u32,
    stream: u32,
    /// Whether the default stream and it do not wait for each other.
    non_blocking: bool,
}

/// Number of commands of each lane that are done before something.
type Clock = Vec<u32>;

/// A command: its lane, and its number there from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    pub(super) lane: Lane,
    number: u32,
}

/// The order of all commands so far.
pub(super) struct Order {
    lanes: Vec<OnDevice>,
    /// For each lane, the commands that are done before its next command.
    clocks: Vec<Clock>,
    /// Commands that the host knows to be done.
    host: Clock,
    events: BTreeMap<EventId, Clock>,
}

impl Order {
    /// The order of an application none of whose commands has been sent.
    pub(super) fn new(application: &Application) -> Self {
        let named = application.streams.iter().enumerate().skip(1);
        let named = named.map(|(number, stream)| OnDevice {
            device: stream.device,
            stream: number as u32,
            non_blocking: stream.non_blocking,
        });
        let default = |device| OnDevice { device, stream: DEFAULT_STREAM, non_blocking: false };
        let lanes: Vec<OnDevice> = application.devices().into_iter().map(default).chain(named).collect();
        let nothing = vec![0; lanes.len()];
        Order { clocks: vec![nothing.clone(); lanes.len()], host: nothing, lanes, events: BTreeMap::new() }
    }

    fn lane(&self, device: u32, stream: u32) -> Option<Lane> {
        self.lanes.iter().position(|lane| (lane.device, lane.stream) == (device, stream)).map(Lane)
    }

    pub(super) fn stream(&self, lane: Lane) -> u32 {
        self.lanes[lane.0].stream
    }

    /// Commands that are done before a command that is sent to a lane now.
    fn before(&self, lane: Lane) -> Clock {
        let mut clock = self.clocks[lane.0].clone();
        join(&mut clock, &self.host);
        let own = &self.lanes[lane.0];
        for (other, one) in self.lanes.iter().enumerate() {
            let meet = own.stream == DEFAULT_STREAM || one.stream == DEFAULT_STREAM;
            if one.device == own.device && meet && !(own.non_blocking || one.non_blocking) {
                join(&mut clock, &self.clocks[other]);
            }
        }
        clock
    }

    /// A command is sent.
    pub(super) fn send(&mut self, device: u32, stream: u32) -> Option<Epoch> {
        let lane = self.lane(device, stream)?;
        let mut clock = self.before(lane);
        clock[lane.0] += 1;
        let number = clock[lane.0];
        self.clocks[lane.0] = clock;
        Some(Epoch { lane, number })
    }

    pub(super) fn record(&mut self, event: EventId, device: u32, stream: u32) {
        if let Some(Epoch { lane, .. }) = self.send(device, stream) {
            self.events.insert(event, self.clocks[lane.0].clone());
        }
    }

    /// A stream waits for an event, if it has been recorded.
    pub(super) fn wait(&mut self, event: EventId, device: u32, stream: u32) {
        if let Some(recorded) = self.events.get(&event).cloned()
            && let Some(Epoch { lane, .. }) = self.send(device, stream)
        {
            join(&mut self.clocks[lane.0], &recorded);
        }
    }

    /// The host waits for an event.
    pub(super) fn await_event(&mut self, event: EventId) {
        if let Some(recorded) = self.events.get(&event) {
            join(&mut self.host, recorded);
        }
    }

    /// The host waits for everything that it has sent to a stream.
    pub(super) fn await_stream(&mut self, device: u32, stream: u32) {
        if let Some(lane) = self.lane(device, stream) {
            join(&mut self.host, &self.clocks[lane.0]);
        }
    }

    /// The host waits for everything.
    pub(super) fn await_all(&mut self) {
        self.clocks.iter().for_each(|clock| join(&mut self.host, clock));
    }

    /// Whether a command is done before the one that was sent last to a lane.
    pub(super) fn is_before(&self, earlier: Epoch, lane: Lane) -> bool {
        self.clocks[lane.0][earlier.lane.0] >= earlier.number
    }

    /// Whether the host knows that a command is done.
    pub(super) fn is_known(&self, epoch: Epoch) -> bool {
        self.host[epoch.lane.0] >= epoch.number
    }

    /// Whether a command is done before all that can still be sent.
    pub(super) fn is_past(&self, epoch: Epoch) -> bool {
        (0..self.lanes.len()).all(|lane| self.before(Lane(lane))[epoch.lane.0] >= epoch.number)
    }
}

/// Joins two clocks: commands done before either are done before both.
fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Buffer, BufferPlace, Stream};

    /// Streams 1 and 2 on device 0, stream 3 on device 1, and stream 4 on device 0, which does not block.
    fn order() -> Order {
        let stream = |name: &str, device| Stream { name: name.into(), device, non_blocking: name == "n" };
        let buffer = |device| Buffer { name: "b".into(), bytes: 4, device, place: BufferPlace::Anywhere };
        Order::new(&Application {
            streams: vec![stream("", 0), stream("s", 0), stream("t", 0), stream("u", 1), stream("n", 0)],
            buffers: vec![buffer(0), buffer(1)],
            ..Application::default()
        })
    }

    /// Sends to a lane; gives whether what was sent before is done before it.
    fn follows(order: &mut Order, earlier: Epoch, device: u32, stream: u32) -> bool {
        let later = order.send(device, stream).unwrap();
        order.is_before(earlier, later.lane)
    }

    #[test]
    fn streams_of_a_device_meet_in_its_default_stream_only() {
        let mut order = order();
        let first = order.send(0, 1).unwrap();
        assert!(follows(&mut order, first, 0, 1), "a stream is in order");
        assert!(!follows(&mut order, first, 0, 2));
        assert!(!follows(&mut order, first, 1, DEFAULT_STREAM), "another device");
        assert!(!order.is_past(first));
        assert!(follows(&mut order, first, 0, DEFAULT_STREAM));
        assert!(follows(&mut order, first, 0, 2), "behind the default stream");
        assert!(!follows(&mut order, first, 1, 3) && !order.is_past(first));
    }

    #[test]
    fn a_non_blocking_stream_and_the_default_stream_do_not_meet() {
        let mut order = order();
        let first = order.send(0, 4).unwrap();
        assert!(!follows(&mut order, first, 0, DEFAULT_STREAM));
        let on_default = order.send(0, DEFAULT_STREAM).unwrap();
        assert!(!follows(&mut order, on_default, 0, 4) && follows(&mut order, first, 0, 4));
        order.record(EventId(1), 0, 4);
        order.wait(EventId(1), 0, DEFAULT_STREAM);
        assert!(follows(&mut order, first, 0, DEFAULT_STREAM), "an event orders them");
    }

    #[test]
    fn an_event_orders_what_was_sent_before_it() {
        let mut order = order();
        let event = EventId(0);
        order.wait(event, 0, 2);
        let first = order.send(0, 1).unwrap();
        order.record(event, 0, 1);
        let second = order.send(0, 1).unwrap();
        assert!(!follows(&mut order, first, 0, 2), "nobody waits yet");
        order.wait(event, 0, 2);
        assert!(follows(&mut order, first, 0, 2) && !follows(&mut order, second, 0, 2));
        order.wait(event, 1, 3);
        assert!(follows(&mut order, first, 1, 3), "also across devices");
    }

    #[test]
    fn all_that_the_host_sends_is_behind_what_it_has_waited_for() {
        let mut order = order();
        let (first, other) = (order.send(0, 1).unwrap(), order.send(1, 3).unwrap());
        order.await_stream(0, 1);
        assert!(order.is_past(first) && !order.is_past(other));
        assert!(order.is_known(first) && !order.is_known(other));
        let event = EventId(7);
        order.await_event(event);
        assert!(!order.is_past(other), "never recorded");
        order.record(event, 1, 3);
        order.await_event(event);
        assert!(order.is_past(other));
        let last = order.send(0, 2).unwrap();
        order.await_all();
        assert!(order.is_past(last));
    }
}
