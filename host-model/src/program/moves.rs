//! Moves of bytes: parts of buffers, transfers between files and the host, and work of a copy engine.

use bytes::Bytes;
use counterpoint_framework::time::{BytesPerSecond, SimTime, Wire};
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;

use super::BufferId;

/// Part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The buffer.
    pub buffer: BufferId,
    /// Offset of the part, in bytes from the buffer's beginning.
    pub offset: u64,
    /// Size of the part in bytes.
    pub bytes: u64,
}

impl Range {
    /// Byte range of the part, counted from the buffer's beginning.
    pub fn bytes_of(&self) -> std::ops::Range<usize> {
        self.offset as usize..(self.offset + self.bytes) as usize
    }
}

/// Rows of bytes in a buffer, all of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The buffer.
    pub buffer: BufferId,
    /// Offset of the first row, in bytes from the buffer's beginning.
    pub offset: u64,
    /// Bytes of a row.
    pub bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// Bytes from the beginning of one row to that of the next.
    pub pitch: u64,
}

impl Rows {
    /// Bytes of all rows.
    pub fn total(&self) -> u64 {
        self.bytes * self.rows
    }

    /// The offset behind the last byte of the last row.
    pub fn end(&self) -> u64 {
        self.offset + self.rows.saturating_sub(1) * self.pitch + self.bytes
    }

    /// The bytes of each row, counted from the buffer's beginning.
    pub fn each(&self) -> impl Iterator<Item = std::ops::Range<usize>> + Clone + use<> {
        let Rows { offset, bytes, pitch, .. } = *self;
        let start = move |row| (offset + row * pitch) as usize;
        (0..self.rows).map(move |row| start(row)..start(row) + bytes as usize)
    }
}

impl From<Range> for Rows {
    fn from(Range { buffer, offset, bytes }: Range) -> Self {
        Rows { buffer, offset, bytes, rows: 1, pitch: bytes }
    }
}

/// Work of a copy engine that is no copy of one part between host and device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Copies rows between host and device. Both are of the same buffer.
    Copy {
        /// Direction of the copy.
        direction: Direction,
        /// The rows on the host.
        host: Rows,
        /// The rows on the device, equal in number and length.
        device: Rows,
    },
    /// Fills rows on a device with a value.
    Fill {
        /// The rows.
        rows: Rows,
        /// The bytes of an element, 1, 2, 4 or 8.
        value: Box<[u8]>,
    },
    /// Copies rows within a device.
    Within {
        /// Origin of the rows.
        from: Rows,
        /// Destination of the rows, equal in number and length, which does not overlap the origin.
        to: Rows,
    },
}

impl Moved {
    /// The rows that are written, or read by a copy to the host, on the device.
    pub fn rows(&self) -> &Rows {
        match self {
            Moved::Copy { device: rows, .. } | Moved::Fill { rows, .. } | Moved::Within { to: rows, .. } => {
                rows
            }
        }
    }

    /// The buffers that the work names.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> + use<> {
        let other = match self {
            Moved::Within { from, .. } => Some(from.buffer),
            _ => None,
        };
        other.into_iter().chain([self.rows().buffer])
    }

    /// The work with its buffers renamed.
    pub fn renamed(&self, name: impl Fn(BufferId) -> BufferId) -> Moved {
        let rows = |rows: &Rows| Rows { buffer: name(rows.buffer), ..*rows };
        match self {
            Moved::Copy { direction, host, device } => {
                Moved::Copy { direction: *direction, host: rows(host), device: rows(device) }
            }
            Moved::Fill { rows: filled, value } => Moved::Fill { rows: rows(filled), value: value.clone() },
            Moved::Within { from, to } => Moved::Within { from: rows(from), to: rows(to) },
        }
    }
}

/// A transfer between a file and a part of a buffer on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The file.
    pub file: FileIndex,
    /// The part.
    pub part: Range,
    /// Offset in the file.
    pub at: u64,
}

/// Contents that the CPU computes instead of reading a file.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The values.
    pub values: Bytes,
    /// Speed at which the CPU computes the values.
    pub pace: Pace,
}

/// Time that computed values take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Time by number of bytes.
    Rate(BytesPerSecond),
    /// Time of all values together.
    Whole(SimTime),
}

impl Computed {
    /// Time at which the next `bytes` bytes, at `offset`, are ready, on a core that computes values one after another.
    pub(crate) fn ready(&self, core: &mut Wire, now: SimTime, offset: u64, bytes: u64) -> SimTime {
        match self.pace {
            Pace::Rate(rate) => core.pass(now, bytes, rate),
            Pace::Whole(time) => {
                let all = (self.values.len() as u128).max(1);
                let until = |bytes: u64| (u128::from(time.as_ps()) * u128::from(bytes) / all) as u64;
                // The core begins now, if it is free.
                core.pass(now, 0, BytesPerSecond::new(1));
                core.hold(SimTime::from_ps(until(offset + bytes) - until(offset)));
                core.free()
            }
        }
    }
}

/// A step that the host does by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStep {
    /// Fills a part of a buffer from a file, or with computed contents instead of the file.
    Read(Transfer),
    /// Writes a part of a buffer to a file.
    Write(Transfer),
    /// Is busy for a time.
    Busy(SimTime),
}

impl HostStep {
    /// Transfer of the step.
    pub fn transfer(&self) -> Option<&Transfer> {
        match self {
            HostStep::Read(transfer) | HostStep::Write(transfer) => Some(transfer),
            HostStep::Busy(_) => None,
        }
    }

    /// The step with its transfer replaced.
    pub fn changed(&self, change: impl FnOnce(Transfer) -> Transfer) -> HostStep {
        match *self {
            HostStep::Read(transfer) => HostStep::Read(change(transfer)),
            HostStep::Write(transfer) => HostStep::Write(change(transfer)),
            HostStep::Busy(time) => HostStep::Busy(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shared_by_all_bytes_without_drift() {
        let computed = |bytes: usize, time| Computed {
            values: vec![0; bytes].into(),
            pace: Pace::Whole(SimTime::from_ps(time)),
        };
        let (three, mut core) = (computed(3, 100), Wire::default());
        let now = SimTime::from_ps(50);
        let ready: Vec<u64> = (0..3).map(|at| three.ready(&mut core, now, at, 1).as_ps()).collect();
        assert_eq!(ready, [83, 116, 150], "thirds of 100 ps");
        assert_eq!(
            computed(3, 0).ready(&mut core, SimTime::from_ps(200), 0, 3).as_ps(),
            200,
            "no time at all"
        );
    }

    #[test]
    fn rows_lie_a_pitch_apart() {
        let rows = Rows { buffer: BufferId(0), offset: 4, bytes: 8, rows: 3, pitch: 20 };
        assert_eq!(rows.each().collect::<Vec<_>>(), [4..12, 24..32, 44..52]);
        assert_eq!((rows.total(), rows.end()), (24, 52));
    }
}
