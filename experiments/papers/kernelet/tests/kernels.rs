//! The kernels: their results, with time and without, their repeatability, and their blocks per SM.

use std::path::PathBuf;

use counterpoint::application::{LoadedApplication, RealFiles, load};
use counterpoint::component::Registry;
use counterpoint::host::program::{LaunchStep, Step};
use counterpoint::messages::launch::SmResources;
use counterpoint::ptx::functional::{FlatMemory, Grid, Options, ctas};
use counterpoint::run::{RunRequest, registry_with};
use counterpoint_kernelet::model::Memory;
use counterpoint_kernelet::paper;
use counterpoint_kernelet::schedule::GpuDescription;
use counterpoint_kernelet::schedule::slices::most;
use counterpoint_tests::launches::Device;
use counterpoint_tests::support::{assert_verified, request, root, run_with};

/// Applications in their order, and kernels of Table 4. SAD is there twice.
fn kernels() -> Vec<(&'static str, &'static str)> {
    let mut kernels = [&paper::APPLICATIONS[..], &[("kernelet-sad", "SAD")]].concat();
    kernels.sort_unstable();
    kernels
}

fn folder() -> PathBuf {
    root().join("experiments/papers/kernelet/applications")
}

fn registry() -> Registry {
    registry_with(&[counterpoint_kernelet::register])
}

fn loaded(application: &str, sets: &[&str]) -> LoadedApplication {
    let path = folder().join(application).join(format!("{application}.yaml")).display().to_string();
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    load(&path, &sets, &RealFiles, &registry()).unwrap_or_else(|report| panic!("{}", report.render()))
}

#[test]
fn every_application_is_verified_in_time_and_without() {
    let mut there: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    // It has no kernel.
    let rates = there.iter().position(|name| name == "kernelet-rates").unwrap();
    there.remove(rates);
    let (test, of_paper): (Vec<&String>, Vec<&String>) =
        there.iter().partition(|name| name.starts_with("kernelet-test"));
    assert!(of_paper.into_iter().eq(kernels().iter().map(|(name, _)| name)) && test.len() == 6, "{there:?}");
    for name in there {
        for functional in [false, true] {
            let request = RunRequest { functional, ..request("tiny", &name, &["app.size=small"]) };
            assert_verified(&run_with(&request, registry()));
        }
    }
}

#[test]
fn a_launch_does_the_same_again_and_has_as_many_blocks_on_an_sm_as_the_papers() {
    let memory = Memory::constant(400.0);
    for (name, paper) in kernels() {
        let paper = paper::KERNELS.iter().find(|kernel| kernel.name == paper).unwrap();
        for sets in [&[][..], &["app.size=small"]] {
            let loaded = loaded(name, sets);
            let counts = loaded.counts.as_ref().and_then(|counts| counts.values().next());
            let counts = counts.unwrap_or_else(|| panic!("{name} states no counts"));
            let mut device = Device::new(&loaded);
            let mut launches = 0;
            device.run(&loaded.application.steps, &mut |device, launch| {
                launches += 1;
                assert_eq!(threads(launch), paper.threads, "{name}");
                for (machine, printed) in [
                    (GpuDescription::c2050(memory), paper.c2050),
                    (GpuDescription::gtx680(memory), paper.gtx680),
                ] {
                    // 67.7 is a misprint.
                    let meant = if printed.occupancy == 67.7 { 66.7 } else { printed.occupancy };
                    let found =
                        100.0 * machine.occupancy(blocks_on_an_sm(&machine, launch), paper.threads / 32);
                    assert!((found - meant).abs() < 0.05, "{name}: {found}, not {meant}");
                }
                let instructions = runs_twice(device, launch);
                assert!(counts.ctas.agrees(&[launch.ctas()]), "{name}: {counts:?}");
                assert!(counts.warp_insn.agrees(&[instructions]), "{name}: {counts:?}, not {instructions}");
            });
            assert_eq!(launches, 1, "{name}");
        }
    }
}

#[test]
fn inputs_are_there_before_the_run_and_steady_sizes_are_waves_of_blocks() {
    let memory = Memory::constant(400.0);
    for (name, _) in paper::APPLICATIONS {
        for size in ["paper", "steady"] {
            let application = loaded(name, &[&format!("app.size={size}")]).application;
            let [Step::Launch(launch)] = &application.steps[..] else {
                panic!("{name} is more than a launch")
            };
            assert!(application.copy_in.is_empty(), "{name}");
            let waves = |machine: GpuDescription| {
                launch.ctas() as f64 / f64::from(machine.sms * blocks_on_an_sm(&machine, launch))
            };
            let waves = [GpuDescription::c2050(memory), GpuDescription::gtx680(memory)].map(waves);
            assert!(waves[0] >= 6.0 && waves[1] >= 4.0, "{name}, {size}: {waves:?}");
        }
    }
}

#[test]
fn grids_of_size_paper_are_the_papers() {
    for (name, paper) in paper::APPLICATIONS.iter().filter(|(_, kernel)| *kernel != "SAD") {
        let paper = paper::KERNELS.iter().find(|kernel| kernel.name == *paper).unwrap();
        let application = loaded(name, &["app.size=paper"]).application;
        let [Step::Launch(launch)] = &application.steps[..] else { panic!("{name} is more than a launch") };
        assert_eq!((launch.ctas(), threads(launch)), (u64::from(paper.blocks), paper.threads), "{name}");
    }
}

fn threads(launch: &LaunchStep) -> u32 {
    launch.block.iter().product()
}

fn blocks_on_an_sm(machine: &GpuDescription, launch: &LaunchStep) -> u32 {
    let threads = threads(launch);
    let (registers, shared) = (launch.registers * threads, launch.shared + launch.kernel.shared_bytes());
    most(&machine.offer, &SmResources { threads, ctas: 1, registers, shared })
}

/// Runs a launch twice without time: all memory must be the same after the second. Its warp instructions.
fn runs_twice(device: &mut Device, launch: &LaunchStep) -> u64 {
    let (kernel, arguments) = (&launch.kernel, device.arguments(launch));
    let variables = device.memory.load(kernel.name(), kernel);
    let once = |memory: &mut FlatMemory| {
        let (params, options) = (&arguments.bytes, Options::default());
        let mut grid = Grid::new(kernel, launch.grid, launch.block, params, variables, &options).unwrap();
        for cta in ctas(launch.grid) {
            let flow = grid.run_cta(cta, memory);
            assert!(flow.unwrap_or_else(|failure| panic!("{}", failure.error.message)).is_continue());
        }
        grid.statistics().warp_instructions
    };
    let instructions = once(&mut device.memory);
    let after = device.memory.bytes.clone();
    assert_eq!(once(&mut device.memory), instructions, "{}", kernel.name());
    assert!(device.memory.bytes[..] == after[..], "{} does not do the same again", kernel.name());
    instructions
}
