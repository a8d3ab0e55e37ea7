//! Pruning: pairs of kernels that use pipeline and memory alike are not worth the model (section 4.3).

/// A kernel's use of the GPU, alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// Pipeline utilisation ratio: instructions, in those that the time allows.
    pub pur: f64,
    /// Memory bandwidth utilisation ratio: reads and writes of DRAM, in those that the time allows.
    pub mur: f64,
}

/// A pair is pruned if both of its differences are below these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// `alpha_p`, of PUR.
    pub pur: f64,
    /// `alpha_m`, of MUR.
    pub mur: f64,
}

/// Thresholds are multiplied by this if they prune all pairs.
pub const LOWERED: f64 = 0.5;

/// Thresholds are lowered this many times at most; kernels that are still alike then are the same, and no pair is pruned.
const TIMES: i32 = 16;

/// PUR or MUR: the count over the peak per cycle times the cycles.
pub fn ratio(count: f64, cycles: f64, peak: f64) -> f64 {
    count / (cycles * peak)
}

impl Thresholds {
    /// Whether two kernels are too much alike.
    ///
    /// The paper says "or"; its Table 6 has the numbers of "and".
    pub fn prunes(&self, first: &Use, second: &Use) -> bool {
        (first.pur - second.pur).abs() < self.pur && (first.mur - second.mur).abs() < self.mur
    }

    /// Pairs of kernels, by their indices, that remain after pruning. If none remains, the thresholds are lowered, by [`LOWERED`]
    /// each time, until one does.
    ///
    /// The paper increases the thresholds instead, which prunes more.
    pub fn prune(&self, kernels: &[Use], pairs: &[[usize; 2]]) -> Vec<[usize; 2]> {
        let left = |thresholds: Thresholds| -> Vec<[usize; 2]> {
            let stays = |&[first, second]: &[usize; 2]| !thresholds.prunes(&kernels[first], &kernels[second]);
            pairs.iter().copied().filter(stays).collect()
        };
        let lowered = |times| {
            let factor = LOWERED.powi(times);
            Thresholds { pur: self.pur * factor, mur: self.mur * factor }
        };
        let found = (0..=TIMES).map(|times| left(lowered(times))).find(|left| !left.is_empty());
        found.unwrap_or_else(|| pairs.to_vec())
    }
}

/// All pairs of `kernels` kernels: `N (N - 1) / 2`.
pub fn pairs(kernels: usize) -> Vec<[usize; 2]> {
    (0..kernels).flat_map(|first| (first + 1..kernels).map(move |second| [first, second])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::{ALPHA_M, ALPHA_P, C2050, KERNELS, PRUNED};

    fn kernels() -> Vec<Use> {
        KERNELS.iter().map(|kernel| Use { pur: kernel.c2050.pur, mur: kernel.c2050.mur }).collect()
    }

    /// Pairs of the paper's kernels that a rule prunes.
    fn pruned(rule: impl Fn(&Use, &Use) -> bool) -> usize {
        let kernels = kernels();
        let pruned = |[first, second]: &[usize; 2]| rule(&kernels[*first], &kernels[*second]);
        pairs(kernels.len()).iter().filter(|pair| pruned(pair)).count()
    }

    /// The rule of this crate.
    fn by_and(pur: f64, mur: f64) -> usize {
        pruned(|first, second| Thresholds { pur, mur }.prunes(first, second))
    }

    /// The rule of the paper's text.
    fn by_or(pur: f64, mur: f64) -> usize {
        pruned(|first, second| (first.pur - second.pur).abs() < pur || (first.mur - second.mur).abs() < mur)
    }

    /// The cells of Table 6, each with the result of a rule for it.
    fn cells(rule: impl Fn(f64, f64) -> usize) -> Vec<(usize, usize)> {
        let rows = ALPHA_M.iter().zip(&PRUNED);
        let cells =
            rows.flat_map(|(&mur, row)| ALPHA_P.iter().zip(row).map(move |(&pur, &cell)| (pur, mur, cell)));
        cells.map(|(pur, mur, cell)| (cell, rule(pur, mur))).collect()
    }

    /// A5.9.
    #[test]
    fn table_6_is_that_of_both_differences() {
        let cells = cells(by_and);
        let exact = cells.iter().filter(|(cell, count)| cell == count).count();
        assert!(exact >= 78, "{exact} cells are exact");
        for (cell, count) in cells {
            assert!(count <= cell && cell <= count + 3, "{count} where the table has {cell}");
        }
    }

    /// A5.9, T5.9.
    #[test]
    fn table_6_is_not_that_of_either_difference() {
        let cells = cells(by_or);
        let exact = cells.iter().filter(|(cell, count)| cell == count).count();
        assert!(exact <= 1, "{exact} cells are exact");
        assert!(cells.iter().any(|(cell, count)| cell.abs_diff(*count) > 3));
    }

    #[test]
    fn higher_thresholds_prune_no_fewer_pairs() {
        for pair in ALPHA_P.windows(2) {
            assert!(ALPHA_M.iter().all(|&mur| by_and(pair[0], mur) <= by_and(pair[1], mur)));
        }
        for pair in ALPHA_M.windows(2) {
            assert!(ALPHA_P.iter().all(|&pur| by_and(pur, pair[0]) <= by_and(pur, pair[1])));
        }
        let grows = |cells: [usize; 2]| cells[0] <= cells[1];
        assert!(PRUNED.iter().all(|row| row.windows(2).all(|cells| grows([cells[0], cells[1]]))));
        assert!(
            PRUNED.windows(2).all(|rows| (0..10).all(|column| grows([rows[0][column], rows[1][column]])))
        );
    }

    /// A5.9: the table leaves 19 pairs at 0.09, 18 at 0.105; 0.1 is between.
    #[test]
    fn the_defaults_of_the_c2050_keep_18_pairs() {
        let defaults = Thresholds { pur: C2050.alpha_p, mur: C2050.alpha_m };
        assert_eq!(defaults.prune(&kernels(), &pairs(8)).len(), 18);
        assert_eq!(28 - by_or(C2050.alpha_p, C2050.alpha_m), 5);
    }

    /// T5.9.
    #[test]
    fn thresholds_go_down_until_a_pair_is_left() {
        let kernels =
            [Use { pur: 0.5, mur: 0.05 }, Use { pur: 0.6, mur: 0.06 }, Use { pur: 0.95, mur: 0.07 }];
        let high = Thresholds { pur: 1.0, mur: 1.0 };
        // At half the thresholds no pair remains; at a quarter, pairs that are more than 0.25 apart remain.
        assert_eq!(high.prune(&kernels, &pairs(3)), [[0, 2], [1, 2]]);
    }

    #[test]
    fn kernels_that_are_the_same_are_a_pair_still() {
        let same = [Use { pur: 0.5, mur: 0.05 }; 3];
        let thresholds = Thresholds { pur: 0.4, mur: 0.1 };
        assert_eq!(thresholds.prune(&same, &pairs(3)), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!(thresholds.prune(&same, &pairs(1)), [[0; 2]; 0]);
    }

    #[test]
    fn a_ratio_is_of_the_peak() {
        assert_eq!(ratio(700.0, 100.0, 14.0), 0.5);
    }

    /// A5.11.
    #[test]
    fn the_mean_pur_of_the_c2050_is_the_ipc_of_the_introduction() {
        let mean = kernels().iter().map(|kernel| kernel.pur).sum::<f64>() / 8.0;
        assert!((mean - 0.5206).abs() < 5e-5, "{mean}");
    }
}
