//! Launches of kernels of our own, which are a module of the program like any other.

use crate::errors::{Error, Result};
use crate::fatbin::{Contents, Ptx};
use crate::graphs::{KernelCall, Operation};
use crate::libraries::{Kernels, Parameters};
use crate::state::State;

/// Generation of the PTX.
const GENERATION: u32 = 35;

impl State {
    /// Launches a kernel of a library in a stream, now or when the graph is launched that watches the stream.
    pub(crate) fn launch_of_library(
        &mut self,
        kernels: &Kernels,
        name: &str,
        (grid, block): ([u32; 3], u32),
        parameters: Parameters,
        stream: u32,
    ) -> Result {
        let binary = match self.libraries.modules.get(kernels.0) {
            Some(&binary) => binary,
            None => {
                let ptx = vec![Ptx { generation: GENERATION, text: kernels.ptx()? }];
                let binary = self.modules.register_own(Contents { ptx, machine_code: Vec::new() });
                self.libraries.modules.insert(kernels.0, binary);
                binary
            }
        };
        self.load(binary)?;
        let stub = self.modules.handle(binary, name).ok_or(Error::NOT_FOUND)? as usize;
        let Parameters(parameters) = parameters;
        let call = KernelCall { stub, grid, block: [block, 1, 1], shared: 0, cooperative: false, parameters };
        self.submit(Operation::Kernel(call), stream)
    }
}
