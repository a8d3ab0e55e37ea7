//! A DRAM controller: a queue of accesses to one channel, the policies by which they are served, and the bytes themselves.
//!
//! Reads and writes take effect in the order of their arrival, as the values of a controller that searches its write
//! queue do; their order on the banks is a matter of time only.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use counterpoint_framework::kernel::{Fault, Recall, Source, Watch};
use counterpoint_framework::model::{
    BusyCycles, Choose, Component, Context, Counter, Distribution, Invalid, Params, Ports, Setting, Slot,
    Stats,
};
use counterpoint_framework::telemetry::BusyTrack;
use counterpoint_framework::time::{Bytes, Cycles, SimTime};
use counterpoint_protocols::memory::{
    ByteMask, LINE_BYTES, MemAccess, MemReply, MemRequest, MemResult, MemoryServer, line_of, sectors, word_of,
};
use counterpoint_protocols::preload::Preloaded;
use counterpoint_protocols::roles;

use super::backing::Backing;
use super::bank::Command;
use super::channel::{Channel, Issued, Policies, Request};
use super::mapping::{DramAddress, Layout};
use super::refresh::all_bank::AllBank;
use super::refresh::{RefreshPlan, RefreshPolicy};
use super::row_policy::RowPolicy;
use super::scheduler::DramScheduler;
use super::timing::{Timing, TimingParams};
use crate::memory::address_map::{AddressMap, AddressMapParams};
use crate::memory::by_label::ByLabel;
use crate::memory::table::Table;

/// Size and timing of one channel.
#[derive(Clone, Debug, Params)]
#[params(moved(
    "overtaking",
    "the limit of reordering belongs to the scheduler, such as `scheduler: { fr-fcfs: { overtaking: 64 } }`"
))]
pub struct DramParams {
    /// Timings and shape of the DRAM.
    timing: TimingParams,
    /// Accesses in the scheduler's queue, of `access` bytes each (GPGPU-Sim's `frfcfs_dram_sched_queue_size`). A written-back line is one
    /// access.
    #[param(default = "64", min = "1", max = "1024")]
    queue: u32,
    /// Order in which queued accesses are served.
    #[param(default = "fr-fcfs")]
    scheduler: Slot<dyn DramScheduler>,
    /// Policy for closing an open row that no queued access needs.
    #[param(default = "open")]
    row_policy: Slot<dyn RowPolicy>,
    /// Refresh policy. If not set: `all-bank` for a standard with a tREFI, `none` for a standard without.
    refresh: Option<Choose<dyn RefreshPolicy>>,
    /// Replies that may wait for credit; with a full queue, no data is transferred (GPGPU-Sim's `dram_return_queue_size`).
    #[param(default = "116", min = "1")]
    return_queue: u32,
    /// Latency between pins and L2: from the last data of an access to the departure of its reply.
    #[param(default = "0 cycles")]
    latency: Cycles,
    /// Bytes of the channel.
    #[param(default = "256 MiB", min = "4 KiB")]
    capacity: Bytes,
    /// Map from addresses to slices and channels.
    map: AddressMapParams,
}

/// The ports of a controller.
#[derive(Ports)]
pub struct DramPorts {
    /// Line traffic of the L2 slices.
    clients: Vec<MemoryServer>,
}

/// Statistics of a controller.
#[derive(Default, Stats)]
pub struct DramStats {
    /// Counts of each launch and stream.
    by_label: ByLabel<DramCounts>,
    /// Peak bandwidth of the pins: bytes of a burst over the cycles for which it occupies the bus.
    #[stat(unit = "bytes/s")]
    peak_bandwidth: Setting,
    /// Refreshes, up to the last command.
    #[stat(unit = "refreshes")]
    n_ref: Counter,
    /// Rows closed by the row policy without a precharge command, up to the last command.
    #[stat(unit = "rows")]
    rows_closed: Counter,
    /// Cycles in which requests were queued.
    #[stat(unit = "cycles")]
    n_activity: BusyCycles,
    /// Requests in the queue when one is added.
    #[stat(name = "mrqq", unit = "requests")]
    queue_length: Distribution,
    /// Latency of a request from its entry into the queue to its last column command. The sum divided by the run's cycles is the average
    /// queue length.
    #[stat(unit = "cycles")]
    mrq_latency: Distribution,
}

/// Statistics of requests. A command is counted for the request that it brings forward; lines that are
/// written back are requests of their last writer.
#[derive(Default, Stats)]
struct DramCounts {
    /// Reads, counted in parts of `access` bytes.
    #[stat(name = "total_dram_reads", unit = "accesses")]
    reads: Counter,
    /// Writes, counted in parts of `access` bytes.
    #[stat(name = "total_dram_writes", unit = "accesses")]
    writes: Counter,
    /// Requests taken.
    #[stat(unit = "requests")]
    n_req: Counter,
    /// Activate commands.
    #[stat(unit = "commands")]
    n_act: Counter,
    /// Precharge commands.
    #[stat(unit = "commands")]
    n_pre: Counter,
    /// Read commands.
    #[stat(unit = "commands")]
    n_rd: Counter,
    /// Write commands.
    #[stat(unit = "commands")]
    n_wr: Counter,
    /// Requests that found their row open.
    #[stat(unit = "requests")]
    row_hits: Counter,
    /// Requests that found their bank closed.
    #[stat(unit = "requests")]
    row_misses: Counter,
    /// Requests that found another row open.
    #[stat(unit = "requests")]
    row_conflicts: Counter,
    /// Cycles in which data crossed the bus.
    #[stat(unit = "cycles")]
    bwutil: Counter,
    /// Bytes requested and transferred.
    #[stat(unit = "bytes")]
    bytes: Counter,
}

impl DramCounts {
    fn count(&self, issued: &Issued, timing: &Timing) {
        match issued.command {
            Command::Activate => self.n_act.add(1),
            Command::Precharge => self.n_pre.add(1),
            Command::Read => self.n_rd.add(1),
            Command::Write => self.n_wr.add(1),
        }
        self.bwutil.add(if issued.command.is_column() { timing.burst_cycles } else { 0 });
        if issued.first {
            match issued.command {
                Command::Activate => self.row_misses.add(1),
                Command::Precharge => self.row_conflicts.add(1),
                Command::Read | Command::Write => self.row_hits.add(1),
            }
        }
    }
}

/// An access, done as far as its values go.
struct Access {
    client: usize,
    /// Places that it takes in the queue: a read one for each of its parts, a write one.
    places: u64,
    reply: MemReply,
}

/// A DRAM controller with its channel.
pub struct DramController {
    params: DramParams,
    timing: Timing,
    map: AddressMap,
    layout: Layout,
    refresh: Option<RefreshPlan>,
}

/// State of a controller that runs.
struct Server {
    timing: Timing,
    map: AddressMap,
    layout: Layout,
    backing: Rc<RefCell<Backing>>,
    /// An address of this channel, once one has been accessed.
    served: Rc<Cell<Option<u64>>>,
    channel: Channel,
    /// Accesses that have no reply yet, by the number that the channel and the replies have for them.
    under_way: Table<Access>,
    queued: u64,
    depth: u64,
    return_queue: usize,
    latency: u64,
    /// Replies that have no credit yet, with the cycle in which they were ready.
    replies: VecDeque<(u64, u32)>,
    turn: usize,
}

/// Number of a line in the memory, or in the channel that holds it, where it has this address.
fn number(map: &AddressMap, line: u64, local: u64) -> u64 {
    if map.is_hashed() { line / LINE_BYTES } else { local / LINE_BYTES }
}

impl Server {
    /// Gives the contents of words in its channel to the report of a run that hangs.
    fn recall(&self, sim: &Context<DramStats>) {
        let (map, backing, served) = (self.map.clone(), Rc::clone(&self.backing), Rc::clone(&self.served));
        sim.recall(move |address| {
            let line = line_of(address);
            let own = served.get().is_some_and(|served| map.channel(served) == map.channel(line));
            let values =
                own.then(|| backing.borrow().read(number(&map, line, map.within_channel(line)), line))?;
            Some(Recall { level: 0, contents: word_of(&values, address) })
        });
    }

    /// Takes an access: its values now, its time later.
    fn accept(
        &mut self,
        client: usize,
        request: MemRequest,
        track: &BusyTrack,
        sim: &Context<DramStats>,
    ) -> Result<(), Fault> {
        let (cycle, stats) = (sim.cycle(), &sim.stats);
        let local = self.map.within_channel(request.line);
        let line = number(&self.map, request.line, local);
        self.served.set(Some(request.line));
        if !self.backing.borrow().holds(line) {
            return Err(Fault::new(format!("address {:#x} lies beyond the memory", request.line)));
        }
        let (mask, write, result) = match request.access {
            MemAccess::Read(mask) => {
                (mask, false, MemResult::Line(mask, self.backing.borrow().read(line, request.line).into()))
            }
            MemAccess::Write(mask, data) => {
                self.backing.borrow_mut().write(line, request.line, mask, &data);
                (mask, true, MemResult::Written(sectors(mask) as u8))
            }
            MemAccess::Atomic(_) => return Err(Fault::new("atomics are executed in front of the DRAM")),
        };
        let parts = parts(mask, self.timing.access);
        let (label, counts) = (request.label, stats.by_label.of(request.label));
        let count = if write { &counts.writes } else { &counts.reads };
        count.add(parts);
        counts.n_req.add(1);
        counts.bytes.add(u64::from(mask.count_ones()));
        stats.queue_length.record(self.queued);
        if self.channel.is_empty() {
            stats.n_activity.begin(sim.clock(), cycle);
            track.begin(sim.now());
        }
        track.count(if write { [0, parts] } else { [parts, 0] });
        let DramAddress { bank, row, .. } = self.layout.place(local);
        let columns = self.timing.columns(parts, write);
        sim.trace(|| {
            let what = if write { "write" } else { "read" };
            format!("queues a {what} of {:#x} for bank {bank} row {row:#x}", request.line)
        });
        let places = if write { 1 } else { parts };
        self.queued += places;
        let reply = MemReply {
            line: request.line,
            tag: request.tag,
            client: request.client,
            result,
            far: parts as u8,
        };
        let payload = self.under_way.insert(Access { client, places, reply });
        self.channel.push(cycle, Request { bank, row, write, columns, label, payload });
        Ok(())
    }

    /// Issues what can be issued. Gives the next cycle in which something may be allowed.
    fn step(&mut self, track: &BusyTrack, sim: &Context<DramStats>) -> u64 {
        let (cycle, stats) = (sim.cycle(), &sim.stats);
        if self.channel.is_empty() {
            return u64::MAX;
        }
        let step = self.channel.step(cycle, self.replies.len() < self.return_queue);
        stats.n_ref.add(step.refreshes);
        stats.rows_closed.add(step.closed);
        if step.refreshes > 0 {
            sim.debug(|| format!("{} refreshes", step.refreshes));
        }
        let count = |issued: &Issued| {
            stats.by_label.of(issued.label).count(issued, &self.timing);
            sim.trace(|| {
                let command = format!("{:?}", issued.command).to_lowercase();
                format!("{command} bank {} row {:#x}", issued.bank, issued.row)
            });
        };
        step.column.iter().for_each(count);
        step.row.iter().for_each(count);
        if let Some(finished) = step.finished {
            stats.mrq_latency.record(cycle - finished.since);
            self.queued -= self.under_way.get(finished.payload).places;
            self.replies.push_back((finished.end + self.latency, finished.payload));
            if self.channel.is_empty() {
                stats.n_activity.end(cycle + 1);
                track.end(sim.cycles_from_now(1));
            }
        }
        step.next
    }
}

/// Number of parts of `size` bytes of a line with some of these bytes; an access of none touches one.
fn parts(mask: ByteMask, size: u64) -> u64 {
    if mask == ByteMask::MAX {
        return LINE_BYTES / size;
    }
    let part = ByteMask::MAX >> (LINE_BYTES - size);
    let touched = (0..LINE_BYTES).step_by(size as usize).filter(|&start| mask >> start & part != 0);
    (touched.count() as u64).max(1)
}

impl DramController {
    /// Builds what runs.
    fn start(&self, sim: &Context<DramStats>) -> Result<Server, Fault> {
        let DramController { params, timing, map, layout, refresh } = self;
        let channels = u64::from(params.map.slices / params.map.slices_per_channel.max(1));
        let reach = if map.is_hashed() { channels } else { 1 };
        let policies = Policies {
            scheduler: params.scheduler.build(sim)?,
            rows: params.row_policy.build(sim)?,
            refresh: refresh.clone(),
        };
        Ok(Server {
            timing: *timing,
            map: map.clone(),
            layout: layout.clone(),
            backing: Rc::new(RefCell::new(Backing::new(params.capacity.get() * reach))),
            served: Rc::default(),
            channel: Channel::new(*timing, policies),
            under_way: Table::default(),
            queued: 0,
            depth: params.queue.into(),
            return_queue: params.return_queue as usize,
            latency: params.latency.get(),
            replies: VecDeque::new(),
            turn: 0,
        })
    }
}

impl Component for DramController {
    const KIND: &'static str = "memory/dram-controller";
    const DOC: &'static str =
        "A DRAM channel with its controller: banks, rows, a scheduler, refresh, and the bytes themselves.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 35;
    const ROLE: &'static str = roles::DRAM;
    type Params = DramParams;
    type Ports = DramPorts;
    type Stats = DramStats;

    fn new(params: DramParams) -> Result<Self, Invalid> {
        let timing = Timing::new(&params.timing)?;
        let map = AddressMap::new(&params.map)?;
        let layout = Layout::new(&timing, params.map.dram.0)?;
        let refresh = match &params.refresh {
            Some(policy) => policy.build().plan(&timing)?,
            None if timing.tREFI > 0 => AllBank.plan(&timing)?,
            None => None,
        };
        Ok(DramController { params, timing, map, layout, refresh })
    }

    async fn run(&mut self, io: &mut DramPorts, sim: &Context<DramStats>) -> Result<(), Fault> {
        sim.set_acts(false);
        let mut server = self.start(sim)?;
        server.recall(sim);
        let clients = io.clients.len();
        let track = sim.busy_track("channel", &["reads", "writes"]);
        if let Some(preloaded) = sim.resource::<Preloaded>() {
            server.backing.borrow_mut().begin_with(preloaded, sim.path());
        }
        sim.stats.by_label.begin(sim.resource(), sim.path());
        sim.stats.peak_bandwidth.set(server.timing.peak(sim.clock().frequency()));
        let asking = Watch::new(io.clients.iter().map(|client| &client.rx));
        loop {
            let cycle = sim.cycle();
            if asking.arrived(sim).any(|_| true) {
                for client in (server.turn..clients).chain(0..server.turn) {
                    if server.queued < server.depth
                        && let Some(request) = io.clients[client].rx.try_recv()
                    {
                        server.accept(client, request, &track, sim)?;
                    }
                }
            }
            server.turn = if server.turn + 1 < clients { server.turn + 1 } else { 0 };
            let held = server.replies.len() >= server.return_queue;
            let mut next = server.step(&track, sim);
            let mut blocked = None;
            while let Some(&(ready, number)) = server.replies.front() {
                let client = server.under_way.get(number).client;
                let Some(permit) = io.clients[client].tx.try_reserve() else {
                    blocked = Some(client);
                    break;
                };
                let wait = if ready > cycle { sim.span(ready - cycle) } else { SimTime::ZERO };
                server.replies.pop_front();
                permit.send_after(wait, server.under_way.take(number).reply);
            }
            if held && server.replies.len() < server.return_queue && !server.channel.is_empty() {
                next = cycle + 1;
            }
            let deadline = if next == u64::MAX { SimTime::MAX } else { sim.cycles_from_now(next - cycle) };
            sim.set_busy(!server.channel.is_empty() || !server.replies.is_empty());
            let room = server.queued < server.depth;
            let credit = blocked.and_then(|client: usize| io.clients[client].tx.when(true));
            sim.wait(deadline, [asking.when(room), credit]).await;
        }
    }
}
