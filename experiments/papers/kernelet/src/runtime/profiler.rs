//! The profile of a kernel, from a few of its blocks that run alone: counts that the device gives with the end of a launch, and
//! times on the host's clock.
//!
//! Two launches of different length are compared, so that neither the way to the device nor the beginning and the end of a launch
//! counts.

use counterpoint::component::Params;
use counterpoint::host::Driver;
use counterpoint::kernel::Fault;
use counterpoint::messages::extra::{Extra, LineTag};
use counterpoint::messages::launch::{Counted, CtaCounts};
use counterpoint::ptx::slice::Slice;
use counterpoint::telemetry::{Level, SpanId};
use counterpoint::time::SimTime;

use super::flight::Flight;
use super::gpu::Gpu;
use super::program::Program;
use crate::schedule::Profile;
use crate::schedule::cut::{Cut, Lanes};
use crate::schedule::slices::{most, overhead, sizes};

/// How kernels are profiled.
#[derive(Clone, Debug, Params)]
pub(super) struct ProfilerParams {
    /// Blocks of a profile, in those that all SMs hold at a time.
    #[param(default = "3", min = "1", max = "1000")]
    waves: u32,
    /// The cost of slices at most, in the time of the kernel as a whole: the smallest slice that costs no
    /// more is searched for. With 0 it is not, and a slice has a block for each SM at least.
    #[param(default = "0.02", min = "0", max = "10")]
    overhead: f64,
    /// Blocks with which that cost is measured, in those that all SMs hold at a time.
    #[param(default = "12", min = "2", max = "1000")]
    sliced_waves: u32,
}

/// A launch on which nothing else runs.
struct Measured {
    counts: CtaCounts,
    time: SimTime,
}

pub(super) struct Profiler<'p, 'd, 'a> {
    pub(super) params: &'p ProfilerParams,
    pub(super) driver: &'d mut Driver<'a>,
    pub(super) gpu: &'p Gpu,
    /// The launches in flight of a queue: smallest slices are measured as they are run.
    pub(super) lanes: Lanes,
    /// Parent span of the launches.
    pub(super) parent: SpanId,
}

/// The first stream of profiles: those below are the kernels' own.
const STREAMS: u32 = 1 << 16;

impl Profiler<'_, '_, '_> {
    pub(super) async fn profile(&mut self, program: &Program) -> Result<Profile, Fault> {
        let title = format!("profile {}", program.name);
        let span = self.driver.begin(Some(self.parent), Level::Phases, title);
        let (demand, machine) = (self.gpu.demand(program), self.gpu.machine);
        let wave = u64::from(most(&machine.offer, &demand) * machine.sms);
        let all = program.blocks();
        let (few, many) = (wave.min(all), (wave * u64::from(self.params.waves)).min(all));
        let short = self.alone(program, Slice { first: 0, blocks: few as u32 }, span).await?;
        let first = few.min(all - many);
        let long = self.alone(program, Slice { first, blocks: many as u32 }, span).await?;
        let per_block = |of: fn(&CtaCounts) -> u64| of(&long.counts) as f64 / many as f64;
        let instructions = per_block(|counts| counts.warp_insn);
        // The longer launch's excess; a grid of one wave has no more than that.
        let (further, time) = match many - few {
            0 => (many, long.time),
            further => (further, long.time.saturating_sub(short.time)),
        };
        let cycles = (time.as_ps().max(1) as f64) * 1e-12 * self.gpu.clock;
        let further = further as f64;
        let part = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let CtaCounts { warp_insn, global_insn, uncoalesced_insn, .. } = long.counts;
        let mut profile = Profile {
            instructions_per_block: instructions,
            memory_fraction: part(global_insn, warp_insn),
            uncoalesced_fraction: part(uncoalesced_insn, global_insn),
            warps_per_block: self.gpu.warps(program),
            resources: demand,
            pur: machine.pur(instructions * further, cycles),
            mur: machine.mur(per_block(|counts| counts.memory_bytes) / self.gpu.request * further, cycles),
            minimum_slice: 0,
        };
        if self.params.overhead > 0.0 {
            let long = (wave * u64::from(self.params.sliced_waves)).min(all);
            // Of whole waves, where there are some.
            let short = if long >= 2 * wave { long / 2 / wave * wave } else { 0 };
            profile.minimum_slice = self.minimum(program, [long as u32, short as u32], span).await?;
        }
        self.driver.end(span);
        Ok(profile)
    }

    /// Runs blocks as one launch.
    async fn alone(&mut self, program: &Program, slice: Slice, span: SpanId) -> Result<Measured, Fault> {
        let since = self.driver.now();
        let counted = Extra::new(Counted, LineTag::NONE);
        let launch = program.launch(slice);
        let command = self.driver.launch_with(&launch, STREAMS, counted, Some(span)).await?;
        self.driver.wait(command).await?;
        let counts = self.driver.take_counts(command);
        let counts = counts.ok_or_else(|| Fault::new("the device ends launches without their counts"))?;
        Ok(Measured { counts, time: self.driver.now() - since })
    }

    /// The smallest slice that costs no more than it may, by the time that blocks take beyond a shorter run's; if all cost more, the one that costs
    /// least. Larger slices may cost more than smaller ones: fewer of them are in flight.
    async fn minimum(&mut self, program: &Program, blocks: [u32; 2], span: SpanId) -> Result<u32, Fault> {
        let machine = self.gpu.machine;
        let most = most(&machine.offer, &self.gpu.demand(program)).max(1);
        let beyond = |[long, short]: [SimTime; 2]| long.saturating_sub(short).as_ps().max(1) as f64;
        let mut times = [SimTime::ZERO; 2];
        for (time, blocks) in times.iter_mut().zip(blocks).filter(|(_, blocks)| *blocks > 0) {
            *time = self.alone(program, Slice { first: 0, blocks }, span).await?.time;
        }
        let unsliced = beyond(times);
        let mut best: Option<(f64, u32)> = None;
        for size in sizes(machine.sms, most) {
            let cut = self.lanes.cut(most * machine.sms, size, machine.sms);
            for (time, blocks) in times.iter_mut().zip(blocks).filter(|(_, blocks)| *blocks > 0) {
                *time = self.sliced(program, Slice { first: 0, blocks }, cut, span).await?;
            }
            let cost = overhead(beyond(times), unsliced);
            if cost <= self.params.overhead {
                return Ok(size);
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, size));
            }
        }
        Ok(best.map_or(machine.sms, |(_, size)| size))
    }

    /// The time of blocks in slices, sent as those of a queue are.
    async fn sliced(
        &mut self,
        program: &Program,
        blocks: Slice,
        cut: Cut,
        span: SpanId,
    ) -> Result<SimTime, Fault> {
        let since = self.driver.now();
        let mut flight = Flight::default();
        let mut sent = 0;
        while sent < blocks.blocks {
            let Some(lane) = flight.lane(cut, |command| self.driver.is_under_way(command)) else {
                self.driver.event_until(SimTime::MAX).await?;
                continue;
            };
            let size = (cut.slice as u32).min(blocks.blocks - sent);
            let slice = Slice { first: blocks.first + u64::from(sent), blocks: size };
            let command = self.driver.launch(&program.launch(slice), STREAMS + lane, Some(span)).await?;
            flight.sent(lane, command, size.into());
            sent += size;
        }
        self.driver.drain().await?;
        Ok(self.driver.now() - since)
    }
}
