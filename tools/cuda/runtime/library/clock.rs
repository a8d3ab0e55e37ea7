//! The program's clocks by the machine's time, where `counterpoint cuda --program-clock` wants it: a clock has the time of day at which it was read first,
//! plus the time that has passed on the machine. Before the first call of CUDA it stands still. Clocks of processor time stay as they are.

use core::ffi::{c_int, c_long, c_void};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use crate::files::before;
use crate::system::{Time, getenv, now};
use crate::{STATE, THERE, WORDS, is_forked};

/// Clocks of time that passes, by their numbers: calendar, steady, steady without corrections, both by ticks, and since the computer began.
const OF_TIME: [c_int; 6] = [0, 1, 4, 5, 6, 7];

/// Whether the program's clocks are the machine's: not known, no, yes.
static WANTED: AtomicU32 = AtomicU32::new(0);

fn is_wanted() -> bool {
    match WANTED.load(Relaxed) {
        0 => {
            // SAFETY: a text that ends with a zero.
            let wanted = !unsafe { getenv(c"COUNTERPOINT_CUDA_CLOCK".as_ptr()) }.is_null();
            WANTED.store(1 + u32::from(wanted), Relaxed);
            wanted
        }
        known => known == 2,
    }
}

/// Nanoseconds of a clock, if it is the machine's.
fn of_machine(clock: c_int) -> Option<u64> {
    static FIRST: [AtomicU64; OF_TIME.len()] = [const { AtomicU64::new(0) }; OF_TIME.len()];
    if !is_wanted() || is_forked() {
        return None;
    }
    let place = OF_TIME.iter().position(|known| *known == clock)?;
    let first = match FIRST[place].load(Relaxed) {
        0 => {
            let first = now(clock);
            FIRST[place].store(first, Relaxed);
            first
        }
        known => known,
    };
    let passed = match STATE.load(Relaxed) == THERE {
        true => crate::call(crate::CLOCK, &[0; WORDS], [0.0; crate::FLOATS]),
        false => 0,
    };
    Some(first + passed)
}

/// Seconds and microseconds.
#[repr(C)]
struct TimeOfDay {
    seconds: i64,
    microseconds: i64,
}

before! {
    clock_gettime(clock: c_int, time: *mut Time) -> c_int |next| {
        match of_machine(clock) {
            Some(now) if !time.is_null() => {
                // SAFETY: the program's place for a time.
                unsafe { *time = Time::of(now) };
                0
            }
            _ => next(),
        }
    }

    gettimeofday(time: *mut TimeOfDay, _zone: *mut c_void) -> c_int |next| {
        match of_machine(OF_TIME[0]) {
            Some(now) if !time.is_null() => {
                let Time { seconds, nanoseconds } = Time::of(now);
                // SAFETY: the program's place for a time.
                unsafe { *time = TimeOfDay { seconds, microseconds: nanoseconds / 1_000 } };
                0
            }
            _ => next(),
        }
    }

    time(place: *mut c_long) -> c_long |next| {
        match of_machine(OF_TIME[0]) {
            Some(now) => {
                let seconds = Time::of(now).seconds;
                if !place.is_null() {
                    // SAFETY: the program's place for a time.
                    unsafe { *place = seconds };
                }
                seconds
            }
            None => next(),
        }
    }

    timespec_get(time: *mut Time, base: c_int) -> c_int |next| {
        match of_machine(OF_TIME[0]) {
            Some(now) if !time.is_null() && base == 1 => {
                // SAFETY: the program's place for a time.
                unsafe { *time = Time::of(now) };
                base
            }
            _ => next(),
        }
    }
}
