//! Which L2 slice and which DRAM channel hold an address. Declared once per GPU; the network, the slices and the
//! controllers read the same parameters.
//!
//! Consecutive chunks of `interleave` bytes go to the slices in turn; slice s belongs to channel s / (slices per
//! channel).

use counterpoint_framework::model::{Invalid, Params};
use counterpoint_framework::time::Bytes;
use counterpoint_protocols::memory::LINE_BYTES;

/// How addresses are spread over slices and channels.
#[derive(Clone, Debug, Params)]
pub struct AddressMapParams {
    /// L2 slices in all.
    #[param(default = "1", min = "1")]
    pub slices: u32,
    /// L2 slices per DRAM channel.
    #[param(default = "1", min = "1")]
    pub slices_per_channel: u32,
    /// Bytes that lie together in one slice.
    #[param(default = "256 B", min = "128 B")]
    pub interleave: Bytes,
}

/// The address map in the form in which it is used.
#[derive(Clone, Copy, Debug)]
pub struct AddressMap {
    slices: u64,
    slices_per_channel: u64,
    interleave: u64,
}

impl AddressMap {
    /// The map of these parameters.
    ///
    /// # Errors
    /// When lines would be split, or slices cannot be shared out evenly.
    pub fn new(params: &AddressMapParams) -> Result<Self, Invalid> {
        let (slices, slices_per_channel) = (u64::from(params.slices), u64::from(params.slices_per_channel));
        let interleave = params.interleave.get();
        if !interleave.is_multiple_of(LINE_BYTES) {
            return Err(format!("interleave must be a multiple of {LINE_BYTES} B").into());
        }
        if slices % slices_per_channel != 0 {
            return Err("slices must be a multiple of slices_per_channel".into());
        }
        Ok(AddressMap { slices, slices_per_channel, interleave })
    }

    /// The slice that holds an address.
    #[inline]
    pub fn slice(&self, address: u64) -> u32 {
        ((address / self.interleave) % self.slices) as u32
    }

    /// The address among those of its slice, without gaps.
    #[inline]
    pub fn within_slice(&self, address: u64) -> u64 {
        address / self.interleave / self.slices * self.interleave + address % self.interleave
    }

    /// The address among those of its channel, without gaps.
    #[inline]
    pub fn within_channel(&self, address: u64) -> u64 {
        let chunk = address / self.interleave;
        let local = chunk / self.slices * self.slices_per_channel + chunk % self.slices_per_channel;
        local * self.interleave + address % self.interleave
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn map(slices: u32, slices_per_channel: u32) -> AddressMap {
        AddressMap::new(&AddressMapParams { slices, slices_per_channel, interleave: Bytes::new(256) })
            .unwrap()
    }

    #[test]
    fn chunks_go_round_and_leave_no_gaps() {
        let map = map(6, 2);
        assert_eq!([0, 255, 256, 1536, 1537].map(|address| map.slice(address)), [0, 0, 1, 0, 0]);
        let mut seen = vec![BTreeSet::new(); 3];
        for address in (0..6 * 256 * 10).step_by(128) {
            let channel = (map.slice(address) / 2) as usize;
            assert!(seen[channel].insert(map.within_channel(address)), "{address} shares its place");
        }
        for channel in seen {
            assert_eq!(
                channel.into_iter().collect::<Vec<_>>(),
                (0..2 * 256 * 10).step_by(128).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn uneven_shares_are_refused() {
        let params = AddressMapParams { slices: 3, slices_per_channel: 2, interleave: Bytes::new(256) };
        assert!(AddressMap::new(&params).is_err());
    }
}
