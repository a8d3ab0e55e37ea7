//! Contexts: made, kept, and current in a thread.

use std::ffi::{c_int, c_uint, c_void};

use super::super::devices::check_device;
use super::super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{put, read};
use crate::made::contexts::{Owned, PRIMARY};
use crate::state::State;

/// Flags of a context: the host's ways of waiting, mapped host memory, local memory that is kept, and others that change no value.
const FLAGS: c_uint = 0xff;
/// The version of contexts that the driver gives.
const API_VERSION: c_uint = 3020;

impl State {
    /// The current context of the thread.
    ///
    /// # Errors
    /// No context is current, or the current one has been destroyed.
    pub(crate) fn current_context(&mut self) -> Result<u64> {
        let current = *self.of_thread().contexts.last().ok_or(Error::INVALID_CONTEXT)?;
        if self.contexts.is_alive(current) { Ok(current) } else { Err(Error::CONTEXT_IS_DESTROYED) }
    }

    /// A call of the runtime, which works in the primary context where no other one is current.
    pub(crate) fn enter_runtime(&mut self) {
        self.contexts.is_initialized = true;
        if self.of_thread().contexts.is_empty() {
            self.contexts.is_of_runtime = true;
            self.of_thread().contexts.push(PRIMARY);
        }
    }

    /// Notes a thing that ends with the current context, if a program has made that.
    pub(crate) fn own(&mut self, owned: Owned) {
        let Some(current) = self.of_thread().contexts.last().copied() else { return };
        if let Some(context) = self.contexts.made.get_mut(&current) {
            context.owned.push(owned);
        }
    }

    fn make_context(&mut self, place: *mut u64, flags: c_uint, device: c_int) -> Result {
        check_device(device)?;
        if flags & !FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let handle = self.contexts.make(flags);
        self.of_thread().contexts.push(handle);
        put(place, handle)
    }

    fn destroy_context(&mut self, handle: u64) -> Result {
        let context = self.contexts.made.remove(&handle).ok_or(Error::INVALID_CONTEXT)?;
        self.waiting.clear();
        self.synchronize(None);
        let thread = self.of_thread();
        if thread.contexts.last() == Some(&handle) {
            thread.contexts.pop();
        }
        for owned in context.owned {
            // The program may have freed it.
            let _ = match owned {
                Owned::Buffer(address) => self.free(address),
                Owned::Module(binary) => self.unload(binary),
                Owned::Stream(number) => {
                    self.streams.remove(&number);
                    Ok(())
                }
                Owned::Event(number) => {
                    self.events.remove(&number);
                    Ok(())
                }
            };
        }
        Ok(())
    }

    fn check_context(&self, handle: u64) -> Result {
        if self.contexts.is_alive(handle) { Ok(()) } else { Err(Error::INVALID_CONTEXT) }
    }

    /// The context of a handle, or the current one.
    fn context_or_current(&mut self, handle: u64) -> Result<u64> {
        if handle == 0 {
            return self.current_context();
        }
        self.check_context(handle)?;
        Ok(handle)
    }

    fn pop_context(&mut self) -> Result<u64> {
        self.of_thread().contexts.pop().ok_or(Error::INVALID_CONTEXT)
    }
}

entries! {
    fn cuDevicePrimaryCtxRetain(place: *mut u64, device: c_int) => Device |state| {
        check_device(device)?;
        state.contexts.retained += 1;
        put(place, PRIMARY)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) => Device |state| {
        check_device(device)?;
        state.contexts.retained = state.contexts.retained.checked_sub(1).ok_or(Error::INVALID_CONTEXT)?;
        if state.contexts.is_primary_active() { Ok(()) } else { state.reset() }
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) => Device |state| {
        check_device(device)?;
        if flags & !FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        state.contexts.primary_flags = flags;
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) => Device |state| {
        check_device(device)?;
        put(flags, state.contexts.primary_flags)?;
        put(active, state.contexts.is_primary_active().into())
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) => Always |state| {
        check_device(device)?;
        state.reset()
    }

    fn cuCtxCreate_v2(place: *mut u64, flags: c_uint, device: c_int) => Device |state| {
        state.make_context(place, flags, device)
    }

    fn cuCtxCreate_v3(
        place: *mut u64, _affinity: *const c_void, affinities: c_int, flags: c_uint, device: c_int,
    ) => Device |state| {
        if affinities != 0 {
            return Err(state.refuse("cuCtxCreate", "contexts that have only some of the SMs are not supported"));
        }
        state.make_context(place, flags, device)
    }

    fn cuCtxCreate_v4(place: *mut u64, parameters: *const c_void, flags: c_uint, device: c_int) => Device |state| {
        // Parameters that name no SMs and no graphics are those of a usual context.
        let is_usual = |words: &[u8]| words[..12].iter().chain(&words[16..]).all(|byte| *byte == 0);
        if !parameters.is_null() && !is_usual(&read(parameters as u64, 24)?) {
            return Err(state.refuse("cuCtxCreate", "contexts that have only some of the SMs are not supported"));
        }
        state.make_context(place, flags, device)
    }

    /// A context ends, also after a kernel has failed in it.
    fn cuCtxDestroy_v2(context: u64) => Always |state| { state.destroy_context(context) }

    fn cuCtxDetach(context: u64) => Always |state| { state.destroy_context(context) }

    fn cuCtxPushCurrent_v2(context: u64) => Device |state| {
        state.check_context(context)?;
        state.of_thread().contexts.push(context);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(place: *mut u64) => Device |state| {
        let context = state.pop_context()?;
        if place.is_null() { Ok(()) } else { put(place, context) }
    }

    fn cuCtxSetCurrent(context: u64) => Device |state| {
        if context == 0 {
            // A thread without a context has none to give up.
            let _ = state.pop_context();
            return Ok(());
        }
        state.check_context(context)?;
        let contexts = &mut state.of_thread().contexts;
        contexts.pop();
        contexts.push(context);
        Ok(())
    }

    fn cuCtxGetCurrent(place: *mut u64) => Device |state| {
        let current = state.of_thread().contexts.last().copied();
        put(place, current.unwrap_or(0))
    }

    fn cuCtxGetDevice(device: *mut c_int) |_state| { put(device, 0) }

    fn cuCtxGetDevice_v2(device: *mut c_int, context: u64) => Device |state| {
        state.context_or_current(context)?;
        put(device, 0)
    }

    fn cuCtxGetFlags(flags: *mut c_uint) |state| {
        let current = state.current_context()?;
        put(flags, state.contexts.flags(current))
    }

    fn cuCtxSetFlags(flags: c_uint) |state| {
        if flags & !FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let current = state.current_context()?;
        match state.contexts.made.get_mut(&current) {
            Some(context) => context.flags = flags,
            None => state.contexts.primary_flags = flags,
        }
        Ok(())
    }

    fn cuCtxGetId(context: u64, number: *mut u64) => Device |state| {
        put(number, state.context_or_current(context)? - PRIMARY + 1)
    }

    fn cuCtxGetApiVersion(context: u64, version: *mut c_uint) => Device |state| {
        state.context_or_current(context)?;
        put(version, API_VERSION)
    }

    fn cuCtxSynchronize_v2(context: u64) => Device |state| {
        state.context_or_current(context)?;
        state.settle(None)?;
        state.synchronize(None);
        Ok(())
    }
}
