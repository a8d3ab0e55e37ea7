//! One slice of the L2 cache: write-back, write-allocate with or without fetching, atomics executed here.
//!
//! A line carries the tag of the request that wrote it last. A rule ([`LineRule`]) decides which tags keep a line longer than
//! others, and which lines are written back and dropped, one a cycle beside the requests.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Component, Context, Invalid, Params, Slot, Variant};
use counterpoint_framework::time::{Bytes, Cycles};
use counterpoint_protocols::preload::Preloaded;
use counterpoint_protocols::roles;

use super::address_map::{AddressMap, AddressMapParams};
use super::atomic_unit::{AtomicParams, AtomicUnit};
use super::cache::bypass::Bypass;
use super::cache::prefetch::Prefetcher;
use super::cache::replacement::Replacement;
use super::cache::write_policy::WritePolicy;
use super::cache::{Cache, CacheParams};
use super::cache_server::{
    Atomics, CachePorts, CacheServer, Policies, Shape, WriteMiss, check, policies, serve,
};
use super::cache_stats::L2Stats;
use super::line_rule::LineRule;
use super::line_rule::none::NoRule;

/// Size and timing of one L2 slice.
#[derive(Clone, Debug, Params)]
#[params(moved(
    "labels",
    "what is done with lines by their labels is a rule for their tags, such as `tags: { labels: { keep: all } }`"
))]
pub struct L2Params {
    /// Size, shape and misses under way.
    cache: CacheParams,
    /// Bytes fetched together on a miss, a line at most.
    #[param(default = "32 B", min = "32 B", max = "256 B")]
    sector: Bytes,
    /// Treatment of a write to sectors that are not here.
    #[param(default = "validate")]
    write_miss: WriteMiss,
    /// Which line of a set makes room for another.
    #[param(default = "lru")]
    replacement: Slot<dyn Replacement>,
    /// Where writes go.
    #[param(default = "back")]
    write: Slot<dyn WritePolicy>,
    /// Which lines are fetched before anybody asks for them.
    #[param(default = "none")]
    prefetcher: Slot<dyn Prefetcher>,
    /// Which reads leave no line here.
    #[param(default = "none")]
    bypass: Slot<dyn Bypass>,
    /// Rule for the tags of lines.
    #[param(default = <NoRule as Variant<dyn LineRule>>::NAME)]
    tags: Slot<dyn LineRule>,
    /// Lines of a set that are protected at most: what comes when there are as many is like lines without a tag.
    #[param(default = "1024", min = "1")]
    protected_ways: u32,
    /// From taking a request to its reply leaving, on a hit.
    #[param(default = "34 cycles")]
    hit_latency: Cycles,
    /// Preloaded data goes through the L2 and leaves its last lines there, as copies to the device do that
    /// take no time (GPGPU-Sim). For comparisons.
    #[param(default = "off")]
    warm_on_copy: bool,
    /// How fast atomics are.
    atomics: AtomicParams,
    /// Where addresses lie.
    map: AddressMapParams,
}

/// The level of an L2 in the report of a run that hangs: DRAM is 0, caches between are 1.
const LEVEL: u8 = 2;

/// One slice of the L2 cache.
pub struct L2Slice {
    params: L2Params,
    map: AddressMap,
}

impl Component for L2Slice {
    const KIND: &'static str = "memory/l2-slice";
    const DOC: &'static str =
        "One slice of the L2 cache: write-back, write-allocate, sectored; atomics are executed here.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 60;
    const ROLE: &'static str = roles::L2;
    type Params = L2Params;
    type Ports = CachePorts;
    type Stats = L2Stats;

    fn new(params: L2Params) -> Result<Self, Invalid> {
        let map = AddressMap::new(&params.map)?;
        check(&params.cache, params.sector, &map)?;
        Ok(L2Slice { map, params })
    }

    async fn run(&mut self, io: &mut CachePorts, sim: &Context<L2Stats>) -> Result<(), Fault> {
        let L2Slice { params, map } = self;
        let mut cache = Cache::new(&params.cache).map_err(|invalid| Fault::new(invalid.0))?;
        cache.protect_at_most(params.protected_ways);
        cache.replace_by(params.replacement.build(sim)?);
        let shape = Shape {
            map: map.clone(),
            sector: params.sector.get() as u32,
            write_miss: params.write_miss,
            hit_latency: params.hit_latency.get(),
        };
        let atomics = Atomics::Here(AtomicUnit::new(&params.atomics));
        let mut server = CacheServer::new(cache, shape, atomics, false);
        let policies = policies(&params.write, &params.prefetcher, &params.bypass, sim)?;
        let rule = Some(params.tags.build(sim)?).filter(|rule| !rule.is_idle());
        server.policies = Policies { rule, ..policies };
        server.cold = sim.resource::<Preloaded>().filter(|_| params.warm_on_copy);
        server.log = sim.resource();
        serve(server, io, sim, Some(LEVEL)).await
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::testing::params;

    use super::*;
    use crate::testing::families;

    #[test]
    fn lines_that_do_not_fit_sectors_or_the_map_are_refused() {
        for (text, cause) in [
            ("{ cache: { line: 96 B } }", "line must be a power of two"),
            ("{ sector: 96 B }", "sector must be a power of two"),
            ("{ cache: { line: 64 B }, sector: 128 B }", "a sector of 128 B is more than a line of 64 B"),
            (
                "{ cache: { line: 256 B }, map: { interleave: 128 B, slices: 2 } }",
                "lines of 256 B would be split: 128 B lie together in one slice",
            ),
            (
                "{ cache: { line: 256 B }, map: { slices: 4, slices_per_channel: 2, hash: random, dram: dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RBBCCCBB.CCSSSSSS } }",
                "lines of 256 B would be split: 128 B lie together in one slice",
            ),
        ] {
            let refused = L2Slice::new(params(&families(), text)).err().map(|invalid| invalid.0);
            assert_eq!(refused.as_deref(), Some(cause), "{text}");
        }
        assert!(L2Slice::new(params(&families(), "{ cache: { line: 256 B }, sector: 256 B }")).is_ok());
    }
}
