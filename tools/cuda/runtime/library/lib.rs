//! The library that CUDA programs load in place of CUDA's runtime. The library computes nothing itself: each function sends its argument
//! words to the server of `counterpoint cuda` and executes the answer.
//!
//! Every function has the same body, which passes on the largest number of argument words of any function, from registers and from the
//! stack. The list of functions is made by the build script of `tools/cuda/launch`, which compiles this file with `rustc` alone: it needs
//! nothing but the C library.
#![no_std]

mod clock;
mod dynamic;
mod files;
mod nvrtc;
#[path = "../src/page.rs"]
mod page;
mod server;
mod system;

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute;
use core::ptr::with_exposed_provenance_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64};

use page::{
    AGAIN, CALL, DONE, ERROR_BYTES, FILES, FLOATS, MAP, PRINT, PROGRAM, Page, RETURNED, SERVER, TEXT_BYTES,
    UNMAP, WORDS,
};
use system::{
    CALENDAR, Mutex, PROCESSOR, STEADY, Time, close_own, fflush, fwrite, mmap, munmap, now, openat,
    out_of_the_way, pause, process, pthread_mutex_lock, pthread_mutex_timedlock, pthread_mutex_unlock,
    pthread_self, say, stdout, thread,
};

/// CUDA's error for a call that reaches no device, and its name and text.
const NO_DEVICE: u64 = 3;
const NO_DEVICE_NAME: &CStr = c"cudaErrorInitializationError";
const NO_DEVICE_TEXT: &CStr = c"initialization error";

/// Nanoseconds that the end of the program waits for another thread's call.
const PATIENCE_AT_END: u64 = 100_000_000;

/// Nanoseconds until a call is made again.
const AGAIN_NANOSECONDS: i64 = 100_000;

/// Rights and flags of pages: read and write; those of a file, at this address or nowhere.
const READ_WRITE: c_int = 1 | 2;
const SHARED: c_int = 1;
const SHARED_HERE: c_int = SHARED | 0x10_0000;
const SHARED_OVER: c_int = SHARED | 0x10;
/// Flags of a file: read and write; not for programs that this one starts.
const OPEN_OWN: c_int = 2 | 0x8_0000;

/// Memory behind [`LOCK`].
#[repr(transparent)]
struct Locked<T>(UnsafeCell<T>);

// SAFETY: who has the lock alone touches it.
unsafe impl<T> Sync for Locked<T> {}

static LOCK: Locked<Mutex> = Locked(UnsafeCell::new(Mutex([0; 8])));
/// Texts of the server: kernel output and file names, and behind these the names and texts of errors.
static TEXT: Locked<[u8; TEXT_BYTES + ERROR_BYTES]> = Locked(UnsafeCell::new([0; TEXT_BYTES + ERROR_BYTES]));

/// Whether there is a server: not yet, or no more.
const UNKNOWN: u32 = 0;
const THERE: u32 = 1;
const GONE: u32 = 2;
static STATE: AtomicU32 = AtomicU32::new(UNKNOWN);
/// The process that has connected: one that it forks off has no device.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static SOCKET: AtomicI32 = AtomicI32::new(-1);
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());
/// Processor time when the last call ended.
static LEFT: AtomicU64 = AtomicU64::new(0);

/// A function of the library.
#[rustfmt::skip]
type Entry = extern "C" fn(
    u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, f64, f64,
) -> u64;

/// The functions of CUDA's runtime, of its driver and of libraries above these, and their names by number: those of the server, and those that
/// it refuses, whose words nobody needs. Behind them are the one that a program calls when it ends, and the one that gives the machine's time.
macro_rules! functions {
    ($($number:literal $name:ident)* refused $($refused_number:literal $refused:ident)* end $end:literal clock $clock:literal) => {
        const END: u32 = $end;
        const CLOCK: u32 = $clock;
        static NAMES: &str = concat!($(stringify!($name), "\n",)* $(stringify!($refused), "\n"),*);
        static ADDRESSES: &[Entry] = &[$($name,)* $($refused),*];
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the name is CUDA's")]
            #[allow(clippy::too_many_arguments, reason = "as many words as any of them has")]
            extern "C" fn $name(
                a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64, k: u64, l: u64, m: u64,
                n: u64, o: u64, p: u64, q: u64, r: u64, s: u64, t: u64, u: u64, v: u64, w: u64, x: u64, y: f64, z: f64,
            ) -> u64 {
                let words = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x];
                call($number, &words, [y, z])
            }
        )*
        $(
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "the name is CUDA's")]
            #[allow(clippy::too_many_arguments, reason = "as many words as any of them has")]
            extern "C" fn $refused(
                _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64,
                _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: u64, _: f64, _: f64,
            ) -> u64 {
                refuse($refused_number)
            }
        )*
    };
}

include!(env!("COUNTERPOINT_CUDA_FUNCTIONS"));

/// Bits of each channel, and the kind of their numbers.
#[repr(C)]
struct Channels([c_int; 5]);

/// A description of channels: too large for the word that other functions have as their result.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is CUDA's")]
extern "C" fn cudaCreateChannelDesc(x: c_int, y: c_int, z: c_int, w: c_int, kind: c_int) -> Channels {
    Channels([x, y, z, w, kind])
}

/// The program ends, though it has registered no code whose end would tell.
extern "C" fn leave() {
    if STATE.load(Relaxed) == THERE && !is_forked() {
        call(END, &[0; WORDS], [0.0; FLOATS]);
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = leave;

fn lock() {
    // SAFETY: it is all zeros before, as a mutex begins.
    unsafe { pthread_mutex_lock(LOCK.0.get()) };
}

/// Takes the lock, but gives up after a time limit: another thread may wait for a kernel, which ends only with the program.
fn lock_soon() -> bool {
    let end = now(CALENDAR) + PATIENCE_AT_END;
    let end = Time { seconds: (end / 1_000_000_000) as i64, nanoseconds: (end % 1_000_000_000) as i64 };
    // SAFETY: as above.
    unsafe { pthread_mutex_timedlock(LOCK.0.get(), &end) == 0 }
}

fn unlock() {
    // SAFETY: this thread has locked it.
    unsafe { pthread_mutex_unlock(LOCK.0.get()) };
}

/// Whether a parent of this process has connected, and it has not.
fn is_forked() -> bool {
    let connected = PROCESS.load(Relaxed);
    connected != 0 && connected != process()
}

fn is_own(file: c_int) -> bool {
    file >= 0 && own() == Some(file)
}

/// The library's own descriptor, if this process has it.
fn own() -> Option<c_int> {
    let socket = SOCKET.load(Relaxed);
    (socket >= 0 && !is_forked()).then_some(socket)
}

/// The program takes a number for a descriptor of its own: the library's, if it has this one, moves away. The lock is nobody's.
fn give_way(file: c_int) {
    if is_own(file) {
        lock();
        SOCKET.store(out_of_the_way(file), Relaxed);
        unlock();
    }
}

/// A call of CUDA. The server alone knows how many of the words mean something.
fn call(number: u32, words: &[u64; WORDS], floats: [f64; FLOATS]) -> u64 {
    if is_forked() {
        static SAID: AtomicU32 = AtomicU32::new(0);
        if SAID.swap(1, Relaxed) == 0 {
            say(
                "counterpoint: a process that the program has forked off cannot use the device of its parent\n",
            );
        }
        return without(number);
    }
    if number != END {
        lock();
    } else if !lock_soon() {
        return 0;
    }
    let result = connected().and_then(|page| {
        files::note_all(page);
        page.floats.iter().zip(floats).for_each(|(place, float)| place.store(float.to_bits(), Relaxed));
        talk(page, number, words)
    });
    unlock();
    result.unwrap_or_else(|| without(number))
}

#[inline(never)]
fn refuse(number: u32) -> u64 {
    call(number, &[0; WORDS], [0.0; FLOATS])
}

/// The result of a call that reaches no server.
fn without(number: u32) -> u64 {
    match NAMES.split('\n').nth(number as usize) {
        Some("cudaGetErrorName" | "cublasGetStatusName" | "cusparseGetErrorName") => {
            NO_DEVICE_NAME.as_ptr().expose_provenance() as u64
        }
        Some(
            "cudaGetErrorString"
            | "cublasGetStatusString"
            | "nvmlErrorString"
            | "cusparseGetErrorString"
            | "cudnnGetErrorString",
        ) => NO_DEVICE_TEXT.as_ptr().expose_provenance() as u64,
        // The managed variables are not there.
        Some("__cudaInitModule") => 0,
        _ => NO_DEVICE,
    }
}

/// The page, if there is a server. The lock is this thread's.
fn connected() -> Option<&'static Page> {
    if STATE.load(Relaxed) == UNKNOWN {
        let found = server::connect();
        PROCESS.store(process(), Relaxed);
        if let Some((socket, page)) = found {
            SOCKET.store(out_of_the_way(socket), Relaxed);
            PAGE.store(page, Release);
            LEFT.store(now(PROCESSOR), Relaxed);
        }
        STATE.store(if found.is_some() { THERE } else { GONE }, Relaxed);
    }
    // SAFETY: it is mapped once and stays.
    (STATE.load(Relaxed) == THERE).then(|| unsafe { &*PAGE.load(Acquire) })
}

/// Tells the server of files, if there is one.
fn with_page(note: impl FnOnce(&Page)) {
    if STATE.load(Relaxed) != THERE || is_forked() {
        return;
    }
    lock();
    if let Some(page) = connected() {
        note(page);
        if page.notes.load(Relaxed) > 0 {
            talk(page, FILES, &[0; WORDS]);
        }
    }
    unlock();
}

/// Sends a call, and does what the server wants until it has the result. The lock is this thread's.
fn talk(page: &Page, number: u32, words: &[u64; WORDS]) -> Option<u64> {
    let socket = SOCKET.load(Relaxed);
    let begin = |number| {
        page.work.store(now(PROCESSOR).saturating_sub(LEFT.load(Relaxed)), Relaxed);
        page.function.store(number, Relaxed);
        page.thread.store(thread(), Relaxed);
        // SAFETY: it takes nothing.
        page.thread_pointer.store(unsafe { pthread_self() }, Relaxed);
    };
    begin(number);
    page.words.iter().zip(words).for_each(|(place, word)| place.store(*word, Relaxed));
    loop {
        page.give(SERVER, || server::wake(socket));
        if !page.wait(PROGRAM, || now(STEADY), || server::sleep(socket)) {
            say("counterpoint: the command has gone, and the program's device with it\n");
            STATE.store(GONE, Relaxed);
            return None;
        }
        page.notes.store(0, Relaxed);
        let word = |index: usize| page.words[index].load(Relaxed);
        let answer = match page.kind.load(Relaxed) {
            DONE => {
                LEFT.store(now(PROCESSOR), Relaxed);
                return Some(word(0));
            }
            CALL => {
                let function = word(0) as *const c_void;
                let arguments = [word(1), word(2), word(3)];
                LEFT.store(now(PROCESSOR), Relaxed);
                unlock();
                type Function = unsafe extern "C" fn(u64, u64, u64);
                // SAFETY: the program's function with the program's words.
                unsafe {
                    transmute::<*const c_void, Function>(function)(arguments[0], arguments[1], arguments[2])
                };
                lock();
                connected()?;
                begin(RETURNED);
                0
            }
            PRINT => {
                // SAFETY: the C library's own file, and bytes of the text, whose length the server knows.
                unsafe {
                    fwrite(TEXT.0.get().cast(), 1, (word(0) as usize).min(TEXT_BYTES), stdout);
                    fflush(stdout);
                }
                0
            }
            AGAIN => {
                LEFT.store(now(PROCESSOR), Relaxed);
                unlock();
                pause(AGAIN_NANOSECONDS);
                lock();
                connected()?;
                begin(number);
                page.words.iter().zip(words).for_each(|(place, word)| place.store(*word, Relaxed));
                words[0]
            }
            MAP => map(word(0), word(1) as usize, word(2)),
            UNMAP => {
                // SAFETY: pages that the server has asked for before.
                unsafe { munmap(with_exposed_provenance_mut(word(0) as usize), word(1) as usize) as u64 }
            }
            _ => u64::MAX,
        };
        page.words[0].store(answer, Relaxed);
    }
}

/// Has the process have pages of the file that the text names at an address, and in the place of those `beside`; the result is another address if it
/// has others there, or if its stack is beside.
fn map(address: u64, bytes: usize, beside: u64) -> u64 {
    let place = with_exposed_provenance_mut(address as usize);
    let old: *mut c_void = with_exposed_provenance_mut(beside as usize);
    if (&raw const old).addr().wrapping_sub(old.addr()) < bytes {
        return 0;
    }
    // SAFETY: the text ends with a zero; pages where nobody has any, or none. Pages beside get the bytes that they have.
    unsafe {
        let file = openat(-1, TEXT.0.get().cast(), OPEN_OWN);
        let mut mapped = mmap(place, bytes, READ_WRITE, SHARED_HERE, file, 0);
        if mapped.addr() as u64 != address && mapped.addr() != usize::MAX {
            munmap(mapped, bytes);
        } else if mapped == place && beside > 0 {
            mapped.copy_from_nonoverlapping(old, bytes);
            if mmap(old, bytes, READ_WRITE, SHARED_OVER, file, 0) != old {
                munmap(mapped, bytes);
                mapped = core::ptr::null_mut();
            }
        }
        close_own(file);
        mapped.addr() as u64
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: it ends the program.
    unsafe { system::abort() }
}
