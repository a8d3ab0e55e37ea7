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

use super::gpu::Gpu;
use super::program::Program;
use crate::schedule::Profile;
use crate::schedule::slices::{most, overhead};

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
    /// Streams over which the slices of a kernel alone are spread while that is measured.
    #[param(default = "16", min = "1", max = "64")]
    streams: u32,
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
            profile.minimum_slice = self.minimum(program, Slice { first, blocks: many as u32 }, span).await?;
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

    /// The smallest slice that costs no more than it may. The cost of slices falls with their size, so that
    /// half of the sizes that are left are ruled out at a time. If all cost more, the largest.
    async fn minimum(&mut self, program: &Program, blocks: Slice, span: SpanId) -> Result<u32, Fault> {
        let machine = self.gpu.machine;
        let unsliced = self.alone(program, blocks, span).await?.time.as_ps() as f64;
        let (mut low, mut high) = (1, most(&machine.offer, &self.gpu.demand(program)).max(1));
        while low < high {
            let middle = (low + high) / 2;
            let sliced = self.sliced(program, blocks, middle * machine.sms, span).await?.as_ps() as f64;
            if overhead(sliced, unsliced) <= self.params.overhead { high = middle } else { low = middle + 1 }
        }
        Ok(low * machine.sms)
    }

    /// The time of blocks in slices.
    async fn sliced(
        &mut self,
        program: &Program,
        blocks: Slice,
        size: u32,
        span: SpanId,
    ) -> Result<SimTime, Fault> {
        let since = self.driver.now();
        for (index, done) in (0_u32..).zip((0..blocks.blocks).step_by(size as usize)) {
            let slice =
                Slice { first: blocks.first + u64::from(done), blocks: size.min(blocks.blocks - done) };
            let stream = STREAMS + index % self.params.streams;
            self.driver.launch(&program.launch(slice), stream, Some(span)).await?;
        }
        self.driver.drain().await?;
        Ok(self.driver.now() - since)
    }
}
