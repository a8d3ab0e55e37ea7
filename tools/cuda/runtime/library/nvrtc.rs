//! NVIDIA's compiler at run time, where a program is linked with it: a program that asks it for machine code of an architecture is given PTX for that
//! architecture, which every function that takes an image understands.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{null, null_mut};

use crate::dynamic;
use crate::files::NEXT;
use crate::system::dlsym;

/// Options that a call may have for its architecture to be changed.
const MOST_OPTIONS: usize = 256;
/// Bytes of an option that names an architecture, at most.
const MOST_BYTES: usize = 64;

/// Beginnings of architectures of machine code, and of PTX.
const MACHINE: &[u8] = b"sm_";
const VIRTUAL: &[u8] = b"compute_";

/// Writes an option for PTX in place of machine code; false if it names no architecture of machine code.
fn for_ptx(option: &[u8], text: &mut [u8; MOST_BYTES]) -> bool {
    let start = match option.iter().position(|byte| *byte == b'=') {
        Some(equals) if option.starts_with(b"--gpu-architecture=") || option.starts_with(b"-arch=") => {
            equals + 1
        }
        Some(_) => return false,
        None => 0,
    };
    let Some(number) = option.get(start..).and_then(|rest| rest.strip_prefix(MACHINE)) else { return false };
    let parts = [&option[..start], VIRTUAL, number];
    // The last byte stays a zero.
    if parts.iter().map(|part| part.len()).sum::<usize>() >= MOST_BYTES {
        return false;
    }
    parts.into_iter().flatten().zip(text).for_each(|(byte, place)| *place = *byte);
    true
}

/// Names of the compiler's library, where it has been loaded for a part of the program alone.
const LIBRARIES: [&CStr; 3] = [c"libnvrtc.so.13", c"libnvrtc.so.12", c"libnvrtc.so.11.2"];
/// `dlopen`'s flags for a library that has been loaded already.
const LOADED: c_int = 1 | 4;
/// The compiler's error where there is none.
const INTERNAL_ERROR: c_int = 11;

/// The compiler's function of a name.
fn function(name: &CStr) -> *mut c_void {
    // SAFETY: texts that end with a zero.
    let found = unsafe { dlsym(NEXT, name.as_ptr()) };
    let in_library = |library: &&CStr| unsafe {
        let handle = dynamic::next()(library.as_ptr(), LOADED);
        if handle.is_null() { null_mut() } else { dlsym(handle, name.as_ptr()) }
    };
    let found = if found.is_null() {
        LIBRARIES.iter().map(in_library).find(|found| !found.is_null())
    } else {
        Some(found)
    };
    found.unwrap_or(null_mut())
}

/// Calls a function of the compiler that takes a program and a place.
fn get(name: &CStr, program: *mut c_void, place: *mut c_void) -> c_int {
    type Get = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
    match function(name) {
        found if found.is_null() => INTERNAL_ERROR,
        // SAFETY: the compiler's function of this name has these arguments.
        found => unsafe { core::mem::transmute::<*mut c_void, Get>(found)(program, place) },
    }
}

#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is NVIDIA's")]
unsafe extern "C" fn nvrtcCompileProgram(
    program: *mut c_void,
    count: c_int,
    options: *const *const c_char,
) -> c_int {
    type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
    let found = function(c"nvrtcCompileProgram");
    if found.is_null() {
        return INTERNAL_ERROR;
    }
    // SAFETY: the compiler's function of this name has these arguments.
    let compile = unsafe { core::mem::transmute::<*mut c_void, Compile>(found) };
    let (mut changed, mut text) = ([null(); MOST_OPTIONS], [0; MOST_BYTES]);
    let mut given = options;
    if let Some(places) = changed.get_mut(..count.max(0) as usize) {
        let mut is_changed = false;
        for (index, place) in places.iter_mut().enumerate() {
            // SAFETY: the program gives as many texts as it says, each of which ends with a zero.
            let option = unsafe {
                *place = *options.add(index);
                CStr::from_ptr(*place)
            };
            if !is_changed && for_ptx(option.to_bytes(), &mut text) {
                *place = text.as_ptr().cast();
                is_changed = true;
            }
        }
        given = changed.as_ptr();
    }
    // SAFETY: the program's own words, and texts that outlive the call.
    unsafe { compile(program, count, given) }
}

#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is NVIDIA's")]
unsafe extern "C" fn nvrtcGetCUBINSize(program: *mut c_void, bytes: *mut c_void) -> c_int {
    get(c"nvrtcGetPTXSize", program, bytes)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is NVIDIA's")]
unsafe extern "C" fn nvrtcGetCUBIN(program: *mut c_void, code: *mut c_void) -> c_int {
    get(c"nvrtcGetPTX", program, code)
}
