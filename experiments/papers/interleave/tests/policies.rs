//! The policies `spatial` and `interleaved` in the CTA scheduler, to the cycle.

use std::sync::Arc;

use counterpoint::gpu::cta_scheduler::CtaScheduler;
use counterpoint::kernel::Outcome;
use counterpoint::messages::launch::{CtaCounts, Launch, LaunchEvent, SmResources, ToScheduler};
use counterpoint::testing::gpu::*;
use counterpoint::testing::{BenchReport, Probe, gpu};

/// Room for four blocks of 32 threads.
const FOUR: SmResources = SmResources { threads: 128, ctas: 8, registers: 1 << 20, shared: 1 << 20 };

/// A launch of this many blocks of `warps` warps; a block takes a hundred times the launch's number of cycles.
fn of(id: u32, grid: u32, warps: u32) -> Arc<Launch> {
    launch(id, &kernel("st.shared.u32 [scratch], %r1;"), grid, 32 * warps)
}

/// A block on an SM: the cycle of its placement, its launch and its index.
type Placed = (u64, u32, u32);

/// Runs launches, each from a cycle on, on `sms` SMs; returns the blocks placed on each SM.
fn run(policy: &str, sms: u32, launches: &[(u64, Arc<Launch>)]) -> (Vec<Vec<Placed>>, BenchReport) {
    let params = format!("{{ policy: {policy}, occupancy: {{ spread: off }} }}");
    let mut bench = bench_with::<CtaScheduler>(counterpoint_interleave::register, &params);
    let start = |(cycle, launch): &(u64, Arc<Launch>)| (*cycle, ToScheduler::Start(Arc::clone(launch)));
    let script = launches.iter().map(start).collect();
    bench.client::<ToScheduler, LaunchEvent>("launches", None, script, launches.len() + 1);
    let offers = vec![FOUR; sms as usize];
    let logs = gpu::sms(&mut bench, &offers, |launch| 100 * u64::from(launch), CtaCounts::default());
    let report = bench.run();
    let placed = |log: &Probe<(u32, u32)>| {
        log.take().into_iter().map(|(cycle, (launch, index))| (cycle, launch, index)).collect()
    };
    (logs.iter().map(placed).collect(), report)
}

/// The launches whose blocks were placed on an SM from a cycle on and before another, in their order.
fn served(placed: &[Placed], from: u64, before: u64) -> Vec<u32> {
    let within = placed.iter().filter(|(cycle, ..)| (from..before).contains(cycle));
    within.map(|(_, launch, _)| *launch).collect()
}

#[test]
fn kernels_have_sms_of_their_own_in_turn_and_no_block_moves() {
    // The second comes when the first has filled the SMs.
    let (placed, report) = run("spatial", 4, &[(5, of(1, 24, 1)), (50, of(2, 8, 1))]);
    assert_finished(&report);
    for (sm, placed) in placed.iter().enumerate() {
        let kernels = served(placed, 0, 90);
        assert_eq!(kernels, [1, 1, 1, 1], "SM {sm} is full of the first kernel");
    }
    // Blocks of the first kernel end from cycle 107 on, one per cycle. The first and the third SM continue
    // with this kernel.
    assert_eq!(served(&placed[0], 100, 200), [1, 1, 1, 1]);
    assert_eq!(served(&placed[2], 100, 200), [1, 1, 1, 1]);
    // The others get no block before the last of the first kernel has ended there, and then the second kernel's.
    let ended = placed[1].iter().filter(|(_, launch, _)| *launch == 1).map(|(cycle, ..)| cycle + 100).max();
    let first = placed[1].iter().find(|(_, launch, _)| *launch == 2).map(|(cycle, ..)| *cycle);
    assert!(first > ended, "{first:?} {ended:?}");
    assert_eq!(served(&placed[1], 100, 300), [2, 2, 2, 2]);
    assert_eq!(served(&placed[3], 100, 300), [2, 2, 2, 2]);
}

#[test]
fn interleaved_kernels_share_every_sm_half_and_half() {
    let (placed, report) = run("interleaved", 4, &[(5, of(1, 400, 1)), (50, of(2, 24, 1))]);
    assert_finished(&report);
    for placed in &placed {
        assert_eq!(served(placed, 0, 90), [1, 1, 1, 1], "alone it has its maximum");
        // As the four blocks of the first kernel end, two blocks of each kernel are placed.
        let mut kernels = served(placed, 100, 120);
        kernels.sort_unstable();
        assert_eq!(kernels, [1, 1, 2, 2]);
        // Two blocks of the second kernel at a time, six in all, each 200 cycles.
        let second: Vec<u64> =
            placed.iter().filter(|(_, launch, _)| *launch == 2).map(|(cycle, ..)| *cycle).collect();
        assert_eq!(second.len(), 6);
        assert!(second.windows(3).all(|three| three[2] >= three[0] + 200), "{second:?}");
    }
    // When it has ended the first has its maximum again: four blocks at a time, each for a hundred cycles and two of messages.
    let end =
        placed.iter().flatten().filter(|(_, launch, _)| *launch == 2).map(|(cycle, ..)| cycle + 210).max();
    let end = end.unwrap();
    for placed in &placed {
        assert!(served(placed, end, end + 102).len() >= 4, "{:?}", &placed[placed.len() - 12..]);
    }
}

#[test]
fn kernels_that_fail_the_occupancy_test_are_apart() {
    // An SM holds one block of three warps; half of that rounds up to one, and two do not fit.
    let (placed, report) = run("interleaved", 4, &[(5, of(1, 40, 3)), (6, of(2, 40, 3))]);
    assert_finished(&report);
    for (sm, placed) in placed.iter().enumerate() {
        let own = sm as u32 % 2 + 1;
        assert!(served(placed, 10, 1000).iter().all(|launch| *launch == own), "SM {sm}");
    }
}

#[test]
fn a_launch_beyond_the_slots_fails() {
    let launches = [(5, of(1, 400, 1)), (6, of(2, 400, 1)), (7, of(3, 4, 1))];
    let (_, report) = run("{ interleaved: { slots: 2 } }", 2, &launches);
    let Outcome::Failed { fault, .. } = &report.outcome else { panic!("{:?}", report.outcome) };
    assert!(fault.to_string().contains("all 2 slots of the kernel status block are taken"), "{fault}");
    let (_, report) = run("{ interleaved: { slots: 3 } }", 2, &launches);
    assert_finished(&report);
}
