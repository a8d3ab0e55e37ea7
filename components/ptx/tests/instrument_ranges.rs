//! Ranges that pre-profilers report when they run equal those of the analysis for every block: all kernels of
//! all committed files that can have profilers, with many launches of odd shapes and parameters.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint_ptx::analysis::access::KernelAccesses;
use counterpoint_ptx::analysis::ranges::{Launch, ranges};
use counterpoint_ptx::functional::{FlatMemory, Grid, Options, ctas};
use counterpoint_ptx::instrument::{self, InstrumentedKernel, Semi, instrument};
use counterpoint_ptx::{Kernel, RangeAction, RangeCall, VariableBases, parser};

use crate::common::{compiled, modules};

/// Numbers that look random.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The possible report for an array: the range itself, or how it ends at an allocation.
fn clip(range: Range<u64>, array: &Range<u64>) -> Option<Range<u64>> {
    let clipped = range.start.max(array.start)..range.end.min(array.end);
    (clipped.start < clipped.end).then_some(clipped)
}

/// Runs the pre-profiler of a launch that is drawn and compares; gives how many ranges were equal, and how many there were.
fn compare(
    accesses: &KernelAccesses,
    (kernel, plain, pre): (&InstrumentedKernel, &Kernel, &Kernel),
    draw: &mut Draw,
    words: &str,
) -> (usize, usize) {
    let mut extent = |most: [u64; 3]| most.map(|most| 1 + draw.below(most) as u32);
    let (grid, block) = (extent([4, 3, 2]), extent([40, 6, 4]));
    let (mut params, mut bytes) = (BTreeMap::new(), Vec::new());
    for (index, param) in plain.params().iter().enumerate() {
        bytes.resize(param.offset as usize, 0);
        let value = match param.size {
            8 if kernel.arrays.iter().any(|array| array.name == param.name) => {
                i128::from((index as u64 + 1) << 40)
            }
            8 => i128::from(draw.below(9)),
            _ => i128::from([0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 61, -1, -3][draw.below(13) as usize]),
        };
        params.insert(index as u32, value);
        bytes.extend(&(value as i64).to_le_bytes()[..param.size.min(8) as usize]);
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    block.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
    let options = Options { ranges: true, ..Options::default() };
    let variables = VariableBases { globals: 1 << 38, constants: 1 << 39, ..VariableBases::default() };
    let mut run = Grid::new(pre, grid, [1; 3], &bytes, variables, &options).unwrap();
    let mut memory = FlatMemory::new(0);
    for ctaid in ctas(grid) {
        let ended = run.run_cta(ctaid, &mut memory).unwrap_or_else(|failure| panic!("{words}: {failure}"));
        assert!(ended.is_continue());
    }
    let mut told = run.ranges().iter();
    let launch = Launch { grid, block, params: &params, allocations: &BTreeMap::new() };
    let (mut compared, mut drawn) = (0, 0);
    for ctaid in ctas(grid) {
        let expected = ranges(accesses, &launch, ctaid);
        assert!(!expected.anywhere);
        for array in &kernel.arrays {
            let range = told.next().unwrap();
            assert_eq!((range.ctaid, range.action), (ctaid, RangeAction::Set));
            let RangeCall { array: start, low, high, reads, writes } = range.call;
            assert_eq!((reads, writes), (array.reads, array.writes));
            let Some(index) = plain.params().iter().position(|param| param.name == array.name) else {
                assert!(low == start && high > low && start >= variables.globals);
                continue;
            };
            assert_eq!(i128::from(start), params[&(index as u32)]);
            let expected = expected.arrays.get(&(index as u32)).and_then(|touched| touched.both());
            // Far more than any array, so that nothing reported is cut off.
            let array = start.saturating_sub(1 << 38)..start + (1 << 38);
            let found = clip(low..high, &array);
            let expected = expected.and_then(|expected| clip(expected, &array));
            drawn += 1;
            let launch = format!("{words} {grid:?} {block:?} {ctaid:?} {params:?} {}", range.call.low);
            // With nested loops whose outer one is never entered, all of an array may be reported where
            // nothing is touched: the inner one's end is computed from numbers that never occur. A larger
            // range does no harm.
            if expected.is_none() && found.as_ref() == Some(&array) {
                continue;
            }
            assert_eq!(found, expected, "{launch}");
            compared += 1;
        }
    }
    assert!(told.next().is_none());
    (compared, drawn)
}

/// Compares the kernels of every `step`th module. Gives the numbers of kernels, of kernels that are not regular, and of equal ranges.
fn told(step: usize) -> [usize; 3] {
    let mut draw = Draw(7);
    let (mut compared, mut drawn, mut kernels, mut semi) = (0, 0, 0, 0);
    for (name, text) in modules().into_iter().step_by(step) {
        let module = parser::parse(&text).unwrap();
        let instrumented =
            instrument(&module, &instrument::Options { semi: Semi::Enumerate, kernel: None }).unwrap();
        let (plain, changed) = (compiled(&text), compiled(&instrumented.text));
        for kernel in &instrumented.kernels {
            let Some(pre) = &kernel.pre else { continue };
            let (plain, pre) = (&plain[&kernel.name], &changed[pre]);
            let function = module.functions.iter().find(|function| function.name == kernel.name).unwrap();
            let accesses = KernelAccesses::new(&module, function);
            kernels += 1;
            semi += usize::from(kernel.class != counterpoint_ptx::analysis::access::Class::Regular);
            let words = format!("{name} {}", kernel.name);
            for _ in 0..4 {
                let (equal, all) = compare(&accesses, (kernel, plain, pre), &mut draw, &words);
                (compared, drawn) = (compared + equal, drawn + all);
            }
        }
    }
    assert!(drawn < compared + compared / 100, "{drawn} {compared}");
    [kernels, semi, compared]
}

#[test]
fn what_is_told_is_what_the_analysis_says() {
    let [kernels, _, compared] = told(5);
    assert!(kernels > 20 && compared > 2_000, "{kernels} {compared}");
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: cargo xtask slow"]
    fn what_is_told_of_all_modules_is_what_the_analysis_says() {
        let [kernels, semi, compared] = told(1);
        assert!(kernels > 100 && semi >= 4 && compared > 10_000, "{kernels} {semi} {compared}");
    }
}
