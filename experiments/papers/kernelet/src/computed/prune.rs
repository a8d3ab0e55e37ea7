//! Pairs of the eight kernels that thresholds prune: Table 6.

use std::collections::BTreeMap;

use counterpoint::component::{Choice, Params};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::{Attribute, Attributes};

use super::{Computation, Computed};
use crate::paper::KERNELS;
use crate::replay::Measured;
use crate::runtime::GpuParams;
use crate::schedule::prune::{Thresholds, Use, pairs};

/// Whose PUR and MUR.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Uses {
    /// The profiles of our kernels on the card.
    Measured,
    /// Table 4, the C2050.
    Paper,
}

/// Thresholds.
#[derive(Clone, Debug, Params)]
pub(super) struct PruneParams {
    /// `alpha_p`: pairs whose PUR differ by less are pruned, if the MUR do so, too.
    #[param(default = "0.4", min = "0", max = "100")]
    pur: f64,
    /// `alpha_m`: the same of MUR.
    #[param(default = "0.1", min = "0", max = "100")]
    mur: f64,
    /// PUR and MUR of the kernels.
    #[param(default = "measured")]
    of: Uses,
    /// The GPU, whose card has the profiles.
    gpu: GpuParams,
}

/// The runtime `prune`.
pub(super) type Prune = Computed<PruneParams>;

impl Computation for PruneParams {
    const NAME: &'static str = "prune";
    const DOC: &'static str =
        "No run: how many pairs of the paper's eight kernels thresholds of PUR and MUR prune (Kernelet).";

    fn compute(&self, devices: &BTreeMap<u32, Description>) -> Result<Attributes, Fault> {
        let uses: Vec<Use> = match self.of {
            Uses::Paper => KERNELS.iter().map(|it| Use { pur: it.c2050.pur, mur: it.c2050.mur }).collect(),
            Uses::Measured => {
                let card = self.gpu.gpu(devices)?.card;
                let measured =
                    Measured::of_card(&card, false).map_err(|report| Fault::new(report.render()))?;
                let profiles = measured.kernels().iter().map(|kernel| &kernel.profile);
                profiles.map(|it| Use { pur: it.pur, mur: it.mur }).collect()
            }
        };
        let thresholds = Thresholds { pur: self.pur, mur: self.mur };
        let is_pruned = |[first, second]: &[usize; 2]| thresholds.prunes(&uses[*first], &uses[*second]);
        let pruned = pairs(uses.len()).iter().filter(|pair| is_pruned(pair)).count();
        Ok(vec![("pruned_pairs", Attribute::Number(pruned as u64))])
    }
}
