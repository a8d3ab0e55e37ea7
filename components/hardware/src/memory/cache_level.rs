//! A cache of any level: between SMs and the network (an L1.5), beside an L2 slice, or between a slice and its DRAM (an L3).
//!
//! A private cache shares memory with caches that it does not observe, such as those of other clusters of SMs. Its clean lines
//! then answer only requests that may see them: a request names the earliest instant at which its values may have been read
//! from memory, which is that of its launch, of the last acquire, or its own if it bypasses the L1. A private cache has to
//! write through or around.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{Component, Context, Invalid, Params, Slot};
use counterpoint_framework::time::{Bytes, Cycles};

use counterpoint_protocols::roles;

use super::address_map::{AddressMap, AddressMapParams};
use super::cache::bypass::Bypass;
use super::cache::prefetch::Prefetcher;
use super::cache::replacement::Replacement;
use super::cache::write_policy::WritePolicy;
use super::cache::{Cache, CacheParams};
use super::cache_server::{Atomics, CachePorts, CacheServer, Shape, WriteMiss, check, policies, serve};
use super::cache_stats::LevelStats;

/// Size, timing and policies of a cache.
#[derive(Clone, Debug, Params)]
pub struct CacheLevelParams {
    /// Size, set mapping and MSHRs of the cache.
    cache: CacheParams,
    /// Whether other caches at this level share the memory behind this cache. Such a cache must write through or around.
    #[param(default = "off")]
    private: bool,
    /// Bytes of a sector, which is fetched as a whole on a miss; at most a line.
    #[param(default = "32 B", min = "32 B", max = "256 B")]
    sector: Bytes,
    /// Treatment of a write to missing sectors, under policies that keep the write in the cache.
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
    /// Latency of a hit, from the acceptance of the request to the departure of its reply.
    #[param(default = "20 cycles")]
    hit_latency: Cycles,
    /// Address map, for a cache of a part of memory: the map of the slice or channel behind the cache.
    map: AddressMapParams,
}

/// A cache of any level.
pub struct CacheLevel {
    params: CacheLevelParams,
    map: AddressMap,
}

impl Component for CacheLevel {
    const KIND: &'static str = "memory/cache";
    const DOC: &'static str = "A cache between its clients and memory; atomics are executed behind it.";
    const DAEMON: bool = true;
    const WEIGHT: u32 = 60;
    const ROLE: &'static str = roles::CACHE;
    type Params = CacheLevelParams;
    type Ports = CachePorts;
    type Stats = LevelStats;

    fn new(params: CacheLevelParams) -> Result<Self, Invalid> {
        if params.private && params.write.name() == "back" {
            return Err(
                "a private cache writes `through` or `around`: others would not see what stays here".into()
            );
        }
        let map = AddressMap::new(&params.map)?;
        check(&params.cache, params.sector, &map)?;
        Ok(CacheLevel { map, params })
    }

    async fn run(&mut self, io: &mut CachePorts, sim: &Context<LevelStats>) -> Result<(), Fault> {
        let CacheLevel { params, map } = self;
        let mut cache = Cache::new(&params.cache).map_err(|invalid| Fault::new(invalid.0))?;
        cache.replace_by(params.replacement.build(sim)?);
        let shape = Shape {
            map: map.clone(),
            sector: params.sector.get() as u32,
            write_miss: params.write_miss,
            hit_latency: params.hit_latency.get(),
        };
        let mut server = CacheServer::new(cache, shape, Atomics::Behind, params.private);
        server.policies = policies(&params.write, &params.prefetcher, &params.bypass, sim)?;
        serve(server, io, sim, Some(1).filter(|_| !params.private)).await
    }
}
