//! Asynchronous copies to shared memory: the number under way in each group of a warp, and waits for them (PTX ISA 9.7.9.25).
//!
//! Words are written to shared memory in the cycle in which they arrive, without a bank access. A group is one of the warp, not of
//! each of its threads: a warp whose paths commit by themselves waits longer than it must, never shorter.

use counterpoint_framework::kernel::Fault;
use counterpoint_ptx::{Access, FaultKind, Row};

use super::cta::Cta;

#[derive(Default)]
pub(in crate::gpu::sm) struct Copies {
    /// Groups with copies under way, oldest first, and how many.
    open: Vec<(u32, u32)>,
    /// The number of the group that the next commit makes.
    group: u32,
}

impl Copies {
    /// Resets the state for another warp.
    pub(in crate::gpu::sm) fn restart(&mut self) {
        self.open.clear();
        self.group = 0;
    }

    /// A copy begins; gives its group.
    pub(in crate::gpu::sm) fn begin(&mut self) -> u32 {
        match self.open.last_mut() {
            Some((group, count)) if *group == self.group => *count += 1,
            _ => self.open.push((self.group, 1)),
        }
        self.group
    }

    pub(in crate::gpu::sm) fn end(&mut self, group: u32) {
        if let Some(at) = self.open.iter().position(|(open, _)| *open == group) {
            self.open[at].1 -= 1;
            if self.open[at].1 == 0 {
                self.open.remove(at);
            }
        }
    }

    pub(in crate::gpu::sm) fn commit(&mut self) {
        self.group += 1;
    }

    /// The first group that a wait does not wait for, where `newest` groups may stay in flight; without a number the wait is for
    /// all groups.
    pub(in crate::gpu::sm) fn end_of_wait(&self, newest: Option<u32>) -> u32 {
        newest.map_or(u32::MAX, |newest| self.group.saturating_sub(newest))
    }

    /// Whether a copy of a group before this one is under way.
    pub(in crate::gpu::sm) fn are_open_before(&self, end: u32) -> bool {
        self.open.first().is_some_and(|(group, _)| *group < end)
    }
}

/// Checks that a copy lands in shared memory, and writes the zeros of lanes that read nothing. Lanes that read a part of their bytes join
/// the others: the bytes behind this part are read with it and are not written.
pub(in crate::gpu::sm) fn begin(access: &mut Access, cta: &mut Cta, warp: u32) -> Result<(), Fault> {
    let size = cta.shared.len() as u64;
    let outside = |lane: &u32| {
        let end = u64::from(access.values[0].0[*lane as usize]) + u64::from(access.width);
        (access.mask | access.zeros | access.parts) >> lane & 1 != 0 && end > size
    };
    if let Some(lane) = (0..32).find(outside) {
        let address = access.values[0].0[lane as usize];
        let message = format!(
            "copies {} bytes to {address:#x}, outside of the block's shared memory ({size} bytes)",
            access.width
        );
        return Err(cta.fault_at(warp, lane, access.pc, FaultKind::IllegalAddress, message));
    }
    if access.zeros != 0 {
        let landed = access.land(access.zeros, &[Row::ZERO; 4], &mut cta.shared);
        debug_assert!(landed.is_ok(), "it has been looked at");
    }
    if access.parts != 0 {
        check_parts(access, cta, warp)?;
        access.mask |= access.parts;
    }
    Ok(())
}

/// Checks that lanes that read a part of their bytes find them in the launch's allocations.
#[cold]
fn check_parts(access: &Access, cta: &Cta, warp: u32) -> Result<(), Fault> {
    let memory = &cta.launch.memory;
    for lane in (0..32).filter(|lane| access.parts >> lane & 1 != 0) {
        let (address, bytes) = (access.addresses[lane as usize], access.values[1].0[lane as usize]);
        if !memory.allow(address, bytes.into(), false) {
            let part = Access { width: bytes as u8, ..access.clone() };
            let message = format!("{}, {}", part.describe(lane), memory.locate(address, bytes.into()));
            return Err(cta.fault_at(warp, lane, access.pc, FaultKind::IllegalAddress, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_for_all_groups_but_the_newest() {
        let mut copies = Copies::default();
        let first = copies.begin();
        assert_eq!(copies.begin(), first);
        copies.commit();
        let second = copies.begin();
        copies.commit();
        let third = copies.begin();
        let waits = |copies: &Copies, newest| copies.are_open_before(copies.end_of_wait(newest));
        assert!(waits(&copies, Some(1)) && waits(&copies, Some(0)) && waits(&copies, None));
        assert!(!waits(&copies, Some(2)));
        copies.end(first);
        assert!(waits(&copies, Some(1)), "one of two is under way");
        copies.end(first);
        assert!(!waits(&copies, Some(1)) && waits(&copies, Some(0)));
        copies.end(second);
        assert!(!waits(&copies, Some(0)) && waits(&copies, None), "the third is in no group yet");
        copies.end(third);
        assert!(!waits(&copies, None));
    }
}
