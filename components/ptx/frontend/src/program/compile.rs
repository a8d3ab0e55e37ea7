//! From a text to one of its kernels.

use super::Kernel;
use super::decode::decode;
use crate::syntax::error::{Place, PtxError, distinct};
use crate::syntax::parser::parse;

impl Kernel {
    /// The decoded text of the kernel named `name`, or the only one if `name` is `None`.
    ///
    /// # Errors
    /// Those of the text, and those of this kernel alone: instructions that the simulator does not support.
    pub fn compile(source: &str, name: Option<&str>) -> Result<Kernel, Vec<PtxError>> {
        let module = parse(source)?;
        let mut kernels = decode(&module)?;
        let names: Vec<String> = kernels.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
        let wanted = match name {
            Some(name) => kernels.iter().position(|kernel| kernel.name == name),
            None if kernels.len() == 1 => Some(0),
            None => None,
        };
        match wanted {
            Some(index) if kernels[index].unsupported.is_empty() => Ok(kernels.swap_remove(index)),
            Some(index) => Err(distinct(kernels.swap_remove(index).unsupported)),
            None => Err(vec![
                PtxError::new(
                    Place { line: 1, column: 1 },
                    match name {
                        Some(name) => format!("no kernel is named `{name}`"),
                        None => "the kernel must be named, there is not exactly one".to_owned(),
                    },
                )
                .expecting(names.join(", ")),
            ]),
        }
    }
}
