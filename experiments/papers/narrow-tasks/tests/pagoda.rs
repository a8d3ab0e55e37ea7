//! Pagoda on whole machines (Yeh et al., PPoPP 2017), by the facts that the paper states. How its tables and its allocator keep their
//! rules, step by step, is in the tests of `host-model`.

use counterpoint::messages::memory::Written;
use counterpoint::run::{RunRequest, RunSummary};
use counterpoint::time::SimTime;

use counterpoint_tests::observed::{blocks, of_blocks, phase, total};
use counterpoint_tests::support::{assert_verified, assert_wrong, in_dialect, request, root};

use crate::{refusal, run_request};

const APPLICATION: &str = "narrow-exchange";

/// A run under Pagoda, with parameters of the runtime.
fn pagoda(machine: &str, params: &str, sets: &[&str]) -> RunRequest {
    let runtime = format!("host.cpu.runtime={{ pagoda: {{ {params} }} }}");
    request(machine, APPLICATION, &[&["app.size=small", &runtime], sets].concat())
}

fn verified(request: &RunRequest) -> RunSummary {
    let summary = run_request(request);
    assert_verified(&summary);
    summary
}

/// A statistic of the CPU.
fn count(summary: &RunSummary, name: &str) -> u64 {
    total(summary, "host/cpu", name)
}

/// The beginnings of the spans of a name.
fn starts(summary: &RunSummary, name: &str) -> Vec<SimTime> {
    let spans = summary.report.trace.spans.iter().filter(|span| span.name == name);
    let mut starts: Vec<SimTime> = spans.map(|span| span.start).collect();
    starts.sort();
    starts
}

fn micros(time: SimTime) -> f64 {
    time.as_ps() as f64 / 1e6
}

#[test]
fn tasks_compute_what_they_do_one_after_another() {
    verified(&pagoda("tiny", "", &[]));
    for params in [
        "pool: 512 B, rows: 1",
        "threads: 128",
        "spawners: 7",
        "copies: apart",
        "threads: 512, blocks: 2, pool: 8 KiB",
        "scan: lanes",
        "scan: lanes, rows: 3, pool: 1 KiB",
    ] {
        verified(&pagoda("tiny", params, &[]));
    }
    verified(&pagoda("tiny", "", &["app.blocks=40", "app.threads=32", "app.tasks=2"]));
}

/// Runs every application of narrow tasks with those of two settings that are chosen by the place of the application and of the setting.
fn run_applications(chosen: impl Fn(usize, usize) -> bool) {
    let entries = std::fs::read_dir(root().join("experiments/applications")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("narrow-"));
    assert!(names.len() >= 12, "the walk found {names:?} only");
    names.sort();
    for (place, name) in names.into_iter().enumerate() {
        let runtimes =
            ["pagoda", "{ pagoda: { rows: 2, spawners: 5, pool: 16 KiB } }"].into_iter().enumerate();
        for (_, runtime) in runtimes.filter(|(setting, _)| chosen(place, *setting)) {
            let runtime = format!("host.cpu.runtime={runtime}");
            verified(&request("tiny", &name, &["app.size=small", &runtime]));
        }
    }
}

#[test]
fn every_application_of_narrow_tasks_computes_what_it_should() {
    // The settings take turns.
    run_applications(|application, setting| application % 2 == setting);
}

#[test]
fn polls_that_are_only_timed_change_nothing() {
    for machine in ["tiny", "titanx-maxwell"] {
        let run = |remember: &str| {
            let set = format!("gpu.sm.remember_polls={remember}");
            verified(&RunRequest { hash: true, ..pagoda(machine, "", &[&set, "gpu.sms=2"]) }).report
        };
        let (on, off) = (run("on"), run("off"));
        assert_eq!((on.hash, on.outcome.time()), (off.hash, off.outcome.time()), "{machine}");
        assert_eq!(format!("{:?}", on.stats), format!("{:?}", off.stats), "{machine}");
    }
}

#[test]
fn tasks_that_read_what_others_left_must_not_look_in_the_l1() {
    let run = |loads: &str, sets: &[&str]| {
        let runtime = format!("host.cpu.runtime={{ pagoda: {{ loads: {loads} }} }}");
        run_request(&request("tiny", "narrow-lu", &[&["app.size=small", &runtime], sets].concat()))
    };
    assert_wrong(&run("as-written", &[]));
    assert_verified(&run("as-written", &["gpu.sm.l1d.global=bypass"]));
}

#[test]
fn the_master_kernel_runs_tasks_of_every_dialect() {
    let folder = tempfile::tempdir().unwrap();
    for dialect in ["clang-sm_20", "clang-sm_35", "nvrtc-sm_70"] {
        let application = in_dialect(folder.path(), APPLICATION, dialect);
        verified(&RunRequest { application, ..pagoda("tiny", "", &[]) });
    }
}

#[test]
fn threads_change_nothing() {
    let request = RunRequest { hash: true, ..pagoda("tiny", "spawners: 3", &[]) };
    let [one, two] = [1, 2].map(|threads| verified(&RunRequest { threads, ..request.clone() }));
    assert_eq!((one.report.hash, one.report.outcome.time()), (two.report.hash, two.report.outcome.time()));
}

#[test]
fn the_last_task_starts_with_the_flush_and_the_others_without() {
    let params = "idle: 200 us, timeout: 5 us, spawners: 1";
    let summary = verified(&pagoda("tiny", params, &["app.tasks=1"]));
    let (begin, end) = phase(&summary, "tasks");
    let results = starts(&summary, "D2H exchanged");
    assert_eq!((count(&summary, "tasks"), count(&summary, "flushes"), results.len()), (2, 1, 2));
    assert!(micros(end - begin) > 200.0, "the second task waits until nobody comes for so long");
    // No wait precedes the flush: both tasks are known to be done after the flush, and the run ends with them.
    let sooner = verified(&pagoda("tiny", "idle: 10 us, timeout: 5 us, spawners: 1", &["app.tasks=1"]));
    let (begin, end) = phase(&sooner, "tasks");
    assert!(micros(end - begin) < 100.0, "{}", micros(end - begin));
}

#[test]
fn a_task_is_one_copy_and_the_table_comes_back_when_it_is_full() {
    let summary = verified(&pagoda("tiny", "", &[]));
    let names = ["tasks", "entries_sent", "flushes", "tables_copied_back"];
    assert_eq!(names.map(|name| count(&summary, name)), [12, 13, 1, 0], "64 entries for 12 tasks");
    // Two entries: every second task finds none.
    let summary = verified(&pagoda("tiny", "rows: 1", &[]));
    let [tasks, sent, flushes, tables] = names.map(|name| count(&summary, name));
    assert_eq!((tasks, sent), (12, 12 + flushes));
    assert!(tables >= 5, "{tables}");
}

#[test]
fn no_task_of_a_batch_is_spawned_before_the_batch_ahead_has_ended() {
    let summary = verified(&pagoda("tiny", "batch: 5", &[]));
    let spans = summary.report.trace.spans.iter().filter(|span| span.name == "tasks");
    let batches: Vec<_> = spans.map(|span| (span.start, span.end)).collect();
    assert_eq!((batches.len(), count(&summary, "flushes")), (3, 3), "5, 5 and 2 tasks");
    let whole = verified(&pagoda("tiny", "", &[]));
    assert!(summary.report.outcome.time() > whole.report.outcome.time());
}

#[test]
fn waiting_for_all_ends() {
    for tasks in 1..=3 {
        let summary = verified(&pagoda("tiny", "rows: 1", &[&format!("app.tasks={tasks}")]));
        assert_eq!(count(&summary, "tasks"), 2 * tasks);
    }
}

#[test]
fn whoever_waits_for_one_task_after_another_has_their_entries_copied_back_one_by_one() {
    let summary = verified(&pagoda("tiny", "waiting: each, timeout: 100 us, idle: 400 us", &[]));
    let results = starts(&summary, "D2H exchanged");
    assert_eq!((results.len(), count(&summary, "entries_copied_back")), (12, 13), "12 waits, and the flush");
    assert!(results.windows(2).all(|pair| micros(pair[1] - pair[0]) > 100.0), "each times out: {results:?}");
    let all = verified(&pagoda("tiny", "waiting: all, timeout: 100 us, idle: 400 us", &[]));
    let results = starts(&all, "D2H exchanged");
    let pauses = results.windows(2).filter(|pair| micros(pair[1] - pair[0]) > 50.0).count();
    assert!(pauses <= 3, "most are known to be done together: {results:?}");
}

#[test]
fn whoever_checks_asks_of_one_task_after_another_and_waits_for_none() {
    let summary =
        verified(&pagoda("tiny", "waiting: check, timeout: 5 us, idle: 400 us", &["app.rounds=400"]));
    let [checks, done] = ["checks", "checks_true"].map(|name| count(&summary, name));
    assert_eq!(done, count(&summary, "tasks"), "each task is known to be done by a check");
    assert!(checks > 2 * done, "{checks} checks, {done} of which found a task done");
    let waits = verified(&pagoda("tiny", "waiting: each, timeout: 5 us, idle: 400 us", &["app.rounds=400"]));
    assert_eq!(count(&waits, "checks"), 0);
}

/// The MasterKernel has two blocks on each of the SMs of a Titan X with these settings.
fn owns(sms: usize, sets: &[&str]) {
    let summary = run_request(&of_blocks(pagoda("titanx-maxwell", "", sets)));
    assert_verified(&summary);
    assert_eq!(blocks(&summary).len(), 2 * sms, "two on each of {sms} SMs");
    assert_eq!(starts(&summary, "task exchange").len() as u64, count(&summary, "tasks"), "each has a span");
}

#[test]
fn the_master_kernel_owns_a_part_of_the_titan_x() {
    owns(4, &["gpu.sms=4"]);
}

/// The states of two entries in the CPU's table and in the GPU's, each as (ready, sched), before the first write and behind each that
/// changes one of them.
fn states(summary: &RunSummary) -> Vec<[(i32, i32); 4]> {
    let mut tables = [[0; 256]; 2];
    let look = |tables: &[[u8; 256]; 2]| {
        let word =
            |table: usize, at: usize| i32::from_le_bytes(tables[table][at..at + 4].try_into().unwrap());
        [(0, 0), (0, 128), (1, 0), (1, 128)].map(|(table, at)| (word(table, at), word(table, at + 4)))
    };
    let mut states = vec![look(&tables)];
    for Written { place, offset, bytes, .. } in &summary.writes {
        let first = *offset as usize;
        if first < 256 {
            let end = 256.min(first + bytes.len());
            tables[*place as usize][first..end].copy_from_slice(&bytes[..end - first]);
        }
        let now = look(&tables);
        if states.last() != Some(&now) {
            states.push(now);
        }
    }
    states
}

#[test]
fn both_tables_go_through_the_states_of_the_walk_through() {
    // TA runs for long, waitAll looks often, and no flush comes before TA has ended.
    let params = "spawners: 1, idle: 2 ms, timeout: 40 us";
    let sets = ["app.tasks=1", "app.rounds=1000"];
    let request = RunRequest {
        watch: vec!["TaskTable of exchange on device 0".to_owned()],
        ..pagoda("tiny", params, &sets)
    };
    let summary = verified(&request);
    let ta = 2;
    let figure = [
        [(0, 0), (0, 0), (0, 0), (0, 0)],
        [(-1, 0), (0, 0), (0, 0), (0, 0)],
        [(-1, 0), (0, 0), (-1, 0), (0, 0)],
        [(-1, 0), (ta, 0), (-1, 0), (0, 0)],
        [(-1, 0), (ta, 0), (-1, 0), (ta, 0)],
        // S2 enables TA, then marks TB: two writes.
        [(-1, 0), (ta, 0), (1, 1), (ta, 0)],
        [(-1, 0), (ta, 0), (1, 1), (-1, 0)],
        [(-1, 0), (ta, 0), (1, 0), (-1, 0)],
        // The table is copied back, then TA ends.
        [(1, 0), (-1, 0), (1, 0), (-1, 0)],
        [(1, 0), (-1, 0), (0, 0), (-1, 0)],
        [(0, 0), (-1, 0), (0, 0), (-1, 0)],
        // The flush, which the figure does not show any more: TB is enabled, starts, ends, and the CPU sees it.
        [(0, 0), (1, 1), (0, 0), (-1, 0)],
        [(0, 0), (1, 1), (0, 0), (1, 1)],
        [(0, 0), (1, 1), (0, 0), (1, 0)],
        [(0, 0), (1, 1), (0, 0), (0, 0)],
        [(0, 0), (0, 0), (0, 0), (0, 0)],
    ];
    assert_eq!(states(&summary), figure);
}

#[test]
fn a_watched_table_changes_nothing() {
    let request = RunRequest {
        watch: vec!["TaskTable of exchange on device 0".to_owned()],
        ..pagoda("tiny", "spawners: 1", &["app.tasks=1"])
    };
    let summary = verified(&request);
    assert!(!summary.writes.is_empty());
    let blind = verified(&RunRequest { watch: Vec::new(), hash: true, ..request.clone() });
    let watched = verified(&RunRequest { hash: true, threads: 2, ..request });
    assert_eq!((blind.report.hash, blind.writes.len()), (watched.report.hash, 0));
    assert_eq!(watched.writes, summary.writes, "on two threads");
}

#[test]
fn a_buffer_that_is_not_there_cannot_be_watched() {
    let why = fault(&RunRequest { watch: vec!["tabel".to_owned()], ..pagoda("tiny", "", &[]) });
    assert!(why.contains("no buffer `tabel` to watch") && why.contains("`given`, `exchanged`"), "{why}");
}

/// A run of tasks whose arguments take two packets, on a bus that keeps or does not keep their order. Entries are reused often, and few
/// warps poll, so that an entry is read soon after its arrival.
fn on_bus(protocol: &str, reordering: &str, seed: u64) -> RunSummary {
    let runtime = format!("host.cpu.runtime={{ pagoda: {{ protocol: {protocol}, rows: 2, threads: 128 }} }}");
    let reordering = format!("pcie.reordering={reordering}");
    let sets = ["app.size=small", "app.tasks=24", &runtime, &reordering];
    let overlays = vec!["relaxed-ordering".to_owned()];
    run_request(&RunRequest { overlays, seed, ..request("tiny", "narrow-filter-bank", &sets) })
}

/// A task meets parameters of another with these seeds, and only where packets pass each other and entries are sent at once.
fn meets_parameters(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let relaxed = on_bus("pipelined", "40 us", seed);
        assert_verified(&relaxed);
        assert!(total(&relaxed, "io/pcie-link", "overtaking") > 100, "packets passed each other");
        let ordered = on_bus("single-copy", "0 ns", seed);
        assert_verified(&ordered);
        assert_eq!((total(&ordered, "io/pcie-link", "overtaking"), count(&ordered, "flushes")), (0, 0));
        assert_eq!(count(&ordered, "entries_sent"), 24);
        // Values and places of the task before in the entry, or none.
        assert_wrong(&on_bus("single-copy", "40 us", seed));
    }
}

#[test]
fn a_task_that_starts_with_its_own_entry_meets_parameters_of_another_where_packets_pass_each_other() {
    meets_parameters(0..1);
}

/// The reason why a run ended.
fn fault(request: &RunRequest) -> String {
    format!("{:?}", run_request(request).report.outcome)
}

#[test]
fn tasks_that_can_never_be_placed_are_refused_before_the_first_one() {
    let wide = refusal(&pagoda("tiny", "", &["app.threads=1024"]));
    assert!(
        wide.contains("task `exchange`: a block of 32 warps") && wide.contains("has 31 for tasks"),
        "{wide}"
    );
    let pool = refusal(&pagoda("tiny", "pool: 512 B", &["app.threads=160"]));
    assert!(pool.contains("640 bytes of shared memory") && pool.contains("has 512 for tasks"), "{pool}");
    let odd = refusal(&pagoda("tiny", "", &["app.threads=48"]));
    assert!(odd.contains("48 threads, which are not whole warps"), "{odd}");
}

#[test]
fn all_blocks_of_the_master_kernel_must_be_there_at_once() {
    let why = refusal(&pagoda("k40", "blocks: 2, pool: 32 KiB", &[]));
    assert!(why.contains("an SM holds 1 blocks") && why.contains("49152 bytes"), "{why}");
    let none = refusal(&pagoda("tiny", "pool: 32 KiB", &["gpu.sm.shared=32 KiB"]));
    assert!(none.contains("an SM holds 0 blocks"), "{none}");
    // The poster's way on a K40, where nothing is said of the pool: half the memory, and two blocks.
    for (params, of_sm) in [("", 2), ("pool: 16 KiB", 2), ("pool: 32 KiB", 1)] {
        let summary = run_request(&of_blocks(pagoda("k40", params, &["gpu.sms=3"])));
        assert_verified(&summary);
        assert_eq!(blocks(&summary).len(), 3 * of_sm, "{params}");
    }
}

/// Tasks add one to each element, and a kernel does between them: the MasterKernel stays for the second step of tasks, gives way to the
/// kernel, and comes back.
const STEPS: &str = "counterpoint: 1
application: steps
code: { exchange: KERNEL }
buffers:
  a: { type: u32, elements: 192 }
  b: { type: u32, elements: 192 }
  c: { type: u32, elements: 192 }
prelude:
  - read: { file: a.u32, into: a, generate: { ramp: { start: 0, step: 1 } } }
copy_in: [a]
kernels:
  - { tasks: 6, index: t, launch: exchange.exchange, grid: 1, block: 32, arguments: [{ buffer: a, element: '${32 * t}' }, { buffer: b, element: '${32 * t}' }, 0] }
  - synchronize: all
  - { tasks: 3, index: t, launch: exchange.exchange, grid: 1, block: 64, arguments: [{ buffer: b, element: '${64 * t}' }, { buffer: c, element: '${64 * t}' }, 0] }
  - { launch: exchange.exchange, grid: 1, block: 192, arguments: [c, b, 0] }
  - swap: [a, b]
  - { tasks: 2, index: t, launch: exchange.exchange, grid: 1, block: 96, arguments: [{ buffer: a, element: '${96 * t}' }, { buffer: c, element: '${96 * t}' }, 0] }
copy_out: [c]
expect:
  - { buffer: c, file: c.u32 }
";

#[test]
fn the_master_kernel_stays_between_tasks_and_gives_way_to_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = root().join("experiments/applications").join(APPLICATION).join("kernel.nvrtc-sm_35.ptx");
    std::fs::write(folder.path().join("steps.yaml"), STEPS.replace("KERNEL", &kernel.display().to_string()))
        .unwrap();
    let expected: Vec<u8> = (4..196_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(folder.path().join("c.u32"), expected).unwrap();
    let application = folder.path().join("steps.yaml").display().to_string();
    for rows in [1, 32] {
        let runtime = format!("host.cpu.runtime={{ pagoda: {{ rows: {rows} }} }}");
        let summary = run_request(&request("tiny", &application, &[&runtime]));
        assert_verified(&summary);
        let launched = |name: &str| starts(&summary, name).len();
        assert_eq!([1, 2, 3].map(|number| launched(&format!("exchange#{number}"))), [0, 1, 0]);
        assert_eq!([1, 2, 3].map(|number| launched(&format!("master_kernel#{number}"))), [1, 0, 1]);
    }
}

#[test]
fn a_module_without_task_functions_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = root().join("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx").display().to_string();
    let text = "counterpoint: 1
application: plain
code: { add: KERNEL }
buffers: { a: { type: f32, elements: 32 } }
kernels:
  - { tasks: 1, index: task, launch: add.vecadd, grid: 1, block: 32, arguments: [a, a, a, 32] }
";
    let path = folder.path().join("plain.yaml");
    std::fs::write(&path, text.replace("KERNEL", &kernel)).unwrap();
    let request = request("tiny", &path.display().to_string(), &["host.cpu.runtime=pagoda"]);
    let why = refusal(&request);
    assert!(why.contains("vecadd/kernel.nvrtc-sm_35.ptx has no `task_functions`"), "{why}");
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn every_application_of_narrow_tasks_computes_what_it_should_with_both_settings() {
        run_applications(|_, _| true);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn the_master_kernel_owns_the_titan_x() {
        owns(24, &[]);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn other_seeds_let_packets_pass_each_other_too() {
        meets_parameters(1..3);
    }
}
