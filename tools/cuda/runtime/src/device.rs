//! The device: memory at the addresses that it has in a simulation, and kernels that run at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use counterpoint_cuda_capture::Region;
use counterpoint_ptx::functional::{Check, FlatMemory, Grid, Options, Turn, Turns};
use counterpoint_ptx::texture::Textures;
use counterpoint_ptx::{Failure, Kernel, StackSize, VariableBases, Windows};

use crate::errors::{Error, Result};

/// The first address that is given.
const FIRST: u64 = 1 << 16;
/// Addresses of allocations are multiples of it.
const ALIGNMENT: u64 = 512;

/// Memory that is there now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// Bytes that may be touched.
    pub(crate) bytes: u64,
    /// The program gave them a place, so that it may free them.
    pub(crate) is_buffer: bool,
}

pub(crate) struct Launch<'a> {
    pub(crate) kernel: &'a Arc<Kernel>,
    pub(crate) variables: VariableBases,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) stack: StackSize,
    pub(crate) parameters: &'a [u8],
}

/// A launch that has begun.
pub(crate) struct Begun {
    kernel: &'static Kernel,
    run: Grid<'static>,
    turns: Turns<'static>,
    name: String,
}

impl Begun {
    /// The failure of a kernel that waits for somebody, if nobody does what it waits for.
    pub(crate) fn failure(&mut self) -> (Error, String) {
        match self.turns.failure() {
            Some(failure) => failed(&self.name, &failure),
            None => (Error::LAUNCH_FAILURE, format!("{} does not end", self.name)),
        }
    }
}

fn failed(name: &str, failure: &Failure) -> (Error, String) {
    (Error::of_fault(failure.error.kind), format!("{name}, {failure}"))
}

/// A GPU without time.
pub(crate) struct Device {
    pub(crate) memory: FlatMemory,
    live: BTreeMap<u64, Allocation>,
    /// Freed addresses by size: the next allocation of a size takes the address freed last, as a program's
    /// loop expects.
    freed: BTreeMap<u64, Vec<u64>>,
    /// Addresses of the process that are no device's, in their order.
    taken: Vec<std::ops::Range<u64>>,
    next: u64,
    bytes: u64,
    used: u64,
    options: Options,
    /// Options by shared memory, stack and textures, and kernels by their places: of launches, which may outlast what made them.
    kept_options: BTreeMap<(u32, u32, usize), &'static Options>,
    kept_kernels: BTreeMap<usize, &'static Kernel>,
    launches: u32,
    buffers: u32,
    /// Reads of memory that nobody has written: kernels and lines of which something has been found, and what is to be said.
    seen: BTreeSet<(String, u32)>,
    found: Vec<String>,
    /// Bytes of text that were lost.
    pub(crate) lost: u64,
}

impl Device {
    /// A device with this much memory. The addresses in `taken` mean something on the host and are not given.
    /// Kernels end when nobody needs them any more.
    pub(crate) fn new(bytes: u64, taken: Vec<std::ops::Range<u64>>, gone: &Arc<AtomicBool>) -> Result<Self> {
        // The memory of the device's library lies behind all that the program can be given.
        let end = 2 * bytes as usize;
        let mut memory = FlatMemory::with_room(end + end / 2).map_err(|_| Error::MEMORY_ALLOCATION)?;
        memory.base = FIRST;
        memory.bytes.grow(end);
        Ok(Device {
            memory,
            live: BTreeMap::new(),
            freed: BTreeMap::new(),
            taken,
            next: FIRST,
            bytes,
            used: 0,
            options: Options {
                windows: Windows::ABOVE_MEMORY,
                interrupt: Arc::clone(gone),
                ..Options::default()
            },
            kept_options: BTreeMap::new(),
            kept_kernels: BTreeMap::new(),
            launches: 0,
            buffers: 0,
            seen: BTreeSet::new(),
            found: Vec::new(),
            lost: 0,
        })
    }

    /// Bytes that are free, and all of them.
    pub(crate) fn room(&self) -> (u64, u64) {
        (self.bytes - self.used, self.bytes)
    }

    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<u64> {
        if bytes > self.bytes - self.used {
            return Err(Error::MEMORY_ALLOCATION);
        }
        let again = self.freed.get_mut(&bytes).and_then(Vec::pop);
        let address = match again {
            Some(address) => address,
            None => self.place(bytes)?,
        };
        self.allocate_at(address, bytes)?;
        Ok(address)
    }

    /// Allocates a buffer at an address that [`Device::place`] has given.
    pub(crate) fn allocate_at(&mut self, address: u64, bytes: u64) -> Result {
        if bytes > self.bytes - self.used {
            return Err(Error::MEMORY_ALLOCATION);
        }
        self.buffers += 1;
        self.memory.allocate_at(
            &format!("buffer {} of the program", self.buffers),
            address,
            bytes as usize,
            0,
        );
        self.live.insert(address, Allocation { bytes, is_buffer: true });
        self.used += bytes;
        Ok(())
    }

    /// A place that nobody has had before.
    pub(crate) fn place(&mut self, bytes: u64) -> Result<u64> {
        if bytes > self.bytes {
            return Err(Error::MEMORY_ALLOCATION);
        }
        let mut start = self.next.next_multiple_of(ALIGNMENT);
        // A byte behind each allocation belongs to none.
        let over =
            |start: u64, taken: &std::ops::Range<u64>| start <= taken.end && taken.start <= start + bytes;
        while let Some(taken) = self.taken.iter().find(|taken| over(start, taken)) {
            start = (taken.end + 1).next_multiple_of(ALIGNMENT);
        }
        if start + bytes > FIRST + 2 * self.bytes {
            return Err(Error::MEMORY_ALLOCATION);
        }
        self.next = start + bytes + 1;
        Ok(start)
    }

    /// The next place begins a page of the host.
    pub(crate) fn begin_page(&mut self, page: u64) {
        self.next = self.next.next_multiple_of(page);
    }

    pub(crate) fn free(&mut self, address: u64) -> Result {
        let bytes = self.retire(address)?;
        self.freed.entry(bytes).or_default().push(address);
        Ok(())
    }

    /// Frees a buffer whose place nobody gets again; the result is its size.
    pub(crate) fn retire(&mut self, address: u64) -> Result<u64> {
        let Some(Allocation { bytes, is_buffer: true }) = self.live.get(&address).copied() else {
            return Err(Error::INVALID_VALUE);
        };
        self.live.remove(&address);
        self.memory.free(address, self.launches);
        self.used -= bytes;
        Ok(bytes)
    }

    /// The name of what lies at an address, for messages.
    pub(crate) fn name_of(&self, address: u64) -> String {
        self.memory.name_of(address)
    }

    pub(crate) fn holds(&self, address: u64) -> bool {
        self.allocation(address).is_some()
    }

    /// The allocation in which an address lies, and where it begins.
    pub(crate) fn allocation(&self, address: u64) -> Option<(u64, Allocation)> {
        let (&start, &found) = self.live.range(..=address).next_back()?;
        (address - start < found.bytes.max(1)).then_some((start, found))
    }

    /// Puts a module's variables on the device.
    pub(crate) fn load(&mut self, module: &str, kernel: &Kernel) -> Result<VariableBases> {
        let (globals, constants) = (kernel.global_bytes(), kernel.constant_bytes());
        let places = [self.place(globals)?, self.place(constants)?];
        let bases = self.memory.load_at(module, kernel, places[0], places[1]);
        for (address, bytes) in places.into_iter().zip([globals, constants]) {
            if bytes > 0 {
                self.live.insert(address, Allocation { bytes, is_buffer: false });
            }
        }
        Ok(bases)
    }

    /// Takes the variables of a module away that begin at an address, if there are some.
    pub(crate) fn remove(&mut self, address: u64) {
        if self.live.remove(&address).is_some() {
            self.memory.free(address, self.launches);
        }
    }

    /// Frees all that the program has been given; the result is their addresses.
    pub(crate) fn free_all(&mut self) -> Result<Vec<u64>> {
        let buffers = self.live.iter().filter(|(_, found)| found.is_buffer).map(|(address, _)| *address);
        let buffers: Vec<u64> = buffers.collect();
        buffers.iter().try_for_each(|address| self.free(*address))?;
        Ok(buffers)
    }

    /// Checks that all rows of a region lie in one allocation.
    pub(crate) fn check(&self, region: Region) -> Result {
        if region.bytes() == 0 {
            return Ok(());
        }
        if region.rows > 1 && region.pitch < region.width {
            return Err(Error::INVALID_PITCH);
        }
        let (start, found) = self.allocation(region.address).ok_or(Error::INVALID_VALUE)?;
        let within =
            (region.address - start).checked_add(region.extent()).is_some_and(|end| end <= found.bytes);
        if within { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn offset(&self, address: u64) -> usize {
        (address - self.memory.base) as usize
    }

    /// Bytes of a region, row behind row.
    pub(crate) fn read(&self, region: Region) -> Result<Vec<u8>> {
        self.check(region)?;
        let mut bytes = Vec::with_capacity(region.bytes() as usize);
        for start in region.starts() {
            let at = self.offset(start);
            bytes.extend_from_slice(&self.memory.bytes[at..at + region.width as usize]);
        }
        Ok(bytes)
    }

    /// A bit for each byte of a region, row behind row, the first one lowest: set where nobody has ever written it. None if all are written.
    pub(crate) fn unwritten(&self, region: Region) -> Option<Vec<u8>> {
        let (start, _) = self.allocation(region.address)?;
        let row = |address: u64| {
            let at = (address - start) as usize;
            self.memory.unwritten(start, at..at + region.width as usize)
        };
        if region.rows == 1 {
            return row(region.address);
        }
        let rows: Vec<Option<Vec<u8>>> = region.starts().map(row).collect();
        if rows.iter().all(Option::is_none) {
            return None;
        }
        let mut bits = vec![0; region.bytes().div_ceil(8) as usize];
        for (number, row) in rows.iter().enumerate() {
            let Some(row) = row else { continue };
            for byte in (0..region.width as usize).filter(|byte| row[byte / 8] >> (byte % 8) & 1 != 0) {
                let at = number * region.width as usize + byte;
                bits[at / 8] |= 1 << (at % 8);
            }
        }
        Some(bits)
    }

    /// Copies a region, which is written where the other one was.
    pub(crate) fn copy(&mut self, from: Region, to: Region) -> Result {
        let (bytes, unwritten) = (self.read(from)?, self.unwritten(from));
        self.write(to, &bytes)?;
        let (Some(bits), Some((start, _))) = (unwritten, self.allocation(to.address)) else { return Ok(()) };
        for (number, address) in to.starts().enumerate() {
            let of_row = (0..to.width as usize).map(|byte| number * to.width as usize + byte);
            let mut row = vec![0; to.width.div_ceil(8) as usize];
            let set = of_row.enumerate().filter(|(_, at)| bits[at / 8] >> (at % 8) & 1 != 0);
            set.for_each(|(byte, _)| row[byte / 8] |= 1 << (byte % 8));
            let at = (address - start) as usize;
            self.memory.unwrite(start, at..at + to.width as usize, &row);
        }
        Ok(())
    }

    /// Puts bytes, row behind row, into a region.
    pub(crate) fn write(&mut self, region: Region, bytes: &[u8]) -> Result {
        self.check(region)?;
        if region.bytes() == 0 {
            return Ok(());
        }
        let (allocation, _) = self.allocation(region.address).ok_or(Error::INVALID_VALUE)?;
        for (start, row) in region.starts().zip(bytes.chunks_exact(region.width as usize)) {
            let at = self.offset(start);
            self.memory.bytes[at..at + row.len()].copy_from_slice(row);
            let begin = (start - allocation) as usize;
            self.memory.written(allocation, begin..begin + row.len());
        }
        Ok(())
    }

    pub(crate) fn fill(&mut self, region: Region, value: &[u8]) -> Result {
        if !region.width.is_multiple_of(value.len() as u64) {
            return Err(Error::INVALID_VALUE);
        }
        self.check(region)?;
        let Some((allocation, _)) = self.allocation(region.address).filter(|_| region.bytes() > 0) else {
            return Ok(());
        };
        for start in region.starts() {
            let (at, width) = (self.offset(start), region.width as usize);
            let row = &mut self.memory.bytes[at..at + width];
            match value {
                [byte] => row.fill(*byte),
                _ => row.chunks_exact_mut(value.len()).for_each(|place| place.copy_from_slice(value)),
            }
            let begin = (start - allocation) as usize;
            self.memory.written(allocation, begin..begin + width);
        }
        Ok(())
    }

    /// Begins a launch, which [`Device::advance`] then runs.
    ///
    /// # Errors
    /// A message, and the error that CUDA would have for it.
    pub(crate) fn begin(
        &mut self,
        launch: &Launch<'_>,
        textures: &Arc<Textures>,
    ) -> std::result::Result<Begun, (Error, String)> {
        let Launch { kernel, variables, grid, block, shared, stack, parameters } = *launch;
        self.launches += 1;
        let name = format!("{}, launch {}", kernel.name(), self.launches);
        let options = self.options_of(shared, stack, textures);
        let kernel = self.kernel_of(kernel);
        let run = Grid::new(kernel, grid, block, parameters, variables, options)
            .map_err(|error| (Error::INVALID_VALUE, format!("{name}: {}", error.message)))?;
        Ok(Begun { kernel, run, turns: Turns::default(), name })
    }

    /// Runs a launch until it ends, waits for somebody else, or nobody needs it any more.
    ///
    /// # Errors
    /// A message, and the error that CUDA would have for it.
    pub(crate) fn advance(&mut self, begun: &mut Begun) -> std::result::Result<Turn, (Error, String)> {
        let Begun { kernel, run, turns, name } = begun;
        let done = run.advance(turns, &mut self.memory, || {});
        // The first place that reads memory which nobody has written, of each line.
        let unwritten = run.findings().iter().filter(|finding| finding.check == Check::Unwritten);
        let new = unwritten.filter(|finding| self.seen.insert((kernel.name().to_owned(), finding.lines[0])));
        self.found.extend(new.map(|finding| format!("{name}, {}", finding.first)));
        done.map_err(|failure| failed(name, &failure))
    }

    /// The options of a launch. Launches with the same options share them for good.
    fn options_of(&mut self, shared: u32, stack: StackSize, textures: &Arc<Textures>) -> &'static Options {
        let key = (shared, stack.bytes(), Arc::as_ptr(textures).addr());
        let usual = &self.options;
        self.kept_options.entry(key).or_insert_with(|| {
            Box::leak(Box::new(Options {
                dynamic_shared_bytes: shared,
                stack,
                textures: Arc::clone(textures),
                ..usual.clone()
            }))
        })
    }

    /// A kernel that stays for good, as a launch may outlast its module.
    fn kernel_of(&mut self, kernel: &Arc<Kernel>) -> &'static Kernel {
        let kept = self.kept_kernels.entry(Arc::as_ptr(kernel).addr());
        kept.or_insert_with(|| &**Box::leak(Box::new(Arc::clone(kernel))))
    }

    /// Reads of memory that nobody has written, since the last call.
    pub(crate) fn found(&mut self) -> Vec<String> {
        std::mem::take(&mut self.found)
    }

    /// The text that kernels have printed since the last call, and whether some of it is lost.
    pub(crate) fn printed(&mut self) -> (String, bool) {
        let text = self.memory.take_printed();
        let lost = self.memory.printed_lost();
        (text, std::mem::replace(&mut self.lost, lost) < lost)
    }
}

#[cfg(test)]
mod tests {
    use counterpoint_ptx::FaultKind;

    use super::*;

    #[test]
    fn memory_is_given_freed_and_given_again() {
        let taken = std::iter::once(0x1_0300..0x1_0500).collect();
        let mut device = Device::new(1 << 20, taken, &Arc::default()).expect("a device");
        let first = device.allocate(512).expect("room");
        let second = device.allocate(100).expect("room");
        assert_eq!((first, second), (0x1_0000, 0x1_0600), "around what the process has");
        device.write(Region::line(first, 4), &[1, 2, 3, 4]).expect("a buffer");
        assert_eq!(device.write(Region::line(first + 510, 4), &[0; 4]), Err(Error::INVALID_VALUE));
        device.free(first).expect("a buffer");
        assert_eq!(device.free(first), Err(Error::INVALID_VALUE));
        assert_eq!(device.read(Region::line(first, 4)), Err(Error::INVALID_VALUE));
        assert_eq!(device.allocate(512), Ok(first));
        assert_eq!(device.allocate(1 << 20), Err(Error::MEMORY_ALLOCATION));
        assert_eq!(device.room(), ((1 << 20) - 612, 1 << 20));
    }

    #[test]
    fn bytes_that_nobody_wrote_are_known_and_copies_take_them_along() {
        let mut device = Device::new(1 << 20, Vec::new(), &Arc::default()).expect("a device");
        let [first, second] = [32, 32].map(|bytes| device.allocate(bytes).expect("room"));
        assert_eq!(device.unwritten(Region::line(first, 3)), Some(vec![0b111]));
        device.write(Region::line(first, 8), &[1; 8]).expect("a buffer");
        device.fill(Region::line(second, 32), &[2]).expect("a buffer");
        assert_eq!(device.unwritten(Region::line(first, 8)), None);
        assert_eq!(device.unwritten(Region::line(first + 6, 4)), Some(vec![0b1100]));
        assert_eq!(device.unwritten(Region::line(second, 32)), None);
        device.copy(Region::line(first + 6, 4), Region::line(second + 10, 4)).expect("buffers");
        assert_eq!(device.unwritten(Region::line(second + 9, 8)), Some(vec![0b0001_1000]));
        let rows = Region { address: second + 10, width: 3, rows: 2, pitch: 8 };
        assert_eq!(device.unwritten(rows), Some(vec![0b0000_0100]));
        device.write(Region::line(second + 12, 2), &[3; 2]).expect("a buffer");
        assert_eq!(device.unwritten(Region::line(second, 32)), None);
    }

    #[test]
    fn rows_are_read_written_and_filled() {
        let mut device = Device::new(1 << 20, Vec::new(), &Arc::default()).expect("a device");
        let address = device.allocate(24).expect("room");
        let region = Region { address: address + 1, width: 2, rows: 3, pitch: 8 };
        device.write(region, &[1, 2, 3, 4, 5, 6]).expect("rows");
        assert_eq!(device.read(region).expect("rows"), [1, 2, 3, 4, 5, 6]);
        assert_eq!(device.read(Region::line(address, 11)).expect("bytes"), [0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4]);
        device.fill(region, &[9]).expect("rows");
        assert_eq!(device.read(region).expect("rows"), [9; 6]);
        let beyond = Region { rows: 4, ..region };
        assert_eq!(device.fill(beyond, &[9]), Err(Error::INVALID_VALUE));
    }

    #[test]
    fn a_kernel_that_fails_has_the_error_of_its_fault() {
        let source = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a) { .reg .u64 %a; .reg .u32 %r;\n\
                      ld.param.u64 %a, [a]; ld.global.u32 %r, [%a]; st.global.u32 [%a+4], %r; ret; }";
        let kernel = Arc::new(Kernel::compile(source, None).expect("a kernel"));
        let mut device = Device::new(1 << 20, Vec::new(), &Arc::default()).expect("a device");
        let buffer = device.allocate(8).expect("room");
        let mut run = |address: u64| {
            let launch = Launch {
                kernel: &kernel,
                variables: VariableBases::default(),
                grid: [1; 3],
                block: [1; 3],
                shared: 0,
                stack: StackSize::default(),
                parameters: &address.to_le_bytes(),
            };
            let begun = device.begin(&launch, &Arc::default());
            begun.and_then(|mut begun| device.advance(&mut begun)).map_err(|(error, _)| error)
        };
        assert_eq!(run(buffer), Ok(Turn::Ended));
        assert_eq!(run(buffer + 4), Err(Error::ILLEGAL_ADDRESS));
        assert_eq!(run(buffer + 2), Err(Error::MISALIGNED_ADDRESS));
        assert_eq!(run(buffer + 802), Err(Error::MISALIGNED_ADDRESS), "wherever it lies");
        assert_eq!(Error::MISALIGNED_ADDRESS.text(), c"misaligned address");
        assert_eq!(Error::of_fault(FaultKind::Other).name(), c"cudaErrorLaunchFailure");
    }
}
