//! A DRAM controller: first ready, first come, first served (FR-FCFS) over one channel's banks.
//!
//! At most one command a cycle. Among the accesses whose next command is allowed now, one whose row is open wins, then
//! the oldest; but no access is overtaken for ever. Reads and writes take effect in the order of their arrival, as the values of a controller that
//! searches its write queue do; their order on the banks is a matter of time only.

use std::collections::VecDeque;

use counterpoint_framework::kernel::{Fault, Source};
use counterpoint_framework::model::{
    Component, Context, Counter, Distribution, Invalid, Params, Ports, Stats,
};
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::memory::{
    LINE_BYTES, MemAccess, MemReply, MemRequest, MemResult, MemoryServer, sectors,
};
use counterpoint_protocols::preload::Preloaded;

use super::backing::Backing;
use super::bank::{Banks, Command};
use super::timing::{Timing, TimingParams};
use crate::memory::address_map::{AddressMap, AddressMapParams};

/// Size and timing of one channel.
#[derive(Clone, Debug, Params)]
pub struct DramParams {
    /// Timings and shape of the DRAM.
    timing: TimingParams,
    /// Accesses that the scheduler chooses from.
    #[param(default = "64", min = "1", max = "1024")]
    queue: u32,
    /// Accesses to an open row that may overtake an older access to another row of the bank; then it has its turn.
    #[param(default = "64")]
    overtaking: u32,
    /// From the last data to the reply leaving: what lies between pins and L2.
    #[param(default = "0 cycles")]
    latency: Cycles,
    /// Bytes of the channel.
    #[param(default = "256 MiB", min = "4 KiB")]
    capacity: Bytes,
    /// Where addresses lie.
    map: AddressMapParams,
}

/// The ports of a controller.
#[derive(Ports)]
pub struct DramPorts {
    /// Line traffic of the L2 slices.
    clients: Vec<MemoryServer>,
}

/// What a controller counts.
#[derive(Default, Stats)]
pub struct DramStats {
    /// Read accesses.
    #[stat(name = "total_dram_reads")]
    reads: Counter,
    /// Write accesses.
    #[stat(name = "total_dram_writes")]
    writes: Counter,
    /// Column commands.
    bursts: Counter,
    /// Activate commands.
    activates: Counter,
    /// Precharge commands.
    precharges: Counter,
    /// Accesses that found their row open.
    row_hits: Counter,
    /// Accesses that found their bank closed.
    row_misses: Counter,
    /// Accesses that found another row open.
    row_conflicts: Counter,
    /// Accesses in the queue when one is added.
    queue_length: Distribution,
}

struct Access {
    client: usize,
    bank: usize,
    row: u64,
    write: bool,
    /// Column commands still to issue.
    bursts: u32,
    classified: bool,
    /// Younger accesses that went first although they wanted another row of the bank.
    overtaken: u32,
    reply: MemReply,
}

/// A DRAM controller with its channel.
pub struct DramController {
    banks: Banks,
    timing: Timing,
    map: AddressMap,
    backing: Backing,
    queue: VecDeque<Access>,
    depth: usize,
    overtaking: u32,
    latency: u64,
    /// Replies that have no credit yet, with the cycle in which they were ready.
    replies: VecDeque<(u64, usize, MemReply)>,
    turn: usize,
}

impl DramController {
    /// Takes an access: its values now, its time later.
    fn accept(&mut self, client: usize, request: MemRequest, stats: &DramStats) -> Result<(), Fault> {
        let line = self.map.within_channel(request.line) / LINE_BYTES;
        if !self.backing.holds(line) {
            return Err(Fault::new(format!("address {:#x} lies beyond the memory", request.line)));
        }
        let (mask, write, result) = match request.access {
            MemAccess::Read(mask) => {
                stats.reads.add(1);
                (mask, false, MemResult::Line(mask, self.backing.read(line, request.line)))
            }
            MemAccess::Write(mask, data) => {
                stats.writes.add(1);
                self.backing.write(line, request.line, mask, &data);
                (mask, true, MemResult::Written(sectors(mask) as u8))
            }
            MemAccess::Atomic(_) => return Err(Fault::new("atomics are executed in front of the DRAM")),
        };
        let burst = self.timing.burst;
        let touched = (0..LINE_BYTES / burst).filter(|index| {
            let all = if burst >= 128 { u128::MAX } else { (1 << burst) - 1 };
            mask & (all << (index * burst)) != 0
        });
        let bursts = touched.count().max(1) as u32;
        let chunk = line * LINE_BYTES / self.timing.row;
        let banks = u64::from(self.timing.banks);
        let (bank, row) = ((chunk % banks) as usize, chunk / banks);
        let reply = MemReply { line: request.line, tag: request.tag, client: request.client, result };
        stats.queue_length.record(self.queue.len() as u64);
        self.queue.push_back(Access {
            client,
            bank,
            row,
            write,
            bursts,
            classified: false,
            overtaken: 0,
            reply,
        });
        Ok(())
    }

    /// Issues at most one command. Gives the next cycle in which something may be allowed.
    fn step(&mut self, cycle: u64, stats: &DramStats) -> u64 {
        let mut next = u64::MAX;
        let mut chosen: Option<(bool, usize, Command)> = None;
        let (mut claimed, mut closed) = (0_u64, 0_u64);
        for (place, access) in self.queue.iter().enumerate() {
            let bit = 1 << access.bank;
            let (command, allowed) = self.banks.next(access.bank, access.row, access.write);
            let column = matches!(command, Command::Read | Command::Write);
            // An older access to the bank decides what happens to its row; younger ones may only use it.
            if closed & bit != 0 || !column && claimed & bit != 0 {
                continue;
            }
            claimed |= bit;
            if !column && access.overtaken >= self.overtaking {
                closed |= bit;
            }
            if allowed > cycle {
                next = next.min(allowed);
            } else if column {
                chosen = Some((true, place, command));
                break;
            } else if chosen.is_none() {
                chosen = Some((false, place, command));
            }
        }
        let Some((column, place, command)) = chosen else { return next };
        let access = &mut self.queue[place];
        if !access.classified {
            access.classified = true;
            match command {
                Command::Activate => stats.row_misses.add(1),
                Command::Precharge => stats.row_conflicts.add(1),
                Command::Read | Command::Write => stats.row_hits.add(1),
            }
        }
        match command {
            Command::Activate => stats.activates.add(1),
            Command::Precharge => stats.precharges.add(1),
            Command::Read | Command::Write => stats.bursts.add(1),
        }
        let end = self.banks.issue(command, access.bank, access.row, cycle);
        if column {
            access.bursts -= 1;
            if access.bursts == 0
                && let Some(access) = self.queue.remove(place)
            {
                for older in self.queue.range_mut(..place) {
                    older.overtaken += u32::from(older.bank == access.bank && older.row != access.row);
                }
                self.replies.push_back((end + self.latency, access.client, access.reply));
            }
        }
        cycle + 1
    }
}

impl Component for DramController {
    const KIND: &'static str = "memory/dram-controller";
    const DOC: &'static str =
        "A DRAM channel with its controller: banks, open rows, FR-FCFS, and the bytes themselves.";
    const DAEMON: bool = true;
    type Params = DramParams;
    type Ports = DramPorts;
    type Stats = DramStats;

    fn new(params: DramParams) -> Result<Self, Invalid> {
        let timing = Timing::new(&params.timing)?;
        Ok(DramController {
            banks: Banks::new(timing),
            timing,
            map: AddressMap::new(&params.map)?,
            backing: Backing::new(params.capacity.get()),
            queue: VecDeque::new(),
            depth: params.queue as usize,
            overtaking: params.overtaking,
            latency: params.latency.get(),
            replies: VecDeque::new(),
            turn: 0,
        })
    }

    async fn run(&mut self, io: &mut DramPorts, sim: &Context<DramStats>) -> Result<(), Fault> {
        let clients = io.clients.len();
        if let Some(preloaded) = sim.resource::<Preloaded>() {
            self.backing.begin_with(preloaded, sim.path());
        }
        loop {
            let cycle = sim.cycle();
            for step in 0..clients {
                let client = (self.turn + step) % clients;
                if self.queue.len() < self.depth
                    && let Some(request) = io.clients[client].rx.try_recv()
                {
                    self.accept(client, request, &sim.stats)?;
                }
            }
            self.turn = (self.turn + 1) % clients.max(1);
            let next = self.step(cycle, &sim.stats);
            while let Some(&(ready, client, _)) = self.replies.front()
                && let Some(permit) = io.clients[client].tx.try_reserve()
            {
                let wait = if ready > cycle { sim.span(ready - cycle) } else { SimTime::ZERO };
                if let Some((_, _, reply)) = self.replies.pop_front() {
                    permit.send_after(wait, reply);
                }
            }
            let deadline = if next == u64::MAX { SimTime::MAX } else { sim.cycles_from_now(next - cycle) };
            sim.set_busy(!self.queue.is_empty() || !self.replies.is_empty());
            let room = self.queue.len() < self.depth;
            let blocked = self.replies.front().map(|&(_, client, _)| client);
            let requests = io.clients.iter().map(|client| client.rx.when(room));
            let credit =
                io.clients.iter().enumerate().map(|(index, client)| client.tx.when(blocked == Some(index)));
            sim.wait(deadline, requests.chain(credit)).await;
        }
    }
}
