//! An application without time: the same steps as under a runtime, on memories that answer at once.
//!
//! Kernels run on the functional executor of `ptx`, one launch and one CTA after another, in the order in which the host
//! sends them: streams and events allow it, because an event for which a stream waits has been sent before. No machine is
//! involved; the results of an application, and its number of instructions, do not depend on one. Mistakes after which a kernel
//! can continue are collected, and so are races between streams, which run one after another here.

mod found;
mod memories;
mod moves;
mod order;
mod part;
mod races;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::Meter;
use counterpoint_protocols::bus::Direction;
use counterpoint_protocols::host::FileIndex;
use counterpoint_protocols::launch::fault_of;
use counterpoint_protocols::preload::Contents;
use counterpoint_ptx::functional::{Check, FlatMemory, Grid, Options, Space};
use counterpoint_ptx::{VariableBases, Windows};

pub use memories::Memories;
pub use part::Part;
pub use rest::{Ended, Rest};

pub use found::{Found, KernelRace, StreamRace};
use order::Order;
use races::{MemoryPlace, Name, Race, Races, Rival, Touches};

use crate::journal::Journal;
use crate::program::{
    Application, Awaited, Buffer, BufferId, Condition, Cursor, DEFAULT_STREAM, Elementary, HostStep,
    LaunchStep, Moved, Next, Step, Transfer,
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

/// Key of races that are reported once: the names of the two commands, their streams unless they are of tasks, and the
/// memory.
type RaceKey = ([(String, Option<u32>); 2], MemoryPlace);

/// The files of a run.
pub trait Files {
    /// Fills `place` with bytes of a file, beginning at `at`.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read(&mut self, file: FileIndex, at: u64, place: &mut [u8]) -> Result<(), Fault>;

    /// Writes bytes into a file, beginning at `at`.
    fn write(&mut self, file: FileIndex, at: u64, contents: Bytes);
}

/// The host and its devices, without time.
pub struct FunctionalHost<'a> {
    application: &'a Application,
    journal: &'a Journal,
    meter: &'a Meter,
    options: Options,
    host: Vec<Space>,
    memories: Memories,
    /// Buffer to which each buffer's name currently refers.
    meaning: Vec<usize>,
    /// For each buffer, by position, whether it has been freed.
    freed: Vec<bool>,
    launched: Vec<Launched>,
    found: Vec<Found>,
    /// Positions of the mistakes of a kernel in `found`.
    places: BTreeMap<(String, Check, [u32; 2]), usize>,
    /// Looks for races between streams and between tasks, if that is wanted and there are any.
    races: Option<Races>,
    /// Positions of the races of two streams, or of tasks, in `found`, by commands and memory.
    raced: BTreeMap<RaceKey, usize>,
}

impl<'a> FunctionalHost<'a> {
    /// A host that reports progress to the journal and the meter, and runs kernels as the options say.
    /// Memory that nobody has written holds `unwritten` everywhere; with 0 it costs nothing until it is touched.
    ///
    /// # Errors
    /// If the buffers are larger than a process can be.
    pub fn new(
        application: &'a Application,
        journal: &'a Journal,
        meter: &'a Meter,
        mut options: Options,
        unwritten: u8,
    ) -> Result<Self, Fault> {
        let mut memories = Memories::new(application, unwritten)?;
        options.stack = application.stack.unwrap_or_default();
        if application.is_fixed() {
            options.windows = Windows::ABOVE_MEMORY;
        }
        let mut host = Vec::new();
        for buffer in &application.buffers {
            let Buffer { name, bytes, .. } = buffer;
            let mut held = Space::zeroed(*bytes as usize).map_err(|error| {
                Fault::new(format!("there is no room for {bytes} bytes of `{name}`: {error}"))
            })?;
            if unwritten != 0 {
                held.fill(unwritten);
            }
            host.push(held);
        }
        let tasks =
            |steps: &[Step]| steps.iter().any(|step| step.any(&|step| matches!(step, Step::Tasks(_))));
        let of_host = |step: &Step| matches!(step, Step::Host(_));
        let on_host = application.steps.iter().any(|step| step.any(&of_host));
        let unordered = application.streams.len() > 1 || tasks(&application.steps) || on_host;
        let races = (options.racecheck && unordered).then(|| Races::new(Order::new(application), on_host));
        if races.is_some() {
            memories.memories.values_mut().for_each(FlatMemory::watch);
        }
        Ok(FunctionalHost {
            application,
            journal,
            meter,
            options,
            host,
            memories,
            meaning: (0..application.buffers.len()).collect(),
            freed: vec![false; application.buffers.len()],
            launched: Vec::new(),
            found: Vec::new(),
            places: BTreeMap::new(),
            races,
            raced: BTreeMap::new(),
        })
    }

    /// Executes the steps that precede the run; `read` puts the contents of the files that are loaded, by their order, where they
    /// belong. Returns what devices hold then, by number: buffers that are loaded or handed to a launch, and variables of the modules that ran.
    ///
    /// # Errors
    /// As [`FunctionalHost::run`].
    pub fn preload(mut self, mut files: impl Files) -> Result<ControlFlow<(), Contents>, Fault> {
        let application = self.application;
        // Before the run there are no streams.
        self.races = None;
        // Contents of a variable are part of those of its module.
        let mut ran: BTreeSet<usize> = BTreeSet::new();
        for (index, buffer) in application.preloaded.iter().enumerate() {
            let place = buffer.0 as usize;
            let (_, device) = self.both(place)?;
            files.read(FileIndex(index as u32), 0, device)?;
            let bytes = device.len();
            self.memories.written(application.space_of(place), place, 0..bytes)?;
            ran.extend(application.variable_of(place).map(|(_, module)| module));
        }
        if self.steps(&application.preload, &mut files)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let mut wanted: BTreeSet<BufferId> = application.preloaded.iter().copied().collect();
        for argument in Step::launches(&application.preload).into_iter().flat_map(|launch| &launch.arguments)
        {
            wanted.extend(argument.buffers());
        }
        wanted.retain(|buffer| application.variable_of(buffer.0 as usize).is_none());
        let mut contents = Contents::new();
        for buffer in wanted {
            let (_, device) = self.both(buffer.0 as usize)?;
            contents.push((buffer.0, device.to_vec().into()));
        }
        let launches = Step::launches(&application.preload);
        let has_constants = ran.clone();
        ran.extend(launches.into_iter().filter_map(|launch| Some(application.place_of(launch)?.module)));
        for module in ran {
            contents.push((application.number_of(module), self.variables(module)?.to_vec().into()));
        }
        for module in has_constants {
            let number = application.number_of_constants(module);
            contents.push((number, self.constants(module)?.to_vec().into()));
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
            match module.checked_sub(self.application.modules.len()) {
                None => self.variables(module)?.copy_from_slice(contents),
                Some(module) => self.constants(module)?.copy_from_slice(contents),
            }
            return Ok(());
        }
        let (_, device) = self.both(place)?;
        device.copy_from_slice(contents);
        self.memories.written(self.application.space_of(place), place, 0..contents.len())
    }

    /// Runs the application from prelude to postlude. Buffers to be inspected go into the journal. Breaks if the run was
    /// interrupted.
    ///
    /// # Errors
    /// If a kernel makes a fatal mistake, or a loop reaches its limit.
    pub fn run(&mut self, mut files: impl Files) -> Result<ControlFlow<()>, Fault> {
        let application = self.application;
        self.begin(&mut files)?;
        if self.steps(&application.steps, &mut files)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.end(&mut files)?;
        Ok(ControlFlow::Continue(()))
    }

    /// Executes the prelude and the first copies.
    fn begin(&mut self, files: &mut impl Files) -> Result<(), Fault> {
        let application = self.application;
        for step in &application.prelude {
            self.host_step(step, files)?;
        }
        for &buffer in &application.copy_in {
            self.copy(Direction::HostToDevice, application.whole(buffer), DEFAULT_STREAM)?;
        }
        Ok(())
    }

    /// Executes the last copies and the postlude, and leaves the results in the journal.
    fn end(&mut self, files: &mut impl Files) -> Result<(), Fault> {
        let application = self.application;
        for &buffer in &application.copy_out {
            self.copy(Direction::DeviceToHost, application.whole(buffer), DEFAULT_STREAM)?;
        }
        // The host has waited for everything.
        self.races = None;
        let is_write = |step: &HostStep| matches!(step, HostStep::Write(_));
        let last = application.postlude.iter().rposition(|step| !is_write(step)).map_or(0, |last| last + 1);
        let (steps, writes) = application.postlude.split_at(last);
        for step in steps {
            self.host_step(step, files)?;
        }
        // Nothing changes any more.
        let host: Vec<Bytes> = std::mem::take(&mut self.host).into_iter().map(Bytes::from_owner).collect();
        for &Transfer { file, part, at } in writes.iter().filter_map(HostStep::transfer) {
            let contents = host[self.place(part.buffer)].slice(part.bytes_of());
            self.journal.moved(part.bytes);
            files.write(file, at, contents);
        }
        for &buffer in &application.inspect {
            self.journal.result(buffer, host[self.place(buffer)].clone());
        }
        Ok(())
    }

    /// Executions of the launches, in order; the last one may not have ended. Also the mistakes of their kernels, in the
    /// order of their first occurrence.
    pub fn into_results(self) -> (Vec<Launched>, Vec<Found>) {
        (self.launched, self.found)
    }

    fn place(&self, name: BufferId) -> usize {
        self.meaning[name.0 as usize]
    }

    /// Checks that a buffer, by its position, has not been freed.
    fn check_live(&self, place: usize) -> Result<(), Fault> {
        if self.freed[place] {
            return Err(Fault::new(self.application.buffers[place].is_freed()));
        }
        Ok(())
    }

    /// A buffer's bytes on the host and on its device.
    fn both(&mut self, place: usize) -> Result<(&mut [u8], &mut [u8]), Fault> {
        self.check_live(place)?;
        let (space, bytes) = (self.application.space_of(place), self.application.buffers[place].bytes);
        let address = self.memories.addresses[place];
        Ok((&mut self.host[place], self.memories.bytes(space, address, bytes as usize)?))
    }

    /// The bytes of a module's variables.
    fn variables(&mut self, module: usize) -> Result<&mut [u8], Fault> {
        let (place, base) = (&self.application.modules[module], self.memories.variables[module].globals);
        let bytes = place.kernels.first().map_or(0, |kernel| kernel.global_bytes());
        self.memories.bytes(self.application.space_of_module(module), base, bytes as usize)
    }

    /// The bytes of a module's constants.
    fn constants(&mut self, module: usize) -> Result<&mut [u8], Fault> {
        let (place, base) = (&self.application.modules[module], self.memories.variables[module].constants);
        let bytes = place.kernels.first().map_or(0, |kernel| kernel.constant_bytes());
        self.memories.bytes(self.application.space_of_module(module), base, bytes as usize)
    }

    /// Looks for races of a command; those of commands of the same titles are the same.
    fn check_races(&mut self, device: u32, stream: u32, name: Name, touches: Touches) {
        let Some(races) = &mut self.races else { return };
        let found = races.send(device, stream, name, touches);
        found.into_iter().for_each(|race| self.report(race));
    }

    /// Notes a race, or counts it where one of the same titles is known.
    fn report(&mut self, Race { commands, place, conflict }: Race) {
        let stream = |rival| match rival {
            Rival::Stream(stream) => Some(stream),
            Rival::Task(_) | Rival::Host => None,
        };
        let between = match commands.each_ref().map(|(_, rival)| *rival) {
            [Rival::Task(_), Rival::Task(_)] => "tasks",
            [_, Rival::Host] => "host and device",
            _ => "streams",
        };
        let key = (commands.clone().map(|(name, rival)| (name.title, stream(rival))), place);
        if let Some(Found::BetweenStreams(known)) =
            self.raced.get(&key).and_then(|&index| self.found.get_mut(index))
        {
            known.count += 1;
            return;
        }
        let commands = commands.map(|(Name { full, .. }, rival)| match rival {
            Rival::Host => full,
            Rival::Task(task) => format!("{full} of task {task}"),
            Rival::Stream(DEFAULT_STREAM) => format!("{full} on the default stream"),
            Rival::Stream(named) => {
                format!("{full} on stream `{}`", self.application.streams[named as usize].name)
            }
        });
        let (memory, address) = match place {
            MemoryPlace::Device(space, address) => {
                let memory = self.memories.memories.get(&space);
                (memory.map(|memory| memory.name_of(address)).unwrap_or_default(), Some(address))
            }
            MemoryPlace::Host(buffer) => {
                (format!("`{}` on the host", self.application.buffers[buffer].name), None)
            }
        };
        self.raced.insert(key, self.found.len());
        let race = StreamRace { between, commands, memory, address, conflict, count: 1 };
        self.found.push(Found::BetweenStreams(race));
    }

    fn free(&mut self, name: BufferId) -> Result<(), Fault> {
        let place = self.place(name);
        if std::mem::replace(&mut self.freed[place], true) {
            return Err(Fault::new(self.application.buffers[place].is_freed()));
        }
        let (address, launches) = (self.memories.addresses[place], self.launched.len() as u32);
        self.memories.of(self.application.space_of(place))?.free(address, launches);
        Ok(())
    }

    fn steps(&mut self, steps: &[Step], files: &mut impl Files) -> Result<ControlFlow<()>, Fault> {
        self.walk(Cursor::new(steps), files)
    }

    /// Executes steps from a cursor's place on.
    fn walk(&mut self, mut cursor: Cursor<'_>, files: &mut impl Files) -> Result<ControlFlow<()>, Fault> {
        loop {
            let next = cursor.next();
            if let Some(races) = &mut self.races {
                races.begin(cursor.task());
            }
            match next {
                None => return Ok(ControlFlow::Continue(())),
                Some(Next::Do(step)) => {
                    if self.step(step, files)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Some(Next::Swap(a, b)) => self.meaning.swap(a.0 as usize, b.0 as usize),
                Some(Next::Inspect(until)) => cursor.looked(self.is_fulfilled(until)?)?,
                // The steps of a group are executed one after another, although nothing may order them.
                Some(Next::Group(_)) => {}
            }
            if self.options.interrupt.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    fn step(&mut self, step: Elementary<'_>, files: &mut impl Files) -> Result<ControlFlow<()>, Fault> {
        let application = self.application;
        let device = |stream| application.device_of(stream);
        match step {
            Elementary::Launch(launch) => return self.launch(launch),
            Elementary::Copy { direction, part, stream } => self.copy(direction, part, stream)?,
            Elementary::Move { moved, stream } => self.move_rows(moved, stream)?,
            Elementary::Host(step) => self.host_step(step, files)?,
            Elementary::Free(name) => self.free(name)?,
            Elementary::Record(event, stream) => {
                self.order(|order| order.record(event, device(stream), stream));
            }
            Elementary::Wait(event, stream) => {
                self.order(|order| order.wait(event, device(stream), stream));
            }
            Elementary::Synchronize(awaited) => self.order(|order| match awaited {
                Awaited::All => order.await_all(),
                Awaited::Stream(stream) => order.await_stream(device(stream), stream),
                Awaited::Event(event) => order.await_event(event),
            }),
        }
        Ok(ControlFlow::Continue(()))
    }

    fn order(&mut self, change: impl FnOnce(&mut Order)) {
        if let Some(Races { order, .. }) = &mut self.races {
            change(order);
        }
    }

    /// Copies the value that a loop checks, waits for it, and checks the condition.
    fn is_fulfilled(&mut self, until: &Condition) -> Result<bool, Fault> {
        let (looked, place) = (until.part(), self.place(until.buffer));
        let (direction, host) = (Direction::DeviceToHost, looked.into());
        self.check_move(&Moved::Copy { direction, host, device: host }, DEFAULT_STREAM);
        let device = self.application.buffers[place].device;
        self.order(|order| order.await_stream(device, DEFAULT_STREAM));
        let (host, device) = self.both(place)?;
        let part = looked.bytes_of();
        host[part.clone()].copy_from_slice(&device[part.clone()]);
        Ok(host[part] == *until.value)
    }

    fn launch(&mut self, step: &LaunchStep) -> Result<ControlFlow<()>, Fault> {
        let place = |name: BufferId| self.memories.addresses[self.meaning[name.0 as usize]];
        let params = step.params(place);
        self.options.dynamic_shared_bytes = step.shared;
        self.options.textures = self.application.textures_on(step.device, place);
        let kernel = step.kernel.name();
        let name = format!("{kernel}#{}", self.launched.len() + 1);
        let place = self.application.place_of(step);
        let variables =
            place.map_or_else(VariableBases::default, |place| self.memories.variables[place.module]);
        let memory = self.memories.of(self.application.space_of_launch(step))?;
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
            Err(error) => (ControlFlow::Continue(()), Some(fault_of(&name, &error))),
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
        let space = self.application.space_of_launch(step);
        let place = |(address, touched)| (MemoryPlace::Device(space, address), touched);
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
