//! Limits of a module that the assembler checks, whichever machine runs its kernels (CUDA C++ Programming Guide,
//! technical specifications; PTX ISA 9.7.9.5 and 9.7.13.9).

use std::collections::BTreeSet;

use super::driver;
use crate::program::Symbol;
use crate::syntax::ast::{Function, Module};
use crate::syntax::error::PtxError;
use crate::syntax::lexer::{Token, TokenKind};

/// Bytes of a module's variables in constant memory.
pub(super) const MOST_CONSTANT_BYTES: u64 = 64 << 10;

/// Largest size of a kernel's variables in shared memory, in bytes; more can only be requested at a launch.
const MOST_SHARED_BYTES: u64 = 48 << 10;

/// Whether a module's warps can only vote and shuffle with a mask of the lanes that take part.
pub(super) fn needs_masks(version: (u32, u32), architecture: u32) -> bool {
    version >= (6, 4) && architecture >= 70
}

/// The error for a kernel whose functions name more shared memory than a block may have. Other variables of the module do not count.
pub(super) fn shared_memory(
    module: &Module,
    functions: &[&Function],
    symbols: &[Symbol],
) -> Result<(), PtxError> {
    let bytes_of = |counts: &dyn Fn(&Symbol) -> bool| -> u64 {
        symbols.iter().filter(|symbol| counts(symbol)).map(|symbol| symbol.size).sum()
    };
    if bytes_of(&|_| true) <= MOST_SHARED_BYTES {
        return Ok(());
    }
    let named: BTreeSet<&str> = functions.iter().flat_map(|function| words(module, function)).collect();
    let is_own = |symbol: &Symbol| {
        let (name, function) = symbol.name.split_once(" of ").unwrap_or((&symbol.name, ""));
        let owner = functions.iter().find(|known| known.name == function);
        owner.is_some() && name != driver::RESERVED || named.contains(symbol.name.as_str())
    };
    let bytes = bytes_of(&is_own);
    if bytes <= MOST_SHARED_BYTES {
        return Ok(());
    }
    let kernel = functions[0];
    let message =
        format!("`{}` has {bytes} bytes in shared memory, and {MOST_SHARED_BYTES} is the most", kernel.name);
    let error = PtxError::unsupported(kernel.span.place, message);
    Err(error.expecting("`.extern .shared` and a size at the launch for more"))
}

/// The words of a function's text.
fn words<'m>(module: &'m Module, function: &Function) -> impl Iterator<Item = &'m str> {
    let before = |end: u32| module.tokens.partition_point(|token| token.start < end);
    let tokens = &module.tokens[before(function.span.start)..before(function.span.end)];
    let text = |token: &Token| module.source.get(token.start as usize..token.end as usize);
    tokens.iter().filter(|token| token.kind == TokenKind::Word).filter_map(text)
}
