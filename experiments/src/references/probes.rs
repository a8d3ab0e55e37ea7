//! What the probes of latencies leave behind: where a chain of instructions ends, and where a walk.

use super::{ReferenceInput, bytes_of_u32s};

/// Threads of the warp that runs the chains.
const WARP: usize = 32;

/// How a chain goes on from a value.
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

/// Where the walks of `probe-chase` end: parameters `elements`, `stride`, `hops`, `warm` and `apart`.
pub(super) fn chase(input: &ReferenceInput<'_>) -> Result<Vec<u8>, String> {
    let (elements, stride, hops) = (input.size("elements")?, input.size("stride")?, input.size("hops")?);
    let (warm, apart) = (input.size("warm")?, input.size("apart")?);
    let walks = [warm * (elements / stride), hops, 2 * hops];
    let ends = walks.iter().enumerate().map(|(walk, hops)| (walk * apart + hops * stride) % elements);
    Ok(bytes_of_u32s(&ends.map(|end| end as u32).collect::<Vec<_>>()))
}
