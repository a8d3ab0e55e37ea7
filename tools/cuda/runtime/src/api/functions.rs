//! Kernels as programs ask for them: attributes, and how many blocks an SM holds.

use std::ffi::{c_int, c_uint, c_void};

use super::attributes::check_carveout;
use super::devices::{check_banks, check_cache};
use super::entries;
use super::launches::MOST_THREADS;
use crate::errors::{Error, Result};
use crate::foreign::{plain, put};
use crate::state::State;

/// Attributes of a kernel, up to those that programs set.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FunctionAttributes {
    pub(super) shared: usize,
    pub(super) constant: usize,
    pub(super) local: usize,
    pub(super) most_threads: c_int,
    pub(super) registers: c_int,
    pub(super) ptx_version: c_int,
    pub(super) binary_version: c_int,
    pub(super) cache_mode: c_int,
    pub(super) dynamic_shared_at_most: c_int,
    pub(super) carveout: c_int,
}

plain!(FunctionAttributes);

/// Attributes of kernels that programs set: dynamic shared memory at most, and the share of shared memory.
const DYNAMIC_SHARED: c_int = 8;
const CARVEOUT: c_int = 9;
/// Others, which are refused, from 10 on (`cudaFuncAttribute` in CUDA's `driver_types.h`).
static REFUSED: [&str; 7] = [
    "cudaFuncAttributeClusterDimMustBeSet",
    "cudaFuncAttributeRequiredClusterWidth",
    "cudaFuncAttributeRequiredClusterHeight",
    "cudaFuncAttributeRequiredClusterDepth",
    "cudaFuncAttributeNonPortableClusterSizeAllowed",
    "cudaFuncAttributeClusterSchedulingPolicyPreference",
    "cudaFuncAttributeSharedMemoryMode",
];

/// Flag of a question for blocks: without the caches that some devices give up.
const NO_CACHES: c_uint = 1;

/// Blocks of the kernel behind a stub that an SM holds at once.
fn resident_blocks(
    state: &mut State,
    stub: *const c_void,
    (threads, shared): (c_int, usize),
    flags: c_uint,
) -> Result<c_int> {
    let (_, kernel) = state.kernel(stub)?;
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(Error::INVALID_VALUE)?;
    if flags & !NO_CACHES != 0 {
        return Err(Error::INVALID_VALUE);
    }
    // No block is so large.
    if u64::from(threads) > MOST_THREADS {
        return Ok(0);
    }
    Ok(state.resident_blocks(&kernel, threads, shared as u64) as c_int)
}

impl State {
    pub(super) fn function_attributes(&mut self, stub: *const c_void) -> Result<FunctionAttributes> {
        let (_, kernel) = self.kernel(stub)?;
        let threads = kernel.max_ntid().map_or(1024, |sizes| sizes.iter().product::<u32>());
        let most = self.dynamic_shared_limit(stub, &kernel);
        let set = self.functions.get(&stub.addr()).copied().unwrap_or_default();
        Ok(FunctionAttributes {
            shared: kernel.shared_bytes() as usize,
            constant: kernel.constant_bytes() as usize,
            // The stack has no size of the kernel.
            local: kernel.local_bytes as usize,
            most_threads: threads.min(1024) as c_int,
            registers: kernel.registers_per_thread() as c_int,
            ptx_version: kernel.target() as c_int,
            binary_version: kernel.target() as c_int,
            // Loads of global memory are cached by their own operators.
            cache_mode: 0,
            dynamic_shared_at_most: most as c_int,
            carveout: set.carveout.unwrap_or(-1),
        })
    }

    /// Sets an attribute of a kernel, in a call of this name.
    pub(super) fn set_function_attribute(
        &mut self,
        call: &str,
        stub: *const c_void,
        attribute: c_int,
        value: c_int,
    ) -> Result {
        let (_, kernel) = self.kernel(stub)?;
        let most = self.limits().shared_of_block_at_most;
        let refused = usize::try_from(attribute).ok().and_then(|number| REFUSED.get(number.checked_sub(10)?));
        match attribute {
            DYNAMIC_SHARED if value >= 0 && u64::from(kernel.shared_bytes()) + value as u64 <= most => {
                self.functions.entry(stub.addr()).or_default().dynamic_shared = Some(value as u32);
                Ok(())
            }
            CARVEOUT => {
                check_carveout(value)?;
                self.functions.entry(stub.addr()).or_default().carveout = Some(value);
                Ok(())
            }
            _ => match refused {
                Some(name) => Err(self.refuse(call, &format!("{name} is not supported"))),
                None => Err(Error::INVALID_VALUE),
            },
        }
    }
}

entries! {
    fn cudaFuncSetAttribute(stub: *const c_void, attribute: c_int, value: c_int) |state| {
        state.set_function_attribute("cudaFuncSetAttribute", stub, attribute, value)
    }

    fn cudaFuncGetAttributes(attributes: *mut FunctionAttributes, stub: *const c_void) |state| {
        put(attributes, state.function_attributes(stub)?)
    }

    fn cudaFuncSetCacheConfig(stub: *const c_void, config: c_int) |state| {
        check_cache(config)?;
        state.modules.function(stub.addr()).map(drop)
    }

    /// Banks of shared memory have 4 bytes, as on every device that is still supported.
    fn cudaFuncSetSharedMemConfig(stub: *const c_void, config: c_int) |state| {
        check_banks(config)?;
        state.modules.function(stub.addr()).map(drop)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int, stub: *const c_void, threads: c_int, shared: usize,
    ) |state| {
        put(blocks, resident_blocks(state, stub, (threads, shared), 0)?)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut c_int, stub: *const c_void, threads: c_int, shared: usize, flags: c_uint,
    ) |state| {
        put(blocks, resident_blocks(state, stub, (threads, shared), flags)?)
    }
}
