//! Reader of an application's YAML: the host's steps, the application's files, and its expected results.
//!
//! Like the machine, an application is read whole: all problems are reported together, each with its position in the file.

mod addresses;
mod arguments;
mod assembler;
mod buffers;
mod co_run;
mod code;
mod counts;
mod expressions;
mod files;
mod frees;
mod host;
mod include;
mod input;
mod keys;
mod launches;
mod library;
mod load;
mod loaded;
mod loops;
mod moves;
mod packed;
mod parameters;
mod pipelines;
mod preload;
mod reader;
mod rounds;
mod schema;
mod sizes;
mod stream_names;
mod streams;
mod structs;
mod surfaces;
mod tasks;
mod textures;

pub use crate::find::{Files, Found, RealFiles};
pub use co_run::SEPARATOR;
pub use input::InputFile;
pub use keys::explain;
pub use loaded::{Against, CoRunPart, Counts, Expectation, Launched, LoadedApplication, PerLaunch};
pub use parameters::SETTING_PREFIX;
pub use schema::schema;

use counterpoint_framework::model::{Registry, Report, SourceMap};

/// Loads an application file, with settings `app.name=value` for its parameters, the last one winning. Its references are those of
/// this crate and of the registry's extensions.
///
/// # Errors
/// All problems of the file.
pub fn load(
    path: &str,
    sets: &[String],
    files: &dyn Files,
    registry: &Registry,
) -> Result<LoadedApplication, Report> {
    let mut reader = reader::Reader::new(files, registry);
    let loaded = reader.application(path, sets);
    let (diagnostics, sources): (_, SourceMap) = (reader.diagnostics, reader.sources);
    match loaded {
        Some(loaded) if diagnostics.is_empty() => Ok(loaded),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}

/// Loads applications to run together, each by its name among them and its file, with settings `app.name=value` for all that
/// have such a parameter, and `app.application.name=value` for one.
///
/// # Errors
/// All problems of the files.
pub fn load_co_run(
    applications: &[(String, String)],
    sets: &[String],
    files: &dyn Files,
    registry: &Registry,
) -> Result<LoadedApplication, Report> {
    let mut reader = reader::Reader::new(files, registry);
    let names: Vec<&str> = applications.iter().map(|(name, _)| name.as_str()).collect();
    let name = names.join(SEPARATOR);
    let span = reader.command_line(&name);
    let guest = |(name, path): &(String, String)| co_run::Guest {
        name: name.clone(),
        path: path.clone(),
        sets: Vec::new(),
        span,
    };
    let guests: Vec<_> = applications.iter().map(guest).collect();
    let loaded = reader.co_run(&name, &guests, sets);
    let (diagnostics, sources): (_, SourceMap) = (reader.diagnostics, reader.sources);
    match loaded {
        Some(loaded) if diagnostics.is_empty() => Ok(loaded),
        _ => Err(Report::new(&diagnostics, sources)),
    }
}

#[cfg(test)]
mod tests;
