//! Any kernel that can be decoded can be analysed, in finite time and within 64-bit addresses.
#![no_main]

use std::collections::BTreeMap;

use counterpoint_ptx::analysis::access::KernelAccesses;
use counterpoint_ptx::analysis::ranges::{Launch, ranges};
use counterpoint_ptx::{decode, parser};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(module) = parser::parse(text) else { return };
    if decode::decode(&module).is_err() {
        return;
    }
    for kernel in module.functions.iter().filter(|function| function.entry && function.body.is_some()) {
        let accesses = KernelAccesses::new(&module, kernel);
        let params =
            (0..kernel.params.len() as u32).map(|index| (index, (i128::from(index) + 1) << 20)).collect();
        let allocations = BTreeMap::new();
        let launch =
            Launch { grid: [3, 2, 1], block: [16, 4, 1], params: &params, allocations: &allocations };
        for ctaid in [[0, 0, 0], [2, 1, 0]] {
            for touched in ranges(&accesses, &launch, ctaid).arrays.values() {
                assert!(touched.both().is_none_or(|range| range.start < range.end), "{touched:?}");
            }
        }
    }
});
