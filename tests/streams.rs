//! Streams and events on a whole machine: the overlap, the waits, and that the values are right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterpoint_framework::model::StatValue;
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::registry;
use counterpoint_simulation::run::{Progress, RunRequest, RunSummary, run};

use crate::support::{assert_verified, assert_wrong, request, root, run_request};

const STREAMS: &str = "host.cpu.runtime=streams";
const LEFTOVER: &str = "gpu.scheduler.policy=leftover";

/// An application of vectors of 256 elements: `a` and `b` are read, and `e` is compared with a file.
struct Steps {
    folder: tempfile::TempDir,
}

const VECTORS: &str = r#"counterpoint: 1
application: vectors
code: { add: KERNEL }
buffers:
  a: { type: f32, elements: 256 }
  b: { type: f32, elements: 256 }
  c: { type: f32, elements: 256 }
  d: { type: f32, elements: 256 }
  e: { type: f32, elements: 256 }
prelude:
  - read: { file: a.f32, into: a, generate: { ramp: { start: 1, step: 1 } } }
  - read: { file: b.f32, into: b, generate: { ramp: { start: 0, step: 0.5 } } }
copy_in: [a, b, c, d, e]
kernels:
STEPS
copy_out: [e]
postlude:
  - write: { from: e, file: e.f32 }
expect:
  - { buffer: e, file: expected.f32 }
"#;

/// Contents of `a` and `b`.
fn inputs() -> [Vec<f32>; 2] {
    let ramp = |start: f32, step: f32| (0..256_u16).map(|index| start + step * f32::from(index)).collect();
    [ramp(1.0, 1.0), ramp(0.0, 0.5)]
}

/// A launch of one block that adds two vectors.
fn add(left: &str, right: &str, sum: &str, stream: Option<&str>) -> String {
    let stream = stream.map_or_else(String::new, |stream| format!(", stream: {stream}"));
    format!(
        "  - {{ launch: add.vecadd, grid: 1, block: 256, arguments: [{left}, {right}, {sum}, 256]{stream} }}\n"
    )
}

impl Steps {
    /// Steps after which `e` holds a and `times` times b.
    fn new(steps: &str, times: f32) -> Self {
        let [a, b] = inputs();
        Steps::with_result(steps, &a.iter().zip(b).map(|(a, b)| a + times * b).collect::<Vec<_>>())
    }

    /// Steps after which `e` holds these values.
    fn with_result(steps: &str, expected: &[f32]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kernel = root().join("experiments/applications/vecadd/kernel.nvrtc-sm_35.ptx");
        let text = VECTORS.replace("KERNEL", &kernel.display().to_string()).replace("STEPS", steps);
        std::fs::write(folder.path().join("vectors.yaml"), text).unwrap();
        let expected: Vec<u8> = expected.iter().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(folder.path().join("expected.f32"), expected).unwrap();
        Steps { folder }
    }

    fn request(&self, sets: &[&str]) -> RunRequest {
        request("tiny", &self.folder.path().join("vectors.yaml").display().to_string(), sets)
    }

    fn run(&self, sets: &[&str]) -> RunSummary {
        run_request(&self.request(sets))
    }
}

/// Beginning and end of each launch on the device, in picoseconds, by their number.
fn launches(summary: &RunSummary) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, (u64, u64))> = summary
        .report
        .trace
        .spans
        .iter()
        .filter_map(|span| Some((span.name.strip_prefix("vecadd#")?, span)))
        .map(|(number, span)| (number.parse().unwrap(), (span.start.as_ps(), span.end.as_ps())))
        .collect();
    found.sort();
    found.into_iter().map(|(_, times)| times).collect()
}

fn overlap(a: (u64, u64), b: (u64, u64)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

#[test]
fn a_queue_for_each_stream_lets_all_of_them_overlap_and_a_single_one_only_neighbours() {
    let chain = |stream: &str| add("a", "b", stream, Some(stream)).repeat(2);
    let steps = Steps::new(&format!("{}{}{}", chain("c"), chain("d"), chain("e")), 1.0);
    let with = |queues: &str| {
        // All launches take the same time.
        let alike = ["gpu.sm.l1i.perfect=on", "gpu.sm.l1c.perfect=on"];
        let summary = steps.run(&[&[STREAMS, LEFTOVER, queues][..], &alike].concat());
        assert_verified(&summary);
        let found = launches(&summary);
        <[(u64, u64); 6]>::try_from(found).unwrap()
    };
    let [a1, b1, a2, b2, a3, b3] = with("gpu.front.queues=32");
    assert!(overlap(a1, a2) && overlap(a2, a3) && overlap(a1, a3) && overlap(b1, b2) && overlap(b2, b3));
    let [a1, b1, a2, b2, a3, b3] = with("gpu.front.queues=1");
    assert!(overlap(b1, a2) && overlap(b2, a3), "the boundaries overlap");
    assert!(!overlap(a1, a2) && !overlap(a2, a3) && !overlap(b1, b2) && !overlap(b2, b3), "and nothing else");
}

#[test]
fn an_event_holds_a_stream_until_what_it_needs_is_there() {
    let (first, second) = (add("a", "b", "c", Some("s")), add("c", "b", "e", Some("t")));
    let tie = "  - record: { event: sum, stream: s }\n  - wait: { event: sum, stream: t }\n";
    let tied = Steps::new(&format!("{first}{tie}{second}"), 2.0);
    for runtime in [STREAMS, "host.cpu.runtime=serial"] {
        assert_verified(&tied.run(&[runtime, LEFTOVER]));
        assert_verified(&tied.run(&[runtime, LEFTOVER, "gpu.front.queues=1"]));
    }
    assert_verified(&run_request(&RunRequest { functional: true, ..tied.request(&[]) }));
    // Without the event the second kernel reads too early, if the kernels may run side by side.
    let loose = Steps::new(&format!("{first}{second}"), 2.0);
    assert_wrong(&loose.run(&[STREAMS, LEFTOVER]));
    assert_verified(&loose.run(&["host.cpu.runtime=serial", LEFTOVER]));
}

#[test]
fn the_default_stream_waits_for_all_streams_and_they_for_it() {
    let steps = format!(
        "{}{}{}",
        add("a", "b", "c", Some("s")),
        add("c", "b", "d", None),
        add("d", "b", "e", Some("t"))
    );
    let summary = Steps::new(&steps, 3.0).run(&[STREAMS, LEFTOVER]);
    assert_verified(&summary);
    let found = launches(&summary);
    assert!(found[0].1 <= found[1].0 && found[1].1 <= found[2].0, "{found:?}");
}

#[test]
fn the_host_stands_where_it_synchronizes() {
    for (awaited, waits) in [("s", true), ("t", false), ("late", true), ("early", false), ("all", true)] {
        let steps = format!(
            "  - record: {{ event: early, stream: s }}\n{}{}  - record: {{ event: late, stream: s }}\n  - synchronize: {awaited}\n{}",
            add("a", "b", "d", Some("t")),
            add("a", "b", "c", Some("s")).repeat(4),
            add("a", "b", "e", Some("u")),
        );
        let summary = Steps::new(&steps, 1.0).run(&[STREAMS, LEFTOVER]);
        assert_verified(&summary);
        let found = launches(&summary);
        let (last_of_s, of_u) = (found[4], found[5]);
        assert_eq!(last_of_s.1 <= of_u.0, waits, "{awaited}: {found:?}");
    }
}

#[test]
fn an_event_is_recorded_anew_in_every_round() {
    // e = e + b on one stream, d = d + b on another, each round of the second behind that of the first.
    let steps = format!(
        "{}  - repeat: 3\n    do:\n    - wait: {{ event: turn, stream: s }}\n  {}    - record: {{ event: done, stream: s }}\n    - wait: {{ event: done, stream: t }}\n  {}    - record: {{ event: turn, stream: t }}\n",
        add("a", "b", "e", None),
        add("e", "b", "d", Some("s")),
        add("d", "b", "e", Some("t")),
    );
    let steps = Steps::new(&steps, 7.0);
    assert_verified(&steps.run(&[STREAMS, LEFTOVER]));
    assert_verified(&steps.run(&[STREAMS, LEFTOVER, "gpu.front.queues=1"]));
    assert_verified(&run_request(&RunRequest { functional: true, ..steps.request(&[]) }));
}

#[test]
fn parts_of_a_vector_overlap_their_copies_and_kernels() {
    let run = |sets: &[&str]| {
        let summary = run_request(&request("tiny", "vecadd-streams", &[&["app.size=small"], sets].concat()));
        assert_verified(&summary);
        summary
    };
    let time = |sets: &[&str]| run(sets).phases[0].running;
    let (serial, one) = (time(&[]), time(&[STREAMS, LEFTOVER, "gpu.front.queues=1"]));
    let (many, both) = (time(&[STREAMS, LEFTOVER]), time(&[STREAMS, LEFTOVER, "gpu.copy.engines=2"]));
    assert!(both < many && many < one && one < serial, "{both}, {many}, {one} and {serial}");
    // The copy engine makes one copy at a time, and meanwhile kernels run.
    let summary = run(&[STREAMS, LEFTOVER]);
    let spans = summary.report.trace.spans.iter().filter(|span| span.path == "gpu.copy");
    let copies: Vec<(u64, u64)> = spans.map(|span| (span.start.as_ps(), span.end.as_ps())).collect();
    assert_eq!(copies.len(), 12);
    assert!(copies.is_sorted_by(|before, after| before.1 <= after.0), "{copies:?}");
    let beside = |launch: &(u64, u64)| copies.iter().any(|copy| overlap(*launch, *copy));
    assert!(launches(&summary).iter().filter(|launch| beside(launch)).count() >= 3);
}

#[test]
fn streams_give_the_same_bits_on_two_threads() {
    let hash = |threads| {
        let request = request("tiny", "vecadd-streams", &["app.size=small", STREAMS, LEFTOVER]);
        run_request(&RunRequest { hash: true, threads, ..request }).report.hash.expect("asked for")
    };
    assert_eq!(hash(1), hash(2));
}

#[test]
fn each_launch_and_each_stream_has_its_numbers() {
    let request = request("tiny", "vecadd-streams", &["app.size=small", STREAMS, LEFTOVER]);
    let summary = run_request(&request);
    let value = |path: &str, name: &str| {
        let rows = &summary.report.stats;
        let row =
            rows.iter().find(|row| row.path == format!("gpu.scheduler.{path}") && row.label.name == name);
        match row.map(|row| row.value) {
            Some(StatValue::Count(count)) => count,
            other => panic!("{path}.{name}: {other:?}"),
        }
    };
    let found = launches(&summary);
    for (number, (start, end)) in (1..).zip(found) {
        let kernel = format!("kernels[vecadd#{number}]");
        assert_eq!((value(&kernel, "stream"), value(&kernel, "ctas")), (number, 2));
        let cycles = value(&kernel, "gpu_sim_cycle");
        assert_eq!(cycles, ((end - start) * 7 + 5000) / 10_000, "{kernel} at 700 MHz");
        assert!(value(&kernel, "active_cycles") <= cycles);
        let stream = format!("streams[{number}]");
        assert_eq!((value(&stream, "launches"), value(&stream, "gpu_sim_cycle")), (1, cycles));
    }
}

#[test]
fn what_launches_and_copies_ask_of_memory_adds_up_to_all_of_it() {
    // Only loads and stores ask the L2.
    let perfect = ["gpu.sm.l1i.perfect=on", "gpu.sm.l1c.perfect=on"];
    let sets = ["app.n=512", "gpu.l2.cache.capacity=2 KiB", STREAMS, LEFTOVER];
    let summary = run_request(&request("tiny", "vecadd-streams", &[&sets[..], &perfect].concat()));
    assert_verified(&summary);
    // Sums by statistic and part, over all slices and channels.
    let mut sums: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for row in &summary.report.stats {
        let after = |prefix: &&str| row.path.strip_prefix(prefix)?.split_once(']');
        if let Some((_, part)) = ["gpu.l2[", "gpu.dram["].iter().find_map(after)
            && let StatValue::Count(count) = row.value
        {
            *sums.entry(row.label.name).or_default().entry(part).or_default() += count;
        }
    }
    let mut added = 0;
    for (name, sums) in &sums {
        let of = |prefix: &str| -> u64 {
            sums.iter().filter(|(part, _)| part.starts_with(prefix)).map(|(_, count)| count).sum()
        };
        let (kernels, copies, streams) = (of(".kernels["), of(".no_kernel"), of(".streams["));
        if sums.len() > 1 {
            assert_eq!((kernels + copies, streams), (sums[""], sums[""]), "{name}");
            added += u64::from(sums[""] > 0);
        }
    }
    assert!(added >= 14, "the L2 is too small for all of it, so that DRAM is asked: {sums:?}");
    // Each of four launches reads two parts of 512 elements, in sectors of 32 bytes, and writes a third; the
    // copies access the same bytes.
    let accesses = &sums["L2_total_cache_accesses"];
    for number in 1..=4 {
        assert_eq!(accesses[&*format!(".kernels[vecadd#{number}]")], 3 * 64);
        assert_eq!(accesses[&*format!(".streams[{number}]")], 2 * 3 * 64);
    }
    assert_eq!(accesses[".no_kernel"], 4 * 3 * 64);
}

#[test]
fn launches_and_streams_beyond_the_limit_are_added_up() {
    let of = |launch_rows: u32| {
        let request = request("tiny", "vecadd-streams", &["app.size=small", STREAMS, LEFTOVER]);
        run_request(&RunRequest { launch_rows, hash: true, ..request })
    };
    let (all, two) = (of(64), of(2));
    assert_eq!((all.report.hash, &all.launches), (two.report.hash, &two.launches));
    // Sums by statistic, over its rows of launches or of streams.
    let sums = |summary: &RunSummary, part: &str| {
        let mut sums: BTreeMap<(String, &str), u64> = BTreeMap::new();
        // A value that is the same for each launch is not added up.
        let facts = ["stream", "cta_threads", "ctas_per_sm"];
        for row in summary.report.stats.iter().filter(|row| !facts.contains(&row.label.name)) {
            if let (Some((path, behind)), StatValue::Count(count)) = (row.path.split_once(part), row.value) {
                let name = behind.split_once(']').map_or("", |(_, name)| name);
                *sums.entry((format!("{path}{name}"), row.label.name)).or_default() += count;
            }
        }
        sums
    };
    for part in [".kernels[", ".streams["] {
        assert_eq!(sums(&all, part), sums(&two, part));
        let of_scheduler = format!("gpu.scheduler{part}");
        let names = |summary: &RunSummary| -> BTreeSet<String> {
            let paths = summary.report.stats.iter().filter_map(|row| row.path.strip_prefix(&of_scheduler));
            paths.filter_map(|path| path.strip_suffix(']')).map(str::to_owned).collect()
        };
        assert_eq!((names(&all).len(), names(&all).contains("others")), (4, false));
        assert_eq!((names(&two).len(), names(&two).contains("others")), (3, true));
    }
}

#[test]
fn shares_of_the_sms_go_to_streams() {
    let split = |sms: &str| {
        let policy = format!("gpu.scheduler.policy={{ fixed-split: {{ sms: {sms} }} }}");
        run_request(&request("tiny", "vecadd-streams", &["app.size=small", STREAMS, &policy]))
    };
    assert_verified(&split("[1, 1]"));
    let beyond = split("[1, 2]");
    let text = beyond.report.outcome.to_string();
    assert!(text.contains("the shares of `fixed-split` have 3 SMs, the GPU has 2"), "{text}");
}

#[test]
fn applications_without_streams_compute_the_same_under_the_runtime() {
    for (machine, name) in [("tiny", "bfs"), ("tiny", "convolution"), ("two-gpus", "vecadd-two-devices")] {
        assert_verified(&run_request(&request(machine, name, &["app.size=small", STREAMS])));
    }
}

#[test]
fn registers_of_a_launch_decide_what_fits() {
    let with = |registers: u32| {
        let launch = add("a", "b", "e", None).replace(" }", &format!(", registers: {registers} }}"));
        Steps::new(&launch, 1.0)
    };
    assert_verified(&with(128).run(&[]));
    let refused = run(&with(129).request(&[]), &Arc::new(registry()), &Progress::default()).err().unwrap();
    let text = refused[0].to_string();
    assert!(text.contains("it needs 33792 registers, an SM has 32768"), "{text}");
}

/// Launches and copies on random streams, as many events as their buffers need, and the results.
fn random_steps(seed: u64) -> Steps {
    const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
    const STREAMS: [Option<&str>; 4] = [None, Some("p"), Some("q"), Some("r")];
    let mut state = seed;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % below) as usize
    };
    let [a, b] = inputs();
    let mut values = [a, b, vec![0.0; 256], vec![0.0; 256], vec![0.0; 256]];
    // Accesses to each buffer since its last write, as step and stream, the writer first.
    let mut touched: [Vec<(usize, usize)>; 5] = Default::default();
    let mut text = String::new();
    for number in 0..16 {
        let (stream, left, right, sum) = (draw(4), draw(5), draw(5), draw(5));
        let moves = draw(4) == 0;
        let reads: &[usize] = if moves { &[] } else { &[left, right] };
        let writers = reads.iter().filter_map(|&read| touched[read].first().copied());
        let before: Vec<(usize, usize)> = touched[sum].iter().copied().chain(writers).collect();
        if let Some(name) = STREAMS[stream] {
            for (other, _) in before.into_iter().filter(|&(_, on)| on != stream && STREAMS[on].is_some()) {
                text.push_str(&format!("  - wait: {{ event: done{other}, stream: {name} }}\n"));
            }
        }
        if moves {
            // A copy to the host and back leaves the values unchanged.
            let on = STREAMS[stream].map_or_else(String::new, |stream| format!(", stream: {stream}"));
            for way in ["copy_out", "copy_in"] {
                text.push_str(&format!("  - {{ {way}: {}{on} }}\n", NAMES[sum]));
            }
        } else {
            text.push_str(&add(NAMES[left], NAMES[right], NAMES[sum], STREAMS[stream]));
            let sums = values[left].iter().zip(&values[right]).map(|(left, right)| left + right);
            values[sum] = sums.collect();
        }
        if let Some(name) = STREAMS[stream] {
            text.push_str(&format!("  - record: {{ event: done{number}, stream: {name} }}\n"));
        }
        for &read in reads {
            touched[read].push((number, stream));
        }
        touched[sum] = vec![(number, stream)];
    }
    Steps::with_result(&text, &values[4])
}

#[test]
fn programs_with_the_events_that_they_need_compute_the_same_however_they_overlap() {
    for seed in 0..12 {
        let steps = random_steps(seed);
        let functional = RunRequest { functional: true, racecheck: true, ..steps.request(&[]) };
        assert_verified(&run_request(&functional));
        for policy in ["fifo", "leftover", "{ fixed-split: { sms: [1, 1] } }"] {
            let policy = format!("gpu.scheduler.policy={policy}");
            for (queues, copy_queues) in [(1, 0), (1, 2), (2, 1), (32, 0)] {
                let queues = format!("gpu.front.queues={queues}");
                let copy_queues = format!("gpu.front.copy_queues={copy_queues}");
                let engines = format!("gpu.copy.engines={}", 1 + seed % 2);
                assert_verified(&steps.run(&[STREAMS, &policy, &queues, &copy_queues, &engines]));
            }
        }
    }
}

/// The findings in these steps, without time.
fn races(steps: &str) -> Vec<String> {
    let steps = Steps::new(steps, 1.0);
    let request = RunRequest { functional: true, racecheck: true, ..steps.request(&[]) };
    run_request(&request).found.iter().map(ToString::to_string).collect()
}

#[test]
fn kernels_of_two_streams_that_nothing_orders_race() {
    let (first, second) = (add("a", "b", "c", Some("s")), add("c", "b", "e", Some("t")));
    let found = races(&format!("{first}{second}"));
    let [race] = &found[..] else { panic!("{found:?}") };
    let told = "race between streams: vecadd#1 on stream `s` writes what vecadd#2 on stream `t` reads, in no order: \
                byte 0x0 (0x1";
    assert!(race.starts_with(told), "{race}");
    assert!(race.ends_with(") of `c` (1024 bytes) and 1023 more (once)"), "{race}");
    // Every pair counts, and is reported once for its kernels, streams and buffer.
    let found = races(&format!("{first}{second}").repeat(3));
    assert!(found[0].ends_with(" more (6 times in all)"), "{found:?}");
    assert_eq!(found.len(), 2, "and the other way round, between rounds: {found:?}");
    // Kernels that only read the same, or write different buffers, do not race.
    let none: [String; 0] = [];
    assert_eq!(races(&(add("a", "b", "c", Some("s")) + &add("a", "b", "e", Some("t")))), none);
}

#[test]
fn what_is_ordered_does_not_race() {
    let (first, second) = (add("a", "b", "c", Some("s")), add("c", "b", "e", Some("t")));
    let none: [String; 0] = [];
    for between in [
        "  - record: { event: sum, stream: s }\n  - wait: { event: sum, stream: t }\n",
        "  - record: { event: sum, stream: s }\n  - synchronize: sum\n",
        "  - synchronize: s\n",
        "  - synchronize: all\n",
        "  - { copy_out: a }\n",
    ] {
        assert_eq!(races(&format!("{first}{between}{second}")), none, "{between}");
    }
    let beside = add("a", "b", "d", Some("t"));
    for between in ["  - synchronize: t\n", "  - record: { event: sum, stream: t }\n  - synchronize: sum\n"] {
        assert_eq!(races(&format!("{first}{beside}{between}{second}")).len(), 1, "{between}");
    }
}

#[test]
fn copies_race_with_kernels_and_with_copies() {
    let kernel = add("a", "b", "e", Some("s"));
    let found = races(&format!("{kernel}  - {{ copy_in: b, stream: t }}\n"));
    let [race] = &found[..] else { panic!("{found:?}") };
    let told =
        "vecadd#1 on stream `s` reads what the copy in of `b` on stream `t` writes, in no order: byte 0x0";
    assert!(race.contains(told), "{race}");
    // A copy out reads the kernel's input, and writes to the host only.
    let none: [String; 0] = [];
    assert_eq!(races(&format!("{kernel}  - {{ copy_out: b, stream: t }}\n")), none);
    let both = "  - { copy_out: d, stream: s }\n  - { copy_in: d, stream: t }\n";
    let found = races(&format!("{kernel}{both}"));
    assert_eq!(found.len(), 2, "on the device and on the host: {found:?}");
    assert!(found.iter().any(|race| race.ends_with("of `d` on the host and 1023 more (once)")), "{found:?}");
}

/// A result of the CPU goes the way of its inputs, at the given speed.
#[test]
fn a_prelude_may_compute_what_no_file_holds() {
    let steps = Steps::new(&add("a", "b", "e", None), 1.0);
    let path = steps.folder.path().join("vectors.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let computed = text
        .replace("read: { file: a.f32,", "compute: { rate: 1 MB/s,")
        .replace("copy_in: [a, b, c, d, e]", "copy_in: [a, b]");
    std::fs::write(&path, &computed).unwrap();
    // 1024 bytes at a megabyte a second, whatever else happens.
    let least = 1_024_000_000;
    let serial = steps.run(&[]);
    assert_verified(&serial);
    let spans = &serial.report.trace.spans;
    let prelude = spans.iter().find(|span| span.name == "prelude").unwrap();
    let time = prelude.end.as_ps() - prelude.start.as_ps();
    assert!(time > least && time < least * 11 / 10, "{time}");
    assert!(!steps.folder.path().join("a.f32").exists(), "nothing is kept");
    std::fs::write(&path, computed.replace("1 MB/s", "0 B/s")).unwrap();
    let refused = counterpoint_simulation::run::run(
        &steps.request(&[]),
        &std::sync::Arc::new(counterpoint_simulation::registry()),
        &counterpoint_simulation::run::Progress::default(),
    );
    let message = refused.err().unwrap().iter().map(ToString::to_string).collect::<String>();
    assert!(message.contains("a rate of nothing would never end"), "{message}");
}

#[test]
fn calls_of_the_host_take_their_time_one_after_another() {
    // Two vectors go there and one comes back, and there is one launch; a millisecond is longer than any of it takes.
    let time = |call: &str, length: &str| {
        let set = format!("host.cpu.calls.{call}={length}");
        let summary = run_request(&request("tiny", "vecadd", &["app.n=1024", &set]));
        assert_verified(&summary);
        summary.report.outcome.time()
    };
    for (call, calls) in [("copy", 3), ("launch", 1)] {
        assert_eq!(
            time(call, "2 ms"),
            time(call, "1 ms") + SimTime::from_ps(calls * 1_000_000_000),
            "{call}"
        );
    }
}

/// A long kernel on a stream, and a short one on the default stream behind it: beginnings and ends of both.
fn long_and_short(more: &str) -> [(u64, u64); 2] {
    let long = "  - { launch: add.vecadd, grid: 512, block: 256, arguments: [a, b, c, 256], stream: s }\n";
    let steps = Steps::new(&format!("  - {{ synchronize: all }}\n{long}{}", add("a", "b", "e", None)), 1.0);
    let file = steps.folder.path().join("vectors.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}{more}")).unwrap();
    let summary = steps.run(&[STREAMS, LEFTOVER]);
    assert_verified(&summary);
    <[(u64, u64); 2]>::try_from(launches(&summary)).unwrap()
}

#[test]
fn the_default_stream_does_not_wait_for_a_non_blocking_one() {
    let [long, short] = long_and_short("");
    assert!(short.0 >= long.1, "{long:?} {short:?}");
    let [long, short] = long_and_short("non_blocking: [s]\n");
    assert!(short.0 < long.1, "{long:?} {short:?}");
    assert_eq!(short.0 - long.0, 5714, "4 cycles, in picoseconds");
}
