//! Addresses that an application fixes: those of buffers, and those at which the variables of modules begin.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use counterpoint_ptx::VariableBases;

use super::{Application, LaunchStep};

/// An address space on a device. Programs that run together and fix the same addresses have one address space each: address `a` of a
/// program is `a + shift` on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Space {
    /// The device.
    pub device: u32,
    /// Added to addresses.
    pub shift: u64,
}

/// Shifts of buffers and modules by their positions; 0 for those behind the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts {
    /// Shifts of buffers.
    pub buffers: Vec<u64>,
    /// Shifts of modules.
    pub modules: Vec<u64>,
}

/// Location of a buffer on its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BufferPlace {
    /// Behind everything with a fixed address.
    #[default]
    Anywhere,
    /// At this address.
    At(u64),
    /// The address of a variable of a module.
    Variable(Variable),
}

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The module.
    pub module: Arc<str>,
    /// Whether the variable is in constant memory, and not in global memory.
    pub constant: bool,
    /// Offset of the variable in its module's bytes.
    pub offset: u64,
}

impl Variable {
    /// Address of the variable, given the addresses at which the variables of its module begin.
    pub fn address(&self, bases: VariableBases) -> u64 {
        self.base(bases) + self.offset
    }

    /// Address of the allocation that contains the variable.
    pub fn base(&self, bases: VariableBases) -> u64 {
        if self.constant { bases.constants } else { bases.globals }
    }
}

/// An allocation with a fixed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Its name in messages.
    pub name: String,
    /// Its addresses.
    pub range: Range<u64>,
}

impl Application {
    /// The space of a buffer, by its position.
    pub fn space_of(&self, buffer: usize) -> Space {
        let shift = self.shifts.buffers.get(buffer).copied().unwrap_or(0);
        Space { device: self.buffers[buffer].device, shift }
    }

    /// The space of a module, by its position.
    pub fn space_of_module(&self, module: usize) -> Space {
        let shift = self.shifts.modules.get(module).copied().unwrap_or(0);
        Space { device: self.modules[module].device, shift }
    }

    /// The space of a launch.
    pub fn space_of_launch(&self, launch: &LaunchStep) -> Space {
        let module = self.place_of(launch).map(|place| self.space_of_module(place.module));
        module.unwrap_or(Space { device: launch.device, shift: 0 })
    }

    /// The spaces of a device: that of its own addresses first.
    pub fn spaces(&self, device: u32) -> BTreeSet<Space> {
        let buffers = (0..self.buffers.len()).map(|buffer| self.space_of(buffer));
        let modules = (0..self.modules.len()).map(|module| self.space_of_module(module));
        let all = buffers.chain(modules).filter(|space| space.device == device);
        all.chain([Space { device, shift: 0 }]).collect()
    }

    /// Everything that has a fixed address in the spaces that `offset` gives a number for, which is added to the address.
    fn fixed_where(&self, offset: impl Fn(Space) -> Option<u64>) -> Vec<Fixed> {
        let at = |Fixed { name, range }: Fixed, offset| Fixed {
            name,
            range: range.start + offset..range.end + offset,
        };
        let buffers = self.buffers.iter().enumerate().filter_map(|(place, buffer)| match buffer.place {
            BufferPlace::At(address) => {
                let fixed =
                    Fixed { name: format!("`{}`", buffer.name), range: address..address + buffer.bytes };
                Some(at(fixed, offset(self.space_of(place))?))
            }
            _ => None,
        });
        let modules = self.modules.iter().enumerate().filter_map(|(place, module)| {
            let offset = offset(self.space_of_module(place))?;
            Some(module.fixed().into_iter().map(move |fixed| at(fixed, offset)))
        });
        buffers.chain(modules.flatten()).collect()
    }

    /// Everything that has a fixed address on a device, in the order of buffers and modules.
    pub fn fixed(&self, device: u32) -> Vec<Fixed> {
        self.fixed_where(|space| (space.device == device).then_some(space.shift))
    }

    /// Whether a program was recorded: all buffers of a device have fixed addresses, in the lower half of its memory.
    pub(crate) fn is_recorded(&self, device: u32, memory: u64) -> bool {
        let mut here =
            self.buffers.iter().filter(|buffer| buffer.device == device && buffer.bytes > 0).peekable();
        here.peek().is_some()
            && here.all(|buffer| !matches!(buffer.place, BufferPlace::Anywhere))
            && self.spaces(device).len() == 1
            && self.fixed_end(device) <= memory / 2
    }

    /// The address behind all that has a fixed one in a space; 0 if nothing has.
    pub fn fixed_end_in(&self, space: Space) -> u64 {
        let fixed = self.fixed_where(|one| (one == space).then_some(0));
        fixed.into_iter().map(|fixed| fixed.range.end).max().unwrap_or(0)
    }

    /// The address behind all that has a fixed one on a device; 0 if nothing has.
    pub fn fixed_end(&self, device: u32) -> u64 {
        self.fixed(device).into_iter().map(|fixed| fixed.range.end).max().unwrap_or(0)
    }

    /// Whether something has a fixed address.
    pub fn is_fixed(&self) -> bool {
        self.devices().into_iter().any(|device| self.fixed_end(device) > 0)
    }

    /// The module variable that a buffer names, with the position of its module.
    pub fn variable_of(&self, buffer: usize) -> Option<(&Variable, usize)> {
        let BufferPlace::Variable(variable) = &self.buffers[buffer].place else { return None };
        let device = self.buffers[buffer].device;
        let module = self.modules.iter().position(|module| module.is(&variable.module, device))?;
        Some((variable, module))
    }
}
