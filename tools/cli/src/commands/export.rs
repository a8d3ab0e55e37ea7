//! `counterpoint export`, and the same at the end of `counterpoint run`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use clap::Args;
use counterpoint_framework::telemetry::sinks::otlp::{
    DEFAULT_SCALE, Endpoint, Exported, Identity, Options, Saved, Scale,
};
use counterpoint_simulation::export::{ExportError, RunExport, export, export_saved};
use counterpoint_simulation::run::RunSummary;

use crate::table::grouped;
use crate::{Console, FAILURE, NOT_VERIFIED, SUCCESS};

/// The command's arguments.
#[derive(Args)]
pub(crate) struct Export {
    /// File of spans that a run has saved, such as `out/tiny/vecadd/spans.otlp.jsonl`.
    file: PathBuf,
    /// The server of OTLP/HTTP, such as `http://localhost:4318`.
    #[arg(long, value_name = "URL")]
    otlp: String,
}

impl Export {
    pub(super) fn execute(&self, console: &mut Console<'_>) -> io::Result<u8> {
        let ready = Endpoint::new(&self.otlp).map_err(|error| error.to_string());
        let ready = ready
            .and_then(|endpoint| Ok((endpoint, Saved::open(&self.file).map_err(|error| error.to_string())?)));
        let (endpoint, saved) = match ready {
            Ok(ready) => ready,
            Err(problem) => {
                writeln!(console.err, "error: {problem}")?;
                return Ok(FAILURE);
            }
        };
        let exported = export_saved(&saved, self.file.clone(), &endpoint, &patience(console));
        let exported = exported.map_err(io::Error::other)?;
        writeln!(console.out, "{}", counts(&exported, 0))?;
        if exported.is_complete() {
            return Ok(SUCCESS);
        }
        complain("error", &exported, &endpoint, console)?;
        if exported.batches > 0 && exported.failed > 0 {
            writeln!(console.err, "  help: {} holds what has not been sent now", self.file.display())?;
        }
        Ok(FAILURE)
    }
}

/// Options of `counterpoint run` that send its spans to a server.
#[derive(Args)]
pub(crate) struct RunExportOptions {
    /// Send the spans to an OpenTelemetry server such as Jaeger, by OTLP/HTTP: `http://localhost:4318`. Those that it does not
    /// take are saved among the results, for `counterpoint export`.
    #[arg(long, value_name = "URL")]
    otlp: Option<String>,
    /// Factor by which spans are shown longer than in the simulation: with 1000, 1 ns is shown as 1 us, which
    /// is the shortest time that Jaeger shows.
    #[arg(long, value_name = "TIMES", default_value_t = DEFAULT_SCALE, requires = "otlp", value_parser = clap::value_parser!(u64).range(1..))]
    otlp_scale: u64,
    /// Fail if the server does not take all spans.
    #[arg(long, requires = "otlp")]
    otlp_required: bool,
}

/// Destination of a run's spans. The target is made before the run, at the moment from which the run's time is shown.
pub(super) struct Target {
    endpoint: Endpoint,
    scale: Scale,
    identity: Identity,
}

impl RunExportOptions {
    /// Destination of spans, if one is requested.
    pub(super) fn target(&self) -> Result<Option<Target>, String> {
        let Some(url) = &self.otlp else { return Ok(None) };
        let endpoint = Endpoint::new(url).map_err(|error| error.to_string())?;
        #[allow(
            clippy::disallowed_methods,
            reason = "a server sorts traces by when they happened; no result has it"
        )]
        let now = SystemTime::now();
        let scale = Scale::new(self.otlp_scale).unwrap_or_default();
        Ok(Some(Target { endpoint, scale, identity: Identity::fresh(now) }))
    }

    /// Reports spans that have not arrived, and returns the exit status; `status` is the status without the export.
    pub(super) fn status(&self, sent: &Sent, status: u8, console: &mut Console<'_>) -> io::Result<u8> {
        let word = if self.otlp_required { "error" } else { "warning" };
        match &sent.result {
            Ok(RunExport { exported, .. }) if exported.is_complete() => return Ok(status),
            Ok(RunExport { exported, saved }) => {
                complain(word, exported, &sent.endpoint, console)?;
                if let Some(path) = saved {
                    let (path, url) = (path.display(), self.otlp.as_deref().unwrap_or_default());
                    writeln!(
                        console.err,
                        "  help: they are in {path}; `counterpoint export {path} --otlp {url}` sends them"
                    )?;
                }
            }
            Err(error) => writeln!(console.err, "{word}: --otlp: {error}")?,
        }
        let passed = matches!(status, SUCCESS | NOT_VERIFIED);
        Ok(if self.otlp_required && passed { FAILURE } else { status })
    }
}

/// Result of sending a run's spans.
pub(super) struct Sent {
    endpoint: Endpoint,
    result: Result<RunExport, ExportError>,
}

impl Sent {
    pub(super) fn of(summary: &RunSummary, target: Target, console: &Console<'_>) -> Self {
        let Target { endpoint, scale, identity } = target;
        let options = patience(console);
        let request = counterpoint_simulation::export::Export { endpoint, scale, identity, options };
        let result = export(summary, &request);
        Sent { endpoint: request.endpoint, result }
    }

    /// The line of the summary. `capped` is how many spans the run has added up in others.
    pub(super) fn print(&self, capped: u64, out: &mut dyn Write) -> io::Result<()> {
        match &self.result {
            Ok(RunExport { exported, .. }) => writeln!(out, "  otlp         {}", counts(exported, capped)),
            Err(_) => Ok(()),
        }
    }
}

/// Time limit of the export, which the next Ctrl-C ends earlier.
fn patience(console: &Console<'_>) -> Options {
    console.listens.store(true, Ordering::SeqCst);
    let interrupted = console.interrupt.load(Ordering::SeqCst);
    let stop = Arc::clone(if interrupted { &console.abandon } else { &console.interrupt });
    Options { stop, ..Options::default() }
}

/// Number of spans that arrived.
fn counts(exported: &Exported, capped: u64) -> String {
    let Exported { sent, failed, rejected, .. } = exported;
    let mut text = format!("{} spans sent, {} failed", grouped(*sent), grouped(*failed));
    if *rejected > 0 {
        text.push_str(&format!(", {} rejected by the server", grouped(*rejected)));
    }
    if capped > 0 {
        text.push_str(&format!(", {} beyond --span-limit", grouped(capped)));
    }
    text
}

/// Says what has not arrived, and why.
fn complain(
    word: &str,
    exported: &Exported,
    endpoint: &Endpoint,
    console: &mut Console<'_>,
) -> io::Result<()> {
    let Exported { sent, failed, rejected, error, .. } = exported;
    let reason = error.as_deref().unwrap_or("the reason is not known");
    let all = grouped(sent + failed + rejected);
    let what = match (failed, rejected) {
        (0, _) => format!("{endpoint} has rejected {} of {all} spans", grouped(*rejected)),
        _ => format!("{} of {all} spans have not been sent to {endpoint}", grouped(*failed)),
    };
    writeln!(console.err, "{word}: {what}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_if_they_matter() {
        let exported = Exported { sent: 12_345, ..Exported::default() };
        assert_eq!(counts(&exported, 0), "12 345 spans sent, 0 failed");
        let exported = Exported { sent: 1, failed: 2, rejected: 3, ..exported };
        assert_eq!(
            counts(&exported, 4),
            "1 spans sent, 2 failed, 3 rejected by the server, 4 beyond --span-limit"
        );
    }
}
