//! Settings of a server, which a program that starts its own gives it by variables of the environment, and the process of the program.

use std::ops::Range;
use std::path::PathBuf;

use crate::foreign::process;

/// The device that programs see, and the place of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The folder of the record; none if nothing is recorded.
    pub folder: Option<PathBuf>,
    /// Bytes of device memory.
    pub memory: u64,
    /// SMs.
    pub sms: u32,
    /// Compute capability times 10; the highest that the program has PTX for if not given.
    pub capability: Option<u32>,
    /// Bytes of data that a record keeps at most.
    pub limit: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { folder: None, memory: 8 << 30, sms: 16, capability: None, limit: 4 << 30 }
    }
}

impl Settings {
    pub(crate) fn from_environment() -> Self {
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let usual = Settings::default();
        Settings {
            folder: std::env::var_os("COUNTERPOINT_CUDA_RECORD").map(PathBuf::from),
            memory: number("COUNTERPOINT_CUDA_MEMORY").unwrap_or(usual.memory),
            sms: number("COUNTERPOINT_CUDA_SMS").map_or(usual.sms, |number| number as u32),
            capability: number("COUNTERPOINT_CUDA_CAPABILITY").map(|number| number as u32),
            limit: number("COUNTERPOINT_CUDA_LIMIT").unwrap_or(usual.limit),
        }
    }
}

/// The words of the program's command line.
pub(crate) fn arguments() -> Vec<String> {
    let line = std::fs::read(format!("/proc/{}/cmdline", process())).unwrap_or_default();
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// The program's file.
pub(crate) fn program() -> Vec<u8> {
    std::fs::read(format!("/proc/{}/exe", process())).unwrap_or_default()
}

fn maps() -> String {
    std::fs::read_to_string(format!("/proc/{}/maps", process())).unwrap_or_default()
}

/// Addresses below 1 TiB that the program uses for itself, in their order: those of a program at fixed addresses.
pub(crate) fn taken_addresses() -> Vec<Range<u64>> {
    let range = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let end = rest.split(' ').next()?;
        let range = u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?;
        (range.start < 1 << 40).then_some(range)
    };
    maps().lines().filter_map(range).collect()
}

/// The major version of the library that the program was linked with: 11, 12 or 13; the last one if that cannot be seen.
pub(crate) fn version() -> u32 {
    let maps = maps();
    let of = |version: &u32| maps.contains(&format!("/libcudart.so.{version}"));
    [11, 12, 13].into_iter().find(of).unwrap_or(13)
}
