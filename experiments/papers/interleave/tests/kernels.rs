//! The kernels: the instructions that their warps execute, beside the counts of the paper.

use std::path::PathBuf;

use counterpoint::application::{RealFiles, load};
use counterpoint::component::Registry;
use counterpoint::ptx::functional::{FlatMemory, Grid, Observer, Options, ctas};
use counterpoint::ptx::{Access, Class, Instruction, Issued};
use counterpoint::run::{RunRequest, registry_with};
use counterpoint_tests::launches::Device;
use counterpoint_tests::support::{assert_verified, request, root, run_with};

/// Warp instructions of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Instructions that are neither `memory` nor `parameters`.
    alu: u64,
    /// Loads and stores.
    memory: u64,
    /// Loads of the kernel's parameters.
    parameters: u64,
}

/// Counts the instructions of warps.
struct Counting<'a> {
    code: &'a [Instruction],
    counts: Counts,
}

impl Counting<'_> {
    fn count(&mut self, pc: u32) {
        let counter = match self.code[pc as usize].class() {
            Class::ParameterLoad => &mut self.counts.parameters,
            class if class.is_memory() => &mut self.counts.memory,
            _ => &mut self.counts.alu,
        };
        *counter += 1;
    }
}

impl Observer for Counting<'_> {
    fn computed(&mut self, _warp: usize, first: u32, count: u32, _threads: u64) {
        (first..first + count).for_each(|pc| self.count(pc));
    }

    fn issued(&mut self, _warp: usize, pc: u32, _issued: Issued, _access: &Access) {
        self.count(pc);
    }

    fn passed(&mut self, _warp: usize, _barrier: u32) {}

    fn opened(&mut self, _barrier: u32) {}
}

/// Result of an application's launch.
struct Launched {
    counts: Counts,
    blocks: u64,
    warps: u64,
}

fn folder() -> PathBuf {
    root().join("experiments/papers/interleave/applications")
}

fn registry() -> Registry {
    registry_with(&[counterpoint_interleave::register])
}

/// Runs the launch of an application twice without time: all memory must be the same after the second.
fn launched(application: &str) -> Launched {
    let path = folder().join(application).join(format!("{application}.yaml")).display().to_string();
    let loaded =
        load(&path, &[], &RealFiles, &registry()).unwrap_or_else(|report| panic!("{}", report.render()));
    let mut device = Device::new(&loaded);
    let mut all = None;
    device.run(&loaded.application.steps, &mut |device, launch| {
        assert!(all.is_none(), "{application} is more than one launch");
        let arguments = device.arguments(launch);
        let variables = device.memory.load(launch.kernel.name(), &launch.kernel);
        let options = Options { dynamic_shared_bytes: launch.shared, ..Options::default() };
        let once = |memory: &mut FlatMemory| {
            let (kernel, params) = (&launch.kernel, &arguments.bytes);
            let mut grid = Grid::new(kernel, launch.grid, launch.block, params, variables, &options).unwrap();
            let mut counting = Counting { code: kernel.instructions(), counts: Counts::default() };
            for cta in ctas(launch.grid) {
                let flow = grid.run_observed(cta, memory, &mut counting);
                assert!(flow.unwrap_or_else(|failure| panic!("{}", failure.error.message)).is_continue());
            }
            let Counts { alu, memory, parameters } = counting.counts;
            assert_eq!(alu + memory + parameters, grid.statistics().warp_instructions);
            counting.counts
        };
        let counts = once(&mut device.memory);
        let after = device.memory.bytes.clone();
        assert_eq!(once(&mut device.memory), counts, "{application}");
        assert!(device.memory.bytes[..] == after[..], "{application} does not do the same again");
        let threads: u64 = launch.block.iter().map(|size| u64::from(*size)).product();
        all = Some(Launched { counts, blocks: launch.ctas(), warps: threads.div_ceil(32) });
    });
    let launched = all.unwrap();
    let stated = loaded.counts.unwrap_or_else(|| panic!("{application} states no counts"));
    let stated = stated.values().next().unwrap_or_else(|| panic!("{application} states no counts"));
    let Counts { alu, memory, parameters } = launched.counts;
    assert!(stated.ctas.agrees(&[launched.blocks]), "{application}: {stated:?}");
    assert!(stated.warp_insn.agrees(&[alu + memory + parameters]), "{application}: {stated:?}");
    launched
}

/// Instructions of the paper's Table I.
struct Paper {
    name: &'static str,
    blocks: u64,
    warps: u64,
    alu: u64,
    memory: u64,
}

const fn paper(name: &'static str, blocks: u64, warps: u64, alu: u64, memory: u64) -> Paper {
    Paper { name, blocks, warps, alu, memory }
}

const PAPER: [Paper; 8] = [
    paper("path", 463, 8, 3_822_528, 692_648),
    paper("bp-1", 4096, 8, 4_177_920, 675_840),
    paper("bp-2", 4096, 8, 1_802_258, 458_759),
    paper("hot", 1849, 8, 3_459_423, 510_461),
    paper("hw", 51, 8, 150_144, 25_398),
    paper("cfd", 506, 6, 933_521, 78_023),
    paper("lud", 225, 8, 109_800, 73_800),
    paper("nw", 128, 1, 117_888, 33_152),
];

/// Our count in thousandths of the paper's.
fn ratio(ours: u64, paper: u64) -> u64 {
    (1000 * ours + paper / 2) / paper
}

fn is_near(ratio: u64) -> bool {
    (850..=1150).contains(&ratio)
}

/// Applications that are short: a tenth of the instructions of all.
const SHORT: [&str; 4] = ["hw", "cfd", "lud", "nw"];

/// The chosen Rodinia kernels execute about as many instructions as the paper's.
fn assert_counts(chosen: impl Fn(&str) -> bool) {
    // Counts; then whether ALU and MEM are within 15 % of the paper's where loads of parameters count as ALU, and where they count as
    // MEM, as in the paper. The causes of the others are in KERNELS.md.
    let expected = [
        ([2122392, 525968, 25928], [false, false], [false, false]),
        ([3448832, 544768, 163840], [true, false], [false, true]),
        ([1671186, 294919, 229376], [true, false], [true, true]),
        ([2649144, 289132, 192296], [false, false], [false, true]),
        ([144381, 25398, 2448], [true, true], [true, true]),
        ([826760, 85008, 33396], [true, true], [true, false]),
        ([115200, 68400, 5400], [true, true], [true, true]),
        ([94080, 28800, 640], [false, true], [false, true]),
    ];
    let all = PAPER.iter().zip(expected);
    for (paper, (counts, as_alu, as_memory)) in all.filter(|(paper, _)| chosen(paper.name)) {
        let found = launched(&format!("rodinia-{}", paper.name));
        assert_eq!((found.blocks, found.warps), (paper.blocks, paper.warps), "{}", paper.name);
        let Counts { alu, memory, parameters } = found.counts;
        let near = |alu, memory| [ratio(alu, paper.alu), ratio(memory, paper.memory)];
        let found =
            ([alu, memory, parameters], near(alu + parameters, memory), near(alu, memory + parameters));
        assert_eq!(
            (found.0, found.1.map(is_near), found.2.map(is_near)),
            (counts, as_alu, as_memory),
            "{}: {:?} and {:?} thousandths",
            paper.name,
            found.1,
            found.2
        );
    }
}

#[test]
fn short_kernels_execute_about_what_the_papers_do() {
    assert_counts(|name| SHORT.contains(&name));
}

/// The chosen ones of the kernels that are described have the mix of the paper.
fn assert_mix(chosen: impl Fn(&str) -> bool) {
    // Instructions of a warp: ALU, with the loads of parameters among them, and MEM.
    let expected = [
        ("path", 1032, 187),
        ("bp-1", 128, 21),
        ("bp-2", 55, 14),
        ("hot", 234, 34),
        ("hw", 368, 62),
        ("cfd", 308, 26),
        ("lud", 61, 41),
        ("nw", 921, 259),
    ];
    for (paper, (name, alu, memory)) in PAPER.iter().zip(expected) {
        assert_eq!(paper.name, name);
        if !chosen(name) {
            continue;
        }
        let found = launched(&format!("mix-{name}"));
        assert_eq!((found.blocks, found.warps), (paper.blocks, paper.warps), "{name}");
        let all = found.blocks * found.warps;
        assert_eq!(found.counts.alu + found.counts.parameters, alu * all, "{name}");
        assert_eq!(found.counts.memory, memory * all, "{name}");
        // Each is the paper's number for a warp, which is not whole for BP-1, Hot, HW and CFD, up or down.
        assert!((alu * all).abs_diff(paper.alu) < all, "{name}");
        assert!((memory * all).abs_diff(paper.memory) < all, "{name}");
    }
}

#[test]
fn short_kernels_that_are_described_have_the_mix_of_the_paper() {
    assert_mix(|name| SHORT.contains(&name));
}

#[test]
fn every_application_is_verified_in_time_and_without() {
    let names: Vec<String> = PAPER
        .iter()
        .flat_map(|paper| ["rodinia", "mix"].map(|kind| format!("{kind}-{}", paper.name)))
        .collect();
    let mut there: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(there, sorted);
    for name in names {
        for functional in [false, true] {
            let sets = ["app.size=small", "app.copies=2"];
            let request = RunRequest { functional, ..request("gtx480", &name, &sets) };
            assert_verified(&run_with(&request, registry()));
        }
    }
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn kernels_execute_about_what_the_papers_do() {
        assert_counts(|_| true);
    }

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn described_kernels_have_the_mix_of_the_paper() {
        assert_mix(|_| true);
    }
}
