//! The checker of races through accesses of its own, in one block.

use super::*;
use crate::execute::AccessKind;
use crate::isa::{AtomicOperation, AtomicType, Scope};
use crate::program::Row;

const ADD: AccessKind = AccessKind::Atomic(AtomicOperation::Add, AtomicType::U32);

/// A block of a kernel whose instructions 0 to 9 are weak, and 10 to 19 strong in the block.
fn block(warps: usize, target: u32) -> Races {
    let weak = Fact { bytes: 4, ..Fact::default() };
    let strong = Fact { scope: Some(Scope::Block), ..weak };
    let launch = Launch {
        facts: [[weak; 10], [strong; 10]].concat(),
        warps: warps as u32,
        blocks: vec![[0; 3]],
        epochs: vec![(0, 0)],
        cells: Cells::default(),
        records: Records::default(),
    };
    let mut races = Races { launch: Some(Box::new(launch)), ..Races::new(target) };
    races.warps = (0..warps).map(|warp| Threads::new(warp as u32, races.in_step)).collect();
    races
}

/// Lane 0 alone at an address.
fn one(kind: AccessKind, pc: u32, address: u64, value: u32) -> Access {
    let mut access = Access { mask: 1, kind, pc, space: Space::Shared, ..Access::default() };
    access.addresses[0] = address;
    access.values[0] = Row([value; 32]);
    access
}

/// The instructions with which a warp's access races.
fn pcs(races: &mut Races, access: &Access, warp: usize) -> Vec<u32> {
    races.note(access, access.mask, warp, 0, &[0; 64]).iter().map(|race| race.other.pc()).collect()
}

fn barrier(races: &mut Races, warps: &[usize], id: u32) {
    warps.iter().for_each(|&warp| races.arrive(warp, id));
    warps.iter().for_each(|&warp| races.pass(warp, id, false));
    races.opened(id);
}

#[test]
fn who_comes_first_does_not_matter() {
    let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
    for (first, second, expected) in [(&load, &store, 7), (&store, &load, 9), (&store, &store, 9)] {
        let mut races = block(2, 35);
        assert_eq!(pcs(&mut races, first, 0), []);
        assert_eq!(pcs(&mut races, second, 1), [expected]);
        let mut races = block(2, 35);
        assert_eq!(pcs(&mut races, first, 0), []);
        barrier(&mut races, &[0, 1], 0);
        assert_eq!(pcs(&mut races, second, 1), [], "a barrier lies between");
    }
    let mut races = block(2, 35);
    assert_eq!(pcs(&mut races, &load, 0), []);
    assert_eq!(pcs(&mut races, &load, 1), []);
    assert_eq!(pcs(&mut races, &one(AccessKind::Store, 9, 12, 5), 1), [], "another place");
}

#[test]
fn a_barrier_orders_those_who_meet_there_and_nobody_else() {
    let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
    let mut races = block(3, 35);
    pcs(&mut races, &store, 0);
    barrier(&mut races, &[0, 1], 3);
    assert_eq!(pcs(&mut races, &load, 1), []);
    assert_eq!(pcs(&mut races, &load, 2), [9]);
    // Warp 1 passes on its knowledge.
    barrier(&mut races, &[1, 2], 4);
    assert_eq!(pcs(&mut races, &load, 2), []);
    // Accesses of a warp after its arrival are not covered.
    let mut races = block(3, 35);
    races.arrive(0, 1);
    pcs(&mut races, &store, 0);
    races.arrive(1, 1);
    races.pass(1, 1, false);
    assert_eq!(pcs(&mut races, &load, 1), [9]);
}

#[test]
fn a_warp_that_has_ended_counts_where_all_are_waited_for() {
    let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
    for whole in [true, false] {
        let mut races = block(2, 35);
        pcs(&mut races, &store, 0);
        races.end(0);
        races.arrive(1, 0);
        races.pass(1, 0, whole);
        assert_eq!(pcs(&mut races, &load, 1).is_empty(), whole);
    }
}

#[test]
fn two_readers_are_enough_for_a_writer_among_them() {
    let (load, store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
    for writer in 0..3 {
        let mut races = block(3, 35);
        (0..3).for_each(|warp| assert_eq!(pcs(&mut races, &load, warp), []));
        assert_eq!(pcs(&mut races, &store, writer), [7]);
    }
}

#[test]
fn atomics_and_writes_of_the_same_value_do_not_race() {
    let mut races = block(2, 35);
    assert_eq!(pcs(&mut races, &one(ADD, 11, 8, 1), 0), []);
    assert_eq!(pcs(&mut races, &one(ADD, 11, 8, 1), 1), []);
    assert_eq!(pcs(&mut races, &one(AccessKind::Load, 2, 8, 0), 1), [11], "a weak read does");
    // Memory holds zeros. One of two that write zero is enough for a race with another value, and none for one with a reader.
    let mut races = block(3, 35);
    pcs(&mut races, &one(AccessKind::Store, 3, 8, 0), 0);
    assert_eq!(pcs(&mut races, &one(AccessKind::Store, 4, 8, 0), 1), []);
    assert_eq!(pcs(&mut races, &one(AccessKind::Load, 6, 8, 0), 1), []);
    assert_eq!(pcs(&mut races, &one(AccessKind::Store, 5, 8, 256), 0), [6], "its second byte differs");
    // An addition of zero is a strong read.
    let mut races = block(2, 35);
    pcs(&mut races, &one(ADD, 11, 8, 0), 0);
    assert_eq!(pcs(&mut races, &one(AccessKind::Load, 2, 8, 0), 1), []);
    assert_eq!(pcs(&mut races, &one(AccessKind::Store, 3, 8, 7), 1), [11]);
    assert_eq!(pcs(&mut races, &one(ADD, 12, 8, 0), 0), [3]);
}

#[test]
fn threads_of_a_warp_run_in_step_before_sm_70() {
    let (load, mut store) = (one(AccessKind::Load, 7, 8, 0), one(AccessKind::Store, 9, 8, 5));
    store.mask = 2;
    store.addresses[1] = 8;
    for (target, met, expected) in [(35, false, &[][..]), (70, false, &[7]), (70, true, &[])] {
        let mut races = block(1, target);
        pcs(&mut races, &load, 0);
        if met {
            races.meet(0, 1);
        }
        assert_eq!(pcs(&mut races, &store, 0), expected);
    }
    // Every lane reads; whichever writes then races with the others.
    let all = Access { mask: !0, ..one(AccessKind::Load, 7, 0, 0) };
    let mut races = block(1, 70);
    pcs(&mut races, &all, 0);
    let mut last = one(AccessKind::Store, 9, 0, 5);
    (last.mask, last.addresses[31]) = (1 << 31, 0);
    assert_eq!(pcs(&mut races, &last, 0), [7]);
}

#[test]
fn one_instruction_must_not_store_two_values_to_one_place() {
    let mut store = Access { mask: 0b111, ..one(AccessKind::Store, 9, 4, 6) };
    store.addresses[..3].copy_from_slice(&[4, 8, 4]);
    let mut races = block(1, 35);
    assert_eq!(pcs(&mut races, &store, 0), []);
    store.values[0].0[2] = 7;
    let [race] = races.note(&store, store.mask, 0, 0, &[0; 64]) else { panic!("one race") };
    assert_eq!((race.lane, race.byte, race.other.lane(), race.within), (2, 4, 0, true));
    assert_eq!(pcs(&mut races, &Access { pc: 19, ..store }, 0), [], "strong ones take turns");
}
