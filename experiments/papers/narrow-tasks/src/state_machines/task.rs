//! Tasks of a resident kernel, such as Pagoda's and GeMTC's: an entry in device memory names a task function of the kernel's module, which is
//! executed as a kernel of its own, block by block.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint::kernel::Fault;
use counterpoint::messages::launch::Launch;
use counterpoint::ptx::Kernel;

use crate::task_entry::{self, ARGUMENTS, Demand, FUNCTIONS};
use crate::throughput::state_machine::{Code, Device, Warp};

/// A resident kernel, and its task functions as far as they have been called.
pub(super) struct Tasks {
    pub(super) launch: Arc<Launch>,
    functions: BTreeMap<u32, Arc<Kernel>>,
}

impl Tasks {
    pub(super) fn new(launch: &Arc<Launch>) -> Self {
        Tasks { launch: Arc::clone(launch), functions: BTreeMap::new() }
    }

    /// A parameter of the kernel, by its position.
    pub(super) fn parameter(&self, at: usize) -> Result<u64, Fault> {
        let kernel = &self.launch.kernel;
        let wrong = || Fault::new(format!("`{}` has no parameter {at}", kernel.name()));
        let place = kernel.params().get(at).ok_or_else(wrong)?;
        let bytes = self.launch.params.iter().skip(place.offset as usize).take(place.size as usize);
        Ok(bytes.rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    /// Executes the task whose entry is at an address. Returns the task's demand, and the warps of each of its blocks.
    pub(super) fn execute(
        &mut self,
        entry: u64,
        device: &mut Device<'_>,
    ) -> Result<(Demand, Vec<Vec<Warp>>), Fault> {
        let bytes = device.bytes::<{ task_entry::BYTES as usize }>(entry);
        let task_entry::Parameters { demand, function, .. } = task_entry::parameters(&bytes);
        let arguments = entry + task_entry::BYTES - ARGUMENTS as u64;
        let params = [&arguments.to_le_bytes()[..], &demand.blocks.to_le_bytes()].concat();
        let kernel = self.function(function)?;
        let code = Code {
            launch: &self.launch,
            kernel: &kernel,
            grid: [demand.blocks, 1, 1],
            block: [demand.warps * 32, 1, 1],
            shared: demand.shared,
            params: &params,
        };
        Ok((demand, device.execute(&code)?))
    }

    fn function(&mut self, position: u32) -> Result<Arc<Kernel>, Fault> {
        if let Some(known) = self.functions.get(&position) {
            return Ok(Arc::clone(known));
        }
        let compiled = kernel(&self.launch.kernel, position)?;
        self.functions.insert(position, Arc::clone(&compiled));
        Ok(compiled)
    }
}

/// The task function at a position of the table of a module, behind a kernel which calls it as resident kernels do: with the number of the
/// thread in the task, the shape of the task, a barrier, the block's memory, and the address of its arguments (`TaskFunction` in
/// `experiments/applications/tasks.h`). The kernel takes that address and the number of blocks.
fn kernel(resident: &Kernel, function: u32) -> Result<Arc<Kernel>, Fault> {
    let functions = resident.functions_in(FUNCTIONS).unwrap_or_default();
    let name = functions.get(function as usize).copied().flatten();
    let name = name.ok_or_else(|| Fault::new(format!("`{FUNCTIONS}` has no task function {function}")))?;
    let caller = format!(
        "{}
.extern .shared .align 128 .b8 memory_of_{name}[];
.visible .entry call_{name}(.param .u64 arguments, .param .u32 blocks)
{{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .param .b32 p0;
    .param .b32 p1;
    .param .b32 p2;
    .param .b32 p3;
    .param .b64 p4;
    .param .b64 p5;
    ld.param.u64 %rd1, [arguments];
    ld.param.u32 %r1, [blocks];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %ctaid.x;
    mad.lo.s32 %r2, %r4, %r3, %r2;
    mov.u32 %r5, 0;
    mov.u64 %rd2, memory_of_{name};
    cvta.shared.u64 %rd3, %rd2;
    st.param.b32 [p0+0], %r2;
    st.param.b32 [p1+0], %r3;
    st.param.b32 [p2+0], %r1;
    st.param.b32 [p3+0], %r5;
    st.param.b64 [p4+0], %rd3;
    st.param.b64 [p5+0], %rd1;
    call.uni {name}, (p0, p1, p2, p3, p4, p5);
    ret;
}}
",
        resident.source()
    );
    let compiled = Kernel::compile(&caller, Some(&format!("call_{name}"))).map_err(|errors| {
        let told = errors.first().map_or_else(String::new, ToString::to_string);
        Fault::new(format!("the task function `{name}` cannot be called: {told}"))
    })?;
    Ok(Arc::new(compiled.from_file(resident.origin())))
}
