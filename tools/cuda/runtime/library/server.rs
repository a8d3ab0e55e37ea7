//! Connection to the server: that of the command which has started the program, or a server started for it.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::size_of;
use core::ptr::null;

use crate::page::{Hello, Page};
use crate::system::{
    __errno_location, _exit, Address, Found, close_own, connect as connect_to, dladdr, dup2, execv, fork,
    ftruncate, getenv, memfd_create, mmap, prctl, pthread_atfork, recv, say, send, setsid, socket,
    socketpair, waitpid,
};
use crate::{ADDRESSES, NAMES, READ_WRITE, SHARED, SOCKET, TEXT};

/// The name of the server's socket.
const VARIABLE: &CStr = c"COUNTERPOINT_CUDA_SOCKET";
/// The command beside the library, as `--install` puts it there, and its words.
const COMMAND: &[u8] = b"counterpoint\0";
const WORDS: [&CStr; 3] = [c"counterpoint", c"cuda", c"--serve"];

/// A Unix socket for a stream of bytes, which programs that this one starts do not have.
const UNIX: c_int = 1;
const STREAM: c_int = 1 | 0x8_0000;
/// `send` raises no signal, and `recv` waits for all bytes.
const NO_SIGNAL: c_int = 0x4000;
const ALL: c_int = 0x100;
/// A signal came.
const INTERRUPTED: c_int = 4;
/// Option of `prctl` that permits another process to trace this one.
const SET_PTRACER: c_int = 0x5961_6d61;
/// A file in memory that is closed for other programs, and whose size can be fixed.
const MEMORY_FILE: u32 = 1 | 2;

/// Finds the server and sends it the addresses of all shared data; returns the socket and the page.
pub(crate) fn connect() -> Option<(c_int, *mut Page)> {
    // SAFETY: a text that ends with a zero.
    let name = unsafe { getenv(VARIABLE.as_ptr()) };
    let found = if name.is_null() { start() } else { meet(name) };
    let connected = found.and_then(|socket| Some((socket, greet(socket)?)));
    if connected.is_none() {
        say(match name.is_null() {
            true => {
                "counterpoint: the program's device needs the command that `counterpoint cuda --install` was called with, \
                     which is gone or does not start: every call of CUDA fails\n"
            }
            false => {
                "counterpoint: the command that has started this program is gone: every call of CUDA fails\n"
            }
        });
    }
    connected
}

/// The socket of a name, which is none of a file.
fn meet(name: *const c_char) -> Option<c_int> {
    // SAFETY: a text of the environment.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let mut address = Address { family: UNIX as u16, name: [0; 108] };
    address.name.get_mut(1..=name.len())?.copy_from_slice(name);
    // SAFETY: an address of this many bytes: its family, a zero, and the name.
    unsafe {
        let socket = socket(UNIX, STREAM, 0);
        (connect_to(socket, &address, 3 + name.len() as u32) == 0).then_some(socket)
    }
}

/// Puts the folder of this library into a path; the result is its length, with the slash.
pub(crate) fn own_folder(path: &mut [u8; 4096]) -> Option<usize> {
    let mut found = Found { file: null(), more: [null(); 3] };
    let own = start as fn() -> Option<c_int> as *const c_void;
    // SAFETY: an address of this library; `found` is filled in, with a text that ends with a zero.
    let file = unsafe {
        if dladdr(own, &mut found) == 0 {
            return None;
        }
        CStr::from_ptr(found.file).to_bytes()
    };
    let folder = file.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    path.get_mut(..folder)?.copy_from_slice(&file[..folder]);
    Some(folder)
}

/// Starts the command beside the library. It is no child of the program, which may wait for all of its children; it ends when the program does.
fn start() -> Option<c_int> {
    let mut path = [0; 4096];
    let folder = own_folder(&mut path)?;
    path.get_mut(folder..folder + COMMAND.len())?.copy_from_slice(COMMAND);
    let words = [WORDS[0].as_ptr(), WORDS[1].as_ptr(), WORDS[2].as_ptr(), null()];
    let (mut both, mut status) = ([0; 2], 0);
    // SAFETY: between `fork` and `execv` only what is safe there; texts end with zeros.
    unsafe {
        if socketpair(UNIX, STREAM, 0, both.as_mut_ptr()) != 0 {
            return None;
        }
        let child = fork();
        if child == 0 {
            if fork() == 0 {
                setsid();
                dup2(both[1], 0);
                execv(path.as_ptr().cast(), words.as_ptr());
            }
            _exit(0);
        }
        waitpid(child, &mut status, 0);
    }
    close_own(both[1]);
    Some(both[0])
}

/// Says where everything is.
fn greet(socket: c_int) -> Option<*mut Page> {
    let greeted = exchange(socket);
    if greeted.is_none() {
        close_own(socket);
    }
    greeted
}

fn exchange(socket: c_int) -> Option<*mut Page> {
    let mut server = [0; 4];
    receive(socket, &mut server)?;
    let bytes = size_of::<Page>();
    // SAFETY: places of these sizes.
    unsafe {
        // Some systems let only ancestors trace a process, unless the process names its tracer.
        prctl(SET_PTRACER, u64::from(u32::from_ne_bytes(server)), 0_u64, 0_u64, 0_u64);
        let file = memfd_create(c"counterpoint".as_ptr(), MEMORY_FILE);
        ftruncate(file, bytes as i64);
        let page = mmap(core::ptr::null_mut(), bytes, READ_WRITE, SHARED, file, 0);
        let hello = Hello {
            page: file as u64,
            text: TEXT.0.get().expose_provenance() as u64,
            names: NAMES.as_ptr().expose_provenance() as u64,
            names_bytes: NAMES.len() as u64,
            functions: ADDRESSES.as_ptr().expose_provenance() as u64,
        };
        let sent = page.addr() != usize::MAX
            && send(socket, (&raw const hello).cast(), size_of::<Hello>(), NO_SIGNAL) > 0
            && sleep(socket);
        close_own(file);
        if !sent {
            return None;
        }
        pthread_atfork(None, None, Some(forked));
        Some(page.cast())
    }
}

/// A process that the program forks off leaves the server to its parent, so that the end of the program is seen.
unsafe extern "C" fn forked() {
    let socket = SOCKET.swap(-1, core::sync::atomic::Ordering::Relaxed);
    if socket >= 0 {
        close_own(socket);
    }
}

pub(crate) fn wake(socket: c_int) {
    // SAFETY: one byte.
    unsafe { send(socket, (&raw const COMMAND[0]).cast(), 1, NO_SIGNAL) };
}

/// Sleeps until the server writes a byte; false if it has gone.
pub(crate) fn sleep(socket: c_int) -> bool {
    receive(socket, &mut [0]) == Some(())
}

/// Takes bytes of the server, whatever signals the program has meanwhile.
fn receive(socket: c_int, bytes: &mut [u8]) -> Option<()> {
    loop {
        // SAFETY: a place of this size; the error is the thread's own.
        let (count, error) = unsafe {
            let count = recv(socket, bytes.as_mut_ptr().cast(), bytes.len(), ALL);
            (count, *__errno_location())
        };
        match count {
            -1 if error == INTERRUPTED => {}
            count => return (count == bytes.len() as isize).then_some(()),
        }
    }
}
