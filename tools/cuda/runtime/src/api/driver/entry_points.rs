//! Addresses of functions, by which programs find the driver's functions in place of linking with it.

use std::ffi::{c_char, c_int, c_ulonglong};

use super::super::entries;
use super::devices::VERSION;
use crate::errors::{Error, Result};
use crate::foreign::{put, read, text};
use crate::state::State;

/// Flags of a search: the default stream is the legacy one, or that of the thread.
const LEGACY: c_ulonglong = 1;
const PER_THREAD: c_ulonglong = 2;
/// Results of a search: found, no such function, and one that is younger than the version that the program asks for.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;
const TOO_OLD: c_int = 2;

/// Ends of the names of later forms of a function, the last one first.
const FORMS: [&str; 4] = ["_v4", "_v3", "_v2", ""];

/// The versions of CUDA with which forms of functions begin that are younger than CUDA 10 (`cuda.h` of CUDA 13.1, and the release notes before it).
static BEGINNINGS: &[(&str, c_int)] = &[
    ("cuCtxCreate_v3", 11040),
    ("cuCtxCreate_v4", 12050),
    ("cuCtxGetDevice_v2", 13000),
    ("cuCtxSynchronize_v2", 13000),
    ("cuDeviceGetUuid_v2", 11040),
    ("cuDevicePrimaryCtxRelease_v2", 11000),
    ("cuDevicePrimaryCtxReset_v2", 11000),
    ("cuDevicePrimaryCtxSetFlags_v2", 11000),
    ("cuDeviceGetP2PAtomicCapabilities", 13000),
    ("cuEventElapsedTime_v2", 12080),
    ("cuGetProcAddress_v2", 12000),
    ("cuGraphAddDependencies_v2", 12030),
    ("cuGraphAddKernelNode_v2", 12000),
    ("cuGraphAddNode_v2", 12030),
    ("cuGraphExecKernelNodeSetParams_v2", 12000),
    ("cuGraphExecUpdate_v2", 12000),
    ("cuGraphGetEdges_v2", 12030),
    ("cuGraphKernelNodeGetParams_v2", 12000),
    ("cuGraphKernelNodeSetParams_v2", 12000),
    ("cuGraphNodeGetDependencies_v2", 12030),
    ("cuGraphNodeGetDependentNodes_v2", 12030),
    ("cuGraphRemoveDependencies_v2", 12030),
    ("cuIpcOpenMemHandle_v2", 11000),
    ("cuMemAdvise_v2", 12020),
    ("cuMemPrefetchAsync_v2", 12020),
    ("cuStreamBatchMemOp_v2", 11070),
    ("cuStreamBeginCapture_v2", 10010),
    ("cuStreamGetCaptureInfo_v2", 11030),
    ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuStreamGetCtx_v2", 12050),
    ("cuStreamUpdateCaptureDependencies_v2", 12030),
    ("cuStreamWaitValue32_v2", 11070),
    ("cuStreamWaitValue64_v2", 11070),
    ("cuStreamWriteValue32_v2", 11070),
    ("cuStreamWriteValue64_v2", 11070),
];

/// The names that a search may mean, the best first.
fn candidates(name: &str, version: c_int, per_thread: bool) -> impl Iterator<Item = String> {
    let begins =
        |form: &str| BEGINNINGS.iter().find(|(known, _)| *known == form).map_or(0, |(_, begin)| *begin);
    let forms = FORMS.into_iter().map(move |end| format!("{name}{end}"));
    let forms = forms.filter(move |form| begins(form) <= version);
    let ends: &'static [&'static str] = if per_thread { &["_ptsz", "_ptds", ""] } else { &[""] };
    forms.flat_map(move |form| ends.iter().map(move |end| format!("{form}{end}")))
}

impl State {
    /// Address of a function of the library in the program.
    pub(crate) fn entry_point(&self, name: &str) -> Option<u64> {
        let number = self.channel.names.iter().position(|known| known == name)?;
        let place = self.channel.functions + 8 * number as u64;
        read(place, 8).ok().map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// Address of a function of the driver, in the form that a version of CUDA has.
    pub(crate) fn driver_function(
        &self,
        name: &str,
        version: c_int,
        per_thread: bool,
    ) -> (Option<u64>, c_int) {
        let found = candidates(name, version, per_thread).find_map(|name| self.entry_point(&name));
        let is_younger =
            || candidates(name, c_int::MAX, per_thread).any(|name| self.entry_point(&name).is_some());
        let status = match found {
            Some(_) => FOUND,
            None if is_younger() => TOO_OLD,
            None => NOT_FOUND,
        };
        (found, status)
    }

    fn put_function(
        &mut self,
        (name, place): (*const c_char, *mut u64),
        version: c_int,
        flags: c_ulonglong,
        status: *mut c_int,
    ) -> Result {
        if place.is_null() || name.is_null() || flags & !(LEGACY | PER_THREAD) != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let name = text(name);
        let (found, said) = self.driver_function(&name, version, flags & PER_THREAD != 0);
        put(place, found.unwrap_or(0))?;
        if !status.is_null() {
            put(status, said)?;
            return Ok(());
        }
        found.map(drop).ok_or(Error::NOT_FOUND)
    }
}

entries! {
    fn cuGetProcAddress(
        name: *const c_char, place: *mut u64, version: c_int, flags: c_ulonglong,
    ) => Always |state| {
        state.put_function((name, place), version, flags, std::ptr::null_mut())
    }

    fn cudaGetDriverEntryPoint(name: *const c_char, place: *mut u64, flags: c_ulonglong, status: *mut c_int) |state| {
        state.put_function((name, place), VERSION, flags, status)
    }

    fn cudaGetDriverEntryPointByVersion(
        name: *const c_char, place: *mut u64, version: c_int, flags: c_ulonglong, status: *mut c_int,
    ) |state| {
        state.put_function((name, place), version, flags, status)
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, place: *mut u64, version: c_int, flags: c_ulonglong, status: *mut c_int,
    ) => Always |state| {
        state.put_function((name, place), version, flags, status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_means_the_last_form_that_its_version_has() {
        let of = |name, version, per_thread| candidates(name, version, per_thread).collect::<Vec<_>>();
        assert_eq!(of("cuCtxCreate", 12040, false), ["cuCtxCreate_v3", "cuCtxCreate_v2", "cuCtxCreate"]);
        assert_eq!(of("cuMemAlloc", 11000, false)[2], "cuMemAlloc_v2");
        assert_eq!(of("cuLaunchKernel", 13000, true)[9], "cuLaunchKernel_ptsz");
    }
}
