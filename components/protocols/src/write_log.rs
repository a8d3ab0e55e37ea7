//! A run's record of writes to watched buffers: the values, the time, and the memory. It has no effect on the
//! run.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use counterpoint_framework::time::SimTime;

use crate::memory::{ByteMask, LINE_BYTES, Line};
use crate::preload::is_part;

/// The memory at which a write arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WriteTarget {
    /// Host memory.
    Host,
    /// The L2 of the device, which all its accesses to memory meet, and copies, too.
    Device,
}

/// A write to a watched buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Time of the write.
    pub time: SimTime,
    /// Place of the write.
    pub place: WriteTarget,
    /// The name of the buffer.
    pub buffer: Arc<str>,
    /// Beginning of the write, in bytes from the buffer's beginning.
    pub offset: u64,
    /// The new bytes.
    pub bytes: Box<[u8]>,
}

/// The place of a watched buffer.
#[derive(Debug)]
struct Watched {
    place: WriteTarget,
    /// The prefix of the paths of the device's components.
    device: String,
    buffer: Arc<str>,
    begin: u64,
    end: u64,
}

/// The record of a run, given as a resource if it is wanted. The allocator places buffers before the first
/// write, so that the lock of the places cannot show.
#[derive(Debug, Default)]
pub struct WriteLog {
    wanted: Vec<String>,
    places: RwLock<Vec<Watched>>,
    notes: Mutex<Vec<Written>>,
}

impl WriteLog {
    /// A log of the writes to the buffers with these names.
    pub fn new(wanted: Vec<String>) -> Self {
        WriteLog { wanted, ..WriteLog::default() }
    }

    /// The names of the buffers.
    pub fn wanted(&self) -> &[String] {
        &self.wanted
    }

    /// Places a buffer of `bytes` bytes on the host, and on the device whose components' paths begin with
    /// `path`.
    pub fn place(&self, buffer: &str, bytes: u64, host: u64, (path, device): (&str, u64)) {
        let buffer: Arc<str> = buffer.into();
        let watched = |place, begin| Watched {
            place,
            device: path.to_owned(),
            buffer: Arc::clone(&buffer),
            begin,
            end: begin + bytes,
        };
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        places.extend([watched(WriteTarget::Host, host), watched(WriteTarget::Device, device)]);
    }

    /// Notes a write to host memory.
    pub fn on_host(&self, time: SimTime, address: u64, bytes: &[u8]) {
        self.note(time, WriteTarget::Host, "", address, bytes);
    }

    /// Notes a write of some bytes of a line, by a component of a device.
    pub fn on_device(&self, time: SimTime, path: &str, line: u64, mask: ByteMask, values: &Line) {
        let is_written = |byte: &usize| mask >> byte & 1 == 1;
        let mut first = 0;
        while let Some(begin) = (first..values.len()).find(is_written) {
            let end = (begin..values.len()).find(|byte| !is_written(byte)).unwrap_or(values.len());
            self.note(time, WriteTarget::Device, path, line + begin as u64, &values[begin..end]);
            first = end;
        }
    }

    fn note(&self, time: SimTime, place: WriteTarget, path: &str, address: u64, bytes: &[u8]) {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        for watched in places.iter().filter(|watched| watched.place == place) {
            let first = address.max(watched.begin);
            let end = (address + bytes.len() as u64).min(watched.end);
            if first < end && (place == WriteTarget::Host || is_part(path, &watched.device)) {
                let bytes = bytes[(first - address) as usize..(end - address) as usize].into();
                let (buffer, offset) = (Arc::clone(&watched.buffer), first - watched.begin);
                let written = Written { time, place, buffer, offset, bytes };
                self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(written);
            }
        }
    }

    /// All notes so far, in the order of time, and at the same time by place: the order in which threads note
    /// them cannot show, because one component writes all of a line and notes it in its own order.
    pub fn take(&self) -> Vec<Written> {
        let mut notes = std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        notes.sort_by(|a, b| {
            let (line, other) = (a.offset / LINE_BYTES, b.offset / LINE_BYTES);
            (a.time, a.place, &a.buffer, line).cmp(&(b.time, b.place, &b.buffer, other))
        });
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_watched_buffers_is_noted_in_the_order_of_time() {
        let log = WriteLog::new(vec!["a".to_owned()]);
        log.place("a", 200, 4096, ("gpu[1]", 1024));
        let at = SimTime::from_ps;
        let values = std::array::from_fn(|byte| byte as u8);
        // Two pieces of a line; a line whose first bytes are the buffer's; another device.
        log.on_device(at(9), "gpu[1].l2[0]", 1024, 0b1101, &values);
        log.on_device(at(7), "gpu[1].l2[1]", 1152, 0b11 << 71, &values);
        log.on_device(at(8), "gpu[10].l2[0]", 1024, 1, &values);
        log.on_host(at(8), 4000, &[5; 100]);
        log.on_host(at(8), 4296, &[6; 8]);
        let notes: Vec<_> =
            log.take().into_iter().map(|it| (it.time, it.place, it.offset, it.bytes)).collect();
        let (host, device) = (WriteTarget::Host, WriteTarget::Device);
        let expected: [(u64, WriteTarget, u64, &[u8]); 4] =
            [(7, device, 199, &[71]), (8, host, 0, &[5; 4]), (9, device, 0, &[0]), (9, device, 2, &[2, 3])];
        assert!(notes.iter().zip(expected).all(|(note, (time, place, offset, bytes))| {
            (note.0, note.1, note.2, &*note.3) == (at(time), place, offset, bytes)
        }));
        assert_eq!((notes.len(), log.take().len()), (4, 0));
    }
}
