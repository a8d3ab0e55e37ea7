//! The state of a program's device and of all that it has made.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_uint};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use counterpoint_cuda_capture::{Entry, Machine, Module as ModuleEntry};
use counterpoint_ptx::texture::Textures;

use crate::channel::Channel;
use crate::device::Device;
use crate::errors::{Error, Result};
use crate::graphs::{HostCall, Operation};
use crate::made::arrays::Array;
use crate::made::contexts::Contexts;
use crate::made::device_limits::DeviceLimits;
use crate::made::graphs::Graphs;
use crate::made::libraries::Libraries;
use crate::made::virtual_memory::VirtualMemory;
use crate::made::waiting::Queue;
use crate::made::{
    Configuration, FunctionSettings, GraphMemory, JitLink, Known, Link, Made, Pools, Registered, Texts,
};
use crate::modules::{Modules, Unusable};
use crate::recorder::{Recorder, say};
use crate::settings::{Settings, arguments, taken_addresses};
use crate::shared::SharedMemory;

/// Bytes that a device may have.
const LEAST_MEMORY: u64 = 1 << 20;
const MOST_MEMORY: u64 = 1 << 40;

/// State of a program.
pub(crate) struct State {
    pub(crate) channel: Channel,
    pub(crate) thread: u32,
    /// The thread's number in its process (`pthread_self`).
    pub(crate) thread_pointer: u64,
    /// Whether the call is of a form that has the thread's own default stream.
    pub(crate) per_thread: bool,
    threads: BTreeMap<u32, Thread>,
    /// A function of the program that is to be called before the call is over.
    pub(crate) function_of_host: Option<HostCall>,
    /// Progress of files that is not in the record yet.
    pub(crate) files: Vec<Entry>,
    pub(crate) settings: Settings,
    pub(crate) device: Device,
    pub(crate) modules: Modules,
    pub(crate) recorder: Recorder,
    pub(crate) shared: SharedMemory,
    pub(crate) textures: Arc<Textures>,
    pub(crate) next_texture: u64,
    pub(crate) next_surface: u64,
    /// Arrays that exist, by their numbers.
    pub(crate) arrays: BTreeMap<usize, Array>,
    pub(crate) next_array: usize,
    /// Settings of the program for each kernel, by the kernel's stub.
    pub(crate) functions: BTreeMap<usize, FunctionSettings>,
    /// Streams that exist, by their numbers; the legacy default stream is number 0.
    pub(crate) streams: BTreeMap<u32, Made>,
    pub(crate) next_stream: u32,
    pub(crate) events: BTreeMap<u32, Known>,
    pub(crate) next_event: u32,
    pub(crate) graphs: Graphs,
    pub(crate) graph_memory: GraphMemory,
    pub(crate) texts: Texts,
    /// Other texts in memory of the program, and what is free of that memory.
    pub(crate) lasting: BTreeMap<String, u64>,
    pub(crate) text_room: Range<u64>,
    pub(crate) contexts: Contexts,
    /// Tables of functions in the program by their numbers, and values that NVIDIA's runtime keeps by context and key.
    pub(crate) tables: BTreeMap<[u8; 16], u64>,
    pub(crate) stored: BTreeMap<(u64, u64), u64>,
    /// Code that the driver links, by its number.
    pub(crate) links: BTreeMap<usize, Link>,
    pub(crate) jit_links: BTreeMap<u64, JitLink>,
    pub(crate) virtual_memory: VirtualMemory,
    pub(crate) libraries: Libraries,
    pub(crate) pool: Pools,
    /// Memory of the host that the program has registered, by address.
    pub(crate) registered: BTreeMap<u64, Registered>,
    pub(crate) device_limits: DeviceLimits,
    /// Flags of the device, and its preference for a cache, as the program has set them.
    pub(crate) device_flags: c_uint,
    pub(crate) cache_config: c_int,
    pub(crate) waiting: Queue,
    /// A kernel has failed: every later call fails the same way, as on a GPU, until the device is reset.
    pub(crate) failed: Option<Error>,
    /// The highest generation that the program's file has PTX for, once it has been read.
    pub(crate) generation_of_file: OnceLock<Option<u32>>,
    /// Messages that were printed once.
    said: BTreeSet<String>,
    ended: bool,
}

/// State of one thread of the program.
#[derive(Default)]
pub(crate) struct Thread {
    pub(crate) last: Error,
    /// Default stream of the thread, once it has been used.
    pub(crate) stream: Option<u32>,
    /// The launches that it has begun and not yet made.
    pub(crate) configurations: Vec<Configuration>,
    /// Contexts of the thread, the current one last.
    pub(crate) contexts: Vec<u64>,
    /// Mode in which the thread captures streams.
    pub(crate) mode: c_int,
    /// Set while the thread is in a function that CUDA has called: the operations after that function, the
    /// next one last.
    pub(crate) rest: Option<Vec<(u32, Operation)>>,
}

impl State {
    pub(crate) fn new(settings: Settings, channel: Channel, machine: Option<Box<dyn Machine>>) -> Self {
        let mut recorder = Recorder::new(settings.folder.as_deref(), settings.limit, machine);
        recorder.write(&Entry::Program { arguments: arguments() });
        let memory = settings.memory.clamp(LEAST_MEMORY, MOST_MEMORY);
        let settings = Settings { memory, ..settings };
        let device = Device::new(memory, taken_addresses(), &channel.gone);
        let device = device.or_else(|_| Device::new(1 << 28, Vec::new(), &channel.gone));
        State {
            channel,
            thread: 0,
            thread_pointer: 0,
            per_thread: false,
            threads: BTreeMap::new(),
            function_of_host: None,
            files: Vec::new(),
            device: device.unwrap_or_else(|_| unreachable!("256 MiB of addresses")),
            settings,
            modules: Modules::default(),
            recorder,
            shared: SharedMemory::default(),
            textures: Arc::default(),
            next_texture: 0,
            next_surface: 0,
            arrays: BTreeMap::new(),
            next_array: 0,
            functions: BTreeMap::new(),
            streams: BTreeMap::from([(0, Made::default())]),
            next_stream: 1,
            events: BTreeMap::new(),
            next_event: 1,
            graphs: Graphs::default(),
            graph_memory: GraphMemory::default(),
            texts: Texts::default(),
            lasting: BTreeMap::new(),
            text_room: 0..0,
            contexts: Contexts::default(),
            tables: BTreeMap::new(),
            stored: BTreeMap::new(),
            links: BTreeMap::new(),
            jit_links: BTreeMap::new(),
            virtual_memory: VirtualMemory::default(),
            libraries: Libraries::default(),
            pool: Pools::default(),
            registered: BTreeMap::new(),
            device_limits: DeviceLimits::default(),
            device_flags: 0,
            cache_config: 0,
            waiting: Queue::default(),
            failed: None,
            generation_of_file: OnceLock::new(),
            said: BTreeSet::new(),
            ended: false,
        }
    }

    pub(crate) fn threads(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.threads.values_mut()
    }

    pub(crate) fn of_thread(&mut self) -> &mut Thread {
        self.threads.entry(self.thread).or_default()
    }

    /// Prints a message, unless it has been printed.
    pub(crate) fn say_once(&mut self, message: &str) {
        if self.said.insert(message.to_owned()) {
            say(message);
        }
    }

    /// Refuses a call: prints the reason, and notes it.
    pub(crate) fn refuse(&mut self, call: &str, reason: &str) -> Error {
        self.say_once(&format!("{call}: {reason}"));
        self.recorder.write(&Entry::Refused { call: call.to_owned(), reason: reason.to_owned() });
        Error::NOT_SUPPORTED
    }

    /// A kernel has failed, and the device with it.
    pub(crate) fn fail(&mut self, error: Error, message: String) -> Error {
        say(&message);
        self.recorder.write(&Entry::Fault { message });
        self.failed = Some(error);
        error
    }

    /// Puts a binary on the device, if it is not there.
    pub(crate) fn load(&mut self, binary: usize) -> Result {
        self.load_with_reason(binary).map_err(|(error, message)| {
            self.unusable((error, message));
            error
        })
    }

    /// Puts a binary on the device, if it is not there, or says why that cannot be.
    pub(crate) fn load_with_reason(&mut self, binary: usize) -> std::result::Result<(), Unusable> {
        match self.modules.load(binary, &mut self.device) {
            Ok(false) => Ok(()),
            Ok(true) => {
                let file = format!("module-{}.ptx", binary + 1);
                if let Some(module) = self.modules.module(binary) {
                    let (globals, constants) = (module.bases.globals, module.bases.constants);
                    self.recorder.file(&file, &module.text);
                    self.recorder.write(&Entry::Module(ModuleEntry {
                        number: binary as u32,
                        file,
                        globals,
                        constants,
                    }));
                }
                Ok(())
            }
            Err(unusable) => Err(unusable),
        }
    }

    pub(crate) fn unusable(&mut self, (_, message): Unusable) {
        self.say_once(&message);
        self.recorder.write(&Entry::Refused { call: "code".to_owned(), reason: message });
    }

    pub(crate) fn end(&mut self) {
        if !std::mem::replace(&mut self.ended, true) {
            self.write_files();
            self.print();
            self.recorder.entry(&Entry::End);
        }
    }

    /// Prints the text of kernels where the host waits for them.
    pub(crate) fn print(&mut self) {
        let (text, is_lost) = self.device.printed();
        if is_lost {
            self.say_once(
                "kernels have printed more than cudaLimitPrintfFifoSize allows: the oldest text is lost",
            );
        }
        if !text.is_empty() {
            self.channel.print(&text);
            self.recorder.write(&Entry::Printed { text });
        }
    }
}
