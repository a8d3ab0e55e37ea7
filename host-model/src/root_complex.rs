//! The root complex: joins CPU and memory to the devices' buses.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Component, Context, Counter, Invalid, Ports, Stats};
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{BusMessage, BusSocket};
use counterpoint_protocols::host::{DeviceMessage, DeviceSocket};

/// The ports of a root complex.
#[derive(Ports)]
pub struct RootComplexPorts {
    /// The CPU: commands and completions.
    cpu: DeviceSocket,
    /// Host memory: accesses of devices.
    memory: DeviceSocket,
    /// The buses, in the order of the devices' numbers.
    devices: Vec<BusSocket>,
}

/// Statistics of a root complex.
#[derive(Default, Stats)]
pub struct RootComplexStats {
    /// Messages towards devices.
    #[stat(unit = "messages")]
    downstream: Counter,
    /// Messages from devices.
    #[stat(unit = "messages")]
    upstream: Counter,
}

/// The root complex.
pub struct RootComplex;

impl Component for RootComplex {
    const KIND: &'static str = "host/root-complex";
    const DOC: &'static str = "Joins CPU and host memory to the buses of the devices.";
    const DAEMON: bool = true;
    type Params = ();
    type Ports = RootComplexPorts;
    type Stats = RootComplexStats;

    fn new((): ()) -> Result<Self, Invalid> {
        Ok(RootComplex)
    }

    async fn run(&mut self, io: &mut RootComplexPorts, sim: &Context<RootComplexStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        let count = io.devices.len();
        let no_device = |device: u32| Fault::new(format!("device {device} of {count} does not exist"));
        loop {
            // A message that has no credit onwards waits in its link, and holds back those behind it.
            for socket in [&mut io.cpu, &mut io.memory] {
                if let Some(device) = socket.rx.peek(|message| message.device) {
                    let bus = io.devices.get_mut(device as usize).ok_or_else(|| no_device(device))?;
                    if let Some(permit) = bus.tx.try_reserve()
                        && let Some(DeviceMessage { message, .. }) = socket.rx.try_recv()
                    {
                        sim.stats.downstream.add(1);
                        sim.trace(|| format!("passes a message to device {device}"));
                        permit.send(message);
                    }
                }
            }
            for (device, bus) in io.devices.iter_mut().enumerate() {
                let to_memory = bus
                    .rx
                    .peek(|message| matches!(message, BusMessage::Read { .. } | BusMessage::Write { .. }));
                let Some(to_memory) = to_memory else { continue };
                let out = if to_memory { &mut io.memory.tx } else { &mut io.cpu.tx };
                if let Some(permit) = out.try_reserve()
                    && let Some(message) = bus.rx.try_recv()
                {
                    sim.stats.upstream.add(1);
                    sim.trace(|| format!("passes a message of device {device}"));
                    permit.send(DeviceMessage { device: device as u32, message });
                }
            }
            sim.wait_tried(SimTime::MAX, io).await;
        }
    }
}
