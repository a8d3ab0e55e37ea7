//! Addresses of stores, by pattern: two blocks of two warps; in each round of four a thread stores twice, so its accesses
//! are the third to the tenth of its walk.

use std::collections::BTreeSet;

use super::{ptx, run};

const FOOTPRINT: usize = 64 << 10;

/// The words that a kernel with this pattern writes, with their values.
fn written(settings: &str) -> Vec<(usize, u32)> {
    let text = ptx(&format!(
        "{{ mix: {{ int: 4, global_store: 1 }}, instructions: 10, dependence: 2, rounds: 4, threads: 64, \
         footprint: 64 KiB, {settings} }}"
    ));
    let ran = run(&text, FOOTPRINT, [2, 1, 1], [64, 1, 1]);
    ran.written.into_iter().enumerate().filter(|(_, value)| *value != u32::MAX).collect()
}

/// The bytes at which words were written.
fn places(settings: &str) -> BTreeSet<usize> {
    written(settings).into_iter().map(|(word, _)| 4 * word).collect()
}

fn words(range: std::ops::Range<usize>) -> BTreeSet<usize> {
    range.step_by(4).collect()
}

/// Words of these ranges.
fn all(ranges: impl IntoIterator<Item = std::ops::Range<usize>>) -> BTreeSet<usize> {
    ranges.into_iter().flat_map(words).collect()
}

#[test]
fn sequential_accesses_follow_each_other() {
    // The grid accesses 512 bytes at a time.
    assert_eq!(places("pattern: sequential"), words(2 * 512..10 * 512));
    assert!(written("pattern: sequential").iter().all(|&(word, value)| value as usize == 4 * word));
}

#[test]
fn strided_accesses_are_a_stride_apart() {
    let expected = (2..10).map(|step| step * 1024..step * 1024 + 4 * 128);
    assert_eq!(places("pattern: { strided: { stride: 1 KiB } }"), all(expected));
}

#[test]
fn blocks_stay_in_their_tiles() {
    // A block accesses 256 bytes at a time.
    let expected = [2 * 256..10 * 256, 4096 + 2 * 256..4096 + 10 * 256];
    assert_eq!(places("pattern: { tile: { size: 4 KiB } }"), all(expected));
    // A tile of one kibibyte wraps around.
    assert_eq!(places("pattern: { tile: { size: 1 KiB } }"), words(0..2048));
}

#[test]
fn random_accesses_are_whole_lines_anywhere() {
    let written = written("pattern: random");
    let lines: BTreeSet<usize> = written.iter().map(|(word, _)| word / 32).collect();
    assert_eq!(written.len(), 32 * lines.len(), "a warp's lanes stay together");
    // Four warps draw eight lines each, of 512.
    assert!(lines.len() > 26 && lines.len() <= 32, "{lines:?}");
    assert!(lines.iter().max() > Some(&384) && lines.iter().min() < Some(&128), "{lines:?}");
    assert!(written.iter().all(|&(word, value)| value as usize == word / 32));
}

#[test]
fn a_hot_set_gets_its_share() {
    let hot = places("pattern: { hot-set: { hot: 128 B, share: 1 } }");
    assert_eq!(hot, words(0..128));
    // One of two stores of a round is hot.
    let text = "mix: { int: 8, global_store: 2 }, instructions: 20, dependence: 2";
    let half = ptx(&format!(
        "{{ {text}, footprint: 64 KiB, rounds: 4, threads: 64, pattern: {{ hot-set: {{ hot: 128 B, share: 0.5 }} }} }}"
    ));
    let ran = run(&half, FOOTPRINT, [2, 1, 1], [64, 1, 1]);
    let lines: BTreeSet<usize> =
        (0..FOOTPRINT / 4).filter(|word| ran.written[*word] != u32::MAX).map(|word| word / 32).collect();
    assert!(lines.contains(&0) && lines.len() > 26 && lines.len() <= 33, "{lines:?}");
}

#[test]
fn a_warp_touches_as_many_lines_as_it_should() {
    // Eight lanes on each of four lines; a grid's access takes 2 KiB.
    let expected = (2 * 16..10 * 16).map(|line| line * 128..line * 128 + 32);
    assert_eq!(places("pattern: sequential, lines: 4"), all(expected));
    let drawn = places("pattern: random, lines: 32");
    assert!(drawn.iter().all(|place| place % 128 == 0), "each lane the first word of a line");
    assert!(drawn.len() > 400, "{} lines", drawn.len());
}
