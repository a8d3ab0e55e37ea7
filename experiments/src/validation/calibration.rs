//! How fast this computer is beside the one that measured the other simulator.

use std::hint::black_box;

/// Clock ticks of `/proc` in a second: the kernel's USER_HZ, which is 100 on every architecture.
const TICKS: f64 = 100.0;

/// Rounds of the calibration loop.
const ROUNDS: u64 = 200_000_000;

/// Processor seconds of this process so far, of all threads, as Linux counts them; elsewhere 0.
pub fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process, in brackets, may hold blanks; user and system time are the 12th and 13th field behind it.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>()
        / TICKS
}

/// Processor seconds of a fixed chain of dependent 64-bit multiplications and shifts, on one core.
pub fn calibration_loop() -> f64 {
    let begun = cpu_seconds();
    let mut value = black_box(1_u64);
    for _ in 0..ROUNDS {
        value = (value ^ (value >> 29)).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    }
    black_box(value);
    cpu_seconds() - begun
}
