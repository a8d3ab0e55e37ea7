//! The values that the chains must have: closed forms, exact rationals, and decimals computed by another program with 60 digits.

use super::warps::binomial;
use super::*;

/// IPC of one kernel with coalesced accesses at a constant latency.
fn alone(warps: u32, memory: f64, cycles: f64) -> f64 {
    ipc([Warps::new(warps, memory)], &Memory::constant(cycles)).unwrap()[0]
}

/// Two of them, each with warps and `R_m`.
fn pair(first: (u32, f64), second: (u32, f64), cycles: f64) -> [f64; 2] {
    let kernels = [first, second].map(|(warps, memory)| Warps::new(warps, memory));
    ipc(kernels, &Memory::constant(cycles)).unwrap()
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

/// A5.4, A5.5.
#[test]
fn one_warp_issues_an_instruction_and_waits_for_some() {
    for (memory, cycles) in [(0.1, 400.0), (0.5, 10.0), (1.0, 7.0), (0.003, 1234.0)] {
        near(alone(1, memory, cycles), 1.0 / (1.0 + memory * cycles), 1e-12);
    }
    near(alone(1, 0.1, 400.0), 1.0 / 41.0, 1e-12);
}

/// A5.4.
#[test]
fn two_warps_have_the_closed_form() {
    near(alone(2, 0.5, 10.0), 12.0 / 37.0, 1e-12);
    near(alone(2, 0.2, 10.0), 3.0 / 5.0, 1e-12);
    near(alone(2, 0.1, 400.0), 41.0 / 841.0, 1e-12);
    for (memory, cycles) in [(0.3, 50.0), (1.0, 20.0), (0.01, 1000.0)] {
        let ready = 1.0 / (1.0 + memory * cycles);
        let idle = 1.0 - ready;
        near(alone(2, memory, cycles), 2.0 * ready / (2.0 * ready + idle * idle), 1e-12);
    }
}

/// A5.4.
#[test]
fn two_warps_have_the_steady_state() {
    let steady =
        |memory| Chain::new([Warps::new(2, memory)], &Memory::constant(10.0)).unwrap().steady().unwrap();
    let expected = [(0.5, [1.0 / 36.0, 10.0 / 36.0, 25.0 / 36.0]), (0.2, [1.0 / 9.0, 4.0 / 9.0, 4.0 / 9.0])];
    for (memory, expected) in expected {
        for (part, expected) in steady(memory).iter().zip(expected) {
            near(*part, expected, 1e-12);
        }
    }
}

/// A5.4.
#[test]
fn more_warps_have_the_reference_values() {
    let reference = [
        (4, 0.25, 20.0, 0.603152839),
        (4, 0.1, 100.0, 0.353406254),
        (8, 0.1, 100.0, 0.662598972),
        (8, 0.1, 400.0, 0.194189862),
        (16, 0.1, 400.0, 0.385274536),
        (24, 0.1, 400.0, 0.570377169),
        (48, 0.3, 400.0, 0.394801601),
        (8, 1.0, 100.0, 0.079153477),
    ];
    for (warps, memory, cycles, expected) in reference {
        near(alone(warps, memory, cycles), expected, 1e-9);
    }
}

/// Section 5.5 of the notes.
#[test]
fn contention_has_the_reference_values() {
    let latency = Latency { base: 400.0, slope: 1.0, offset: 0.0 };
    let of = |warps| ipc([Warps::new(warps, 0.1)], &Memory::uniform(latency, 0.1)).unwrap()[0];
    near(of(2), 0.046511660221574, 1e-9);
    near(of(24), 0.369269669129041, 1e-9);
}

/// T5.6.
#[test]
fn latency_grows_with_idle_warps_and_falls_with_bandwidth() {
    let latency = Latency { base: 400.0, slope: 2.0, offset: 30.0 };
    assert_eq!(latency.at(0.0, 0.5), 430.0);
    assert_eq!(latency.at(10.0, 0.5), 470.0);
    assert_eq!(latency.at(10.0, 1.0), 450.0);
}

/// A5.8.
#[test]
fn two_kernels_have_the_reference_values() {
    let exact =
        [((1, 0.0), (1, 0.5), [6.0 / 7.0, 1.0 / 7.0]), ((1, 0.1), (1, 0.5), [6.0 / 13.0, 2.0 / 13.0])];
    for (first, second, expected) in exact {
        let found = pair(first, second, 10.0);
        near(found[0], expected[0], 1e-12);
        near(found[1], expected[1], 1e-12);
    }
    near(alone(2, 0.1, 10.0), 0.8, 1e-12);
    let [first, second] = pair((4, 0.02), (4, 0.3), 100.0);
    near(first, 0.819552267975966, 1e-9);
    near(second, 0.119037872104428, 1e-9);
    near(alone(8, 0.02, 100.0), 0.999187932673491, 1e-9);
    near(alone(8, 0.3, 100.0), 0.255860503379689, 1e-9);
}

/// The transition matrix of one kernel as the paper writes it: sums of two binomials, with the return probability of each state.
fn literal(warps: u32, memory: f64, returns: impl Fn(u32) -> f64) -> Vec<Vec<f64>> {
    let size = warps as usize + 1;
    let mut matrix = vec![vec![0.0; size]; size];
    for idle in 0..=warps {
        let (back, leave) = (binomial(idle, returns(idle)), binomial(warps - idle, memory));
        for (k, back) in back.iter().enumerate() {
            for (m, leave) in leave.iter().enumerate() {
                matrix[idle as usize][idle as usize + m - k] += back * leave;
            }
        }
    }
    matrix
}

/// Eq. 2.
#[test]
fn the_transition_matrix_is_the_sum_of_two_binomials() {
    let chain = Chain::new([Warps::new(6, 0.15)], &Memory::constant(4.0)).unwrap();
    let round = |idle: u32| f64::from((6 - idle).max(1));
    let literal = literal(6, 0.15, |idle| (round(idle) / 4.0).min(1.0));
    for (found, expected) in chain.transitions().iter().flatten().zip(literal.iter().flatten()) {
        near(*found, *expected, 1e-15);
    }
}

#[test]
fn binomials_are_those_of_pascal() {
    let of = binomial(4, 0.25);
    for (found, ways) in of.iter().zip([81.0, 108.0, 54.0, 12.0, 1.0]) {
        near(*found, ways / 256.0, 1e-15);
    }
    assert_eq!(binomial(2, 1.0), [0.0, 0.0, 1.0]);
    assert_eq!(binomial(0, 0.3), [1.0]);
}

/// T5.5: with the paper's `(W - I) / L` nothing leaves the state in which all warps are idle.
#[test]
fn the_printed_probability_would_make_the_state_of_idle_warps_absorbing() {
    for memory in [0.01, 0.1, 1.0] {
        let printed = literal(4, memory, |idle| f64::from(4 - idle) / 100.0);
        assert_eq!(printed[4][4], 1.0);
        let steady = steady::solve(&printed).unwrap();
        let issued: f64 = (0..4).map(|idle| steady[idle] * (4 - idle) as f64).sum();
        near(issued / (issued + steady[4]), 0.0, 1e-12);
        assert!(alone(4, memory, 100.0) > 0.0);
    }
}

/// T5.7: the fraction of rounds that are not idle is another number, as rounds are not equally long.
#[test]
fn rounds_are_weighed_by_their_length() {
    let chain = Chain::new([Warps::new(2, 0.5)], &Memory::constant(10.0)).unwrap();
    near(1.0 - chain.steady().unwrap()[2], 11.0 / 36.0, 1e-12);
    near(chain.ipc().unwrap()[0], 12.0 / 37.0, 1e-12);
}

/// T5.8: the two share round and latency, so that they do not have the steady states that each has alone.
#[test]
fn two_kernels_are_not_the_product_of_two_chains() {
    let memory = Memory::constant(100.0);
    let own = [Warps::new(4, 0.02), Warps::new(4, 0.3)];
    let separate = own.map(|kernel| Chain::new([kernel], &memory).unwrap().steady().unwrap());
    let product: Vec<f64> =
        separate[0].iter().flat_map(|first| separate[1].iter().map(move |second| first * second)).collect();
    let joint = Chain::new(own, &memory).unwrap();
    let steady = joint.steady().unwrap();
    assert!(product.iter().zip(&steady).any(|(product, joint)| (product - joint).abs() > 0.01));
    let ready = |state: usize| [4 - state / 5, 4 - state % 5].map(|ready| ready as f64);
    let sum = |of: &dyn Fn(usize) -> f64| -> f64 { (0..25).map(|state| product[state] * of(state)).sum() };
    let cycles = sum(&|state| ready(state).iter().sum::<f64>().max(1.0));
    let second = sum(&|state| ready(state)[1]) / cycles;
    assert!((second - joint.ipc().unwrap()[1]).abs() > 0.01, "{second} and {:?}", joint.ipc().unwrap());
}

#[test]
fn uncoalesced_accesses_that_take_as_long_change_nothing() {
    let memory = Memory::uniform(Latency { base: 300.0, slope: 1.0, offset: 5.0 }, 0.1);
    let coalesced = Warps::new(6, 0.2);
    for uncoalesced in [0.3, 0.9, 1.0] {
        let other = Warps { uncoalesced, ..coalesced };
        let [expected] = ipc([coalesced], &memory).unwrap();
        near(ipc([other], &memory).unwrap()[0], expected, 1e-12);
        let beside = Warps::new(3, 0.05);
        let expected = ipc([coalesced, beside], &memory).unwrap();
        let found = ipc([other, beside], &memory).unwrap();
        near(found[0], expected[0], 1e-12);
        near(found[1], expected[1], 1e-12);
    }
}

/// One warp with two latencies has a closed form as well.
#[test]
fn one_warp_waits_for_accesses_of_both_kinds() {
    let mut memory = Memory::constant(100.0);
    memory.uncoalesced = Latency::constant(700.0);
    let [found] = ipc([Warps { uncoalesced: 0.25, ..Warps::new(1, 0.2) }], &memory).unwrap();
    near(found, 1.0 / (1.0 + 0.2 * (0.75 * 100.0 + 0.25 * 700.0)), 1e-12);
}

/// Section 5.3, Fig. 10: a kernel of uncoalesced accesses that is taken for coalesced is predicted too fast.
#[test]
fn uncoalesced_accesses_slow_both_kernels_by_the_bandwidth_they_take() {
    let latency = Latency { base: 400.0, slope: 1.0, offset: 0.0 };
    let memory = Memory { requests: 8.0, ..Memory::uniform(latency, 0.2) };
    let kernels = |uncoalesced| [Warps { uncoalesced, ..Warps::new(6, 0.2) }, Warps::new(6, 0.1)];
    let [few, some, all] = [0.0, 0.5, 1.0].map(|part| ipc(kernels(part), &memory).unwrap());
    for kernel in 0..2 {
        assert!(few[kernel] > some[kernel] && some[kernel] > all[kernel], "{few:?} {some:?} {all:?}");
    }
}

#[test]
fn states_count_three_states_of_a_warp_only_where_a_kernel_has_them() {
    let of = |uncoalesced| Warps { uncoalesced, ..Warps::new(4, 0.1) };
    for (uncoalesced, count) in [(0.0, 5), (1.0, 5), (0.5, 15)] {
        let (states, counted) = (of(uncoalesced).states(), of(uncoalesced).count());
        assert_eq!((states.len(), counted), (count, count));
    }
    let chain = Chain::new([of(0.5), Warps::new(2, 0.1)], &Memory::constant(9.0)).unwrap();
    assert_eq!(chain.states(), 45);
}

/// T5.15: each scheduler is a virtual SM with its share of warps and bandwidth.
#[test]
fn several_schedulers_are_as_many_virtual_sms() {
    let latency = Latency { base: 400.0, slope: 1.0, offset: 0.0 };
    let sm = Sm { schedulers: 4, memory: Memory::uniform(latency, 0.4) };
    let kernel = Resident { blocks: 8, warps_per_block: 4, memory: 0.1, uncoalesced: 0.0 };
    let [virtual_sm] = ipc([Warps::new(8, 0.1)], &Memory::uniform(latency, 0.1)).unwrap();
    for unit in [Unit::Warp, Unit::Block] {
        let [found] = sm.ipc([kernel], unit).unwrap();
        match unit {
            Unit::Warp => near(found, 4.0 * virtual_sm, 1e-12),
            Unit::Block => assert!(found < 4.0 * virtual_sm),
        }
    }
    // Of few accesses, one scheduler for all would be the bound.
    let fast = Resident { memory: 0.001, ..kernel };
    let one = Sm { schedulers: 1, ..sm };
    assert!(one.ipc([fast], Unit::Warp).unwrap()[0] <= 1.0 && sm.ipc([fast], Unit::Warp).unwrap()[0] > 3.5);
}

/// T5.17.
#[test]
fn blocks_as_units_are_another_chain_of_lower_ipc() {
    let sm = Sm { schedulers: 1, memory: Memory::constant(400.0) };
    let ipc = |blocks, warps_per_block, memory, unit| {
        sm.ipc([Resident { blocks, warps_per_block, memory, uncoalesced: 0.0 }], unit).unwrap()[0]
    };
    near(ipc(24, 1, 0.1, Unit::Block), ipc(24, 1, 0.1, Unit::Warp), 1e-12);
    let mut farthest: f64 = 0.0;
    for (blocks, warps) in [(8, 6), (6, 8), (4, 8), (8, 4), (5, 8)] {
        for memory in [0.02, 0.05, 0.1, 0.2, 0.3] {
            let (by_warps, by_blocks) =
                (ipc(blocks, warps, memory, Unit::Warp), ipc(blocks, warps, memory, Unit::Block));
            assert!(by_blocks < by_warps);
            farthest = farthest.max(by_warps - by_blocks);
        }
    }
    assert!((0.1..0.2).contains(&farthest), "{farthest}");
}

#[test]
fn chains_that_cannot_be_solved_say_why() {
    let mixed = Warps { uncoalesced: 0.5, ..Warps::new(24, 0.1) };
    let memory = Memory::constant(100.0);
    let large = ipc([mixed, mixed], &memory).unwrap_err();
    assert_eq!(large, Unsolvable::States(325 * 325));
    assert!(large.to_string().contains("105625 states"), "{large}");
    let wrong = ipc([Warps::new(2, 1.5)], &memory).unwrap_err();
    assert_eq!(wrong.to_string(), "1.5 is not a fraction from 0 to 1");
    assert!(ipc([Warps::new(2, f64::NAN)], &memory).is_err());
    // Both warps are idle in every second round, or one is in each.
    assert_eq!(ipc([Warps::new(2, 1.0)], &Memory::constant(1.0)), Err(Unsolvable::Several));
}
