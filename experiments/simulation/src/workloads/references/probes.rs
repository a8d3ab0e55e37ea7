//! Results of the probes of latencies: the end of a chain of instructions, and the end of a walk.

use super::{ReferenceInput, bytes_of_u32s};

/// Threads of the warp that runs the chains.
const WARP: usize = 32;

type Chain = fn(f64, f64) -> f64;

/// The chains in the order of their launches; each runs in two lengths. The last one, through shared memory, begins at the
/// thread's index and stays there.
const CHAINS: [Chain; 7] = [
    |value, with| value + with,
    |value, with| value * with + with,
    |value, with| (value / with).trunc(),
    |value, with| value * with,
    |value, with| value * with + with,
    |value, with| value * with + with,
    |value, _| 1.0 / libm::sqrt(value),
];

/// The values of `probe-chains`: parameters `short`, `more` and `with`.
pub(super) fn chains(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (short, more, with) = (input.size("short")?, input.size("more")?, input.parameter("with")?);
    let mut values = Vec::new();
    for chain in CHAINS {
        for length in [short, short + more] {
            let end = (0..length).fold(with, |value, _| chain(value, with));
            values.extend([end; WARP]);
        }
    }
    let indices = (0..2 * WARP).map(|thread| (thread % WARP) as f64);
    Ok(values.into_iter().chain(indices).flat_map(f64::to_le_bytes).collect())
}

/// End positions of the walks of `probe-chase`: parameters `elements`, `stride`, `hops`, `warm` and `apart`.
pub(super) fn chase(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (elements, stride, hops) = (input.size("elements")?, input.size("stride")?, input.size("hops")?);
    let (warm, apart) = (input.size("warm")?, input.size("apart")?);
    let walks = [warm * (elements / stride), hops, 2 * hops];
    let ends = walks.iter().enumerate().map(|(walk, hops)| (walk * apart + hops * stride) % elements);
    Ok(bytes_of_u32s(&ends.map(|end| end as u32).collect::<Vec<_>>()))
}

/// The values of `probe-pipeline`: parameters `short`, `more` and `with`. Each kernel adds two, or leaves one.
pub(super) fn pipeline(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (short, more, with) = (input.size("short")?, input.size("more")?, input.size("with")? as u32);
    let repeat = |length: usize, step: fn(u32) -> u32| (0..length).fold(with, |value, _| step(value));
    let vectors = |length: usize| {
        // The word that is read is the one last written to its vector, or its index.
        let mut thirds: [u32; 8] = std::array::from_fn(|index| index as u32);
        (0..length as u32).fold(with, |value, i| {
            thirds[(i + value) as usize % 8] = value + 1;
            thirds[(3 * i + value) as usize % 8]
        })
    };
    let lengths = [short, short + more];
    let mut values = Vec::new();
    let mut each = |of: &dyn Fn(usize) -> u32| values.extend(lengths.map(of));
    each(&|length| with + if length.is_multiple_of(2) { with } else { 0 });
    each(&|_| 2 * with);
    each(&|_| 2 * with);
    each(&|length| repeat(length, |value| (value << 3 ^ value).wrapping_add(value)).wrapping_add(with));
    each(&|_| 2 * with);
    each(&|_| 2 * with + 5 + with);
    each(&|_| 2 * with + with);
    each(&|length| repeat(length, |value| value.wrapping_add(value)).wrapping_add(with));
    each(&|_| with);
    each(&|length| with + length as u32 * with);
    each(&|_| (with * with + with) + with + 2 * with + with);
    each(&vectors);
    let turns = |length: usize| (length / 4) as u32;
    each(&|length| 7 * turns(length));
    each(&|_| 0);
    each(&|length| 7 * turns(length));
    Ok(bytes_of_u32s(&values))
}

/// Turns of each kernel of `probe-rates`: the last one is twice as long as the others.
const TURNS: [u32; 3] = [1, 1, 2];

/// Results of the kernels of `probe-rates` in `sums`, and in the words that its atomics count in.
pub(super) fn rates(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (blocks, threads, places) = (input.size("blocks")?, input.size("threads")?, input.size("places")?);
    let (stream, l2) = (input.size("stream")? / 16, input.size("l2")? / 16);
    let [cached, rounds, atomics] = ["cached", "rounds", "atomics"].map(|name| input.size(name));
    let (cached, rounds, atomics) = (cached?, rounds? as u32, atomics? as u32);
    let many = blocks * 256;
    match input.wanted {
        "word" => return Ok(bytes_of_u32s(&[TURNS.iter().sum::<u32>() * atomics * many as u32])),
        "line" => {
            let each = TURNS.iter().sum::<u32>() * atomics * many as u32 / 32;
            return Ok(bytes_of_u32s(&[each; 32]));
        }
        "words" => return Ok(bytes_of_u32s(&vec![TURNS.iter().sum::<u32>() * atomics; many])),
        _ => {}
    }
    // An element holds four numbers in a row.
    let element = |index: usize| (16 * index as u32).wrapping_add(6);
    let mut sums = Vec::new();
    let mut kernel = |threads: usize, sum: &dyn Fn(usize, usize, u32) -> u32| {
        for (turn, times) in TURNS.into_iter().enumerate() {
            sums.extend(
                (0..places).map(|thread| if thread < threads { sum(thread, turn, times) } else { 0 }),
            );
        }
    };
    // A warp has four times 32 elements behind each other.
    let begin = |thread: usize| thread / 32 * 128 + thread % 32;
    let four = |first: usize| (0..4).map(|piece| element(first + 32 * piece)).fold(0, u32::wrapping_add);
    kernel(many, &|thread, turn, times| {
        let own = (begin(thread)..stream * times as usize).step_by(4 * many);
        own.fold(0, |sum: u32, index| sum.wrapping_add(four(turn * stream + index)))
    });
    kernel(many, &|thread, _, times| {
        let rounds = 0..cached * times as usize;
        rounds.map(|round| four((begin(thread) + 128 * 37 * round) % l2)).fold(0, u32::wrapping_add)
    });
    // Out of the L1, and words of shared memory that hold their indices: 16 of a lane's, the same each round.
    for _ in ["again_l1", "shared"] {
        kernel(threads, &|thread, _, times| four(thread % 32).wrapping_mul(rounds * times));
    }
    // Eight chains that begin with 0 to 7; each of their sixteen steps a round adds one, and what 1 becomes stays 1.
    for _ in ["fma_f32", "fma_f64", "add_s32", "mad_s32"] {
        kernel(threads, &|_, _, times| (0..8).sum::<u32>() + 128 * rounds * times);
    }
    kernel(threads, &|_, _, _| 8);
    // Atomics of all threads on the first word, then of each thread on a word of its own.
    kernel(threads, &|thread, _, times| if thread == 0 { threads as u32 * atomics * times } else { 0 });
    kernel(threads, &|_, _, times| atomics * times);
    Ok(bytes_of_u32s(&sums))
}
