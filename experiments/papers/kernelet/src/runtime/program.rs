//! The kernels of a queue: applications of one launch each, with the twin that runs slices of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use counterpoint::host::program::{Application, Argument, LaunchStep, Range, Step};
use counterpoint::kernel::Fault;
use counterpoint::ptx::slice::{self, Slice, sliced};
use counterpoint::ptx::{self, Kernel, PtxError};

/// A kernel of the queue.
pub(super) struct Program {
    pub(super) name: String,
    /// The launch of all its blocks.
    pub(super) whole: LaunchStep,
    /// The twin of the kernel, which runs slices.
    twin: Arc<Kernel>,
    /// Results that are copied back when the queue is empty.
    pub(super) copy_out: Vec<Range>,
}

impl Program {
    pub(super) fn blocks(&self) -> u64 {
        self.whole.ctas()
    }

    /// The launch of a slice; of all its blocks it is the kernel's own.
    pub(super) fn launch(&self, slice: Slice) -> LaunchStep {
        if u64::from(slice.blocks) == self.blocks() {
            return self.whole.clone();
        }
        let numbers = slice.arguments(self.whole.grid).map(|it| Argument::Value(it.to_le_bytes().into()));
        let mut launch = self.whole.clone();
        launch.rewrite(Arc::clone(&self.twin));
        launch.grid = slice.grid();
        launch.arguments.extend(numbers);
        launch
    }
}

/// The applications that a queue takes its kernels from, each with its step and its results.
fn members(application: &Application) -> Vec<(&str, Option<&Step>, &[Range])> {
    match only_step(&application.steps) {
        Some(Step::CoRun { members, rounds }) => {
            let pairs = members.iter().zip(rounds);
            let only = |round| only_step(std::slice::from_ref(round));
            pairs.map(|(member, round)| (&*member.name, only(round), &*member.copy_out)).collect()
        }
        // Nothing runs where only memory is allocated.
        None if application.steps.is_empty() => Vec::new(),
        step => vec![(&*application.name, step, &[])],
    }
}

/// The one step of some that do nothing else, whatever it is wrapped in.
fn only_step(steps: &[Step]) -> Option<&Step> {
    match steps {
        [Step::Repeat(1, steps)] => only_step(steps),
        [step] => Some(step),
        _ => None,
    }
}

/// An application's name, its launch and its results.
type Launched<'a> = (&'a str, &'a LaunchStep, &'a [Range]);

/// The launch of each application, with its name and its results.
///
/// # Errors
/// If one does something else.
fn launches(application: &Application) -> Result<Vec<Launched<'_>>, Fault> {
    let not_one = |name: &str| {
        let is_other =
            |step: &&Step| !matches!(step, Step::Launch(_) | Step::Repeat(..) | Step::CoRun { .. });
        let other = application.steps.iter().find(is_other).map(|step| format!(", `{}`", step.key()));
        Fault::new(format!(
            "a queue of kernels takes applications of one launch each and no other step on the device; `{name}` has something else{}",
            other.unwrap_or_default()
        ))
    };
    let members = members(application).into_iter();
    members
        .map(|(name, step, results)| match step {
            Some(Step::Launch(launch)) => Ok((name, launch, results)),
            _ => Err(not_one(name)),
        })
        .collect()
}

/// The application with kernels that run slices.
pub(super) fn with_slices(application: &Application) -> Result<Application, Fault> {
    let mut twins: BTreeMap<(Arc<str>, &str), Arc<Kernel>> = BTreeMap::new();
    for (_, launch, _) in launches(application)? {
        if let Entry::Vacant(twin) = twins.entry((Arc::clone(&launch.code), launch.kernel.name())) {
            twin.insert(Arc::new(twin_of(launch)?));
        }
    }
    let mut changed = application.clone();
    for module in &mut changed.modules {
        let of = |kernel: &Arc<Kernel>| twins.get(&(Arc::clone(&module.name), kernel.name())).cloned();
        let new: Vec<Arc<Kernel>> = module.kernels.iter().filter_map(of).collect();
        module.kernels.extend(new);
    }
    Ok(changed)
}

fn twin_of(launch: &LaunchStep) -> Result<Kernel, Fault> {
    let (name, origin) = (launch.kernel.name(), launch.kernel.origin());
    let wrong = |error: &PtxError| Fault::new(format!("{origin}: {error}"));
    let first = |errors: Vec<PtxError>| errors.first().map_or_else(|| Fault::new(name), wrong);
    let module = ptx::parse(launch.kernel.source()).map_err(first)?;
    let options = slice::Options {
        dimensions: slice::Dimensions::of(launch.grid),
        kernel: Some(name.to_owned()),
        ..slice::Options::default()
    };
    let sliced = slice::slice(&module, &options).map_err(|error| wrong(&error))?;
    if let Some(refused) =
        sliced.kernels.iter().find_map(|it| it.refused.as_ref().filter(|_| it.name == name))
    {
        let slice::Refusal { line, instruction, reason, .. } = refused;
        return Err(Fault::new(format!(
            "{origin}:{line}: {name} cannot be sliced: `{instruction}`: {reason}"
        )));
    }
    let kernel = Kernel::compile(&sliced.text, Some(&slice::sliced(name))).map_err(first)?;
    Ok(kernel.from_file(&format!("{origin} with slices")))
}

/// The kernels of an application [with slices](with_slices).
pub(super) fn programs(application: &Application) -> Result<Vec<Program>, Fault> {
    let program = |(name, launch, results): Launched<'_>| {
        let wanted = sliced(launch.kernel.name());
        let of_module = application.modules.iter().filter(|module| module.name == launch.code);
        let twin = of_module.flat_map(|module| &module.kernels).find(|kernel| kernel.name() == wanted);
        let twin = twin.ok_or_else(|| Fault::new(format!("`{name}` has no kernel that runs slices")))?;
        Ok(Program {
            name: name.to_owned(),
            whole: launch.clone(),
            twin: Arc::clone(twin),
            copy_out: results.to_vec(),
        })
    };
    launches(application)?.into_iter().map(program).collect()
}
