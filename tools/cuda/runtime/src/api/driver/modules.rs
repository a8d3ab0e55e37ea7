//! Modules and libraries of the driver: code that is put on the device, its kernels and its variables. A library is a module that belongs to no
//! context; both are on the device from their load on.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::super::entries;
use super::images::{Options, file, image};
use crate::errors::{Error, Result};
use crate::foreign::{get, put, text};
use crate::made::contexts::{LIBRARIES, MODULES, Owned, number};
use crate::modules::Placed;
use crate::state::State;

const NO_OPTIONS: Options = Options { count: 0, keys: std::ptr::null(), values: std::ptr::null_mut() };

impl State {
    /// Takes a module from the device.
    pub(super) fn unload(&mut self, binary: usize) -> Result {
        if !self.modules.unload(binary, &mut self.device) {
            return Err(Error::INVALID_RESOURCE_HANDLE);
        }
        Ok(())
    }

    fn module_number(&self, handle: u64, kind: u64) -> Result<usize> {
        let binary = number(handle, kind)?;
        self.modules.module(binary).map(|_| binary).ok_or(Error::INVALID_RESOURCE_HANDLE)
    }

    fn put_module(&mut self, place: *mut u64, binary: Result<usize>) -> Result {
        let binary = binary?;
        self.own(Owned::Module(binary));
        put(place, MODULES + binary as u64)
    }

    /// The handle of a kernel, each time the same.
    fn put_kernel(&mut self, place: *mut u64, binary: usize, name: &str) -> Result {
        let handle = self.modules.handle(binary, name).ok_or(Error::NOT_FOUND)?;
        put(place, handle)
    }

    fn put_variable(&self, (address, bytes): (*mut u64, *mut usize), binary: usize, name: &str) -> Result {
        let module = self.modules.module(binary).ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        let placed = module.variable(name).ok_or(Error::NOT_FOUND)?;
        let Placed { address: found, bytes: size } = placed;
        if !address.is_null() {
            put(address, found)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, size as usize) }
    }

    fn put_kernels(&mut self, place: *mut u64, count: c_uint, binary: usize) -> Result {
        let names = self.modules.module(binary).map(|module| module.names()).unwrap_or_default();
        for (index, name) in names.iter().take(count as usize).enumerate() {
            self.put_kernel(place.wrapping_add(index), binary, name)?;
        }
        Ok(())
    }

    fn put_count(&self, place: *mut c_uint, binary: usize) -> Result {
        let module = self.modules.module(binary).ok_or(Error::INVALID_RESOURCE_HANDLE)?;
        put(place, module.names().len() as c_uint)
    }
}

/// Options of a library have no effect here: which kernels it shares with others, and whether its code stays where it is.
const LIBRARY_OPTIONS: std::ops::RangeInclusive<c_int> = 0..=1;

fn check_library_options(keys: *const c_int, count: c_uint) -> Result {
    for index in 0..count as usize {
        if !LIBRARY_OPTIONS.contains(&get(keys.wrapping_add(index))?) {
            return Err(Error::INVALID_VALUE);
        }
    }
    Ok(())
}

entries! {
    fn cuModuleLoad(module: *mut u64, path: *const c_char) |state| {
        let binary = state.load_image(file(&text(path)), NO_OPTIONS);
        state.put_module(module, binary)
    }

    fn cuModuleLoadData(module: *mut u64, place: *const c_void) |state| {
        let binary = state.load_image(image(place, None), NO_OPTIONS);
        state.put_module(module, binary)
    }

    fn cuModuleLoadDataEx(
        module: *mut u64, place: *const c_void, count: c_uint, keys: *const c_int, values: *mut u64,
    ) |state| {
        let binary = state.load_image(image(place, None), Options { count, keys, values });
        state.put_module(module, binary)
    }

    fn cuModuleLoadFatBinary(module: *mut u64, place: *const c_void) |state| {
        let binary = state.load_image(image(place, None), NO_OPTIONS);
        state.put_module(module, binary)
    }

    fn cuModuleUnload(module: u64) |state| {
        let binary = state.module_number(module, MODULES)?;
        state.unload(binary)
    }

    fn cuModuleGetFunction(function: *mut u64, module: u64, name: *const c_char) |state| {
        let binary = state.module_number(module, MODULES)?;
        state.put_kernel(function, binary, &text(name))
    }

    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: u64, name: *const c_char) |state| {
        let binary = state.module_number(module, MODULES)?;
        state.put_variable((address, bytes), binary, &text(name))
    }

    fn cuModuleGetFunctionCount(count: *mut c_uint, module: u64) |state| {
        let binary = state.module_number(module, MODULES)?;
        state.put_count(count, binary)
    }

    fn cuModuleEnumerateFunctions(functions: *mut u64, count: c_uint, module: u64) |state| {
        let binary = state.module_number(module, MODULES)?;
        state.put_kernels(functions, count, binary)
    }

    fn cuLibraryLoadData(
        library: *mut u64, code: *const c_void, keys: *const c_int, values: *mut u64, count: c_uint,
        library_keys: *const c_int, _library_values: *mut u64, library_count: c_uint,
    ) => Device |state| {
        check_library_options(library_keys, library_count)?;
        let binary = state.load_image(image(code, None), Options { count, keys, values })?;
        put(library, LIBRARIES + binary as u64)
    }

    fn cuLibraryLoadFromFile(
        library: *mut u64, path: *const c_char, keys: *const c_int, values: *mut u64, count: c_uint,
        library_keys: *const c_int, _library_values: *mut u64, library_count: c_uint,
    ) => Device |state| {
        check_library_options(library_keys, library_count)?;
        let binary = state.load_image(file(&text(path)), Options { count, keys, values })?;
        put(library, LIBRARIES + binary as u64)
    }

    fn cuLibraryUnload(library: u64) => Device |state| {
        let binary = state.module_number(library, LIBRARIES)?;
        state.unload(binary)
    }

    fn cuLibraryGetModule(module: *mut u64, library: u64) |state| {
        put(module, MODULES + state.module_number(library, LIBRARIES)? as u64)
    }

    fn cuLibraryGetKernel(kernel: *mut u64, library: u64, name: *const c_char) => Device |state| {
        let binary = state.module_number(library, LIBRARIES)?;
        state.put_kernel(kernel, binary, &text(name))
    }

    fn cuLibraryGetKernelCount(count: *mut c_uint, library: u64) => Device |state| {
        let binary = state.module_number(library, LIBRARIES)?;
        state.put_count(count, binary)
    }

    fn cuLibraryEnumerateKernels(kernels: *mut u64, count: c_uint, library: u64) => Device |state| {
        let binary = state.module_number(library, LIBRARIES)?;
        state.put_kernels(kernels, count, binary)
    }

    fn cuLibraryGetGlobal(address: *mut u64, bytes: *mut usize, library: u64, name: *const c_char) |state| {
        let binary = state.module_number(library, LIBRARIES)?;
        state.put_variable((address, bytes), binary, &text(name))
    }

    /// A managed variable of a library has no page of the host.
    fn cuLibraryGetManaged(_address: *mut u64, _bytes: *mut usize, library: u64, _name: *const c_char) |state| {
        state.module_number(library, LIBRARIES)?;
        Err(Error::NOT_FOUND)
    }

    /// Functions that host and device both have exist with several devices alone.
    fn cuLibraryGetUnifiedFunction(_function: *mut u64, library: u64, _name: *const c_char) => Device |state| {
        state.module_number(library, LIBRARIES)?;
        Err(Error::NOT_FOUND)
    }

    fn cuKernelGetFunction(function: *mut u64, kernel: u64) |state| {
        state.modules.function(kernel as usize)?;
        put(function, kernel)
    }

    fn cuKernelGetLibrary(library: *mut u64, kernel: u64) => Device |state| {
        put(library, LIBRARIES + state.modules.function(kernel as usize)?.binary as u64)
    }

    fn cuFuncGetModule(module: *mut u64, function: u64) |state| {
        put(module, MODULES + state.modules.function(function as usize)?.binary as u64)
    }

    fn cuFuncLoad(function: u64) |state| { state.modules.function(function as usize).map(drop) }

    fn cuFuncIsLoaded(is_loaded: *mut c_int, function: u64) |state| {
        state.modules.function(function as usize)?;
        put(is_loaded, 1)
    }

    fn cuFuncGetName(place: *mut u64, function: u64) => Device |state| {
        let name = state.modules.function(function as usize)?.name;
        put(place, state.lasting_text(&name)?)
    }
}
