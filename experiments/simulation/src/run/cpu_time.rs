//! Processor time of this process.

/// Clock ticks of `/proc` in a second: the kernel's USER_HZ, which is 100 on every architecture.
const TICKS: f64 = 100.0;

/// Processor seconds of this process so far, of all threads, as Linux counts them; elsewhere 0.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process, in brackets, may hold blanks; user and system time are the 12th and 13th field behind it.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>()
        / TICKS
}
