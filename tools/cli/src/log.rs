//! The simulation's own log, on standard error: levels by component path, and by the targets of `tracing`.

use counterpoint_framework::model::{LogLevel, Logs};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

const COMPONENTS: &str = "simulation";

/// Prefixes of targets of `tracing`: our own and those of the libraries that log.
const TARGETS: [&str; 5] = [COMPONENTS, "counterpoint", "opentelemetry", "hyper", "tokio"];

/// Begins to log what the filter lets through, in colours if someone watches; a second call in one process changes nothing.
/// The result is the levels of components, if the filter names any.
pub(crate) fn start(filter: &str, colours: bool) -> Result<Option<Logs>, String> {
    let (targets, logs) = read(filter)?;
    let targets: Targets = targets.parse().map_err(|error| format!("{error}"))?;
    // Logged events happen in simulated time, which each line carries; the wall clock would say nothing.
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .without_time()
        // A reader that closes the pipe ends the log, not the run.
        .log_internal_errors(false)
        .with_ansi(colours)
        .with_writer(std::io::stderr)
        .finish()
        .with(targets);
    // Tests call the command several times in one process: the first subscriber stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(logs)
}

/// Takes a filter apart: what `tracing` filters by, and the levels of components.
fn read(filter: &str) -> Result<(String, Option<Logs>), String> {
    let (mut targets, mut logs) = (Vec::new(), Logs::default());
    let mut base_of_target = None;
    for directive in filter.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, level) = match directive.split_once('=') {
            Some((name, level)) => (name.trim(), Some(level.trim())),
            None => (directive, None),
        };
        match level {
            // A bare level is that of everything.
            None if is_target(name) => targets.push(directive),
            None if is_pattern(name) => logs.rules.push((name.to_owned(), LogLevel::Trace)),
            None => {
                logs.base = name.parse()?;
                targets.push(directive);
            }
            Some(level) if is_target(name) => {
                let level: LogLevel = level.parse()?;
                if name == COMPONENTS {
                    base_of_target = Some(level);
                }
                targets.push(directive);
            }
            Some(level) => logs.rules.push((name.to_owned(), level.parse()?)),
        }
    }
    if logs.rules.is_empty() {
        return Ok((filter.to_owned(), None));
    }
    logs.base = base_of_target.unwrap_or(logs.base);
    // The components filter by themselves.
    let own = format!("{COMPONENTS}={}", logs.finest());
    targets.push(&own);
    Ok((targets.join(","), Some(logs)))
}

fn is_target(name: &str) -> bool {
    name.contains("::") || TARGETS.iter().any(|target| name.starts_with(target))
}

fn is_pattern(name: &str) -> bool {
    name.contains(['.', '[', '*'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_components_are_taken_out_of_a_filter() {
        let (targets, logs) = read("info,gpu.sm[0]=trace, gpu.l2[*]=debug,hyper=warn").unwrap();
        assert_eq!(targets, "info,hyper=warn,simulation=trace");
        let rules = [("gpu.sm[0]", LogLevel::Trace), ("gpu.l2[*]", LogLevel::Debug)];
        let rules = rules.map(|(pattern, level)| (pattern.to_owned(), level)).into();
        assert_eq!(logs, Some(Logs { base: LogLevel::Info, rules }));
        let (targets, logs) = read("simulation=off,pcie=debug").unwrap();
        assert_eq!(
            (targets.as_str(), logs.map(|logs| logs.base)),
            ("simulation=off,simulation=debug", Some(LogLevel::Off))
        );
    }

    #[test]
    fn filters_without_components_stay_as_they_are() {
        for filter in ["debug", "simulation=trace", "counterpoint_framework::topology=warn,info"] {
            assert_eq!(read(filter), Ok((filter.to_owned(), None)));
        }
    }

    #[test]
    fn a_wrong_level_is_named_with_the_nearest() {
        for filter in ["debgu", "gpu.sm[0]=debgu", "simulation=debgu"] {
            assert_eq!(read(filter).unwrap_err(), "`debgu` is not a level of the log; did you mean `debug`?");
        }
        // Spans are no part of a filter.
        let spans = read("simulation[span{path=a,b}]=debug").unwrap_err();
        assert!(spans.starts_with("`a` is not a level of the log"), "{spans}");
    }
}
