//! Whether the memory of the machine that we run on suffices for a run, as far as that can be known before it begins.

use std::collections::BTreeSet;
use std::path::Path;

use counterpoint_host_model::program::{Application, BufferId};

use super::RunError;

/// Refuses an application that moves more bytes than memory is free.
///
/// # Errors
/// Bytes that it moves, and bytes that are free.
pub(super) fn suffices(application: &Application) -> Result<(), RunError> {
    let needed = moved(application);
    match available() {
        Some(free) if free < needed => Err(RunError::Usage(format!(
            "the run holds {} of buffers that are read, copied or written, on host and devices, and only {} of memory are \
             free on this machine",
            gigabytes(needed),
            gigabytes(free)
        ))),
        _ => Ok(()),
    }
}

/// Bytes of all buffers that are certainly filled: on the host those that are read from files or come back from devices, on devices
/// those that are copied.
fn moved(application: &Application) -> u64 {
    let Application { copy_in, copy_out, preloaded, buffers, .. } = application;
    let read = application.reads().map(|transfer| transfer.part.buffer);
    let host: BTreeSet<BufferId> = read.chain(copy_out.iter().copied()).collect();
    let device: BTreeSet<BufferId> = [copy_in, copy_out, preloaded].into_iter().flatten().copied().collect();
    let bytes = |buffer: &BufferId| buffers.get(buffer.0 as usize).map_or(0, |buffer| buffer.bytes);
    host.iter().chain(&device).map(bytes).fold(0, u64::saturating_add)
}

/// Bytes of memory that this process may still take: those of the machine, or of its control group if that has fewer. Nothing where
/// that cannot be known.
fn available() -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let free = value(&text("/proc/meminfo")?, "MemAvailable:")? * 1024;
    let groups = text("/proc/self/cgroup").unwrap_or_default();
    Some(group(Path::new("/sys/fs/cgroup"), &groups).map_or(free, |group| free.min(group)))
}

/// The number behind a name at the start of a line, as `/proc` writes it.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok())
}

/// Bytes that the tightest of the control groups of this process has left. `groups` are the lines of `/proc/self/cgroup`; in a container the root of
/// the file system of groups is the process's own group.
fn group(root: &Path, groups: &str) -> Option<u64> {
    // Version 2 has one line, and version 1 one for each controller.
    const VERSIONS: [(&str, &str, [&str; 2], &str); 2] = [
        ("0::", "", ["memory.max", "memory.current"], "inactive_file "),
        (":memory:", "memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"], "total_inactive_file "),
    ];
    let free = |(mark, controller, files, cached): (&str, &str, [&str; 2], &str)| {
        let own = groups.lines().find_map(|line| Some(line.split_once(mark)?.1))?;
        let left = |folder: &Path| {
            let read =
                |file: &str| std::fs::read_to_string(root.join(controller).join(folder).join(file)).ok();
            let [limit, used] = files.map(|file| read(file)?.trim().parse::<u64>().ok());
            // The kernel drops cached files when memory is needed.
            let cached = read("memory.stat").and_then(|text| value(&text, cached));
            Some(limit?.saturating_sub(used?.saturating_sub(cached.unwrap_or(0))))
        };
        Path::new(own.trim_start_matches('/')).ancestors().filter_map(left).min()
    };
    VERSIONS.into_iter().filter_map(free).min()
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_group_counts_and_cached_files_give_way() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let left = |groups: &str| group(root.path(), groups);
        assert_eq!(left("0::/job/step\n"), None);
        write("job/memory.max", "1000\n");
        write("job/memory.current", "400\n");
        write("job/memory.stat", "anon 100\ninactive_file 300\n");
        write("job/step/memory.max", "max\n");
        write("job/step/memory.current", "400\n");
        assert_eq!(left("0::/job/step\n"), Some(900));
        assert_eq!(left("0::/\n"), None);
        write("memory/job/memory.limit_in_bytes", "500\n");
        write("memory/job/memory.usage_in_bytes", "600\n");
        assert_eq!(left("4:cpu:/job\n3:memory:/job\n"), Some(0));
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(available().is_some_and(|free| free > 1 << 20));
    }
}
