//! A storage device: files, with a bandwidth each way, a latency, and a queue.
//!
//! The bytes are those of real files: reading them and collecting what is written is an edge to the outside world,
//! given as a resource of type [`Disk`].

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::model::{BusyTime, Component, Context, Counter, Invalid, Params, Ports, Stats};
use counterpoint_framework::time::{BytesPerSecond, SimTime, Wire};
use counterpoint_protocols::host::{FileIndex, StorageReply, StorageRequest, StorageServer};
use counterpoint_protocols::roles;

/// The files of a run: those that it reads, and those that it writes.
#[derive(Default)]
pub struct Disk {
    files: Vec<Mutex<Stored>>,
}

/// The contents of a file.
#[derive(Debug)]
pub enum Stored {
    /// In memory, and not to be written.
    Held(Bytes),
    /// A real file, which is read piece by piece and not written.
    File(File),
    /// The bytes that have been written.
    Written(Vec<u8>),
}

impl Default for Stored {
    /// A file to be written.
    fn default() -> Self {
        Stored::Written(Vec::new())
    }
}

impl Disk {
    /// Files with the given contents, in the order of their index.
    pub fn new(files: impl IntoIterator<Item = Stored>) -> Self {
        Disk { files: files.into_iter().map(Mutex::new).collect() }
    }

    fn file(&self, file: FileIndex) -> io::Result<MutexGuard<'_, Stored>> {
        let found =
            self.files.get(file.0 as usize).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The bytes of a file that has been written, or is in memory; it is not written any more.
    pub fn written(&self, file: FileIndex) -> Bytes {
        let Ok(mut file) = self.file(file) else { return Bytes::new() };
        if let Stored::Written(bytes) = &mut *file {
            *file = Stored::Held(std::mem::take(bytes).into());
        }
        match &*file {
            Stored::Held(bytes) => bytes.clone(),
            _ => Bytes::new(),
        }
    }

    /// Writes into a file, from one of its bytes on, without a device that takes its time; a file that does not exist stays so. All of a
    /// file is not copied.
    pub fn put(&self, file: FileIndex, at: u64, contents: Bytes) {
        let Ok(mut file) = self.file(file) else { return };
        let mut written = match std::mem::take(&mut *file) {
            Stored::Written(written) if written.is_empty() && at == 0 => {
                *file = Stored::Held(contents);
                return;
            }
            Stored::Written(written) => written,
            Stored::Held(held) => held.into(),
            read @ Stored::File(_) => {
                *file = read;
                return;
            }
        };
        place(&mut written, at, &contents);
        *file = Stored::Written(written);
    }

    fn read(&self, file: FileIndex, offset: u64, bytes: u32) -> io::Result<Box<[u8]>> {
        let mut file = self.file(file)?;
        let held: &[u8] = match &mut *file {
            Stored::File(file) => {
                let mut values = vec![0; bytes as usize].into_boxed_slice();
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(&mut values)?;
                return Ok(values);
            }
            Stored::Held(held) => held,
            Stored::Written(held) => held,
        };
        let part = held.get(offset as usize..offset as usize + bytes as usize);
        part.map(Box::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn write(&self, file: FileIndex, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut file = self.file(file)?;
        let Stored::Written(written) = &mut *file else { return Err(io::ErrorKind::PermissionDenied.into()) };
        place(written, offset, data);
        Ok(())
    }
}

/// Puts bytes into a file that grows to hold them.
fn place(written: &mut Vec<u8>, at: u64, data: &[u8]) {
    let end = at as usize + data.len();
    if written.len() < end {
        written.resize(end, 0);
    }
    written[at as usize..end].copy_from_slice(data);
}

/// Speed of a storage device.
#[derive(Clone, Debug, Params)]
pub struct StorageParams {
    /// Bytes read in a second.
    #[param(default = "500 MB/s", min = "1 KB/s")]
    read_bandwidth: BytesPerSecond,
    /// Bytes written in a second.
    #[param(default = "500 MB/s", min = "1 KB/s")]
    write_bandwidth: BytesPerSecond,
    /// From the end of a transfer to its answer.
    #[param(default = "0 ns")]
    latency: SimTime,
    /// Time that every request occupies the device besides its transfer.
    #[param(default = "0 ns")]
    overhead: SimTime,
}

/// The ports of a storage device.
#[derive(Ports)]
pub struct StoragePorts {
    /// The host.
    host: StorageServer,
}

/// Statistics of a storage device.
#[derive(Default, Stats)]
pub struct StorageStats {
    /// Read requests.
    #[stat(unit = "requests")]
    reads: Counter,
    /// Write requests.
    #[stat(unit = "requests")]
    writes: Counter,
    /// Bytes read.
    #[stat(unit = "bytes")]
    read_bytes: Counter,
    /// Bytes written.
    #[stat(unit = "bytes")]
    written_bytes: Counter,
    /// Time during which the device was busy.
    #[stat(unit = "ps")]
    busy: BusyTime,
}

/// A storage device.
pub struct Storage {
    params: StorageParams,
}

impl Storage {
    fn serve(request: StorageRequest, disk: &Disk, stats: &StorageStats) -> Result<StorageReply, Fault> {
        match request {
            StorageRequest::Read { tag, file, offset, bytes } => {
                stats.reads.add(1);
                stats.read_bytes.add(u64::from(bytes));
                let data = disk.read(file, offset, bytes).map_err(|error| match error.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        Fault::new(format!("file {} ends before {offset} + {bytes}", file.0))
                    }
                    _ => Fault::new(format!("file {} cannot be read: {error}", file.0)),
                });
                Ok(StorageReply::Values { tag, data: data? })
            }
            StorageRequest::Write { tag, file, offset, data } => {
                stats.writes.add(1);
                stats.written_bytes.add(data.len() as u64);
                let cannot = |error| Fault::new(format!("file {} cannot be written: {error}", file.0));
                disk.write(file, offset, &data).map_err(cannot)?;
                Ok(StorageReply::Written { tag })
            }
        }
    }
}

impl Component for Storage {
    const KIND: &'static str = "io/storage";
    const DOC: &'static str = "A storage device with a bandwidth each way, a latency and a cost per request.";
    const DAEMON: bool = true;
    const ROLE: &'static str = roles::STORAGE;
    type Params = StorageParams;
    type Ports = StoragePorts;
    type Stats = StorageStats;

    fn new(params: StorageParams) -> Result<Self, Invalid> {
        Ok(Storage { params })
    }

    async fn run(&mut self, io: &mut StoragePorts, sim: &Context<StorageStats>) -> Result<(), Fault> {
        let disk = sim.resource::<Disk>().ok_or_else(|| Fault::new("the run was given no files"))?;
        let mut medium = Wire::default();
        let track = sim.busy_track("medium", &["requests", "bytes"]);
        loop {
            let permit = io.host.tx.reserve().await;
            let request = io.host.rx.recv().await;
            let now = sim.now();
            let (bytes, bandwidth) = match &request {
                StorageRequest::Read { bytes, .. } => (u64::from(*bytes), self.params.read_bandwidth),
                StorageRequest::Write { data, .. } => (data.len() as u64, self.params.write_bandwidth),
            };
            let start = medium.free().max(now);
            medium.pass(now, bytes, bandwidth);
            medium.hold(self.params.overhead);
            sim.stats.busy.book(start, medium.free());
            track.begin(start);
            track.count([1, bytes]);
            track.end(medium.free());
            sim.trace(|| {
                let what = if matches!(request, StorageRequest::Read { .. }) { "reads" } else { "writes" };
                format!("{what} {bytes} bytes")
            });
            let reply = Self::serve(request, &disk, &sim.stats)?;
            permit.send_after(medium.free() + self.params.latency - now, reply);
            // The next request is taken at the last edge before the device is free; the device itself keeps exact time.
            if medium.free() > sim.cycles_from_now(1) {
                sim.until(medium.free() - sim.span(1)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file_make_one_and_all_of_it_is_not_copied() {
        let disk = Disk::new([Stored::default(), Stored::default()]);
        let whole = Bytes::from_static(&[1, 2, 3, 4]);
        disk.put(FileIndex(0), 0, whole.clone());
        assert_eq!(disk.written(FileIndex(0)).as_ptr(), whole.as_ptr());
        disk.put(FileIndex(0), 6, Bytes::from_static(&[7]));
        disk.put(FileIndex(0), 1, Bytes::from_static(&[8, 9]));
        disk.put(FileIndex(1), 2, Bytes::from_static(&[5]));
        assert_eq!(disk.written(FileIndex(0))[..], [1, 8, 9, 4, 0, 0, 7]);
        assert_eq!(disk.written(FileIndex(1))[..], [0, 0, 5]);
    }
}
