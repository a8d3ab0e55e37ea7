//! A hash of addresses that another crate brings, on a whole machine: the network, the slices and the channels agree about it.

use counterpoint_framework::kernel::Sharing;
use counterpoint_framework::model::{Params, Variant};
use counterpoint_hardware::memory::address_map::hash::{SliceFunction, SliceHash, SliceParts};
use counterpoint_simulation::registry;
use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, request, run_with};

/// How far the slices move.
#[derive(Clone, Debug, Params)]
struct RotateParams {
    /// Slices by which every turn begins behind the last one.
    #[param(default = "1", max = "1024")]
    by: u32,
}

/// Begins each turn at another slice.
struct Rotate(u32);

impl Variant<dyn SliceHash> for Rotate {
    const NAME: &'static str = "rotate";
    const DOC: &'static str = "Each turn begins at another slice.";
    type Params = RotateParams;

    fn build(params: &RotateParams) -> Result<Box<dyn SliceHash>, String> {
        Ok(Box::new(Rotate(params.by)))
    }
}

impl SliceHash for Rotate {
    fn function(&self, parts: &SliceParts) -> Result<SliceFunction, String> {
        let (by, slices) = (u64::from(self.0), u64::from(parts.slices()));
        Ok(SliceFunction::new(move |turn, plain| ((u64::from(plain) + turn % slices * by) % slices) as u32))
    }
}

#[test]
fn results_are_right_with_a_hash_of_another_crate_and_have_one_hash() {
    let run = |hash: &str, threads| {
        let set = format!("gpu.slice_hash={hash}");
        let request = request("tiny", "hotspot", &["app.n=40", "app.launches=2", &set]);
        let mut registry = registry();
        registry.variant::<dyn SliceHash, Rotate>();
        let request = RunRequest { hash: true, threads, sharing: Sharing::Always, ..request };
        let summary = run_with(&request, registry);
        assert_verified(&summary);
        summary.report.hash
    };
    let rotated = run("rotate", 1);
    assert_eq!(run("rotate", 2), rotated);
    assert_ne!(run("none", 1), rotated);
}
