//! The CTA scheduler and its policies.

use std::sync::Arc;

use counterpoint_framework::model::{Families, Params, Registry, StatRow, StatValue, Variant};
use counterpoint_framework::testing::{Probe, params};
use counterpoint_hardware::gpu::cta_scheduler::{CtaPolicy, CtaScheduler, Occupancy, Placement, View};
use counterpoint_protocols::extra::{Extra, LineTag};
use counterpoint_protocols::launch::{
    Counted, CtaCounts, IssueSlot, Launch, LaunchEvent, SlotCounts, SmEvent, SmResources, ToScheduler, ToSm,
};

use super::programs::{kernel, launch};
use super::*;

const PLENTY: SmResources = SmResources { threads: 2048, ctas: 32, registers: 1 << 20, shared: 1 << 20 };

/// A block that an SM was given: launch and index.
type Given = (u32, u32);
/// Numbers, each with the cycle in which it was sent.
type Numbers = Vec<(u64, u32)>;

struct Scheduled {
    /// Blocks given to each SM, and when.
    given: Vec<Vec<(u64, Given)>>,
    done: Numbers,
    counts: Vec<(u32, CtaCounts)>,
    stats: Vec<StatRow>,
}

/// Runs launches on SMs that offer the given resources and end a block `duration` cycles after it was sent.
fn schedule_with(
    params: &str,
    sms: &[SmResources],
    duration: u64,
    launches: Vec<(u64, Arc<Launch>)>,
) -> Scheduled {
    let mut bench = bench::<CtaScheduler>(params);
    // The scheduler introduces the SMs first.
    let count = launches.len() + 1;
    let script = launches.into_iter().map(|(cycle, launch)| (cycle, ToScheduler::Start(launch))).collect();
    let done = bench.client::<ToScheduler, LaunchEvent>("launches", None, script, count);
    let logs = counterpoint_hardware::testing::sms(&mut bench, sms, move |_| duration, COUNTS);
    let report = bench.run();
    assert_finished(&report);
    let done = done.take().into_iter().filter_map(|(cycle, event)| match event {
        LaunchEvent::Done(id) => Some((cycle, id.0, None)),
        LaunchEvent::Counted(id, counts) => Some((cycle, id.0, Some(*counts))),
        LaunchEvent::Capacity(..) => None,
    });
    let ends: Vec<(u64, u32, Option<CtaCounts>)> = done.collect();
    let done = ends.iter().map(|&(cycle, id, _)| (cycle, id)).collect();
    let counts = ends.into_iter().filter_map(|(_, id, counts)| Some((id, counts?))).collect();
    Scheduled { given: logs.iter().map(Probe::take).collect(), done, counts, stats: report.stats }
}

/// The same under the policy `fifo`: what each SM was given, and when launches were done.
fn schedule(
    sms: &[SmResources],
    duration: u64,
    launches: Vec<(u64, Arc<Launch>)>,
) -> (Vec<Vec<(u64, Given)>>, Numbers) {
    let Scheduled { given, done, .. } = schedule_with("{ policy: fifo }", sms, duration, launches);
    (given, done)
}

fn simple(id: u32, grid: u32, block: u32) -> Arc<Launch> {
    launch(id, &kernel("st.shared.u32 [scratch], %r1;"), grid, block)
}

#[test]
fn a_small_grid_is_spread_and_placed_at_once() {
    let (logs, done) = schedule(&[PLENTY; 4], 100, vec![(5, simple(1, 6, 32))]);
    let expected = [
        vec![(5, (1, 0)), (6, (1, 4))],
        vec![(5, (1, 1)), (6, (1, 5))],
        vec![(5, (1, 2))],
        vec![(5, (1, 3))],
    ];
    assert_eq!(logs, expected);
    // The SM's script hears of it a cycle later, and its answer takes another.
    assert_eq!(done, [(6 + 1 + 100 + 1, 1)]);
}

fn resident(offer: SmResources, block: u32) -> usize {
    let (logs, _) = schedule(&[offer], 1000, vec![(5, simple(1, 40, block))]);
    logs[0].iter().filter(|(cycle, _)| *cycle < 1000).count()
}

#[test]
fn each_resource_limits_how_many_blocks_fit() {
    let occupancy: Occupancy = params(&Families::default(), "{}");
    let need = occupancy.demand(&simple(1, 1, 33));
    assert_eq!((need.threads, need.ctas, need.shared), (64, 1, 8192), "33 threads are two warps");
    assert!(
        need.registers > 0 && need.registers.is_multiple_of(64 * 4),
        "registers come in fours for whole warps"
    );
    assert_eq!(resident(PLENTY, 33), 32);
    assert_eq!(resident(SmResources { threads: 64 * 5 + 63, ..PLENTY }, 33), 5);
    assert_eq!(resident(SmResources { ctas: 3, ..PLENTY }, 33), 3);
    assert_eq!(resident(SmResources { registers: need.registers * 7 - 1, ..PLENTY }, 33), 6);
    assert_eq!(resident(SmResources { shared: 8192 * 4, ..PLENTY }, 33), 4);
}

#[test]
fn an_end_makes_room_in_the_same_cycle() {
    let one = SmResources { ctas: 1, ..PLENTY };
    let (logs, done) = schedule(&[one], 10, vec![(5, simple(1, 3, 32))]);
    assert_eq!(logs[0], [(5, (1, 0)), (17, (1, 1)), (29, (1, 2))]);
    assert_eq!(done, [(41, 1)]);
}

#[test]
fn kernels_run_strictly_one_after_another() {
    // The second kernel is there from the start and would fit; it begins when the first one's last block has ended.
    let launches = vec![(5, simple(1, 5, 32)), (6, simple(2, 2, 32))];
    let two = SmResources { ctas: 2, ..PLENTY };
    let (logs, done) = schedule(&[two, two], 100, launches);
    let all: Vec<(u64, Given)> = logs.into_iter().flatten().collect();
    let last = all.iter().filter(|(_, given)| given.0 == 1).map(|(cycle, _)| *cycle).max().unwrap();
    let first = all.iter().filter(|(_, given)| given.0 == 2).map(|(cycle, _)| *cycle).min().unwrap();
    assert_eq!((last, first), (107, 107 + 102));
    assert_eq!(done, [(209, 1), (311, 2)]);
}

#[test]
fn a_block_that_fits_nowhere_is_a_fault() {
    let mut bench = bench::<CtaScheduler>("{}");
    bench.client::<ToScheduler, LaunchEvent>(
        "launches",
        None,
        vec![(5, ToScheduler::Start(simple(1, 1, 96)))],
        2,
    );
    let offer = SmResources { threads: 64, ..PLENTY };
    bench.client::<SmEvent, ToSm>("sms", Some(0), vec![(1, SmEvent::Resources(offer))], 0);
    assert!(fault(&bench.run()).starts_with("a block of k needs 96 threads"));
}

/// Places blocks of the oldest launch on one SM, whatever is there: the number is what it gets wrong.
struct Careless(u32);

#[derive(Clone, Debug, Params)]
struct CarelessParams {
    /// The mistake that it makes.
    #[param(default = "0")]
    mistake: u32,
}

impl Variant<dyn CtaPolicy> for Careless {
    const NAME: &'static str = "careless";
    const DOC: &'static str = "Looks at nothing.";
    type Params = CarelessParams;

    fn build(params: &CarelessParams) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Careless(params.mistake)))
    }
}

impl CtaPolicy for Careless {
    fn share(&mut self, _: &Launch, sms: usize) -> Result<Option<std::ops::Range<usize>>, String> {
        Ok(Some(0..if self.0 == 3 { 1 } else { sms }))
    }

    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let launch = view.launches.first()?;
        // One a cycle, but for what does not look at that either.
        let found = match self.0 {
            0 if !view.sms[0].ready => return None,
            1 => Placement { launch: 7, sm: 0 },
            2 => Placement { launch: 0, sm: 9 },
            3 => Placement { launch: 0, sm: 1 },
            4 => Placement { launch: 0, sm: view.sms.iter().position(|sm| sm.ready)? },
            5 => Placement { launch: 0, sm: 0 },
            _ if launch.waiting() == 0 => return None,
            _ => Placement { launch: 0, sm: 0 },
        };
        Some(found)
    }
}

/// The error with which a careless policy's run ends, on two SMs.
fn careless(mistake: u32, sm: SmResources, occupancy: &str, launch: Arc<Launch>) -> String {
    let register = |registry: &mut Registry| {
        counterpoint_hardware::register(registry);
        registry.variant::<dyn CtaPolicy, Careless>();
    };
    let params = format!("{{ policy: {{ careless: {{ mistake: {mistake} }} }}, occupancy: {occupancy} }}");
    let mut bench = Bench::reading::<CtaScheduler>(CLOCK, Environment::default(), register, &params);
    let script = vec![(5, ToScheduler::Start(launch))];
    bench.client::<ToScheduler, LaunchEvent>("launches", None, script, 2);
    for index in 0..2 {
        bench.client::<SmEvent, ToSm>("sms", Some(index), vec![(1, SmEvent::Resources(sm))], 2);
    }
    fault(&bench.run()).to_owned()
}

#[test]
fn a_policy_that_places_what_has_no_room_is_a_fault_that_names_what_is_missing() {
    let packed = "{ spread: off }";
    let occupancy: Occupancy = params(&Families::default(), packed);
    let need = occupancy.demand(&simple(3, 6, 33)).registers;
    let lack = |sm| careless(0, sm, packed, simple(3, 6, 33));
    let begin = "the policy `careless` places block 2 of k#3 on SM 0, where it has no room: it needs ";
    for (sm, missing) in [
        (SmResources { threads: 150, ..PLENTY }, "64 threads, 22 are left".to_owned()),
        (SmResources { ctas: 2, ..PLENTY }, "1 block slots, 0 are left".to_owned()),
        (
            SmResources { registers: 3 * need - 1, ..PLENTY },
            format!("{need} registers, {} are left", need - 1),
        ),
        (SmResources { shared: 20_000, ..PLENTY }, "8192 bytes of shared memory, 3616 are left".to_owned()),
        (
            SmResources { threads: 150, shared: 20_000, ..PLENTY },
            "64 threads, 22 are left, it needs 8192 bytes of shared memory, 3616 are left".to_owned(),
        ),
    ] {
        assert_eq!(lack(sm), format!("{begin}{missing}"));
    }
}

#[test]
fn a_policy_that_places_what_is_not_there_is_a_fault_too() {
    let packed = "{ spread: off }";
    let found = |mistake| careless(mistake, PLENTY, packed, simple(3, 3, 33));
    let name = "the policy `careless` places";
    assert_eq!(found(1), format!("{name} a block of launch 7 in view, where there are 1"));
    assert_eq!(found(2), format!("{name} a block of k#3 on SM 9, and there are 2 SMs"));
    assert_eq!(found(3), format!("{name} block 0 of k#3 on SM 1, which is not of its share, SMs 0 to 0"));
    assert_eq!(found(4), format!("{name} a block of k#3, all of whose 3 are placed"));
    let twice = format!(
        "{name} block 1 of k#3 on SM 0, which cannot take a block in this cycle: it takes one a cycle"
    );
    assert_eq!(found(5), twice);
    // Six blocks on two SMs: three for each.
    let spread = careless(0, PLENTY, "{ spread: on }", simple(3, 6, 33));
    let limit = "on SM 0, which holds the 3 blocks of it that it may have at a time";
    assert_eq!(spread, format!("{name} block 3 of k#3 {limit}"));
}

/// A launch's demand is that of its own registers, not of the estimate.
#[test]
fn a_launch_says_how_many_registers_it_has() {
    let occupancy: Occupancy = params(&Families::default(), "{}");
    let launch = Launch { registers: 29, ..(*simple(1, 1, 256)).clone() };
    assert_eq!(occupancy.demand(&launch).registers, 256 * 32);
    let gtx_480 = SmResources { threads: 1536, ctas: 8, registers: 32768, shared: 48 << 10 };
    let (logs, _) = schedule(&[gtx_480], 1000, vec![(5, Arc::new(launch))]);
    assert_eq!(logs[0].len(), 1);
}

/// Under `fifo` a grid that cannot fill the GPU is spread by the turns alone: the limit changes nothing.
#[test]
fn turns_spread_a_small_grid_without_the_limit() {
    for grid in [1, 3, 6, 31] {
        let run = |params: &str| schedule_with(params, &[PLENTY; 4], 20, vec![(5, simple(1, grid, 32))]);
        let (spread, packed) = (run("{}"), run("{ occupancy: { spread: off } }"));
        assert_eq!((&spread.given, &spread.done), (&packed.given, &packed.done), "{grid} blocks");
        let most = spread.given.iter().map(Vec::len).max();
        assert_eq!(most, Some(grid.div_ceil(4) as usize));
    }
}

const LEFTOVER: &str = "{ policy: leftover }";
const ONE: SmResources = SmResources { ctas: 1, ..PLENTY };
const TWO: SmResources = SmResources { ctas: 2, ..PLENTY };

#[test]
fn what_is_left_over_is_sms_that_are_wholly_empty() {
    let launches = vec![(5, simple(1, 9, 32)), (6, simple(2, 5, 32))];
    let found = schedule_with(LEFTOVER, &[TWO; 4], 100, launches);
    // The second SM is asked first. It takes the first kernel's ninth block, so that it has half its room and is not the
    // second kernel's, which begins where the last blocks of the first have ended.
    let expected = [
        vec![(5, (1, 3)), (6, (1, 7)), (108, (2, 2))],
        vec![(5, (1, 0)), (6, (1, 4)), (107, (1, 8))],
        vec![(5, (1, 1)), (6, (1, 5)), (108, (2, 0)), (109, (2, 3))],
        vec![(5, (1, 2)), (6, (1, 6)), (108, (2, 1)), (109, (2, 4))],
    ];
    assert_eq!(found.given, expected);
    assert_eq!(found.done, [(209, 1), (211, 2)]);
}

#[test]
fn empty_sms_take_the_running_kernels_in_turn() {
    // When all four are empty, the first kernel has two blocks left: it is not chosen before its turn comes, nor alone.
    let launches = vec![(5, simple(1, 6, 32)), (6, simple(2, 3, 32)), (7, simple(3, 3, 32))];
    let found = schedule_with(LEFTOVER, &[ONE; 4], 100, launches);
    let expected = [
        vec![(5, (1, 3)), (107, (2, 1)), (209, (3, 2))],
        vec![(5, (1, 0)), (107, (2, 0)), (209, (3, 1))],
        vec![(5, (1, 1)), (107, (3, 0)), (209, (1, 5))],
        vec![(5, (1, 2)), (107, (1, 4)), (209, (2, 2))],
    ];
    assert_eq!(found.given, expected);
    assert_eq!(found.done, [(311, 3), (312, 1), (313, 2)]);
}

#[test]
fn empty_sms_may_stay_with_the_kernel_that_was_chosen_last() {
    let launches = vec![(5, simple(1, 6, 32)), (6, simple(2, 3, 32)), (7, simple(3, 3, 32))];
    let found = schedule_with("{ policy: { leftover: { choice: same } } }", &[ONE; 4], 100, launches);
    let expected = [
        vec![(5, (1, 3)), (107, (2, 1)), (209, (3, 2))],
        vec![(5, (1, 0)), (107, (1, 4)), (209, (2, 2))],
        vec![(5, (1, 1)), (107, (1, 5)), (209, (3, 0))],
        vec![(5, (1, 2)), (107, (2, 0)), (209, (3, 1))],
    ];
    assert_eq!(found.given, expected);
}

#[test]
fn a_kernel_waits_for_an_entry_of_the_table() {
    let launches = || vec![(5, simple(1, 1, 32)), (6, simple(2, 1, 32)), (7, simple(3, 1, 32))];
    let third = |params: &str| schedule_with(params, &[PLENTY; 4], 100, launches()).given[3].clone();
    assert_eq!(third(LEFTOVER), [(7, (3, 0))]);
    assert_eq!(third("{ policy: leftover, concurrent_kernels: 2 }"), [(107, (3, 0))]);
}

#[test]
fn a_small_grid_does_not_crowd_the_sm_that_is_free() {
    let launches = || vec![(5, simple(1, 3, 32)), (6, simple(2, 8, 32))];
    let spread = schedule_with(LEFTOVER, &[PLENTY; 4], 100, launches());
    // Eight blocks are two for each of four SMs, although three of these are not to be had yet.
    let expected = [
        vec![(6, (2, 0)), (7, (2, 1)), (108, (2, 5))],
        vec![(5, (1, 0)), (107, (2, 2)), (108, (2, 6))],
        vec![(5, (1, 1)), (107, (2, 3)), (108, (2, 7))],
        vec![(5, (1, 2)), (107, (2, 4))],
    ];
    assert_eq!(spread.given, expected);
    let packed = "{ policy: leftover, occupancy: { spread: off } }";
    let packed = schedule_with(packed, &[PLENTY; 4], 100, launches());
    let crowd: Vec<(u64, Given)> = (0..8).map(|index| (6 + u64::from(index), (2, index))).collect();
    assert_eq!(packed.given[0], crowd);
}

const CONCURRENT: &str = "{ policy: concurrent }";

#[test]
fn what_a_kernel_leaves_of_an_sm_the_next_takes_block_by_block() {
    let launches = vec![(5, simple(1, 3, 32)), (6, simple(2, 2, 32)), (7, simple(3, 1, 32))];
    let found = schedule_with(CONCURRENT, &[TWO; 2], 100, launches);
    // The first kernel's last block and the second one's first share cycle 6; what these leave has no room until a block ends.
    let expected =
        [vec![(5, (1, 0)), (6, (1, 2)), (107, (2, 1))], vec![(5, (1, 1)), (6, (2, 0)), (107, (3, 0))]];
    assert_eq!(found.given, expected);
    assert_eq!(found.done, [(108, 1), (209, 2), (210, 3)]);
}

#[test]
fn a_block_that_fits_nowhere_holds_those_of_later_kernels() {
    let half = SmResources { threads: 64, ..PLENTY };
    let launches = vec![(5, simple(1, 1, 32)), (6, simple(2, 1, 64)), (7, simple(3, 1, 32))];
    let found = schedule_with(CONCURRENT, &[half], 100, launches);
    assert_eq!(found.given, [vec![(5, (1, 0)), (107, (2, 0)), (209, (3, 0))]]);
}

fn on_stream(stream: u32, id: u32, grid: u32) -> Arc<Launch> {
    Arc::new(Launch { stream, ..(*simple(id, grid, 32)).clone() })
}

#[test]
fn a_share_of_the_sms_is_a_gpu_of_its_own() {
    let params = "{ policy: { fixed-split: { sms: [1, 2] } } }";
    // The third stream shares the first one's SM, and waits for it; the fourth SM is nobody's.
    let launches = vec![(5, on_stream(1, 1, 3)), (6, on_stream(2, 2, 4)), (7, on_stream(3, 3, 1))];
    let found = schedule_with(params, &[TWO; 4], 100, launches);
    let expected = [
        vec![(5, (1, 0)), (6, (1, 1)), (107, (1, 2)), (209, (3, 0))],
        vec![(6, (2, 0)), (7, (2, 2))],
        vec![(6, (2, 1)), (7, (2, 3))],
        vec![],
    ];
    assert_eq!(found.given, expected);
    assert_eq!(found.done, [(109, 2), (209, 1), (311, 3)]);
    // The default stream has the first share, and its grid is spread over that alone.
    let found = schedule_with(params, &[TWO; 4], 100, vec![(5, on_stream(0, 1, 2))]);
    assert_eq!(found.given[0], [(5, (1, 0)), (6, (1, 1))]);
}

#[test]
fn shares_beyond_the_sms_are_a_fault() {
    let mut bench = bench::<CtaScheduler>("{ policy: { fixed-split: { sms: [1, 2] } } }");
    bench.client::<ToScheduler, LaunchEvent>("launches", None, vec![], 1);
    for sm in 0..2 {
        bench.client::<SmEvent, ToSm>("sms", Some(sm), vec![], 0);
    }
    assert_eq!(fault(&bench.run()), "the shares of `fixed-split` have 3 SMs, the GPU has 2");
}

/// Counts of every block.
const COUNTS: CtaCounts = CtaCounts {
    warp_insn: 10,
    thread_insn: 300,
    memory_insn: 4,
    alu_results: 5,
    alu_cycles: 55,
    memory_results: 3,
    memory_cycles: 99,
    global_insn: 3,
    uncoalesced_insn: 1,
    global_requests: 7,
    memory_bytes: 96,
    l1_accesses: 5,
    l1_misses: 3,
    shared_conflicts: 2,
    warp_cycles: 60,
    warp_slots: 240,
    slots: SlotCounts::NONE.with(IssueSlot::Used, 9).with(IssueSlot::Memory, 40),
};

fn count_at(stats: &[StatRow], path: &str, name: &str) -> u64 {
    let row = stats.iter().find(|row| row.path == path && row.label.name == name);
    match row.map(|row| row.value) {
        Some(StatValue::Count(count)) => count,
        other => panic!("{path}.{name} is {other:?}"),
    }
}

/// Counts of `ctas` blocks.
fn counted(ctas: u64) -> [(&'static str, u64); 16] {
    [
        ("warp_insn", 10 * ctas),
        ("gpu_sim_insn", 300 * ctas),
        ("memory_insn", 4 * ctas),
        ("alu_results", 5 * ctas),
        ("alu_cycles", 55 * ctas),
        ("memory_results", 3 * ctas),
        ("memory_cycles", 99 * ctas),
        ("global_insn", 3 * ctas),
        ("uncoalesced_insn", ctas),
        ("global_requests", 7 * ctas),
        ("memory_bytes", 96 * ctas),
        ("L1D_total_cache_accesses", 5 * ctas),
        ("L1D_total_cache_misses", 3 * ctas),
        ("gpgpu_n_shmem_bkconflict", 2 * ctas),
        ("warp_cycles", 60 * ctas),
        ("warp_slots", 240 * ctas),
    ]
}

#[test]
fn a_counted_launch_ends_with_the_sum_of_its_blocks() {
    let mut counted = (*on_stream(1, 2, 3)).clone();
    counted.extra = Extra::new(Counted, LineTag::NONE);
    let launches = vec![(5, on_stream(1, 1, 2)), (6, Arc::new(counted))];
    let Scheduled { counts, done, .. } = schedule_with("{ policy: fifo }", &[ONE; 2], 100, launches);
    let mut sum = COUNTS;
    sum += COUNTS;
    sum += COUNTS;
    assert_eq!((sum.warp_insn, sum.slots.total(), sum.uncoalesced_insn), (30, 147, 3));
    assert_eq!((counts, done.len()), (vec![(2, sum)], 2));
}

#[test]
fn launches_and_streams_are_counted_one_by_one() {
    let launches = vec![(5, on_stream(1, 1, 2)), (6, on_stream(2, 2, 3)), (8, on_stream(1, 3, 1))];
    let params = "{ policy: leftover, concurrent_kernels: 2 }";
    let Scheduled { stats, .. } = schedule_with(params, &[ONE; 4], 100, launches);
    let slots = |part: &str| {
        ["used", "memory", "data"].map(|name| count_at(&stats, &format!("unit.{part}.issue_slots"), name))
    };
    assert_eq!(slots("kernels[k#2]"), [3 * 9, 3 * 40, 0]);
    assert_eq!(slots("streams[1]"), [3 * 9, 3 * 40, 0]);
    let ratio = |path: &str, name: &str| {
        let row = stats.iter().find(|row| row.path == path && row.label.name == name);
        row.map(|row| row.value)
    };
    let eleven = Some(StatValue::Ratio { part: 3 * 55, whole: 3 * 5 });
    assert_eq!(ratio("unit.kernels[k#2]", "mean_alu_latency"), eleven);
    let hundredth = Some(StatValue::Ratio { part: 3 * 99, whole: 3 * 3 });
    assert_eq!(ratio("unit.streams[1]", "mean_memory_latency"), hundredth);
    let quarter = |ctas: u64| Some(StatValue::Ratio { part: 60 * ctas, whole: 240 * ctas });
    assert_eq!(ratio("unit.kernels[k#2]", "gpu_occupancy"), quarter(3));
    assert_eq!(ratio("unit", "gpu_tot_occupancy"), quarter(6));
    assert_eq!(ratio("unit.kernels[k#1]", "gpu_ipc"), Some(StatValue::Ratio { part: 600, whole: 102 }));
    // From the first launch's arrival to the last one's end, without a gap.
    assert_eq!(count_at(&stats, "unit", "gpu_tot_sim_cycle"), 204);
    let of = |part: &str| -> Vec<(&str, u64)> {
        let path = format!("unit.{part}");
        let rows = stats.iter().filter(|row| row.path == path);
        let count = |row: &StatRow| match row.value {
            StatValue::Count(count) => Some((row.label.name, count)),
            _ => None,
        };
        rows.filter_map(count).collect()
    };
    // The second kernel's third block has to wait for the first kernel's SM, and the third kernel for an entry.
    let kernel = |stream, ctas, cycles, active| {
        let mut rows = vec![
            ("stream", stream),
            ("cta_threads", 32),
            ("ctas_per_sm", 1),
            ("ctas", ctas),
            ("ctas_ended", ctas),
            ("gpu_sim_cycle", cycles),
            ("active_cycles", active),
        ];
        rows.extend(counted(ctas));
        rows
    };
    assert_eq!(of("kernels[k#1]"), kernel(1, 2, 102, 102));
    assert_eq!(of("kernels[k#2]"), kernel(2, 3, 203, 203));
    assert_eq!(of("kernels[k#3]"), kernel(1, 1, 201, 102));
    let stream = |launches, ctas, cycles, active| {
        let mut rows = vec![
            ("launches", launches),
            ("ctas", ctas),
            ("ctas_ended", ctas),
            ("gpu_sim_cycle", cycles),
            ("active_cycles", active),
        ];
        rows.extend(counted(ctas));
        rows
    };
    assert_eq!(of("streams[1]"), stream(2, 3, 303, 204));
    assert_eq!(of("streams[2]"), stream(1, 3, 203, 203));
}
