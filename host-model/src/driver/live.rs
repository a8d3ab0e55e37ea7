//! The driver's work for a program whose steps are not known before: memory, modules and kernels come while the run goes on.
//!
//! Buffers have the addresses that the program knows. Local memory, the heap and text of kernels lie in the upper half of its memory.

use std::ops::Range;
use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::SpanId;
use counterpoint_framework::time::SimTime;
use counterpoint_protocols::bus::{
    self, CommandId, Copy, Direction, Move, RowSource, RowTarget, Title, Work,
};
use counterpoint_protocols::extra::LineTag;
use counterpoint_protocols::preload::Preloaded;
use counterpoint_ptx::texture::Textures;
use counterpoint_ptx::{Allocation, Kernel, Rights, StackSize, VariableBases};

use super::modules::Loaded;
use super::{Driver, Page};
use crate::live::{Feed, LiveRows};
use crate::modules::Module;
use crate::program::{Application, Buffer, BufferId, BufferPlace, LibrarySizes, Stream};

/// The device of a live program.
const DEVICE: u32 = 0;

impl Driver<'_> {
    /// The way to the program.
    ///
    /// # Errors
    /// If there is no program.
    pub(crate) fn feed(&self) -> Result<Arc<Feed>, Fault> {
        let missing = "the runtime `live` is for programs that run beside the simulation: `counterpoint cuda --machine`";
        self.sim.resource::<Feed>().ok_or_else(|| Fault::new(missing))
    }

    fn change(&mut self, change: impl FnOnce(&mut Application)) {
        change(Arc::make_mut(&mut self.application));
    }

    fn path(&self) -> String {
        self.devices.get(&DEVICE).map_or_else(String::new, |device| device.path.clone())
    }

    fn preload(&self, address: u64, bytes: Vec<u8>) {
        if let Some(preloaded) = self.sim.resource::<Preloaded>()
            && !bytes.is_empty()
        {
            preloaded.place(&self.path(), address, bytes.into());
        }
    }

    /// Gives memory of the device at an address that nobody has had before or that has been freed.
    pub(crate) fn live_buffer(&mut self, address: u64, bytes: u64, contents: Option<Vec<u8>>) -> BufferId {
        let number = self.application.buffers.len() as u32;
        let buffer = Buffer {
            name: format!("buffer {number} of the program"),
            bytes,
            device: DEVICE,
            place: BufferPlace::At(address),
        };
        self.change(|application| application.buffers.push(buffer));
        self.freed.push(None);
        self.meaning.push(BufferId(number));
        self.host_address.push(address);
        self.device_address.push(address);
        self.preload(address, contents.unwrap_or_default());
        self.map(DEVICE);
        BufferId(number)
    }

    pub(crate) fn live_stream(&mut self, number: u32) {
        self.change(|application| {
            while application.streams.len() <= number as usize {
                let name = format!("stream {}", application.streams.len());
                application.streams.push(Stream { name, ..Stream::default_of_all() });
            }
            application.streams[number as usize].non_blocking = true;
        });
    }

    /// Sets the sizes of memory that kernels have, for what is placed from now on.
    pub(crate) fn live_library(&mut self, [heap, printf, stack]: [u64; 3]) {
        self.change(|application| application.library = LibrarySizes { heap, printf });
        let stack = StackSize::new(stack).unwrap_or_default();
        self.hidden.entry(DEVICE).or_default().stack = stack;
    }

    /// Sets the textures and surfaces of the launches that follow.
    pub(crate) fn live_textures(&mut self, textures: Arc<Textures>) {
        self.textures = Some(textures);
    }

    /// Puts a module on the device, without its kernels' code.
    pub(crate) fn live_module(
        &mut self,
        name: &Arc<str>,
        kernels: &[Arc<Kernel>],
        [globals, constants]: [u64; 2],
        contents: Option<[Vec<u8>; 2]>,
    ) {
        let heap = self.hidden_of_library(kernels.iter().any(|kernel| kernel.allocates()), true);
        let printf = self.hidden_of_library(kernels.iter().any(|kernel| kernel.prints()), false);
        let bases = VariableBases { globals, constants, heap, printf };
        if let Some(any) = kernels.first() {
            let [variables, values] =
                contents.unwrap_or_else(|| [any.global_image(bases), any.constant_image(bases)]);
            self.preload(globals, variables);
            self.preload(constants, values);
            let spaces =
                [("variables", globals, any.global_bytes()), ("constants", constants, any.constant_bytes())];
            for (space, start, bytes) in spaces {
                if bytes > 0 {
                    self.hide(format!("{space} of {name}"), start..start + bytes, Rights::All);
                }
            }
        }
        let module = Module {
            name: Arc::clone(name),
            device: DEVICE,
            globals: Some(globals),
            constants: Some(constants),
            kernels: Vec::new(),
        };
        self.change(|application| application.modules.push(module));
        self.loaded.push(Loaded { variables: bases, code: Vec::new() });
        self.map(DEVICE);
    }

    /// Puts the code of a kernel on the device, if it is not there, with the local memory and the parameters that it needs.
    pub(crate) fn live_kernel(&mut self, module: usize, kernel: &Arc<Kernel>) {
        let known = &self.application.modules[module].kernels;
        if known.iter().any(|known| known.name() == kernel.name()) {
            return;
        }
        let code = self.place_kernel(DEVICE, kernel);
        self.preload(code, vec![0; kernel.code_bytes() as usize]);
        self.loaded[module].code.push(code);
        self.change(|application| application.modules[module].kernels.push(Arc::clone(kernel)));
        self.map(DEVICE);
    }

    fn hide(&mut self, name: String, range: Range<u64>, rights: Rights) {
        let hidden = self.hidden.entry(DEVICE).or_default();
        hidden.allocations.push(Allocation { name, range, freed_after: None, rights });
    }

    /// The end of what the device needs besides buffers, in the upper half of its memory.
    pub(super) fn end_of_hidden(&self, device: u32) -> u64 {
        let half = self.devices.get(&device).map_or(0, |known| known.memory / 2);
        let hidden = self.hidden.get(&device).into_iter().flat_map(|hidden| &hidden.allocations);
        hidden.map(|allocation| allocation.range.end).filter(|end| *end > half).max().unwrap_or(half)
    }

    /// A place behind all others in the upper half of the device's memory.
    pub(super) fn place_hidden(&mut self, name: String, bytes: u64, rights: Rights) -> u64 {
        let start = (self.end_of_hidden(DEVICE) + 1).next_multiple_of(self.page);
        self.hide(name, start..start + bytes, rights);
        start
    }

    /// Writes rows of bytes into host memory, which a copy to the device then reads.
    pub(crate) async fn live_bytes(&mut self, rows: LiveRows, bytes: &[u8]) -> Result<(), Fault> {
        for (row, values) in (0..).zip(bytes.chunks(rows.width.max(1) as usize)) {
            let mut address = rows.address + row * rows.pitch;
            for values in values.chunks(self.page as usize) {
                let tag = self.page_slot(Page::Note).await?;
                self.io
                    .memory
                    .tx
                    .send(crate::driver::HostAccess::Write { tag, address, data: values.into() })
                    .await;
                address += values.len() as u64;
            }
        }
        self.settle().await
    }

    /// Reads rows of host memory.
    pub(crate) async fn live_read(&mut self, rows: LiveRows) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        for row in 0..rows.rows {
            bytes.extend(self.read_host(rows.address + row * rows.pitch, rows.width).await?);
        }
        Ok(bytes)
    }

    /// Begins a copy of rows between host and device, whose places on the host have the same addresses; the result names it.
    pub(crate) async fn live_copy(
        &mut self,
        direction: Direction,
        LiveRows { address, width, rows, pitch }: LiveRows,
        stream: u32,
        parent: Option<SpanId>,
    ) -> CommandId {
        let way = if direction == Direction::HostToDevice { "H2D" } else { "D2H" };
        if direction == Direction::HostToDevice {
            self.live_constants(address);
        }
        let title = Title { name: format!("{way} {}", self.live_name(address)).into(), parent };
        let work = if rows == 1 {
            Work::Copy(Copy { direction, host: address, device: address, bytes: width, tag: LineTag::NONE })
        } else {
            let place = bus::Rows { first: address, pitch };
            let (from, to) = match direction {
                Direction::HostToDevice => (RowSource::Host(place), RowTarget::Device(place)),
                Direction::DeviceToHost => (RowSource::Device(place), RowTarget::Host(place)),
            };
            Work::Move(Box::new(Move { from, to, bytes: width, rows }))
        };
        self.command(DEVICE, stream, work, Some(title), width * rows).await
    }

    /// Begins to fill rows, or to copy rows on the device; the result names it.
    pub(crate) async fn live_move(
        &mut self,
        from: RowSource,
        to: LiveRows,
        stream: u32,
        parent: Option<SpanId>,
    ) -> CommandId {
        self.live_constants(to.address);
        let verb = if matches!(from, RowSource::Value(_)) { "fill" } else { "copy to" };
        let title = Title { name: format!("{verb} {}", self.live_name(to.address)).into(), parent };
        let target = RowTarget::Device(bus::Rows { first: to.address, pitch: to.pitch });
        let work = Work::Move(Box::new(Move { from, to: target, bytes: to.width, rows: to.rows }));
        self.command(DEVICE, stream, work, Some(title), to.bytes()).await
    }

    /// The name of what lies at an address.
    fn live_name(&self, address: u64) -> String {
        let buffers = self.application.buffers.iter().zip(&self.device_address).zip(&self.freed).rev();
        let mut here = buffers.filter(|((buffer, start), freed)| {
            freed.is_none() && address.checked_sub(**start).is_some_and(|at| at < buffer.bytes.max(1))
        });
        here.next().map_or_else(|| "a variable".to_owned(), |((buffer, _), _)| buffer.name.clone())
    }

    /// A write to a module's constants: later launches do not find the old ones in a cache.
    fn live_constants(&mut self, address: u64) {
        let is_constant = self.application.modules.iter().any(|module| {
            let bytes = module.kernels.first().map_or(0, |any| any.constant_bytes());
            module.constants.is_some_and(|start| (start..start + bytes).contains(&address))
        });
        if is_constant {
            *self.constant_writes.entry(DEVICE).or_default() += 1;
        }
    }

    /// Has the completion of a command noted with its time.
    pub(crate) fn note_end(&mut self, id: CommandId) {
        self.ends.insert(id, None);
    }

    /// The time when a command was done whose completion is noted.
    pub(crate) fn end_of(&self, id: CommandId) -> Option<SimTime> {
        self.ends.get(&id).copied().flatten()
    }
}
