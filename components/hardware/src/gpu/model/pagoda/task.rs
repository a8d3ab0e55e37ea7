//! A task function as a kernel of its own: what an executor warp calls, so that it can be executed block by block.

use std::sync::Arc;

use counterpoint_framework::kernel::Fault;
use counterpoint_protocols::pagoda::FUNCTIONS;
use counterpoint_ptx::Program;

/// The task function at a position of the table of a module, behind a kernel which calls it as the MasterKernel does: with the number of
/// the thread in the task, the shape of the task, a barrier, the block's memory, and where its arguments lie (`TaskFunction` in
/// `experiments/applications/tasks.h`). The kernel takes that address and the number of blocks.
pub(super) fn kernel(master: &Program, function: u32) -> Result<Arc<Program>, Fault> {
    let functions = master.functions_in(FUNCTIONS).unwrap_or_default();
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
        master.source()
    );
    let compiled = Program::compile(&caller, Some(&format!("call_{name}"))).map_err(|errors| {
        let told = errors.first().map_or_else(String::new, ToString::to_string);
        Fault::new(format!("the task function `{name}` cannot be called: {told}"))
    })?;
    Ok(Arc::new(compiled.from_file(master.origin())))
}
