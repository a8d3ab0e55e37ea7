//! The joint runs of a task pipeline's kernels: steps, one after another, of kernels on different batches.
//!
//! Two at a time, they are neighbours in the pipeline, the older batch one kernel ahead of the younger one, and at its end the
//! last kernel runs beside the first one of the next batch: K1-K2, K2-K3, K3-K1 (Mu et al., IEICE 2013, section 3).

use crate::pipeline::Task;

/// Number of kernels that run together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Pair,
    /// All kernels of the pipeline, each batch one kernel behind the one before it.
    All,
}

struct UnderWay {
    batch: u32,
    next: u32,
}

/// The steps of a pipeline. With `alone`, the first batch goes through all kernels before anything runs together.
pub(super) fn steps(kernels: u32, batches: u32, width: Width, alone: bool) -> Vec<Vec<Task>> {
    let mut steps: Vec<Vec<(u32, u32)>> = Vec::new();
    let first = u32::from(alone && batches > 0);
    steps.extend((0..first * kernels).map(|kernel| vec![(kernel, 0)]));
    let most = match width {
        Width::Pair => kernels.min(2),
        Width::All => kernels,
    };
    let mut under_way: Vec<UnderWay> = Vec::new();
    let mut coming = first..batches;
    loop {
        // The youngest has to be a kernel ahead, or to begin its last: then a batch that begins is its neighbour.
        let has_room = under_way.last().is_none_or(|youngest| {
            under_way.len() < most as usize && (youngest.next == 1 || youngest.next + 1 == kernels)
        });
        if has_room && let Some(batch) = coming.next() {
            under_way.push(UnderWay { batch, next: 0 });
        }
        if under_way.is_empty() {
            break;
        }
        steps.push(under_way.iter().map(|it| (it.next, it.batch)).collect());
        under_way.iter_mut().for_each(|it| it.next += 1);
        under_way.retain(|it| it.next < kernels);
    }
    let task = |(step, members): (usize, Vec<(u32, u32)>)| {
        let runs: Vec<u32> = members.iter().map(|&(kernel, _)| kernel).collect();
        // `first` is the kernel whose successor also runs; in a pipeline of two kernels, where each succeeds the other,
        // `first` is kernel 0.
        let follows = |kernel: u32| runs.contains(&((kernel + 1) % kernels));
        let first = runs.iter().copied().filter(|&kernel| follows(kernel)).min().unwrap_or(runs[0]);
        let task = |(kernel, batch)| Task {
            kernel,
            kernels,
            batch,
            step: step as u32,
            members: runs.len() as u32,
            first,
        };
        members.iter().copied().map(task).collect()
    };
    steps.into_iter().enumerate().map(task).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Kernels and batches of each step, counted from 1 as the paper does.
    fn numbers(steps: &[Vec<Task>]) -> Vec<Vec<(u32, u32)>> {
        let of = |task: &Task| (task.kernel + 1, task.batch);
        steps.iter().map(|members| members.iter().map(of).collect()).collect()
    }

    #[test]
    fn three_kernels_run_as_pairs_in_turn() {
        let all = steps(3, 6, Width::Pair, true);
        let expected = [
            vec![(1, 0)],
            vec![(2, 0)],
            vec![(3, 0)],
            vec![(1, 1)],
            vec![(2, 1), (1, 2)],
            vec![(3, 1), (2, 2)],
            vec![(3, 2), (1, 3)],
            vec![(2, 3), (1, 4)],
            vec![(3, 3), (2, 4)],
            vec![(3, 4), (1, 5)],
            vec![(2, 5)],
            vec![(3, 5)],
        ];
        assert_eq!(numbers(&all), expected);
        let tables: Vec<u32> =
            all.iter().filter(|members| members.len() == 2).map(|members| members[0].first + 1).collect();
        assert_eq!(tables, [1, 2, 3, 1, 2, 3], "the third is the pair of the last kernel and the first");
    }

    #[test]
    fn two_kernels_have_one_pair() {
        let all = steps(2, 4, Width::Pair, false);
        let expected =
            [vec![(1, 0)], vec![(2, 0), (1, 1)], vec![(2, 1), (1, 2)], vec![(2, 2), (1, 3)], vec![(2, 3)]];
        assert_eq!(numbers(&all), expected);
        assert!(all.iter().flatten().all(|task| task.members == 1 || task.first == 0));
    }

    #[test]
    fn all_kernels_together_are_a_full_pipeline() {
        let all = steps(3, 4, Width::All, false);
        let expected = [
            vec![(1, 0)],
            vec![(2, 0), (1, 1)],
            vec![(3, 0), (2, 1), (1, 2)],
            vec![(3, 1), (2, 2), (1, 3)],
            vec![(3, 2), (2, 3)],
            vec![(3, 3)],
        ];
        assert_eq!(numbers(&all), expected);
    }

    proptest! {
        /// Every batch goes through all kernels in order; different kernels run together, on different
        /// batches, and two that do are neighbours.
        #[test]
        fn every_batch_goes_through_all_kernels(
            kernels in 1_u32..=8, batches in 0_u32..=20, all in any::<bool>(), alone in any::<bool>(),
        ) {
            let width = if all { Width::All } else { Width::Pair };
            let mut next = vec![0; batches as usize];
            for (number, members) in steps(kernels, batches, width, alone).iter().enumerate() {
                let most = if all { kernels } else { 2.min(kernels) };
                prop_assert!((1..=most as usize).contains(&members.len()));
                for (place, task) in members.iter().enumerate() {
                    prop_assert_eq!((task.step, task.kernels), (number as u32, kernels));
                    prop_assert_eq!(task.members as usize, members.len());
                    prop_assert_eq!(next[task.batch as usize], task.kernel);
                    next[task.batch as usize] += 1;
                    prop_assert!(members[..place].iter().all(|it| it.batch != task.batch && it.kernel != task.kernel));
                }
                if let [a, b] = members[..] {
                    let second = (a.first + 1) % kernels;
                    prop_assert!([(a.first, second), (second, a.first)].contains(&(a.kernel, b.kernel)));
                }
            }
            prop_assert!(next.iter().all(|&done| done == kernels));
        }
    }
}
