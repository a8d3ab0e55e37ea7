//! Kernels that stay on the GPU and call tasks, and their way into an application's module.
//!
//! They are CUDA C of this crate (`cuda/`), each a module that was compiled apart. A runtime links it with the module of the tasks, whose
//! table of functions is all that it knows of it. So an application has its tasks alone, and a further runtime changes no application.

use std::sync::Arc;

use crate::task_entry::FUNCTIONS;
use counterpoint::component::Choice;
use counterpoint::host::program::Task;
use counterpoint::kernel::Fault;
use counterpoint::ptx::{Kernel, Module, PtxError, link, loads_past_l1, parse};

/// Where loads of global memory look that do not say it themselves.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loads {
    /// In the L2, as `ptxas -dlcm=cg` has it.
    L2,
    /// Where those of any other kernel look.
    AsWritten,
}

/// The module of a runtime's kernels: PTX for architectures from each number on, the least first. Votes of warps need other
/// instructions from sm_70 on.
pub struct Resident([(u32, &'static str); 2]);

macro_rules! resident {
    ($folder:literal) => {
        Resident([
            (0, include_str!(concat!("../../cuda/", $folder, "/kernel.nvrtc-sm_35.ptx"))),
            (70, include_str!(concat!("../../cuda/", $folder, "/kernel.nvrtc-sm_70.ptx"))),
        ])
    };
}

/// The MasterKernels of Pagoda.
pub const PAGODA: Resident = resident!("pagoda");
/// The SuperKernel of GeMTC.
pub const GEMTC: Resident = resident!("gemtc");
/// The kernel whose blocks are tasks.
pub const FUSION: Resident = resident!("fusion");

impl Resident {
    /// The text of a module of tasks that is linked with these kernels.
    ///
    /// # Errors
    /// Those of the text, and names that both define.
    pub fn linked(&self, tasks: &str) -> Result<String, Vec<PtxError>> {
        let target = parse(tasks)?.target;
        let digits: String = target.chars().filter(char::is_ascii_digit).collect();
        let architecture = digits.parse().unwrap_or(0);
        let newest = self.0.iter().rev().find(|&&(from, _)| from <= architecture);
        let Some((_, own)) = newest else { return Ok(tasks.to_owned()) };
        link(&[tasks, own]).map_err(|(_, errors)| errors)
    }

    /// A kernel of these in the module that tasks are from, with its loads and those of the tasks where they are to look.
    ///
    /// # Errors
    /// If the module has no table of task functions, or is not to be linked.
    pub(super) fn with(&self, tasks: &[&Task], name: &str, loads: Loads) -> Result<Arc<Kernel>, Fault> {
        let Some(kernel) = tasks.first().map(|task| &task.launch.kernel) else {
            return Err(Fault::new(format!("there is no task for `{name}`")));
        };
        let wrong = |errors: Vec<PtxError>| {
            let told = errors.first().map_or_else(String::new, |error| format!(": {error}"));
            Fault::new(format!("`{name}` does not run the tasks of {}{told}", kernel.origin()))
        };
        let text = self.linked(kernel.source()).map_err(wrong)?;
        let module = parse(&text).map_err(wrong)?;
        if !has_table(&module) {
            return Err(Fault::new(format!(
                "{} has no `{FUNCTIONS}`, the table through which `{name}` calls tasks",
                kernel.origin()
            )));
        }
        let text = match loads {
            Loads::L2 => loads_past_l1(&module),
            Loads::AsWritten => text,
        };
        let compiled = Kernel::compile(&text, Some(name)).map_err(wrong)?;
        Ok(Arc::new(compiled.from_file(kernel.origin())))
    }
}

/// Whether a module defines the table of task functions.
fn has_table(module: &Module) -> bool {
    module.variables.iter().any(|variable| variable.name == FUNCTIONS && !variable.external)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASKS: &str = ".version 6.0
.target sm_TARGET
.address_size 64
.visible .func none_task(.param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d, .param .b64 e, .param .b64 f) { ret; }
.visible .global .align 8 .u64 task_functions[1] = {none_task};
";

    #[test]
    fn kernels_are_of_the_newest_architecture_that_is_not_newer_than_the_tasks() {
        for (target, votes) in
            [("20", "vote.ballot"), ("61", "vote.ballot"), ("70", "vote.sync.ballot"), ("90", "vote.sync")]
        {
            let linked = PAGODA.linked(&TASKS.replace("TARGET", target)).unwrap();
            assert!(linked.contains(votes), "sm_{target}");
            let kernel = Kernel::compile(&linked, Some("master_kernel")).unwrap();
            assert_eq!(kernel.functions_in(FUNCTIONS), Some(vec![Some("none_task")]));
        }
    }
}
