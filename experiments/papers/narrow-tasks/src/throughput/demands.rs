//! Resources of an SM that warps share, and the demands of a warp.

use super::traffic::{Traffic, Wait};

/// Resource for which warps of an SM take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Instructions issued.
    Issue,
    /// The units for integers, single precision and control.
    Sp,
    /// Units for approximations and divisions.
    Sfu,
    /// Units for double precision.
    Dp,
    /// The load-store unit.
    LoadStore,
    /// The SM's port to the network, for the time that each message waits there for its slice (`network.rs`).
    Port,
    /// Banks of the register file.
    Banks,
    /// Operand collectors, each for the turns of the register file during which an instruction holds one.
    Collectors,
    /// The path to memory, on which nobody takes turns and a state machine may hold accesses back (`Device::delay`).
    MemoryPath,
    /// The path between the port and the answer, on which nobody takes turns and messages wait for those of
    /// other SMs.
    Network,
    /// Units for products of matrices.
    Tensor,
}

impl Resource {
    pub(super) const ALL: [Resource; RESOURCES] = {
        use Resource::{Banks, Collectors, Dp, Issue, LoadStore, MemoryPath, Network, Port, Sfu, Sp, Tensor};
        [Issue, Sp, Sfu, Dp, LoadStore, Port, Banks, Collectors, MemoryPath, Network, Tensor]
    };

    /// Whether warps arrive at the resource at random: not if all of them come from another resource of the same rate.
    pub(super) fn meets(self) -> bool {
        match self {
            // The banks of an instruction are random.
            Resource::Issue
            | Resource::Sfu
            | Resource::Dp
            | Resource::Tensor
            | Resource::LoadStore
            | Resource::Banks => true,
            Resource::Sp
            | Resource::Collectors
            | Resource::Port
            | Resource::MemoryPath
            | Resource::Network => false,
        }
    }
}

pub(super) const RESOURCES: usize = 11;

pub(super) type Turns = [f64; RESOURCES];

/// Demands of a warp for each resource: in all, or in each cycle that it would need alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    pub(super) turns: Turns,
    /// Number of visits in which the warp takes these turns.
    pub(super) visits: Turns,
    /// The squares of the turns of each visit, summed up: an arrival meets long visits more often than short
    /// ones.
    pub(super) squares: Turns,
    /// Its traffic to each slice of the L2, reads and writes; none to slices beyond the last.
    pub(super) traffic: Vec<Traffic>,
}

impl Demands {
    /// Adds `times` visits of `turns` turns each.
    #[inline]
    pub fn visit(&mut self, resource: Resource, turns: u64, times: u64) {
        self.turns[resource as usize] += (turns * times) as f64;
        self.visits[resource as usize] += times as f64;
        self.squares[resource as usize] += (turns * turns * times) as f64;
    }

    /// Adds `times` visits, each of several turns in parallel within one cycle, if there are any.
    #[inline]
    pub(super) fn visit_together(&mut self, resource: Resource, turns: u64, times: u64) {
        self.turns[resource as usize] += (turns * times) as f64;
        self.visits[resource as usize] += (turns.min(1) * times) as f64;
        self.squares[resource as usize] += (turns * times) as f64;
    }

    /// Visits of one turn each: this number for each resource.
    #[cfg(test)]
    pub(super) fn single(turns: Turns) -> Self {
        Demands { turns, visits: turns, squares: turns, traffic: Vec::new() }
    }

    #[inline]
    pub(super) fn message(&mut self, slice: usize, sectors: u64) {
        if self.traffic.len() <= slice {
            self.traffic.resize(slice + 1, Traffic::default());
        }
        let sectors = sectors as f64;
        self.traffic[slice].add(&Traffic { messages: 1.0, sectors, squares: sectors * sectors }, 1.0);
    }

    /// Sets the demand of its traffic for port and network, from the waits of messages to each slice and the cycles for which a
    /// packet occupies a switch.
    pub(super) fn route(&mut self, waits: &[Wait], packet: f64) {
        if self.traffic.is_empty() {
            return;
        }
        let (mut visits, mut held, mut away) = (0.0, 0.0, 0.0);
        for (Traffic { messages, sectors, .. }, wait) in self.traffic.iter().zip(waits) {
            visits += messages;
            held += sectors.max(sectors * packet + messages * wait.head);
            away += messages * (wait.head + wait.answer);
        }
        self.visits[Resource::Port as usize] = visits;
        self.turns[Resource::Port as usize] = held;
        self.visits[Resource::Network as usize] = away;
    }

    /// Adds `other`, `times` times.
    #[must_use]
    pub fn with(mut self, other: &Demands, times: f64) -> Self {
        for resource in 0..RESOURCES {
            self.turns[resource] += other.turns[resource] * times;
            self.visits[resource] += other.visits[resource] * times;
            self.squares[resource] += other.squares[resource] * times;
        }
        if self.traffic.len() < other.traffic.len() {
            self.traffic.resize(other.traffic.len(), Traffic::default());
        }
        self.traffic.iter_mut().zip(&other.traffic).for_each(|(all, more)| all.add(more, times));
        self
    }

    /// The average demands of a cycle, of this number of cycles.
    pub fn rates(&self, cycles: f64) -> Demands {
        Demands::default().with(self, 1.0 / cycles)
    }

    /// Cycles of the warp for each cycle that it would need alone.
    pub(super) fn slowdown(&self, waits: &Turns) -> f64 {
        self.visits.iter().zip(waits).fold(1.0, |sum, (visits, wait)| sum + visits * wait)
    }
}
