//! The memory of the device library: a heap for `malloc`, and a ring for the output of `printf`. Each is made when a module first needs
//! it.

use super::FlatMemory;
use crate::execute::printf::Ring;
use crate::program::{Heap, Kernel, VariableBases};

/// Memory that the driver gives to the device library: sizes, and addresses once something needs it.
#[derive(Clone, Debug)]
pub(super) struct LibraryMemory {
    heap_bytes: u64,
    heap: Option<u64>,
    ring: Ring,
    printf: Option<u64>,
    /// Bytes that nobody has written hold this.
    unwritten: u8,
}

impl Default for LibraryMemory {
    fn default() -> Self {
        LibraryMemory::new(Heap::DEFAULT_BYTES, Ring::DEFAULT_BYTES, 0)
    }
}

impl LibraryMemory {
    fn new(heap_bytes: u64, ring_bytes: u64, unwritten: u8) -> Self {
        LibraryMemory { heap_bytes, heap: None, ring: Ring::new(ring_bytes), printf: None, unwritten }
    }
}

impl FlatMemory {
    /// Sets the sizes of the device library's memory, and the content of its bytes that nobody has written, before a module that needs it is
    /// loaded.
    pub fn set_library(&mut self, heap_bytes: u64, ring_bytes: u64, unwritten: u8) {
        self.library = LibraryMemory::new(heap_bytes, ring_bytes, unwritten);
    }

    /// Gives the heap another size, and so another address, with no block in it; modules already loaded find it by
    /// [`FlatMemory::point`].
    pub fn resize_heap(&mut self, bytes: u64) {
        self.library.heap_bytes = bytes;
        let old = self.library.heap.take();
        self.forget(old);
    }

    /// Gives the ring of printed records another size, and so another address. Text that nobody has taken is lost.
    pub fn resize_printf(&mut self, bytes: u64) {
        self.library.ring = Ring::new(bytes);
        let old = self.library.printf.take();
        self.forget(old);
    }

    /// Gives a loaded module the current addresses of heap and ring.
    pub fn point(&mut self, kernel: &Kernel, bases: VariableBases) -> VariableBases {
        let bases = self.with_library(kernel, bases);
        for (address, value) in kernel.library_pointers(bases) {
            self.fill(address, &value.to_le_bytes());
        }
        bases
    }

    pub(super) fn with_library(&mut self, kernel: &Kernel, bases: VariableBases) -> VariableBases {
        let heap = if kernel.allocates() { self.heap() } else { 0 };
        let printf = if kernel.prints() { self.printf_ring() } else { 0 };
        VariableBases { heap, printf, ..bases }
    }

    /// The library's memory at an address is no one's any more.
    fn forget(&mut self, address: Option<u64>) {
        if let Some(piece) = address.and_then(|address| self.piece(address)) {
            self.pieces.remove(piece);
        }
    }

    /// The text that kernels have printed since the last call. If it exceeded the ring, the oldest is lost.
    pub fn take_printed(&mut self) -> String {
        let mut text = String::new();
        let Some(address) = self.library.printf else { return text };
        let start = (address - self.base) as usize;
        let ring = &self.bytes[start..start + self.library.ring.bytes() as usize];
        let parts = self.library.ring.unread(ring);
        let bytes: Vec<u8> = parts
            .into_iter()
            .flat_map(|part| &ring[part.start as usize..part.end as usize])
            .copied()
            .collect();
        self.library.ring.take(ring, &bytes, &mut text);
        text
    }

    /// Bytes of records that have been lost so far because newer ones overwrote them.
    pub fn printed_lost(&self) -> u64 {
        self.library.ring.lost()
    }

    /// The address of the heap, which is made when it is first needed.
    fn heap(&mut self) -> u64 {
        if let Some(address) = self.library.heap {
            return address;
        }
        let bytes = self.library.heap_bytes;
        let address = self.give_library("heap of the device", &Heap::header(bytes), bytes);
        *self.library.heap.insert(address)
    }

    fn printf_ring(&mut self) -> u64 {
        if let Some(address) = self.library.printf {
            return address;
        }
        let ring = &self.library.ring;
        let (header, bytes) = (ring.header(), ring.bytes());
        let address = self.give_library("printf buffer of the device", &header, bytes);
        *self.library.printf.insert(address)
    }

    fn give_library(&mut self, name: &str, header: &[u8], bytes: u64) -> u64 {
        let address = self.allocate(name, bytes as usize, self.library.unwritten);
        self.written(address, 0..header.len());
        self.fill(address, header);
        self.pieces.iter_mut().rev().take(1).for_each(|piece| piece.library = true);
        address
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 7.0
.target sm_50
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.global .align 4 .u32 before = 1;
.visible .entry f()
{
	.reg .b64 %rd<2>;
	.param .b64 p;
	.param .b64 r;
	mov.u64 %rd1, 16;
	st.param.b64 [p], %rd1;
	call.uni (r), malloc, (p);
	ret;
}
.visible .entry g()
{
	ret;
}
";

    #[test]
    fn modules_find_a_heap_that_has_another_size() {
        let kernels = ["f", "g"]
            .map(|name| Kernel::compile(PTX, Some(name)).unwrap_or_else(|errors| panic!("{errors:?}")));
        assert_eq!([kernels[0].calls("malloc"), kernels[1].calls("malloc")], [true, false]);
        let mut memory = FlatMemory::new(0);
        let before = memory.load("m", &kernels[0]);
        memory.resize_heap(1 << 20);
        let after = memory.point(&kernels[0], before);
        assert_eq!((after.globals, after.printf), (before.globals, 0));
        assert!(memory.allocation(before.heap).is_none(), "nobody has it any more");
        let word = |memory: &FlatMemory, address: u64| {
            let start = (address - memory.base) as usize;
            u64::from_le_bytes(memory.bytes[start..start + 8].try_into().expect("8 bytes"))
        };
        let pointers: Vec<(u64, u64)> = kernels[0].library_pointers(after).collect();
        assert_eq!(pointers.len(), 1);
        assert_eq!((pointers[0].1, word(&memory, pointers[0].0)), (after.heap, after.heap));
        assert_eq!(word(&memory, after.heap), 1 << 20, "its size comes first");
    }
}
