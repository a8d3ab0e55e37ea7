//! The interface of a policy: its decisions and its view of the SMs.

use std::ops::Range;

use super::occupancy;
use super::running::{Running, Sm};
use counterpoint_framework::kernel::Source;
use counterpoint_protocols::extra::Note;
use counterpoint_protocols::launch::{CtaCounts, Launch, LaunchId, Preemption};

/// Decides which thread block goes where.
pub trait CtaPolicy {
    /// Begins with this number of SMs; called once, before all other methods.
    ///
    /// # Errors
    /// A sentence with the reason for which the policy cannot work with this number.
    fn begin(&mut self, _sms: usize) -> Result<(), String> {
        Ok(())
    }

    /// A launch has arrived.
    ///
    /// # Errors
    /// A sentence with the reason for which the policy cannot work with the launch.
    fn arrived(&mut self, _launch: &Launch) -> Result<(), String> {
        Ok(())
    }

    /// A note of an extension from the host.
    fn noted(&mut self, _note: &Note) {}

    /// The SMs that may hold blocks of a launch, a contiguous range of all `sms`: the launch begins. `None` if the launch has to
    /// wait; the method is then called again later.
    ///
    /// # Errors
    /// A sentence with the reason for which the launch can never begin.
    fn share(&mut self, _launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        Ok(Some(0..sms))
    }

    /// Notes that all blocks of a launch have ended, `cycles` after its first was placed.
    fn ended(&mut self, _launch: &Launch, _cycles: u64) {}

    /// Communicates through ports of the policy, if it has any: in each step of the scheduler, before blocks are placed.
    /// Returns whether a launch that waits may begin now; in this case the scheduler begins launches, and then calls this
    /// method again.
    ///
    /// # Errors
    /// A sentence with the reason for which the policy cannot continue.
    fn speak(&mut self) -> Result<bool, String> {
        Ok(false)
    }

    /// Inputs of its ports that wake the scheduler.
    fn awaits(&self) -> Vec<Option<&dyn Source>> {
        Vec::new()
    }

    /// Cycles after which every SM reports what each launch has done on it ([`sampled`](CtaPolicy::sampled)); asked once, after `begin`.
    fn samples_every(&self) -> Option<u64> {
        None
    }

    /// An SM reports a sample: the counts of a launch's blocks since the last one, without `warp_cycles` and `warp_slots`.
    fn sampled(&mut self, _sm: usize, _launch: LaunchId, _counts: &CtaCounts) {}

    /// The next block to take off its SM, if any should be now ([`Sm::blocks`]). Called until it gives nothing, before `place`. A block that
    /// has left waits among those of its launch, and is the next to be placed. The SM goes on with a block that it has to keep
    /// ([`kept`](CtaPolicy::kept)). To drain an SM, a policy places nothing there.
    fn preempt(&mut self, _view: &View<'_>) -> Option<Departure> {
        None
    }

    /// A block stays on its SM: its local memory is not saved, or it was to be flushed and has written to global memory.
    fn kept(&mut self, _sm: usize, _launch: LaunchId, _block: u32) {}

    /// The next block to place, if any can and should be placed now. Called until it gives nothing; every placement is
    /// in effect when it is called again. A block that does not fit ([`View::fits`]) ends the run with a fault.
    fn place(&mut self, view: &View<'_>) -> Option<Placement>;
}

/// The next block of a launch goes to an SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Index among the launches in view.
    pub launch: usize,
    /// Index of the SM.
    pub sm: usize,
}

/// A block is to leave its SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Index of the SM.
    pub sm: usize,
    /// Index among the blocks of the SM ([`Sm::blocks`]).
    pub block: usize,
    /// Whether its state is saved.
    pub how: Preemption,
}

/// View of a policy.
#[non_exhaustive]
pub struct View<'a> {
    /// The launches that run, oldest first.
    pub launches: &'a [Running],
    /// The SMs.
    pub sms: &'a [Sm],
}

impl View<'_> {
    /// Whether an SM can take a block of the launch in this cycle: the block fits, and the SM is below its limit of blocks of the
    /// launch.
    pub fn fits(&self, launch: usize, sm: usize) -> bool {
        self.sms[sm].ready && self.has_room(launch, sm)
    }

    /// Number of blocks of the launch that an otherwise empty SM holds: the limit by its resources, at most
    /// [`Running::most_per_sm`], and 0 on an SM outside the launch's share.
    pub fn capacity(&self, launch: usize, sm: usize) -> u32 {
        let running = &self.launches[launch];
        let holds = occupancy::blocks(&self.sms[sm].total, &running.demand).min(running.most_per_sm);
        if running.share.contains(&sm) { holds } else { 0 }
    }

    /// The reason why a block does not fit where a policy places it, with the amounts needed and left. `None`: it fits.
    #[inline]
    pub(super) fn refusal(&self, placement: Placement) -> Option<String> {
        let Placement { launch, sm } = placement;
        let is_sound = launch < self.launches.len()
            && sm < self.sms.len()
            && self.launches[launch].waiting() > 0
            && self.fits(launch, sm);
        if is_sound { None } else { Some(self.reason(placement)) }
    }

    #[cold]
    fn reason(&self, Placement { launch, sm }: Placement) -> String {
        let Some(running) = self.launches.get(launch) else {
            return format!(
                "places a block of launch {launch} in view, where there are {}",
                self.launches.len()
            );
        };
        let name = running.launch.name();
        let Some(place) = self.sms.get(sm) else {
            return format!("places a block of {name} on SM {sm}, and there are {} SMs", self.sms.len());
        };
        if running.waiting() == 0 {
            return format!("places a block of {name}, all of whose {} are placed", running.placed);
        }
        let share = &running.share;
        let lacks = occupancy::missing(&place.free, &running.demand);
        let reason = if !lacks.is_empty() {
            format!("where it has no room: {}", lacks.join(", "))
        } else if !share.contains(&sm) {
            format!("which is not of its share, SMs {} to {}", share.start, share.end.saturating_sub(1))
        } else if place.blocks_of(running.launch.id) >= running.most_per_sm {
            format!("which holds the {} blocks of it that it may have at a time", running.most_per_sm)
        } else {
            "which cannot take a block in this cycle: it takes one a cycle".to_owned()
        };
        format!("places block {} of {name} on SM {sm}, {reason}", running.placed)
    }

    fn has_room(&self, launch: usize, sm: usize) -> bool {
        let (place, running) = (&self.sms[sm], &self.launches[launch]);
        running.share.contains(&sm)
            && place.blocks_of(running.launch.id) < running.most_per_sm
            && place.has_room(&running.demand)
    }

    /// Whether an SM can take another block of the launch, in this cycle or a later one.
    pub fn can_hold(&self, launch: usize, sm: usize) -> bool {
        self.launches[launch].waiting() > 0 && self.has_room(launch, sm)
    }

    /// Whether an SM holds nothing, or blocks of this launch alone.
    pub fn is_free_for(&self, launch: usize, sm: usize) -> bool {
        let id = self.launches[launch].launch.id;
        self.sms[sm].resident.keys().all(|serves| *serves == id)
    }
}

/// Round-robin order in which SMs are tried.
#[derive(Clone, Debug)]
pub struct Turn {
    sms: Range<usize>,
    first: usize,
}

impl Turn {
    /// Turns among these SMs, beginning with one of them.
    pub fn new(sms: Range<usize>, first: usize) -> Self {
        Turn { sms, first }
    }

    /// Calls `ask` for each SM once until one returns a value; the next turn begins behind that SM.
    pub fn find<T>(&mut self, mut ask: impl FnMut(usize) -> Option<T>) -> Option<T> {
        let (from, to) = (self.first..self.sms.end, self.sms.start..self.first);
        let (sm, found) = from.chain(to).find_map(|sm| ask(sm).map(|found| (sm, found)))?;
        self.first = if sm + 1 == self.sms.end { self.sms.start } else { sm + 1 };
        Some(found)
    }
}

/// Shares of this many SMs each, side by side.
///
/// # Errors
/// If a share has none, or there is no share.
pub fn neighbours(sms: &[u32]) -> Result<Vec<Range<usize>>, String> {
    if sms.is_empty() || sms.contains(&0) {
        return Err("every share needs an SM, and there must be a share".to_owned());
    }
    let ends = sms.iter().scan(0, |end, &sms| {
        let start = *end;
        *end += sms as usize;
        Some(start..*end)
    });
    Ok(ends.collect())
}

/// Whether shares fit a GPU of this many SMs.
///
/// # Errors
/// A sentence that names the policy, if they do not.
pub fn check(shares: &[Range<usize>], policy: &str, sms: usize) -> Result<(), String> {
    match shares.last() {
        Some(last) if last.end > sms => {
            Err(format!("the shares of `{policy}` have {} SMs, the GPU has {sms}", last.end))
        }
        _ => Ok(()),
    }
}
