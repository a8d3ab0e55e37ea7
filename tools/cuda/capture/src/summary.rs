//! Summary of a record, for the user of the program.

use crate::journal::Recorded;
use crate::record::{Entry, Way};

/// Summary of a record, for the program's user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Launches.
    pub launches: u64,
    /// Bytes copied to the device, and from it.
    pub copied: [u64; 2],
    /// Calls that were refused, with the reason, once each.
    pub refused: Vec<(String, String)>,
    /// The message of a kernel that failed.
    pub fault: Option<String>,
    /// The program ended as programs do.
    pub ended: bool,
    /// Limit in bytes that the data of copies reached, at which the record ends.
    pub limit: Option<u64>,
}

/// Summarises a record.
pub fn summary(recorded: &Recorded) -> Summary {
    let mut summary = Summary::default();
    for entry in &recorded.entries {
        match entry {
            Entry::Launch { .. } => summary.launches += 1,
            Entry::Copy { way, device, .. } => {
                summary.copied[usize::from(*way == Way::Out)] += device.bytes()
            }
            Entry::Refused { call, reason } => {
                let refused = (call.clone(), reason.clone());
                if !summary.refused.contains(&refused) {
                    summary.refused.push(refused);
                }
            }
            Entry::Fault { message } => summary.fault = Some(message.clone()),
            Entry::End => summary.ended = true,
            Entry::Limit { bytes } => summary.limit = Some(*bytes),
            _ => {}
        }
    }
    summary
}
