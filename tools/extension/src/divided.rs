//! Two kernels divide the SMs as samples say: how fast each is with so many of its blocks on an SM.
//!
//! At first half of the SMs have blocks of the one kernel alone, and half of the other, on each SM another number. When every SM has
//! reported a sample, all SMs get the division with the largest sum of speeds, each in parts of its kernel's best.

use std::collections::BTreeMap;

use counterpoint::component::{Params, Variant};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, Turn, View};
use counterpoint::messages::launch::{CtaCounts, Launch, LaunchId};

/// Parameters of `divided`.
#[derive(Clone, Debug, Params)]
pub struct DividedParams {
    /// Cycles of a sample.
    #[param(default = "2000", min = "100")]
    sample: u64,
}

/// The policy `divided`.
pub struct Divided {
    sample: u64,
    turn: Turn,
    /// Instructions of each launch in its second sample on an SM: the first has the beginning of its blocks.
    samples: BTreeMap<(LaunchId, usize), (u32, u64)>,
    /// Blocks of the two oldest launches on an SM, as decided.
    decided: Option<[u32; 2]>,
}

impl Variant<dyn CtaPolicy> for Divided {
    const NAME: &'static str = "divided";
    const DOC: &'static str = "Two kernels on every SM, in the division that samples show to be the best.";
    type Params = DividedParams;

    fn build(params: &DividedParams) -> Result<Box<dyn CtaPolicy>, String> {
        let (sample, turn) = (params.sample, Turn::new(0..0, 0));
        Ok(Box::new(Divided { sample, turn, samples: BTreeMap::new(), decided: None }))
    }
}

impl Divided {
    /// Blocks of a launch that an SM may have.
    fn quota(&self, view: &View<'_>, launch: usize, sm: usize) -> u32 {
        let most = view.capacity(launch, sm);
        if view.launches.len() < 2 || launch > 1 || most == 0 {
            return most;
        }
        match self.decided {
            Some(blocks) => blocks[launch],
            None if sm % 2 == launch => 1 + sm as u32 / 2 % most,
            None => 0,
        }
    }

    /// Speeds of a launch by its blocks on an SM, if every SM that has blocks of it has reported.
    fn speeds(&self, view: &View<'_>, launch: usize) -> Option<BTreeMap<u32, u64>> {
        let id = view.launches[launch].launch.id;
        let mut speeds = BTreeMap::new();
        for sm in (launch..view.sms.len()).step_by(2) {
            let &(times, instructions) = self.samples.get(&(id, sm)).filter(|(times, _)| *times > 1)?;
            speeds.insert(self.quota(view, launch, sm), instructions / u64::from(times - 1));
        }
        Some(speeds)
    }

    /// Decides, when both launches have been sampled.
    fn decide(&mut self, view: &View<'_>) {
        let [Some(first), Some(second)] = [0, 1].map(|launch| self.speeds(view, launch)) else { return };
        let best = |speeds: &BTreeMap<u32, u64>| speeds.values().copied().max().unwrap_or(1).max(1) as f64;
        let (most, demands) = (&view.sms[0].total, [0, 1].map(|launch| view.launches[launch].demand));
        let fits = |a: u32, b: u32| {
            let sum = |of: fn(&counterpoint::messages::launch::SmResources) -> u32| of(&demands[0]) * a + of(&demands[1]) * b;
            sum(|it| it.threads) <= most.threads
                && a + b <= most.ctas
                && sum(|it| it.registers) <= most.registers
                && sum(|it| it.shared) <= most.shared
        };
        let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (a, b)));
        let together = pairs.filter(|((a, _), (b, _))| fits(**a, **b));
        let gain = |((_, a), (_, b)): &((&u32, &u64), (&u32, &u64))| **a as f64 / best(&first) + **b as f64 / best(&second);
        let chosen = together.max_by(|one, other| gain(one).total_cmp(&gain(other)));
        self.decided = chosen.map(|((a, _), (b, _))| [*a, *b]);
    }
}

impl CtaPolicy for Divided {
    fn begin(&mut self, sms: usize) -> Result<(), String> {
        self.turn = Turn::new(0..sms, 0);
        Ok(())
    }

    fn samples_every(&self) -> Option<u64> {
        Some(self.sample)
    }

    fn sampled(&mut self, sm: usize, launch: LaunchId, counts: &CtaCounts) {
        let (times, instructions) = self.samples.entry((launch, sm)).or_default();
        *instructions += if *times > 0 { counts.warp_insn } else { 0 };
        *times += 1;
    }

    fn ended(&mut self, _launch: &Launch, _cycles: u64) {
        (self.decided, self.samples) = (None, BTreeMap::new());
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        if self.decided.is_none() && view.launches.len() > 1 {
            self.decide(view);
        }
        let (mut turn, launches) = (self.turn.clone(), 0..view.launches.len());
        let place = |launch: usize, sm: usize| {
            let has = view.sms[sm].blocks_of(view.launches[launch].launch.id);
            let may = view.launches[launch].waiting() > 0 && has < self.quota(view, launch, sm);
            (may && view.fits(launch, sm)).then_some(Placement { launch, sm })
        };
        let found = turn.find(|sm| launches.clone().find_map(|launch| place(launch, sm)));
        self.turn = turn;
        found
    }
}
