//! `heap:`, `printf:` and `stack:`: memory of each device that kernels use without naming it.

use counterpoint_framework::model::Node;
use counterpoint_framework::time::Bytes;
use counterpoint_host_model::program::LibrarySizes;
use counterpoint_ptx::{Heap, StackSize};

use super::keys::ApplicationKeys;
use super::reader::Reader;

/// The smallest ring that has room for a line of text.
const LEAST_PRINTF: u64 = 1 << 10;
/// The largest ring: records are numbered by words of 32 bits.
const MOST_PRINTF: u64 = 1 << 30;

impl Reader<'_> {
    /// Reads the sizes; those that are not given are CUDA's.
    pub(super) fn read_library(&mut self, keys: &ApplicationKeys) {
        let LibrarySizes { heap, printf } = LibrarySizes::default();
        let heap = self.size(keys.heap.as_deref(), heap, 2 * Heap::HEADER_BYTES..=Heap::MOST_BYTES);
        let printf = self.size(keys.printf.as_deref(), printf, LEAST_PRINTF..=MOST_PRINTF);
        self.application.library = LibrarySizes { heap, printf };
        self.read_stack(keys.stack.as_deref());
    }

    fn read_stack(&mut self, node: Option<&Node>) {
        let Some(node) = node else { return };
        let usual = StackSize::default().bytes().into();
        match StackSize::new(self.size(Some(node), usual, StackSize::STEP..=StackSize::MOST)) {
            Some(stack) => self.application.stack = Some(stack),
            None => {
                let message = format!("expected a multiple of {} bytes", StackSize::STEP);
                self.diagnostics.error(node.span, message);
            }
        }
    }

    /// Bytes within bounds.
    fn size(&mut self, node: Option<&Node>, default: u64, bounds: std::ops::RangeInclusive<u64>) -> u64 {
        let Some(node) = node else { return default };
        let Some(text) = self.text(node) else { return default };
        match text.parse::<Bytes>() {
            Ok(bytes) if bounds.contains(&bytes.get()) => return bytes.get(),
            Ok(_) => {
                let (least, most) = (Bytes::new(*bounds.start()), Bytes::new(*bounds.end()));
                self.diagnostics.error(node.span, format!("expected {least} to {most}"));
            }
            Err(problem) => self.diagnostics.error(node.span, problem.to_string()),
        }
        default
    }
}
