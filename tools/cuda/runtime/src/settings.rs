//! Settings of the library, which the command gives it by variables of the environment, and the process around it.

use std::ops::Range;
use std::path::PathBuf;

/// The device that the program sees, and the place of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The folder of the record; none if nothing is recorded.
    pub(crate) folder: Option<PathBuf>,
    /// Bytes of device memory.
    pub(crate) memory: u64,
    /// SMs.
    pub(crate) sms: u32,
    /// Compute capability times 10; the highest that the program has PTX for if not given.
    pub(crate) capability: Option<u32>,
}

impl Settings {
    /// Reads them.
    pub(crate) fn from_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        Settings {
            folder: std::env::var_os("COUNTERPOINT_CUDA_RECORD").map(PathBuf::from),
            memory: number("COUNTERPOINT_CUDA_MEMORY").unwrap_or(8 << 30).clamp(1 << 20, 1 << 40),
            sms: number("COUNTERPOINT_CUDA_SMS").unwrap_or(16) as u32,
            capability: number("COUNTERPOINT_CUDA_CAPABILITY").map(|number| number as u32),
        }
    }
}

/// Addresses below 1 TiB that the process uses for itself, in their order: those of a program at fixed addresses.
pub(crate) fn taken_addresses() -> Vec<Range<u64>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let range = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        (range.start < 1 << 40).then_some(range)
    };
    maps.lines().filter_map(range).collect()
}

/// The major version of the library that the program was linked with: 11, 12 or 13; the last one if that cannot be seen.
pub(crate) fn version() -> u32 {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let of = |version: &u32| maps.contains(&format!("/libcudart.so.{version}"));
    [11, 12, 13].into_iter().find(of).unwrap_or(13)
}
