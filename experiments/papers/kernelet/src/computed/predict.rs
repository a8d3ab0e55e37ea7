//! IPC of a kernel alone, or of two kernels in slices, by the model and as measured: Figs. 7 to 12.

use std::collections::BTreeMap;

use counterpoint::component::{Choice, Params};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::Description;
use counterpoint::telemetry::{Attribute, Attributes};

use super::{Computation, Computed};
use crate::model::{Resident, Unit, Unsolvable};
use crate::replay::{Kernel, Measured, PairRates};
use crate::runtime::{GpuParams, real};
use crate::schedule::{GpuDescription, Profile, predict, profit, slices};

/// Which slices of two kernels.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum SlicesOf {
    /// Those that the whole model balances (Eq. 8).
    Balanced,
    /// As many blocks of both, as many as were measured.
    Even,
}

/// Kernels, and the model.
#[derive(Clone, Debug, Params)]
pub(super) struct PredictParams {
    /// One kernel or two, as Table 4 calls them.
    kernels: Vec<String>,
    /// The slices of two.
    #[param(default = "balanced")]
    slices: SlicesOf,
    /// The model's knowledge of the GPU, whose card has the rates.
    gpu: GpuParams,
    /// Whether the model knows uncoalesced accesses; else they count as coalesced ones.
    #[param(default = "on")]
    uncoalesced: bool,
}

/// The runtime `predict`.
pub(super) type Predict = Computed<PredictParams>;

/// The model as the parameters have it.
struct Model {
    machine: GpuDescription,
    uncoalesced: bool,
    /// Cycles of all SMs in a millisecond.
    cycles: f64,
}

impl Model {
    fn ipc<const N: usize>(&self, kernels: [(&Profile, u32); N]) -> Result<[f64; N], Fault> {
        let resident = kernels.map(|(kernel, blocks)| Resident {
            blocks,
            warps_per_block: kernel.warps_per_block,
            memory: kernel.memory_fraction,
            uncoalesced: if self.uncoalesced { kernel.uncoalesced_fraction } else { 0.0 },
        });
        self.machine.sm().ipc(resident, Unit::Block).map_err(unsolvable)
    }

    fn alone(&self, kernel: &Profile) -> Result<f64, Fault> {
        Ok(self.ipc([(kernel, slices::most(&self.machine.offer, &kernel.resources))])?[0])
    }

    /// The IPC at this rate of blocks per millisecond.
    fn measured(&self, kernel: &Kernel, rate: f64) -> f64 {
        rate * kernel.profile.instructions_per_block / self.cycles
    }
}

fn unsolvable(error: Unsolvable) -> Fault {
    Fault::new(format!("the model has no solution: {error}"))
}

impl Computation for PredictParams {
    const NAME: &'static str = "predict";
    const DOC: &'static str = "No run: IPC of a kernel alone, or of two in slices, as a Markov model predicts it and as measured on a card \
                               (Kernelet).";

    fn compute(&self, devices: &BTreeMap<u32, Description>) -> Result<Attributes, Fault> {
        let gpu = self.gpu.gpu(devices)?;
        let measured = Measured::of_card(&gpu.card, false).map_err(|report| Fault::new(report.render()))?;
        let names: Vec<&str> = self.kernels.iter().map(String::as_str).collect();
        let places = measured.places(&names).map_err(|error| Fault::new(error.to_string()))?;
        let model =
            Model { machine: gpu.machine, uncoalesced: self.uncoalesced, cycles: gpu.card.cycles() / 1e3 };
        match places[..] {
            [place] => {
                let kernel = &measured.kernels()[place];
                let predicted = model.alone(&kernel.profile)?;
                Ok(vec![
                    ("measured_ipc", real(model.measured(kernel, kernel.rate))),
                    ("predicted_ipc", real(predicted)),
                ])
            }
            [first, second] => self.pair(&measured, [first, second], &model, &gpu.card.machine),
            _ => Err(Fault::new("`kernels` of `predict` are one kernel or two")),
        }
    }
}

impl PredictParams {
    /// Two kernels; slices are those of the whole model. There are no results if these slices were not measured.
    fn pair(
        &self,
        measured: &Measured,
        places: [usize; 2],
        model: &Model,
        whole: &GpuDescription,
    ) -> Result<Attributes, Fault> {
        let kernels = places.map(|place| &measured.kernels()[place]);
        let profiles = kernels.map(|kernel| &kernel.profile);
        let is_wanted: Box<dyn Fn(&&PairRates) -> bool> = match self.slices {
            SlicesOf::Even => Box::new(|row| row.slices[0] == row.slices[1]),
            SlicesOf::Balanced => {
                let found = predict(profiles, whole, &Default::default()).map_err(unsolvable)?;
                Box::new(move |row| found.is_some_and(|found| found.slices == row.slices))
            }
        };
        let rows = measured.together(places).iter().filter(is_wanted);
        let Some(row) = rows.max_by_key(|row| row.slices[0]) else { return Ok(Attributes::new()) };
        let blocks = row.slices.map(|slice| slice / whole.sms);
        let alone = [model.alone(profiles[0])?, model.alone(profiles[1])?];
        let predicted = model.ipc([(profiles[0], blocks[0]), (profiles[1], blocks[1])])?;
        let came: f64 = [0, 1].map(|at| model.measured(kernels[at], row.rates[at])).iter().sum();
        Ok(vec![
            ("slice_1", Attribute::Number(row.slices[0].into())),
            ("slice_2", Attribute::Number(row.slices[1].into())),
            ("measured_ipc", real(came)),
            ("predicted_ipc", real(predicted.iter().sum())),
            ("measured_profit", real(measured.profit(places, row))),
            ("predicted_profit", real(profit(alone, predicted))),
        ])
    }
}
