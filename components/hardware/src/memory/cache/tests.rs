//! The cache by itself: replacement, fills, misses, and lines of every size.

use std::collections::BTreeSet;

use counterpoint_framework::time::Bytes;
use proptest::prelude::*;

use super::*;

fn cache() -> Cache<u32> {
    let params = CacheParams {
        capacity: Bytes::new(1024),
        ways: 2,
        line: Bytes::new(128),
        mshrs: 2,
        merges: 2,
        set_index: SetIndex::Linear,
    };
    Cache::new(&params).unwrap()
}

#[test]
fn the_least_recently_used_line_goes_and_its_dirty_bytes_with_it() {
    let mut cache = cache();
    let (a, _) = cache.allocate(0, 0).unwrap();
    cache.write(a, 0b11, &[7; 128]);
    let (b, none) = cache.allocate(512, 512).unwrap();
    assert!(none.is_none() && a != b);
    cache.touch(a);
    assert!(cache.allocate(1024, 1024).unwrap().1.is_none(), "b was clean");
    let evicted = cache.allocate(1536, 1536).unwrap().1.unwrap();
    assert_eq!((evicted.line, evicted.dirty, evicted.data[1]), (0, 0b11, 7));
}

#[test]
fn fermis_hash_is_that_of_gpgpu_sim() {
    // Bits 13 to 15 of an address are bits 6 to 8 of its line's number.
    assert_eq!(
        [0, 31, 64, 64 * 7, 1 << 10, 1 << 12].map(|index| fermi_hash(index, 32)),
        [0, 31, 1, 7, 8, 16]
    );
    assert_eq!([32, 33].map(|index| fermi_hash(index, 64)), [32, 33]);
}

#[test]
fn a_fill_does_not_overwrite_newer_bytes() {
    let mut cache = cache();
    let (way, _) = cache.allocate(0, 0).unwrap();
    let miss = cache.begin_miss(way, 1);
    cache.write(way, 0b1, &[9; 128]);
    assert_eq!(cache.join_miss(way, 2), Ok(()));
    assert_eq!(cache.join_miss(way, 3), Err(3));
    let (filled, waiting) = cache.end_miss(miss, ByteMask::MAX, &[5; 128]);
    assert_eq!((filled, waiting), (Some(way), vec![1, 2]));
    assert_eq!((cache.data(way)[0], cache.data(way)[1]), (9, 5));
    assert_eq!((cache.valid(way), cache.dirty(way)), (ByteMask::MAX, 1));
}

#[test]
fn a_cache_that_has_forgotten_its_lines_finds_none() {
    let mut cache = cache();
    let ways = [0, 512, 1024].map(|line| cache.allocate(line, line).unwrap().0);
    assert_eq!(ways[0], ways[2], "a set has two ways");
    let found = |cache: &Cache<u32>| [0, 512, 1024].map(|line| cache.find(line, line));
    assert_eq!(found(&cache), [None, Some(ways[1]), Some(ways[2])]);
    cache.invalidate(ways[1]);
    cache.invalidate(ways[1]);
    assert_eq!(found(&cache), [None, None, Some(ways[2])]);
    cache.invalidate_clean();
    assert_eq!(found(&cache), [None; 3]);
    let again = cache.allocate(512, 512).map(|(way, _)| way);
    assert_eq!(found(&cache), [None, again, None]);
}

#[test]
fn a_miss_belongs_to_the_set_of_its_line_even_when_that_is_forgotten() {
    let mut cache = cache();
    let (way, _) = cache.allocate(512, 512).unwrap();
    let miss = cache.begin_miss(way, 1);
    cache.invalidate(way);
    assert_eq!([0, 128, 384, 1024].map(|line| cache.is_in_set(miss, line)), [true, false, false, true]);
}

#[test]
fn a_way_that_waits_is_not_taken() {
    let mut cache = cache();
    for line in [0, 512] {
        let (way, _) = cache.allocate(line, line).unwrap();
        cache.begin_miss(way, 0);
    }
    assert!(cache.allocate(1024, 1024).is_none() && !cache.has_free_miss());
    let way = cache.find(0, 0).unwrap();
    cache.invalidate(way);
    assert!(cache.find(0, 0).is_none());
    assert_eq!(cache.end_miss(0, ByteMask::MAX, &[1; 128]), (None, vec![0]));
}

/// A naive cache: the lines of each set in the order of their last use, with the bytes that differ from memory.
struct Naive {
    line: u64,
    ways: usize,
    sets: Vec<Vec<(u64, BTreeSet<u64>)>>,
}

impl Naive {
    /// Whether the line of an address was there, and the bytes that were written back for it.
    fn access(&mut self, address: u64, written: &[u64]) -> (bool, BTreeSet<u64>) {
        let (line, count) = (address / self.line, self.sets.len() as u64);
        let set = &mut self.sets[(line % count) as usize];
        let (mut here, hit, mut evicted) = match set.iter().position(|(held, _)| *held == line) {
            Some(place) => (set.remove(place), true, BTreeSet::new()),
            None => ((line, BTreeSet::new()), false, BTreeSet::new()),
        };
        if set.len() == self.ways {
            evicted = set.remove(0).1;
        }
        here.1.extend(written);
        set.push(here);
        (hit, evicted)
    }
}

/// The addresses of the bytes of a line that leaves, which memory gets.
fn written_back(mut evicted: Option<Evicted>, memory: &mut [u8]) -> BTreeSet<u64> {
    let mut all = BTreeSet::new();
    while let Some(Evicted { line, dirty, data, rest, .. }) = evicted {
        for byte in (0..128).filter(|byte| dirty >> byte & 1 == 1) {
            memory[(line + byte) as usize] = data[byte as usize];
            all.insert(line + byte);
        }
        evicted = rest.map(|rest| *rest);
    }
    all
}

/// The bytes of memory that a message for an address transfers.
fn message(memory: &[u8], address: u64) -> Line {
    let line = line_of(address) as usize;
    *memory[line..].first_chunk().unwrap()
}

proptest! {
    #[test]
    fn lines_of_every_size_hit_and_are_evicted_as_in_a_naive_cache(
        line in prop::sample::select(vec![32_u64, 64, 128, 256]),
        accesses in prop::collection::vec((0_u64..1 << 10, any::<bool>(), any::<u8>()), 1..200),
    ) {
        let (ways, sets) = (2, 2);
        let capacity = Bytes::new(line * ways * sets);
        let set_index = SetIndex::Linear;
        let params =
            CacheParams { capacity, ways: ways as u32, line: Bytes::new(line), mshrs: 1, merges: 1, set_index };
        let mut cache: Cache<u32> = Cache::new(&params).unwrap();
        let mut naive = Naive { line, ways: ways as usize, sets: vec![Vec::new(); sets as usize] };
        let mut memory: Vec<u8> = (0..1 << 12).map(|byte| byte as u8 ^ 0x5a).collect();
        let mut values = memory.clone();
        for (word, is_write, value) in accesses {
            let address = 4 * word;
            let (bytes, written): (ByteMask, Vec<u64>) =
                (0xf << (address % 128), if is_write { (address..address + 4).collect() } else { vec![] });
            let (hit, evicted) = naive.access(address, &written);
            let found = cache.find(address, address);
            prop_assert_eq!(found.is_some(), hit, "{:#x}", address);
            let (way, left) = match found {
                Some(way) => {
                    cache.touch(way);
                    (way, None)
                }
                None => cache.allocate(address, address).unwrap(),
            };
            prop_assert_eq!(written_back(left, &mut memory), evicted);
            if is_write {
                cache.write(way, bytes, &[value; 128]);
                written.iter().for_each(|&byte| values[byte as usize] = value);
                continue;
            }
            if let Found::Absent(found) = cache.seek(address, address, bytes) {
                prop_assert_eq!(found, Some(way));
                let mask = cache.size().bytes_of(address);
                prop_assert!(bytes & !mask == 0 && mask.count_ones() == line.min(128) as u32);
                let miss = cache.begin_miss(way, 7);
                let other = cache.other_half(way);
                let fetched = other.map(|(half, line)| (cache.begin_prefetch(half), line));
                prop_assert!(!cache.has_free_miss() && (other.is_none() || line == 256));
                // The later half comes first.
                if let Some((miss, line)) = fetched {
                    prop_assert_eq!(line ^ 128, line_of(address));
                    prop_assert!(cache.end_miss(miss, ByteMask::MAX, &message(&memory, line)).1.is_empty());
                }
                let (filled, waiting) = cache.end_miss(miss, mask, &message(&memory, address));
                prop_assert_eq!((filled, waiting), (Some(way), vec![7]));
            }
            let range = address as usize..address as usize + 4;
            let start = (address % 128) as usize;
            prop_assert_eq!(&cache.data(way)[start..start + 4], &values[range]);
        }
        let all: Vec<WayId> = cache.taken().collect();
        all.into_iter().for_each(|way| _ = written_back(cache.take(way), &mut memory));
        prop_assert_eq!(memory, values);
    }
}

#[test]
fn a_line_of_two_halves_keeps_its_way_until_both_misses_have_ended() {
    let capacity = Bytes::new(512);
    let set_index = SetIndex::Linear;
    let params = CacheParams { capacity, ways: 1, line: Bytes::new(256), mshrs: 1, merges: 1, set_index };
    let mut cache = Cache::new(&params).unwrap();
    let (way, _) = cache.allocate(0, 0).unwrap();
    let (second, address) = cache.other_half(way).unwrap();
    assert_eq!((address, cache.find(128, 128)), (128, Some(second)));
    let misses = [cache.begin_miss(way, 1), cache.begin_prefetch(second)];
    assert!(!cache.has_free_miss(), "one line at a time");
    cache.end_miss(misses[0], ByteMask::MAX, &[1; 128]);
    assert!(!cache.is_pending(way) && cache.is_line_pending(way) && !cache.has_free_miss());
    assert!(cache.allocate(512, 512).is_none() && cache.is_in_set(misses[1], 512));
    // The line that holds data written by others is invalidated.
    cache.invalidate(way);
    assert_eq!(cache.find(128, 128), None);
    assert_eq!(cache.end_miss(misses[1], ByteMask::MAX, &[2; 128]), (None, vec![]));
    assert!(cache.allocate(512, 512).is_some() && cache.has_free_miss());
}

#[test]
fn lines_that_do_not_fit_are_refused() {
    let check = |capacity, ways, line| {
        let (capacity, line, set_index) = (Bytes::new(capacity), Bytes::new(line), SetIndex::Linear);
        let params = CacheParams { capacity, ways, line, mshrs: 1, merges: 1, set_index };
        Cache::<()>::check(&params).err().map(|invalid| invalid.0)
    };
    assert_eq!(check(384, 3, 128), None);
    assert_eq!(check(512, 2, 96).as_deref(), Some("line must be a power of two"));
    assert_eq!(check(1280, 2, 256).as_deref(), Some("capacity must be a multiple of ways × 256 B"));
}
