//! From a text to one of its kernels.

use std::borrow::Borrow;

use super::Kernel;
use super::decode::decode;
use crate::syntax::error::{PtxError, SourcePosition, distinct};
use crate::syntax::parser::parse;

impl Kernel {
    /// The decoded text of the kernel named `name`, or the only one if `name` is `None`.
    ///
    /// # Errors
    /// Those of the text, and those of this kernel alone: instructions that the simulator does not support.
    pub fn compile(source: &str, name: Option<&str>) -> Result<Kernel, Vec<PtxError>> {
        let mut kernels = decode(&parse(source)?)?;
        let index = Kernel::choose(&kernels, name)?;
        Ok(kernels.swap_remove(index))
    }

    /// The place among a module's kernels of the one named `name`, or of the only one if `name` is `None`.
    ///
    /// # Errors
    /// Those of this kernel alone, or that there is none of the name.
    pub fn choose<K: Borrow<Kernel>>(kernels: &[K], name: Option<&str>) -> Result<usize, Vec<PtxError>> {
        let wanted = match name {
            Some(name) => kernels.iter().position(|kernel| kernel.borrow().name == name),
            None if kernels.len() == 1 => Some(0),
            None => None,
        };
        let names = kernels.iter().map(|kernel| format!("`{}`", kernel.borrow().name));
        match wanted.map(|index| (index, &kernels[index].borrow().unsupported)) {
            Some((index, unsupported)) if unsupported.is_empty() => Ok(index),
            Some((_, unsupported)) => Err(distinct(unsupported.clone())),
            None => Err(vec![
                PtxError::new(
                    SourcePosition { line: 1, column: 1 },
                    match name {
                        Some(name) => format!("no kernel is named `{name}`"),
                        None => "the kernel must be named, there is not exactly one".to_owned(),
                    },
                )
                .expecting(names.collect::<Vec<String>>().join(", ")),
            ]),
        }
    }
}
