//! The server that programs call, which exists on Linux only.

use std::io;
use std::path::Path;
use std::process::Command;

use counterpoint_cuda_capture::Machine;

use crate::run::Request;

/// A server for the programs that a command starts.
#[cfg(target_os = "linux")]
pub(crate) struct Service(counterpoint_cuda_runtime::Server);

#[cfg(target_os = "linux")]
impl Service {
    /// Starts a server with the requested device, which records into a folder.
    pub(crate) fn start(
        request: &Request,
        record: &Path,
        machine: Option<Box<dyn Machine>>,
    ) -> io::Result<Self> {
        let usual = counterpoint_cuda_runtime::Settings::default();
        let settings = counterpoint_cuda_runtime::Settings {
            folder: Some(record.to_owned()),
            memory: request.memory.unwrap_or(usual.memory),
            sms: request.sms.unwrap_or(usual.sms),
            capability: request.capability,
            limit: request.limit.unwrap_or(usual.limit),
        };
        counterpoint_cuda_runtime::Server::start(settings, machine).map(Service)
    }

    /// Passes the server's name to a program.
    pub(crate) fn introduce(&self, command: &mut Command) {
        command.env(counterpoint_cuda_runtime::SOCKET, self.0.name());
    }

    /// Ends the server and completes the record.
    pub(crate) fn finish(self) {
        self.0.finish();
    }
}

/// Serves the program that has started this process, over its standard input, until it ends.
///
/// # Errors
/// It is no program of CUDA.
#[cfg(target_os = "linux")]
pub fn serve() -> io::Result<()> {
    use std::os::fd::AsFd;
    counterpoint_cuda_runtime::serve(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(target_os = "linux"))]
pub(crate) enum Service {}

#[cfg(not(target_os = "linux"))]
impl Service {
    pub(crate) fn start(_: &Request, _: &Path, _: Option<Box<dyn Machine>>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn introduce(&self, _: &mut Command) {}

    pub(crate) fn finish(self) {}
}

/// See the function for Linux.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn serve() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
