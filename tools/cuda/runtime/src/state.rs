//! The state of the library: one for the process, behind one lock.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use counterpoint_cuda_capture::{Entry, Module as ModuleEntry};
use counterpoint_ptx::texture::Textures;

use crate::api::arrays::Array;
use crate::api::graphs::Graphs;
use crate::api::pools::{GraphMemory, PoolAttributes};
use crate::device::Device;
use crate::errors::{Error, Result};
use crate::files;
use crate::modules::{Modules, Unusable};
use crate::recorder::{Recorder, say};
use crate::settings::Settings;
use crate::shared::SharedMemory;

/// All that the library knows.
pub(crate) struct State {
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
    /// By stub of a kernel, the dynamic shared memory that the program has asked for.
    pub(crate) dynamic_limits: BTreeMap<usize, u32>,
    /// Streams that exist, by their numbers; the default stream is number 0.
    pub(crate) streams: BTreeSet<u32>,
    pub(crate) next_stream: u32,
    /// Events that exist.
    pub(crate) events: BTreeSet<u32>,
    pub(crate) next_event: u32,
    pub(crate) graphs: Graphs,
    pub(crate) graph_memory: GraphMemory,
    pub(crate) pool: PoolAttributes,
    /// Memory of the host that the program has registered, by address its bytes.
    pub(crate) registered: BTreeMap<u64, usize>,
    /// Limits that the program has set, by CUDA's numbers.
    pub(crate) limits_set: BTreeMap<i32, usize>,
    /// Those that have been recorded.
    pub(crate) recorded: BTreeSet<u32>,
    /// The process that has loaded the library.
    process: u32,
    /// A kernel has failed: every later call fails the same way, as on a GPU.
    failed: Option<Error>,
    /// Messages that were printed once.
    said: BTreeSet<String>,
    ended: bool,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

thread_local! {
    /// The last error of the thread.
    static LAST: Cell<Error> = const { Cell::new(Error::SUCCESS) };
}

/// The last error of the thread; `take` forgets it.
pub(crate) fn last_error(take: bool) -> Error {
    LAST.with(|last| if take { last.replace(Error::SUCCESS) } else { last.get() })
}

/// Does a call: its result is an error number of CUDA. The name is that of the function.
pub(crate) fn call(name: &'static str, body: impl FnOnce(&mut State) -> Result) -> i32 {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.get_or_insert_with(|| files::as_own(State::new));
    state.recorder.enter();
    // A panic must not unwind into the program.
    let done = catch_unwind(AssertUnwindSafe(|| {
        files::as_own(|| {
            state.check_process()?;
            state.note_files();
            match state.failed {
                Some(error) => Err(error),
                None => body(state),
            }
        })
    }));
    let result = done.unwrap_or_else(|_| {
        state.say_once(&format!("{name} ended in an internal error, which is a defect of Counterpoint"));
        Err(Error::UNKNOWN)
    });
    state.recorder.leave();
    let number = result.err().unwrap_or(Error::SUCCESS);
    if number != Error::SUCCESS && number != Error::NOT_READY {
        LAST.with(|last| last.set(number));
    }
    number.0
}

/// A call that registers code before the program begins, which has no result of its own.
pub(crate) fn register<T>(fallback: T, body: impl FnOnce(&mut State) -> T) -> T {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.get_or_insert_with(|| files::as_own(State::new));
    let done = catch_unwind(AssertUnwindSafe(|| files::as_own(|| body(state)))).unwrap_or(fallback);
    state.recorder.leave();
    done
}

/// Notes how far the program has come in files, if it is one that calls CUDA.
pub(crate) fn register_file_entries(entries: &[Entry]) {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(state) = state.as_mut().filter(|state| state.process == std::process::id()) {
        state.recorder.enter();
        entries.iter().for_each(|entry| state.recorder.entry(entry));
        state.recorder.leave();
    }
}

impl State {
    fn new() -> Self {
        let settings = Settings::from_environment();
        let folder = settings.folder.as_deref();
        let mut recorder = Recorder::new(folder);
        let arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let process = std::process::id();
        recorder.write(&Entry::Program { arguments });
        let device = Device::new(settings.memory, crate::settings::taken_addresses());
        let device = device.or_else(|_| Device::new(1 << 28, Vec::new()));
        State {
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
            dynamic_limits: BTreeMap::new(),
            streams: BTreeSet::from([0]),
            next_stream: 1,
            events: BTreeSet::new(),
            next_event: 1,
            graphs: Graphs::default(),
            graph_memory: GraphMemory::default(),
            pool: PoolAttributes::default(),
            registered: BTreeMap::new(),
            limits_set: BTreeMap::new(),
            recorded: BTreeSet::new(),
            process,
            failed: None,
            said: BTreeSet::new(),
            ended: false,
        }
    }

    /// A process that was forked off must not write into the record of its parent.
    fn check_process(&mut self) -> Result {
        if std::process::id() == self.process {
            return Ok(());
        }
        self.say_once("a process that the program has forked off cannot use the device of its parent");
        Err(Error::INITIALIZATION)
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
            Err((error, message)) => {
                self.unusable((error, message));
                Err(error)
            }
        }
    }

    fn unusable(&mut self, (_, message): Unusable) {
        self.say_once(&message);
        self.recorder.write(&Entry::Refused { call: "code".to_owned(), reason: message });
    }

    /// Notes how far the program has come in files that are open.
    fn note_files(&mut self) {
        for entry in files::entries() {
            self.recorder.entry(&entry);
        }
    }

    /// The program ends.
    pub(crate) fn end(&mut self) {
        if std::process::id() == self.process && !std::mem::replace(&mut self.ended, true) {
            self.note_files();
            self.print();
            self.recorder.entry(&Entry::End);
        }
    }

    /// Prints the text of kernels where the host waits for them.
    pub(crate) fn print(&mut self) {
        let text = self.device.printed();
        if !text.is_empty() {
            crate::foreign::print(&text);
            self.recorder.write(&Entry::Printed { text });
        }
    }
}
