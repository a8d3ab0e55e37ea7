//! Calls that compilers put in front of `main`: code, kernels and variables of the program.

use std::ffi::{c_char, c_int, c_void};

use crate::errors::Error;
use crate::fatbin::{self, Contents};
use crate::foreign::{get, read, text};
use crate::modules::{Function, Variable};
use crate::shared::Managed;
use crate::state::{State, register};

/// The first word of a wrapper, and the version of one whose fat binaries are to be linked with each other.
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
const LINKED: u32 = 2;

/// A compiler's description of a fat binary.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wrapper {
    magic: u32,
    version: u32,
    data: *const u8,
    binaries: *const *const u8,
}

/// Handles are numbers of binaries, counted from 1: nobody but this library looks at them.
fn handle(number: usize) -> *mut *mut c_void {
    std::ptr::without_provenance_mut(number + 1)
}

fn number(handle: *mut *mut c_void) -> usize {
    handle.addr().wrapping_sub(1)
}

/// The contents of a fat binary in the program's memory.
///
/// # Safety
/// The pointer is one that a compiler has made.
unsafe fn contents(data: *const u8) -> Result<Contents, String> {
    // SAFETY: every fat binary has a header, which says how long it is.
    let all = unsafe {
        let header = read(data as u64, fatbin::HEADER_BYTES as u64)
            .map_err(|_| "there is no fat binary".to_owned())?;
        let bytes = fatbin::length(header).map_err(|error| error.to_string())?;
        read(data as u64, bytes as u64).map_err(|_| "there is no fat binary".to_owned())?
    };
    fatbin::contents(all).map_err(|error| error.to_string())
}

/// The contents of all fat binaries of a wrapper.
///
/// # Safety
/// As [`contents`].
unsafe fn wrapped(wrapper: *const c_void) -> Result<Vec<Contents>, String> {
    // SAFETY: compilers make the wrapper and what it points to.
    unsafe {
        let Wrapper { magic, version, data, binaries } =
            get(wrapper.cast::<Wrapper>()).map_err(|_| "there is no fat binary".to_owned())?;
        if magic != WRAPPER_MAGIC {
            return Err(format!("the code is wrapped in an unknown way, {magic:#x}"));
        }
        if version != LINKED {
            return Ok(vec![contents(data)?]);
        }
        let mut all = Vec::new();
        for index in 0.. {
            let data =
                get(binaries.wrapping_add(index)).map_err(|_| "there are no fat binaries".to_owned())?;
            if data.is_null() {
                break;
            }
            all.push(contents(data)?);
        }
        Ok(all)
    }
}

/// Takes a fat binary in.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFatBinary(wrapper: *mut c_void) -> *mut *mut c_void {
    register(std::ptr::null_mut(), |state| {
        // SAFETY: compilers call this with what they made.
        let contents = unsafe { wrapped(wrapper) }.map_err(|message| state.say_once(&message)).ok();
        handle(state.modules.register(contents))
    })
}

/// All of a fat binary has been registered.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut *mut c_void) {}

/// The program ends.
#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(_handle: *mut *mut c_void) {
    register((), State::end);
}

/// The program is about to use managed variables of a fat binary.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(handle: *mut *mut c_void) -> c_char {
    let given = crate::state::call("__cudaInitModule", |state| {
        state.give_managed(number(handle)).inspect_err(|_| {
            state.say_once(
                "`__managed__` variables of the program have no place in its memory: it cannot use them",
            );
        })
    });
    c_char::from(given == Error::SUCCESS.0)
}

/// Notes a kernel.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut *mut c_void,
    stub: *const c_void,
    _device_stub: *mut c_char,
    name: *const c_char,
    _threads: c_int,
) {
    register((), |state| {
        // SAFETY: compilers give a name.
        let name = unsafe { text(name) };
        state.modules.register_function(stub.addr(), Function { binary: number(handle), name });
    });
}

/// Notes a variable.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterVar(
    handle: *mut *mut c_void,
    host: *mut c_char,
    _device: *mut c_char,
    name: *const c_char,
    _is_extern: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    register((), |state| {
        // SAFETY: compilers give a name.
        let name = unsafe { text(name) };
        state.modules.register_variable(host.addr(), Variable { binary: number(handle), name });
    });
}

/// Notes a variable that host and device share. The program has its address when it asks for those of its module.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterManagedVar(
    handle: *mut *mut c_void,
    host: *mut *mut c_void,
    _device: *mut c_char,
    name: *const c_char,
    _is_extern: c_int,
    _bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    register((), |state| {
        // SAFETY: compilers give a name.
        let name = unsafe { text(name) };
        state.shared.register(Managed {
            binary: number(handle),
            name,
            host: host.expose_provenance() as u64,
        });
    });
}

/// A variable of the host that device code sees is not supported.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterHostVar() -> i32 {
    crate::state::call("__cudaRegisterHostVar", |state| -> Result<(), Error> {
        Err(state.refuse("__cudaRegisterHostVar", "variables of the host that kernels see are not supported"))
    })
}
