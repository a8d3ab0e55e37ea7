//! The device library: functions that a module may call without a definition, because CUDA's libraries define them: `malloc`, `free`,
//! `vprintf`, launches by kernels, the barrier of a grid, and the values of a graph's conditions.
//!
//! The functions are PTX of ours, which is appended to the text of a module that declares one and does not define it. So they execute as
//! the module's own functions do: their time, their traffic and the reconvergence of threads in them follow from their instructions. They
//! keep their state in memory that the driver gives a device: a heap, and a ring of printed records. A pointer to each is a variable of the
//! module, which its loader fills. Launches are in a variable of the module itself ([`super::launches`]).

use super::{Kernel, Symbol, VariableBases};
use crate::syntax::ast::{Function, Module, Variable};
use crate::syntax::error::PtxError;
use crate::syntax::parser::parse;
use crate::syntax::types::extent;

/// The function that the library calls for a pointer that is no block of the heap.
pub const BAD_FREE: &str = "$bad_free";

const HEAP: &str = "$device_heap";
const PRINTF: &str = "$printf_buffer";

struct LibraryPart {
    text: &'static str,
    functions: &'static [Member],
}

/// A function that a module may call: the bytes of its parameters and results, and its declaration.
struct Member {
    name: &'static str,
    params: &'static [u64],
    results: &'static [u64],
    declaration: &'static str,
}

const fn member(
    name: &'static str,
    params: &'static [u64],
    results: &'static [u64],
    declaration: &'static str,
) -> Member {
    Member { name, params, results, declaration }
}

static PARTS: [LibraryPart; 5] = [
    LibraryPart {
        text: include_str!("library/heap.ptx"),
        functions: &[
            member("malloc", &[8], &[8], ".extern .func (.param .b64 block) malloc(.param .b64 bytes);"),
            member("free", &[8], &[], ".extern .func free(.param .b64 block);"),
            member(
                "__cudaCDP2Malloc",
                &[8, 8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2Malloc(.param .b64 place, .param .b64 bytes);",
            ),
            member(
                "__cudaCDP2Free",
                &[8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2Free(.param .b64 block);",
            ),
        ],
    },
    LibraryPart {
        text: include_str!("library/printf.ptx"),
        functions: &[member(
            "vprintf",
            &[8, 8],
            &[4],
            ".extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments);",
        )],
    },
    LibraryPart {
        text: include_str!("library/launches.ptx"),
        functions: &[
            member(
                "__cudaCDP2GetParameterBufferV2",
                &[8, 12, 12, 4],
                &[8],
                ".extern .func (.param .b64 buffer) __cudaCDP2GetParameterBufferV2(.param .b64 kernel, .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared);",
            ),
            member(
                "__cudaCDP2LaunchDeviceV2",
                &[8, 8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2LaunchDeviceV2(.param .b64 buffer, .param .b64 stream);",
            ),
            member(
                "__cudaCDP2MemcpyAsync",
                &[8, 8, 8, 4, 8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2MemcpyAsync(.param .b64 to, .param .b64 from, .param .b64 bytes, .param .b32 kind, .param .b64 stream);",
            ),
            member(
                "__cudaCDP2MemsetAsync",
                &[8, 4, 8, 8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2MemsetAsync(.param .b64 place, .param .b32 value, .param .b64 bytes, .param .b64 stream);",
            ),
            member(
                "__cudaCDP2StreamCreateWithFlags",
                &[8, 4],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2StreamCreateWithFlags(.param .b64 place, .param .b32 flags);",
            ),
            member(
                "__cudaCDP2StreamDestroy",
                &[8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2StreamDestroy(.param .b64 stream);",
            ),
            member(
                "__cudaCDP2StreamWaitEvent",
                &[8, 8, 4],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2StreamWaitEvent(.param .b64 stream, .param .b64 event, .param .b32 flags);",
            ),
            member(
                "__cudaCDP2EventCreateWithFlags",
                &[8, 4],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2EventCreateWithFlags(.param .b64 place, .param .b32 flags);",
            ),
            member(
                "__cudaCDP2EventDestroy",
                &[8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2EventDestroy(.param .b64 event);",
            ),
            member(
                "__cudaCDP2EventRecord",
                &[8, 8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2EventRecord(.param .b64 event, .param .b64 stream);",
            ),
            member(
                "__cudaCDP2EventRecordWithFlags",
                &[8, 8, 4],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2EventRecordWithFlags(.param .b64 event, .param .b64 stream, .param .b32 flags);",
            ),
            member(
                "__cudaCDP2GetLastError",
                &[],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2GetLastError();",
            ),
            member(
                "__cudaCDP2PeekAtLastError",
                &[],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2PeekAtLastError();",
            ),
            member(
                "__cudaCDP2GetErrorString",
                &[4],
                &[8],
                ".extern .func (.param .b64 text) __cudaCDP2GetErrorString(.param .b32 error);",
            ),
            member(
                "__cudaCDP2GetDevice",
                &[8],
                &[4],
                ".extern .func (.param .b32 error) __cudaCDP2GetDevice(.param .b64 place);",
            ),
        ],
    },
    LibraryPart {
        text: include_str!("library/cooperative.ptx"),
        functions: &[
            member(
                "cudaCGGetIntrinsicHandle",
                &[4],
                &[8],
                ".extern .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope);",
            ),
            member(
                "cudaCGSynchronize",
                &[8, 4],
                &[4],
                ".extern .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);",
            ),
        ],
    },
    LibraryPart {
        text: include_str!("library/conditional.ptx"),
        functions: &[member(
            "cudaGraphSetConditional",
            &[8, 4],
            &[],
            ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);",
        )],
    },
];

/// The module with the parts of the library that it needs; `None` if it needs none.
pub(super) fn linked(module: &Module) -> Result<Option<Module>, Vec<PtxError>> {
    let (mut text, mut errors) = (String::new(), Vec::new());
    for LibraryPart { text: part, functions } in &PARTS {
        let of = |member: &'static Member| module.functions.iter().filter(move |one| one.name == member.name);
        if functions.iter().flat_map(of).any(|function| function.body.is_some()) {
            continue;
        }
        for (member, function) in functions.iter().flat_map(|one| of(one).map(move |found| (one, found))) {
            if !member.is_like(function) {
                let message = format!("`{}` is declared with other parameters than it has", member.name);
                errors.push(PtxError::new(function.span.place, message).expecting(member.declaration));
            }
        }
        if functions.iter().flat_map(of).next().is_some() {
            text.push_str(part);
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if text.is_empty() { Ok(None) } else { parse(&format!("{}{text}", module.source)).map(Some) }
}

impl Member {
    fn is_like(&self, function: &Function) -> bool {
        let fits = |variables: &[Variable], bytes: &[u64]| {
            let sizes = variables.iter().map(|variable| extent(variable).map_or(0, |(size, _)| size));
            sizes.eq(bytes.iter().copied())
        };
        fits(&function.params, self.params) && fits(&function.results, self.results)
    }
}

/// Names of the functions of the library, for messages.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PARTS.iter().flat_map(|part| part.functions).map(|member| member.name)
}

/// The memory of a device that the library's heap has.
pub struct Heap;

impl Heap {
    /// Default size of the heap in bytes: that of CUDA's `cudaLimitMallocHeapSize`.
    pub const DEFAULT_BYTES: u64 = 8 << 20;
    /// The largest that the library can number.
    pub const MOST_BYTES: u64 = 16 << 32;
    /// Bytes that hold the heap's own state, at its beginning.
    pub const HEADER_BYTES: u64 = 2048;

    /// The first bytes of a heap of a size: its state when no block has been given.
    pub fn header(bytes: u64) -> Vec<u8> {
        let mut header = [bytes.to_le_bytes(), Heap::HEADER_BYTES.to_le_bytes()].concat();
        header.resize(Heap::HEADER_BYTES as usize, 0);
        header
    }
}

impl Kernel {
    /// Whether it can reach a function of this name, such as one of the library.
    pub fn calls(&self, function: &str) -> bool {
        self.functions.iter().any(|callable| callable.name == function)
    }

    /// Whether the module has a function that prints.
    pub fn prints(&self) -> bool {
        self.global_symbols.iter().any(|symbol| symbol.name == PRINTF)
    }

    /// Addresses of the module's variables that point to the library's memory, and where that is.
    pub fn library_pointers(&self, bases: VariableBases) -> impl Iterator<Item = (u64, u64)> {
        pointers(&self.global_symbols, bases).map(move |(offset, address)| (bases.globals + offset, address))
    }

    /// Whether the module has functions that allocate from the device's heap.
    pub fn allocates(&self) -> bool {
        self.global_symbols.iter().any(|symbol| symbol.name == HEAP)
    }
}

/// Puts the addresses of the library's memory into the module's variables.
pub(super) fn point(symbols: &[Symbol], bytes: &mut [u8], bases: VariableBases) {
    for (offset, address) in pointers(symbols, bases) {
        bytes[offset as usize..][..8].copy_from_slice(&address.to_le_bytes());
    }
}

/// Offsets of the variables that point to the library's memory, and where that is.
fn pointers(symbols: &[Symbol], bases: VariableBases) -> impl Iterator<Item = (u64, u64)> {
    let all = [(HEAP, bases.heap), (PRINTF, bases.printf)];
    all.into_iter().flat_map(move |(name, address)| {
        symbols.iter().filter(move |symbol| symbol.name == name).map(move |symbol| (symbol.offset, address))
    })
}
