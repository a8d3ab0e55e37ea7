//! Machines whose L1 has another write policy or a bypass: the results are right, and the same on several threads.

use counterpoint_framework::kernel::Sharing;
use counterpoint_simulation::run::RunRequest;

use crate::support::{assert_verified, refusal, request, run_request};

#[test]
fn results_are_right_under_every_policy_of_the_l1() {
    let policies: [&[&str]; 5] = [
        &["write=through"],
        &["write={ through: { allocate: on } }"],
        &["bypass=all"],
        &["write=through", "bypass={ fraction: { one_in: 3 } }", "prefetcher=next-line"],
        &["write={ through: { allocate: on } }", "line=256 B", "set_index=linear", "local_stores=allocate"],
    ];
    let programs: [(&str, &[&str]); 4] = [
        ("hotspot", &["app.n=40", "app.launches=2"]),
        ("spmv", &["app.rows=300", "app.columns=200", "app.fewest=0", "app.most=9"]),
        ("histogram", &["app.n=6000", "app.parts=3"]),
        ("reference-local-array", &["app.blocks=2"]),
    ];
    for (application, sets) in programs {
        let run = |policies: &[&str], threads| {
            let policies: Vec<String> = policies.iter().map(|set| format!("gpu.sm.l1d.{set}")).collect();
            let sets: Vec<&str> = policies.iter().map(String::as_str).chain(sets.iter().copied()).collect();
            let request = request("tiny", application, &sets);
            let summary =
                run_request(&RunRequest { hash: true, threads, sharing: Sharing::Always, ..request });
            assert_verified(&summary);
            summary.report.hash
        };
        let default = run(&[], 1);
        assert_eq!(run(&["write=around"], 1), default, "{application}");
        for policies in policies {
            let hash = run(policies, 1);
            assert_eq!(run(policies, 2), hash, "{application}, {policies:?}");
        }
    }
}

#[test]
fn an_l1_that_writes_back_is_refused_before_the_run() {
    let refused = refusal(&request("tiny", "vecadd", &["gpu.sm.l1d.write=back"]));
    assert!(refused.contains("other SMs and copies would not see what stays here"), "{refused}");
}
