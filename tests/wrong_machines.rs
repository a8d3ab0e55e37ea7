//! Values travel with messages: a wrong machine computes wrong values, and the run reports them.

use async_trait::async_trait;
use counterpoint_cli::NOT_VERIFIED;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::Variant;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_hardware::gpu::cta_scheduler::{CtaPolicy, Placement, View};
use counterpoint_host_model::Driver;
use counterpoint_host_model::program::Step;
use counterpoint_host_model::runtimes::Runtime;
use counterpoint_protocols::bus::Direction;
use counterpoint_simulation::registry;

use crate::cli::call;
use crate::support::{assert_verified, assert_wrong, request, root, run_request, run_with};

/// Asserts that the command reports the first wrong element and exits with the status for that.
fn assert_command_says(machine: &str, application: &str, sets: &[&str], first: u64) {
    let path =
        |folder: &str, name: &str| root().join(folder).join(format!("{name}.yaml")).display().to_string();
    let machine =
        if machine.ends_with(".yaml") { machine.into() } else { path("topologies/systems", machine) };
    let application = path(&format!("experiments/applications/{application}"), application);
    let out = tempfile::tempdir().unwrap();
    let out = out.path().display().to_string();
    let mut arguments = vec!["run", &machine, &application, "--out", &out];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let called = call(&arguments);
    assert_eq!(called.status, NOT_VERIFIED, "{}", called.err);
    assert!(called.err.contains("error: verification failed: "), "{}", called.err);
    assert!(called.err.contains(&format!("elements differ, first [{first}]: expected ")), "{}", called.err);
}

/// An L1 that holds all that a launch reads, so that lines which it should have forgotten are still there.
const LARGE_L1: [&str; 2] = ["gpu.sm.l1d.capacity=256 KiB", "gpu.sm.l1d.set_index=linear"];

#[test]
fn without_the_flush_between_launches_stale_lines_are_read() {
    // With two SMs, blocks half a line wide alternate: each SM writes to every line and thus invalidates its
    // part of the line.
    let sets = ["gpu.sms=4", "app.n=128", "app.launches=4", LARGE_L1[0], LARGE_L1[1]];
    assert_verified(&run_request(&request("tiny", "hotspot", &sets)));
    let never = [&sets[..], &["gpu.sm.l1d.flush=never"]].concat();
    let request = request("tiny", "hotspot", &never);
    let first = assert_wrong(&run_request(&request));
    assert_command_says(&request.machine, &request.application, &never, first);
}

/// Places blocks of any launch at once.
struct Eager;

impl Variant<dyn CtaPolicy> for Eager {
    const NAME: &'static str = "eager";
    const DOC: &'static str = "Places blocks of any launch at once, youngest first.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Eager))
    }
}

impl CtaPolicy for Eager {
    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let launches = (0..view.launches.len()).rev().filter(|&launch| view.launches[launch].waiting() > 0);
        let mut places =
            launches.flat_map(|launch| (0..view.sms.len()).map(move |sm| Placement { launch, sm }));
        places.find(|place| view.fits(place.launch, place.sm))
    }
}

/// Places every block on the first SM, as often as that takes a message.
struct Crowded;

impl Variant<dyn CtaPolicy> for Crowded {
    const NAME: &'static str = "crowded";
    const DOC: &'static str = "Places every block on the first SM.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Crowded))
    }
}

impl CtaPolicy for Crowded {
    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let launch = view.launches.iter().position(|running| running.waiting() > 0)?;
        view.sms[0].ready.then_some(Placement { launch, sm: 0 })
    }
}

#[test]
fn a_policy_that_overfills_an_sm_ends_the_run() {
    let sets = ["app.n=10000", "gpu.scheduler.policy=crowded"];
    let mut registry = registry();
    registry.variant::<dyn CtaPolicy, Crowded>();
    let summary = run_with(&request("titanx-maxwell", "vecadd", &sets), registry);
    let ending = summary.ending();
    for part in
        ["gpu.scheduler", "the policy `crowded` places block ", "on SM 0, where it has no room: it needs "]
    {
        assert!(ending.contains(part), "{ending}");
    }
}

/// Gives every launch a stream of its own, as if no launch depended on another.
struct Unordered;

impl Variant<dyn Runtime> for Unordered {
    const NAME: &'static str = "unordered";
    const DOC: &'static str = "Gives every launch a stream of its own.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Unordered))
    }
}

#[async_trait(?Send)]
impl Runtime for Unordered {
    async fn run(&self, driver: &mut Driver<'_>, _run: SpanId) -> Result<(), Fault> {
        let application = driver.application();
        for step in &application.prelude {
            driver.host(step, None).await?;
        }
        for &buffer in &application.copy_in {
            let copy = driver.copy(Direction::HostToDevice, buffer, 0, None).await?;
            driver.wait(copy).await?;
        }
        let mut launched = Vec::new();
        for step in &application.steps {
            let Step::Repeat(times, steps) = step else { continue };
            for stream in 0..*times {
                for step in steps {
                    match step {
                        Step::Launch(launch) => launched.push(driver.launch(launch, stream, None).await?),
                        Step::Swap(a, b) => driver.swap(*a, *b),
                        Step::Free(name) => driver.free(*name)?,
                        _ => {}
                    }
                }
            }
        }
        for launch in launched {
            driver.wait(launch).await?;
        }
        for &buffer in &application.copy_out {
            let copy = driver.copy(Direction::DeviceToHost, buffer, 0, None).await?;
            driver.wait(copy).await?;
        }
        Ok(())
    }
}

#[test]
fn a_kernel_that_does_not_wait_for_the_one_before_reads_too_early() {
    let sets = ["app.n=64", "app.launches=4", "gpu.scheduler.policy=eager", "host.cpu.runtime=unordered"];
    let mut registry = registry();
    registry.variant::<dyn CtaPolicy, Eager>().variant::<dyn Runtime, Unordered>();
    assert_wrong(&run_with(&request("tiny", "hotspot", &sets), registry));
}

#[test]
fn copies_that_pass_the_l2_by_miss_its_dirty_lines() {
    // The GPU with a separate path from the copy engine to DRAM.
    let gpu = std::fs::read_to_string(root().join("topologies/modules/gpu.yaml")).unwrap();
    let modules = root().join("topologies/modules").display().to_string();
    let through = "  - { from: copy.memory, to: \"network.clients[0]\", latency: \"${network_latency}\" }";
    assert!(gpu.contains(through) && gpu.contains("clients[i + 1]"));
    let side = "  side: { type: interconnect/crossbar, clock: icnt, map: { slices: \"${controllers}\" } }\n";
    let gpu = gpu
        .replace("clients[i + 1]", "clients[i]")
        .replace("clients[sms + 1]", "clients[sms]")
        .replace("  network:\n", &format!("{side}  network:\n"))
        .replace(
            through,
            "  - \"copy.memory -> side.clients[0]\"\n  - \"side.servers[i] -> dram[i].clients[1]\"",
        );
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gpu.yaml"), gpu).unwrap();
    let machine = std::fs::read_to_string(root().join("topologies/systems/integrated.yaml")).unwrap();
    let machine = machine
        .replace("../modules/gpu.yaml", "gpu.yaml")
        .replace("../modules/host.yaml", &format!("{modules}/host.yaml"));
    let file = folder.path().join("machine.yaml");
    std::fs::write(&file, machine).unwrap();
    let machine = file.display().to_string();
    let summary = run_request(&request(&machine, "vecadd", &["app.n=4096"]));
    assert_eq!(assert_wrong(&summary), 0);
    assert_command_says(&machine, "vecadd", &["app.n=4096"], 0);
    assert_verified(&run_request(&request("integrated", "vecadd", &["app.n=4096"])));
}
