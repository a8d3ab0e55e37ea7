//! Interfaces between components: messages and roles, and no behaviour.
//!
//! Hardware and host never name each other; they meet here. A role is a socket type: the two ends of a link line take
//! the two sides of one.
//!
//! The crate is internal to Counterpoint: depend on `counterpoint`, which exports what is stable.

pub mod bus;
pub mod extra;
pub mod host;
pub mod launch;
pub mod launch_rows;
pub mod local;
pub mod memory;
pub mod page_log;
pub mod pages;
pub mod preload;
pub mod translation;
pub mod values;
pub mod write_log;

/// Flips a bit of some bytes, chosen by a random number; false if there are none.
fn flip(data: &mut [u8], bits: u64) -> bool {
    let Some(last) = data.len().checked_sub(1) else { return false };
    data[(bits >> 3) as usize % (last + 1)] ^= 1 << (bits & 7);
    true
}
