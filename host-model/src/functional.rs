//! An application without time: the same steps as under a runtime, on memories that answer at once.
//!
//! Kernels run on the functional executor of `ptx`, one launch and one CTA after another, in the order in which the host
//! sends them: streams and events allow it, because an event that a stream waits for has been sent before. Nothing of a machine is
//! asked here; what an application computes, and how many instructions that takes, does not depend on it. Mistakes after
//! which a kernel can go on are collected, and so are races between streams, which run one after another here.

mod found;
mod order;
mod races;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::Meter;
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::preload::Contents;
use counterpoint_ptx::VariableBases;
use counterpoint_ptx::functional::{Check, FlatMemory, Grid, Options, Space, Touched};

pub use found::{Found, KernelRace, StreamRace};
use order::Order;
use races::{Name, Place, Race, Races, Rival, Touches};

use crate::journal::Journal;
use crate::program::{
    Application, Argument, Awaited, Buffer, BufferId, DEFAULT_STREAM, LaunchStep, Member, Range, Step, Task,
};

/// Execution of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// The kernel.
    pub kernel: String,
    /// Thread blocks.
    pub ctas: u64,
    /// Instructions, counted once for a warp.
    pub warp_instructions: u64,
    /// Instructions, counted for every lane that executed them.
    pub thread_instructions: u64,
}

/// Key of races that are reported once: the names of the two commands, their streams unless they are of
/// tasks, and the place.
type RaceKey = ([(String, Option<u32>); 2], Place);

/// Puts the contents of a file, by its number, into as many bytes.
pub trait Read: FnMut(usize, &mut [u8]) -> Result<(), Fault> {}

impl<F: FnMut(usize, &mut [u8]) -> Result<(), Fault>> Read for F {}

/// The host and its devices, without time.
pub struct FunctionalHost<'a> {
    application: &'a Application,
    journal: &'a Journal,
    meter: &'a Meter,
    options: Options,
    /// Per buffer what the host holds.
    host: Vec<Space>,
    /// By device.
    memories: BTreeMap<u32, FlatMemory>,
    /// Per buffer where it lies on its device.
    addresses: Vec<u64>,
    /// Per module where its variables begin on its device.
    variables: Vec<VariableBases>,
    /// Current meaning of each buffer's name.
    meaning: Vec<usize>,
    /// Which buffers have been freed, by where they lie.
    freed: Vec<bool>,
    launched: Vec<Launched>,
    found: Vec<Found>,
    /// Where the mistakes of a kernel are in the list.
    places: BTreeMap<(String, Check, [u32; 2]), usize>,
    /// Looks for races between streams and between tasks, if that is wanted and there are any.
    races: Option<Races>,
    /// Where the races of two streams, or of tasks, are in the list: by what is done to what.
    raced: BTreeMap<RaceKey, usize>,
}

impl<'a> FunctionalHost<'a> {
    /// A host that tells the journal and the meter how far it is, and runs kernels as the options say.
    /// Memory that nobody has written holds `unwritten` everywhere; with 0 it costs nothing until it is touched.
    ///
    /// # Errors
    /// If the buffers are larger than a process can be.
    pub fn new(
        application: &'a Application,
        journal: &'a Journal,
        meter: &'a Meter,
        options: Options,
        unwritten: u8,
    ) -> Result<Self, Fault> {
        let mut memories = BTreeMap::new();
        let mut addresses = Vec::new();
        let mut host = Vec::new();
        for (device, room) in rooms(application) {
            let memory = usize::try_from(room).map_err(io::Error::other).and_then(FlatMemory::with_room);
            let memory = memory.map_err(|error| {
                Fault::new(format!("there is no room for {room} bytes of device {device}: {error}"))
            })?;
            memories.insert(device, memory);
        }
        for memory in memories.values_mut() {
            memory.set_library(application.library.heap, application.library.printf, unwritten);
        }
        for buffer in &application.buffers {
            let Buffer { name, bytes, .. } = buffer;
            let mut held = Space::zeroed(*bytes as usize).map_err(|error| {
                Fault::new(format!("there is no room for {bytes} bytes of `{name}`: {error}"))
            })?;
            if unwritten != 0 {
                held.fill(unwritten);
            }
            host.push(held);
            let memory = memories.entry(buffer.device).or_insert_with(|| FlatMemory::new(0));
            addresses.push(memory.allocate(&buffer.name, buffer.bytes as usize, unwritten));
        }
        let variables = application.modules.iter().map(|module| {
            let memory = memories.entry(module.device).or_insert_with(|| FlatMemory::new(0));
            let any = module.kernels.first();
            any.map_or_else(VariableBases::default, |kernel| memory.load(&module.name, kernel))
        });
        let variables = variables.collect();
        let tasks =
            |steps: &[Step]| steps.iter().any(|step| step.any(&|step| matches!(step, Step::Tasks(_))));
        let unordered = application.streams.len() > 1 || tasks(&application.steps);
        let races = (options.racecheck && unordered).then(|| Races::new(Order::new(application)));
        if races.is_some() {
            memories.values_mut().for_each(FlatMemory::watch);
        }
        Ok(FunctionalHost {
            application,
            journal,
            meter,
            options,
            host,
            memories,
            addresses,
            variables,
            meaning: (0..application.buffers.len()).collect(),
            freed: vec![false; application.buffers.len()],
            launched: Vec::new(),
            found: Vec::new(),
            places: BTreeMap::new(),
            races,
            raced: BTreeMap::new(),
        })
    }

    /// Does what comes before the run; `read` puts the contents of the files that are loaded, by their order, where they
    /// belong. Returns what devices hold then, by number: buffers that are loaded or handed to a launch, and variables of the modules that ran.
    ///
    /// # Errors
    /// As [`FunctionalHost::run`].
    pub fn preload(mut self, mut read: impl Read) -> Result<ControlFlow<(), Contents>, Fault> {
        let application = self.application;
        // Before the run there are no streams.
        self.races = None;
        for (index, buffer) in application.preloaded.iter().enumerate() {
            let place = buffer.0 as usize;
            let (_, device) = self.both(place)?;
            read(index, device)?;
            let (bytes, address) = (device.len(), self.addresses[place]);
            self.memory(place)?.written(address, 0..bytes);
        }
        if self.steps(&application.preload)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let mut wanted: BTreeSet<BufferId> = application.preloaded.iter().copied().collect();
        for argument in Step::launches(&application.preload).into_iter().flat_map(|launch| &launch.arguments)
        {
            if let Argument::Buffer(buffer, _) = argument {
                wanted.insert(*buffer);
            }
        }
        let mut contents = Contents::new();
        for buffer in wanted {
            let (_, device) = self.both(buffer.0 as usize)?;
            contents.push((buffer.0, device.to_vec().into()));
        }
        let launches = Step::launches(&application.preload);
        let ran: BTreeSet<usize> =
            launches.into_iter().filter_map(|launch| Some(application.place_of(launch)?.module)).collect();
        for module in ran {
            contents.push((application.number_of(module), self.variables(module)?.to_vec().into()));
        }
        Ok(ControlFlow::Continue(contents))
    }

    /// Puts bytes into a buffer, or the variables of a module, on its device.
    ///
    /// # Errors
    /// When that device has no memory.
    pub fn load(&mut self, number: u32, contents: &[u8]) -> Result<(), Fault> {
        let place = number as usize;
        if let Some(module) = place.checked_sub(self.application.buffers.len()) {
            self.variables(module)?.copy_from_slice(contents);
            return Ok(());
        }
        let (_, device) = self.both(place)?;
        device.copy_from_slice(contents);
        let address = self.addresses[place];
        self.memory(place)?.written(address, 0..contents.len());
        Ok(())
    }

    /// Runs the application from prelude to postlude: `read` puts the files of the prelude, by their order,
    /// where they belong, `write` takes those of the postlude. Buffers that are to be looked at go into the
    /// journal. Breaks if it was interrupted.
    ///
    /// # Errors
    /// When a kernel does what it must not, or a loop reaches its limit.
    pub fn run(
        &mut self,
        mut read: impl Read,
        mut write: impl FnMut(usize, Bytes),
    ) -> Result<ControlFlow<()>, Fault> {
        let application = self.application;
        for (index, transfer) in application.prelude.iter().enumerate() {
            let place = self.place(transfer.buffer);
            read(index, &mut self.host[place])?;
            self.journal.moved(self.host[place].len() as u64);
        }
        for &buffer in &application.copy_in {
            self.copy(Direction::HostToDevice, application.whole(buffer), DEFAULT_STREAM)?;
        }
        if self.steps(&application.steps)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        for &buffer in &application.copy_out {
            self.copy(Direction::DeviceToHost, application.whole(buffer), DEFAULT_STREAM)?;
        }
        // Nothing changes any more.
        let host: Vec<Bytes> = std::mem::take(&mut self.host).into_iter().map(Bytes::from_owner).collect();
        for (index, transfer) in application.postlude.iter().enumerate() {
            let contents = host[self.place(transfer.buffer)].clone();
            self.journal.moved(contents.len() as u64);
            write(index, contents);
        }
        for &buffer in &application.inspect {
            self.journal.result(buffer, host[self.place(buffer)].clone());
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Executions of the launches, in their order; the last one may not have ended. And the mistakes of their
    /// kernels, in the order in which they came first.
    pub fn into_results(self) -> (Vec<Launched>, Vec<Found>) {
        (self.launched, self.found)
    }

    fn place(&self, name: BufferId) -> usize {
        self.meaning[name.0 as usize]
    }

    /// A buffer's bytes on the host and on its device.
    fn both(&mut self, place: usize) -> Result<(&mut [u8], &mut [u8]), Fault> {
        let buffer = &self.application.buffers[place];
        if self.freed[place] {
            return Err(Fault::new(buffer.is_freed()));
        }
        let memory = self.memories.get_mut(&buffer.device);
        let memory = memory.ok_or_else(|| no_buffer(buffer.device))?;
        let start = (self.addresses[place] - memory.base) as usize;
        Ok((&mut self.host[place], &mut memory.bytes[start..start + buffer.bytes as usize]))
    }

    /// The bytes of a module's variables.
    fn variables(&mut self, module: usize) -> Result<&mut [u8], Fault> {
        let (place, base) = (&self.application.modules[module], self.variables[module].globals);
        let memory = self.memories.get_mut(&place.device).ok_or_else(|| no_buffer(place.device))?;
        let bytes = place.kernels.first().map_or(0, |kernel| kernel.global_bytes()) as usize;
        let start = if bytes > 0 { (base - memory.base) as usize } else { 0 };
        Ok(&mut memory.bytes[start..start + bytes])
    }

    /// The memory in which a buffer lies.
    fn memory(&mut self, place: usize) -> Result<&mut FlatMemory, Fault> {
        let device = self.application.buffers[place].device;
        self.memories.get_mut(&device).ok_or_else(|| no_buffer(device))
    }

    fn copy(&mut self, direction: Direction, part: Range, stream: u32) -> Result<(), Fault> {
        self.check_copy(direction, part, stream);
        let place = self.place(part.buffer);
        let bytes = part.offset as usize..(part.offset + part.bytes) as usize;
        let (host, device) = self.both(place)?;
        let (host, device) = (&mut host[bytes.clone()], &mut device[bytes.clone()]);
        match direction {
            Direction::HostToDevice => {
                device.copy_from_slice(host);
                let address = self.addresses[place];
                self.memory(place)?.written(address, bytes);
            }
            Direction::DeviceToHost => host.copy_from_slice(device),
        }
        self.journal.moved(part.bytes);
        Ok(())
    }

    /// Looks for races of a copy.
    fn check_copy(&mut self, direction: Direction, part: Range, stream: u32) {
        if self.races.is_none() {
            return;
        }
        let place = self.place(part.buffer);
        let part = part.offset as usize..(part.offset + part.bytes) as usize;
        let buffer = &self.application.buffers[place];
        let (way, [host, device]) = match direction {
            Direction::HostToDevice => ("in", [Touched::reads, Touched::writes]),
            Direction::DeviceToHost => ("out", [Touched::writes, Touched::reads]),
        };
        let on_device = Place::Device(buffer.device, self.addresses[place]);
        let touches = [(Place::Host(place), host(part.clone())), (on_device, device(part))];
        let name = format!("the copy {way} of `{}`", buffer.name);
        self.check_races(buffer.device, stream, Name { title: name.clone(), full: name }, touches.into());
    }

    /// Looks for races of a command; those of commands of the same titles are the same.
    fn check_races(&mut self, device: u32, stream: u32, name: Name, touches: Touches) {
        let Some(races) = &mut self.races else { return };
        for Race { commands, place, conflict } in races.send(device, stream, name, touches) {
            let stream = |rival| match rival {
                Rival::Stream(stream) => Some(stream),
                Rival::Task(_) => None,
            };
            let between = if commands.iter().all(|(_, rival)| matches!(rival, Rival::Task(_))) {
                "tasks"
            } else {
                "streams"
            };
            let key = (commands.clone().map(|(name, rival)| (name.title, stream(rival))), place);
            if let Some(Found::BetweenStreams(known)) =
                self.raced.get(&key).and_then(|&index| self.found.get_mut(index))
            {
                known.count += 1;
                continue;
            }
            let commands = commands.map(|(Name { full, .. }, rival)| match rival {
                Rival::Task(task) => format!("{full} of task {task}"),
                Rival::Stream(DEFAULT_STREAM) => format!("{full} on the default stream"),
                Rival::Stream(named) => {
                    format!("{full} on stream `{}`", self.application.streams[named as usize].name)
                }
            });
            let (memory, address) = match place {
                Place::Device(device, address) => {
                    let memory = self.memories.get(&device);
                    (memory.map(|memory| memory.name_of(address)).unwrap_or_default(), Some(address))
                }
                Place::Host(buffer) => {
                    (format!("`{}` on the host", self.application.buffers[buffer].name), None)
                }
            };
            self.raced.insert(key, self.found.len());
            let race = StreamRace { between, commands, memory, address, conflict, count: 1 };
            self.found.push(Found::BetweenStreams(race));
        }
    }

    /// Notes what a step orders.
    fn order(&mut self, step: &Step) {
        let Some(Races { order, .. }) = &mut self.races else { return };
        let device = |stream| self.application.device_of(stream);
        match *step {
            Step::Record(event, stream) => order.record(event, device(stream), stream),
            Step::Wait(event, stream) => order.wait(event, device(stream), stream),
            Step::Synchronize(Awaited::All) => order.await_all(),
            Step::Synchronize(Awaited::Stream(stream)) => order.await_stream(device(stream), stream),
            Step::Synchronize(Awaited::Event(event)) => order.await_event(event),
            _ => {}
        }
    }

    fn free(&mut self, name: BufferId) -> Result<(), Fault> {
        let place = self.place(name);
        if std::mem::replace(&mut self.freed[place], true) {
            return Err(Fault::new(self.application.buffers[place].is_freed()));
        }
        let (address, launches) = (self.addresses[place], self.launched.len() as u32);
        self.memory(place)?.free(address, launches);
        Ok(())
    }

    fn steps(&mut self, steps: &[Step]) -> Result<ControlFlow<()>, Fault> {
        let application = self.application;
        for step in steps {
            let flow = match step {
                Step::Launch(launch) => self.launch(launch)?,
                Step::Copy { direction, buffer, stream } => {
                    self.copy(*direction, application.whole(*buffer), *stream)?;
                    ControlFlow::Continue(())
                }
                Step::Tasks(tasks) => self.tasks(tasks)?,
                Step::Record(..) | Step::Wait(..) | Step::Synchronize(_) => {
                    self.order(step);
                    ControlFlow::Continue(())
                }
                Step::Swap(a, b) => {
                    self.meaning.swap(a.0 as usize, b.0 as usize);
                    ControlFlow::Continue(())
                }
                Step::Free(name) => {
                    self.free(*name)?;
                    ControlFlow::Continue(())
                }
                Step::Pipeline { launches, .. } => self.steps(launches)?,
                Step::Together { members, rounds } => self.together(members, rounds)?,
                Step::Repeat(times, steps) => {
                    let mut flow = ControlFlow::Continue(());
                    for _ in 0..*times {
                        flow = self.steps(steps)?;
                        if flow.is_break() {
                            break;
                        }
                    }
                    flow
                }
                Step::Loop { until, most, steps } => {
                    let looked = until.part();
                    let part = until.offset as usize..until.offset as usize + until.value.len();
                    let mut rounds = 0;
                    loop {
                        let flow = self.steps(steps)?;
                        if flow.is_break() {
                            break flow;
                        }
                        rounds += 1;
                        let place = self.place(until.buffer);
                        self.check_copy(Direction::DeviceToHost, looked, DEFAULT_STREAM);
                        if let Some(races) = &mut self.races {
                            races.order.await_stream(application.buffers[place].device, DEFAULT_STREAM);
                        }
                        let (host, device) = self.both(place)?;
                        host[part.clone()].copy_from_slice(&device[part.clone()]);
                        if host[part.clone()] == *until.value {
                            break flow;
                        }
                        if rounds == *most {
                            return Err(Fault::new(until.never(*most)));
                        }
                    }
                }
            };
            if flow.is_break() || self.options.interrupt.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Does the rounds of applications once each.
    fn together(&mut self, members: &[Member], rounds: &[Step]) -> Result<ControlFlow<()>, Fault> {
        for (member, round) in members.iter().zip(rounds) {
            if self.steps(std::slice::from_ref(round))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            for &buffer in &member.copy_out {
                self.copy(Direction::DeviceToHost, self.application.whole(buffer), member.stream)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Does tasks one after another, although nothing orders them.
    fn tasks(&mut self, tasks: &[Task]) -> Result<ControlFlow<()>, Fault> {
        for (number, Task { copy_in, launch, copy_out, .. }) in (0..).zip(tasks) {
            self.begin_task(Some(number));
            for &part in copy_in {
                self.copy(Direction::HostToDevice, part, DEFAULT_STREAM)?;
            }
            let flow = self.launch(launch)?;
            if flow.is_break() || self.options.interrupt.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
            for &part in copy_out {
                self.copy(Direction::DeviceToHost, part, DEFAULT_STREAM)?;
            }
        }
        self.begin_task(None);
        Ok(ControlFlow::Continue(()))
    }

    fn begin_task(&mut self, task: Option<u32>) {
        if let Some(races) = &mut self.races {
            races.begin(task);
        }
    }

    fn launch(&mut self, step: &LaunchStep) -> Result<ControlFlow<()>, Fault> {
        let params = step.params(|name| self.addresses[self.meaning[name.0 as usize]]);
        self.options.dynamic_shared_bytes = step.shared;
        let place = |name: BufferId| self.addresses[self.meaning[name.0 as usize]];
        self.options.textures = self.application.textures_on(step.device, place);
        let kernel = step.kernel.name();
        let name = format!("{kernel}#{}", self.launched.len() + 1);
        let memory = self.memories.get_mut(&step.device).ok_or_else(|| no_buffer(step.device))?;
        let place = self.application.place_of(step);
        let variables = place.map_or_else(VariableBases::default, |place| self.variables[place.module]);
        let grid = Grid::new(&step.kernel, step.grid, step.block, &params, variables, &self.options);
        let mut grid = grid.map_err(|error| Fault::new(format!("{name}: {}", error.message)))?;
        let mut done = 0;
        let ran = grid.run_all(memory, || {
            done += 1;
            self.meter.begin(1);
            self.meter.end(1);
        });
        let (flow, failure) = match ran {
            Ok(flow) => (flow, None),
            Err(error) => (ControlFlow::Continue(()), Some(Fault::new(format!("{name}, {error}")))),
        };
        for finding in grid.findings() {
            let key = (kernel.to_owned(), finding.check, finding.lines);
            match self.places.get(&key) {
                Some(&index) => {
                    if let Found::InKernel { finding: known, .. } = &mut self.found[index] {
                        known.count += finding.count;
                    }
                }
                None => {
                    self.places.insert(key, self.found.len());
                    self.found.push(Found::InKernel { launch: name.clone(), finding: finding.clone() });
                }
            }
        }
        let statistics = grid.statistics();
        let touched = memory.take_touched();
        self.journal.printed_in(memory);
        self.launched.push(Launched {
            kernel: kernel.to_owned(),
            ctas: done,
            warp_instructions: statistics.warp_instructions,
            thread_instructions: statistics.thread_instructions,
        });
        let place = |(address, touched)| (Place::Device(step.device, address), touched);
        let name = Name { title: kernel.to_owned(), full: name };
        self.check_races(step.device, step.stream, name, touched.into_iter().map(place).collect());
        if let Some(fault) = failure {
            return Err(fault);
        }
        if flow.is_continue() {
            self.journal.launched();
        }
        Ok(flow)
    }
}

/// Bytes that each device holds: buffers and variables, with gaps between them.
fn rooms(application: &Application) -> BTreeMap<u32, u64> {
    let mut rooms: BTreeMap<u32, u64> = application.devices().into_iter().map(|device| (device, 0)).collect();
    let buffers = application.buffers.iter().map(|buffer| (buffer.device, buffer.bytes));
    let variables = application.modules.iter().filter_map(|module| {
        let kernel = module.kernels.first()?;
        Some((module.device, kernel.global_bytes() + kernel.constant_bytes() + GAP))
    });
    let library = application.library.heap + application.library.printf + 2 * GAP;
    let library = application.modules.iter().filter_map(|module| {
        let kernel = module.kernels.first()?;
        (kernel.prints() || kernel.allocates()).then_some((module.device, library))
    });
    for (device, bytes) in buffers.chain(variables).chain(library) {
        let room = rooms.entry(device).or_default();
        *room = room.saturating_add(bytes).saturating_add(GAP);
    }
    rooms
}

/// Bytes between two allocations at most.
const GAP: u64 = 512;

fn no_buffer(device: u32) -> Fault {
    Fault::new(format!("no buffer lies on device {device}"))
}
