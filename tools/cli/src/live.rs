//! A CUDA program beside a machine: what the program's calls do, as the simulation's host does it, one step after another.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use counterpoint_cuda_launch::{Entry, HostTime, Machine, Memory, Region};
use counterpoint_framework::time::SimTime;
use counterpoint_host_model::Timed;
use counterpoint_host_model::live::{LiveProgram, LiveReply, LiveRows, LiveStep};
use counterpoint_protocols::bus::Direction;
use counterpoint_ptx::texture::Textures;
use counterpoint_ptx::{Kernel, decode::decode, parser};

/// Registers of PTX by which kernels read time.
const CLOCKS: [&str; 3] = ["%clock", "%globaltimer", "%clock64"];

/// Counts and times of a program at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) launches: u64,
    /// Launches that had time.
    pub(crate) timed: Option<Range<u64>>,
    /// Parts of the host's memory whose bytes differ from those without time, and all that were compared.
    pub(crate) differ: Vec<String>,
    pub(crate) compared: u64,
    /// The simulation ended before the program.
    pub(crate) is_lost: bool,
}

struct Module {
    name: Arc<str>,
    kernels: Vec<Arc<Kernel>>,
    places: [u64; 2],
}

/// Whether work has time now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Before,
    During,
    After,
}

/// The machine of a program.
pub(crate) struct Live {
    program: LiveProgram,
    timed: Timed,
    phase: Phase,
    host_time: HostTime,
    text: String,
    /// Modules by the program's numbers.
    modules: BTreeMap<u32, Module>,
    /// By the program's number, the place of a module among those of the machine.
    places: BTreeMap<u32, usize>,
    /// Memory that is there, by address.
    buffers: BTreeMap<u64, u64>,
    non_blocking: Vec<u32>,
    /// Sizes of heap, print buffer and stack, if the program has set them.
    library: Option<[u64; 3]>,
    /// Events that were recorded last while work had no time.
    without_time: BTreeSet<u32>,
    /// Events that were recorded behind the last launch, with their streams: they have time if the next launch has.
    before: Vec<(u32, u32)>,
    textures: Arc<Textures>,
    /// Whether a kernel reads clocks: then the host has what the machine computes.
    reads_clocks: bool,
    /// Bytes of the last copies to the host, by address.
    copied: BTreeMap<u64, (LiveRows, Vec<u8>)>,
    seen: Arc<Mutex<Seen>>,
}

fn rows(region: Region) -> LiveRows {
    LiveRows { address: region.address, width: region.width, rows: region.rows, pitch: region.pitch }
}

fn extent(rows: LiveRows) -> Range<u64> {
    rows.address..rows.address + rows.pitch * rows.rows.saturating_sub(1) + rows.width
}

impl Live {
    /// A machine that waits for a program, when its device has been described; what is seen is there at the end.
    pub(crate) fn new(program: LiveProgram, timed: Timed, host_time: HostTime) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::<Mutex<Seen>>::default();
        let live = Live {
            program,
            phase: if timed == Timed::All { Phase::During } else { Phase::Before },
            timed,
            host_time,
            text: String::new(),
            modules: BTreeMap::new(),
            places: BTreeMap::new(),
            buffers: BTreeMap::new(),
            non_blocking: Vec::new(),
            library: None,
            without_time: BTreeSet::new(),
            before: Vec::new(),
            textures: Arc::default(),
            reads_clocks: false,
            copied: BTreeMap::new(),
            seen: Arc::clone(&seen),
        };
        (live, seen)
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn step(&self, step: LiveStep) -> LiveReply {
        match self.program.step(step) {
            Some(reply) => reply,
            None => {
                self.note(|seen| seen.is_lost = true);
                LiveReply { is_done: true, ..LiveReply::default() }
            }
        }
    }

    /// Does a step if work has time now.
    fn now_timed(&self, step: LiveStep) {
        if self.phase == Phase::During {
            self.step(step);
        }
    }

    fn put_module(&mut self, number: u32, contents: Option<[Vec<u8>; 2]>) {
        let Some(module) = self.modules.get(&number) else { return };
        let (name, kernels, places) = (Arc::clone(&module.name), module.kernels.clone(), module.places);
        self.places.insert(number, self.places.len());
        self.step(LiveStep::Module { name, kernels, places, contents });
    }

    /// Gives the machine what devices hold so far.
    fn take_over(&mut self, memory: Memory<'_>) {
        if let Some(sizes) = self.library {
            self.step(LiveStep::Library(sizes));
        }
        let numbers: Vec<u32> = self.modules.keys().copied().collect();
        for number in numbers {
            let module = &self.modules[&number];
            let sizes =
                module.kernels.first().map_or([0; 2], |any| [any.global_bytes(), any.constant_bytes()]);
            let [variables, constants] = [0, 1].map(|index| memory(module.places[index], sizes[index]));
            self.put_module(number, Some([variables, constants]));
        }
        for (&address, &bytes) in &self.buffers {
            let contents = Some(memory(address, bytes));
            self.step(LiveStep::Allocate { address, bytes, contents });
        }
        for &stream in &self.non_blocking {
            self.step(LiveStep::NonBlocking(stream));
        }
        for (event, stream) in std::mem::take(&mut self.before) {
            self.without_time.remove(&event);
            self.step(LiveStep::Record(event, stream));
        }
    }

    /// Forgets what the host was copied where other bytes come.
    fn forget(&mut self, range: Range<u64>) {
        self.copied.retain(|_, (rows, _)| {
            let other = extent(*rows);
            other.end <= range.start || range.end <= other.start
        });
    }

    /// Compares what the host has in the end with what it has without time.
    fn compare(&mut self) {
        self.step(LiveStep::Synchronize(None));
        for (rows, expected) in std::mem::take(&mut self.copied).into_values() {
            let found = self.step(LiveStep::Look(rows)).bytes;
            self.note(|seen| {
                seen.compared += rows.bytes();
                if found.is_some_and(|found| found != expected) {
                    seen.differ.push(format!("{} bytes copied from {:#x}", rows.bytes(), rows.address));
                }
            });
        }
    }

    fn work(&self, nanoseconds: u64) {
        let factor = match self.host_time {
            HostTime::Measured => 1.0,
            HostTime::None => return,
            HostTime::Scaled(factor) => factor,
        };
        self.now_timed(LiveStep::Busy(SimTime::from_ns((nanoseconds as f64 * factor) as u64)));
    }
}

impl Machine for Live {
    fn file(&mut self, _name: &str, text: &str) {
        text.clone_into(&mut self.text);
        self.reads_clocks |= CLOCKS.iter().any(|clock| text.contains(clock));
    }

    fn before_launch(&mut self, kernel: &str, textures: &Arc<Textures>, memory: Memory<'_>) {
        self.textures = Arc::clone(textures);
        let mut number = 0;
        self.note(|seen| {
            seen.launches += 1;
            number = seen.launches;
        });
        let is_covered = self.timed.covers(number, kernel);
        match self.phase {
            Phase::Before if is_covered => {
                self.phase = Phase::During;
                self.take_over(memory);
            }
            Phase::During if !is_covered => {
                self.step(LiveStep::Synchronize(None));
                self.phase = Phase::After;
            }
            _ => {}
        }
        self.before.clear();
        if self.phase == Phase::During {
            self.note(|seen| seen.timed.get_or_insert(number..number).end = number + 1);
        }
    }

    fn entry(&mut self, entry: &Entry, bytes: &[u8]) {
        match entry {
            Entry::Module(module) => {
                let kernels =
                    parser::parse(&self.text).and_then(|parsed| decode(&parsed)).unwrap_or_default();
                let name: Arc<str> = format!("m{}", module.number + 1).into();
                let kernels = kernels.into_iter().map(Arc::new).collect();
                let places = [module.globals, module.constants];
                self.modules.insert(module.number, Module { name, kernels, places });
                if self.phase == Phase::During {
                    self.put_module(module.number, None);
                }
            }
            &Entry::Allocate { address, bytes } => {
                self.buffers.insert(address, bytes);
                self.now_timed(LiveStep::Allocate { address, bytes, contents: None });
            }
            &Entry::Free { address } => {
                self.buffers.remove(&address);
                self.now_timed(LiveStep::Free(address));
            }
            &Entry::Library { heap, printf, stack } => {
                self.library = Some([heap, printf, stack]);
                self.now_timed(LiveStep::Library([heap, printf, stack]));
            }
            &Entry::NonBlocking { stream } => {
                self.non_blocking.push(stream);
                self.now_timed(LiveStep::NonBlocking(stream));
            }
            &Entry::Copy { device, stream, waits, .. } => {
                let rows = rows(device);
                self.forget(extent(rows));
                let (direction, bytes) = (Direction::HostToDevice, bytes.to_vec());
                self.now_timed(LiveStep::Copy { direction, rows, bytes, stream, waits, reads: false });
            }
            &Entry::Move { from, to, stream } => {
                self.now_timed(LiveStep::Within { from: rows(from), to: rows(to), stream });
            }
            Entry::Fill { region, value, stream } => {
                self.now_timed(LiveStep::Fill { rows: rows(*region), value: value.clone(), stream: *stream });
            }
            Entry::Launch { module, kernel, grid, block, shared, parameters, stream, .. } => {
                let known = self.modules.get(module);
                let found = known.and_then(|known| known.kernels.iter().find(|known| known.name() == kernel));
                if let (Some(kernel), Some(&module)) = (found, self.places.get(module)) {
                    self.now_timed(LiveStep::Launch {
                        module,
                        kernel: Arc::clone(kernel),
                        grid: *grid,
                        block: *block,
                        shared: *shared,
                        parameters: parameters.clone(),
                        textures: Arc::clone(&self.textures),
                        stream: *stream,
                    });
                }
            }
            &Entry::Record { event, stream } => {
                if self.phase == Phase::During {
                    self.without_time.remove(&event);
                } else {
                    self.without_time.insert(event);
                    self.before.push((event, stream));
                }
                self.now_timed(LiveStep::Record(event, stream));
            }
            &Entry::Wait { event, stream } => self.now_timed(LiveStep::Wait(event, stream)),
            &Entry::Synchronize { stream } => self.now_timed(LiveStep::Synchronize(stream)),
            &Entry::Await { event } => self.now_timed(LiveStep::Await(event)),
            &Entry::Work { nanoseconds } => self.work(nanoseconds),
            Entry::End if self.phase == Phase::During => self.compare(),
            _ => {}
        }
    }

    fn copy_out(&mut self, device: Region, stream: u32, waits: bool, expected: &[u8]) -> Option<Vec<u8>> {
        if self.phase != Phase::During {
            return None;
        }
        let (rows, reads) = (rows(device), waits && self.reads_clocks);
        self.forget(extent(rows));
        if !self.reads_clocks {
            self.copied.insert(rows.address, (rows, expected.to_vec()));
        }
        let (direction, bytes) = (Direction::DeviceToHost, Vec::new());
        self.step(LiveStep::Copy { direction, rows, bytes, stream, waits, reads }).bytes
    }

    fn is_done(&mut self, stream: Option<u32>, event: Option<u32>) -> bool {
        self.phase != Phase::During || self.step(LiveStep::Query { stream, event }).is_done
    }

    fn elapsed(&mut self, first: u32, second: u32) -> Option<i64> {
        if [first, second].iter().any(|event| self.without_time.contains(event)) {
            return Some(0);
        }
        let [first, second] = self.step(LiveStep::Elapsed(first, second)).times?;
        Some(second.as_ps() as i64 - first.as_ps() as i64)
    }

    fn now(&mut self) -> u64 {
        self.step(LiveStep::Now).now.as_ps()
    }
}
