//! The CTA and the launch as a warp sees them.

use std::sync::Arc;

use crate::execute::texture::Textures;
use crate::program::StackSize;

/// Windows of shared and local memory among generic addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// First generic address of the shared window.
    pub shared: u64,
    /// First generic address of the local window.
    pub local: u64,
    /// Bytes of each window.
    pub size: u64,
}

impl Windows {
    /// Windows far above every address of a device.
    pub const ABOVE_MEMORY: Windows =
        Windows { shared: 1 << 46, local: (1 << 46) + (1 << 28), size: 1 << 28 };
}

impl Default for Windows {
    /// Two windows of 16 MiB in the first 4 GiB, which has no simulated allocations.
    fn default() -> Self {
        Windows { shared: 0x0100_0000, local: 0x0200_0000, size: 0x0100_0000 }
    }
}

/// The environment shared by all warps of a CTA.
#[derive(Clone, Debug)]
pub struct CtaEnvironment {
    /// `%ctaid`
    pub ctaid: [u32; 3],
    /// `%ntid`
    pub ntid: [u32; 3],
    /// `%nctaid`
    pub nctaid: [u32; 3],
    /// The kernel's parameters, laid out as [`Kernel::params`](crate::Kernel::params) says.
    pub params: Arc<[u8]>,
    /// `%smid`
    pub sm: u32,
    /// `%nsmid`
    pub sm_count: u32,
    /// `%gridid`
    pub grid: u64,
    /// Shared memory that the launch adds to the static part.
    pub dynamic_shared_bytes: u32,
    /// The stack of each thread.
    pub stack: StackSize,
    /// Generic address windows.
    pub windows: Windows,
    /// Address of the module's `.global` variables.
    pub global_base: u64,
    /// Address of the module's `.const` variables.
    pub constant_base: u64,
    /// Textures and surfaces that the launch bound.
    pub textures: Arc<Textures>,
}

impl CtaEnvironment {
    /// CTA 0 of a grid.
    pub fn new(grid: [u32; 3], block: [u32; 3], params: Arc<[u8]>) -> Self {
        CtaEnvironment {
            ctaid: [0; 3],
            ntid: block,
            nctaid: grid,
            params,
            sm: 0,
            sm_count: 1,
            grid: 0,
            dynamic_shared_bytes: 0,
            stack: StackSize::default(),
            windows: Windows::default(),
            global_base: 0,
            constant_base: 0,
            textures: Arc::default(),
        }
    }

    /// Threads of the CTA.
    pub fn threads(&self) -> u32 {
        self.ntid.iter().product()
    }

    /// Warps of the CTA.
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }
}
