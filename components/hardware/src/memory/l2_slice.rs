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
    /// Size, set mapping and MSHRs of the cache.
    cache: CacheParams,
    /// Bytes of a sector, which is fetched as a whole on a miss; at most a line.
    #[param(default = "32 B", min = "32 B", max = "256 B")]
    sector: Bytes,
    /// Treatment of a write to missing sectors.
    #[param(default = "validate")]
    write_miss: WriteMiss,
    /// Policy that chooses the line to evict from a set.
    #[param(default = "lru")]
    replacement: Slot<dyn Replacement>,
    /// Policy for writes: write-back, write-through or write-around.
    #[param(default = "back")]
    write: Slot<dyn WritePolicy>,
    /// Prefetcher of lines for reads.
    #[param(default = "none")]
    prefetcher: Slot<dyn Prefetcher>,
    /// Policy that chooses the reads that allocate no line.
    #[param(default = "none")]
    bypass: Slot<dyn Bypass>,
    /// Rule for the tags of lines.
    #[param(default = <NoRule as Variant<dyn LineRule>>::NAME)]
    tags: Slot<dyn LineRule>,
    /// Protected lines of a set, at most. A further line is treated as a line without a tag.
    #[param(default = "1024", min = "1")]
    protected_ways: u32,
    /// Latency of a hit, from the acceptance of the request to the departure of its reply.
    #[param(default = "34 cycles")]
    hit_latency: Cycles,
    /// Whether preloaded data goes through the L2 and leaves its last lines there, as GPGPU-Sim's copies do, which take no time. For
    /// comparisons.
    #[param(default = "off")]
    warm_on_copy: bool,
    /// Rate of atomics.
    atomics: AtomicParams,
    /// Map from addresses to slices and channels.
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
