//! Addresses that an application fixes: those of buffers, and those at which the variables of modules begin.

use std::ops::Range;
use std::sync::Arc;

use counterpoint_ptx::VariableBases;

use super::Application;
use crate::modules::Module;

/// Where a buffer lies on its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Behind all that has a fixed address.
    #[default]
    Anywhere,
    /// At this address.
    At(u64),
    /// Where a module has its variable.
    Variable(Variable),
}

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The module.
    pub module: Arc<str>,
    /// It lies in constant memory, and not in global memory.
    pub constant: bool,
    /// Its offset in the bytes of that.
    pub offset: u64,
}

impl Variable {
    /// Its address, where the variables of its module begin at these.
    pub fn address(&self, bases: VariableBases) -> u64 {
        self.base(bases) + self.offset
    }

    /// The address of the allocation that it is part of.
    pub fn base(&self, bases: VariableBases) -> u64 {
        if self.constant { bases.constants } else { bases.globals }
    }
}

/// Something with a fixed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// Its name in messages.
    pub name: String,
    /// Its addresses.
    pub range: Range<u64>,
}

impl Application {
    /// Everything that has a fixed address on a device, in the order of buffers and modules.
    pub fn fixed(&self, device: u32) -> Vec<Fixed> {
        let buffers = self.buffers.iter().filter(|buffer| buffer.device == device);
        let buffers = buffers.filter_map(|buffer| match buffer.place {
            Place::At(address) => {
                Some(Fixed { name: format!("`{}`", buffer.name), range: address..address + buffer.bytes })
            }
            _ => None,
        });
        let modules = self.modules.iter().filter(|module| module.device == device);
        buffers.chain(modules.flat_map(Module::fixed)).collect()
    }

    /// The address behind all that has a fixed one on a device; 0 if nothing has.
    pub fn fixed_end(&self, device: u32) -> u64 {
        self.fixed(device).into_iter().map(|fixed| fixed.range.end).max().unwrap_or(0)
    }

    /// Whether something has a fixed address.
    pub fn is_fixed(&self) -> bool {
        self.devices().into_iter().any(|device| self.fixed_end(device) > 0)
    }

    /// The variable that a buffer stands for, with the position of its module.
    pub fn variable_of(&self, buffer: usize) -> Option<(&Variable, usize)> {
        let Place::Variable(variable) = &self.buffers[buffer].place else { return None };
        let device = self.buffers[buffer].device;
        let module = self.modules.iter().position(|module| module.is(&variable.module, device))?;
        Some((variable, module))
    }
}
