//! Kernels that wait for the host, or for another stream: a launch returns though its kernel has not ended, and the kernel goes on whenever somebody
//! may have written what it waits for.
//!
//! A kernel runs in the call that launches it, as far as it can. What is sent to its stream meanwhile is put off. The host's calls, and the time
//! between them, give waiting kernels further turns. Memory that both reach is compared with what both had last, so that neither's writes are lost.

use std::time::{Duration, Instant};

use counterpoint_cuda_capture::{Region, Way};
use counterpoint_ptx::functional::Turn;

use crate::device::Begun;
use crate::errors::{Error, Result};
use crate::graphs::Operation;
use crate::made::waiting::Waiting;
use crate::made::{Made, NON_BLOCKING};
use crate::state::State;

/// Time that a call of the program waits for a kernel that nobody else lets go on.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ranges in which bytes differ.
fn differences(one: &[u8], other: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in one.iter().zip(other).enumerate().filter(|(_, (one, other))| one != other) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

impl State {
    /// Whether work on a stream waits for what is on another.
    fn waits_for(&self, stream: u32, other: u32) -> bool {
        let blocks = |stream: u32| !self.streams.get(&stream).copied().unwrap_or_default().is_non_blocking();
        stream == other || stream == 0 && blocks(other) || other == 0 && blocks(stream)
    }

    /// Whether a stream is behind a kernel that waits.
    pub(crate) fn is_held(&self, stream: u32) -> bool {
        if self.waiting.kernels.is_empty() {
            return false;
        }
        let mut others = self.waiting.kernels.iter().map(|kernel| kernel.stream);
        let mut later = self.waiting.put_off.iter().map(|(stream, _)| *stream);
        others.any(|other| self.waits_for(stream, other)) || later.any(|other| self.waits_for(stream, other))
    }

    /// Whether a stream's wait for an event is behind a kernel that waits.
    pub(crate) fn is_held_by(&self, event: u32) -> bool {
        self.waiting.recorded_later(event).is_some()
    }

    /// Puts an operation off until the stream has come to it.
    pub(crate) fn put_off(&mut self, stream: u32, operation: Operation) {
        self.waiting.put_off.push_back((stream, operation));
    }

    /// Does an operation when its stream comes to it, or leaves it to the graph that watches the stream.
    pub(crate) fn submit(&mut self, operation: Operation, stream: u32) -> Result {
        if self.is_watched(stream) {
            return self.watched(stream, operation);
        }
        if self.is_held(stream) {
            self.put_off(stream, operation);
            return Ok(());
        }
        self.perform(operation, stream)
    }

    /// A kernel waits: the call that has launched it is over.
    pub(crate) fn keep_waiting(&mut self, (binary, stream): (usize, u32), begun: Begun) -> Result {
        self.waiting.kernels.push(Waiting { binary, stream, begun });
        self.give_changes()
    }

    /// Waits until a stream, or everything, is done. The call is made again where that takes time, so that other threads can call meanwhile.
    pub(crate) fn settle(&mut self, stream: Option<u32>) -> Result {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.resume()?;
        let is_held = stream.map_or(!self.waiting.is_empty(), |stream| self.is_held(stream));
        if !is_held {
            return Ok(());
        }
        let since = *self.waiting.asked.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            self.waiting.again = true;
            return Err(Error::AGAIN);
        }
        let failure = self.waiting.kernels.first_mut().map(|kernel| kernel.begun.failure());
        self.waiting.clear();
        match failure {
            Some((error, message)) => Err(self.fail(error, message)),
            None => Ok(()),
        }
    }

    /// The same for an event.
    pub(crate) fn settle_event(&mut self, event: u32) -> Result {
        match self.waiting.recorded_later(event) {
            Some(stream) => self.settle(Some(stream)),
            None => Ok(()),
        }
    }

    /// Gives waiting kernels a turn, and does what was put off and can be done.
    pub(crate) fn resume(&mut self) -> Result {
        let mut has_moved = true;
        while std::mem::take(&mut has_moved) && !self.waiting.is_empty() {
            self.take_changes()?;
            let mut index = 0;
            while index < self.waiting.kernels.len() {
                let kernel = &mut self.waiting.kernels[index];
                match self.device.advance(&mut kernel.begun) {
                    Ok(Turn::Waits) => index += 1,
                    Ok(Turn::Ended) => {
                        let Waiting { binary, stream, .. } = self.waiting.kernels.remove(index);
                        has_moved = true;
                        self.launch_for_kernels(binary, stream)?;
                    }
                    Ok(Turn::Interrupted) => return Err(Error::UNKNOWN),
                    Err((error, message)) => {
                        self.waiting.clear();
                        return Err(self.fail(error, message));
                    }
                }
            }
            self.device.found().iter().for_each(|found| self.say_once(found));
            self.give_changes()?;
            while let Some(place) = self.next_of_put_off() {
                let Some(next) = self.waiting.put_off.remove(place) else { break };
                has_moved = true;
                self.perform_all(vec![next])?;
            }
        }
        if self.waiting.is_empty() {
            self.waiting.clear();
        }
        Ok(())
    }

    /// The first operation that was put off and waits for nobody.
    fn next_of_put_off(&self) -> Option<usize> {
        let all = &self.waiting.put_off;
        (0..all.len()).find(|place| {
            let (stream, operation) = &all[*place];
            let behind = |other: u32| self.waits_for(*stream, other);
            let mut before = all.iter().take(*place);
            let mut kernels = self.waiting.kernels.iter();
            let is_behind = before.any(|(other, earlier)| {
                let is_awaited =
                    matches!((operation, earlier), (Operation::Wait(one), Operation::Record(other)) if one == other);
                is_awaited || behind(*other)
            });
            !is_behind && !kernels.any(|kernel| behind(kernel.stream))
        })
    }

    /// The stream of copies beside kernels that wait.
    fn beside(&mut self) -> u32 {
        if let Some(stream) = self.waiting.beside {
            return stream;
        }
        let stream = self.new_stream_of(Made { flags: NON_BLOCKING, priority: 0 });
        *self.waiting.beside.insert(stream)
    }

    /// The device gets what the host has changed since both had the same.
    pub(crate) fn take_changes(&mut self) -> Result {
        for (address, region) in self.shared_regions() {
            let host = self.shared.pages.at(address, region.width)?.to_vec();
            let synced = match self.waiting.synced.get(&address) {
                Some(synced) => synced.clone(),
                None => self.device.read(region)?,
            };
            for range in differences(&host, &synced) {
                let part = Region::line(address + range.start as u64, range.len() as u64);
                let stream = self.beside();
                self.device.write(part, &host[range.clone()])?;
                self.note_copy(Way::In, part, &host[range], stream, true);
            }
            self.waiting.sync(address, host);
        }
        Ok(())
    }

    /// The host gets what kernels have changed since both had the same: the highest addresses first, as a word that says that others are there mostly
    /// lies before them.
    pub(crate) fn give_changes(&mut self) -> Result {
        for (address, region) in self.shared_regions() {
            let bytes = self.device.read(region)?;
            let Some(synced) = self.waiting.synced.get_mut(&address) else { continue };
            for range in differences(&bytes, synced).into_iter().rev() {
                let host = self.shared.pages.at(address, region.width)?;
                host[range.clone()].copy_from_slice(&bytes[range.clone()]);
                synced[range.clone()].copy_from_slice(&bytes[range]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_ranges() {
        assert_eq!(differences(&[1, 2, 3, 4, 5], &[1, 0, 0, 4, 0]), [1..3, 4..5]);
        assert!(differences(&[], &[]).is_empty());
    }
}
