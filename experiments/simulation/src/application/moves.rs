//! Copies and fills among the steps: whole buffers, parts of them, and rows.

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_host_model::program::{BufferId, Moved, Range, Rows, Step};
use counterpoint_protocols::bus::Direction;

use super::keys::{
    CopyInStep, CopyKeys, CopyOutStep, CopyWithinStep, MemsetKeys, MemsetStep, OnStream, PartKeys, RowKeys,
    Single,
};
use super::reader::Reader;

impl Reader<'_> {
    pub(super) fn copy_in(&mut self, keys: &CopyInStep) -> Option<Step> {
        self.copy(&keys.copy_in, &keys.on, Direction::HostToDevice)
    }

    pub(super) fn copy_out(&mut self, keys: &CopyOutStep) -> Option<Step> {
        self.copy(&keys.copy_out, &keys.on, Direction::DeviceToHost)
    }

    /// A copy between host and device.
    fn copy(&mut self, node: &Node, on: &OnStream, direction: Direction) -> Option<Step> {
        self.looked_at(node.span);
        if node.as_map().is_none() {
            let buffer = self.buffer(node)?;
            let stream = self.stream_of(on, self.device_of(buffer))?;
            return Some(Step::Copy { direction, part: self.application.whole(buffer), stream });
        }
        let keys: CopyKeys = self.read(node)?;
        let buffer = self.buffer(&keys.buffer)?;
        let device = self.rows(node, &keys.rows, buffer)?;
        let host =
            self.other_rows(node, buffer, (keys.host_element, keys.host_pitch, "host_pitch"), &device)?;
        let stream = self.stream_of(on, self.device_of(buffer))?;
        if device.rows == 1 && host.offset == device.offset {
            let part = Range { buffer, offset: device.offset, bytes: device.bytes };
            return Some(Step::Copy { direction, part, stream });
        }
        Some(Step::Move { moved: Moved::Copy { direction, host, device }, stream })
    }

    pub(super) fn memset(&mut self, MemsetStep { memset: node, on }: &MemsetStep) -> Option<Step> {
        self.looked_at(node.span);
        let (rows, value) = if node.as_map().is_none() {
            let buffer = self.buffer(node)?;
            (self.application.whole(buffer).into(), None)
        } else {
            let keys: MemsetKeys = self.read(node)?;
            let buffer = self.buffer(&keys.buffer)?;
            let value = match &keys.value {
                Some(value) => Some(self.element_value(value, buffer)?),
                None => None,
            };
            (self.rows(node, &keys.rows, buffer)?, value)
        };
        let size = self.element_bytes(rows.buffer) as usize;
        let value = value.unwrap_or_else(|| vec![0; size]).into();
        let stream = self.stream_of(on, self.device_of(rows.buffer))?;
        Some(Step::Move { moved: Moved::Fill { rows, value }, stream })
    }

    pub(super) fn copy_within(&mut self, CopyWithinStep { copy: node, on }: &CopyWithinStep) -> Option<Step> {
        let keys = self.open(node)?;
        let (from, to) = (self.buffer(&keys.from), self.buffer(&keys.to));
        let (from, to) = (from?, to?);
        self.looked_at(keys.from.span);
        self.looked_at(keys.to.span);
        let (device, other) = (self.device_of(from), self.device_of(to));
        if device != other {
            let message = format!(
                "`{}` lies on device {device}, `{}` on device {other}",
                self.name_of(from),
                self.name_of(to)
            );
            let help = "a copy on a device has both there; through the host it is `copy_out` and `copy_in`";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        }
        let from = self.rows(node, &keys.rows, from)?;
        let to = self.other_rows(node, to, (keys.to_element, keys.to_pitch, "to_pitch"), &from)?;
        if from.buffer == to.buffer && overlap(&from, &to) {
            let message = format!("the parts of `{}` overlap", self.name_of(to.buffer));
            let help = "what is copied must not be written by the same copy";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
        }
        let stream = self.stream_of(on, device)?;
        Some(Step::Move { moved: Moved::Within { from, to }, stream })
    }

    /// Part of a buffer; the whole buffer if no part is described.
    pub(super) fn part_of(&mut self, keys: &PartKeys, buffer: BufferId) -> Option<Range> {
        let offset = self.offset_of_element(keys.element.as_deref(), buffer)?;
        let size = self.element_bytes(buffer);
        let (name, bytes) = (self.name_of(buffer), self.application.buffers[buffer.0 as usize].bytes);
        let behind = bytes.saturating_sub(offset) / size;
        let count = match &keys.elements {
            Some(node) => {
                let what = format!("the number of elements of `{name}` from {} on", offset / size);
                self.count(node, &what, 1, behind.max(1))?
            }
            None => behind,
        };
        Some(Range { buffer, offset, bytes: count * size })
    }

    /// The rows that a node describes; one row unless it says otherwise.
    fn rows(&mut self, node: &Node, keys: &RowKeys, buffer: BufferId) -> Option<Rows> {
        let elements = self.application.buffers[buffer.0 as usize].bytes / self.element_bytes(buffer);
        let rows = keys.rows.as_ref();
        let rows = rows.map_or(Some(1), |node| self.count(node, "rows", 1, elements.max(1)))?;
        if rows > 1 {
            self.required(keys.part.elements.as_deref(), node, "elements", "a part of several rows")?;
        }
        let part = self.part_of(&keys.part, buffer)?;
        let pitch = self.pitch(keys.pitch.as_deref(), "pitch", buffer)?.unwrap_or(part.bytes);
        let rows = Rows { buffer, offset: part.offset, bytes: part.bytes, rows, pitch };
        self.check_rows(keys.pitch.as_deref().unwrap_or(node).span, &rows)
    }

    /// Rows on the other side of a copy, equal in number and length; at the same offset unless the node
    /// states another one.
    fn other_rows(
        &mut self,
        node: &Node,
        buffer: BufferId,
        (element, pitch, key): (Option<Single>, Option<Single>, &str),
        one: &Rows,
    ) -> Option<Rows> {
        let size = self.element_bytes(buffer);
        let elements = self.application.buffers[buffer.0 as usize].bytes / size;
        let offset = match &element {
            Some(node) => {
                let what = format!("the element of `{}`", self.name_of(buffer));
                self.count(node, &what, 0, elements.max(1) - 1)? * size
            }
            None => one.offset,
        };
        let distance = self.pitch(pitch.as_deref(), key, buffer)?.unwrap_or(one.pitch);
        let rows = Rows { buffer, offset, pitch: distance, ..*one };
        let place = pitch.as_deref().or(element.as_deref()).unwrap_or(node);
        self.check_whole(place.span, &rows)?;
        self.check_rows(place.span, &rows)
    }

    /// Reports rows of bytes that are no whole elements of their buffer, as those of a buffer of another type may be.
    fn check_whole(&mut self, span: Span, rows: &Rows) -> Option<()> {
        let size = self.element_bytes(rows.buffer);
        let parts = [("the place", rows.offset), ("a row", rows.bytes), ("the pitch", rows.pitch)];
        let several = if rows.rows > 1 { 3 } else { 2 };
        let Some((what, bytes)) = parts[..several].iter().find(|(_, bytes)| !bytes.is_multiple_of(size))
        else {
            return Some(());
        };
        let name = self.name_of(rows.buffer);
        let message = format!(
            "{what} of {bytes} bytes is not a whole number of elements of `{name}`, which have {size}"
        );
        let help = "`element`, `elements` and `pitch` count elements of `from`, `to_element` and `to_pitch` those of `to`";
        self.diagnostics.report(Diagnostic::new(span, message).help(help));
        None
    }

    /// A distance of rows in bytes, if it is given.
    fn pitch(&mut self, node: Option<&Node>, key: &str, buffer: BufferId) -> Option<Option<u64>> {
        let Some(node) = node else { return Some(None) };
        let size = self.element_bytes(buffer);
        let elements = self.application.buffers[buffer.0 as usize].bytes / size;
        self.count(node, key, 1, elements.max(1)).map(|pitch| Some(pitch * size))
    }

    /// Rows, after a check that they are within their buffer and do not overlap one another.
    fn check_rows(&mut self, span: Span, rows: &Rows) -> Option<Rows> {
        let size = self.element_bytes(rows.buffer);
        let (name, bytes) =
            (self.name_of(rows.buffer), self.application.buffers[rows.buffer.0 as usize].bytes);
        let last = (rows.rows - 1).saturating_mul(rows.pitch).saturating_add(rows.offset);
        let problem = if rows.rows > 1 && rows.pitch < rows.bytes {
            format!("rows of {} bytes cannot lie {} bytes apart", rows.bytes, rows.pitch)
        } else if last.saturating_add(rows.bytes) > bytes {
            let end = last.saturating_add(rows.bytes).div_ceil(size);
            format!("the part ends with element {end} of `{name}`, which has {}", bytes / size)
        } else {
            return Some(*rows);
        };
        self.diagnostics.error(span, problem);
        None
    }

    fn element_bytes(&self, buffer: BufferId) -> u64 {
        self.elements[buffer.0 as usize].bytes() as u64
    }

    fn device_of(&self, buffer: BufferId) -> u32 {
        self.application.buffers[buffer.0 as usize].device
    }

    pub(super) fn name_of(&self, buffer: BufferId) -> String {
        self.application.buffers[buffer.0 as usize].name.clone()
    }
}

/// Whether two sets of rows of one buffer have a byte in common; the rows of each set are in ascending order
/// and do not overlap.
fn overlap(one: &Rows, other: &Rows) -> bool {
    let (mut ones, mut others) = (one.each().peekable(), other.each().peekable());
    while let (Some(a), Some(b)) = (ones.peek(), others.peek()) {
        if a.end <= b.start {
            ones.next();
        } else if b.end <= a.start {
            others.next();
        } else {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_between_rows_do_not_overlap() {
        let rows = |offset, bytes, rows, pitch| Rows { buffer: BufferId(0), offset, bytes, rows, pitch };
        assert!(!overlap(&rows(0, 8, 4, 16), &rows(8, 8, 4, 16)), "two columns");
        assert!(overlap(&rows(0, 8, 4, 16), &rows(8, 9, 3, 16)));
        assert!(overlap(&rows(0, 4, 4, 16), &rows(48, 4, 1, 4)), "the last row");
        assert!(!overlap(&rows(0, 4, 4, 16), &rows(52, 4, 1, 4)));
    }
}
