//! PTX programs and launches for the tests, and a memory that is a map.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint_protocols::launch::{Launch, LaunchId, Tracking};
use counterpoint_protocols::local::LocalMemory;
use counterpoint_protocols::memory::{
    LINE_BYTES, Line, MemAccess, MemReply, MemRequest, MemResult, line_of, merge, sectors,
};
use counterpoint_ptx::{Allocation, Allocations, Kernel, Rights, VariableBases};

/// Where the buffer that a kernel is given begins; it has 64 KiB.
pub(super) const BUFFER: u64 = 0x10000;
pub(super) const BUFFER_BYTES: u64 = 0x10000;

/// A kernel around these instructions. They find the buffer's address in %rd1, the thread's number in %r1, and the
/// address of the thread's word in %rd2, which is computed last.
pub(super) fn kernel(body: &str) -> String {
    format!(
        ".version 7.8
.target sm_35
.address_size 64
.visible .entry k(.param .u64 buffer)
{{
.reg .pred %p<4>;
.reg .b32 %r<16>;
.reg .f32 %f<16>;
.reg .f64 %d<16>;
.reg .b64 %rd<16>;
.shared .align 8 .b8 scratch[8192];
ld.param.u64 %rd1, [buffer];
mov.u32 %r1, %tid.x;
mov.u32 %r2, 3;
mov.f32 %f1, 0f3F800000;
mov.f64 %d1, 0d3FF0000000000000;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd1, %rd2;
{body}
ret;
}}
"
    )
}

/// The line of a kernel's text in which this stands.
pub(super) fn line_of_text(source: &str, text: &str) -> usize {
    1 + source.lines().position(|line| line.contains(text)).expect("the text is in the kernel")
}

/// A launch of a kernel with so many blocks and threads a block.
pub(super) fn launch(id: u32, source: &str, grid: u32, block: u32) -> Arc<Launch> {
    let kernel = Kernel::compile(source, Some("k")).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    Arc::new(Launch {
        id: LaunchId(id),
        stream: 0,
        tracking: Tracking::None,
        task: None,
        registers: kernel.registers_per_thread(),
        kernel: Arc::new(kernel),
        code: 0,
        variables: VariableBases::default(),
        textures: Arc::default(),
        local: LocalMemory::default(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        parameters: 0,
        params: BUFFER.to_le_bytes().into(),
        memory: Arc::new(Allocations::from_iter([Allocation {
            name: "buffer".to_owned(),
            range: BUFFER..BUFFER + BUFFER_BYTES,
            freed_after: None,
            rights: Rights::All,
        }])),
        span: None,
    })
}

/// A memory that does everything at once and in the order in which it is asked.
#[derive(Clone, Default)]
pub(super) struct Memory(BTreeMap<u64, Line>);

impl Memory {
    fn line(&mut self, address: u64) -> &mut Line {
        self.0.entry(line_of(address)).or_insert([0; LINE_BYTES as usize])
    }

    pub(super) fn set_word(&mut self, address: u64, word: u32) {
        let offset = (address - line_of(address)) as usize;
        self.line(address)[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    }

    pub(super) fn byte(&mut self, address: u64) -> u8 {
        self.line(address)[(address - line_of(address)) as usize]
    }

    pub(super) fn answer(&mut self, request: &MemRequest) -> MemReply {
        let line = self.line(request.line);
        let result = match &request.access {
            MemAccess::Read(mask) => MemResult::Line(*mask, *line),
            MemAccess::Write(mask, data) => {
                merge(line, *mask, data);
                MemResult::Written(sectors(*mask) as u8)
            }
            MemAccess::Atomic(lanes) => {
                MemResult::Old(counterpoint_hardware::memory::atomic::execute(line, lanes))
            }
        };
        MemReply { line: request.line, tag: request.tag, client: request.client, result }
    }
}

/// The word that a request stores at an address, if it does.
pub(super) fn stored(request: &MemRequest, address: u64) -> Option<u32> {
    let offset = address.checked_sub(request.line).filter(|&offset| offset < LINE_BYTES)? as usize;
    match &request.access {
        MemAccess::Write(mask, data) if mask >> offset & 0xf == 0xf => {
            data[offset..offset + 4].try_into().ok().map(u32::from_le_bytes)
        }
        _ => None,
    }
}
