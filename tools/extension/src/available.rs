//! A value of studies: the number of SMs that the governor has made available.
use counterpoint::component::StatValue;
use counterpoint::run::{RunSummary, RunValue};

pub const AVAILABLE: RunValue = RunValue { name: "available_sms", unit: "SMs", of: available };

fn available(summary: &RunSummary) -> Option<f64> {
    let row = summary.report.stats.iter().find(|row| row.label.name == "available")?;
    match row.value {
        StatValue::Count(sms) => Some(sms as f64),
        StatValue::Ratio { .. } | StatValue::Distribution { .. } => None,
    }
}
