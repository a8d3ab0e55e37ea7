//! The dynamic kernel allocator: gives the CTA scheduler the number of SMs of each of two kernels (Mu et al.,
//! IEICE 2013, Fig. 8).
//!
//! The allocator has a table for each pair of neighbouring kernels of a task pipeline. The scheduler names the table and
//! reports the last times of the pair; the allocator updates the table, and answers with the split that the table decides.

mod arithmetic;
mod table;

use std::collections::BTreeMap;

use counterpoint::component::{
    Choice, Component, Context, Counter, Distribution, Invalid, Keyed, Params, Ports, Stats,
};
use counterpoint::kernel::{Fault, Source};
use counterpoint::time::{Cycles, SimTime};
use half::f16;

use crate::pipeline::{AllocatorServer, Allotted, Measured, Round};

pub use arithmetic::Real;
pub use table::Table;

/// The allocator's number format.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    /// 16 bits (section 3.3).
    Half,
    /// 64 bits, for comparison.
    Double,
}

/// How large and how fast the allocator is.
#[derive(Clone, Debug, Params)]
pub struct AllocatorParams {
    /// Tables: pairs of kernels, which are as many as a pipeline has kernels (section 3.3).
    #[param(default = "8", min = "1")]
    tables: u32,
    /// The number format.
    #[param(default = "half")]
    arithmetic: Arithmetic,
    /// From a question to its answer. The paper neglects it.
    #[param(default = "0 cycles")]
    latency: Cycles,
}

/// The ports of a kernel allocator.
#[derive(Ports)]
pub struct AllocatorPorts {
    /// The CTA scheduler.
    scheduler: AllocatorServer,
}

/// Statistics of a kernel allocator.
#[derive(Default, Stats)]
pub struct AllocatorStats {
    /// Questions: pairs that were about to run.
    #[stat(unit = "rounds")]
    rounds: Counter,
    /// Decisions, until each pair had converged.
    #[stat(unit = "decisions")]
    decisions: Counter,
    /// Pairs that have converged.
    converged: Counter,
    /// Statistics of each pair, by the number of its first kernel, from 0.
    pairs: Keyed<u32, PairStats>,
}

/// Statistics of a pair.
#[derive(Default, Stats)]
struct PairStats {
    /// Questions.
    #[stat(unit = "rounds")]
    rounds: Counter,
    /// Decisions until it had converged: until one was the same as the one before.
    #[stat(unit = "decisions")]
    decisions: Counter,
    /// Whether it has converged.
    converged: Counter,
    /// SMs of the first kernel, each time that it ran.
    #[stat(unit = "SMs")]
    sms: Distribution,
}

/// The kernel allocator.
pub struct Allocator {
    params: AllocatorParams,
    tables: Tables,
}

/// Tables by the first kernel of the pair.
enum Tables {
    Half(BTreeMap<u32, Table<f16>>),
    Double(BTreeMap<u32, Table<f64>>),
}

/// The decision of a round.
struct Decided {
    sms: u32,
    decisions: u32,
    has_converged: bool,
}

/// Brings a table up to date and decides.
fn decide<R: Real>(tables: &mut BTreeMap<u32, Table<R>>, round: &Round) -> Option<Decided> {
    let table = match round.measured {
        Measured::Alone { first, second } => {
            tables.entry(round.table).insert_entry(Table::new(round.sms, first, second)).into_mut()
        }
        Measured::CoRun { sms, first, second } => {
            let table = tables.get_mut(&round.table)?;
            table.measured(sms, first, second);
            table
        }
    };
    let sms = table.decide();
    Some(Decided { sms, decisions: table.decisions(), has_converged: table.has_converged() })
}

impl Allocator {
    fn answer(&mut self, round: Round, stats: &AllocatorStats) -> Result<Allotted, Fault> {
        let Round { table, sms, .. } = round;
        if table >= self.params.tables {
            let tables = self.params.tables;
            let message = format!("the pipeline has more than {tables} kernels, and DKA has {tables} tables");
            return Err(Fault::new(format!("{message}: set `tables`")));
        }
        if sms < 2 {
            return Err(Fault::new(format!("two kernels cannot share {sms} SMs")));
        }
        let decided = match &mut self.tables {
            Tables::Half(tables) => decide(tables, &round),
            Tables::Double(tables) => decide(tables, &round),
        };
        let unknown =
            || Fault::new(format!("pair {table} ran together before its kernels were measured alone"));
        let Decided { sms, decisions, has_converged } = decided.ok_or_else(unknown)?;
        let pair = stats.pairs.of(table);
        stats.rounds.add(1);
        pair.rounds.add(1);
        let reach = |all: &Counter, own: &Counter, count: u64| {
            all.add(count - own.get());
            own.add(count - own.get());
        };
        reach(&stats.decisions, &pair.decisions, decisions.into());
        reach(&stats.converged, &pair.converged, has_converged.into());
        pair.sms.record(sms.into());
        Ok(Allotted { table, sms })
    }
}

impl Component for Allocator {
    const KIND: &'static str = "dka/allocator";
    const DOC: &'static str = "The dynamic kernel allocator: splits the SMs between two kernels of a task pipeline by \
                               how long they took.";
    const DAEMON: bool = true;
    type Params = AllocatorParams;
    type Ports = AllocatorPorts;
    type Stats = AllocatorStats;

    fn new(params: AllocatorParams) -> Result<Self, Invalid> {
        let tables = match params.arithmetic {
            Arithmetic::Half => Tables::Half(BTreeMap::new()),
            Arithmetic::Double => Tables::Double(BTreeMap::new()),
        };
        Ok(Allocator { params, tables })
    }

    async fn run(&mut self, io: &mut AllocatorPorts, sim: &Context<AllocatorStats>) -> Result<(), Fault> {
        loop {
            // The scheduler asks again only when it has its answer, so there is room for it.
            if let Some(permit) = io.scheduler.tx.try_reserve()
                && let Some(round) = io.scheduler.rx.try_recv()
            {
                let answer = self.answer(round, &sim.stats)?;
                permit.send_after(sim.span(self.params.latency.get()), answer);
            }
            sim.wait(SimTime::MAX, [io.scheduler.rx.when(true), io.scheduler.tx.when(false)]).await;
        }
    }
}
