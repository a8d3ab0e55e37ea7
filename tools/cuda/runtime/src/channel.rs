//! The server's end of the way to a program: the page that both have, the socket on which they sleep, and the requests that a call may have.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Instant;

use counterpoint_cuda_capture::Entry;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{SealFlags, fcntl_add_seals};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::sockopt::socket_peercred;

use crate::foreign;
use crate::page::{
    ERROR_BYTES, FILES, FLOATS, Hello, MAP, PATIENCE, PRINT, PROGRAM, Page, SERVER, TEXT_BYTES, UNMAP, WORDS,
};

/// Bytes of names that a program may have.
const MOST_NAMES: u64 = 1 << 20;

/// The page of a program, mapped.
struct Shared(NonNull<Page>);

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `Channel::open` has mapped it, and nobody else has its address. What is not unmapped stays until the end.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), size_of::<Page>()) };
    }
}

impl Shared {
    fn get(&self) -> &Page {
        // SAFETY: it is mapped as long as this lives, its file cannot shrink, and all of it is atomic.
        unsafe { self.0.as_ref() }
    }
}

pub(crate) struct Call {
    /// The number of its function, or one of the page's other words.
    pub(crate) function: u32,
    pub(crate) thread: u32,
    pub(crate) thread_pointer: u64,
    /// Processor time of the program since the call before.
    pub(crate) work: u64,
    pub(crate) words: [u64; WORDS],
    pub(crate) floats: [u64; FLOATS],
    /// Files that have come further.
    pub(crate) files: Vec<Entry>,
}

/// The way to a program.
pub(crate) struct Channel {
    page: Shared,
    socket: UnixStream,
    text: u64,
    begun: Instant,
    /// Address in the program of the functions' addresses by number.
    pub(crate) functions: u64,
    /// Function names by number.
    pub(crate) names: Vec<String>,
    pub(crate) gone: Arc<AtomicBool>,
}

impl Channel {
    /// Greets a program, and has this thread look into it from now on.
    pub(crate) fn open(mut socket: UnixStream) -> io::Result<Self> {
        let process = socket_peercred(&socket)?.pid.as_raw_nonzero().get();
        foreign::look_into(process);
        socket.write_all(&std::process::id().to_ne_bytes())?;
        let mut bytes = [0; size_of::<Hello>()];
        socket.read_exact(&mut bytes)?;
        let word = |at: usize| u64::from_ne_bytes(bytes.as_chunks().0[at]);
        let (file, text, names, names_bytes, functions) = (word(0), word(1), word(2), word(3), word(4));
        let page = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/fd/{file}"))?;
        // A file that became shorter would take the page away.
        fcntl_add_seals(&page, SealFlags::SHRINK)?;
        if page.metadata()?.len() != size_of::<Page>() as u64 || names_bytes > MOST_NAMES {
            return Err(io::Error::other("a program with another page"));
        }
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: pages of a file at an address that nobody has.
        let mapped =
            unsafe { mmap(std::ptr::null_mut(), size_of::<Page>(), rights, MapFlags::SHARED, &page, 0)? };
        let page = Shared(NonNull::new(mapped.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?);
        let alone =
            std::thread::available_parallelism().is_ok_and(|processors| processors == NonZero::<usize>::MIN);
        let first = if alone { 0 } else { PATIENCE[0] };
        page.get().patience.iter().for_each(|patience| patience.store(first, Relaxed));
        let names = foreign::read(names, names_bytes)
            .map_err(|_| io::Error::other("the memory of the program cannot be read"))?;
        let names = String::from_utf8_lossy(&names).lines().map(str::to_owned).collect();
        let gone = Arc::new(AtomicBool::new(false));
        watch(socket.try_clone()?, Arc::clone(&gone));
        socket.write_all(&[0])?;
        Ok(Channel { page, socket, text, begun: Instant::now(), functions, names, gone })
    }

    /// Waits until the page is ours; false if the program has gone.
    fn wait(&self) -> bool {
        let now = || self.begun.elapsed().as_nanos() as u64;
        self.page.get().wait(SERVER, now, || (&self.socket).read_exact(&mut [0]).is_ok())
    }

    /// Whether the program has called, or has gone.
    pub(crate) fn has_call(&self) -> bool {
        self.page.get().is_at(SERVER) || self.gone.load(SeqCst)
    }

    /// The next call; none if the program has gone.
    pub(crate) fn next(&self) -> Option<Call> {
        if !self.wait() {
            return None;
        }
        let page = self.page.get();
        let files = page.files.iter().take(page.notes.load(Relaxed) as usize).map(|note| {
            let path = foreign::text(std::ptr::without_provenance(note.path.load(Relaxed) as usize));
            let (from, to) = (note.from.load(Relaxed), note.to.load(Relaxed));
            match note.written.load(Relaxed) {
                0 => Entry::Read { path, from, to },
                _ => Entry::Wrote { path, from, to },
            }
        });
        Some(Call {
            function: page.function.load(Relaxed),
            thread: page.thread.load(Relaxed),
            thread_pointer: page.thread_pointer.load(Relaxed),
            work: page.work.load(Relaxed),
            words: std::array::from_fn(|index| page.words[index].load(Relaxed)),
            floats: std::array::from_fn(|index| page.floats[index].load(Relaxed)),
            files: files.collect(),
        })
    }

    /// Answers a call, or asks the program for something.
    pub(crate) fn answer(&self, kind: u32, words: &[u64]) {
        let page = self.page.get();
        page.kind.store(kind, Relaxed);
        page.words.iter().zip(words).for_each(|(place, word)| place.store(*word, Relaxed));
        // If the write fails, the program has gone, which the next wait detects.
        page.give(PROGRAM, || drop((&self.socket).write_all(&[0])));
    }

    /// Asks the program for something in the middle of a call; none if it has gone.
    fn ask(&self, kind: u32, words: &[u64], text: &[u8]) -> Option<u64> {
        foreign::write(self.text, text).ok()?;
        self.answer(kind, words);
        self.wait().then(|| self.page.get().words[0].load(Relaxed))
    }

    /// Prints through the program's own buffer, so that its output and that of its kernels have their order.
    pub(crate) fn print(&self, text: &str) {
        for part in text.as_bytes().chunks(TEXT_BYTES) {
            if self.ask(PRINT, &[part.len() as u64], part).is_none() {
                return;
            }
        }
    }

    /// Addresses at which the program has room for names and texts of errors.
    pub(crate) fn errors(&self) -> Range<u64> {
        let start = self.text + TEXT_BYTES as u64;
        start..start + ERROR_BYTES as u64
    }

    /// Has the program have pages of a file of ours at an address, and in the place of those at another one; false if it cannot.
    pub(crate) fn map(&self, start: u64, length: u64, beside: Option<u64>, file: i32) -> bool {
        let path = format!("/proc/{}/fd/{file}\0", std::process::id());
        self.ask(MAP, &[start, length, beside.unwrap_or(0)], path.as_bytes()) == Some(start)
    }

    /// Has it give them back.
    pub(crate) fn unmap(&self, start: u64, length: u64) -> bool {
        self.ask(UNMAP, &[start, length], &[]) == Some(0)
    }
}

impl Call {
    /// Whether it only tells of files.
    pub(crate) fn is_of_files(&self) -> bool {
        self.function == FILES
    }
}

/// Notes when a program goes: a kernel that runs for it then is of no use.
fn watch(socket: UnixStream, gone: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        while poll(&mut [PollFd::new(&socket, PollFlags::RDHUP)], None) == Err(rustix::io::Errno::INTR) {}
        gone.store(true, SeqCst);
    });
}
