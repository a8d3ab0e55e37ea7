//! Records of a run: spans as one tree, no more of them than it may have, time series, and the waits.

use std::collections::BTreeMap;

use counterpoint_framework::model::{CounterName, StatValue};
use counterpoint_framework::telemetry::{Attribute, Level, Recording, Span, SpanId};
use counterpoint_framework::time::SimTime;
use counterpoint_simulation::exposure::Activity;
use counterpoint_simulation::run::{RunRequest, RunSummary};

use crate::cli::call;
use crate::support::{assert_verified, request, run_request};

/// A small stencil on the small machine.
fn stencil(recording: Recording) -> RunSummary {
    let request = request("tiny", "hotspot", &["app.n=40", "app.launches=3"]);
    let summary = run_request(&RunRequest { recording, ..request });
    assert_verified(&summary);
    summary
}

/// Sum of the counts `name` of components whose paths begin with `path`.
fn count(summary: &RunSummary, path: &str, name: &str) -> u64 {
    let rows = summary.report.stats.iter().filter(|row| row.path.starts_with(path) && row.label.name == name);
    rows.map(|row| match row.value {
        StatValue::Count(count) => count,
        StatValue::Distribution { sum, .. } => sum,
        StatValue::Ratio { .. } => panic!("{name} is not a count"),
    })
    .sum()
}

fn amount(span: &Span, name: &str) -> u64 {
    match span.attributes.iter().find(|(known, _)| *known == name) {
        Some((_, Attribute::Amount(amount))) => *amount,
        other => panic!("{}: {name} is {other:?}", span.name),
    }
}

/// Sum of all issue slots of a span, used or stalled.
fn slots(span: &Span) -> u64 {
    let slots = span.attributes.iter().filter(|(name, _)| name.starts_with("issue_slots."));
    slots.map(|(name, _)| amount(span, name)).sum()
}

/// Asserts that every span but the whole run lies within its parent, and gives the spans by stem and level.
fn tree(spans: &[Span]) -> BTreeMap<(Level, String), Vec<&Span>> {
    let by_id: BTreeMap<SpanId, &Span> = spans.iter().map(|span| (span.id, span)).collect();
    assert_eq!(by_id.len(), spans.len(), "ids are unique");
    let roots: Vec<&str> =
        spans.iter().filter(|span| span.parent.is_none()).map(|span| &*span.name).collect();
    assert_eq!(roots, ["run hotspot"]);
    let mut groups: BTreeMap<(Level, String), Vec<&Span>> = BTreeMap::new();
    for span in spans {
        if let Some(parent) = span.parent {
            let parent = by_id[&parent];
            assert!(
                parent.level < span.level || span.level <= Level::Kernels,
                "{} in {}",
                span.name,
                parent.name
            );
            assert!(parent.start <= span.start && span.end <= parent.end, "{} in {}", span.name, parent.name);
        }
        groups.entry((span.level, span.stem().to_owned())).or_default().push(span);
    }
    groups
}

#[test]
fn a_run_is_one_tree_down_to_its_warps() {
    let summary = stencil(Recording::of(Level::Warps));
    let spans = &summary.report.trace.spans;
    let groups = tree(spans);
    let of = |level, stem: &str| groups.get(&(level, stem.to_owned())).map_or(&[][..], Vec::as_slice);
    for phase in ["run hotspot", "setup", "prelude", "H2D", "kernels", "D2H", "postlude"] {
        assert_eq!(of(Level::Phases, phase).len(), 1, "{phase}");
    }
    for copy in ["read temperature", "read power", "H2D temperature", "H2D power", "D2H next", "write next"] {
        let span = of(Level::Kernels, copy)[0];
        assert_eq!(amount(span, "bytes"), 4 * 40 * 40, "{copy}");
        // 6,400 bytes are two bursts of 4 KiB at most.
        let bursts = of(Level::Ctas, "burst").iter().filter(|burst| burst.parent == Some(span.id)).count();
        assert_eq!(bursts, if span.path == "gpu.copy" { 2 } else { 0 }, "{copy}");
    }
    for busy in ["downstream", "upstream", "channel", "medium"] {
        assert!(!of(Level::Ctas, busy).is_empty(), "{busy}");
    }
    let (kernels, ctas, warps) =
        (of(Level::Kernels, "hotspot"), of(Level::Ctas, "cta"), of(Level::Warps, "warp"));
    assert_eq!((kernels.len(), ctas.len()), (3, 48));
    for kernel in kernels {
        let own = || ctas.iter().filter(|cta| cta.parent == Some(kernel.id));
        assert_eq!((own().count() as u64, amount(kernel, "ctas")), (16, 16));
        for name in ["warp_insn", "thread_insn", "L1D_accesses", "L1D_misses"] {
            assert_eq!(amount(kernel, name), own().map(|cta| amount(cta, name)).sum::<u64>(), "{name}");
        }
        assert_eq!(slots(kernel), own().map(|cta| slots(cta)).sum::<u64>());
    }
    for cta in ctas {
        assert!(cta.path.starts_with("gpu.sm["), "{}", cta.path);
        let own = || warps.iter().filter(|warp| warp.parent == Some(cta.id));
        assert!(own().count() > 0);
        assert_eq!(own().map(|warp| amount(warp, "warp_insn")).sum::<u64>(), amount(cta, "warp_insn"));
    }
    // A scheduler's use of a cycle belongs to one block.
    let all: u64 = ctas.iter().map(|cta| slots(cta)).sum();
    let cycles = count(&summary, "gpu.sm[", "active_cycles");
    assert_eq!(all, 2 * cycles, "two schedulers");
    // A block's share of an SM's time is all of it: 48 warp slots.
    assert_eq!(count(&summary, "gpu.sm[", "warp_slots"), 48 * cycles);
    let warp_cycles = count(&summary, "gpu.sm[", "warp_cycles");
    assert!(0 < warp_cycles && warp_cycles < 48 * cycles, "{warp_cycles}");
    let named =
        ["used", "pipeline", "memory_pipeline", "policy", "fetch", "data", "memory", "barrier", "idle"];
    let of_sms = |name| {
        let path = |path: &str| path.starts_with("gpu.sm[") && path.ends_with(".issue_slots");
        let rows = summary.report.stats.iter().filter(|row| path(&row.path) && row.label.name == name);
        rows.map(|row| if let StatValue::Count(count) = row.value { count } else { 0 }).sum::<u64>()
    };
    for name in named {
        let of_kernels: u64 = (1..=3)
            .map(|number| {
                count(&summary, &format!("gpu.scheduler.kernels[hotspot#{number}].issue_slots"), name)
            })
            .sum();
        assert_eq!(of_kernels, of_sms(name), "{name}");
    }
}

#[test]
fn coarser_levels_have_the_same_spans_and_no_finer_ones() {
    let fine = stencil(Recording::of(Level::Warps)).report.trace.spans;
    for level in [Level::Off, Level::Phases, Level::Kernels, Level::Ctas] {
        let trace = stencil(Recording::of(level)).report.trace;
        assert!(trace.spans.iter().all(|span| span.level <= level), "{level:?}");
        let key = |span: &&Span| (span.path.clone(), span.name.clone(), span.start, span.end);
        let found: Vec<_> = trace.spans.iter().filter(|span| span.aggregated == 0).collect();
        let expected: Vec<_> = fine.iter().filter(|span| span.level <= level).collect();
        assert!(found.iter().map(key).eq(expected.iter().map(key)), "{level:?}");
        // Links, channels and disks are there as one span each where their busy periods are not.
        let sums = trace.spans.iter().filter(|span| span.aggregated > 0);
        let mut sums: Vec<String> = sums.map(|span| format!("{} {}", span.path, span.name)).collect();
        sums.sort_unstable();
        let busy = [
            "gpu.dram[0] channel",
            "gpu.dram[1] channel",
            "host.input medium",
            "host.output medium",
            "pcie downstream",
            "pcie upstream",
        ];
        assert_eq!(sums, if level == Level::Kernels { busy.to_vec() } else { vec![] });
    }
}

#[test]
fn beyond_the_limit_spans_are_added_up_and_counted_everywhere() {
    let all = stencil(Recording::of(Level::Warps)).report.trace.spans;
    let trace = stencil(Recording { level: Level::Warps, limit: 100 }).report.trace;
    assert!(trace.spans.len() <= 100, "{}", trace.spans.len());
    tree(&trace.spans);
    let kept = trace.spans.iter().filter(|span| span.aggregated == 0).count() as u64;
    assert_eq!(kept + trace.left_out, all.len() as u64);
    let ctas = |spans: &[Span]| -> u64 {
        let named = spans.iter().filter(|span| span.stem().ends_with("cta"));
        named.map(|span| amount(span, "warp_insn")).sum()
    };
    assert_eq!(ctas(&trace.spans), ctas(&all), "amounts are not lost");

    let out = tempfile::tempdir().unwrap();
    let folder = out.path().display().to_string();
    let mut arguments =
        vec!["run", "tiny", "hotspot", "--spans", "warps", "--span-limit", "100", "--out", &folder];
    arguments.extend(["--set", "app.n=40", "--set", "app.launches=3"]);
    let called = call(&arguments);
    assert_eq!(called.status, 0, "{}", called.err);
    assert!(called.out.contains(&format!("{} are added up by component", trace.left_out)), "{}", called.out);
    let text = std::fs::read_to_string(out.path().join("spans.perfetto.json")).unwrap();
    assert!(text.contains(&format!("\"spans_left_out\": {}", trace.left_out)));
    let manifest = std::fs::read_to_string(out.path().join("manifest.yaml")).unwrap();
    assert!(manifest.contains(&format!("spans_left_out: {}", trace.left_out)), "{manifest}");
}

#[test]
fn time_series_add_up_to_the_statistics() {
    let request = request("tiny", "hotspot", &["app.n=40", "app.launches=3"]);
    let series = Some(SimTime::from_ns(1_000));
    let summary = run_request(&RunRequest { series, ..request });
    let series = summary.report.series.as_ref().unwrap();
    let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let bytes = series.bytes() / series.points().count();
    assert!(bytes < 10, "{bytes} bytes a value");
    for point in series.points() {
        let counter = &series.counters[point.counter];
        *sums.entry((&counter.path, counter.label.name)).or_default() += point.increase;
    }
    for row in &summary.report.stats {
        let StatValue::Count(total) = row.value else { continue };
        // A given value, not a count.
        if row.label.name == "peak_bandwidth" {
            continue;
        }
        if row.path.contains("[hotspot#") || row.path.contains("streams[") || row.path.contains("kernel") {
            continue;
        }
        let sum = sums.get(&(row.path.as_str(), row.label.name)).copied().unwrap_or(0);
        assert_eq!(sum, total, "{}.{}", row.path, row.label.name);
    }
    // 93.374 us are 94 intervals, the last one shorter.
    let ipc = summary.curves.iter().find(|curve| curve.name == "IPC").unwrap();
    assert_eq!(ipc.points.len(), 94);
    let last = summary.report.outcome.time().as_ps() - 93_000_000;
    let instructions: f64 = ipc
        .points
        .iter()
        .enumerate()
        .map(|(index, (_, ipc))| ipc * 0.7 * if index < 92 { 1_000.0 } else { last as f64 * 1e-3 })
        .sum();
    let expected = summary.figures.count("warp instructions").unwrap() as f64;
    assert!((instructions - expected).abs() < 1e-3 * expected, "{instructions} for {expected}");
    let rate = summary.curves.iter().find(|curve| curve.name == "L2 hit rate").unwrap();
    assert!(rate.points.iter().all(|(_, rate)| (0.0..=1.0).contains(rate)));
}

#[test]
fn what_is_exposed_and_the_critical_path_come_to_the_whole_run() {
    for (machine, application, sets) in [
        ("tiny", "hotspot", ["app.n=40", "app.launches=3", "host.cpu.runtime=serial"]),
        (
            "tiny",
            "vecadd-streams",
            ["app.n=4000", "host.cpu.runtime=streams", "gpu.scheduler.policy=leftover"],
        ),
    ] {
        let summary = run_request(&request(machine, application, &sets));
        let end = summary.report.outcome.time();
        let spans = &summary.report.trace.spans;
        let exposure = &summary.waits.exposure;
        let sum = |times: &mut dyn Iterator<Item = SimTime>| times.map(SimTime::as_ps).sum::<u64>();
        let exposed = sum(&mut exposure.activities.iter().map(|(_, one)| one.exposed));
        assert_eq!(exposed + exposure.other.as_ps(), end.as_ps(), "{application}");
        let own = sum(&mut exposure.spans.iter().map(|(_, one)| one.exposed));
        assert_eq!(own, exposed, "{application}");
        let (on_path, between) = summary.waits.on_path(spans);
        assert_eq!(sum(&mut on_path.iter().map(|(_, time)| *time)) + between.as_ps(), end.as_ps());
        let steps = &summary.waits.path;
        assert!(steps.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!((steps[0].start, steps[steps.len() - 1].end), (SimTime::ZERO, end));
        let hidden = |activity| {
            let found = exposure.activities.iter().find(|(other, _)| *other == activity);
            found.map_or(SimTime::ZERO, |(_, one)| one.hidden())
        };
        // Only with streams can a copy and a kernel overlap.
        let overlapped = hidden(Activity::ToDevice) + hidden(Activity::ToHost);
        assert_eq!(overlapped > SimTime::ZERO, application == "vecadd-streams", "{overlapped}");
    }
}

#[test]
fn a_run_with_series_writes_them_as_tables_and_counter_tracks() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().display().to_string();
    let called = call(&[
        "run",
        "tiny",
        "vecadd",
        "--set",
        "app.n=2000",
        "--series",
        "5 us",
        "--spans",
        "ctas",
        "--out",
        &folder,
    ]);
    assert_eq!(called.status, 0, "{}", called.err);
    assert!(called.out.contains("critical path"), "{}", called.out);
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    assert!(read("curves.csv").starts_with("time_ps,IPC (warp instructions/cycle),"));
    assert!(read("series.csv").contains(",gpu.sm[0],warp_insn,"));
    assert!(read("stats.csv").contains("gpu.sm[0],active_cycles,"));
    assert!(read("exposure.csv").contains("H2D a,H2D,"));
    assert!(read("critical_path.csv").lines().count() > 5);
    let trace: serde_json::Value = serde_json::from_str(&read("spans.perfetto.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let threads: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    let expected = [
        "gpu.sm[0] slot 0",
        "gpu.sm[1] slot 1",
        "gpu.dram[0] channel",
        "gpu.copy burst 0",
        "pcie downstream",
        "pcie upstream",
        "host.cpu",
        "host.input medium",
    ];
    for track in expected {
        assert!(threads.contains(&track), "{track} in {threads:?}");
    }
    let tracks: Vec<&str> =
        events.iter().filter(|event| event["ph"] == "C").filter_map(|event| event["name"].as_str()).collect();
    for curve in ["IPC (warp instructions/cycle)", "L2 hit rate (of 1)", "DRAM bandwidth (GB/s)"] {
        assert!(tracks.contains(&curve), "{curve}");
    }
}

#[test]
fn a_watched_buffer_is_what_its_writes_have_made_of_it() {
    let out = tempfile::tempdir().unwrap();
    let text = |file: &str| std::fs::read_to_string(out.path().join(file));
    let run = |watch: &[&str]| {
        let watch = watch.iter().map(|&name| name.to_owned()).collect();
        let request =
            RunRequest { watch, out: Some(out.path().to_owned()), ..request("tiny", "vecadd", &[]) };
        let summary = run_request(&request);
        assert_verified(&summary);
        summary
    };
    let summary = run(&["c"]);
    let [(_, result)] = &*summary.results else { panic!("one file") };
    let (mut memories, mut last) = (BTreeMap::new(), 0);
    for line in text("writes.csv").unwrap().lines().skip(1) {
        let [time, memory, "c", offset, digits] = *line.split(',').collect::<Vec<_>>() else {
            panic!("{line}")
        };
        let (time, offset): (u64, usize) = (time.parse().unwrap(), offset.parse().unwrap());
        assert!(time >= last, "{line}");
        last = time;
        let bytes = memories.entry(memory.to_owned()).or_insert_with(|| vec![0; result.len()]);
        for (byte, digits) in bytes[offset..].iter_mut().zip(digits.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(digits).unwrap(), 16).unwrap();
        }
    }
    // The kernel writes it on the device, and a copy writes it on the host.
    assert_eq!(memories.keys().collect::<Vec<_>>(), ["device", "host"]);
    assert!(memories.values().all(|bytes| bytes == result));
    // Another run into the same folder removes the file.
    assert!(run(&[]).writes.is_empty() && text("writes.csv").is_err());
}

#[test]
fn busy_time_is_in_the_intervals_in_which_it_passes() {
    // A request to the disk takes several intervals.
    let request = request("tiny", "hotspot", &["app.n=40", "app.launches=3"]);
    let summary = run_request(&RunRequest { series: Some(SimTime::from_ns(500)), ..request });
    let series = summary.report.series.as_ref().expect("the series that was asked for");
    let interval = series.every.as_ps();
    // Most cycles of an interval at 700 and 924 MHz.
    let cycles = |mhz: u64| interval * mhz / 1_000_000 + 1;
    for (path, name, all) in [
        ("host.input", "busy", interval),
        ("pcie", "downstream_busy", interval),
        ("pcie", "upstream_busy", interval),
        ("gpu.scheduler", "gpu_tot_sim_cycle", cycles(700)),
        ("gpu.dram[0]", "n_activity", cycles(924)),
    ] {
        let is_it = |counter: &CounterName| counter.path.starts_with(path) && counter.label.name == name;
        let own = series.points().filter(|point| is_it(&series.counters[point.counter]));
        let increases: Vec<u64> = own.map(|point| point.increase).collect();
        let most = increases.iter().max().copied().unwrap_or_default();
        assert!(most > 0 && most <= all, "{path}.{name}: {most} of {all}");
        let fills = matches!(name, "busy" | "gpu_tot_sim_cycle");
        assert!(!fills || most >= all - 1, "{path}.{name}: all of an interval");
        assert_eq!(increases.iter().sum::<u64>(), count(&summary, path, name), "{path}.{name}");
    }
}
