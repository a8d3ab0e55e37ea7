//! The code of the program: fat binaries as they are registered, and modules on the device once something of theirs is used.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterpoint_ptx::decode::decode;
use counterpoint_ptx::launches::Launches;
use counterpoint_ptx::link::link;
use counterpoint_ptx::{Kernel, PtxError, Symbol, VariableBases, parser};

use crate::device::Device;
use crate::errors::{Error, Result};
use crate::fatbin::{Contents, Ptx};
use crate::made::contexts::KERNELS;

/// A kernel as the program knows it.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) binary: usize,
    pub(crate) name: String,
}

/// A variable as the program knows it.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) binary: usize,
    pub(crate) name: String,
}

/// A variable on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

pub(crate) struct Module {
    pub(crate) text: String,
    pub(crate) bases: VariableBases,
    /// Launches by its kernels that have been seen.
    pub(crate) launches: Launches,
    kernels: BTreeMap<String, Arc<Kernel>>,
}

impl Module {
    pub(crate) fn kernel(&self, name: &str) -> Option<Arc<Kernel>> {
        self.kernels.get(name).map(Arc::clone)
    }

    /// The address and the bytes of its variables in global memory.
    pub(crate) fn globals(&self) -> (u64, u64) {
        (self.bases.globals, self.kernels.values().next().map_or(0, |kernel| kernel.global_bytes()))
    }

    /// Names of its kernels.
    pub(crate) fn names(&self) -> Vec<String> {
        self.kernels.keys().cloned().collect()
    }

    /// A kernel, by which all of the module is known.
    pub(crate) fn any(&self) -> Option<Arc<Kernel>> {
        self.kernels.values().next().map(Arc::clone)
    }

    /// Variables of the module with their initial values.
    pub(crate) fn first_values(&self) -> Vec<(Placed, Vec<u8>)> {
        let Some(kernel) = self.any() else { return Vec::new() };
        let [globals, constants] = [kernel.global_image(self.bases), kernel.constant_image(self.bases)];
        let value = |(symbol, address): (&Symbol, u64)| {
            let (image, base) = match address.checked_sub(self.bases.globals) {
                Some(at) if at < kernel.global_bytes() => (&globals, self.bases.globals),
                _ => (&constants, self.bases.constants),
            };
            let bytes = image.get((address - base) as usize..)?.get(..symbol.size as usize)?;
            Some((Placed { address, bytes: symbol.size }, bytes.to_vec()))
        };
        kernel.variables(self.bases).filter_map(value).collect()
    }

    pub(crate) fn variable(&self, name: &str) -> Option<Placed> {
        let mut variables = self.kernels.values().next()?.variables(self.bases);
        let (symbol, address) = variables.find(|(symbol, _)| symbol.name == name)?;
        Some(Placed { address, bytes: symbol.size })
    }
}

enum Binary {
    /// Parts of a binary that has not been used yet; the first use links them.
    Registered(Vec<Contents>),
    /// A binary that cannot be used.
    Unusable,
    Loaded(Module),
}

/// Code of the program.
#[derive(Default)]
pub(crate) struct Modules {
    binaries: Vec<Binary>,
    /// Binaries that are not the program's.
    own: BTreeSet<usize>,
    /// Functions by the address of the host's stub.
    functions: BTreeMap<usize, Function>,
    /// Variables by the address of the host's variable.
    variables: BTreeMap<usize, Variable>,
}

/// The reason why a module cannot be used.
pub(crate) type Unusable = (Error, String);

impl Modules {
    /// Takes a fat binary in; the result is its number.
    pub(crate) fn register(&mut self, contents: Option<Vec<Contents>>) -> usize {
        self.binaries.push(contents.map_or(Binary::Unusable, Binary::Registered));
        self.binaries.len() - 1
    }

    /// Takes in code that is not the program's, on which its device does not depend; the result is its number.
    pub(crate) fn register_own(&mut self, contents: Contents) -> usize {
        let binary = self.register(Some(vec![contents]));
        self.own.insert(binary);
        binary
    }

    /// The handle of a kernel on the device, by which it is known as by a stub; none if the binary has no such kernel.
    pub(crate) fn handle(&mut self, binary: usize, name: &str) -> Option<u64> {
        self.module(binary)?.kernel(name)?;
        let known =
            self.functions.range(KERNELS as usize..).find(|(_, it)| it.binary == binary && it.name == name);
        if let Some((handle, _)) = known {
            return Some(*handle as u64);
        }
        let last = self.functions.range(KERNELS as usize..).next_back();
        let handle = last.map_or(KERNELS as usize, |(last, _)| last + 1);
        self.functions.insert(handle, Function { binary, name: name.to_owned() });
        Some(handle as u64)
    }

    /// Takes a binary from the device; false if it is not there. Nobody is given the addresses of its variables again.
    pub(crate) fn unload(&mut self, binary: usize, device: &mut Device) -> bool {
        let Some(place) = self.binaries.get_mut(binary) else { return false };
        let Binary::Loaded(module) = std::mem::replace(place, Binary::Unusable) else { return false };
        for base in [module.bases.globals, module.bases.constants] {
            device.remove(base);
        }
        self.functions.retain(|_, function| function.binary != binary);
        true
    }

    /// Notes a kernel.
    pub(crate) fn register_function(&mut self, stub: usize, function: Function) {
        self.functions.insert(stub, function);
    }

    pub(crate) fn register_variable(&mut self, host: usize, variable: Variable) {
        self.variables.insert(host, variable);
    }

    /// The highest generation that the program has PTX for.
    pub(crate) fn generation(&self) -> Option<u32> {
        let of_program = self.binaries.iter().enumerate().filter(|(number, _)| !self.own.contains(number));
        let ptx = of_program.flat_map(|(_, binary)| match binary {
            Binary::Registered(parts) => newest(parts).map(|ptx| ptx.generation).collect(),
            Binary::Loaded(module) => {
                module.kernels.values().map(|kernel| kernel.target()).collect::<Vec<u32>>()
            }
            Binary::Unusable => Vec::new(),
        });
        ptx.max()
    }

    /// The kernel behind a stub.
    pub(crate) fn function(&self, stub: usize) -> Result<Function> {
        let missing = if stub == 0 { Error::INVALID_DEVICE_FUNCTION } else { Error::INVALID_RESOURCE_HANDLE };
        self.functions.get(&stub).cloned().ok_or(missing)
    }

    /// Modules on the device.
    pub(crate) fn loaded(&mut self) -> impl Iterator<Item = &mut Module> {
        self.binaries.iter_mut().filter_map(|binary| match binary {
            Binary::Loaded(module) => Some(module),
            _ => None,
        })
    }

    pub(crate) fn host_variable(&self, host: usize) -> Result<Variable> {
        self.variables.get(&host).cloned().ok_or(Error::INVALID_SYMBOL)
    }

    /// The module of a binary, if it is on the device.
    pub(crate) fn module(&self, binary: usize) -> Option<&Module> {
        match self.binaries.get(binary)? {
            Binary::Loaded(module) => Some(module),
            _ => None,
        }
    }

    pub(crate) fn module_mut(&mut self, binary: usize) -> Option<&mut Module> {
        match self.binaries.get_mut(binary)? {
            Binary::Loaded(module) => Some(module),
            _ => None,
        }
    }

    /// Puts a binary on the device, if it is not there; true if it was not.
    pub(crate) fn load(&mut self, binary: usize, device: &mut Device) -> std::result::Result<bool, Unusable> {
        let unusable = || (Error::NO_KERNEL_IMAGE, "the code cannot be used, as was said before".to_owned());
        let place = self.binaries.get_mut(binary).ok_or_else(unusable)?;
        let parts = match std::mem::replace(place, Binary::Unusable) {
            Binary::Registered(parts) => parts,
            Binary::Unusable => return Err(unusable()),
            loaded @ Binary::Loaded(_) => {
                *place = loaded;
                return Ok(false);
            }
        };
        let text = link_parts(&parts)?;
        let kernels = parser::parse(&text).and_then(|module| decode(&module));
        let kernels = kernels.map_err(|errors| not_understood(&errors))?;
        let title = format!("module {}", binary + 1);
        let bases = match kernels.first() {
            Some(any) => device.load(&title, any).map_err(|error| (error, format!("no room for {title}")))?,
            None => VariableBases::default(),
        };
        let kernels =
            kernels.into_iter().map(|kernel| (kernel.name().to_owned(), Arc::new(kernel))).collect();
        *place = Binary::Loaded(Module { text, bases, launches: Launches::default(), kernels });
        Ok(true)
    }
}

/// The text of one module that has all of the parts.
pub(crate) fn link_parts(parts: &[Contents]) -> std::result::Result<String, Unusable> {
    if newest(parts).next().is_none() {
        let machine_code: Vec<u32> = parts.iter().flat_map(|part| &part.machine_code).copied().collect();
        return Err((Error::NO_KERNEL_IMAGE, no_ptx(&machine_code)));
    }
    let texts = newest(parts).map(|ptx| ptx.text.as_str());
    let texts: Vec<&str> = texts.filter(|text| !text.contains(DEVICE_RUNTIME)).collect();
    link(&texts).map_err(|(_, errors)| not_understood(&errors))
}

/// A part of names in NVIDIA's library of launches by kernels, which programs are linked with. It is left out, as there is one of our own.
const DEVICE_RUNTIME: &str = "cuda_device_runtime_cu";

fn not_understood(errors: &[PtxError]) -> Unusable {
    let lines = errors.iter().map(|error| format!("\n  line {}: {}", error.line, error.message));
    (Error::INVALID_PTX, format!("the PTX is not understood:{}", lines.collect::<String>()))
}

fn newest(parts: &[Contents]) -> impl Iterator<Item = &Ptx> {
    parts.iter().filter_map(|part| part.ptx.iter().max_by_key(|ptx| ptx.generation))
}

/// Message for a program that has machine code alone.
fn no_ptx(machine_code: &[u32]) -> String {
    let list: Vec<String> = machine_code.iter().map(|generation| format!("sm_{generation}")).collect();
    let has = if list.is_empty() {
        "no code".to_owned()
    } else {
        format!("machine code for {} alone", list.join(", "))
    };
    let example = machine_code.iter().max().copied().unwrap_or(75);
    format!(
        "the program has {has}, and kernels run from PTX: compile it with \
         `-gencode arch=compute_{example},code=compute_{example}`, or `-arch=sm_{example}`, which adds PTX"
    )
}

impl Device {
    /// Gives kernels a new heap of this size.
    pub(crate) fn renew_heap(&mut self, bytes: u64, modules: &mut Modules) {
        self.memory.resize_heap(bytes);
        self.point(modules);
    }

    /// Gives kernels new memory of this size for what they print; all of that has been taken.
    pub(crate) fn renew_printf(&mut self, bytes: u64, modules: &mut Modules) {
        self.memory.resize_printf(bytes);
        self.lost = 0;
        self.point(modules);
    }

    fn point(&mut self, modules: &mut Modules) {
        for module in modules.loaded() {
            if let Some(kernel) = module.any() {
                module.bases = self.memory.point(&kernel, module.bases);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_of_launches_by_kernels_is_our_own() {
        let own = ".version 8.0\n.target sm_75\n.address_size 64\n\
            .extern .func (.param .b32 r) __cudaCDP2GetLastError();\n.visible .entry child() { ret; }\n\
            .visible .entry parent() { .reg .b64 %d; .reg .b32 %r; mov.u64 %d, child; call (%r), __cudaCDP2GetLastError; ret; }\n";
        let library =
            format!(".version 8.0\n.target sm_75\n.address_size 64\n.func {DEVICE_RUNTIME}() {{ what; }}\n");
        let part = |text: &str| Contents {
            ptx: vec![Ptx { generation: 75, text: text.to_owned() }],
            machine_code: Vec::new(),
        };
        let mut modules = Modules::default();
        let binary = modules.register(Some(vec![part(own), part(&library)]));
        let mut device = Device::new(1 << 22, Vec::new(), &Arc::default()).expect("a device");
        assert_eq!(modules.load(binary, &mut device), Ok(true));
        let module = modules.module(binary).expect("a module");
        assert!(module.kernel("parent").expect("a kernel").unsupported().is_empty());
    }
}
