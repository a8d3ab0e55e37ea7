//! Properties of all queues.

use proptest::prelude::*;

use super::samples::*;
use super::*;

/// Three kernels with rates that differ, each pair in slices of three sizes.
fn table() -> Measured {
    let kernels = format!("{TWO}between,77,7.7,400,0.1,0,1,32,0,0,0.5,0.1,0\n");
    let pairs = "\
computes,loads,4,12,3.1,4.3
computes,loads,8,8,7.7,3.3
computes,loads,12,4,9.1,0.9
between,loads,4,12,2.3,3.9
between,loads,8,8,4.7,2.9
between,loads,12,4,6.1,1.3
computes,between,4,12,2.9,6.3
computes,between,8,8,5.3,4.9
computes,between,12,4,8.3,1.7
";
    measured(&kernels, pairs, "computes,loads,28\nloads,between,26\n")
}

fn queues() -> impl Strategy<Value = Queue> {
    prop::collection::vec((0.0..80.0, 0_usize..3), 1..30)
        .prop_map(|all| Queue::new(all.into_iter().map(|(time, kernel)| Arrival { time, kernel })))
}

fn policies(seed: u64) -> [Policy; 4] {
    [Policy::Base, kernelet(), Policy::Optimal, Policy::Random { seed }]
}

/// Blocks of each kernel in all decisions.
fn blocks(outcome: &Outcome) -> [u64; 3] {
    let mut sums = [0; 3];
    for used in &outcome.decisions {
        let kernels = match used.choice {
            Choice::Alone(kernel) => vec![kernel],
            Choice::CoSchedule { kernels, .. } => kernels.to_vec(),
        };
        kernels.iter().zip(used.blocks).for_each(|(kernel, blocks)| sums[*kernel] += blocks);
    }
    sums
}

proptest! {
    /// A5.14.
    #[test]
    fn every_block_runs_once_in_any_order(queue in queues(), seed in any::<u64>()) {
        let table = table();
        let mut expected = [0; 3];
        for arrival in queue.arrivals() {
            expected[arrival.kernel] += u64::from(table.kernels()[arrival.kernel].blocks);
        }
        for policy in policies(seed) {
            prop_assert_eq!(blocks(&replay(&table, &queue, &policy).unwrap()), expected);
        }
    }

    /// If no decision waits for an arrival, the total is the time of all decisions; the total never precedes
    /// the last arrival.
    #[test]
    fn the_gpu_is_idle_only_if_nothing_is_pending(queue in queues(), seed in any::<u64>()) {
        let table = table();
        let last = queue.arrivals().last().map_or(0.0, |arrival| arrival.time);
        let at_once = Queue::new(queue.arrivals().iter().map(|arrival| Arrival { time: 0.0, ..*arrival }));
        for policy in [kernelet(), Policy::Optimal, Policy::Random { seed }] {
            let found = replay(&table, &queue, &policy).unwrap();
            let busy = |found: &Outcome| found.decisions.iter().map(|used| used.time).sum::<f64>();
            prop_assert!(found.total >= last && found.total >= busy(&found) - 1e-9);
            let found = replay(&table, &at_once, &policy).unwrap();
            prop_assert!((found.total - busy(&found)).abs() < 1e-9);
        }
    }

    /// T5.19: in one decision no slices, measured or between measured ones, are better than those of OPT.
    #[test]
    fn no_slices_beat_the_best(first in 1_u32..20, second in 1_u32..20, pair in 0_usize..9) {
        let (table, kernels) = (table(), [pair / 3, pair % 3]);
        let (_, best) = table.best(kernels).unwrap();
        let row = table.at(kernels, [first, second]).unwrap();
        prop_assert!(table.profit(kernels, &row) <= best + 1e-12);
    }

    /// A policy uses only measured slices, or slices of the model.
    #[test]
    fn slices_are_those_that_may_be_chosen(queue in queues(), seed in any::<u64>()) {
        let table = table();
        for policy in [Policy::Optimal, Policy::Random { seed }] {
            for used in replay(&table, &queue, &policy).unwrap().decisions {
                if let Choice::CoSchedule { kernels, slices } = used.choice {
                    prop_assert!(kernels[0] <= kernels[1]);
                    let row = table.together(kernels).iter().find(|row| row.slices == slices).copied();
                    let row = row.expect("a measured size");
                    // One kernel of a co-schedule ends each time; the blocks of the other are rounded.
                    let wrong = [0, 1].map(|at| (row.rates[at] * used.time - used.blocks[at] as f64).abs());
                    prop_assert!(wrong.iter().all(|wrong| *wrong <= 0.5 * used.count as f64 + 1e-6), "{used:?}");
                }
            }
        }
    }
}
