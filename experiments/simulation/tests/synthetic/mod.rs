//! Synthetic kernels have the properties of their descriptions, in the text of the PTX and in its execution.

mod machine;
mod patterns;
mod text;

use counterpoint_framework::model::Registry;
use counterpoint_framework::testing::params;
use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::{FlatMemory, Grid, Options, Statistics, ctas};
use counterpoint_simulation::synthetic::{Class, Synthetic, kernel, register};
use proptest::prelude::*;

use text::Body;

/// A description as an application gives it.
fn described(yaml: &str) -> Synthetic {
    let mut registry = Registry::default();
    register(&mut registry);
    params(registry.families(), yaml)
}

/// The kernel of a description that can be met.
fn ptx(yaml: &str) -> String {
    kernel("k", &described(yaml)).unwrap_or_else(|refusal| panic!("{yaml}: {refusal:?}"))
}

/// Results of a launch.
struct Ran {
    statistics: Statistics,
    /// The buffer that is written, in words; `u32::MAX` where nobody wrote.
    written: Vec<u32>,
    digests: Vec<u32>,
}

/// Runs a kernel; it must do nothing that it should not.
fn run(text: &str, footprint: usize, grid: [u32; 3], block: [u32; 3]) -> Ran {
    let kernel = Kernel::compile(text, None).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let mut memory = FlatMemory::new(0);
    let threads = (grid.iter().product::<u32>() * block.iter().product::<u32>()) as usize;
    let read: Vec<u8> = (0..footprint).map(|byte| (byte * 7 / 4) as u8).collect();
    let read = memory.push(&read);
    let written = memory.push(&vec![0xff; footprint]);
    let result = memory.allocate("result", 4 * threads, 0);
    let arguments = kernel.params().iter().flat_map(|param| {
        let address = match param.name.as_str() {
            "k_read" => read,
            "k_written" => written,
            "k_result" => result,
            other => panic!("{other}"),
        };
        address.to_le_bytes()
    });
    let arguments: Vec<u8> = arguments.collect();
    let options = Options { racecheck: true, ..Options::default() };
    let variables = memory.load("k", &kernel);
    let mut launch = Grid::new(&kernel, grid, block, &arguments, variables, &options).unwrap();
    for ctaid in ctas(grid) {
        let ended = launch.run_cta(ctaid, &mut memory);
        assert!(ended.unwrap_or_else(|failure| panic!("{failure:?}\n{text}")).is_continue());
    }
    assert!(launch.findings().is_empty(), "{:?}\n{text}", launch.findings());
    let statistics = launch.statistics().clone();
    let words = |address, count| -> Vec<u32> {
        memory.read_f32(address, count).into_iter().map(f32::to_bits).collect()
    };
    Ran { statistics, written: words(written, footprint / 4), digests: words(result, threads) }
}

/// Everything in one kernel.
const ALL: &str = "{ mix: { int: 50, fp: 12, sfu: 3, dp: 2, shared_load: 5, shared_store: 3, global_load: 5, \
                   global_store: 3, branch: 4, barrier: 1 }, instructions: 384, dependence: 4, rounds: 3, \
                   footprint: 16 KiB, threads: 64, shared: 1 KiB, lines: 2 }";

#[test]
fn the_mix_is_exact_and_values_are_as_old_as_they_should_be() {
    let text = ptx(ALL);
    let body = Body::of(&text);
    let counts = described(ALL).mix.counts(96).unwrap();
    for class in Class::ALL {
        assert!(counts.of(class) > 0, "{class:?}");
        assert_eq!(body.count(class), 4 * counts.of(class), "{class:?}");
    }
    assert_eq!(body.shortest_distance(), 4);
    // The round's instructions, and the three that count rounds.
    assert_eq!(body.instructions.len(), 384 + 3);
    assert_ne!(text, ptx(&ALL.replace("lines: 2", "lines: 2, seed: 7")), "the seed chooses the order");
    assert_eq!(text, ptx(ALL), "and nothing else does");
}

#[test]
fn every_instruction_is_executed_by_every_warp_in_every_round() {
    let text = ptx(ALL);
    let ran = run(&text, 16 << 10, [3, 1, 1], [64, 1, 1]);
    let body = Body::of(&text);
    let warps = 3 * 2;
    let expected = warps * (body.outside + 3 * body.instructions.len()) as u64;
    assert_eq!(ran.statistics.warp_instructions, expected);
    assert!(ran.statistics.thread_instructions < 32 * expected, "some lanes jump");
    let distinct: std::collections::BTreeSet<u32> = ran.digests.iter().copied().collect();
    assert!(distinct.len() > 96, "threads compute different things: {}", distinct.len());
}

#[test]
fn shapes_of_blocks_and_grids_do_not_matter() {
    let text = ptx(ALL);
    let flat = run(&text, 16 << 10, [4, 1, 1], [64, 1, 1]);
    let solid = run(&text, 16 << 10, [2, 1, 2], [8, 4, 2]);
    assert_eq!((flat.written, flat.digests), (solid.written, solid.digests));
    let half = run(&text, 16 << 10, [4, 1, 1], [32, 1, 1]);
    assert_eq!(half.digests.len(), 4 * 32, "every thread of a smaller block has its digest");
}

#[test]
fn registers_are_as_many_as_wanted() {
    for registers in [56, 64, 100] {
        let text = ptx(&ALL.replace("lines: 2", &format!("lines: 2, registers: {registers}")));
        assert_eq!(Kernel::compile(&text, None).unwrap().registers_per_thread(), registers);
        run(&text, 16 << 10, [1, 1, 1], [64, 1, 1]);
    }
}

#[test]
fn what_cannot_be_met_is_refused_with_its_parameter() {
    for (yaml, parameter, message, help) in [
        ("{ mix: {} }", "mix", "the mix has no instructions", "give `int`"),
        (
            "{ mix: { global_load: 1, global_store: 1 }, instructions: 4 }",
            "mix",
            "the addresses of global accesses need 14 of `int`, and it has 0",
            "three a load and four a store",
        ),
        (
            "{ mix: { int: 1 }, instructions: 6, dependence: 4 }",
            "instructions",
            "6 instructions cannot be 4 apart",
            "expected a multiple of 4, from 8 on",
        ),
        ("{ mix: { int: 1 }, footprint: 5000 B }", "footprint", "5000 is not a power of two", "4096 or 8192"),
        ("{ mix: { int: 1 }, lines: 3 }", "lines", "3 is not a power of two", "expected 2 or 4"),
        ("{ mix: { int: 1 }, threads: 33 }", "threads", "33 threads are not whole warps", "multiple of 32"),
        (
            "{ mix: { shared_load: 1 }, shared: 1000 B }",
            "shared",
            "1000 B of shared memory are less than a word for each thread",
            "expected at least 1024 B",
        ),
        (
            "{ mix: { int: 1 }, pattern: { tile: { size: 2 MiB } } }",
            "pattern",
            "a tile of 2097152 B does not fit between a warp's access, 128 B, and the footprint, 1048576 B",
            "change the pattern or the footprint",
        ),
        (
            "{ mix: { int: 1 }, pattern: { hot-set: { hot: 2 MiB } } }",
            "pattern",
            "a hot set of 2097152 B must be whole lines of a footprint of 1048576 B",
            "change the pattern or the footprint",
        ),
        (
            "{ mix: { int: 1 }, dependence: 8, registers: 4 }",
            "registers",
            "registers, more than 4",
            "a smaller `dependence`",
        ),
    ] {
        let refusal = kernel("k", &described(yaml)).expect_err(yaml);
        assert_eq!(refusal.parameter, parameter, "{yaml}");
        assert!(refusal.message.contains(message) && refusal.help.contains(help), "{yaml}: {refusal:?}");
    }
}

/// Descriptions of all kinds that can be met: `int` has enough for the addresses of all accesses.
fn descriptions() -> impl Strategy<Value = String> {
    let pattern = prop::sample::select(vec![
        "sequential",
        "{ strided: { stride: 516 B } }",
        "random",
        "{ hot-set: { hot: 1 KiB, share: 0.7 } }",
        "{ tile: { size: 8 KiB } }",
    ]);
    let shares = prop::collection::vec(prop_oneof![Just(0_u32), 1_u32..20], 9);
    let shape = (1_u32..9, 12_u32..40, 1_u32..4, 0_u32..6, 0_u32..32, 0_u32..20, 1_u32..5, any::<u64>());
    (shares, pattern, shape).prop_map(|(shares, pattern, shape)| {
        let (dependence, rows, rounds, lines, jumping, skipped, warps, seed) = shape;
        let names = [
            "fp",
            "sfu",
            "dp",
            "shared_load",
            "shared_store",
            "global_load",
            "global_store",
            "branch",
            "barrier",
        ];
        let mix: Vec<String> =
            names.iter().zip(&shares).map(|(name, share)| format!("{name}: {share}")).collect();
        // Enough for all accesses even if their shares are rounded up.
        let int = 10 + 9 * (shares[5] + shares[6]);
        format!(
            "{{ mix: {{ int: {int}, {} }}, pattern: {pattern}, dependence: {dependence}, instructions: {}, \
             rounds: {rounds}, lines: {}, jumping: {jumping}, skipped: {skipped}, threads: {}, seed: {seed}, \
             footprint: 16 KiB }}",
            mix.join(", "),
            rows * dependence,
            1 << lines,
            32 * warps,
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn any_description_gives_a_kernel_that_is_what_it_says(yaml in descriptions()) {
        let description = described(&yaml);
        let text = ptx(&yaml);
        let body = Body::of(&text);
        let strands = description.dependence;
        let counts = description.mix.counts(description.instructions / strands).unwrap();
        for class in Class::ALL {
            prop_assert_eq!(body.count(class), strands * counts.of(class), "{:?}", class);
        }
        prop_assert!(body.shortest_distance() >= strands as usize);
        let block = [description.threads, 1, 1];
        let ran = run(&text, 16 << 10, [2, 1, 1], block);
        let warps = u64::from(2 * description.threads / 32);
        let each = body.outside + description.rounds as usize * body.instructions.len();
        prop_assert_eq!(ran.statistics.warp_instructions, warps * each as u64);
        let again = run(&text, 16 << 10, [2, 1, 1], block);
        prop_assert!(ran.written == again.written && ran.digests == again.digests);
    }
}
