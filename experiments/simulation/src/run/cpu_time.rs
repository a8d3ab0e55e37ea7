//! Processor time of this process and of those that it starts.

/// Clock ticks of `/proc` in a second: the kernel's USER_HZ, which is 100 on every architecture.
const TICKS: f64 = 100.0;

/// Processor seconds of this process so far, of all threads, as Linux counts them; elsewhere 0.
pub fn cpu_seconds() -> f64 {
    // User and system time are the 12th and 13th field behind the name.
    ticks(11) / TICKS
}

/// Processor seconds of the processes that this one has started and waited for, as Linux counts them; elsewhere 0.
pub fn cpu_seconds_of_children() -> f64 {
    ticks(13) / TICKS
}

/// The sum of two fields of `/proc/self/stat`, the first of them this many fields behind the name of the process.
fn ticks(skipped: usize) -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process, in brackets, may hold blanks.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(skipped).take(2).filter_map(|field| field.parse::<f64>().ok()).sum()
}
