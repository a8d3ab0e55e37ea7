//! Profits and choices.

use super::*;
use crate::model::{Latency, Memory, Warps, ipc};

/// Eight warps at most, each of them a block.
const MACHINE: GpuDescription = GpuDescription {
    sms: 2,
    schedulers: 1,
    peak_ipc: 1.0,
    offer: SmResources { threads: 256, ctas: 8, registers: 32768, shared: 49152 },
    memory: Memory::constant(100.0),
};

fn kernel(instructions_per_block: f64, memory_fraction: f64, pur: f64, mur: f64) -> Profile {
    Profile {
        instructions_per_block,
        memory_fraction,
        uncoalesced_fraction: 0.0,
        warps_per_block: 1,
        resources: SmResources { threads: 32, ctas: 1, registers: 0, shared: 0 },
        pur,
        mur,
        minimum_slice: 0,
    }
}

/// Two that end together with four blocks each.
fn complementary() -> [Profile; 2] {
    [kernel(819.552268, 0.02, 0.99, 0.02), kernel(119.037872, 0.3, 0.25, 0.3)]
}

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected}");
}

/// A5.3, T5.3.
#[test]
fn profit_is_the_time_saved() {
    near(profit([1.0, 1.0], [1.0, 1.0]), 0.5, 1e-12);
    near(profit([0.8, 0.4], [0.4, 0.2]), 0.0, 1e-12);
    near(profit([1.0, 1.0], [0.75, 0.5]), 0.2, 1e-12);
    near(profit([0.3; 5], [0.3; 5]), 0.8, 1e-12);
    assert!(profit([1.0, 1.0], [0.4, 0.4]) < 0.0);
}

/// A5.8.
#[test]
fn profit_of_one_warp_each_is_2_of_41() {
    let memory = Memory::constant(10.0);
    let alone = [0.1, 0.5].map(|part| ipc([Warps::new(2, part)], &memory).unwrap()[0]);
    let together = ipc([Warps::new(1, 0.1), Warps::new(1, 0.5)], &memory).unwrap();
    near(profit(alone, together), 2.0 / 41.0, 1e-12);
}

/// A5.17, T5.4: alone a kernel has the eight warps that fit, not the four that it has beside the other.
#[test]
fn profit_compares_with_each_kernel_at_its_own_full_occupancy() {
    let [first, second] = complementary();
    let found = predict([&first, &second], &MACHINE, &Options::default()).unwrap().unwrap();
    assert_eq!(found.slices, [8, 8]);
    near(found.predicted[0], 0.819552267975966, 1e-9);
    near(found.predicted[1], 0.119037872104428, 1e-9);
    near(found.profit, 0.222070509705908, 1e-9);
    near(first.alone(&MACHINE, Unit::Warp).unwrap(), 0.999187932673491, 1e-9);
    let of_four = [0.02, 0.3].map(|part| ipc([Warps::new(4, part)], &MACHINE.memory).unwrap()[0]);
    assert!((profit(of_four, found.predicted) - found.profit).abs() > 0.05);
}

/// A5.17.
#[test]
fn a_complementary_pair_is_chosen_before_pairs_that_are_alike() {
    let [computes, loads] = complementary();
    let kernels = [computes, computes, loads, loads];
    let all = Options { thresholds: Thresholds { pur: 0.0, mur: 0.0 }, ..Options::default() };
    for options in [Options::default(), all] {
        let found = choose(&kernels, &MACHINE, &options).unwrap().unwrap();
        assert_eq!((found.first, found.second), (0, 2));
        assert!(found.profit > 0.2);
    }
    for alike in [computes, loads] {
        let found = predict([&alike, &alike], &MACHINE, &all).unwrap().unwrap();
        near(found.profit, 0.0, 1e-9);
    }
}

/// T5.11.
#[test]
fn slices_are_fill_of_the_sms_and_no_smaller_than_the_smallest() {
    let [computes, loads] = complementary();
    let options = Options::default();
    let most = Profile { minimum_slice: 11, ..computes };
    let found = predict([&most, &loads], &MACHINE, &options).unwrap().unwrap();
    assert!(found.slices[0] >= 11 && found.slices.iter().all(|slice| slice % 2 == 0));
    let both = Profile { minimum_slice: 11, ..loads };
    assert_eq!(predict([&most, &both], &MACHINE, &options).unwrap(), None);
    assert_eq!(choose(&[most, both], &MACHINE, &options).unwrap(), None);
}

#[test]
fn identical_kernels_share_a_full_sm_evenly() {
    let [computes, _] = complementary();
    for fill in [Fill::Full, Fill::Any] {
        let options = Options { fill, ..Options::default() };
        let found = predict([&computes, &computes], &MACHINE, &options).unwrap().unwrap();
        assert_eq!(found.slices, [8, 8], "of 1:1, 2:2, 3:3 and 4:4");
    }
}

/// The reason for comparing slices that fill the SMs: with smaller ones the difference of Eq. 8 is smaller,
/// too.
#[test]
fn eq_8_to_the_letter_prefers_small_slices() {
    let computes = kernel(1000.0, 0.05, 0.9, 0.05);
    let others = Profile { instructions_per_block: 1100.0, ..computes };
    let [full, any] = [Fill::Full, Fill::Any].map(|fill| {
        let options = Options { fill, ..Options::default() };
        predict([&computes, &others], &MACHINE, &options).unwrap().unwrap()
    });
    assert_eq!(any.slices, [2, 2], "one of eight blocks each");
    assert_eq!(full.slices.iter().sum::<u32>(), 16, "all eight");
    assert!(full.profit > 0.0 - 1e-9 && any.profit < -0.5, "{full:?} {any:?}");
}

#[test]
fn one_kernel_is_no_pair() {
    let [computes, loads] = complementary();
    assert_eq!(choose(&[computes], &MACHINE, &Options::default()).unwrap(), None);
    assert_eq!(choose(&[], &MACHINE, &Options::default()).unwrap(), None);
    let large = Profile { resources: SmResources { threads: 512, ..loads.resources }, ..loads };
    assert_eq!(choose(&[computes, large], &MACHINE, &Options::default()).unwrap(), None, "it does not fit");
}

/// The pair that pruning would leave does not fit on an SM: the other pair, of similar kernels, is better
/// than none.
#[test]
fn pairs_that_do_not_fit_leave_room_for_those_that_are_alike() {
    let [computes, loads] = complementary();
    let whole_sm = Profile { resources: SmResources { threads: 256, ..loads.resources }, ..loads };
    let found = choose(&[computes, whole_sm, computes], &MACHINE, &Options::default()).unwrap().unwrap();
    assert_eq!((found.first, found.second), (0, 2));
}

#[test]
fn a_wrong_fraction_is_an_error() {
    let [computes, loads] = complementary();
    let wrong = Profile { memory_fraction: 1.2, ..loads };
    assert_eq!(choose(&[computes, wrong], &MACHINE, &Options::default()), Err(Unsolvable::Fraction(1.2)));
}

/// Eight kernels as the paper's, with memory fractions that are made up.
fn eight(uncoalesced: f64) -> [Profile; 8] {
    crate::paper::KERNELS.map(|kernel| Profile {
        instructions_per_block: 10_000.0,
        memory_fraction: 0.4 * (1.0 - kernel.c2050.pur),
        uncoalesced_fraction: if kernel.uncoalesced { uncoalesced } else { 0.0 },
        warps_per_block: kernel.threads / 32,
        resources: SmResources {
            threads: kernel.threads,
            ctas: 1,
            registers: 20 * kernel.threads,
            shared: 0,
        },
        pur: kernel.c2050.pur,
        mur: kernel.c2050.mur,
        minimum_slice: 0,
    })
}

/// Contention at the bandwidth of the C2050.
fn contended() -> Memory {
    let latency = Latency { base: 400.0, slope: 1.0, offset: 0.0 };
    Memory { requests: 8.0, ..Memory::uniform(latency, C2050.requests_per_cycle(128.0)) }
}

#[test]
fn eight_kernels_have_a_choice_on_both_machines() {
    for machine in [GpuDescription::c2050(contended()), GpuDescription::gtx680(contended())] {
        let found = choose(&eight(0.5), &machine, &Options::default()).unwrap().unwrap();
        assert!(found.profit > 0.0 && found.first < found.second, "{found:?}");
        assert!(found.slices.iter().all(|slice| slice % machine.sms == 0));
    }
}

/// T5.17.
#[test]
fn blocks_as_units_choose_what_warps_choose() {
    let machine = GpuDescription::gtx680(contended());
    let [blocks, warps] = [Unit::Block, Unit::Warp]
        .map(|unit| choose(&eight(0.0), &machine, &Options { unit, ..Options::default() }).unwrap().unwrap());
    assert_eq!((blocks.first, blocks.second, blocks.slices), (warps.first, warps.second, warps.slices));
    near(blocks.profit, warps.profit, 0.01);
}
