//! A PCI Express link: two directions, each with its own bandwidth, latency and packet headers.

use std::cell::Cell;
use std::rc::Rc;

use counterpoint_framework::kernel::{Fault, In, Out, Socket};
use counterpoint_framework::model::{BusyTime, Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::telemetry::BusyTrack;
use counterpoint_framework::time::{Bytes, BytesPerSecond, SimTime, Wire};
use counterpoint_protocols::bus::{BusMessage, BusSocket};
use counterpoint_protocols::roles;
use futures::future::join;

/// Speed and framing of a link.
#[derive(Clone, Debug, Params)]
pub struct PcieParams {
    /// Bytes a second in each direction, headers included.
    #[param(default = "15.75 GB/s", min = "1 MB/s")]
    bandwidth: BytesPerSecond,
    /// From the last byte entering to the message leaving at the other end.
    #[param(default = "500 ns")]
    latency: SimTime,
    /// Data bytes of a packet at most (maximum payload size).
    #[param(default = "256 B", min = "64 B", max = "4 KiB")]
    payload: Bytes,
    /// Header bytes of a packet: framing, sequence number, transaction header and CRC (PCI Express Base Specification
    /// 3.0, chapters 2 to 4).
    #[param(default = "24 B", max = "64 B")]
    header: Bytes,
    /// Limit of the random delay, beyond `latency`, of an answer to a read of host memory. With 0, answers keep their order; otherwise
    /// answers to different reads may pass one another, as completions with different transaction IDs may (PCI Express Base Specification
    /// 3.0, section 2.4.1).
    #[param(default = "0 ns")]
    reordering: SimTime,
}

/// The ports of a link.
#[derive(Ports)]
pub struct PciePorts {
    /// Towards the host.
    upstream: BusSocket,
    /// Towards the device.
    downstream: BusSocket,
}

/// Statistics of a link.
#[derive(Default, Stats)]
pub struct PcieStats {
    /// Messages towards the device.
    #[stat(unit = "messages")]
    downstream_messages: Counter,
    /// Data bytes towards the device.
    #[stat(unit = "bytes")]
    downstream_bytes: Counter,
    /// Time during which the direction towards the device was busy.
    #[stat(unit = "ps")]
    downstream_busy: BusyTime,
    /// Answers to reads that arrived before an earlier answer.
    #[stat(unit = "messages")]
    overtaking: Counter,
    /// Messages towards the host.
    #[stat(unit = "messages")]
    upstream_messages: Counter,
    /// Data bytes towards the host.
    #[stat(unit = "bytes")]
    upstream_bytes: Counter,
    /// Time during which the direction towards the host was busy.
    #[stat(unit = "ps")]
    upstream_busy: BusyTime,
}

/// A PCI Express link.
pub struct PcieLink {
    params: PcieParams,
}

/// Statistics counted in each busy period of a direction.
const TRACKED: &[&str] = &["messages", "bytes"];

struct Direction<'a> {
    name: &'static str,
    messages: &'a Counter,
    bytes: &'a Counter,
    busy: &'a BusyTime,
    track: Rc<BusyTrack>,
    /// Number of long messages under way, of both directions.
    carrying: &'a Cell<u32>,
}

impl PcieLink {
    /// Bytes on the wire of a message with `data` bytes.
    fn wire_bytes(&self, data: u64) -> u64 {
        let packets = data.div_ceil(self.params.payload.get()).max(1);
        data + packets * self.params.header.get()
    }

    /// Additional latency of a message.
    fn lateness(&self, message: &BusMessage, sim: &Context<PcieStats>) -> SimTime {
        let most = self.params.reordering.as_ps();
        if most == 0 || !matches!(message, BusMessage::Values { .. }) {
            return SimTime::ZERO;
        }
        SimTime::from_ps(sim.random() % most.saturating_add(1))
    }

    async fn carry(
        &self,
        from: &mut In<BusMessage>,
        to: &mut Out<BusMessage>,
        sim: &Context<PcieStats>,
        stats: Direction<'_>,
    ) {
        let mut wire = Wire::default();
        // Arrival time of the last answer to a read that has been sent.
        let mut last = SimTime::ZERO;
        loop {
            let permit = to.reserve().await;
            let message = from.recv().await;
            let now = sim.now();
            let start = wire.free().max(now);
            let data = message.payload_bytes();
            let end = wire.pass(now, self.wire_bytes(data), self.params.bandwidth);
            stats.messages.add(1);
            stats.bytes.add(data);
            stats.busy.book(start, end);
            stats.track.begin(start);
            stats.track.count([1, data]);
            stats.track.end(end);
            let arrival = end + self.params.latency + self.lateness(&message, sim);
            if matches!(message, BusMessage::Values { .. }) {
                sim.stats.overtaking.add(u64::from(arrival < last));
                last = last.max(arrival);
            }
            sim.trace(|| format!("{}: a message with {data} bytes arrives at {arrival}", stats.name));
            permit.send_after(arrival - now, message);
            // The next message may enter at the last edge before the wire is free; the wire itself keeps exact time.
            if end > sim.cycles_from_now(1) {
                // A long message is on its way, though nobody acts: it ends at a known time.
                stats.carrying.set(stats.carrying.get() + 1);
                sim.set_acts(true);
                sim.until(end - sim.span(1)).await;
                stats.carrying.set(stats.carrying.get() - 1);
                sim.set_acts(stats.carrying.get() > 0);
            }
        }
    }
}

impl Component for PcieLink {
    const KIND: &'static str = "io/pcie-link";
    const DOC: &'static str =
        "A PCI Express link: two directions, each with bandwidth, latency and packet headers.";
    const DAEMON: bool = true;
    const ROLE: &'static str = roles::PCIE;
    type Params = PcieParams;
    type Ports = PciePorts;
    type Stats = PcieStats;

    fn new(params: PcieParams) -> Result<Self, Invalid> {
        Ok(PcieLink { params })
    }

    async fn run(&mut self, io: &mut PciePorts, sim: &Context<PcieStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        let Socket { tx: host_tx, rx: host_rx } = &mut io.upstream;
        let Socket { tx: device_tx, rx: device_rx } = &mut io.downstream;
        let stats = &sim.stats;
        let carrying = Cell::new(0);
        let down = Direction {
            carrying: &carrying,
            name: "downstream",
            messages: &stats.downstream_messages,
            bytes: &stats.downstream_bytes,
            busy: &stats.downstream_busy,
            track: sim.busy_track("downstream", TRACKED),
        };
        let up = Direction {
            carrying: &carrying,
            name: "upstream",
            messages: &stats.upstream_messages,
            bytes: &stats.upstream_bytes,
            busy: &stats.upstream_busy,
            track: sim.busy_track("upstream", TRACKED),
        };
        let down = self.carry(host_rx, device_tx, sim, down);
        let up = self.carry(device_rx, host_tx, sim, up);
        sim.concurrently(join(down, up)).await;
        Ok(())
    }
}
