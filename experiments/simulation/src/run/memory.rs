//! Whether the memory of the machine that we run on suffices for a run, as far as that can be known before it begins.

use std::collections::BTreeSet;

use counterpoint_host_model::program::{Application, BufferId};
use sysinfo::System;

use super::RunError;

/// Refuses an application that moves more bytes than memory is free.
///
/// # Errors
/// Bytes that it moves, and bytes that are free.
pub(super) fn suffices(application: &Application) -> Result<(), RunError> {
    let needed = moved(application);
    match available() {
        Some(free) if free < needed => Err(RunError::Usage(format!(
            "the run holds {} of buffers that are read, copied or written, on host and devices, and only {} of memory are \
             free on this machine",
            gigabytes(needed),
            gigabytes(free)
        ))),
        _ => Ok(()),
    }
}

/// Bytes of all buffers that are certainly filled: on the host those that are read from files or come back from devices, on devices
/// those that are copied.
fn moved(application: &Application) -> u64 {
    let Application { copy_in, copy_out, preloaded, buffers, .. } = application;
    let read = application.reads().map(|transfer| transfer.part.buffer);
    let host: BTreeSet<BufferId> = read.chain(copy_out.iter().copied()).collect();
    let device: BTreeSet<BufferId> = [copy_in, copy_out, preloaded].into_iter().flatten().copied().collect();
    let bytes = |buffer: &BufferId| buffers.get(buffer.0 as usize).map_or(0, |buffer| buffer.bytes);
    host.iter().chain(&device).map(bytes).fold(0, u64::saturating_add)
}

/// Bytes of memory that this process may still take: those of the machine, or of its control group if that has fewer. Nothing where
/// that cannot be known.
fn available() -> Option<u64> {
    let mut system = System::new();
    system.refresh_memory();
    let free = system.available_memory();
    let group = system.cgroup_limits().map_or(u64::MAX, |group| group.free_memory);
    (free > 0).then(|| free.min(group))
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
