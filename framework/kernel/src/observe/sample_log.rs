//! Compact samples: four numbers each, most of them small, with times and processes as differences from the sample before.
//!
//! A thread writes its samples in order, so that the samples of several threads are merged while they are read, without a
//! second copy.

use super::samples::Sample;
use crate::time::SimTime;

/// Samples of one thread, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    bytes: Vec<u8>,
    last: (u64, u32),
}

impl Log {
    /// Adds a sample behind the others.
    pub(crate) fn push(&mut self, sample: Sample) {
        let Sample { time, process, number, increase } = sample;
        let step = time.as_ps() - self.last.0;
        // One process follows another; where the time between samples has doubled, they begin again within a time.
        let onward = i64::from(process) - i64::from(self.last.1);
        let onward = ((onward << 1) ^ (onward >> 63)).cast_unsigned();
        for value in [step, onward, number.into(), increase] {
            self.write(value);
        }
        self.last = (time.as_ps(), process);
    }

    /// Seven bits a byte, the lowest first; all but the last have the eighth.
    fn write(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn iter(&self) -> Reader<'_> {
        Reader { bytes: &self.bytes, last: (0, 0) }
    }
}

/// Goes through a log.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    last: (u64, u32),
}

impl Reader<'_> {
    fn read(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Sample;

    fn next(&mut self) -> Option<Sample> {
        let (step, onward) = (self.read()?, self.read()?);
        let onward = (onward >> 1).cast_signed() ^ -(onward & 1).cast_signed();
        self.last = (self.last.0 + step, (i64::from(self.last.1) + onward) as u32);
        let (number, increase) = (self.read()? as u32, self.read()?);
        Some(Sample { time: SimTime::from_ps(self.last.0), process: self.last.1, number, increase })
    }
}

/// All samples of a run, by time, process and number.
#[derive(Clone, Debug, Default)]
pub struct SampleLog {
    threads: Vec<Log>,
}

impl SampleLog {
    /// Adds the samples of one more thread, whose processes are its own.
    pub(crate) fn add(&mut self, log: Log) {
        self.threads.push(log);
    }

    /// The samples in their order: those of one time are in memory at once.
    pub fn iter(&self) -> impl Iterator<Item = Sample> + '_ {
        let mut readers: Vec<_> = self.threads.iter().map(|log| log.iter().peekable()).collect();
        let times = std::iter::from_fn(move || {
            let time = readers.iter_mut().filter_map(|reader| Some(reader.peek()?.time)).min()?;
            let mut row = Vec::new();
            for reader in &mut readers {
                row.extend(std::iter::from_fn(|| reader.next_if(|sample| sample.time == time)));
            }
            row.sort_unstable();
            Some(row)
        });
        times.flatten()
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.threads.iter().map(|log| log.bytes.len()).sum()
    }
}

/// In their order already.
impl FromIterator<Sample> for SampleLog {
    fn from_iter<T: IntoIterator<Item = Sample>>(samples: T) -> Self {
        let mut log = Log::default();
        samples.into_iter().for_each(|sample| log.push(sample));
        SampleLog { threads: vec![log] }
    }
}

/// Equality of the samples, regardless of the threads that have taken them.
impl PartialEq for SampleLog {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample((time, process, number, increase): (u64, u32, u32, u64)) -> Sample {
        Sample { time: SimTime::from_ps(time), process, number, increase }
    }

    #[test]
    fn what_is_written_is_read_in_few_bytes() {
        let rows =
            [(0, 3, 1, 7), (0, 3, 2, u64::MAX), (0, 70_000, 0, 127), (10, 0, 128, 128), (u64::MAX, 9, 0, 1)];
        let log: SampleLog = rows.map(sample).into_iter().collect();
        assert_eq!(log.iter().collect::<Vec<_>>(), rows.map(sample));
        let plain: SampleLog =
            (0..1000).map(|at| sample((at / 10 * 1_000_000, 0, at as u32 % 10, 500))).collect();
        assert!(plain.bytes() < 6000, "{} bytes", plain.bytes());
    }

    #[test]
    fn threads_are_merged_by_time_process_and_number() {
        let rows = [
            (5, 0, 0, 1),
            (5, 0, 0, 3),
            (5, 1, 0, 2),
            (5, 2, 3, 3),
            (9, 1, 1, 4),
            (9, 2, 0, 5),
            (12, 0, 0, 6),
        ];
        let mut log = SampleLog::default();
        for thread in 0..3 {
            let mut own = Log::default();
            rows.into_iter().filter(|row| row.1 == thread).for_each(|row| own.push(sample(row)));
            log.add(own);
        }
        assert_eq!(log.iter().collect::<Vec<_>>(), rows.map(sample));
        assert_eq!(log, rows.map(sample).into_iter().collect());
        let backwards: SampleLog = [rows[3], rows[2], rows[0], rows[1]].map(sample).into_iter().collect();
        assert_eq!(backwards.iter().collect::<Vec<_>>(), rows.map(sample)[..4]);
    }
}
