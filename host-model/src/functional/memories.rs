//! The memories of devices without time: the addresses of buffers and modules in them, and their bytes.

use std::collections::BTreeMap;
use std::io;

use counterpoint_framework::kernel::Fault;
use counterpoint_ptx::VariableBases;
use counterpoint_ptx::functional::FlatMemory;

use crate::program::{Application, BufferPlace, Space};

/// Bytes between two allocations at most.
const GAP: u64 = 512;

/// The memories of an application's devices.
#[derive(Debug)]
pub struct Memories {
    /// By space of addresses.
    pub memories: BTreeMap<Space, FlatMemory>,
    /// For each buffer, its address in its space.
    pub addresses: Vec<u64>,
    /// For each buffer, the address of the allocation that it is, or of which it is a part.
    pub(super) homes: Vec<u64>,
    /// Per module where its variables begin on its device.
    pub variables: Vec<VariableBases>,
}

impl Memories {
    /// Allocates all buffers and modules; those with fixed addresses come first. Bytes that nobody has written have the value
    /// `unwritten`.
    ///
    /// # Errors
    /// If they exceed the address space of a process.
    pub fn new(application: &Application, unwritten: u8) -> Result<Self, Fault> {
        let mut memories = BTreeMap::new();
        for (space, room) in rooms(application) {
            let memory = usize::try_from(room).map_err(io::Error::other).and_then(FlatMemory::with_room);
            let mut memory = memory.map_err(|error| {
                Fault::new(format!("there is no room for {room} bytes of device {}: {error}", space.device))
            })?;
            memory.set_library(application.library.heap, application.library.printf, unwritten);
            memories.insert(space, memory);
        }
        for (place, buffer) in application.buffers.iter().enumerate() {
            if let BufferPlace::At(address) = buffer.place {
                let memory = memory_of(&mut memories, application.space_of(place));
                memory.allocate_at(&buffer.name, address, buffer.bytes as usize, unwritten);
            }
        }
        let mut behind: BTreeMap<Space, u64> = BTreeMap::new();
        let mut variables = vec![VariableBases::default(); application.modules.len()];
        for (number, (module, bases)) in application.modules.iter().zip(&mut variables).enumerate() {
            let Some(any) = module.kernels.first().filter(|_| !module.fixed().is_empty()) else { continue };
            let space = application.space_of_module(number);
            // The part of its variables without a fixed address follows everything with one.
            let end = behind.entry(space).or_insert_with(|| application.fixed_end_in(space));
            let mut place = |fixed: Option<u64>, bytes: u64| {
                fixed.unwrap_or_else(|| {
                    let start = (*end + 1).next_multiple_of(256);
                    *end = start + bytes;
                    start
                })
            };
            let globals = place(module.globals, any.global_bytes());
            let constants = place(module.constants, any.constant_bytes());
            *bases = memory_of(&mut memories, space).load_at(&module.name, any, globals, constants);
        }
        let mut addresses = Vec::new();
        for (place, buffer) in application.buffers.iter().enumerate() {
            addresses.push(match buffer.place {
                BufferPlace::At(address) => address,
                BufferPlace::Variable(_) => 0,
                BufferPlace::Anywhere => {
                    let memory = memory_of(&mut memories, application.space_of(place));
                    memory.allocate(&buffer.name, buffer.bytes as usize, unwritten)
                }
            });
        }
        for (number, (module, bases)) in application.modules.iter().zip(&mut variables).enumerate() {
            if let Some(any) = module.kernels.first().filter(|_| module.fixed().is_empty()) {
                *bases =
                    memory_of(&mut memories, application.space_of_module(number)).load(&module.name, any);
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

    /// The memory of a space.
    ///
    /// # Errors
    /// If it holds nothing.
    pub fn of(&mut self, space: Space) -> Result<&mut FlatMemory, Fault> {
        let nothing = || Fault::new(format!("no buffer lies on device {}", space.device));
        self.memories.get_mut(&space).ok_or_else(nothing)
    }

    /// Bytes of a space, beginning at an address.
    ///
    /// # Errors
    /// As [`Memories::of`].
    pub fn bytes(&mut self, space: Space, address: u64, bytes: usize) -> Result<&mut [u8], Fault> {
        let memory = self.of(space)?;
        let start = if bytes > 0 { (address - memory.base) as usize } else { 0 };
        Ok(&mut memory.bytes[start..start + bytes])
    }

    /// Notes that a range of a buffer has been written.
    ///
    /// # Errors
    /// As [`Memories::of`].
    pub fn written(
        &mut self,
        space: Space,
        buffer: usize,
        range: std::ops::Range<usize>,
    ) -> Result<(), Fault> {
        let (home, within) = (self.homes[buffer], (self.addresses[buffer] - self.homes[buffer]) as usize);
        self.of(space)?.written(home, within + range.start..within + range.end);
        Ok(())
    }
}

fn memory_of(memories: &mut BTreeMap<Space, FlatMemory>, space: Space) -> &mut FlatMemory {
    memories.entry(space).or_insert_with(|| FlatMemory::new(0))
}

/// Bytes that each space holds: buffers and variables, with gaps between them.
fn rooms(application: &Application) -> BTreeMap<Space, u64> {
    let spaces = application.devices().into_iter().flat_map(|device| application.spaces(device));
    let mut rooms: BTreeMap<Space, u64> =
        spaces.map(|space| (space, application.fixed_end_in(space))).collect();
    let own =
        application.buffers.iter().enumerate().filter(|(_, buffer)| buffer.place == BufferPlace::Anywhere);
    let buffers = own.map(|(place, buffer)| (application.space_of(place), buffer.bytes));
    let variables = application.modules.iter().enumerate().filter_map(|(number, module)| {
        let kernel = module.kernels.first()?;
        Some((application.space_of_module(number), kernel.global_bytes() + kernel.constant_bytes() + GAP))
    });
    let library = application.library.heap + application.library.printf + 2 * GAP;
    let library = application.modules.iter().enumerate().filter_map(|(number, module)| {
        let kernel = module.kernels.first()?;
        (kernel.prints() || kernel.allocates()).then_some((application.space_of_module(number), library))
    });
    for (space, bytes) in buffers.chain(variables).chain(library) {
        let room = rooms.entry(space).or_default();
        *room = room.saturating_add(bytes).saturating_add(GAP);
    }
    rooms
}
