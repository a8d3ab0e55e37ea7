//! A policy from outside that works with what an SM holds of a launch.

use std::sync::Arc;

use counterpoint_framework::model::{Registry, Variant};
use counterpoint_hardware::gpu::cta_scheduler::{CtaPolicy, CtaScheduler, Placement, View};
use counterpoint_hardware::testing::{bench_with, sms};
use counterpoint_protocols::launch::{CtaCounts, Launch, LaunchEvent, SmResources, ToScheduler};

use super::programs::{kernel, launch};
use super::*;

/// Fills SMs to half of what they hold of the oldest launch, so that the other half is left to whatever comes.
struct Half;

impl Variant<dyn CtaPolicy> for Half {
    const NAME: &'static str = "half";
    const DOC: &'static str = "Fills SMs to half of what they hold.";
    type Params = ();

    fn build((): &()) -> Result<Box<dyn CtaPolicy>, String> {
        Ok(Box::new(Half))
    }
}

impl CtaPolicy for Half {
    fn place(&mut self, view: &View<'_>) -> Option<Placement> {
        let oldest = view.launches.first().filter(|oldest| oldest.waiting() > 0)?;
        let mut all = 0..view.sms.len();
        let below = |sm: usize| view.sms[sm].blocks_of(oldest.launch.id) < view.capacity(0, sm) / 2;
        let sm = all.find(|&sm| view.fits(0, sm) && below(sm))?;
        assert!(view.capacity(0, sm) <= oldest.most_per_sm);
        Some(Placement { launch: 0, sm })
    }
}

/// The most blocks that each SM has at a time, of a launch whose blocks do not end before all SMs are as full as they get.
fn most(offers: &[SmResources], launch: Arc<Launch>, params: &str) -> Vec<usize> {
    let register = |registry: &mut Registry| {
        registry.variant::<dyn CtaPolicy, Half>();
    };
    let mut bench = bench_with::<CtaScheduler>(register, params);
    bench.client::<ToScheduler, LaunchEvent>("launches", None, vec![(5, ToScheduler::Start(launch))], 2);
    let logs = sms(&mut bench, offers, |_| 1000, CtaCounts::default());
    assert_finished(&bench.run());
    logs.iter().map(|log| log.take().iter().filter(|(cycle, _)| *cycle < 1000).count()).collect()
}

#[test]
fn half_of_what_an_sm_holds_is_half_of_it() {
    let large = SmResources { threads: 512, ctas: 32, registers: 1 << 20, shared: 1 << 20 };
    let small = SmResources { threads: 256, ..large };
    let of = |grid| launch(1, &kernel("st.shared.u32 [scratch], %r1;"), grid, 32);
    // Sixteen blocks of a warp, and eight: each SM by what it is.
    assert_eq!(most(&[large, small, large], of(100), "{ policy: half }"), [8, 4, 8]);
    assert_eq!(most(&[large, small, large], of(100), "{ policy: fifo }"), [16, 8, 16]);
    // A grid of twelve is spread, four on each.
    assert_eq!(most(&[large, small, large], of(12), "{ policy: half }"), [2, 2, 2]);
    let packed = "{ policy: half, occupancy: { spread: off } }";
    assert_eq!(most(&[large, small, large], of(12), packed), [4, 4, 4]);
}
