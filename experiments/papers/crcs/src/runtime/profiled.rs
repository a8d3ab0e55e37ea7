//! An application whose regular kernels have profilers.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint::host::program::{Application, Argument, LaunchStep, Step};
use counterpoint::kernel::Fault;
use counterpoint::ptx::instrument::{self, Options, pre_profiler};
use counterpoint::ptx::{self, Kernel, PtxError};

use super::overlapped::{Semi, key};

/// Pre-profilers by kernel.
pub(super) type Profilers = BTreeMap<String, Arc<Kernel>>;

#[derive(Default)]
struct Rewritten {
    /// Profiled form of each kernel.
    kernels: BTreeMap<String, Arc<Kernel>>,
    profilers: Profilers,
}

/// The application with profilers: regular kernels end with their post-profiler, and the modules hold pre-profilers as well.
pub(super) fn with_profilers(application: &Application, semi: Semi) -> Result<Application, Fault> {
    let mut rewritten = Rewritten::default();
    let mut changed = application.clone();
    for launch in Step::launches(&application.steps) {
        rewritten.add(launch, semi)?;
    }
    replace(&mut changed.steps, &rewritten);
    for module in &mut changed.modules {
        let name = Arc::clone(&module.name);
        let full = |kernel: &Arc<Kernel>| format!("{name}.{}", kernel.name());
        let profilers: Vec<Arc<Kernel>> = module
            .kernels
            .iter()
            .filter_map(|kernel| rewritten.profilers.get(&full(kernel)).cloned())
            .collect();
        for kernel in &mut module.kernels {
            if let Some(new) = rewritten.kernels.get(&full(kernel)) {
                *kernel = Arc::clone(new);
            }
        }
        module.kernels.extend(profilers);
    }
    Ok(changed)
}

pub(super) fn profilers_of(application: &Application) -> Profilers {
    let mut found = Profilers::new();
    for launch in Step::launches(&application.steps) {
        let wanted = pre_profiler(launch.kernel.name());
        let of_module = application.modules.iter().filter(|module| module.name == launch.code);
        let mut kernels = of_module.flat_map(|module| &module.kernels);
        if let Some(profiler) = kernels.find(|kernel| kernel.name() == wanted) {
            found.insert(key(launch), Arc::clone(profiler));
        }
    }
    found
}

impl Rewritten {
    /// Puts the rewritten kernel into a launch.
    fn replace(&self, launch: &mut LaunchStep) {
        if let Some(kernel) = self.kernels.get(&key(launch)) {
            launch.rewrite(Arc::clone(kernel));
        }
    }

    fn add(&mut self, launch: &LaunchStep, semi: Semi) -> Result<(), Fault> {
        let (name, key) = (launch.kernel.name(), key(launch));
        if self.kernels.contains_key(&key) {
            return Ok(());
        }
        let wrong = |error: &PtxError| Fault::new(format!("{}: {error}", launch.kernel.origin()));
        let first = |errors: Vec<PtxError>| errors.first().map_or_else(|| Fault::new(key.clone()), wrong);
        let module = ptx::parse(launch.kernel.source()).map_err(first)?;
        let semi = match semi {
            Semi::Irregular => instrument::Semi::Irregular,
            Semi::Enumerate => instrument::Semi::Enumerate,
        };
        let profiled = instrument::instrument(&module, &Options { semi, kernel: None })
            .map_err(|error| wrong(&error))?;
        let Some(pre) = profiled.kernels.iter().find(|it| it.name == name).and_then(|it| it.pre.clone())
        else {
            return Ok(());
        };
        let compile = |entry: &str| {
            let kernel = Kernel::compile(&profiled.text, Some(entry)).map_err(first)?;
            Ok::<_, Fault>(Arc::new(kernel.from_file(&format!("{} with profilers", launch.kernel.origin()))))
        };
        self.profilers.insert(key.clone(), compile(&pre)?);
        self.kernels.insert(key.clone(), compile(name)?);
        Ok(())
    }
}

/// Puts rewritten kernels into the launches of some steps.
fn replace(steps: &mut [Step], rewritten: &Rewritten) {
    for step in steps {
        match step {
            Step::Launch(launch) => rewritten.replace(launch),
            Step::Tasks(tasks) => {
                Arc::make_mut(tasks).iter_mut().for_each(|task| rewritten.replace(&mut task.launch))
            }
            Step::Repeat(_, inner)
            | Step::Loop { steps: inner, .. }
            | Step::Pipeline { launches: inner, .. }
            | Step::CoRun { rounds: inner, .. } => replace(inner, rewritten),
            _ => {}
        }
    }
}

/// The launch of a kernel's pre-profiler: the same grid, a thread for each block, and the block's dimensions behind the
/// kernel's own arguments.
pub(super) fn profiler_of(step: &LaunchStep, kernel: Arc<Kernel>) -> LaunchStep {
    let dimensions = step.block.map(|size| Argument::Value(size.to_le_bytes().into()));
    LaunchStep {
        registers: kernel.registers_per_thread(),
        kernel,
        block: [1, 1, 1],
        shared: 0,
        arguments: step.arguments.iter().cloned().chain(dimensions).collect(),
        ..step.clone()
    }
}
