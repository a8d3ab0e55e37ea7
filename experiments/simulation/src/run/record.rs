//! Records of a run: the comparisons, the files of the application, the manifest.

use std::cell::LazyCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use counterpoint_framework::telemetry::Curve;
use counterpoint_framework::telemetry::sinks::stats::Statistics;
use counterpoint_framework::topology::{Loaded, RunReport, resolve};
use counterpoint_hardware::io::storage::Disk;
use counterpoint_host_model::functional::Found;
use counterpoint_host_model::program::Application;
use counterpoint_host_model::{Journal, Printed};
use counterpoint_protocols::host::FileIndex;
use counterpoint_protocols::write_log::{WriteTarget, Written};

use super::manifest::manifest;
use super::part::TimedLaunches;
use super::{Check, RunRequest};
use crate::application::{Against, Expectation, InputFile, LoadedApplication};
use crate::output::{Folder, MACHINE, MANIFEST, PRINTF, WRITES, WriteError};
use crate::results::totals::totals;
use crate::results::waits::Waits;
use crate::workloads::references::ReferenceInput;
use crate::workloads::verify::{Verdict, compare, compare_hash};

/// Compares the contents of buffers with the expectations.
pub(super) fn checks(
    loaded: &LoadedApplication,
    application: &Application,
    journal: &Journal,
    partial: bool,
) -> Vec<Check> {
    let inputs = LazyCell::new(|| loaded.contents().map_err(|error| error.to_string()));
    let check = |expectation: &Expectation| {
        let Expectation { part, against, only, tolerance } = expectation;
        let (place, element) =
            (&application.buffers[part.buffer.0 as usize], loaded.elements[part.buffer.0 as usize]);
        let bytes = part.offset as usize..(part.offset + part.bytes) as usize;
        let compare = |expected: &[u8], found: &[u8]| {
            let only = only.as_ref().map(InputFile::contents).transpose();
            match only {
                Ok(only) => compare(expected, found, element, *tolerance, only.as_deref()),
                Err(error) => Verdict::Unknown(error.to_string()),
            }
        };
        let verdict = match journal.buffer(part.buffer).map(|found| found.slice(bytes.clone())) {
            _ if partial => Verdict::Unknown("the run did not finish".to_owned()),
            None => Verdict::Unknown("the host did not note the buffer".to_owned()),
            Some(found) => match against {
                Against::Fnv64(hash) => compare_hash(*hash, &found, element),
                Against::File(file, at) => match file.contents() {
                    Ok(contents) => compare(&contents[*at as usize..][..found.len()], &found),
                    Err(error) => Verdict::Unknown(error.to_string()),
                },
                Against::Rule(rule) => {
                    compare(&rule.fill(element, part.bytes / element.bytes() as u64), &found)
                }
                Against::Reference(reference) => {
                    let computed = inputs.as_ref().map_err(String::clone).and_then(|buffers| {
                        let (parameters, buffers, wanted) = loaded.known_to(part.buffer, buffers);
                        (reference.compute)(&ReferenceInput { parameters, buffers: &buffers, wanted })
                    });
                    match computed {
                        Ok(expected) if expected.len() as u64 == place.bytes => {
                            compare(&expected[bytes], &found)
                        }
                        Ok(expected) => compare(&expected, &found),
                        Err(problem) => Verdict::Unknown(problem),
                    }
                }
            },
        };
        let first = part.offset / element.bytes() as u64;
        let buffer = match part.bytes == place.bytes {
            true => place.name.clone(),
            false => format!("{}[{first}..{}]", place.name, first + part.bytes / element.bytes() as u64),
        };
        Check { buffer, against: against.to_string(), verdict: verdict.behind(first) }
    };
    loaded.expectations.iter().map(check).collect()
}

/// Output of the application, by name of the file.
pub(super) fn results(loaded: &LoadedApplication, disk: &Disk) -> Vec<(String, Bytes)> {
    let file = |index| FileIndex((loaded.inputs.len() + index) as u32);
    let contents = |(index, name): (usize, &String)| (name.clone(), disk.written(file(index)));
    loaded.outputs.iter().enumerate().map(contents).collect()
}

pub(super) struct Facts<'a> {
    pub(super) request: &'a RunRequest,
    pub(super) machine: &'a Loaded,
    pub(super) application: &'a str,
    pub(super) loaded: &'a LoadedApplication,
    pub(super) report: &'a RunReport,
    pub(super) curves: &'a [Curve],
    pub(super) waits: &'a Waits,
    pub(super) checks: &'a [Check],
    pub(super) found: &'a [Found],
    /// Writes to buffers, if some were watched.
    pub(super) writes: Option<&'a [Written]>,
    pub(super) printed: &'a Printed,
    pub(super) partial: bool,
    /// The launches that had time, if they were chosen.
    pub(super) timed: Option<&'a TimedLaunches>,
    pub(super) missing: &'a [&'static str],
    /// Wall-clock time of the simulation.
    pub(super) wall: Duration,
}

/// The writes to buffers as a table, each with its bytes in the order of their addresses, in hexadecimal digits.
fn write_writes(writes: &[Written], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "time_ps,memory,buffer,offset,bytes")?;
    for Written { time, place, buffer, offset, bytes } in writes {
        let memory = match place {
            WriteTarget::Host => "host",
            WriteTarget::Device => "device",
        };
        write!(out, "{},{memory},{buffer},{offset},", time.as_ps())?;
        bytes.iter().try_for_each(|byte| write!(out, "{byte:02x}"))?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes everything; the manifest comes last, so that a folder with a manifest is complete, except for the files that the manifest
/// calls missing. Returns the files of the application, and the files that could not be written.
pub(super) fn write(folder: &Folder, facts: &Facts<'_>, disk: &Disk) -> (Vec<PathBuf>, Vec<WriteError>) {
    let mut failed = Vec::new();
    if facts.missing.is_empty() {
        let run = match facts.request.functional {
            true => Vec::new(),
            false => totals(&facts.machine.machine, facts.report),
        };
        let statistics = Statistics { partial: facts.partial, run: &run, components: &facts.report.stats };
        let host_seconds = facts.request.host_seconds.then_some(facts.wall.as_secs_f64());
        failed.extend(folder.write_statistics(&statistics, facts.request.shown, host_seconds));
        failed.extend(folder.write_records(facts.report, facts.curves, facts.waits));
    }
    if let Some(writes) = facts.writes {
        failed.extend(folder.write(WRITES, |out| write_writes(writes, out)).err());
    }
    if !facts.printed.text.is_empty() {
        failed.extend(folder.write(PRINTF, |out| out.write_all(facts.printed.text.as_bytes())).err());
    }
    let resolved = resolve(&facts.machine.machine, &facts.machine.sources);
    failed.extend(folder.write(MACHINE, |out| out.write_all(resolved.as_bytes())).err());
    let mut outputs = Vec::new();
    for (name, contents) in results(facts.loaded, disk) {
        match folder.write_output(&name, &contents, !facts.partial) {
            Ok(path) => outputs.extend(path),
            Err(error) => failed.push(error),
        }
    }
    let manifest = manifest(facts, &outputs, &failed);
    failed.extend(folder.write(MANIFEST, |out| out.write_all(manifest.as_bytes())).err());
    (outputs, failed)
}
