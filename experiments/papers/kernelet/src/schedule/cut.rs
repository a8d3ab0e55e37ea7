//! Slices in which a kernel's share of the SMs stays filled.
//!
//! A slice ends when its slowest block does, and the host sends the next one a way to the device and back later: a share that is one slice
//! is partly idle for most of its time. Here a share is several slices in flight, and some more lie ready on the device. Their blocks take
//! the places of blocks that end, whichever slice those are of.
//!
//! The device places blocks in the order in which slices came. So two kernels keep their shares if as large a part of each share lies
//! ready: slices that Eq. 8 balances take the same time, and those that lie ready then wait for the same time.

/// Launches that may be in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes {
    /// Launches at a time at most.
    pub launches: u32,
    /// Blocks that lie ready, in those of the share; 0 and above.
    pub ready: f64,
}

/// How a kernel is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Blocks of a slice.
    pub slice: u64,
    /// A slice is sent while fewer blocks than this are in flight.
    pub window: u64,
}

impl Lanes {
    /// The launches of each of `kernels` kernels that run together.
    pub fn among(self, kernels: u32) -> Lanes {
        Lanes { launches: self.launches / kernels, ..self }
    }

    /// The cut of a share of `share` blocks on `sms` SMs into slices of at least `smallest` blocks: the smallest of which the launches in
    /// flight are enough, in whole blocks for each SM. A share that is too small is one slice.
    pub fn cut(self, share: u32, smallest: u32, sms: u32) -> Cut {
        let lanes = (f64::from(self.launches) / (1.0 + self.ready)).max(1.0) as u32;
        let by_launches = share.div_ceil(sms).div_ceil(lanes) * sms;
        let slice = smallest.max(by_launches).min(share);
        let ready = (f64::from(share) * self.ready).ceil() as u64;
        Cut { slice: slice.into(), window: u64::from(share) + ready }
    }
}

impl Cut {
    /// All blocks in one launch, behind what is in flight of the kernel.
    pub fn whole(blocks: u64) -> Cut {
        Cut { slice: blocks, window: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: Lanes = Lanes { launches: 16, ready: 0.5 };

    #[test]
    fn a_share_is_cut_into_the_smallest_slices_and_a_part_is_ready() {
        assert_eq!(LANES.cut(84, 0, 14), Cut { slice: 14, window: 126 });
        assert_eq!(LANES.cut(84, 42, 14), Cut { slice: 42, window: 126 });
        assert_eq!(LANES.cut(28, 42, 14), Cut { slice: 28, window: 42 });
    }

    #[test]
    fn launches_in_flight_are_no_more_than_the_device_runs() {
        assert_eq!(LANES.cut(128, 0, 8), Cut { slice: 16, window: 192 });
        assert_eq!(LANES.among(2).cut(120, 8, 8), Cut { slice: 24, window: 180 });
        assert_eq!(Lanes { launches: 1, ready: 1.0 }.cut(84, 14, 14).slice, 84);
    }

    #[test]
    fn a_whole_kernel_is_one_launch() {
        assert_eq!(Cut::whole(5376), Cut { slice: 5376, window: 1 });
    }
}
