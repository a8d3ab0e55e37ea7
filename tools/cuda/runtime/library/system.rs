//! Declarations of the C library's functions.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::AtomicUsize;

use crate::files::next;

#[repr(C)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
}

impl Time {
    /// A time in nanoseconds.
    pub(crate) fn of(nanoseconds: u64) -> Self {
        const SECOND: u64 = 1_000_000_000;
        Time { seconds: (nanoseconds / SECOND) as i64, nanoseconds: (nanoseconds % SECOND) as i64 }
    }
}

/// The address of a Unix socket.
#[repr(C)]
pub(crate) struct Address {
    pub(crate) family: u16,
    pub(crate) name: [u8; 108],
}

/// Result of `dladdr`.
#[repr(C)]
pub(crate) struct Found {
    pub(crate) file: *const c_char,
    pub(crate) more: [*const c_void; 3],
}

/// Result of `statx`, by its offsets.
#[repr(C, align(8))]
pub(crate) struct Status(pub(crate) [u64; 32]);

/// A mutex of threads, which is all zeros at first. It has room for that of any architecture.
#[repr(C, align(8))]
pub(crate) struct Mutex(pub(crate) [u64; 8]);

#[link(name = "c")]
unsafe extern "C" {
    pub(crate) static stdout: *mut c_void;
    pub(crate) fn __errno_location() -> *mut c_int;
    pub(crate) fn abort() -> !;
    pub(crate) fn access(path: *const c_char, how: c_int) -> c_int;
    pub(crate) fn connect(socket: c_int, address: *const Address, bytes: u32) -> c_int;
    pub(crate) fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
    pub(crate) fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    pub(crate) fn dup2(from: c_int, to: c_int) -> c_int;
    pub(crate) fn fcntl(file: c_int, command: c_int, ...) -> c_int;
    pub(crate) fn fileno(file: *mut c_void) -> c_int;
    pub(crate) fn execv(program: *const c_char, words: *const *const c_char) -> c_int;
    pub(crate) fn _exit(status: c_int) -> !;
    pub(crate) fn fflush(file: *mut c_void) -> c_int;
    pub(crate) fn fork() -> c_int;
    pub(crate) fn free(place: *mut c_void);
    pub(crate) fn ftello(file: *mut c_void) -> i64;
    pub(crate) fn ftruncate(file: c_int, bytes: i64) -> c_int;
    pub(crate) fn fwrite(bytes: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize;
    pub(crate) fn getenv(name: *const c_char) -> *const c_char;
    pub(crate) fn getpid() -> c_int;
    pub(crate) fn lseek(file: c_int, offset: i64, from: c_int) -> i64;
    pub(crate) fn memfd_create(name: *const c_char, flags: u32) -> c_int;
    pub(crate) fn mmap(
        address: *mut c_void,
        bytes: usize,
        rights: c_int,
        flags: c_int,
        file: c_int,
        offset: i64,
    ) -> *mut c_void;
    pub(crate) fn munmap(address: *mut c_void, bytes: usize) -> c_int;
    pub(crate) fn nanosleep(time: *const Time, left: *mut Time) -> c_int;
    pub(crate) fn openat(folder: c_int, path: *const c_char, flags: c_int, ...) -> c_int;
    pub(crate) fn prctl(option: c_int, ...) -> c_int;
    pub(crate) fn pthread_atfork(
        before: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
    pub(crate) fn pthread_mutex_lock(mutex: *mut Mutex) -> c_int;
    pub(crate) fn pthread_mutex_timedlock(mutex: *mut Mutex, end: *const Time) -> c_int;
    pub(crate) fn pthread_mutex_unlock(mutex: *mut Mutex) -> c_int;
    pub(crate) fn pthread_self() -> u64;
    pub(crate) fn realpath(path: *const c_char, whole: *mut c_char) -> *mut c_char;
    pub(crate) fn recv(socket: c_int, bytes: *mut c_void, count: usize, flags: c_int) -> isize;
    pub(crate) fn send(socket: c_int, bytes: *const c_void, count: usize, flags: c_int) -> isize;
    pub(crate) fn setsid() -> c_int;
    pub(crate) fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int;
    pub(crate) fn socketpair(family: c_int, kind: c_int, protocol: c_int, both: *mut c_int) -> c_int;
    pub(crate) fn statx(
        folder: c_int,
        path: *const c_char,
        flags: c_int,
        wanted: u32,
        status: *mut Status,
    ) -> c_int;
    pub(crate) fn strdup(text: *const c_char) -> *mut c_char;
    pub(crate) fn syscall(number: c_long, ...) -> c_long;
    pub(crate) fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub(crate) fn write(file: c_int, bytes: *const c_void, count: usize) -> isize;
}

/// Numbers of system calls: those whose functions this library replaces, or are not in every C library.
#[cfg(target_arch = "x86_64")]
const CLOSE_AND_THREAD: [c_long; 2] = [3, 186];
#[cfg(target_arch = "aarch64")]
const CLOSE_AND_THREAD: [c_long; 2] = [57, 178];

/// The number of the system call that closes a range of descriptors, on every architecture.
const CLOSE_RANGE: c_long = 436;
/// The lowest numbers that the library's own descriptor may have, the best first: programs choose low ones for themselves.
const HIGH: [c_int; 3] = [900, 200, 50];
/// `fcntl`'s word for another descriptor of the same file, which programs that this one starts do not have.
const DUPLICATE: c_int = 1030;

/// Moves a file to a descriptor in a range that programs do not use, and closes the old one; returns the old
/// descriptor if the range is full.
pub(crate) fn out_of_the_way(file: c_int) -> c_int {
    for lowest in HIGH {
        // SAFETY: it takes numbers.
        let other = unsafe { fcntl(file, DUPLICATE, lowest) };
        if other >= 0 {
            close_own(file);
            return other;
        }
    }
    file
}

/// Closes the descriptors of a range, both ends included.
pub(crate) fn close_range_own(first: u32, last: u32, flags: c_int) -> c_int {
    // SAFETY: it takes numbers.
    (unsafe { syscall(CLOSE_RANGE, first, last, flags) }) as c_int
}

/// Closes a file of the library's own.
pub(crate) fn close_own(file: c_int) {
    // SAFETY: it takes a number, and nobody else has this one.
    unsafe { syscall(CLOSE_AND_THREAD[0], file) };
}

/// The calling thread, as the system counts.
pub(crate) fn thread() -> u32 {
    // SAFETY: it takes nothing.
    (unsafe { syscall(CLOSE_AND_THREAD[1]) }) as u32
}

pub(crate) fn process() -> u32 {
    // SAFETY: it takes nothing.
    (unsafe { getpid() }) as u32
}

/// Clocks: the time of day, one that only goes forward, and the processor time of the process.
pub(crate) const CALENDAR: c_int = 0;
pub(crate) const STEADY: c_int = 1;
pub(crate) const PROCESSOR: c_int = 2;

/// A clock of the computer, in nanoseconds, whatever the program's clocks are.
pub(crate) fn now(clock: c_int) -> u64 {
    static NEXT_ONE: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(c_int, *mut Time) -> c_int;
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: the C library's function of this name has these arguments, and fills `time`, which is valid.
    unsafe {
        let next = core::mem::transmute::<*mut c_void, Function>(next(&NEXT_ONE, c"clock_gettime"));
        next(clock, &mut time)
    };
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// Sleeps for less than a second.
pub(crate) fn pause(nanoseconds: i64) {
    let time = Time { seconds: 0, nanoseconds };
    // SAFETY: a time, and nowhere to put what is left of it.
    unsafe { nanosleep(&time, core::ptr::null_mut()) };
}

/// Prints a line for the user, beside what the program prints.
pub(crate) fn say(line: &str) {
    // SAFETY: bytes of a text.
    unsafe { write(2, line.as_ptr().cast(), line.len()) };
}
