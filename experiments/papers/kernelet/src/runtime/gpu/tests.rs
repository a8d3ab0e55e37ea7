//! Constants of the cards, and the device's description.

use counterpoint::component::Families;
use counterpoint::messages::launch::Capacity;
use counterpoint::testing;

use super::*;
use crate::paper::{C2050, GTX680};

/// A device of three SMs.
fn devices() -> BTreeMap<u32, Description> {
    let sm = SmResources { threads: 640, ctas: 5, registers: 1000, shared: 2000 };
    BTreeMap::from([(
        0,
        Description { capacity: Capacity { sms: 3, warps: 20 }, sm, ..Description::default() },
    )])
}

fn gpu(params: &str) -> Gpu {
    testing::params::<GpuParams>(&Families::default(), params).gpu(&devices()).unwrap()
}

#[test]
fn constants_are_the_cards_and_sms_are_the_devices() {
    let any = Memory::constant(400.0);
    let cards =
        [("c2050", C2050, GpuDescription::c2050(any)), ("gtx680", GTX680, GpuDescription::gtx680(any))];
    for (name, paper, known) in cards {
        let gpu = gpu(&format!("{{ like: {name} }}"));
        let GpuDescription { sms, schedulers, peak_ipc, offer, memory } = gpu.machine;
        assert_eq!((schedulers, peak_ipc), (known.schedulers, known.peak_ipc), "{name}");
        assert_eq!((sms, offer), (3, devices()[&0].sm), "{name}");
        // Requests of 128 B in a cycle.
        let bandwidth = memory.bandwidth * 128.0 * gpu.clock;
        assert!((bandwidth / (paper.bandwidth_gb_s * 1e9) - 1.0).abs() < 1e-9, "{name}: {bandwidth}");
        for latency in [memory.coalesced, memory.uncoalesced] {
            assert!(
                latency.base >= 1.0 && latency.slope > 0.0 && latency.offset == 0.0,
                "{name}: {latency:?}"
            );
        }
        assert!((1.0..=32.0).contains(&memory.requests), "{name}");
    }
}

#[test]
fn what_is_given_counts() {
    let given = "{ like: gtx680, clock: 2 GHz, schedulers: 3, peak_ipc: 1.5, latency: 10, uncoalesced_latency: 20, slope: 7, \
                 uncoalesced_requests: 4, bandwidth: 64 GB/s, request: 32 B }";
    let found = gpu(given);
    let GpuDescription { schedulers, peak_ipc, memory, .. } = found.machine;
    assert_eq!((found.clock, schedulers, peak_ipc), (2e9, 3, 1.5));
    let latency = |base| Latency { base, slope: 7.0, offset: 0.0 };
    let wanted =
        Memory { bandwidth: 1.0, coalesced: latency(10.0), uncoalesced: latency(20.0), requests: 4.0 };
    assert_eq!(memory, wanted);
}

#[test]
fn there_is_one_device() {
    let params = testing::params::<GpuParams>(&Families::default(), "{}");
    let two = BTreeMap::from([(0, Description::default()), (1, Description::default())]);
    let error = params.gpu(&two).unwrap_err().to_string();
    assert!(error.contains("this machine has 2 in use"), "{error}");
}
