//! An application as the host executes it: buffers, files, and the steps from prelude to postlude.
//!
//! Names have been resolved to indices and expressions to numbers; the source of an application is not known here.

mod addresses;
mod cursor;
mod moves;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;
use counterpoint_ptx::printf::Ring;
use counterpoint_ptx::surface::{Surface, Surfaces};
use counterpoint_ptx::texture::{Texture, Textures};
use counterpoint_ptx::{Heap, Kernel, StackSize};

use crate::modules::Module;

pub use addresses::{BufferPlace, Fixed, Shifts, Space, Variable};
pub use cursor::{Cursor, Elementary, Next};
pub use moves::{Computed, HostStep, Moved, Pace, Range, Rows, Transfer};

/// Position of a buffer in the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u32);

/// Memory that exists on the host and on a device.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// The device of the buffer.
    pub device: u32,
    /// Location of the buffer on the device.
    pub place: BufferPlace,
}

impl Buffer {
    /// Message for a request to use it on its device although it has been freed there.
    pub fn is_freed(&self) -> String {
        format!(
            "`{}` has been freed on device {}: it can be neither copied nor freed again",
            self.name, self.device
        )
    }
}

/// A stream: its commands are executed in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Name of the stream.
    pub name: String,
    /// The device of the stream.
    pub device: u32,
    /// Whether the default stream does not wait for it, nor it for the default stream.
    pub non_blocking: bool,
}

impl Stream {
    /// The stream of everything that names none.
    pub fn default_of_all() -> Self {
        Stream { name: "default".to_owned(), device: 0, non_blocking: false }
    }
}

/// The stream of everything that names none. Every device has its own.
pub const DEFAULT_STREAM: u32 = 0;

/// Position of an event in the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(pub u32);

/// Work or event for which the host waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Everything that it has sent.
    All,
    /// Everything that it has sent on a stream.
    Stream(u32),
    /// An event, as it was recorded last; nothing if it never was.
    Event(EventId),
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The device address of a byte of a buffer, counted from its beginning.
    Buffer(BufferId, u64),
    /// A value in the bytes of its type.
    Value(Box<[u8]>),
    /// A value with addresses in it, such as a struct.
    Struct {
        /// Its bytes, with zeros where addresses are.
        bytes: Box<[u8]>,
        /// For each offset in these bytes that holds an address, the buffer and the byte in it to which the address points.
        addresses: Box<[(u32, BufferId, u64)]>,
    },
}

impl Argument {
    /// The buffers whose addresses it holds.
    pub fn buffers(&self) -> impl Iterator<Item = BufferId> {
        let (one, more): (_, &[_]) = match self {
            Argument::Buffer(buffer, _) => (Some(*buffer), &[]),
            Argument::Value(_) => (None, &[]),
            Argument::Struct { addresses, .. } => (None, addresses),
        };
        one.into_iter().chain(more.iter().map(|(_, buffer, _)| *buffer))
    }
}

/// A kernel launch.
#[derive(Clone, Debug)]
pub struct LaunchStep {
    /// The kernel.
    pub kernel: Arc<Kernel>,
    /// The name of the kernel's module.
    pub code: Arc<str>,
    /// Thread blocks.
    pub grid: [u32; 3],
    /// Threads per block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// One for each parameter of the kernel.
    pub arguments: Vec<Argument>,
    /// On which device.
    pub device: u32,
    /// On which stream, by its number.
    pub stream: u32,
}

impl LaunchStep {
    /// Thread blocks of the kernel launch.
    pub fn ctas(&self) -> u64 {
        self.grid.iter().map(|&size| u64::from(size)).product()
    }

    /// Replaces the kernel by a rewritten one. A thread keeps its number of registers, which the application's file may know better than an
    /// estimate does, plus those that rewriting adds to the live registers.
    pub fn rewrite(&mut self, kernel: Arc<Kernel>) {
        let added = kernel.live_registers().saturating_sub(self.kernel.live_registers());
        self.registers += added;
        self.kernel = kernel;
    }

    /// The kernel's parameters as bytes; `address` gives the addresses of buffers.
    pub fn params(&self, address: impl Fn(BufferId) -> u64) -> Vec<u8> {
        let mut params = vec![0; self.kernel.param_bytes() as usize];
        for (argument, param) in self.arguments.iter().zip(self.kernel.params()) {
            let place = &mut params[param.offset as usize..(param.offset + param.size) as usize];
            match argument {
                Argument::Buffer(name, offset) => {
                    let address = address(*name) + offset;
                    place.copy_from_slice(&address.to_le_bytes()[..param.size as usize]);
                }
                Argument::Value(bytes) => place.copy_from_slice(bytes),
                Argument::Struct { bytes, addresses } => {
                    place.copy_from_slice(bytes);
                    for &(at, name, offset) in addresses {
                        let address = address(name) + offset;
                        place[at as usize..][..8].copy_from_slice(&address.to_le_bytes());
                    }
                }
            }
        }
        params
    }
}

/// A narrow task: a launch of a few threads with the copies that belong to it alone, one of many that are independent of each
/// other.
#[derive(Clone, Debug)]
pub struct Task {
    /// Parts that are copied to the device for it.
    pub copy_in: Vec<Range>,
    /// Its kernel; blocks and threads in one dimension.
    pub launch: LaunchStep,
    /// Whether the threads of a block meet at barriers.
    pub barrier: bool,
    /// Parts that are copied back when its kernel has ended.
    pub copy_out: Vec<Range>,
}

impl Task {
    /// Everything that is copied for it, either way.
    pub fn copies(&self) -> impl Iterator<Item = &Range> {
        self.copy_in.iter().chain(&self.copy_out)
    }
}

/// A buffer as texture fetches see it. Its handle is its position among the application's textures, counted from 1.
#[derive(Clone, Debug)]
pub struct BoundTexture {
    /// Name of the texture: that of a `.texref`, if a kernel has one of this name.
    pub name: String,
    /// The buffer.
    pub buffer: BufferId,
    /// Format and mode of its fetches, and where in the buffer its texels begin.
    pub texture: Texture,
}

/// A buffer as kernels see it through a surface. Its handle is its position among the application's surfaces, counted from
/// [`Surfaces::FIRST_HANDLE`].
#[derive(Clone, Debug)]
pub struct BoundSurface {
    /// Name of the surface: that of a `.surfref`, if a kernel has one of this name.
    pub name: String,
    /// The buffer.
    pub buffer: BufferId,
    /// Size and elements, and where in the buffer they begin.
    pub surface: Surface,
}

/// Condition that ends a loop: an element of a buffer has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The buffer.
    pub buffer: BufferId,
    /// Offset of the element in the buffer, in bytes.
    pub offset: u64,
    /// The value in the bytes of its type.
    pub value: Box<[u8]>,
    /// The condition in words, for messages.
    pub words: String,
}

impl Condition {
    /// The bytes that the condition reads.
    pub fn part(&self) -> Range {
        Range { buffer: self.buffer, offset: self.offset, bytes: self.value.len() as u64 }
    }

    /// Message for a loop that reaches its limit.
    pub fn never(&self, most: u32) -> String {
        format!("a loop did not end: after {most} rounds, its limit, it is not so that {}", self.words)
    }
}

/// An application that runs together with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the application.
    pub name: String,
    /// The stream that it has to itself.
    pub stream: u32,
    /// Parts that are copied back behind its first round.
    pub copy_out: Vec<Range>,
    /// Whether the round is executed only once, whatever others do: a second round would find freed memory, or change the results
    /// of the first.
    pub once: bool,
}

/// A step of the part that runs on the device.
#[derive(Clone, Debug)]
pub enum Step {
    /// Launches a kernel.
    Launch(LaunchStep),
    /// Copies a part of a buffer.
    Copy {
        /// Direction of the copy.
        direction: Direction,
        /// The part.
        part: Range,
        /// On which stream.
        stream: u32,
    },
    /// Fills or copies rows on a device, or copies rows between it and the host.
    Move {
        /// The rows.
        moved: Moved,
        /// On which stream.
        stream: u32,
    },
    /// The host does something by itself.
    Host(HostStep),
    /// Records an event on a stream.
    Record(EventId, u32),
    /// Holds a stream until an event, as it was recorded last, has been recorded; at once if it never was.
    Wait(EventId, u32),
    /// Holds the host.
    Synchronize(Awaited),
    /// Exchanges the buffers of two names, for all later steps.
    Swap(BufferId, BufferId),
    /// Frees a buffer's memory on its device. The host's copy stays.
    Free(BufferId),
    /// Executes the steps several times.
    Repeat(u32, Vec<Step>),
    /// A task pipeline: batches of data that go through the same kernels, each in order. Batches are independent of each other.
    Pipeline {
        /// Number of kernels.
        kernels: u32,
        /// The launches of one batch after another, `kernels` for each batch.
        launches: Vec<Step>,
    },
    /// Tasks in the order in which the host sends them, perhaps none. Tasks are independent of each other.
    Tasks(Arc<[Task]>),
    /// Executes the steps until the device has left a value, which the host checks after every round.
    Loop {
        /// Condition that ends the loop.
        until: Condition,
        /// Rounds after which the run is given up.
        most: u32,
        /// The steps of a round.
        steps: Vec<Step>,
    },
    /// Applications side by side: each executes its round, and repeats it while another application has not completed its first.
    /// A runtime without concurrency executes each round once.
    CoRun {
        /// The applications.
        members: Vec<Member>,
        /// The round of each.
        rounds: Vec<Step>,
    },
}

impl Step {
    /// The steps of one round, of a step that has rounds.
    pub fn inner(&self) -> &[Step] {
        match self {
            Step::Repeat(_, steps)
            | Step::Loop { steps, .. }
            | Step::Pipeline { launches: steps, .. }
            | Step::CoRun { rounds: steps, .. } => steps,
            _ => &[],
        }
    }

    /// Its key in an application file.
    pub fn key(&self) -> &'static str {
        match self {
            Step::Launch(_) => "launch",
            Step::Copy { direction: Direction::HostToDevice, .. }
            | Step::Move { moved: Moved::Copy { direction: Direction::HostToDevice, .. }, .. } => "copy_in",
            Step::Copy { .. } | Step::Move { moved: Moved::Copy { .. }, .. } => "copy_out",
            Step::Move { moved: Moved::Fill { .. }, .. } => "memset",
            Step::Move { moved: Moved::Within { .. }, .. } => "copy",
            Step::Host(HostStep::Read(_)) => "read",
            Step::Host(HostStep::Write(_)) => "write",
            Step::Host(HostStep::Busy(_)) => "compute",
            Step::Record(..) => "record",
            Step::Wait(..) => "wait",
            Step::Synchronize(_) => "synchronize",
            Step::Swap(..) => "swap",
            Step::Free(_) => "free",
            Step::Repeat(..) => "repeat",
            Step::Pipeline { .. } => "pipeline",
            Step::Tasks(_) => "tasks",
            Step::Loop { .. } => "until",
            Step::CoRun { .. } => "co_run",
        }
    }

    /// Changes the steps of the host among steps and within them.
    pub fn each_of_host(steps: &mut [Step], change: &mut impl FnMut(&mut HostStep)) {
        for step in steps {
            match step {
                Step::Host(step) => change(step),
                Step::Repeat(_, steps)
                | Step::Loop { steps, .. }
                | Step::Pipeline { launches: steps, .. }
                | Step::CoRun { rounds: steps, .. } => Step::each_of_host(steps, change),
                _ => {}
            }
        }
    }

    /// Whether it passes a test, or a step within it does.
    pub fn any(&self, test: &dyn Fn(&Step) -> bool) -> bool {
        test(self) || self.inner().iter().any(|step| step.any(test))
    }

    /// The launches among steps and within them, in their order; those of a round once.
    pub fn launches(steps: &[Step]) -> Vec<&LaunchStep> {
        fn of(step: &Step) -> Vec<&LaunchStep> {
            match step {
                Step::Launch(launch) => vec![launch],
                Step::Tasks(tasks) => tasks.iter().map(|task| &task.launch).collect(),
                step => Step::launches(step.inner()),
            }
        }
        steps.iter().flat_map(of).collect()
    }
}

/// Sizes of the memory that a device's driver gives to the device library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibrarySizes {
    /// Bytes of the heap from which kernels allocate.
    pub heap: u64,
    /// Bytes of records of `printf` that nobody has read yet.
    pub printf: u64,
}

impl Default for LibrarySizes {
    fn default() -> Self {
        LibrarySizes { heap: Heap::DEFAULT_BYTES, printf: Ring::DEFAULT_BYTES }
    }
}

/// An application.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// Name of the application.
    pub name: String,
    /// Buffers of the application.
    pub buffers: Vec<Buffer>,
    /// Textures of the application.
    pub textures: Vec<BoundTexture>,
    /// Surfaces of the application.
    pub surfaces: Vec<BoundSurface>,
    /// The modules of all launches.
    pub modules: Vec<Module>,
    /// Places of programs that run together among the addresses of a device.
    pub shifts: Shifts,
    /// Memory of every device that the kernels' library has.
    pub library: LibrarySizes,
    /// The stack of each thread; if none is given, the largest usual one for which a device has room.
    pub stack: Option<StackSize>,
    /// Its streams by number; number 0 is the default streams of all devices.
    pub streams: Vec<Stream>,
    /// Buffers whose contents are on their device before time 0, in the order of the files that hold them.
    pub preloaded: Vec<BufferId>,
    /// Steps that run there without time before that, on these contents.
    pub preload: Vec<Step>,
    /// Steps of the host before the first copy: files that are read, and computed contents instead of files.
    pub prelude: Vec<HostStep>,
    /// Contents among these that no storage holds, because the CPU computes them.
    pub computed: BTreeMap<FileIndex, Computed>,
    /// Buffers copied to their device.
    pub copy_in: Vec<BufferId>,
    /// Steps that run there.
    pub steps: Vec<Step>,
    /// Buffers copied back.
    pub copy_out: Vec<BufferId>,
    /// Steps of the host at the end: files that are written.
    pub postlude: Vec<HostStep>,
    /// Buffers whose host copy is inspected at the end.
    pub inspect: Vec<BufferId>,
}

impl Application {
    /// Whether devices hold something when the run begins.
    pub fn preloads(&self) -> bool {
        !self.preloaded.is_empty() || !self.preload.is_empty()
    }

    /// The textures and surfaces of a device; `address` gives the addresses of buffers.
    pub fn textures_on(&self, device: u32, address: impl Fn(BufferId) -> u64) -> Arc<Textures> {
        let mut found = Textures::default();
        let is_there = |buffer: BufferId| self.buffers[buffer.0 as usize].device == device;
        for (bound, handle) in self.textures.iter().zip(1..) {
            if is_there(bound.buffer) {
                let texels = address(bound.buffer) + bound.texture.texels;
                let texture = Texture { texels, ..bound.texture.clone() };
                found.references.insert(bound.name.clone(), texture.clone());
                found.objects.insert(handle, texture);
            }
        }
        for (bound, handle) in self.surfaces.iter().zip(Surfaces::FIRST_HANDLE..) {
            if is_there(bound.buffer) {
                let elements = address(bound.buffer) + bound.surface.elements;
                let surface = Surface { elements, ..bound.surface.clone() };
                found.surfaces.references.insert(bound.name.clone(), surface.clone());
                found.surfaces.objects.insert(handle, surface);
            }
        }
        Arc::new(found)
    }

    /// The handle of a texture or surface, and its buffer.
    pub fn handle_of(&self, name: &str) -> Option<(u64, BufferId)> {
        let textures = self.textures.iter().map(|bound| (&bound.name, bound.buffer)).zip(1..);
        let surfaces = self.surfaces.iter().map(|bound| (&bound.name, bound.buffer));
        let mut handles = textures.chain(surfaces.zip(Surfaces::FIRST_HANDLE..));
        handles.find_map(|((known, buffer), handle)| (known == name).then_some((handle, buffer)))
    }

    /// The devices that hold something of it.
    pub fn devices(&self) -> BTreeSet<u32> {
        let buffers = self.buffers.iter().map(|buffer| buffer.device);
        buffers.chain(self.modules.iter().map(|module| module.device)).collect()
    }

    /// The device of a stream; of the default streams that of device 0.
    pub fn device_of(&self, stream: u32) -> u32 {
        self.streams.get(stream as usize).map_or(0, |stream| stream.device)
    }

    /// Whether the default stream and a stream wait for each other.
    pub fn is_blocking(&self, stream: u32) -> bool {
        self.streams.get(stream as usize).is_none_or(|stream| !stream.non_blocking)
    }

    /// All of a buffer.
    pub fn whole(&self, buffer: BufferId) -> Range {
        Range { buffer, offset: 0, bytes: self.buffers[buffer.0 as usize].bytes }
    }

    /// The transfers of the prelude that fill buffers.
    pub fn reads(&self) -> impl Iterator<Item = &Transfer> {
        self.prelude.iter().filter_map(|step| match step {
            HostStep::Read(transfer) => Some(transfer),
            _ => None,
        })
    }

    /// The transfers of the postlude that write files.
    pub fn writes(&self) -> impl Iterator<Item = &Transfer> {
        self.postlude.iter().filter_map(|step| match step {
            HostStep::Write(transfer) => Some(transfer),
            _ => None,
        })
    }

    /// Bytes that move between storage, host and devices, for progress.
    pub fn bytes(&self) -> u64 {
        let size = |id: &BufferId| self.buffers[id.0 as usize].bytes;
        let transferred = |step: &HostStep| step.transfer().map_or(0, |transfer| transfer.part.bytes);
        let files = self.prelude.iter().chain(&self.postlude).map(transferred);
        let copies = files.chain(self.copy_in.iter().chain(&self.copy_out).map(size)).sum::<u64>();
        let of_step = |step: &Step| match step {
            Step::Copy { part, .. } => part.bytes,
            Step::Move { moved, .. } => moved.rows().total(),
            Step::Host(step) => transferred(step),
            Step::Tasks(tasks) => tasks.iter().flat_map(Task::copies).map(|range| range.bytes).sum(),
            Step::CoRun { members, .. } => {
                members.iter().flat_map(|one| &one.copy_out).map(|part| part.bytes).sum()
            }
            _ => 0,
        };
        copies + sum(&self.steps, &of_step)
    }

    /// Launches, for progress.
    pub fn launches(&self) -> u64 {
        let of_step = |step: &Step| match step {
            Step::Launch(_) => 1,
            Step::Tasks(tasks) => tasks.len() as u64,
            _ => 0,
        };
        sum(&self.steps, &of_step)
    }

    /// Thread blocks of all launches, for progress.
    pub fn ctas(&self) -> u64 {
        let of_step = |step: &Step| match step {
            Step::Launch(launch) => launch.ctas(),
            Step::Tasks(tasks) => tasks.iter().map(|task| task.launch.ctas()).sum(),
            _ => 0,
        };
        sum(&self.steps, &of_step)
    }

    /// The kernels of all launches in order, each with its thread blocks; `None` if the number of launches is unknown.
    pub fn blocks(&self) -> Option<Vec<(&str, u64)>> {
        let is_open = |step: &Step| matches!(step, Step::Loop { .. } | Step::CoRun { .. });
        let open = self.steps.iter().any(|step| step.any(&is_open));
        (!open).then(|| {
            let mut blocks: Vec<(&str, u64)> = Vec::new();
            for next in Cursor::new(&self.steps) {
                let Next::Do(Elementary::Launch(launch)) = next else { continue };
                match blocks.last_mut() {
                    Some((kernel, count)) if *kernel == launch.kernel.name() => *count += launch.ctas(),
                    _ => blocks.push((launch.kernel.name(), launch.ctas())),
                }
            }
            blocks
        })
    }
}

/// The sum over all steps, times their repetitions; the rounds of a loop and of a co-run count once, since their number is unknown.
fn sum(steps: &[Step], of_step: &dyn Fn(&Step) -> u64) -> u64 {
    let each = steps.iter().map(|step| match step {
        Step::Repeat(times, steps) => u64::from(*times) * sum(steps, of_step),
        Step::Loop { steps, .. } | Step::Pipeline { launches: steps, .. } => sum(steps, of_step),
        Step::CoRun { rounds, .. } => of_step(step) + sum(rounds, of_step),
        step => of_step(step),
    });
    each.sum()
}
