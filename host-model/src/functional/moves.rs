//! Copies, fills and steps of the host without time, and the memory that they touch for the search for races.

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;
use counterpoint_ptx::functional::Touched;

use super::races::{MemoryPlace, Name, Race, Touches};
use super::{Files, FunctionalHost};
use crate::program::{HostStep, Moved, Range, Rows, Transfer};

impl FunctionalHost<'_> {
    pub(super) fn copy(&mut self, direction: Direction, part: Range, stream: u32) -> Result<(), Fault> {
        let (host, device) = (part.into(), part.into());
        self.move_rows(&Moved::Copy { direction, host, device }, stream)
    }

    /// Copies or fills rows.
    pub(super) fn move_rows(&mut self, moved: &Moved, stream: u32) -> Result<(), Fault> {
        for buffer in moved.buffers() {
            self.check_live(self.place(buffer))?;
        }
        self.check_move(moved, stream);
        match moved {
            Moved::Copy { direction, host, device } => {
                let place = self.place(device.buffer);
                for (on_host, on_device) in host.each().zip(device.each()) {
                    let (host, device) = self.both(place)?;
                    let (host, device) = (&mut host[on_host], &mut device[on_device]);
                    match direction {
                        Direction::HostToDevice => device.copy_from_slice(host),
                        Direction::DeviceToHost => host.copy_from_slice(device),
                    }
                }
                if *direction == Direction::HostToDevice {
                    self.rows_written(device)?;
                }
            }
            Moved::Fill { rows, value } => {
                let place = self.place(rows.buffer);
                for row in rows.each() {
                    let (_, device) = self.both(place)?;
                    device[row].chunks_mut(value.len()).for_each(|one| one.copy_from_slice(value));
                }
                self.rows_written(rows)?;
            }
            Moved::Within { from, to } => {
                let places = [from, to].map(|rows| self.place(rows.buffer));
                let space = self.application.space_of(places[0]);
                let [source, target] = places.map(|place| self.memories.addresses[place]);
                let memory = self.memories.of(space)?;
                let [source, target] = [source, target].map(|address| (address - memory.base) as usize);
                for (row, copy) in from.each().zip(to.each()) {
                    memory.bytes.copy_within(source + row.start..source + row.end, target + copy.start);
                }
                self.rows_written(to)?;
            }
        }
        self.journal.moved(moved.rows().total());
        Ok(())
    }

    fn rows_written(&mut self, rows: &Rows) -> Result<(), Fault> {
        let place = self.place(rows.buffer);
        let space = self.application.space_of(place);
        rows.each().try_for_each(|row| self.memories.written(space, place, row))
    }

    /// Looks for races of a copy or a fill.
    pub(super) fn check_move(&mut self, moved: &Moved, stream: u32) {
        if self.races.is_none() {
            return;
        }
        let of = |rows: &Rows| &self.application.buffers[self.place(rows.buffer)];
        let mut touches = Touches::new();
        let (device, name) = match moved {
            Moved::Copy { direction, host, device } => {
                let way = match direction {
                    Direction::HostToDevice => "in",
                    Direction::DeviceToHost => "out",
                };
                let writes = *direction == Direction::HostToDevice;
                self.touch_host(&mut touches, host, !writes);
                self.touch_device(&mut touches, device, writes);
                (of(device).device, format!("the copy {way} of `{}`", of(device).name))
            }
            Moved::Fill { rows, .. } => {
                self.touch_device(&mut touches, rows, true);
                (of(rows).device, format!("the fill of `{}`", of(rows).name))
            }
            Moved::Within { from, to } => {
                self.touch_device(&mut touches, from, false);
                self.touch_device(&mut touches, to, true);
                (of(to).device, format!("the copy of `{}` to `{}`", of(from).name, of(to).name))
            }
        };
        self.check_races(device, stream, Name { title: name.clone(), full: name }, touches);
    }

    fn touch_host(&self, touches: &mut Touches, rows: &Rows, writes: bool) {
        note(touches.entry(MemoryPlace::Host(self.place(rows.buffer))).or_default(), rows, 0, writes);
    }

    fn touch_device(&self, touches: &mut Touches, rows: &Rows, writes: bool) {
        let place = self.place(rows.buffer);
        let (home, address) = (self.memories.homes[place], self.memories.addresses[place]);
        let on_device = MemoryPlace::Device(self.application.space_of(place), home);
        note(touches.entry(on_device).or_default(), rows, (address - home) as usize, writes);
    }

    /// Executes a step of the host, and looks for its races.
    pub(super) fn host_step(&mut self, step: &HostStep, files: &mut impl Files) -> Result<(), Fault> {
        let Some(&Transfer { file, part, at }) = step.transfer() else { return Ok(()) };
        let place = self.place(part.buffer);
        self.check_host(step, part);
        match step {
            HostStep::Read(_) => {
                files.read(file, at, &mut self.host[place][part.bytes_of()])?;
            }
            HostStep::Write(_) => {
                files.write(file, at, self.host[place][part.bytes_of()].to_vec().into());
            }
            HostStep::Busy(_) => {}
        }
        self.journal.moved(part.bytes);
        Ok(())
    }

    /// Looks for races of the host with commands for which it has not waited.
    fn check_host(&mut self, step: &HostStep, part: Range) {
        let place = self.place(part.buffer);
        let (name, writes) = match step {
            HostStep::Read(transfer) if self.application.computed.contains_key(&transfer.file) => {
                ("the computation of", true)
            }
            HostStep::Read(_) => ("the reading of", true),
            _ => ("the writing of", false),
        };
        let name = format!("{name} `{}`", self.application.buffers[place].name);
        let Some(races) = &self.races else { return };
        let mut touches = Touches::new();
        self.touch_host(&mut touches, &part.into(), writes);
        let found: Vec<Race> = races.host(Name { title: name.clone(), full: name }, &touches);
        found.into_iter().for_each(|race| self.report(race));
    }
}

/// Notes rows of an allocation, whose buffer begins `within` bytes behind its beginning.
fn note(touched: &mut Touched, rows: &Rows, within: usize, writes: bool) {
    for row in rows.each() {
        let row = within + row.start..within + row.end;
        if writes { touched.note_write(row) } else { touched.note_read(row) }
    }
}

/// A pair of functions: one reads, one writes.
impl<R, W> Files for (R, W)
where
    R: FnMut(FileIndex, u64, &mut [u8]) -> Result<(), Fault>,
    W: FnMut(FileIndex, u64, bytes::Bytes),
{
    fn read(&mut self, file: FileIndex, at: u64, place: &mut [u8]) -> Result<(), Fault> {
        self.0(file, at, place)
    }

    fn write(&mut self, file: FileIndex, at: u64, contents: bytes::Bytes) {
        self.1(file, at, contents);
    }
}
