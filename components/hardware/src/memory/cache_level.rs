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
    /// Size, shape and misses under way.
    cache: CacheParams,
    /// Whether other caches beside it have the same memory behind them. Then writes have to go through or around.
    #[param(default = "off")]
    private: bool,
    /// Bytes fetched together on a miss, a line at most.
    #[param(default = "32 B", min = "32 B", max = "256 B")]
    sector: Bytes,
    /// Treatment of a write to sectors that are not here, where it stays here.
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
    /// From taking a request to its reply leaving, on a hit.
    #[param(default = "20 cycles")]
    hit_latency: Cycles,
    /// Where addresses lie, for a cache that serves a part of them: the map of the slice or the channel behind it.
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
