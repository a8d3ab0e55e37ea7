//! Properties of all chains.

use proptest::prelude::*;

use super::*;

/// Differences that rounding may make.
const ROUNDING: f64 = 1e-10;

fn alone(warps: u32, memory: f64, cycles: f64) -> f64 {
    ipc([Warps::new(warps, memory)], &Memory::constant(cycles)).unwrap()[0]
}

/// A memory with contention, and uncoalesced accesses that take longer.
fn memories() -> impl Strategy<Value = Memory> {
    (1.0..800.0, 0.0..4.0, 0.05..2.0, 1.0..32.0).prop_map(|(base, slope, bandwidth, requests)| {
        let coalesced = Latency { base, slope, offset: 10.0 };
        Memory { bandwidth, coalesced, uncoalesced: Latency { base: 2.0 * base, ..coalesced }, requests }
    })
}

fn warps(most: u32) -> impl Strategy<Value = Warps> {
    let parts = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    (1..=most, 0.001..=1.0, parts)
        .prop_map(|(warps, memory, uncoalesced)| Warps { uncoalesced, ..Warps::new(warps, memory) })
}

/// A5.5 does not hold where rounds are longer than the latency: `p` has at most 1, and more idle warps are ready at the same time.
#[test]
fn ipc_may_rise_with_memory_instructions_and_latency_within_a_round() {
    assert!(alone(4, 1.0, 2.0) > alone(4, 0.98, 2.0) + 0.005);
    assert!(alone(3, 0.98, 1.1) > alone(3, 0.98, 1.0) + 0.04);
}

proptest! {
    /// A5.6.
    #[test]
    fn rows_add_up_to_one_and_no_state_is_absorbing(kernel in warps(10), memory in memories()) {
        let chain = Chain::new([kernel], &memory).unwrap();
        for (at, row) in chain.transitions().iter().enumerate() {
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(row[at] < 1.0, "state {at} is absorbing");
        }
    }

    /// A5.6.
    #[test]
    fn two_kernels_have_such_rows_too(first in warps(4), second in warps(4), memory in memories()) {
        let chain = Chain::new([first, second], &memory).unwrap();
        for (at, row) in chain.transitions().iter().enumerate() {
            prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(row[at] < 1.0, "state {at} is absorbing");
        }
        let steady = chain.steady().unwrap();
        for (state, part) in steady.iter().enumerate() {
            let next: f64 = chain.transitions().iter().zip(&steady).map(|(row, part)| row[state] * part).sum();
            prop_assert!((next - part).abs() < 1e-12, "state {state}");
        }
        prop_assert!(steady.iter().all(|part| *part > -1e-12));
    }

    /// A5.5.
    #[test]
    fn ipc_does_not_fall_with_more_warps(warps in 1u32..24, memory in 0.0..=1.0, cycles in 1.0..1000.0) {
        prop_assert!(alone(warps, memory, cycles) <= alone(warps + 1, memory, cycles) + ROUNDING);
    }

    /// A5.5, for latencies that no round exceeds.
    #[test]
    fn ipc_does_not_rise_with_more_memory_instructions(
        warps in 1u32..24, memory in 0.0..=1.0, less in 0.0..=1.0, rounds in 1.0..40.0,
    ) {
        let cycles = rounds * f64::from(warps);
        prop_assert!(alone(warps, memory, cycles) <= alone(warps, memory * less, cycles) + ROUNDING);
    }

    /// A5.5, for latencies that no round exceeds.
    #[test]
    fn ipc_does_not_rise_with_latency(
        warps in 1u32..24, memory in 0.0..=1.0, rounds in 1.0..40.0, more in 1.0..10.0,
    ) {
        let cycles = rounds * f64::from(warps);
        prop_assert!(alone(warps, memory, cycles * more) <= alone(warps, memory, cycles) + ROUNDING);
    }

    /// A5.5.
    #[test]
    fn a_kernel_without_memory_instructions_issues_always(warps in 1u32..32, cycles in 1.0..1000.0) {
        prop_assert!((alone(warps, 0.0, cycles) - 1.0).abs() < ROUNDING);
    }

    /// A5.7.
    #[test]
    fn identical_kernels_are_one_kernel_of_all_their_warps(
        first in 1u32..5, second in 1u32..5, memory in 0.0..=1.0, uncoalesced in prop_oneof![Just(0.0), 0.0..=1.0],
        shared in memories(),
    ) {
        let of = |warps| Warps { uncoalesced, ..Warps::new(warps, memory) };
        let [both] = ipc([of(first + second)], &shared).unwrap();
        let [own, other] = ipc([of(first), of(second)], &shared).unwrap();
        prop_assert!((own + other - both).abs() < ROUNDING);
        prop_assert!((own * f64::from(second) - other * f64::from(first)).abs() < ROUNDING);
    }

    #[test]
    fn the_order_of_the_kernels_does_not_matter(first in warps(4), second in warps(4), memory in memories()) {
        let [own, other] = ipc([first, second], &memory).unwrap();
        let [swapped, back] = ipc([second, first], &memory).unwrap();
        prop_assert!((own - back).abs() < ROUNDING && (other - swapped).abs() < ROUNDING);
        prop_assert!(own > 0.0 && other > 0.0 && own + other <= 1.0 + ROUNDING);
    }

    /// The IPC of a kernel in a pair is at most its IPC alone on the SM.
    #[test]
    fn another_kernel_gives_nothing(first in warps(4), second in warps(4), cycles in 1.0..500.0) {
        let memory = Memory::constant(cycles);
        let [own, _] = ipc([first, second], &memory).unwrap();
        let [alone] = ipc([first], &memory).unwrap();
        prop_assert!(own <= alone + ROUNDING, "{own} beside another, {alone} alone");
    }
}
