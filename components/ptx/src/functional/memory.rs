//! The memory of a device: one run of bytes with allocations in it.

use std::io;
use std::ops::Range;

mod library;

use self::library::LibraryMemory;
use super::first_touch::{FirstBytes, FirstTouch, PAGE};
use super::shadow::Shadow;
use super::space::Space;
use super::touched::Touched;
use crate::execute::Access;
use crate::execute::allocations::{Allocation, Allocations, Rights};
use crate::program::{Kernel, VariableBases};

/// The lowest address that a caller chooses: below it a null pointer with a small offset is caught.
const FIRST_FIXED: u64 = 1 << 16;

/// Memory as one run of bytes; only allocated bytes can be accessed.
#[derive(Clone, Debug)]
pub struct FlatMemory {
    /// Address of the first byte.
    pub base: u64,
    /// The bytes.
    pub bytes: Space,
    /// Makes pages when they are first touched; absent if the bytes exist from the start.
    first: Option<FirstTouch>,
    /// Accessible pieces, in ascending order.
    pieces: Vec<Piece>,
    freed: Vec<Allocation>,
    /// Note touched bytes.
    watched: bool,
    library: LibraryMemory,
}

#[derive(Clone, Debug)]
struct Piece {
    name: String,
    /// Its offset in the bytes.
    range: Range<usize>,
    /// Absent where every byte has been written.
    shadow: Option<Shadow>,
    /// Touched bytes, if any were touched and that is noted.
    touched: Option<Box<Touched>>,
    rights: Rights,
    /// Whether the piece belongs to the device library: accesses of kernels to it are not noted.
    library: bool,
}

/// The piece of memory that an access finds.
pub(super) struct Found<'a> {
    /// The first address of the allocation.
    pub(super) start: u64,
    pub(super) bytes: &'a mut [u8],
    pub(super) shadow: &'a mut Option<Shadow>,
    /// The record of touched bytes, if it is kept.
    pub(super) touched: Option<&'a mut Touched>,
    pub(super) rights: Rights,
    /// Whether the piece belongs to the device library.
    pub(super) library: bool,
}

impl FlatMemory {
    /// Memory with an allocation of `size` zero bytes that starts above the generic windows.
    pub fn new(size: usize) -> Self {
        let mut memory = FlatMemory {
            base: 1 << 32,
            bytes: Space::default(),
            first: None,
            pieces: Vec::new(),
            freed: Vec::new(),
            watched: false,
            library: LibraryMemory::default(),
        };
        if size > 0 {
            memory.push(&vec![0; size]);
        }
        memory
    }

    /// Empty memory with a capacity of this many bytes; pages take host memory when they are touched.
    ///
    /// # Errors
    /// If the operating system has not enough address space.
    pub fn with_room(bytes: usize) -> io::Result<Self> {
        Ok(FlatMemory { bytes: Space::with_room(bytes)?, ..FlatMemory::new(0) })
    }

    /// Allocates bytes that have been written, at a multiple of 256, and returns their address.
    pub fn push(&mut self, bytes: &[u8]) -> u64 {
        let name = format!("allocation {}", self.pieces.len() + 1);
        self.add(name, bytes.len(), None, Rights::All, |place| place.extend_from_slice(bytes))
    }

    /// Allocates bytes that nobody has written and that hold `content`, at a multiple of 256; returns their address.
    pub fn allocate(&mut self, name: &str, size: usize, content: u8) -> u64 {
        let shadow = (size > 0).then(|| Shadow::new(size));
        self.add(name.to_owned(), size, shadow, Rights::All, |place| {
            let start = place.len();
            place.grow(start + size);
            if content != 0 {
                place[start..].fill(content);
            }
        })
    }

    /// Allocates bytes at an address that the caller chooses, a multiple of 256, perhaps between other allocations or at a freed one. The
    /// bytes count as unwritten; they hold `content`. The first allocation of all may be as low as 64 KiB.
    ///
    /// # Panics
    /// If another allocation is there, or memory begins above that address.
    pub fn allocate_at(&mut self, name: &str, address: u64, size: usize, content: u8) {
        let shadow = (size > 0).then(|| Shadow::new(size));
        self.add_at(name.to_owned(), address, size, shadow, Rights::All, content);
    }

    /// Memory that begins at address 0 and has no allocations: [`FlatMemory::map`] adds those of a device whose addresses
    /// are allocated elsewhere. `make` gives the bytes that nobody has written; a direct reader of the bytes touches them
    /// first.
    pub fn of_device(make: FirstBytes) -> Self {
        FlatMemory { base: 0, first: Some(FirstTouch::new(make)), ..FlatMemory::new(0) }
    }

    /// Makes the bytes at these addresses, as far as that is left to do. Memory of a device grows to reach them.
    #[inline]
    pub fn touch(&mut self, addresses: Range<u64>) {
        if self.first.is_some() {
            self.reach(addresses.end as usize);
        }
        if let Some(first) = &mut self.first {
            first.touch(&mut self.bytes, addresses.start as usize..addresses.end as usize);
        }
    }

    /// Makes the bytes that the lanes of an access reach, if they are made on first touch.
    #[inline]
    pub(super) fn touch_lanes(&mut self, access: &Access) {
        let Some(first) = &mut self.first else { return };
        for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
            let start = access.addresses[lane] as usize;
            first.touch(&mut self.bytes, start..start.saturating_add(access.width.into()));
        }
    }

    /// Grows to a length; pages that nobody has touched are not moved.
    fn reach(&mut self, length: usize) {
        if length > self.bytes.len() {
            match &self.first {
                Some(first) => self.bytes.grow_with(length.next_multiple_of(PAGE), first.made()),
                None => self.bytes.grow(length),
            }
        }
    }

    /// From now on kernels may touch these allocations and no others; all of their bytes count as written.
    pub fn map(&mut self, allocations: &Allocations) {
        let end = allocations.live().map(|(range, _)| range.end - self.base).max();
        self.reach(end.unwrap_or_default() as usize);
        let base = self.base;
        let piece = |range: Range<u64>, rights| Piece {
            name: allocations.name_of(range.start),
            range: (range.start - base) as usize..(range.end - base) as usize,
            shadow: None,
            touched: None,
            rights,
            library: false,
        };
        self.pieces = allocations.live().map(|(range, rights)| piece(range, rights)).collect();
        self.freed = allocations.freed().cloned().collect();
    }

    /// Allocates a module's variables and sets their initial bytes; `kernel` is any kernel of the module.
    pub fn load(&mut self, module: &str, kernel: &Kernel) -> VariableBases {
        let mut place = |space: &str, size: u64, rights| {
            let (name, size) = (format!("{space} of {module}"), size as usize);
            let fill = |place: &mut Space| place.grow(place.len() + size);
            if size > 0 { self.add(name, size, None, rights, fill) } else { 0 }
        };
        let globals = place("variables", kernel.global_bytes(), Rights::All);
        let constants = place("constants", kernel.constant_bytes(), Rights::Read);
        self.load_into(kernel, globals, constants)
    }

    /// Like [`FlatMemory::load`], where the caller chooses the addresses of the variables, as for
    /// [`FlatMemory::allocate_at`].
    ///
    /// # Panics
    /// As [`FlatMemory::allocate_at`].
    pub fn load_at(&mut self, module: &str, kernel: &Kernel, globals: u64, constants: u64) -> VariableBases {
        let mut place = |space: &str, address: u64, size: u64, rights| {
            if size == 0 {
                return 0;
            }
            self.add_at(format!("{space} of {module}"), address, size as usize, None, rights, 0);
            address
        };
        let globals = place("variables", globals, kernel.global_bytes(), Rights::All);
        let constants = place("constants", constants, kernel.constant_bytes(), Rights::Read);
        self.load_into(kernel, globals, constants)
    }

    /// Sets the initial bytes of the variables of a module, which are allocated.
    fn load_into(&mut self, kernel: &Kernel, globals: u64, constants: u64) -> VariableBases {
        let bases =
            self.with_library(kernel, VariableBases { globals, constants, ..VariableBases::default() });
        // Variables may hold their own addresses.
        self.fill(bases.globals, &kernel.global_image(bases));
        self.fill(bases.constants, &kernel.constant_image(bases));
        bases
    }

    /// Puts bytes at an address where memory is.
    fn fill(&mut self, address: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            let start = (address - self.base) as usize;
            self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn add(
        &mut self,
        name: String,
        size: usize,
        shadow: Option<Shadow>,
        rights: Rights,
        fill: impl FnOnce(&mut Space),
    ) -> u64 {
        // Between two allocations there is at least one byte that belongs to none.
        let start = (self.bytes.len() + usize::from(!self.bytes.is_empty())).next_multiple_of(256);
        self.bytes.grow(start);
        fill(&mut self.bytes);
        self.pieces.push(Piece {
            name,
            range: start..start + size,
            shadow,
            touched: None,
            rights,
            library: false,
        });
        self.base + start as u64
    }

    /// Adds a piece at an address, between the others.
    fn add_at(
        &mut self,
        name: String,
        address: u64,
        size: usize,
        shadow: Option<Shadow>,
        rights: Rights,
        content: u8,
    ) {
        if self.bytes.is_empty() {
            self.base = self.base.min(FIRST_FIXED);
        }
        assert!(address >= self.base, "`{name}` lies at {address:#x}, before the memory");
        let start = (address - self.base) as usize;
        let range = start..start + size;
        let next = self.pieces.partition_point(|piece| piece.range.start < start);
        let is_free = |piece: &Piece| piece.range.end <= range.start || piece.range.start >= range.end;
        let near = &self.pieces[next.saturating_sub(1)..self.pieces.len().min(next + 1)];
        assert!(near.iter().all(is_free), "`{name}` lies where another allocation does");
        self.bytes.grow(range.end);
        let end = address + size as u64;
        let stale = self.freed.iter().any(|freed| freed.range.start < end && address < freed.range.end);
        if content != 0 || stale {
            self.bytes[range.clone()].fill(content);
        }
        self.pieces.insert(next, Piece { name, range, shadow, touched: None, rights, library: false });
    }

    /// A range of the allocation that begins at an address has been written.
    pub fn written(&mut self, address: u64, range: Range<usize>) {
        if let Some(piece) = self.piece(address) {
            let shadow = &mut self.pieces[piece].shadow;
            *shadow = shadow.take().and_then(|shadow| shadow.without(range));
        }
    }

    /// Bit mask of the unwritten bytes in a range of the allocation that begins at an address: a bit for each byte, the first one lowest.
    /// `None` if all are written.
    pub fn unwritten(&self, address: u64, range: Range<usize>) -> Option<Vec<u8>> {
        self.pieces[self.piece(address)?].shadow.as_ref()?.missing(range)
    }

    /// Nobody has written the bytes of a range whose bits are set, whatever they hold: what was copied there was never written.
    pub fn unwrite(&mut self, address: u64, range: Range<usize>, bits: &[u8]) {
        if let Some(piece) = self.piece(address) {
            let Piece { shadow, range: all, .. } = &mut self.pieces[piece];
            shadow.get_or_insert_with(|| Shadow::complete(all.len())).forget(range, bits);
        }
    }

    /// Takes back the allocation that begins at an address, after `launches` launches. Its bytes stay,
    /// untouchable.
    pub fn free(&mut self, address: u64, launches: u32) {
        if let Some(piece) = self.piece(address) {
            let Piece { name, range, rights, .. } = self.pieces.remove(piece);
            let range = self.base + range.start as u64..self.base + range.end as u64;
            self.freed.push(Allocation { name, range, freed_after: Some(launches), rights });
        }
    }

    /// From now on, notes the bytes that kernels touch.
    pub fn watch(&mut self) {
        self.watched = true;
    }

    /// Bytes that kernels have touched since the last call, by the addresses of the allocations.
    pub fn take_touched(&mut self) -> Vec<(u64, Touched)> {
        let base = self.base;
        let touched = |piece: &mut Piece| Some((base + piece.range.start as u64, *piece.touched.take()?));
        self.pieces.iter_mut().filter_map(touched).collect()
    }

    /// The name and size of the allocation that contains an address, for messages.
    pub fn name_of(&self, address: u64) -> String {
        self.allocations().name_of(address)
    }

    /// Everything that was ever allocated, for messages.
    pub fn allocations(&self) -> Allocations {
        let live = self.pieces.iter().map(|Piece { name, range, rights, .. }| Allocation {
            name: name.clone(),
            range: self.base + range.start as u64..self.base + range.end as u64,
            freed_after: None,
            rights: *rights,
        });
        live.chain(self.freed.iter().cloned()).collect()
    }

    /// Allocates floats.
    pub fn push_f32(&mut self, values: &[f32]) -> u64 {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.push(&bytes)
    }

    /// Reads floats; fewer where memory ends.
    pub fn read_f32(&self, address: u64, count: usize) -> Vec<f32> {
        let start = address.wrapping_sub(self.base) as usize;
        let bytes = self.bytes.get(start..).unwrap_or(&[]);
        bytes
            .chunks_exact(4)
            .take(count)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect()
    }

    /// The last allocation that begins at or below an address.
    #[inline]
    fn piece(&self, address: u64) -> Option<usize> {
        let offset = usize::try_from(address.wrapping_sub(self.base)).ok()?;
        self.pieces.partition_point(|piece| piece.range.start <= offset).checked_sub(1)
    }

    /// The first address and the bytes of the allocation that contains an address, if nothing is noted of loads from it.
    #[inline]
    pub(super) fn plain(&self, address: u64) -> Option<(u64, &[u8])> {
        let piece = &self.pieces[self.piece(address)?];
        let is_noted = self.first.is_some() || self.watched || piece.shadow.is_some();
        if is_noted || !piece.rights.allow(false) {
            return None;
        }
        Some((self.base + piece.range.start as u64, self.bytes.get(piece.range.clone())?))
    }

    #[inline]
    pub(super) fn allocation(&mut self, address: u64) -> Option<Found<'_>> {
        let index = self.piece(address)?;
        let Piece { range, shadow, touched, rights, library, .. } = &mut self.pieces[index];
        let start = self.base + range.start as u64;
        if address.wrapping_sub(start) >= range.len() as u64 {
            return None;
        }
        let touched =
            if self.watched && !*library { Some(&mut **touched.get_or_insert_default()) } else { None };
        let (rights, library) = (*rights, *library);
        Some(Found { start, bytes: self.bytes.get_mut(range.clone())?, shadow, touched, rights, library })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn an_allocation_ends_where_its_bytes_do() {
        let mut memory = FlatMemory::new(0);
        let (first, second) = (memory.push(&[1; 256]), memory.push(&[2; 3]));
        assert_eq!(second, first + 512, "a gap");
        let mut at = |address| memory.allocation(address).map(|found| (found.start, found.bytes.to_vec()));
        assert_eq!(at(first + 255), Some((first, vec![1; 256])));
        assert_eq!(at(second + 2), Some((second, vec![2; 3])));
        for outside in [first - 1, first + 256, second + 3, 0, u64::MAX] {
            assert_eq!(at(outside), None);
        }
    }

    #[test]
    fn pages_are_made_when_they_are_touched() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let mut memory = FlatMemory::of_device(Arc::new(move |address, bytes| {
            count.fetch_add(1, Ordering::Relaxed);
            bytes.fill((address / PAGE as u64) as u8);
        }));
        let allocation = |name: &str, range: Range<u64>| Allocation {
            name: name.into(),
            range,
            freed_after: None,
            rights: Rights::All,
        };
        let page = PAGE as u64;
        memory.map(&[allocation("a", page..3 * page + 8)].into_iter().collect());
        memory.touch(2 * page - 1..2 * page + 1);
        assert_eq!((memory.bytes[PAGE], memory.bytes[2 * PAGE], memory.bytes[3 * PAGE]), (1, 2, 0));
        memory.bytes[2 * PAGE] = 9;
        memory.touch(2 * page..3 * page + 4);
        memory.touch(0..(1 << 20) + 1);
        assert_eq!((memory.bytes[2 * PAGE], memory.bytes[3 * PAGE], memory.bytes[4 * PAGE - 1]), (9, 3, 3));
        assert_eq!(memory.bytes.len(), 257 * PAGE);
        assert_eq!(made.load(Ordering::Relaxed), 257);
    }

    #[test]
    fn freed_memory_is_remembered_by_name() {
        let mut memory = FlatMemory::new(0);
        let (a, b) = (memory.allocate("a", 8, 0xa5), memory.allocate("b", 8, 0));
        memory.free(a, 3);
        assert!(memory.allocation(a).is_none() && memory.allocation(b).is_some());
        assert_eq!(memory.bytes[..8], [0xa5; 8]);
        let all = memory.allocations();
        assert_eq!(all.locate(a + 4, 4), "in `a`, which was freed after launch 3");
        assert!(all.allow(b, 8, true) && !all.allow(a, 1, false));
    }

    #[test]
    fn chosen_addresses_lie_between_others_and_where_memory_was_freed() {
        let mut memory = FlatMemory::new(0);
        memory.allocate_at("b", 0x2_0000, 8, 0xa5);
        memory.allocate_at("a", 0x1_0000, 0x200, 0);
        let behind = memory.allocate("c", 4, 0);
        assert_eq!(behind, 0x2_0100, "behind all of them");
        let mut at = |address| memory.allocation(address).map(|found| (found.start, found.bytes.to_vec()));
        assert_eq!(at(0x2_0007), Some((0x2_0000, vec![0xa5; 8])));
        assert_eq!(at(0x1_01ff), Some((0x1_0000, vec![0; 0x200])));
        assert_eq!([0x1_0200, 0x1_ffff, 0x2_0008].map(at), [None, None, None]);
        memory.free(0x2_0000, 1);
        memory.allocate_at("d", 0x1_ff00, 0x104, 0);
        let found = memory.allocation(0x2_0003).map(|found| (found.start, found.bytes.to_vec()));
        assert_eq!(found, Some((0x1_ff00, vec![0; 0x104])), "nothing is left of what was freed");
        assert_eq!(memory.allocations().locate(0x2_0004, 4), "in `b`, which was freed after launch 1");
    }

    #[test]
    #[should_panic(expected = "`b` lies where another allocation does")]
    fn an_address_is_chosen_once() {
        let mut memory = FlatMemory::new(0);
        memory.allocate_at("a", 0x1_0000, 0x200, 0);
        memory.allocate_at("b", 0x1_0100, 8, 0);
    }

    #[test]
    fn variables_of_a_module_are_allocations_by_name() {
        let source = ".version 7.8
.target sm_35
.address_size 64
.global .align 4 .u32 word = 5;
.const .align 8 .u64 back = generic(word);
.global .align 8 .u64 constant = generic(back);
.visible .entry k() { ret; }
";
        let kernel = Kernel::compile(source, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut memory = FlatMemory::new(0);
        let bases = memory.load("m", &kernel);
        let all = memory.allocations();
        assert!(all.allow(bases.globals, 16, true) && all.allow(bases.constants, 8, false));
        assert!(!all.allow(bases.constants, 4, true));
        assert_eq!(all.locate(bases.constants, 4), "in `constants of m`, which kernels can only read");
        let start = (bases.globals - memory.base) as usize;
        assert_eq!(memory.bytes[start..start + 16], kernel.global_image(bases));
        let mut memory = FlatMemory::new(0);
        let chosen = memory.load_at("m", &kernel, 0x4_0000, 0x5_0000);
        assert_eq!((chosen.globals, chosen.constants), (0x4_0000, 0x5_0000));
        let start = (chosen.globals - memory.base) as usize;
        assert_eq!(memory.bytes[start..start + 16], kernel.global_image(chosen));
        // A pointer to the variable `word`, which is at the beginning.
        assert_eq!(memory.bytes[0x4_0000..][..8], 0x4_0000_u64.to_le_bytes());
    }
}
