//! Totals that are computed by hand.

use super::samples::*;
use super::*;

const OPTIMAL: Policy = Policy::Optimal;

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9, "{value} is not {expected}");
}

#[track_caller]
fn run(measured: &Measured, queue: &Queue, policy: &Policy) -> Outcome {
    replay(measured, queue, policy).unwrap()
}

fn together(kernels: [usize; 2], slices: [u32; 2]) -> Choice {
    Choice::CoSchedule { kernels, slices }
}

fn used(choice: Choice, count: u64, time: f64, blocks: [u64; 2]) -> Used {
    Used { choice, count, time, blocks }
}

#[test]
fn base_runs_whole_kernels_in_the_order_of_arrival() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "");
    let found = run(&table, &queue([(0.0, 1), (1.0, 0), (50.0, 0)]), &Policy::Base);
    near(found.total, 60.0);
    let expected = [
        used(Choice::Alone(0), 2, 20.0, [200, 0]), //
        used(Choice::Alone(1), 1, 20.0, [100, 0]),
    ];
    assert_eq!(found.decisions, expected);
}

/// Tails save 30 - 27 = 3 ms, but only if the loads, which are launched second, are there in time.
#[test]
fn tails_of_base_overlap() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "computes,loads,27\nloads,computes,31\n");
    let total = |queue: &Queue| run(&table, queue, &Policy::Base).total;
    near(table.overlap(0, 1), 3.0);
    near(total(&queue([(0.0, 0), (0.0, 1)])), 27.0);
    near(total(&queue([(0.0, 0), (8.0, 1)])), 28.0);
    near(total(&queue([(0.0, 0), (11.0, 1)])), 31.0);
    near(total(&queue([(0.0, 1), (0.0, 0)])), 31.0);
    near(total(&queue([(0.0, 0), (0.0, 0), (0.0, 1)])), 37.0);
}

#[test]
fn overlap_is_no_longer_than_the_shorter_kernel() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "loads,computes,1\n");
    near(table.overlap(1, 0), 10.0);
    near(run(&table, &queue([(0.0, 1), (0.0, 0)]), &Policy::Base).total, 20.0);
}

/// The first ends after 12.5 ms, when 50 blocks of the second have run; the others take 10 ms alone.
#[test]
fn a_co_schedule_ends_with_one_kernel_and_the_other_keeps_its_rest() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "");
    let queue = queue([(0.0, 0), (0.0, 1)]);
    for policy in [kernelet(), OPTIMAL, Policy::Random { seed: 1 }] {
        let found = run(&table, &queue, &policy);
        near(found.total, 22.5);
        let expected =
            [used(Choice::Alone(1), 1, 10.0, [50, 0]), used(together([0, 1], [8, 8]), 1, 12.5, [100, 50])];
        assert_eq!(found.decisions, expected);
    }
}

/// The rest of an instance goes on before the next one of its kernel, and beside the best partner.
#[test]
fn the_rest_of_an_instance_runs_first() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "");
    let queue = queue([(0.0, 0), (0.0, 1), (0.0, 0)]);
    for policy in [kernelet(), OPTIMAL] {
        let found = run(&table, &queue, &policy);
        near(found.total, 25.0);
        assert_eq!(found.decisions, [used(together([0, 1], [8, 8]), 2, 25.0, [200, 100])]);
    }
}

/// A5.14: the kernel that arrives at 1 ms would fit the computing one better, but it waits until that one ends at 12.5 ms.
#[test]
fn arrivals_wait_for_the_next_decision() {
    let three = format!("{TWO}late,100,10,100,0.3,0,1,32,0,0,0.25,0.3,0\n");
    let table =
        measured(&three, "computes,loads,8,8,8,4\ncomputes,late,4,12,10,10\nloads,late,8,8,1,1\n", "");
    let found = run(&table, &queue([(0.0, 0), (0.0, 1), (1.0, 2), (1.0, 0)]), &OPTIMAL);
    // 12.5 ms of the first and the loads, 10 ms of the second and the late one, and 10 ms of 50 loads.
    near(found.total, 32.5);
    let expected = [
        used(Choice::Alone(1), 1, 10.0, [50, 0]),
        used(together([0, 1], [8, 8]), 1, 12.5, [100, 50]),
        used(together([0, 2], [4, 12]), 1, 10.0, [100, 100]),
    ];
    assert_eq!(found.decisions, expected);
}

#[test]
fn one_that_is_alone_runs_to_its_end() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "");
    // The computing kernel is alone from 5 ms to 15 ms, and the loads from 15 ms on.
    let found = run(&table, &queue([(5.0, 0), (6.0, 1)]), &OPTIMAL);
    near(found.total, 35.0);
    assert!(found.decisions.iter().all(|used| matches!(used.choice, Choice::Alone(_))));
}

#[test]
fn two_instances_of_a_kernel_share_its_rate() {
    let table = measured(TWO, "computes,loads,8,8,8,4\n", "");
    for policy in [kernelet(), OPTIMAL, Policy::Random { seed: 1 }] {
        let found = run(&table, &queue([(0.0, 0), (0.0, 0), (0.0, 0)]), &policy);
        near(found.total, 30.0);
        assert_eq!(found.decisions[0], used(Choice::Alone(0), 1, 10.0, [100, 0]));
        assert_eq!(found.decisions[1].count, 1);
    }
    let row = table.together([0, 0])[0];
    near(table.profit([0, 0], &row), 0.0);
    assert_eq!(row.rates, [5.0, 5.0]);
    let own = measured(TWO, "computes,loads,8,8,8,4\ncomputes,computes,8,8,6,6\n", "");
    near(run(&own, &queue([(0.0, 0), (0.0, 0)]), &OPTIMAL).total, 100.0 / 6.0);
}

/// Slices of 4 and 12 blocks would save more than those of 8 and 8 that the model wants.
#[test]
fn the_best_measured_slices_are_no_worse_than_those_of_the_model() {
    let table = measured(TWO, "computes,loads,8,8,8,4\nloads,computes,12,4,5,9\n", "");
    let queue = queue([(0.0, 0), (0.0, 1)]);
    let [model, best] = [kernelet(), OPTIMAL].map(|policy| run(&table, &queue, &policy));
    near(model.total, 22.5);
    // 100 blocks at 9 per millisecond, meanwhile 55.6 of the others, and 44 alone.
    near(best.total, 100.0 / 9.0 + 44.0 / 5.0);
    assert_eq!(best.decisions[1].choice, together([0, 1], [4, 12]));
    let (row, profit) = table.best([1, 0]).unwrap();
    assert_eq!(row, PairRates { slices: [12, 4], rates: [5.0, 9.0] });
    near(profit, 1.0 - 1.0 / 1.9);
}

/// The model wants 8 and 8 blocks: a half, between a quarter and three quarters.
#[test]
fn rates_between_measured_shares_are_in_proportion() {
    let table = measured(TWO, "computes,loads,4,12,2,5\ncomputes,loads,12,4,10,1\n", "");
    let at = |slices| table.at([0, 1], slices).unwrap();
    assert_eq!(at([8, 8]), PairRates { slices: [8, 8], rates: [6.0, 3.0] });
    assert_eq!(at([12, 4]).rates, [10.0, 1.0]);
    assert_eq!(at([6, 10]).rates, [4.0, 4.0]);
    assert_eq!((at([1, 15]).rates, at([15, 1]).rates), ([2.0, 5.0], [10.0, 1.0]), "beyond the last");
    assert_eq!(table.at([1, 0], [10, 6]).unwrap().rates, [4.0, 4.0], "in the other order");
    assert_eq!(table.at([0, 7], [1, 1]), None);
    // 100 at 6 per millisecond; 50 of the others run meanwhile.
    let found = run(&table, &queue([(0.0, 0), (0.0, 1)]), &kernelet());
    near(found.total, 100.0 / 6.0 + 10.0);
    assert_eq!(found.decisions[1].choice, together([0, 1], [8, 8]));
}

#[test]
fn of_equal_shares_the_nearest_size_counts() {
    let rows = "computes,loads,4,4,1,1\ncomputes,loads,10,10,2,2\ncomputes,loads,2,6,9,9\n";
    let table = measured(TWO, rows, "");
    assert_eq!(table.at([0, 1], [6, 6]).unwrap().rates, [1.0, 1.0]);
    assert_eq!(table.at([0, 1], [8, 8]).unwrap().rates, [2.0, 2.0]);
    assert_eq!(table.at([0, 1], [6, 10]).unwrap().rates, [5.5, 5.5], "half way from 2 and 6 to 10 and 10");
}

/// T5.9: "or" would prune the best pair, whose MURs are equal, and leave the others.
#[test]
fn a_pair_that_differs_in_one_ratio_is_not_pruned() {
    let kernels = "\
computes,100,10,819.552268,0.02,0,1,32,0,0,0.99,0.02,0
loads,100,5,119.037872,0.3,0,1,32,0,0,0.25,0.02,0
between,100,5,500,0.04,0,1,32,0,0,0.5,0.3,0
";
    let pairs = "computes,loads,8,8,8,4\ncomputes,between,8,8,5,5\nloads,between,8,8,5,5\n";
    let table = measured(kernels, pairs, "");
    let found = run(&table, &queue([(0.0, 0), (0.0, 2), (0.0, 1)]), &kernelet());
    let first = found.decisions.iter().find(|used| used.choice == together([0, 1], [8, 8]));
    assert_eq!(first.map(|used| used.blocks), Some([100, 50]), "{found:?}");
}

#[test]
fn kernels_that_do_not_fit_together_run_alone() {
    let large = TWO.replace("loads,100,5,119.037872,0.3,0,1,32", "loads,100,5,119.037872,0.3,0,8,256");
    let table = measured(&large, "computes,loads,8,8,8,4\n", "");
    let found = run(&table, &queue([(0.0, 1), (0.0, 0)]), &kernelet());
    near(found.total, 30.0);
}

#[test]
fn seeds_give_the_same_bits() {
    let table =
        measured(TWO, "computes,loads,8,8,8,4\ncomputes,loads,4,12,3,5\ncomputes,loads,12,4,9,1\n", "");
    let queue = Queue::poisson(&[0, 1], 20, 1.0, 9);
    let bits =
        |seed| -> Vec<u64> { monte_carlo(&table, &queue, 50, seed).into_iter().map(f64::to_bits).collect() };
    assert_eq!(bits(1), bits(1));
    assert_ne!(bits(1), bits(2));
    let sorted = monte_carlo(&table, &queue, 50, 1);
    assert!(sorted.windows(2).all(|pair| pair[0] <= pair[1]) && sorted[0] < sorted[49]);
    let one = run(&table, &queue, &Policy::Random { seed: 4 });
    assert_eq!(monte_carlo(&table, &queue, 1, 4), [one.total]);
}

#[test]
fn errors_have_lines_and_nearest_names() {
    let good = "computes,loads,8,8,8,4\n";
    for (kernels, pairs, tails, problems) in [
        (
            TWO,
            "computes,load,8,8,8,4\n",
            "",
            &["pairs.csv:2:1", "no kernel `load`", "did you mean `loads`"][..],
        ),
        (TWO, good, "loads,computed,3\n", &["tails.csv:2:1", "did you mean `computes`"]),
        (TWO, "computes,loads,8,8,8,fast\n", "", &["pairs.csv:2:1", "`fast` in `rate_second`", "above 0"]),
        (TWO, "computes,loads,8,0,8,4\n", "", &["`0` in `slice_second`", "a whole number from 1 on"]),
        (TWO, "", "", &["kernels.csv:3:1", "no slices of `computes` and `loads`"]),
        (TWO, &good.repeat(2), "", &["pairs.csv:3:1", "there twice"]),
        (&TWO.repeat(2), good, "", &["kernels.csv:4:1", "kernel `computes` is there twice"]),
        (TWO, "computes,loads,8\n", "", &["pairs.csv:2:1", "as many cells"]),
        (&TWO.replace(",0.3,0,", ",1.3,0,"), good, "", &["kernels.csv:3:1", "`1.3` in `memory_fraction`"]),
    ] {
        let error = read(kernels, pairs, tails).unwrap_err().to_string();
        assert!(problems.iter().all(|problem| error.contains(problem)), "{error}");
    }
    let [kernels, pairs] = [("kernels.csv", KERNELS), ("pairs.csv", "first,seconds\n")]
        .map(|(name, text)| Source { name, text });
    let error = Measured::read(kernels, pairs, None).unwrap_err().to_string();
    assert!(error.contains("no column `second`") && error.contains("did you mean `seconds`?"), "{error}");
    let table = measured(TWO, good, "");
    assert_eq!(table.places(&["loads", "computes"]), Ok(vec![1, 0]));
    let unknown = table.places(&["laods"]).unwrap_err().to_string();
    assert_eq!(unknown, "there is no kernel `laods`; did you mean `loads`?");
}

#[test]
fn columns_may_have_any_order_and_lines_any_end() {
    let pairs = "note,rate_second,rate_first,slice_second,slice_first,second,first\r\n\r\nx, 4,8,12,4,loads,computes\r\n";
    let kernels = format!("{KERNELS}{TWO}");
    let [kernels, pairs] =
        [("kernels.csv", kernels.as_str()), ("pairs.csv", pairs)].map(|(name, text)| Source { name, text });
    let table = Measured::read(kernels, pairs, None).unwrap();
    assert_eq!(table.together([0, 1]), [PairRates { slices: [4, 12], rates: [8.0, 4.0] }]);
}
