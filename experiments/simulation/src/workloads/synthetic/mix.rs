//! Number of instructions of each class in a kernel.

use counterpoint_framework::model::Params;

/// Shares of the instructions of a round, in any unit: only their ratios count.
#[derive(Clone, Debug, Params)]
pub struct Mix {
    /// Whole-number arithmetic, the addresses of global accesses included.
    #[param(default = "0", min = "0", max = "1000000")]
    pub int: f64,
    /// Single precision.
    #[param(default = "0", min = "0", max = "1000000")]
    pub fp: f64,
    /// Special functions.
    #[param(default = "0", min = "0", max = "1000000")]
    pub sfu: f64,
    /// Double precision.
    #[param(default = "0", min = "0", max = "1000000")]
    pub dp: f64,
    /// Loads from shared memory.
    #[param(default = "0", min = "0", max = "1000000")]
    pub shared_load: f64,
    /// Stores to shared memory.
    #[param(default = "0", min = "0", max = "1000000")]
    pub shared_store: f64,
    /// Loads from global memory.
    #[param(default = "0", min = "0", max = "1000000")]
    pub global_load: f64,
    /// Stores to global memory.
    #[param(default = "0", min = "0", max = "1000000")]
    pub global_store: f64,
    /// Branches that a part of each warp takes.
    #[param(default = "0", min = "0", max = "1000000")]
    pub branch: f64,
    /// Barriers of the whole block.
    #[param(default = "0", min = "0", max = "1000000")]
    pub barrier: f64,
}

/// A class of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the parameters of `Mix` say what they are")]
pub enum Class {
    Int,
    Fp,
    Sfu,
    Dp,
    SharedLoad,
    SharedStore,
    GlobalLoad,
    GlobalStore,
    Branch,
    Barrier,
}

/// Instructions by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u32; Class::ALL.len()]);

impl Class {
    /// All classes, in the order of the mix.
    pub const ALL: [Class; 10] = [
        Class::Int,
        Class::Fp,
        Class::Sfu,
        Class::Dp,
        Class::SharedLoad,
        Class::SharedStore,
        Class::GlobalLoad,
        Class::GlobalStore,
        Class::Branch,
        Class::Barrier,
    ];
}

impl Counts {
    /// The number of instructions of a class.
    pub fn of(&self, class: Class) -> u32 {
        self.0[class as usize]
    }
}

impl Mix {
    fn share(&self, class: Class) -> f64 {
        match class {
            Class::Int => self.int,
            Class::Fp => self.fp,
            Class::Sfu => self.sfu,
            Class::Dp => self.dp,
            Class::SharedLoad => self.shared_load,
            Class::SharedStore => self.shared_store,
            Class::GlobalLoad => self.global_load,
            Class::GlobalStore => self.global_store,
            Class::Branch => self.branch,
            Class::Barrier => self.barrier,
        }
    }

    /// Shares out `total` instructions: each class has its share rounded down, and those with the largest remainders
    /// one more. Nothing if all shares are 0.
    pub fn counts(&self, total: u32) -> Option<Counts> {
        let sum: f64 = Class::ALL.iter().map(|&class| self.share(class)).sum();
        if sum <= 0.0 {
            return None;
        }
        let exact = Class::ALL.map(|class| self.share(class) / sum * f64::from(total));
        let mut counts = Counts(exact.map(|share| share as u32));
        let mut order: Vec<usize> = (0..exact.len()).filter(|&class| exact[class] > 0.0).collect();
        // The sort is stable: of equal remainders the earlier class has the one more.
        order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
        let left = total - counts.0.iter().sum::<u32>();
        for &class in order.iter().cycle().take(left as usize) {
            counts.0[class] += 1;
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterpoint_framework::model::Families;
    use counterpoint_framework::testing::params;

    fn counts(mix: &str, total: u32) -> Option<[u32; 10]> {
        params::<Mix>(&Families::default(), mix).counts(total).map(|counts| counts.0)
    }

    #[test]
    fn the_largest_remainders_have_one_more() {
        // 3.5, 1.75, 1.75.
        assert_eq!(counts("{ int: 50, fp: 25, sfu: 25 }", 7), Some([3, 2, 2, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(counts("{ int: 1, barrier: 1 }", 9), Some([5, 0, 0, 0, 0, 0, 0, 0, 0, 4]));
        assert_eq!(counts("{ global_load: 0.3 }", 2), Some([0, 0, 0, 0, 0, 0, 2, 0, 0, 0]));
        assert_eq!(counts("{}", 2), None);
    }
}
