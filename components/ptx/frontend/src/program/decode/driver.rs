//! Memory that a driver provides to kernels implicitly: a workspace of the grid, whose address is in `%envreg1` and `%envreg2`, and
//! a part of shared memory that is reserved for groups of threads (PTX ISA 10; CUDA's cooperative groups use both).
//!
//! Both are variables that a function has if its text names their registers. The workspace is zero when the module is loaded, and a
//! grid's barrier leaves it ready for the next launch, as CUDA's does. Launches of a kernel that run side by side would share it.

use super::{Decoder, Storage, hoisted};
use crate::program::{Reserved, Special};
use crate::syntax::ast::{Function, StorageSpace, Variable};
use crate::syntax::error::PtxError;

const WORKSPACE: &str = "workspace";
pub(super) const RESERVED: &str = "reserved memory";
/// Bytes of a block's shared memory that CUDA reserves, for sm_80 and later.
const RESERVED_BYTES: u64 = 1024;

pub(super) fn declare(function: &Function, text: &str, storage: &mut Storage) -> Result<(), PtxError> {
    let variable = |name: &str, space: StorageSpace, bytes: u64| Variable {
        space,
        external: false,
        align: Some(128),
        element: "b8".to_owned(),
        vector: 1,
        name: hoisted(&function.name, name),
        range: None,
        dimensions: vec![Some(bytes)],
        initial: Vec::new(),
        span: function.span,
    };
    if text.contains("%envreg1") || text.contains("%envreg2") {
        storage.declare(&variable(WORKSPACE, StorageSpace::Global, 128))?;
    }
    if text.contains("%reserved_smem_offset_") {
        storage.declare(&variable(RESERVED, StorageSpace::Shared, RESERVED_BYTES))?;
    }
    Ok(())
}

impl Decoder<'_> {
    /// The offset that a special register of the driver's memory gives; 0 for other registers.
    pub(super) fn driver_place(&self, special: Special) -> i64 {
        let place = |name: &str| {
            let found = self.storage.find(&hoisted(&self.name, name));
            found.map_or(0, |(_, offset)| offset as i64)
        };
        let size = RESERVED_BYTES as i64;
        match special {
            Special::Workspace { .. } => place(WORKSPACE),
            Special::Reserved(Reserved::Begin) => place(RESERVED),
            Special::Reserved(Reserved::Middle) => place(RESERVED) + size / 2,
            Special::Reserved(Reserved::End) => place(RESERVED) + size,
            Special::Reserved(Reserved::Size) => size,
            _ => 0,
        }
    }
}
