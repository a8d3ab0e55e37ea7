//! The simulation's own log, on standard error.

use tracing_subscriber::EnvFilter;

/// Begins to log what the filter lets through, in colours if someone watches. A second call in one process changes nothing.
pub(crate) fn start(filter: &str, colours: bool) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| error.to_string())?;
    // What is logged happens in simulated time, which each line carries; the wall clock would say nothing.
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .without_time()
        // A reader that closes the pipe ends the log, not the run.
        .log_internal_errors(false)
        .with_ansi(colours)
        .with_writer(std::io::stderr)
        .finish();
    // Tests call the command several times in one process: the first subscriber stays.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}
