//! The tables against the paper's examples, and against the invariants of any sequence of launches and
//! blocks.

use proptest::prelude::*;

use super::*;

/// An SM of the M2090.
const SM: SmResources = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 48 << 10 };

fn block(threads: u32, registers: u32) -> SmResources {
    SmResources { threads, ctas: 1, registers: threads * registers, shared: 0 }
}

/// A kernel of the paper: its name, the needs of a block, and the blocks that fit an SM.
type Paper = (&'static str, SmResources, u32);

/// The kernels whose registers are published (Perf-Sat, ICPPW 2014, Table II).
fn kernels() -> [Paper; 6] {
    [
        ("BP-1", block(256, 12), 6),
        ("BP-2", block(256, 24), 5),
        ("CFD", block(192, 52), 3),
        ("LUD", block(256, 16), 6),
        ("Hot", block(256, 36), 3),
        ("Path", block(256, 16), 6),
    ]
}

#[test]
fn as_many_blocks_fit_an_sm_as_the_paper_says() {
    for (name, demand, most) in kernels() {
        assert_eq!(blocks(&SM, &demand), most, "{name}");
    }
}

#[test]
fn three_of_fifteen_pairs_fail_the_occupancy_test() {
    let offers = [SM; 16];
    let mut failed = Vec::new();
    let kernels = kernels();
    for (place, (one, a, most_a)) in kernels.iter().enumerate() {
        for (other, b, most_b) in &kernels[place + 1..] {
            match interleaved_blocks(&offers, &[*a, *b]) {
                Some(each) => assert_eq!(each, [most_a.div_ceil(2), most_b.div_ceil(2)], "{one} and {other}"),
                None => failed.push((*one, *other)),
            }
        }
    }
    assert_eq!(failed, [("BP-2", "CFD"), ("BP-2", "Hot"), ("CFD", "Hot")]);
}

#[test]
fn a_core_that_is_mapped_anew_ends_its_blocks_first() {
    // Fig. 3 and Fig. 4: kernel 9 has eight blocks a core, kernel 10 six.
    let mut tables = Tables::new(Mapping::Spatial, 4, &[SM; 16]);
    let nine = tables.launch(9, [128, 128, 1], block(64, 64)).unwrap();
    while tables.next(|_, _| true).is_some() {}
    assert_eq!(tables.active_cores(nine), 16);
    assert_eq!(tables.kernel(nine).unwrap().next, [0, 1, 0], "128 blocks have been launched");
    let ten = tables.launch(10, [256, 1, 1], block(256, 20)).unwrap();
    // Every core still executes kernel 9. All even ones but the last end their blocks.
    assert_eq!((tables.active_cores(nine), tables.active_cores(ten)), (16, 0));
    (1..15).step_by(2).for_each(|core| tables.observe(core, nine, 0));
    tables.observe(15, nine, 2);
    while tables.next(|_, _| true).is_some() {}
    assert_eq!((tables.active_cores(nine), tables.active_cores(ten)), (9, 7));
    let row = |full, core, active_kernel, assigned_kernel, maximum, blocks| {
        Some(Printed { full, core, active_kernel, assigned_kernel, maximum, blocks })
    };
    assert_eq!(tables.printed(0), row(true, 1, 9, 9, 8, 8));
    assert_eq!(tables.printed(1), row(true, 2, 10, 10, 6, 6));
    assert_eq!(tables.printed(15), row(false, 16, 9, 10, 8, 2));
    // No block goes to core 16 before the last of kernel 9 has ended there.
    assert!(!tables.may_launch(15, nine) && !tables.may_launch(15, ten));
    tables.observe(15, nine, 0);
    assert!(tables.may_launch(15, ten));
    assert_eq!((tables.active_cores(nine), tables.active_cores(ten)), (8, 8));
}

#[test]
fn a_launch_without_a_free_slot_fails() {
    let mut tables = Tables::new(Mapping::Interleaved, 2, &[SM; 4]);
    let first = tables.launch(1, [9, 1, 1], block(256, 16)).unwrap();
    tables.launch(2, [9, 1, 1], block(256, 16)).unwrap();
    assert_eq!(tables.launch(3, [9, 1, 1], block(256, 16)), Err(NoSlot));
    tables.complete(first);
    assert_eq!(tables.launch(3, [9, 1, 1], block(256, 16)), Ok(first));
}

#[test]
fn interleaved_kernels_have_all_cores_and_one_that_is_left_has_its_maximum_again() {
    let mut tables = Tables::new(Mapping::Interleaved, 2, &[SM; 16]);
    let path = tables.launch(1, [463, 1, 1], block(256, 16)).unwrap();
    assert!(!tables.interleaves());
    assert!((0..16).all(|core| tables.queue(core)[0].maximum == 6));
    let bp = tables.launch(2, [4096, 1, 1], block(256, 24)).unwrap();
    assert!(tables.interleaves());
    for core in 0..16 {
        let maxima: Vec<_> = tables.queue(core).iter().map(|entry| (entry.slot, entry.maximum)).collect();
        assert_eq!(maxima, [(path, 3), (bp, 3)]);
    }
    // Blocks of both alternate on a core.
    let placed: Vec<_> =
        std::iter::from_fn(|| tables.next(|core, _| core == 5)).map(|(_, slot)| slot).collect();
    assert_eq!(placed.len(), 6);
    assert!(placed.windows(2).all(|pair| pair[0] != pair[1]));
    assert_eq!((tables.active_cores(path), tables.active_cores(bp)), (16, 16));
    tables.complete(path);
    assert!((0..16).all(|core| *tables.queue(core)
        == [Entry { slot: bp, maximum: 5, active: if core == 5 { 3 } else { 0 }, assigned: true }]));
}

#[test]
fn kernels_that_fail_the_test_have_cores_of_their_own_until_one_ends() {
    let mut tables = Tables::new(Mapping::Interleaved, 3, &[SM; 16]);
    let cfd = tables.launch(1, [506, 1, 1], block(192, 52)).unwrap();
    let hot = tables.launch(2, [1849, 1, 1], block(256, 36)).unwrap();
    assert!(!tables.interleaves());
    assert!((0..16).all(|core| tables.queue(core).iter().filter(|entry| entry.assigned).count() == 1));
    assert_eq!(tables.queue(0)[0], Entry { slot: cfd, maximum: 3, active: 0, assigned: true });
    // With a third kernel, cores go to the kernels in turn: 6, 5 and 5 cores.
    let lud = tables.launch(3, [225, 1, 1], block(256, 16)).unwrap();
    let cores =
        [cfd, hot, lud].map(|slot| (0..16).filter(|core| tables.queue(*core)[0].slot == slot).count());
    assert_eq!(cores, [6, 5, 5]);
    tables.complete(hot);
    assert!(tables.interleaves(), "CFD and LUD pass the test");
}

#[test]
fn a_kernel_alone_can_have_the_blocks_that_it_would_have_beside_another() {
    for mapping in [Mapping::Spatial, Mapping::Interleaved] {
        for (name, demand, most) in kernels() {
            let mut tables = Tables::new(mapping, 2, &[SM; 16]).among(2);
            let slot = tables.launch(1, [1000, 1, 1], demand).unwrap();
            let half = most.div_ceil(2);
            assert!((0..16).all(|core| tables.queue(core)[0].maximum == half), "{name}");
            while tables.next(|_, _| true).is_some() {}
            assert_eq!(tables.kernel(slot).unwrap().next[0], 16 * half, "{name}");
        }
    }
}

#[derive(Clone, Debug)]
enum Action {
    Launch(u32, u32),
    Complete(usize),
    Place,
    End(usize),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        (1u32..9, 8u32..64).prop_map(|(warps, registers)| Action::Launch(32 * warps, registers)),
        (0usize..4).prop_map(Action::Complete),
        Just(Action::Place),
        (0usize..8).prop_map(Action::End),
    ];
    prop::collection::vec(action, 1..80)
}

proptest! {
    /// For any arrivals and ends: no kernel has more blocks on a core than the mapping in force when they
    /// were placed allowed, every valid kernel is assigned to a core, and under spatial scheduling a core has
    /// blocks of one kernel only.
    #[test]
    fn limits_hold_through_any_sequence(actions in actions(), spatial in any::<bool>()) {
        let mapping = if spatial { Mapping::Spatial } else { Mapping::Interleaved };
        let mut tables = Tables::new(mapping, 4, &[SM; 8]);
        let mut index = 0;
        for action in actions {
            match action {
                Action::Launch(threads, registers) => {
                    index += 1;
                    let free = (0..4).any(|slot| tables.kernel(slot).is_none());
                    prop_assert_eq!(tables.launch(index, [1000, 1, 1], block(threads, registers)).is_ok(), free);
                }
                Action::Complete(slot) => {
                    if tables.kernel(slot).is_some() {
                        tables.complete(slot);
                    }
                }
                Action::Place => {
                    if let Some((core, slot)) = tables.next(|_, _| true) {
                        let own = tables.queue(core).iter().find(|entry| entry.slot == slot).copied().unwrap();
                        prop_assert!(own.assigned && own.active <= own.maximum);
                        let others = tables.queue(core).iter().any(|other| other.slot != slot && other.active > 0);
                        prop_assert!(!spatial || !others);
                    }
                }
                Action::End(core) => {
                    if let Some(entry) = tables.queue(core).iter().find(|entry| entry.active > 0).copied() {
                        tables.observe(core, entry.slot, entry.active - 1);
                    }
                }
            }
            for slot in (0..4).filter(|slot| tables.kernel(*slot).is_some()) {
                let assigned = |core: &usize| tables.queue(*core).iter().any(|it| it.slot == slot && it.assigned);
                prop_assert!((0..8).any(|core| assigned(&core)));
            }
        }
    }
}
