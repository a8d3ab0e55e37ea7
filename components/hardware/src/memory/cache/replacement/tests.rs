//! Each policy in a cache, compared with a list of a set's lines that is kept by the policy's description.

use counterpoint_framework::model::{Choose, Params};
use counterpoint_framework::testing::params;
use counterpoint_framework::time::Bytes;
use proptest::prelude::*;

use super::*;
use crate::memory::cache::{Cache, CacheParams, SetIndex};
use crate::testing::families;

/// A policy as a machine file names it.
#[derive(Clone, Debug, Params)]
struct Named {
    /// The policy.
    replacement: Choose<dyn Replacement>,
}

fn policy(text: &str) -> Box<dyn Replacement> {
    let named: Named = params(&families(), &format!("{{ replacement: {text} }}"));
    named.replacement.build()
}

/// One set of four ways.
fn cache(text: &str) -> Cache<u32> {
    let (capacity, line, set_index) = (Bytes::new(512), Bytes::new(128), SetIndex::Linear);
    let shape = CacheParams { capacity, ways: 4, line, mshrs: 1, merges: 1, set_index };
    let mut cache = Cache::new(&shape).unwrap();
    cache.replace_by(policy(text));
    cache
}

/// A line in the naive set: the order of its fill, that of its last use, and its prediction.
#[derive(Clone, Copy, Debug)]
struct Held {
    line: u64,
    filled: u64,
    used: u64,
    prediction: u8,
}

/// The lines of the set after all accesses, and the hits.
fn naive(name: &str, near: u64, accesses: &[u64]) -> (Vec<u64>, usize) {
    let mut ways: Vec<Held> = Vec::new();
    let (mut hits, mut fills) = (0, 0);
    for (time, &line) in (1..).zip(accesses) {
        if let Some(held) = ways.iter_mut().find(|held| held.line == line) {
            (held.used, held.prediction) = (time, 0);
            hits += 1;
            continue;
        }
        fills += 1;
        let recent = name != "bimodal" || near > 0 && fills % near == 0;
        let new = Held { line, filled: time, used: if recent { time } else { 0 }, prediction: 2 };
        if ways.len() < 4 {
            ways.push(new);
            continue;
        }
        let key = |held: &Held| match name {
            "fifo" => held.filled,
            "srrip" => 3 - u64::from(held.prediction),
            _ => held.used,
        };
        let victim = (0..4).min_by_key(|&way| key(&ways[way])).unwrap();
        if name == "srrip" {
            let aged = 3 - ways[victim].prediction;
            ways.iter_mut().for_each(|held| held.prediction += aged);
        }
        ways[victim] = new;
    }
    (ways.iter().map(|held| held.line).collect(), hits)
}

proptest! {
    #[test]
    fn each_policy_keeps_the_lines_of_its_description(
        name in prop::sample::select(vec!["lru", "fifo", "srrip", "bimodal"]),
        near in prop::sample::select(vec![0_u64, 3, 32]),
        accesses in prop::collection::vec(0_u64..9, 1..200),
    ) {
        let text = if name == "bimodal" { format!("{{ bimodal: {{ near: {near} }} }}") } else { name.to_owned() };
        let mut cache = cache(&text);
        let (mut lines, mut hits) = (vec![u64::MAX; 4], 0);
        for &line in &accesses {
            match cache.find(line * 128, line * 128) {
                Some(way) => {
                    cache.touch(way);
                    hits += 1;
                }
                None => lines[cache.allocate(line * 128, line * 128).unwrap().0.index()] = line,
            }
        }
        lines.retain(|&line| line != u64::MAX);
        prop_assert_eq!((lines, hits), naive(name, near, &accesses));
    }
}

#[test]
fn random_victims_are_candidates_of_all_kinds_and_the_same_each_time() {
    let victims = || {
        let mut policy = policy("{ random: { seed: 7 } }");
        policy.begin(16);
        (0..200).map(|_| policy.victim(&[4, 5, 7])).collect::<Vec<_>>()
    };
    let found = victims();
    assert_eq!(found, victims());
    for way in [4, 5, 7] {
        let share = found.iter().filter(|&&victim| victim == way).count();
        assert!((40..100).contains(&share), "{share} of 200 are {way}");
    }
}

#[test]
fn a_prefetched_line_of_srrip_goes_first() {
    let mut policy = policy("srrip");
    policy.begin(4);
    for way in 0..4 {
        policy.filled(way, way == 2);
    }
    assert_eq!(policy.victim(&[0, 1, 2, 3]), 2);
}
