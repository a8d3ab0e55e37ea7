//! Modules in device memory: variables, constants, code, and local memory of the threads, behind the buffers. Where a program was recorded, they are
//! in the upper half of the device's memory, in the order of first launches: as they would be if the program ran live.

use std::collections::BTreeSet;
use std::sync::Arc;

use counterpoint_protocols::launch::LaunchId;
use counterpoint_protocols::local::{Capacity, LocalMemory};
use counterpoint_protocols::memory::LINE_BYTES;
use counterpoint_protocols::preload::Preloaded;
use counterpoint_ptx::printf::Ring;
use counterpoint_ptx::{Allocation, Heap, Kernel, Rights, StackSize, VariableBases};

use super::Driver;
use super::allocation::beyond;
use crate::modules::KernelPlace;
use crate::program::{Application, LibrarySizes, Space, Step};

/// Addresses of a module on its device.
#[derive(Clone, Debug, Default)]
pub(super) struct Loaded {
    pub(super) variables: VariableBases,
    /// Per kernel where its code begins.
    pub(super) code: Vec<u64>,
}

impl Loaded {
    /// Addresses of its variables, heap and ring as its kernels see them.
    pub(super) fn seen(&self, space: Space) -> VariableBases {
        let seen = |address: u64| if address == 0 { 0 } else { address - space.shift };
        let VariableBases { globals, constants, heap, printf } = self.variables;
        VariableBases {
            globals: seen(globals),
            constants: seen(constants),
            heap: seen(heap),
            printf: seen(printf),
        }
    }
}

/// Contents of a device besides buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    pub(super) allocations: Vec<Allocation>,
    pub(super) local: LocalMemory,
    pub(super) parameters: Parameters,
    /// The stack of each thread, a part of local memory.
    pub(super) stack: StackSize,
    /// Heap and ring of the device library; 0 where no kernel needs one.
    pub(super) heap: u64,
    pub(super) printf: u64,
}

/// Bytes of a place for parameters at least, of a program whose kernels are not known before: those that CUDA allowed for long.
const LEAST_PARAMETERS: u64 = 4096;

/// Addresses of the parameters of launches: launches use different areas in turn, so that cached parameters of one launch are not
/// taken for another's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parameters {
    base: u64,
    /// Bytes of an area, in whole lines.
    bytes: u64,
}

impl Parameters {
    /// Bytes of a kernel's parameters, in whole lines.
    fn bytes_of(kernel: &Kernel) -> u64 {
        u64::from(kernel.param_bytes()).next_multiple_of(LINE_BYTES)
    }

    /// Number of areas: more than the launches that any device has under way.
    const PLACES: u64 = 64;

    pub(super) fn of(&self, launch: LaunchId) -> u64 {
        self.base + u64::from(launch.0) % Parameters::PLACES * self.bytes
    }
}

/// Names of memory that kernels have besides their code.
const LOCAL: &str = "local memory";
const PARAMETERS: &str = "kernel parameters";

/// The kernels of a device in the order of their first launches.
fn first_launches(application: &Application, device: u32) -> Vec<(KernelPlace, Arc<Kernel>)> {
    let mut seen = BTreeSet::new();
    let launches = Step::launches(&application.steps);
    let places = launches.into_iter().filter(|launch| launch.device == device).filter_map(|launch| {
        let place = application.place_of(launch)?;
        seen.insert((place.module, place.kernel)).then(|| (place, Arc::clone(&launch.kernel)))
    });
    places.collect()
}

/// Allocates addresses, one allocation after another.
struct Bump {
    next: u64,
    page: u64,
    given: Vec<Allocation>,
}

impl Bump {
    /// An address for `bytes` bytes; 0 for no bytes. Between two allocations there is at least one byte that belongs to none.
    fn take(&mut self, name: String, bytes: u64, rights: Rights) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let start = (self.next + 1).next_multiple_of(self.page);
        self.next = start + bytes;
        self.give(name, start, bytes, rights)
    }

    /// Like `take`, at the fixed address, which is below all others, if there is one.
    fn take_at(&mut self, fixed: Option<u64>, name: String, bytes: u64, rights: Rights) -> u64 {
        match fixed {
            Some(start) if bytes > 0 => self.give(name, start, bytes, rights),
            _ => self.take(name, bytes, rights),
        }
    }

    /// The place of a kernel's code.
    fn code(&mut self, kernel: &Kernel) -> u64 {
        self.take(format!("code of {}", kernel.name()), kernel.code_bytes(), Rights::None)
    }

    /// Local memory and places for parameters, larger where a kernel needs them so.
    fn widen(
        &mut self,
        kernel: &Kernel,
        (mut local, mut parameters): (LocalMemory, Parameters),
        stack: StackSize,
    ) -> (LocalMemory, Parameters) {
        let bytes_per_thread = kernel.local_bytes(stack).next_multiple_of(4);
        if bytes_per_thread > local.bytes_per_thread {
            local.bytes_per_thread = bytes_per_thread;
            local.base = self.take(LOCAL.to_owned(), local.bytes(), Rights::All);
        }
        let bytes = Parameters::bytes_of(kernel);
        if bytes > parameters.bytes {
            parameters.bytes = bytes.max(LEAST_PARAMETERS);
            parameters.base =
                self.take(PARAMETERS.to_owned(), Parameters::PLACES * parameters.bytes, Rights::None);
        }
        (local, parameters)
    }

    fn give(&mut self, name: String, start: u64, bytes: u64, rights: Rights) -> u64 {
        self.given.push(Allocation { name, range: start..start + bytes, freed_after: None, rights });
        start
    }
}

/// All allocations on a device besides buffers, with their addresses.
pub(super) struct Placed {
    /// By number of the module.
    loaded: Vec<(usize, Loaded)>,
    hidden: Hidden,
    /// Whether a kernel needs a stack.
    has_stack: bool,
    /// The address behind all of it.
    pub(super) end: u64,
}

impl Placed {
    /// Message for a device of `memory` bytes, if they are not enough.
    pub(super) fn beyond(&self, device: u32, memory: u64) -> Option<String> {
        let message = beyond(
            "the buffers and the kernels' code, variables and local memory need",
            self.end,
            device,
            memory,
        )?;
        let LocalMemory { bytes_per_thread, capacity, .. } = self.hidden.local;
        let (bytes, threads) = (self.hidden.local.bytes(), capacity.threads());
        if bytes == 0 {
            return Some(message);
        }
        let stack = self.hidden.stack.bytes();
        let of_stack = match self.has_stack {
            true => format!(", {stack} of them for a stack (`stack:`)"),
            false => String::new(),
        };
        Some(format!(
            "{message}; {bytes} of them are local memory: {bytes_per_thread} a thread{of_stack}, for the {threads} threads that the device can hold"
        ))
    }

    /// Allocates an application's memory besides buffers on a device of `memory` bytes, whose buffers end at `next`. Local
    /// memory is that of the threads of this `capacity`.
    pub(super) fn new(
        application: &Application,
        page: u64,
        (device, memory): (u32, u64),
        next: u64,
        capacity: Capacity,
    ) -> Self {
        let placed = |is_upper: bool, stack| {
            let next = if is_upper { memory / 2 } else { next };
            Placed::with_stack(application, page, (device, next, is_upper), capacity, stack)
        };
        let is_recorded = application.is_recorded(device, memory);
        // Where half of the memory is too small, everything lies behind the buffers.
        let with = |stack| {
            let upper = is_recorded.then(|| placed(true, stack)).filter(|placed| placed.end <= memory);
            upper.unwrap_or_else(|| placed(false, stack))
        };
        if let Some(stack) = application.stack {
            return with(stack);
        }
        let [sizes @ .., least] = StackSize::USUAL;
        let fits = sizes.into_iter().map(with).find(|placed| placed.end <= memory);
        fits.unwrap_or_else(|| with(least))
    }

    fn with_stack(
        application: &Application,
        page: u64,
        (device, next, is_upper): (u32, u64, bool),
        capacity: Capacity,
        stack: StackSize,
    ) -> Self {
        let mut bump = Bump { next, page, given: Vec::new() };
        let mut bytes_per_thread = 0;
        let mut parameters = Parameters::default();
        let mut all = Vec::new();
        let here = || application.modules.iter().filter(|module| module.device == device);
        let kernels = || here().flat_map(|module| &module.kernels);
        let LibrarySizes { heap, printf } = application.library;
        let bytes = if kernels().any(|kernel| kernel.allocates()) { heap } else { 0 };
        let heap = bump.take("heap of the device".to_owned(), bytes, Rights::All);
        let bytes = if kernels().any(|kernel| kernel.prints()) { Ring::new(printf).bytes() } else { 0 };
        let printf = bump.take("printf buffer of the device".to_owned(), bytes, Rights::All);
        for (number, module) in application.modules.iter().enumerate() {
            let Some(any) = module.kernels.first().filter(|_| module.device == device) else { continue };
            let (name, mut loaded) = (&module.name, Loaded::default());
            let on_device = |address| address + application.space_of_module(number).shift;
            loaded.variables = VariableBases {
                globals: bump.take_at(
                    module.globals.map(on_device),
                    format!("variables of {name}"),
                    any.global_bytes(),
                    Rights::All,
                ),
                constants: bump.take_at(
                    module.constants.map(on_device),
                    format!("constants of {name}"),
                    any.constant_bytes(),
                    Rights::Read,
                ),
                heap,
                printf,
            };
            loaded.code = vec![0; module.kernels.len()];
            if !is_upper {
                for (kernel, code) in module.kernels.iter().zip(&mut loaded.code) {
                    *code = bump.code(kernel);
                    bytes_per_thread = kernel.local_bytes(stack).next_multiple_of(4).max(bytes_per_thread);
                    parameters.bytes = Parameters::bytes_of(kernel).max(parameters.bytes);
                }
            }
            all.push((number, loaded));
        }
        let mut local = LocalMemory { base: 0, bytes_per_thread, capacity };
        if is_upper {
            for (place, kernel) in first_launches(application, device) {
                let loaded = all.iter_mut().find(|(number, _)| *number == place.module);
                if let Some(code) = loaded.and_then(|(_, loaded)| loaded.code.get_mut(place.kernel)) {
                    *code = bump.code(&kernel);
                }
                (local, parameters) = bump.widen(&kernel, (local, parameters), stack);
            }
        } else {
            local.base = bump.take(LOCAL.to_owned(), local.bytes(), Rights::All);
            let bytes = Parameters::PLACES * parameters.bytes;
            parameters.base = bump.take(PARAMETERS.to_owned(), bytes, Rights::None);
        }
        let hidden = Hidden { allocations: bump.given, local, parameters, stack, heap, printf };
        Placed {
            loaded: all,
            hidden,
            has_stack: kernels().any(|kernel| kernel.needs_stack()),
            end: bump.next,
        }
    }
}

impl Driver<'_> {
    /// The heap of a live program's device, or its ring for what kernels print, if a module needs it.
    pub(super) fn hidden_of_library(&mut self, is_needed: bool, is_heap: bool) -> u64 {
        let (device, library) = (0, self.application.library);
        let known =
            self.hidden.get(&device).map_or(0, |hidden| if is_heap { hidden.heap } else { hidden.printf });
        if !is_needed || known != 0 {
            return known;
        }
        let ring = Ring::new(library.printf);
        let (name, bytes, header) = match is_heap {
            true => ("heap of the device", library.heap, Heap::header(library.heap)),
            false => ("printf buffer of the device", ring.bytes(), ring.header()),
        };
        let address = self.place_hidden(name.to_owned(), bytes, Rights::All);
        let path = self.devices.get(&device).map_or_else(String::new, |known| known.path.clone());
        if let Some(preloaded) = self.sim.resource::<Preloaded>() {
            preloaded.place(&path, address, header.into());
        }
        if let Some(hidden) = self.hidden.get_mut(&device) {
            *(if is_heap { &mut hidden.heap } else { &mut hidden.printf }) = address;
        }
        address
    }

    /// Gives a live program's device what a kernel needs that it launches for the first time; the result is the place of its code.
    pub(super) fn place_kernel(&mut self, device: u32, kernel: &Kernel) -> u64 {
        let next = self.end_of_hidden(device);
        let capacity = self.devices.get(&device).map(|known| known.capacity).unwrap_or_default();
        let hidden = self.hidden.entry(device).or_default();
        hidden.local.capacity = capacity;
        let mut bump = Bump { next, page: self.page, given: Vec::new() };
        let code = bump.code(kernel);
        (hidden.local, hidden.parameters) =
            bump.widen(kernel, (hidden.local, hidden.parameters), hidden.stack);
        hidden.allocations.extend(bump.given);
        code
    }

    /// Allocates everything besides buffers on a device of `memory` bytes, whose buffers end at `next`. Returns a message if the memory
    /// is too small.
    pub(super) fn place_modules(
        &mut self,
        (device, memory): (u32, u64),
        next: u64,
        capacity: Capacity,
    ) -> Option<String> {
        let application = self.application();
        let placed = Placed::new(&application, self.page, (device, memory), next, capacity);
        let too_small = placed.beyond(device, memory);
        let Placed { loaded, hidden, .. } = placed;
        self.loaded.resize(application.modules.len(), Loaded::default());
        for (number, loaded) in loaded {
            self.loaded[number] = loaded;
        }
        self.hidden.insert(device, hidden);
        too_small
    }

    /// Preloads the initial bytes of a device's modules at their addresses.
    pub(super) fn load_modules(&self, device: u32, path: &str, memory: &Preloaded) {
        let application = &self.application;
        if let Some(&Hidden { heap, printf, .. }) = self.hidden.get(&device) {
            if heap != 0 {
                memory.place(path, heap, Heap::header(application.library.heap).into());
            }
            if printf != 0 {
                memory.place(path, printf, Ring::new(application.library.printf).header().into());
            }
        }
        for (index, (module, loaded)) in application.modules.iter().zip(&self.loaded).enumerate() {
            let Some(any) = module.kernels.first().filter(|_| module.device == device) else { continue };
            let (bases, on_device) = (loaded.seen(application.space_of_module(index)), loaded.variables);
            let mut variables = any.global_image(bases);
            if let Some(before) = memory.contents(application.number_of(index)) {
                variables = before.to_vec();
                any.point(&mut variables, bases);
            }
            let constants = memory.contents(application.number_of_constants(index)).cloned();
            memory.place(path, on_device.globals, variables.into());
            let constants = constants.unwrap_or_else(|| any.constant_image(bases).into());
            memory.place(path, on_device.constants, constants);
            for (kernel, &address) in module.kernels.iter().zip(&loaded.code) {
                memory.place(path, address, vec![0; kernel.code_bytes() as usize].into());
            }
        }
    }
}
