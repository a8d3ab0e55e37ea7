//! Errors and versions.

use std::ffi::{CStr, c_int};

use super::driver::devices::VERSION;
use super::entries;
use crate::errors::{Error, Result};
use crate::foreign::{put, write};
use crate::settings::version;
use crate::state::State;

impl State {
    /// The address of a text in the program's memory, which gets all of them when it wants the first one.
    pub(super) fn address_of(&mut self, text: &'static CStr) -> Result<u64> {
        if self.texts.0.is_empty() {
            let mut room = self.channel.errors();
            for text in Error::texts() {
                let bytes = text.to_bytes_with_nul();
                if bytes.len() as u64 <= room.end - room.start {
                    write(room.start, bytes)?;
                    self.texts.0.insert(text, room.start);
                    room.start += bytes.len() as u64;
                }
            }
        }
        self.texts.0.get(text).copied().ok_or(Error::UNKNOWN)
    }

    /// The address of a text in memory of the program, where it stays.
    pub(super) fn lasting_text(&mut self, text: &str) -> Result<u64> {
        if let Some(&address) = self.lasting.get(text) {
            return Ok(address);
        }
        let address = self.room_in_program(text.len() as u64 + 1)?;
        write(address, text.as_bytes())?;
        write(address + text.len() as u64, &[0])?;
        self.lasting.insert(text.to_owned(), address);
        Ok(address)
    }

    /// The address of memory in the program that is never freed.
    pub(super) fn room_in_program(&mut self, bytes: u64) -> Result<u64> {
        let bytes = bytes.next_multiple_of(8);
        if self.text_room.end - self.text_room.start < bytes {
            let room = bytes.max(4096);
            let start = self.allocate_pinned(room, 0, false)?;
            // Nobody frees it, not even a reset of the device.
            self.shared.blocks.remove(&start);
            self.text_room = start..start + room;
        }
        let address = self.text_room.start;
        self.text_room.start += bytes;
        Ok(address)
    }
}

entries! {
    /// The last error, which is then forgotten, unless a kernel has failed.
    fn cudaGetLastError() => Answer |state| {
        let last = std::mem::take(&mut state.of_thread().last);
        Ok(state.failed.unwrap_or(last).0 as u64)
    }

    fn cudaPeekAtLastError() => Answer |state| {
        let last = state.of_thread().last;
        Ok(state.failed.unwrap_or(last).0 as u64)
    }

    fn cudaGetErrorString(error: c_int) => Answer |state| { state.address_of(Error(error).text()) }

    fn cudaGetErrorName(error: c_int) => Answer |state| { state.address_of(Error(error).name()) }

    /// Nanoseconds that have passed on the machine, for the clocks of a program that are the machine's.
    fn __cudaCounterpointClock() => Answer |state| { Ok(state.recorder.now() / 1_000) }

    /// The version of the runtime: the last one of its major version that programs may need.
    fn cudaRuntimeGetVersion(number: *mut c_int) |_state| {
        put(number, runtime_version())
    }

    /// The version of the driver, which is never older.
    fn cudaDriverGetVersion(number: *mut c_int) |_state| {
        put(number, VERSION)
    }

    fn cudaProfilerStart() |_state| { Ok(()) }

    fn cudaProfilerStop() |_state| { Ok(()) }
}

fn runtime_version() -> c_int {
    match version() {
        11 => 11080,
        12 => 12090,
        _ => 13000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_have_room() {
        let bytes: usize = Error::texts().map(|text| text.to_bytes_with_nul().len()).sum();
        assert!(bytes <= crate::page::ERROR_BYTES, "{bytes}");
    }
}
