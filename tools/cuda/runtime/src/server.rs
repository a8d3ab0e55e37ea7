//! Takes programs in, each with a thread of its own.

use std::io;
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use counterpoint_cuda_capture::Machine;
use rustix::net::sockopt::socket_peercred;

use crate::recorder::say;
use crate::session;
use crate::settings::Settings;

/// The variable that tells programs of the server.
pub const SOCKET: &str = "COUNTERPOINT_CUDA_SOCKET";

/// Bytes of a thread's stack: those that the first thread of a process has.
const STACK: usize = 8 << 20;

/// Connected programs, and the threads that serve them.
#[derive(Default)]
struct Programs {
    over: AtomicBool,
    /// The machine of the first program.
    machine: Mutex<Option<Box<dyn Machine>>>,
    all: Mutex<Vec<(UnixStream, JoinHandle<()>)>>,
}

/// The end of a session, of whatever kind, which the program must see though others have the socket too.
struct HangsUp(UnixStream);

impl Drop for HangsUp {
    fn drop(&mut self) {
        // The program may have gone.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// A server for the programs that a command starts.
pub struct Server {
    name: String,
    programs: Arc<Programs>,
    listens: JoinHandle<()>,
}

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(name)
}

fn start(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().stack_size(STACK).spawn(work)
}

impl Server {
    /// Listens at a socket that no file names, so that none is left behind. The work of the first program runs on the machine, too, if there is one.
    ///
    /// # Errors
    /// The system has none.
    pub fn start(settings: Settings, machine: Option<Box<dyn Machine>>) -> io::Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("counterpoint-cuda-{}-{number}", std::process::id());
        let listener = UnixListener::bind_addr(&address(&name)?)?;
        let programs = Arc::new(Programs { machine: Mutex::new(machine), ..Programs::default() });
        let all = Arc::clone(&programs);
        let listens = start(move || {
            for stream in listener.incoming() {
                if all.over.load(Ordering::SeqCst) {
                    return;
                }
                let taken = stream.and_then(|stream| all.take(stream, settings.clone()));
                if let Err(error) = taken {
                    say(&format!("a program is not served: {error}"));
                }
            }
        })?;
        Ok(Server { name, programs, listens })
    }

    /// Value of the environment variable by which programs find the server.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ends: what programs have done is in their records, and those that are still there lose their device.
    pub fn finish(self) {
        self.programs.over.store(true, Ordering::SeqCst);
        // Listening ends with one who comes.
        if address(&self.name).and_then(|address| UnixStream::connect_addr(&address)).is_ok() {
            let _ = self.listens.join();
        }
        let all = std::mem::take(&mut *self.programs.all.lock().unwrap_or_else(PoisonError::into_inner));
        for (stream, serves) in all {
            drop(HangsUp(stream));
            let _ = serves.join();
        }
    }
}

impl Programs {
    /// Serves a program, if it is one of this user.
    fn take(&self, stream: UnixStream, settings: Settings) -> io::Result<()> {
        if socket_peercred(&stream)?.uid != rustix::process::getuid() {
            return Err(io::Error::other("it is another user's"));
        }
        let (own, hangs_up) = (stream.try_clone()?, HangsUp(stream.try_clone()?));
        let machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner).take();
        let serves = start(move || {
            let _hangs_up = hangs_up;
            if let Err(error) = session::run(stream, settings, machine) {
                say(&format!("a program is not served: {error}"));
            }
        })?;
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, serves)| !serves.is_finished());
        all.push((own, serves));
        Ok(())
    }
}

/// Serves one program, which has started this process, until it ends. The settings are those of its environment.
///
/// # Errors
/// It is no program of CUDA.
pub fn serve(program: UnixStream) -> io::Result<()> {
    session::run(program, Settings::from_environment(), None)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn who_is_no_program_of_cuda_is_left_and_the_server_goes_on() {
        let server = Server::start(Settings::default(), None).expect("a server");
        for hello in [&[0; 32][..], &[255; 32], &[1]] {
            let address = address(server.name()).expect("a name");
            let mut stranger = UnixStream::connect_addr(&address).expect("a server");
            stranger.write_all(hello).expect("a socket");
            stranger.shutdown(Shutdown::Write).expect("a socket");
            let mut said = Vec::new();
            // The server sends its number, and no more. Unread data may cause an error of the socket.
            let _ = stranger.read_to_end(&mut said);
            assert!(said.len() <= 4, "{said:?}");
        }
        server.finish();
    }
}
