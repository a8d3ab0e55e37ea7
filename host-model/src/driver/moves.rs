//! Copies and fills: parts of buffers between host and device, and rows on a device.

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_protocols::bus::{
    self, CommandId, Copy, Direction, Move, RowSource, RowTarget, Title, Work,
};
use counterpoint_protocols::extra::LineTag;

use super::Driver;
use crate::program::{BufferId, Moved, Range, Rows};

impl Driver<'_> {
    /// Begins a copy of a buffer; the result names it.
    ///
    /// # Errors
    /// If it has been freed.
    pub async fn copy(
        &mut self,
        direction: Direction,
        buffer: BufferId,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        self.copy_part(direction, self.application.whole(buffer), stream, parent).await
    }

    /// Begins a copy of a part of a buffer; the result names it.
    ///
    /// # Errors
    /// If the buffer has been freed.
    pub async fn copy_part(
        &mut self,
        direction: Direction,
        Range { buffer, offset, bytes }: Range,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        let place = self.place(buffer);
        self.check_live(place)?;
        let title = Title { name: self.copy_name(direction, place).into(), parent };
        let device = self.application.buffers[place].device;
        if direction == Direction::HostToDevice {
            self.constants_written(place);
        }
        let (host, on_device) = (self.host_address[place] + offset, self.device_address[place] + offset);
        let work = Work::Copy(Copy { direction, host, device: on_device, bytes, tag: LineTag::NONE });
        Ok(self.command(device, stream, work, Some(title), bytes).await)
    }

    /// Begins to fill or to copy rows; the result names it.
    ///
    /// # Errors
    /// If a buffer has been freed.
    pub async fn move_rows(
        &mut self,
        moved: &Moved,
        stream: u32,
        parent: Option<SpanId>,
    ) -> Result<CommandId, Fault> {
        for buffer in moved.buffers() {
            self.check_live(self.place(buffer))?;
        }
        let rows = *moved.rows();
        let place = self.place(rows.buffer);
        let (from, to, name) = match moved {
            Moved::Copy { direction, host, device } => {
                let (host, device) = (rows_at(&self.host_address, place, host), self.on_device(device));
                let name = self.copy_name(*direction, place);
                match direction {
                    Direction::HostToDevice => (RowSource::Host(host), RowTarget::Device(device), name),
                    Direction::DeviceToHost => (RowSource::Device(device), RowTarget::Host(host), name),
                }
            }
            Moved::Fill { rows, value } => {
                let mut bytes = [0; 8];
                bytes.iter_mut().zip(value.iter().cycle()).for_each(|(byte, value)| *byte = *value);
                let name = format!("fill {}", self.application.buffers[place].name);
                (RowSource::Value(bytes), RowTarget::Device(self.on_device(rows)), name)
            }
            Moved::Within { from, to } => {
                let names = [from, to].map(|rows| &*self.application.buffers[self.place(rows.buffer)].name);
                let name = format!("copy {} to {}", names[0], names[1]);
                (RowSource::Device(self.on_device(from)), RowTarget::Device(self.on_device(to)), name)
            }
        };
        if matches!(to, RowTarget::Device(_)) {
            self.constants_written(place);
        }
        let work = Work::Move(Box::new(Move { from, to, bytes: rows.bytes, rows: rows.rows }));
        let (device, title) = (self.application.buffers[place].device, Title { name: name.into(), parent });
        Ok(self.command(device, stream, work, Some(title), rows.total()).await)
    }

    fn copy_name(&self, direction: Direction, place: usize) -> String {
        let way = match direction {
            Direction::HostToDevice => "H2D",
            Direction::DeviceToHost => "D2H",
        };
        format!("{way} {}", self.application.buffers[place].name)
    }

    fn on_device(&self, rows: &Rows) -> bus::Rows {
        rows_at(&self.device_address, self.place(rows.buffer), rows)
    }

    /// A copy writes a buffer: if it is a constant of a module, later launches do not find the old one in a cache.
    fn constants_written(&mut self, place: usize) {
        if self.application.variable_of(place).is_some_and(|(variable, _)| variable.constant) {
            *self.constant_writes.entry(self.application.buffers[place].device).or_default() += 1;
        }
    }
}

fn rows_at(addresses: &[u64], place: usize, rows: &Rows) -> bus::Rows {
    bus::Rows { first: addresses[place] + rows.offset, pitch: rows.pitch }
}
