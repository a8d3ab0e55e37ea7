//! Races between streams: kernels and copies that nothing orders and that touch the same byte, one of them writing.
//!
//! Narrow tasks of one step race with each other in the same way, wherever they are sent: no task follows another.
//!
//! Steps of the host itself race with commands for which the host has not waited.
//!
//! Every command reports the memory that it touches when it is executed. The command is compared with earlier commands
//! that may run concurrently; a command that is ordered before everything later is dropped.

use std::collections::BTreeMap;

use counterpoint_ptx::functional::{Conflict, Touched};

use super::order::{Epoch, Order};
use crate::program::Space;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MemoryPlace {
    /// On a device, by its address.
    Device(Space, u64),
    /// On the host, by the number of its buffer.
    Host(usize),
}

/// Memory that a command touches.
pub(super) type Touches = BTreeMap<MemoryPlace, Touched>;

/// A command beside which others may run.
struct Command {
    epoch: Epoch,
    /// The task of the command, if its step is not over.
    task: Option<u32>,
    name: Name,
    touches: Touches,
}

#[derive(Clone)]
pub(super) struct Name {
    /// Part of the name that is common to several commands, such as the launches of a kernel.
    pub(super) title: String,
    pub(super) full: String,
}

/// Owner of a command; nothing orders two owners with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    /// A stream, by its number.
    Stream(u32),
    /// A task of a step, from 0.
    Task(u32),
    Host,
}

/// Two commands that race.
pub(super) struct Race {
    /// The earlier one and the later one as they are sent.
    pub(super) commands: [(Name, Rival); 2],
    pub(super) place: MemoryPlace,
    pub(super) conflict: Conflict,
}

/// The commands that may still race with others.
pub(super) struct Races {
    pub(super) order: Order,
    open: Vec<Command>,
    /// The task whose commands are sent now.
    task: Option<u32>,
    /// The host does something by itself between commands.
    host_works: bool,
}

impl Races {
    pub(super) fn new(order: Order, host_works: bool) -> Self {
        Races { order, open: Vec::new(), task: None, host_works }
    }

    /// Later commands belong to this task of a step, which is unordered with the other tasks of the step; `None`: the step is
    /// over, and everything later follows it.
    pub(super) fn begin(&mut self, task: Option<u32>) {
        if std::mem::replace(&mut self.task, task).is_some() && task.is_none() {
            self.open.iter_mut().for_each(|command| command.task = None);
            self.forget();
        }
    }

    /// The races of an action of the host itself with commands for which the host has not waited. Later commands are ordered after the
    /// action.
    pub(super) fn host(&self, name: Name, touches: &Touches) -> Vec<Race> {
        let mut races = Vec::new();
        for earlier in self.open.iter().filter(|earlier| !self.order.is_known(earlier.epoch)) {
            for (&place, touched) in &earlier.touches {
                if let Some(conflict) = touches.get(&place).and_then(|own| touched.conflict(own)) {
                    let stream = Rival::Stream(self.order.stream(earlier.epoch.lane));
                    let commands = [(earlier.name.clone(), stream), (name.clone(), Rival::Host)];
                    races.push(Race { commands, place, conflict });
                }
            }
        }
        races
    }

    fn forget(&mut self) {
        let Races { order, open, host_works, .. } = self;
        open.retain_mut(|command| {
            if command.task.is_some() || !order.is_past(command.epoch) {
                return true;
            }
            // All that is sent later is behind it, and only the host may come too early.
            if !*host_works || order.is_known(command.epoch) {
                return false;
            }
            command.touches.retain(|place, _| matches!(place, MemoryPlace::Host(_)));
            !command.touches.is_empty()
        });
    }

    /// A command has been sent to a stream and touches this. Gives its races.
    pub(super) fn send(&mut self, device: u32, stream: u32, name: Name, touches: Touches) -> Vec<Race> {
        let Some(epoch) = self.order.send(device, stream) else { return Vec::new() };
        let mut races = Vec::new();
        for earlier in &self.open {
            let rivals = match (earlier.task, self.task) {
                (Some(one), Some(other)) if one != other => [one, other].map(Rival::Task),
                _ if self.order.is_before(earlier.epoch, epoch.lane) => continue,
                _ => [earlier.epoch.lane, epoch.lane].map(|lane| Rival::Stream(self.order.stream(lane))),
            };
            for (&place, touched) in &earlier.touches {
                if let Some(conflict) = touches.get(&place).and_then(|own| touched.conflict(own)) {
                    let commands = [(earlier.name.clone(), rivals[0]), (name.clone(), rivals[1])];
                    races.push(Race { commands, place, conflict });
                }
            }
        }
        self.open.push(Command { epoch, task: self.task, name, touches });
        self.forget();
        races
    }
}
