//! Launches of kernels.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use counterpoint_cuda_capture::{Entry, Region};
use counterpoint_ptx::Kernel;
use counterpoint_ptx::functional::Turn;

use super::attributes::{self, Attribute, check_carveout, check_cluster};
use super::entries;
use crate::device::Launch;
use crate::errors::{Error, Result};
use crate::foreign::{get, plain, put, read};
use crate::graphs::{KernelCall, Operation};
use crate::made::{Configuration, Stream};
use crate::state::State;
use crate::words::Dim3;

/// Blocks and threads at most (CUDA C Programming Guide, technical specifications).
const LARGEST_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
const LARGEST_BLOCK: [u32; 3] = [1024, 1024, 64];
pub(super) const MOST_THREADS: u64 = 1024;

/// Arguments of a launch: the address of each, or a list with all of them in one block.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) places: *mut *mut c_void,
    pub(super) extra: *mut *mut c_void,
}

/// Words of that list: the block and its size follow, and the end.
const BLOCK: usize = 1;
const BLOCK_BYTES: usize = 2;
const END: usize = 0;

impl Arguments {
    pub(super) fn at(places: *mut *mut c_void) -> Self {
        Arguments { places, extra: std::ptr::null_mut() }
    }

    /// The parameters of a kernel as bytes.
    fn values(self, kernel: &Kernel) -> Result<Vec<u8>> {
        let mut parameters = vec![0; kernel.param_bytes() as usize];
        if self.places.is_null() && !self.extra.is_null() {
            let block = self.block()?;
            let count = block.len().min(parameters.len());
            parameters[..count].copy_from_slice(&block[..count]);
            return Ok(parameters);
        }
        let places = read(self.places.addr() as u64, 8 * kernel.params().len() as u64)?;
        for (place, param) in places.as_chunks().0.iter().zip(kernel.params()) {
            let value = read(u64::from_le_bytes(*place), param.size.into())?;
            parameters[param.offset as usize..][..value.len()].copy_from_slice(&value);
        }
        Ok(parameters)
    }

    fn block(self) -> Result<Vec<u8>> {
        let (mut place, mut bytes) = (0, 0);
        for index in (0..).step_by(2) {
            let value = || get(self.extra.wrapping_add(index + 1)).map(|value| value.addr() as u64);
            match get(self.extra.wrapping_add(index))?.addr() {
                BLOCK => place = value()?,
                // The size is behind an address.
                BLOCK_BYTES => bytes = get(std::ptr::without_provenance::<u64>(value()? as usize))?,
                END => break,
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        read(place, bytes)
    }
}

fn fits(sizes: [u32; 3], largest: [u32; 3]) -> bool {
    sizes.iter().zip(largest).all(|(&size, largest)| size > 0 && size <= largest)
}

/// An error for a grid or a block of a size that there is not.
pub(super) fn check_sizes(grid: [u32; 3], block: [u32; 3]) -> Result {
    let threads = || block.iter().map(|&size| u64::from(size)).product::<u64>();
    if !fits(grid, LARGEST_GRID) || !fits(block, LARGEST_BLOCK) || threads() > MOST_THREADS {
        // The error is that of CUDA up to 12, which programs expect; CUDA 13 returns an invalid value.
        return Err(Error::INVALID_CONFIGURATION);
    }
    Ok(())
}

impl State {
    /// The kernel behind a stub, with the number of its module.
    pub(crate) fn kernel(&mut self, stub: *const c_void) -> Result<(usize, Arc<Kernel>)> {
        let function = self.modules.function(stub.addr())?;
        self.load(function.binary)?;
        let module = self.modules.module(function.binary).ok_or(Error::NO_KERNEL_IMAGE)?;
        let kernel = module.kernel(&function.name).ok_or(Error::INVALID_DEVICE_FUNCTION)?;
        if let Some(problem) = kernel.unsupported().first() {
            let message = format!(
                "`{}` cannot run: {} (line {} of its PTX)",
                kernel.name(),
                problem.message,
                problem.line
            );
            return Err(self.refuse("launch", &message));
        }
        Ok((function.binary, kernel))
    }

    /// Bytes of dynamic shared memory that a block of a kernel may have: more than CUDA gives to all only where the program has asked.
    pub(crate) fn dynamic_shared_limit(&self, stub: *const c_void, kernel: &Kernel) -> u32 {
        let usual = self.limits().shared_of_block.saturating_sub(kernel.shared_bytes().into()) as u32;
        let set = self.functions.get(&stub.addr()).and_then(|set| set.dynamic_shared);
        set.unwrap_or(usual).max(usual)
    }

    /// A launch with the values of its arguments, if the device can make it.
    pub(super) fn kernel_call(
        &mut self,
        stub: *const c_void,
        sizes: Configuration,
        arguments: Arguments,
        cooperative: bool,
    ) -> Result<KernelCall> {
        let (_, kernel) = self.kernel(stub)?;
        let (grid, block) = (sizes.grid.sizes(), sizes.block.sizes());
        check_sizes(grid, block)?;
        let threads = block.iter().map(|&size| u64::from(size)).product::<u64>();
        let shared = u32::try_from(sizes.shared).map_err(|_| Error::INVALID_VALUE)?;
        if shared > self.dynamic_shared_limit(stub, &kernel) {
            return Err(Error::INVALID_VALUE);
        }
        let bound = kernel.max_ntid().map(|bound| bound.iter().map(|&size| u64::from(size)).product::<u64>());
        if bound.is_some_and(|bound| threads > bound) {
            return Err(Error::INVALID_VALUE);
        }
        if cooperative {
            let blocks: u64 = grid.iter().map(|&size| u64::from(size)).product();
            let resident = self.resident_blocks(&kernel, threads as u32, u64::from(shared));
            if blocks > u64::from(resident) * u64::from(self.settings.sms) {
                return Err(Error::COOPERATIVE_TOO_LARGE);
            }
        }
        let parameters = arguments.values(&kernel)?;
        Ok(KernelCall { stub: stub.addr(), grid, block, shared, cooperative, parameters })
    }

    /// Makes a launch, now or when the graph is launched that watches the stream. A kernel that fails is the error of the next call, as it ends when
    /// the launch is over.
    pub(super) fn launch(
        &mut self,
        stub: *const c_void,
        sizes: Configuration,
        arguments: Arguments,
        cooperative: bool,
    ) -> Result {
        let stream = self.stream(sizes.stream)?;
        let call = self.kernel_call(stub, sizes, arguments, cooperative)?;
        match self.submit(Operation::Kernel(call), stream) {
            Err(_) if self.failed.is_some() => Ok(()),
            done => done,
        }
    }

    /// Runs a launch, and notes it.
    pub(crate) fn launch_now(&mut self, call: KernelCall, stream: u32) -> Result {
        let KernelCall { stub, grid, block, shared, cooperative, parameters } = call;
        let (binary, kernel) = self.kernel(std::ptr::without_provenance(stub))?;
        let stack = self.give_memory(&kernel);
        self.put_arguments_on_device(&parameters)?;
        self.share(stream)?;
        if let Some(machine) = &mut self.recorder.machine {
            let device = &self.device;
            let mut memory = |address, bytes| match bytes {
                0 => Vec::new(),
                bytes => device.read(Region::line(address, bytes)).unwrap_or_default(),
            };
            machine.before_launch(kernel.name(), &self.textures, &mut memory);
        }
        self.recorder.entry(&Entry::Launch {
            module: binary as u32,
            kernel: kernel.name().to_owned(),
            grid,
            block,
            shared,
            parameters: parameters.clone(),
            stream,
            cooperative,
        });
        let variables = self.modules.module(binary).map(|module| module.bases).unwrap_or_default();
        let launch =
            Launch { kernel: &kernel, variables, grid, block, shared, stack, parameters: &parameters };
        let textures = Arc::clone(&self.textures);
        let begun = self.device.begin(&launch, &textures);
        let done = begun.and_then(|mut begun| self.device.advance(&mut begun).map(|turn| (begun, turn)));
        self.device.found().iter().for_each(|found| self.say_once(found));
        match done.map_err(|(error, message)| self.fail(error, message))? {
            (_, Turn::Ended) => self.launch_for_kernels(binary, stream).and_then(|()| self.unshare(stream)),
            (begun, Turn::Waits) => self.keep_waiting((binary, stream), begun),
            // The program has gone.
            (_, Turn::Interrupted) => Err(Error::UNKNOWN),
        }
    }
}

/// A configuration of `cudaLaunchKernelExC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ExtendedConfiguration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Stream,
    attributes: *const ExtendedAttribute,
    count: c_uint,
}

/// An attribute of it: 64 bytes of value behind its number.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ExtendedAttribute {
    number: c_int,
    padding: [u8; 4],
    value: [u8; 64],
}

impl ExtendedAttribute {
    fn word(&self, index: usize) -> u32 {
        self.value.as_chunks().0.get(index).map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    /// Whether it has blocks wait for each other.
    ///
    /// # Errors
    /// A launch has no such attribute, or it is not supported.
    pub(super) fn is_cooperative(&self, state: &mut State, grid: [u32; 3]) -> Result<bool> {
        let name = match attributes::of_launch(self.number)? {
            Attribute::Harmless | Attribute::Priority => return Ok(false),
            Attribute::Carveout => return check_carveout(self.word(0) as i32).map(|()| false),
            Attribute::Cooperative => return Ok(self.word(0) != 0),
            Attribute::Cluster => match check_cluster([0, 1, 2].map(|index| self.word(index)), grid)? {
                true => "cudaLaunchAttributeClusterDimension",
                false => return Ok(false),
            },
            Attribute::Overlap if self.word(0) == 0 => return Ok(false),
            Attribute::Overlap => "cudaLaunchAttributeProgrammaticStreamSerialization",
            Attribute::Other(name) => name,
        };
        Err(state.refuse("cudaLaunchKernelExC", &format!("{name} is not supported")))
    }
}

plain!(ExtendedConfiguration, ExtendedAttribute);

entries! {
    /// Notes the sizes of a launch whose stub is called next.
    fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Stream) => Answer |state| {
        state.of_thread().configurations.push(Configuration { grid, block, shared, stream });
        Ok(0)
    }

    /// Gives them back to the stub.
    fn __cudaPopCallConfiguration(
        grid: *mut Dim3, block: *mut Dim3, shared: *mut usize, stream: *mut Stream,
    ) => Answer |state| {
        let Some(sizes) = state.of_thread().configurations.pop() else {
            return Ok(Error::INVALID_CONFIGURATION.0 as u64);
        };
        let all = put(grid, sizes.grid)
            .and_then(|()| put(block, sizes.block))
            .and_then(|()| put(shared, sizes.shared))
            .and_then(|()| put(stream, sizes.stream));
        Ok(all.err().unwrap_or_default().0 as u64)
    }

    fn cudaLaunchKernel(
        stub: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared: usize, stream: Stream,
    ) |state| {
        state.launch(stub, Configuration { grid, block, shared, stream }, Arguments::at(arguments), false)
    }

    fn __cudaGetKernel(kernel: *mut *const c_void, stub: *const c_void) |state| {
        state.modules.function(stub.addr())?;
        put(kernel, stub)
    }

    fn __cudaLaunchKernel(
        kernel: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared: usize, stream: Stream,
    ) |state| {
        state.launch(kernel, Configuration { grid, block, shared, stream }, Arguments::at(arguments), false)
    }

    fn cudaLaunchCooperativeKernel(
        stub: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared: usize, stream: Stream,
    ) |state| {
        state.launch(stub, Configuration { grid, block, shared, stream }, Arguments::at(arguments), true)
    }

    fn cudaLaunchKernelExC(
        configuration: *const ExtendedConfiguration, stub: *const c_void, arguments: *mut *mut c_void,
    ) |state| {
        let ExtendedConfiguration { grid, block, shared, stream, attributes, count } = get(configuration)?;
        let mut cooperative = false;
        for index in 0..count as usize {
            cooperative |= get(attributes.wrapping_add(index))?.is_cooperative(state, grid.sizes())?;
        }
        state.launch(stub, Configuration { grid, block, shared, stream }, Arguments::at(arguments), cooperative)
    }
}
