//! Measurements: the rate of each kernel alone, of each pair together, and the time of two in streams.

use std::collections::BTreeMap;

use counterpoint::component::{Diagnostic, Span};

use crate::schedule::{Profile, profit};

/// Rates of kernels, and of each pair of kernels in slices of at least one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub(super) kernels: Vec<Kernel>,
    /// Rates of every pair in both orders, so that no lookup has to swap a row.
    pub(super) pairs: BTreeMap<[usize; 2], Vec<PairRates>>,
    /// Milliseconds of two whole kernels in streams, by which is launched first.
    pub(super) both: BTreeMap<[usize; 2], f64>,
}

/// A kernel alone on the whole GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Name of the kernel.
    pub name: String,
    /// Blocks of an instance.
    pub blocks: u32,
    /// Blocks per millisecond.
    pub rate: f64,
    /// The scheduler's profile of the kernel.
    pub profile: Profile,
}

/// Two kernels in slices of these sizes, each in its own stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairRates {
    /// Blocks of a slice of each, on the whole GPU.
    pub slices: [u32; 2],
    /// Blocks per millisecond of each.
    pub rates: [f64; 2],
}

/// A name that no kernel of a table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// The name.
    pub name: String,
    /// The name of a kernel that may be meant.
    pub nearest: Option<String>,
}

impl Kernel {
    /// Milliseconds of an instance alone.
    pub fn alone(&self) -> f64 {
        f64::from(self.blocks) / self.rate
    }
}

impl PairRates {
    /// The first kernel's part of the blocks of both slices, 0 to 1.
    fn share(&self) -> f64 {
        let [first, second] = self.slices.map(f64::from);
        first / (first + second)
    }

    /// Blocks of both slices.
    fn size(&self) -> u64 {
        self.slices.iter().map(|slice| u64::from(*slice)).sum()
    }
}

impl Measured {
    /// The kernels. Their places in this list identify them elsewhere.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Indices of kernels with these names.
    ///
    /// # Errors
    /// The first name that no kernel has, with the nearest one.
    pub fn places(&self, names: &[&str]) -> Result<Vec<usize>, Unknown> {
        let place = |name: &&str| {
            self.kernels.iter().position(|kernel| kernel.name == *name).ok_or_else(|| {
                let known = self.kernels.iter().map(|kernel| kernel.name.as_str());
                let nearest = Diagnostic::new(Span::default(), "").suggest(name, known).suggestion;
                Unknown { name: (*name).to_owned(), nearest }
            })
        };
        names.iter().map(place).collect()
    }

    /// Everything that was measured of two kernels together, in the order of the table; never empty for kernels of the table. The first of
    /// each array is that of the first kernel here.
    ///
    /// A kernel beside itself that nobody measured has one row: whole instances that share the rate.
    pub fn together(&self, kernels: [usize; 2]) -> &[PairRates] {
        self.pairs.get(&kernels).map_or(&[], Vec::as_slice)
    }

    /// Two kernels in slices of these sizes: as measured, or between the two measured ones whose shares of the first kernel in the blocks
    /// of both slices are the nearest below and above, in proportion. Beyond the last share the rates are those of the last. Of equal
    /// shares the nearest size counts.
    ///
    /// `None` if a kernel is not of the table.
    pub fn at(&self, kernels: [usize; 2], slices: [u32; 2]) -> Option<PairRates> {
        let rows = self.together(kernels);
        if let Some(exact) = rows.iter().find(|row| row.slices == slices) {
            return Some(*exact);
        }
        let wanted = PairRates { slices, rates: [0.0; 2] };
        let (share, size) = (wanted.share(), wanted.size());
        let nearest = |below: bool| {
            let side =
                rows.iter().filter(|row| if below { row.share() <= share } else { row.share() >= share });
            let far = |row: &PairRates| (row.share() - share).abs();
            side.min_by(|one, other| {
                let by_size = || one.size().abs_diff(size).cmp(&other.size().abs_diff(size));
                far(one).total_cmp(&far(other)).then_with(by_size)
            })
        };
        let (low, high) = match (nearest(true), nearest(false)) {
            (Some(low), Some(high)) => (low, high),
            (Some(only), None) | (None, Some(only)) => (only, only),
            (None, None) => return None,
        };
        let width = high.share() - low.share();
        let part = if width > 0.0 { (share - low.share()) / width } else { 0.0 };
        let rates = [0, 1].map(|at| low.rates[at] + part * (high.rates[at] - low.rates[at]));
        Some(PairRates { slices, rates })
    }

    /// The measured profit (Eq. 1). Rates of blocks are to each other as IPCs are, since a block has the same instructions alone and
    /// beside others.
    ///
    /// # Panics
    /// If a kernel is not of the table.
    pub fn profit(&self, kernels: [usize; 2], together: &PairRates) -> f64 {
        profit(kernels.map(|kernel| self.kernels[kernel].rate), together.rates)
    }

    /// The slices with the highest measured profit, and the profit; of equal ones the first. `None` if a kernel is not of the table.
    pub fn best(&self, kernels: [usize; 2]) -> Option<(PairRates, f64)> {
        let rows = self.together(kernels).iter().map(|row| (*row, self.profit(kernels, row)));
        rows.reduce(|best, row| if row.1 > best.1 { row } else { best })
    }

    /// Milliseconds by which whole kernels overlap when the second is launched in another stream behind the first: the time saved against
    /// running one after the other; at most the time of the shorter kernel. Below 0 if overlapping takes longer. The other order's, if
    /// only that was measured, and 0 if neither was.
    ///
    /// # Panics
    /// If a kernel is not of the table.
    pub fn overlap(&self, first: usize, second: usize) -> f64 {
        let alone = [first, second].map(|kernel| self.kernels[kernel].alone());
        let both = self.both.get(&[first, second]).or_else(|| self.both.get(&[second, first]));
        let saved = both.map_or(0.0, |both| alone[0] + alone[1] - both);
        saved.min(alone[0]).min(alone[1])
    }
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no kernel `{}`", self.name)?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Unknown {}
