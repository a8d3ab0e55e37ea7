//! The policies `spatial` and `interleaved`: the tables, fed with the CTA scheduler's events.

pub mod tables;

use std::ops::Range;
use std::rc::Rc;

use counterpoint::component::{Counter, Equipped, Params, Registry, Site, Stats};
use counterpoint::gpu::cta_scheduler::{CtaPolicy, Placement, View};
use counterpoint::kernel::Fault;
use counterpoint::messages::launch::{Launch, LaunchId, SmResources};

use tables::{Mapping, Tables};

pub(crate) fn register(registry: &mut Registry) {
    registry.equipped::<dyn CtaPolicy, Spatial>().equipped::<dyn CtaPolicy, Interleaved>();
}

/// The size of the kernel status block.
#[derive(Clone, Debug, Params)]
pub(crate) struct MappedParams {
    /// Kernels that run at a time at most: rows of the kernel status block. A launch beyond them fails, and ends the run.
    #[param(default = "8", min = "1", max = "1024")]
    slots: u32,
    /// Where fewer kernels run, a kernel has no more of an SM's blocks than it would among this many, rounded up: with 2, one that runs
    /// alone has half of them (Fig. 6).
    #[param(default = "1", min = "1", max = "32")]
    among: u32,
}

/// Statistics of the policies.
#[derive(Default, Stats)]
pub(crate) struct MappingStats {
    /// Mappings computed: one whenever a kernel comes or ends and another one runs.
    #[stat(unit = "mappings")]
    mappings: Counter,
    /// Mappings in which cores have several kernels: all of them passed the occupancy test.
    #[stat(unit = "mappings")]
    interleaved: Counter,
    /// Mappings of several kernels with cores of their own.
    #[stat(unit = "mappings")]
    apart: Counter,
}

/// The policy `spatial`.
pub(crate) struct Spatial;

impl Equipped<dyn CtaPolicy> for Spatial {
    const NAME: &'static str = "spatial";
    const DOC: &'static str =
        "Kernels in turn have SMs of their own; an SM that gets another kernel ends its blocks first.";
    type Params = MappedParams;
    type Ports = ();
    type Stats = MappingStats;

    fn build(params: &MappedParams, site: Site<'_, (), MappingStats>) -> Result<Box<dyn CtaPolicy>, Fault> {
        Ok(Mapped::boxed(Mapping::Spatial, params, site))
    }
}

/// The policy `interleaved`.
pub(crate) struct Interleaved;

impl Equipped<dyn CtaPolicy> for Interleaved {
    const NAME: &'static str = "interleaved";
    const DOC: &'static str = "All kernels on all SMs, each with its part of the blocks, if none has fewer over the GPU than with SMs of \
                               its own; else as `spatial`.";
    type Params = MappedParams;
    type Ports = ();
    type Stats = MappingStats;

    fn build(params: &MappedParams, site: Site<'_, (), MappingStats>) -> Result<Box<dyn CtaPolicy>, Fault> {
        Ok(Mapped::boxed(Mapping::Interleaved, params, site))
    }
}

/// A policy with the tables.
struct Mapped {
    mapping: Mapping,
    slots: usize,
    among: u32,
    /// Made when the SMs are known.
    tables: Option<Tables>,
    admitted: Vec<LaunchId>,
    stats: Rc<MappingStats>,
}

impl Mapped {
    fn boxed(
        mapping: Mapping,
        params: &MappedParams,
        site: Site<'_, (), MappingStats>,
    ) -> Box<dyn CtaPolicy> {
        let (slots, among) = (params.slots as usize, params.among);
        Box::new(Mapped { mapping, slots, among, tables: None, admitted: Vec::new(), stats: site.stats })
    }

    fn count(&self) {
        let Some(tables) = &self.tables else { return };
        if self.admitted.is_empty() {
            return;
        }
        self.stats.mappings.add(1);
        let several = self.admitted.len() > 1;
        self.stats.interleaved.add(u64::from(tables.interleaves()));
        self.stats.apart.add(u64::from(several && !tables.interleaves()));
    }
}

impl CtaPolicy for Mapped {
    fn share(&mut self, launch: &Launch, sms: usize) -> Result<Option<Range<usize>>, String> {
        if self.admitted.len() == self.slots {
            return Err(format!(
                "the launch of {} fails: all {} slots of the kernel status block are taken",
                launch.kernel.name(),
                self.slots
            ));
        }
        self.admitted.push(launch.id);
        Ok(Some(0..sms))
    }

    fn ended(&mut self, launch: &Launch, _cycles: u64) {
        self.admitted.retain(|id| *id != launch.id);
        if let Some(tables) = &mut self.tables
            && let Some(slot) = tables.slot_of(launch.id.0)
        {
            tables.complete(slot);
            self.count();
        }
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let offers = || view.sms.iter().map(|sm| sm.total).collect::<Vec<SmResources>>();
        let (mapping, slots, among) = (self.mapping, self.slots, self.among);
        let tables = self.tables.get_or_insert_with(|| Tables::new(mapping, slots, &offers()).among(among));
        let mut came = 0;
        for running in view.launches {
            let (id, grid) = (running.launch.id.0, running.launch.grid);
            if tables.slot_of(id).is_none() && tables.launch(id, grid, running.demand).is_ok() {
                came += 1;
            }
        }
        let slots: Vec<Option<usize>> =
            view.launches.iter().map(|running| tables.slot_of(running.launch.id.0)).collect();
        for (running, slot) in view.launches.iter().zip(&slots) {
            let Some(slot) = *slot else { continue };
            for (core, sm) in view.sms.iter().enumerate() {
                tables.observe(core, slot, sm.blocks_of(running.launch.id));
            }
        }
        let launch_of = |slot: usize| slots.iter().position(|known| *known == Some(slot));
        let can = |core: usize, slot: usize| {
            launch_of(slot)
                .is_some_and(|launch| view.launches[launch].waiting() > 0 && view.fits(launch, core))
        };
        let next = tables.next(can);
        let placement = next.and_then(|(sm, slot)| Some(Placement { launch: launch_of(slot)?, sm }));
        (0..came).for_each(|_| self.count());
        placement
    }
}
