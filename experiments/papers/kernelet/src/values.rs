//! Values of runs.

use counterpoint_simulation::run::RunSummary;
use counterpoint_simulation::run_value::RunValue;

use crate::paper::{C2050, GTX680};

/// What PUR is measured against: warp instructions that all SMs issue at most in a cycle of the machine's, on both machines of Table 2.
pub(crate) const PEAK: RunValue = RunValue { name: "kernelet_peak", unit: "instructions/cycle", of: peak };

fn peak(summary: &RunSummary) -> Option<f64> {
    of_machine(&summary.machine)
}

/// The C2050's cycles in Table 2 are those of its hot clock, two of which are one of the machine's.
fn of_machine(machine: &str) -> Option<f64> {
    let (gpu, cycles) = match machine {
        "c2050" => (C2050, 2.0),
        "gtx680" => (GTX680, 1.0),
        _ => return None,
    };
    Some(f64::from(gpu.sms) * gpu.peak_ipc * cycles)
}

#[cfg(test)]
mod tests {
    use super::of_machine;

    #[test]
    fn peaks_are_those_of_table_2() {
        assert_eq!(["c2050", "gtx680", "tiny"].map(of_machine), [Some(28.0), Some(64.0), None]);
    }
}
