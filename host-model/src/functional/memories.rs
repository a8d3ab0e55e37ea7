//! The memories of devices without time: where buffers and modules lie in them, and their bytes.

use std::collections::BTreeMap;
use std::io;

use counterpoint_framework::kernel::Fault;
use counterpoint_ptx::VariableBases;
use counterpoint_ptx::functional::FlatMemory;

use crate::program::{Application, Place};

/// Bytes between two allocations at most.
const GAP: u64 = 512;

/// The memories of an application's devices.
#[derive(Debug)]
pub struct Memories {
    /// By device.
    pub memories: BTreeMap<u32, FlatMemory>,
    /// Per buffer where it lies on its device.
    pub addresses: Vec<u64>,
    /// Per buffer where the allocation begins that it is, or is part of.
    pub(super) homes: Vec<u64>,
    /// Per module where its variables begin on its device.
    pub variables: Vec<VariableBases>,
}

impl Memories {
    /// Gives all buffers and modules their places; those that have fixed addresses come first. Bytes that nobody has written are
    /// `unwritten`.
    ///
    /// # Errors
    /// If they are larger than a process can be.
    pub fn new(application: &Application, unwritten: u8) -> Result<Self, Fault> {
        let mut memories = BTreeMap::new();
        for (device, room) in rooms(application) {
            let memory = usize::try_from(room).map_err(io::Error::other).and_then(FlatMemory::with_room);
            let mut memory = memory.map_err(|error| {
                Fault::new(format!("there is no room for {room} bytes of device {device}: {error}"))
            })?;
            memory.set_library(application.library.heap, application.library.printf, unwritten);
            memories.insert(device, memory);
        }
        for buffer in &application.buffers {
            if let Place::At(address) = buffer.place {
                let memory = memory_of(&mut memories, buffer.device);
                memory.allocate_at(&buffer.name, address, buffer.bytes as usize, unwritten);
            }
        }
        let mut behind: BTreeMap<u32, u64> = BTreeMap::new();
        let mut variables = vec![VariableBases::default(); application.modules.len()];
        for (module, bases) in application.modules.iter().zip(&mut variables) {
            let Some(any) = module.kernels.first().filter(|_| !module.fixed().is_empty()) else { continue };
            // The half of its variables that has no fixed address lies behind everything that has one.
            let end = behind.entry(module.device).or_insert_with(|| application.fixed_end(module.device));
            let mut place = |fixed: Option<u64>, bytes: u64| {
                fixed.unwrap_or_else(|| {
                    let start = (*end + 1).next_multiple_of(256);
                    *end = start + bytes;
                    start
                })
            };
            let globals = place(module.globals, any.global_bytes());
            let constants = place(module.constants, any.constant_bytes());
            *bases = memory_of(&mut memories, module.device).load_at(&module.name, any, globals, constants);
        }
        let mut addresses = Vec::new();
        for buffer in &application.buffers {
            addresses.push(match buffer.place {
                Place::At(address) => address,
                Place::Variable(_) => 0,
                Place::Anywhere => {
                    let memory = memory_of(&mut memories, buffer.device);
                    memory.allocate(&buffer.name, buffer.bytes as usize, unwritten)
                }
            });
        }
        for (module, bases) in application.modules.iter().zip(&mut variables) {
            if let Some(any) = module.kernels.first().filter(|_| module.fixed().is_empty()) {
                *bases = memory_of(&mut memories, module.device).load(&module.name, any);
            }
        }
        let mut homes = addresses.clone();
        for buffer in 0..addresses.len() {
            if let Some((variable, module)) = application.variable_of(buffer) {
                (addresses[buffer], homes[buffer]) =
                    (variable.address(variables[module]), variable.base(variables[module]));
            }
        }
        Ok(Memories { memories, addresses, homes, variables })
    }

    /// The memory of a device.
    ///
    /// # Errors
    /// If it holds nothing.
    pub fn of(&mut self, device: u32) -> Result<&mut FlatMemory, Fault> {
        self.memories.get_mut(&device).ok_or_else(|| Fault::new(format!("no buffer lies on device {device}")))
    }

    /// Bytes of a device from an address on.
    ///
    /// # Errors
    /// As [`Memories::of`].
    pub fn bytes(&mut self, device: u32, address: u64, bytes: usize) -> Result<&mut [u8], Fault> {
        let memory = self.of(device)?;
        let start = if bytes > 0 { (address - memory.base) as usize } else { 0 };
        Ok(&mut memory.bytes[start..start + bytes])
    }

    /// Notes that a range of a buffer has been written.
    ///
    /// # Errors
    /// As [`Memories::of`].
    pub fn written(
        &mut self,
        device: u32,
        buffer: usize,
        range: std::ops::Range<usize>,
    ) -> Result<(), Fault> {
        let (home, within) = (self.homes[buffer], (self.addresses[buffer] - self.homes[buffer]) as usize);
        self.of(device)?.written(home, within + range.start..within + range.end);
        Ok(())
    }
}

fn memory_of(memories: &mut BTreeMap<u32, FlatMemory>, device: u32) -> &mut FlatMemory {
    memories.entry(device).or_insert_with(|| FlatMemory::new(0))
}

/// Bytes that each device holds: buffers and variables, with gaps between them.
fn rooms(application: &Application) -> BTreeMap<u32, u64> {
    let first = |device| (device, application.fixed_end(device));
    let mut rooms: BTreeMap<u32, u64> = application.devices().into_iter().map(first).collect();
    let own = application.buffers.iter().filter(|buffer| buffer.place == Place::Anywhere);
    let buffers = own.map(|buffer| (buffer.device, buffer.bytes));
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
