//! Litmus tests with time: each thread's view of the others' accesses, on SMs with an L1 and without, against
//! the memory model of PTX, whose allowed outcomes are enumerated from its axioms (`litmus/model.rs`).
//!
//! Programs come from families: message passing, store and load buffering, independent reads of independent writes, coherence,
//! causality over three threads, barriers. Each is made with every order, scope and placement that means something, and runs
//! many rounds with other delays and other places of its locations.
//!
//! An SM's messages pass one switch in order, so the L1 alone shows weak behaviour here: that releases wait
//! is measured where memory is slow at will (`components/hardware/tests/timing/order.rs`).

mod host;
mod kernel;
mod model;
mod races;

use std::collections::BTreeSet;

use kernel::{LitmusMachine, Program, observe};
use model::{Op, Outcome, Scope, Strength, Thread, allowed, interleaved};

const SCOPES: [Scope; 3] = [Scope::Cta, Scope::Gpu, Scope::Sys];
const ROUNDS: usize = 12;
/// Rounds on machines whose network delays messages, which take ten times as long; the slow tests run all rounds on these
/// machines, too.
const FEW_ROUNDS: usize = 4;
/// Two SMs with an L1 that global loads look into; four blocks share them.
const CACHED: LitmusMachine = LitmusMachine { sets: &["gpu.sms=2"], jitters: false };
/// Two SMs with an L1 that global loads bypass.
const BYPASSED: LitmusMachine =
    LitmusMachine { sets: &["gpu.sms=2", "gpu.sm.l1d.global=bypass"], jitters: false };
/// Two SMs whose stores leave what they write in the L1.
const THROUGH: LitmusMachine =
    LitmusMachine { sets: &["gpu.sms=2", "gpu.sm.l1d.write={ through: { allocate: on } }"], jitters: false };
/// An SM for each block.
const SPREAD: LitmusMachine = LitmusMachine { sets: &["gpu.sms=4"], jitters: false };

/// The machine with a network that delays messages at random.
fn jittery(machine: LitmusMachine) -> LitmusMachine {
    LitmusMachine { jitters: true, ..machine }
}

fn read(at: usize, into: usize, how: Strength) -> Op {
    Op::Read { at, into, how }
}

fn write(at: usize, value: u32, how: Strength) -> Op {
    Op::Write { at, value, how }
}

/// A thread's way of publishing, instead of a plain store of 1 to a flag.
fn publishing(at: usize, scope: Scope, legacy: bool) -> Vec<(&'static str, Vec<Op>)> {
    let fenced = |sc, how| vec![Op::Fence { sc, scope }, write(at, 1, how)];
    let mut all = vec![
        ("weak", vec![write(at, 1, Strength::Weak)]),
        ("volatile", vec![write(at, 1, Strength::Volatile)]),
        ("fence.sc, volatile", fenced(true, Strength::Volatile)),
    ];
    if !legacy {
        all.extend([
            ("relaxed", vec![write(at, 1, Strength::Relaxed(scope))]),
            ("release", vec![write(at, 1, Strength::Release(scope))]),
            ("fence, relaxed", fenced(false, Strength::Relaxed(scope))),
            ("atom.release", vec![Op::Add { at, value: 1, into: 7, how: Strength::Release(scope) }]),
        ]);
    }
    all
}

/// A thread's look at a flag.
fn looking(at: usize, into: usize, scope: Scope, legacy: bool) -> Vec<(&'static str, Vec<Op>)> {
    let mut all = vec![
        ("volatile", vec![read(at, into, Strength::Volatile)]),
        ("volatile, fence.sc", vec![read(at, into, Strength::Volatile), Op::Fence { sc: true, scope }]),
    ];
    if !legacy {
        all.extend([
            ("acquire", vec![read(at, into, Strength::Acquire(scope))]),
            (
                "relaxed, fence",
                vec![read(at, into, Strength::Relaxed(scope)), Op::Fence { sc: false, scope }],
            ),
            ("atom.acq_rel", vec![Op::Add { at, value: 0, into, how: Strength::AcqRel(scope) }]),
        ]);
    }
    all
}

fn thread((block, warp): (u32, u32), ops: Vec<Op>) -> Thread {
    Thread { block, warp, ops }
}

/// The places of two threads: warps of a block, and blocks, on the same SM or not.
const PAIRS: [[(u32, u32); 2]; 3] = [[(0, 0), (0, 1)], [(0, 0), (1, 1)], [(0, 0), (2, 0)]];

fn program(name: String, threads: Vec<Thread>, locations: usize, registers: usize) -> Program {
    Program { name, threads, locations, registers }
}

/// A datum and a flag.
fn message_passing(legacy: bool) -> Vec<Program> {
    let mut all = Vec::new();
    for scope in SCOPES {
        for (publish, writes) in publishing(1, scope, legacy) {
            for (look, reads) in looking(1, 0, scope, legacy) {
                for places in PAIRS {
                    let writer = [vec![write(0, 1, Strength::Weak)], writes.clone()].concat();
                    let reader = [reads.clone(), vec![read(0, 1, Strength::Weak)]].concat();
                    let name = format!("MP {scope:?} {places:?}: {publish} / {look}");
                    let threads = vec![thread(places[0], writer), thread(places[1], reader)];
                    all.push(program(name, threads, 2, 8));
                }
            }
        }
    }
    all
}

/// The operations between two accesses of a thread.
fn fences(scope: Scope) -> [(&'static str, Vec<Op>); 3] {
    [
        ("", vec![]),
        ("fence", vec![Op::Fence { sc: false, scope }]),
        ("fence.sc", vec![Op::Fence { sc: true, scope }]),
    ]
}

/// Each thread writes and looks whether the other one has (SB), and the reverse (LB).
fn buffering() -> Vec<Program> {
    let mut all = Vec::new();
    for scope in SCOPES {
        for (name, fence) in fences(scope) {
            for how in [Strength::Weak, Strength::Relaxed(scope)] {
                for places in PAIRS {
                    let side = |first: Op, second: Op| [vec![first], fence.clone(), vec![second]].concat();
                    let stores = vec![
                        thread(places[0], side(write(0, 1, how), read(1, 0, how))),
                        thread(places[1], side(write(1, 1, how), read(0, 1, how))),
                    ];
                    let loads = vec![
                        thread(places[0], side(read(0, 0, how), write(1, 1, how))),
                        thread(places[1], side(read(1, 1, how), write(0, 1, how))),
                    ];
                    all.push(program(format!("SB {scope:?} {places:?} {how:?} {name}"), stores, 2, 2));
                    all.push(program(format!("LB {scope:?} {places:?} {how:?} {name}"), loads, 2, 2));
                }
            }
        }
    }
    all
}

/// Two threads look at two writes of two others, in either order.
fn independent_reads() -> Vec<Program> {
    let mut all = Vec::new();
    let spread = [(0, 0), (1, 0), (2, 0), (3, 0)];
    let paired = [(0, 0), (1, 0), (0, 1), (1, 1)];
    for scope in [Scope::Gpu, Scope::Sys] {
        for (name, fence) in fences(scope) {
            for (first, second) in [
                (Strength::Relaxed(scope), Strength::Relaxed(scope)),
                (Strength::Acquire(scope), Strength::Weak),
                (Strength::Relaxed(scope), Strength::Weak),
            ] {
                for places in [spread, paired] {
                    let reader = |a: usize, b: usize, into: usize| {
                        [vec![read(a, into, first)], fence.clone(), vec![read(b, into + 1, second)]].concat()
                    };
                    let threads = vec![
                        thread(places[0], vec![write(0, 1, Strength::Relaxed(scope))]),
                        thread(places[1], vec![write(1, 1, Strength::Relaxed(scope))]),
                        thread(places[2], reader(0, 1, 0)),
                        thread(places[3], reader(1, 0, 2)),
                    ];
                    let name = format!("IRIW {scope:?} {places:?} {first:?} {second:?} {name}");
                    all.push(program(name, threads, 2, 4));
                }
            }
        }
    }
    all
}

/// Accesses to one location.
fn coherence() -> Vec<Program> {
    let mut all = Vec::new();
    for scope in SCOPES {
        for how in [Strength::Weak, Strength::Relaxed(scope), Strength::Volatile] {
            for places in PAIRS {
                let two = |name: &str, a: Vec<Op>, b: Vec<Op>| {
                    let threads = vec![thread(places[0], a), thread(places[1], b)];
                    program(format!("{name} {scope:?} {places:?} {how:?}"), threads, 1, 2)
                };
                let reads = vec![read(0, 0, how), read(0, 1, how)];
                all.push(two("CoRR", vec![write(0, 1, how), write(0, 2, how)], reads));
                all.push(two("CoWW", vec![write(0, 1, how), write(0, 2, how)], vec![read(0, 0, how)]));
                all.push(two("CoRW", vec![read(0, 0, how), write(0, 1, how)], vec![write(0, 2, how)]));
                all.push(two("CoWR", vec![write(0, 1, how), read(0, 0, how)], vec![write(0, 2, how)]));
                let atomic = |into| Op::Add { at: 0, value: 1, into, how: Strength::Relaxed(Scope::Gpu) };
                all.push(two("RMW", vec![atomic(0)], vec![atomic(1)]));
            }
        }
    }
    all
}

/// A value that a thread has seen, or a barrier has put before it, is ordered before its own publication.
fn chains() -> Vec<Program> {
    let mut all = Vec::new();
    let apart = [(0, 0), (1, 0), (2, 0)];
    let mixed = [(0, 0), (1, 0), (1, 1)];
    let back = [(0, 0), (1, 0), (0, 1)];
    for scope in [Scope::Gpu, Scope::Sys] {
        for (publish, first) in publishing(1, scope, false) {
            for (look, seen) in looking(1, 0, scope, false) {
                for places in [apart, mixed, back] {
                    // The middle one passes on its observation, the last one looks by an acquire.
                    let middle = [seen.clone(), vec![write(2, 1, Strength::Release(scope))]].concat();
                    let last = vec![read(2, 1, Strength::Acquire(scope)), read(0, 2, Strength::Weak)];
                    let threads = vec![
                        thread(places[0], [vec![write(0, 1, Strength::Weak)], first.clone()].concat()),
                        thread(places[1], middle),
                        thread(places[2], last),
                    ];
                    all.push(program(
                        format!("ISA2 {scope:?} {places:?}: {publish} / {look}"),
                        threads,
                        3,
                        8,
                    ));
                }
                // A warp stores, its neighbour publishes behind a barrier.
                for places in [[(0, 0), (0, 1), (1, 0)], [(0, 0), (0, 1), (2, 0)]] {
                    let threads = vec![
                        thread(places[0], vec![write(0, 1, Strength::Weak), Op::Barrier]),
                        thread(places[1], [vec![Op::Barrier], first.clone()].concat()),
                        thread(places[2], [seen.clone(), vec![read(0, 2, Strength::Weak)]].concat()),
                    ];
                    all.push(program(
                        format!("MP.bar {scope:?} {places:?}: {publish} / {look}"),
                        threads,
                        2,
                        8,
                    ));
                }
            }
        }
    }
    all
}

/// Programs with the outcomes that the model allows each of them, and those of its interleavings.
struct Family(Vec<(Program, BTreeSet<Outcome>, BTreeSet<Outcome>)>);

impl Family {
    fn of(programs: Vec<Program>) -> Self {
        let outcomes = |program: Program| {
            let Program { threads, locations, registers, .. } = &program;
            let strong = interleaved(threads, *locations, *registers);
            let allowed = allowed(threads, *locations, *registers);
            (program, allowed, strong)
        };
        Family(programs.into_iter().map(outcomes).collect())
    }

    /// Runs the programs, asserts that they show no forbidden outcome, and gives those with outcomes of no
    /// interleaving.
    #[track_caller]
    fn check(&self, machine: LitmusMachine, target: u32) -> Vec<String> {
        self.check_rounds(machine, target, if machine.jitters { FEW_ROUNDS } else { ROUNDS })
    }

    #[track_caller]
    fn check_rounds(&self, machine: LitmusMachine, target: u32, rounds: usize) -> Vec<String> {
        let programs: Vec<Program> = self.0.iter().map(|(program, ..)| program.clone()).collect();
        let observed = observe(&programs, machine, (target, rounds), false);
        let mut weak = Vec::new();
        for ((Program { name, .. }, allowed, strong), seen) in self.0.iter().zip(observed) {
            if target >= 70 {
                let forbidden: Vec<&Outcome> = seen.difference(allowed).collect();
                assert!(forbidden.is_empty(), "{name} shows {forbidden:?}, allowed is {allowed:?}");
            }
            if !seen.is_subset(strong) {
                weak.push(name.clone());
            }
        }
        weak
    }

    /// The programs that are no weaker than their interleavings, says the model.
    fn strong(&self) -> usize {
        self.0.iter().filter(|(_, allowed, strong)| allowed.is_subset(strong)).count()
    }
}

#[test]
fn the_model_says_what_the_manual_says() {
    let outcome = |program: &Program, at: &[(usize, u32)]| {
        let Program { threads, locations, registers, .. } = program;
        allowed(threads, *locations, *registers)
            .iter()
            .any(|outcome| at.iter().all(|&(register, value)| outcome[register] == value))
    };
    let find = |all: &[Program], name: &str| -> Program {
        all.iter().find(|it| it.name == name).unwrap_or_else(|| panic!("{name}")).clone()
    };
    // The stale datum behind a flag that was seen.
    let stale = [(0, 1), (1, 0)];
    let passing = message_passing(false);
    for (name, weak) in [
        ("MP Gpu [(0, 0), (1, 1)]: release / acquire", false),
        ("MP Gpu [(0, 0), (1, 1)]: fence, relaxed / relaxed, fence", false),
        ("MP Sys [(0, 0), (1, 1)]: fence.sc, volatile / volatile, fence.sc", false),
        ("MP Gpu [(0, 0), (1, 1)]: atom.release / atom.acq_rel", false),
        ("MP Cta [(0, 0), (0, 1)]: release / acquire", false),
        ("MP Cta [(0, 0), (1, 1)]: release / acquire", true),
        ("MP Gpu [(0, 0), (1, 1)]: relaxed / acquire", true),
        ("MP Gpu [(0, 0), (1, 1)]: release / volatile", true),
        ("MP Gpu [(0, 0), (1, 1)]: weak / acquire", true),
    ] {
        assert_eq!(outcome(&find(&passing, name), &stale), weak, "{name}");
    }
    let buffering = buffering();
    for (name, values, weak) in [
        ("SB Gpu [(0, 0), (1, 1)] Relaxed(Gpu) fence.sc", [(0, 0), (1, 0)], false),
        ("SB Gpu [(0, 0), (1, 1)] Relaxed(Gpu) fence", [(0, 0), (1, 0)], true),
        ("SB Cta [(0, 0), (1, 1)] Relaxed(Cta) fence.sc", [(0, 0), (1, 0)], true),
        ("LB Gpu [(0, 0), (1, 1)] Relaxed(Gpu) fence", [(0, 1), (1, 1)], false),
        ("LB Gpu [(0, 0), (1, 1)] Relaxed(Gpu) ", [(0, 1), (1, 1)], true),
    ] {
        assert_eq!(outcome(&find(&buffering, name), &values), weak, "{name}");
    }
    let spread = "IRIW Gpu [(0, 0), (1, 0), (2, 0), (3, 0)] Relaxed(Gpu) Relaxed(Gpu)";
    for (fence, weak) in [("fence.sc", false), ("fence", true), ("", true)] {
        let program = find(&independent_reads(), &format!("{spread} {fence}"));
        assert_eq!(outcome(&program, &[(0, 1), (1, 0), (2, 1), (3, 0)]), weak, "IRIW {fence}");
    }
    let coherent = coherence();
    let corr = find(&coherent, "CoRR Gpu [(0, 0), (1, 1)] Relaxed(Gpu)");
    assert!(!outcome(&corr, &[(0, 2), (1, 1)]) && outcome(&corr, &[(0, 1), (1, 2)]));
    let chains = chains();
    assert!(!outcome(
        &find(&chains, "ISA2 Gpu [(0, 0), (1, 0), (2, 0)]: release / acquire"),
        &[(0, 1), (1, 1), (2, 0)]
    ));
    assert!(!outcome(
        &find(&chains, "MP.bar Gpu [(0, 0), (0, 1), (1, 0)]: release / acquire"),
        &[(0, 1), (2, 0)]
    ));
    assert!(outcome(
        &find(&chains, "MP.bar Gpu [(0, 0), (0, 1), (1, 0)]: relaxed / acquire"),
        &[(0, 1), (2, 0)]
    ));
}

#[test]
fn messages_are_passed_in_order_where_the_model_says_so() {
    let family = Family::of(message_passing(false));
    assert!(family.strong() > 50);
    let weak = family.check(CACHED, 70);
    // The test can fail: where nothing orders them, the stale datum is there to be seen.
    assert!(weak.iter().any(|name| name.contains(": release / volatile")), "{weak:?}");
    assert!(
        weak.iter().all(|name| !name.contains("Gpu") || !name.contains(": release / acquire")),
        "{weak:?}"
    );
    for machine in [BYPASSED, jittery(BYPASSED), jittery(CACHED), THROUGH] {
        family.check(machine, 70);
    }
}

#[test]
fn below_sm_70_a_fence_leaves_the_l1_as_it_is() {
    let weak = Family::of(message_passing(true)).check(CACHED, 61);
    assert!(weak.iter().any(|name| name.contains("fence.sc, volatile / volatile, fence.sc")), "{weak:?}");
    // Within a block, and with loads that bypass the L1, no load is stale.
    let is_apart = |name: &String| !name.contains("[(0, 0), (0, 1)]");
    assert!(weak.iter().filter(|name| name.contains("fence.sc, volatile / ")).all(is_apart), "{weak:?}");
}

#[test]
fn buffers_reorder_only_what_may_be_reordered() {
    let family = Family::of(buffering());
    let weak = family.check(CACHED, 70);
    assert!(weak.iter().any(|name| name.starts_with("SB")), "{weak:?}");
    family.check(jittery(CACHED), 70);
}

#[test]
fn independent_writes_are_seen_in_one_order_where_fences_are_sc() {
    let family = Family::of(independent_reads());
    family.check(CACHED, 75);
    family.check(SPREAD, 90);
    family.check(jittery(SPREAD), 90);
}

#[test]
fn a_location_has_one_order() {
    let family = Family::of(coherence());
    family.check(CACHED, 70);
    family.check(BYPASSED, 80);
    family.check(THROUGH, 80);
    family.check(jittery(CACHED), 80);
}

#[test]
fn causality_goes_through_third_threads_and_barriers() {
    let family = Family::of(chains());
    let mut weak = family.check(CACHED, 70);
    weak.extend(family.check(jittery(CACHED), 70));
    family.check(THROUGH, 70);
    // Without an acquire the last thread, or the thread after the barrier's flag, sees a stale datum.
    assert!(weak.iter().any(|name| name.ends_with(" / volatile")), "{weak:?}");
}

#[test]
fn without_time_everything_is_interleaved() {
    let in_one_block = |program: &Program| program.threads.iter().all(|thread| thread.block == 0);
    let families = [message_passing(false), buffering(), coherence()].concat();
    let programs: Vec<Program> = families.into_iter().filter(in_one_block).collect();
    let observed = observe(&programs, CACHED, (70, 4), true);
    for (program, seen) in programs.iter().zip(observed) {
        let Program { name, threads, locations, registers } = program;
        let expected: BTreeSet<Outcome> = interleaved(threads, *locations, *registers);
        assert!(seen.is_subset(&expected), "{name} shows {seen:?}");
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn messages_are_passed_in_order_on_a_network_that_holds_messages_up() {
        let family = Family::of(message_passing(false));
        for machine in [jittery(BYPASSED), jittery(CACHED), jittery(THROUGH)] {
            family.check_rounds(machine, 70, ROUNDS);
        }
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn buffers_reorder_only_what_may_be_reordered_on_a_network_that_holds_messages_up() {
        Family::of(buffering()).check_rounds(jittery(CACHED), 70, ROUNDS);
        Family::of(independent_reads()).check_rounds(jittery(SPREAD), 90, ROUNDS);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn a_location_has_one_order_on_a_network_that_holds_messages_up() {
        Family::of(coherence()).check_rounds(jittery(CACHED), 80, ROUNDS);
        Family::of(coherence()).check_rounds(jittery(THROUGH), 80, ROUNDS);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn causality_goes_through_third_threads_on_a_network_that_holds_messages_up() {
        Family::of(chains()).check_rounds(jittery(CACHED), 70, ROUNDS);
    }
}
