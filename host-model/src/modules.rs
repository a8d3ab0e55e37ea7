//! Modules: the code of one name under `code:` on one device. A device that launches a kernel of a module
//! holds the module's variables once, and the code of each kernel that it launches.

use std::sync::Arc;

use counterpoint_ptx::Kernel;

use crate::program::{Application, Fixed, LaunchStep};

/// A module on a device.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name of the module.
    pub name: Arc<str>,
    /// The device.
    pub device: u32,
    /// The address at which its `.global` variables begin, if it is fixed.
    pub globals: Option<u64>,
    /// The address at which its `.const` variables begin, if it is fixed.
    pub constants: Option<u64>,
    /// The kernels that are launched there, in the order of their first launch; all have the same variables.
    pub kernels: Vec<Arc<Kernel>>,
}

impl Module {
    /// The modules of launches, in the order of their first launch.
    pub fn of<'a>(launches: impl IntoIterator<Item = &'a LaunchStep>) -> Vec<Module> {
        let mut modules: Vec<Module> = Vec::new();
        for LaunchStep { code, device, kernel, .. } in launches {
            match modules.iter_mut().find(|module| module.is(code, *device)) {
                Some(module) if module.kernels.iter().any(|known| known.name() == kernel.name()) => {}
                Some(module) => module.kernels.push(Arc::clone(kernel)),
                None => modules.push(Module {
                    name: Arc::clone(code),
                    device: *device,
                    globals: None,
                    constants: None,
                    kernels: vec![Arc::clone(kernel)],
                }),
            }
        }
        modules
    }

    /// Its variables that have fixed addresses.
    pub(crate) fn fixed(&self) -> Vec<Fixed> {
        let Some(any) = self.kernels.first() else { return Vec::new() };
        let spaces = [
            ("variables", self.globals, any.global_bytes()),
            ("constants", self.constants, any.constant_bytes()),
        ];
        let fixed = |(space, address, bytes): (&str, Option<u64>, u64)| {
            let start = address.filter(|_| bytes > 0)?;
            Some(Fixed { name: format!("the {space} of `{}`", self.name), range: start..start + bytes })
        };
        spaces.into_iter().filter_map(fixed).collect()
    }

    pub(crate) fn is(&self, name: &str, device: u32) -> bool {
        *self.name == *name && self.device == device
    }
}

/// Position of a launch's kernel: that of the module in the application, and that of the kernel in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelPlace {
    /// The position of its module among those of the application.
    pub module: usize,
    /// Position of the kernel among those of the module.
    pub kernel: usize,
}

impl Application {
    /// Position of a launch's kernel; `None` if no module of its device has the kernel.
    pub fn place_of(&self, step: &LaunchStep) -> Option<KernelPlace> {
        let module = self.modules.iter().position(|module| module.is(&step.code, step.device))?;
        let kernels = &self.modules[module].kernels;
        let kernel = kernels.iter().position(|kernel| kernel.name() == step.kernel.name())?;
        Some(KernelPlace { module, kernel })
    }

    /// The number of a module's constants among the contents of device memory: behind the variables of all.
    pub(crate) fn number_of_constants(&self, module: usize) -> u32 {
        (self.buffers.len() + self.modules.len() + module) as u32
    }

    /// The number of a module's variables among the contents of device memory: behind those of the buffers.
    pub(crate) fn number_of(&self, module: usize) -> u32 {
        (self.buffers.len() + module) as u32
    }
}
