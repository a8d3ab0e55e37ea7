//! Prelude, copies, kernels and postlude at the same time, as far as the data allow (CRCS, PACT 2016, section 3.1).
//!
//! In the paper's order: copies to the host and to the device are prepared, which clears the valid bits of their pages on one
//! side and the ready bits on the other; kernels are launched; a thread for the postlude is started, and then the prelude. Each
//! page goes to the device when its last word is written, a kernel runs when its pages are ready and its own, and a page goes
//! to the host when no kernel will touch it again, where the postlude waits for it. Regular kernels are rewritten: a pre-profiler
//! is launched before each, and a post-profiler runs at the end of each block.
//!
//! Streams and events have no effect here: kernels keep the order of the application's steps. A copy among the steps, and a loop whose
//! condition reads device memory, wait for all kernels before them.
//!
//! The paper's programs copy whole arrays before and behind their kernels. An application that also fills, copies or transfers parts,
//! or in which the host does something between kernels, runs without overlap, one thing after another: pages of an array that
//! is written elsewhere have no last word and no last kernel.
//!
//! A recorded program also computes on the host, before its kernels and after them. Arrays that the host computes are prepared page by
//! page, like arrays that it reads. If the prelude has other work, which may need data read before it, the steps of the prelude keep their
//! order; the steps of the postlude keep theirs, and work in the postlude waits for all results. Constants are copied first: they have no
//! pages (section 4.1).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use counterpoint::component::{Choice, Params, Variant};
use counterpoint::host::program::{
    Application, BufferId, Condition, Cursor, DEFAULT_STREAM, Elementary, HostStep, LaunchStep, Next, Range,
    Step, Transfer,
};
use counterpoint::host::{self, Driver, Move, Piece, Runtime, Sends, Thread, Walks, async_trait, phases};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::{Description, Direction};
use counterpoint::messages::extra::{Extra, LineTag, Note};
use counterpoint::messages::launch::Precedence;
use counterpoint::telemetry::{Level, SpanId};
use counterpoint::time::{Bytes, SimTime};

use super::profiled::{Profilers, profiler_of, profilers_of, with_profilers};
use crate::messages::{Irregular, Progress};

/// In which order the prelude fills the arrays.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// A page of each in turn: best for arrays of similar size that are used together (section 3.2).
    Interleaved,
    /// One array after another, each from its beginning to its end.
    Sequential,
    /// Small arrays one after another, then a page of each of the others in turn: for tables that every block needs.
    SmallFirst,
    /// One array after another, the pages of each in random order (section 5.3).
    Random,
    /// A page of each in turn, the pages of each in random order.
    RandomInTurn,
}

/// Treatment of kernels whose addresses are independent of data but no polynomials of thread and block.
#[derive(Choice, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Semi {
    /// They count as irregular.
    Irregular,
    /// Their profilers try every value.
    Enumerate,
}

/// Parameters of overlapped execution.
#[derive(Clone, Debug, Params)]
pub(super) struct OverlappedParams {
    /// In which order the prelude fills the arrays.
    #[param(default = "interleaved")]
    order: Order,
    /// Arrays up to this size are small, for `order: small-first`.
    #[param(default = "64 KiB")]
    small: Bytes,
    /// Treatment of kernels whose addresses are independent of data but no polynomials of thread and block.
    #[param(default = "irregular")]
    semi: Semi,
}

/// The runtime `overlapped`.
pub(super) struct Overlapped {
    params: OverlappedParams,
}

impl Variant<dyn Runtime> for Overlapped {
    const NAME: &'static str = "overlapped";
    const DOC: &'static str = "Prelude, copies, kernels and postlude at the same time, page by page; kernels wait for their \
                               pages (CRCS).";
    type Params = OverlappedParams;

    fn build(params: &OverlappedParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Overlapped { params: params.clone() }))
    }
}

#[async_trait(?Send)]
impl Runtime for Overlapped {
    fn prepare(
        &self,
        application: &Arc<Application>,
        _devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        if !is_plain(application) {
            return Ok(Arc::clone(application));
        }
        check(application)?;
        with_profilers(application, self.params.semi).map(Arc::new)
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let application = driver.application();
        if !is_plain(&application) {
            return one_after_another(driver, run).await;
        }
        let profilers = profilers_of(&application);
        constants(driver, &application, run).await?;
        let setup = driver.begin(Some(run), Level::Phases, "overlap");
        for buffer in final_meaning(&application, &application.copy_out)? {
            driver.overlap(Direction::DeviceToHost, buffer).await?;
        }
        for &buffer in application.copy_in.iter().filter(|buffer| !is_constant(&application, **buffer)) {
            driver.overlap(Direction::HostToDevice, buffer).await?;
        }
        driver.end(setup);

        let kernels = driver.begin(Some(run), Level::Phases, "kernels");
        let outputs = self.postlude(driver, &application)?;
        let postlude = driver.begin(Some(run), Level::Phases, "postlude");
        let inputs = self.prelude(driver, &application);
        let prelude = driver.begin(Some(run), Level::Phases, "prelude");
        driver.start(Thread::new(outputs, postlude, None));
        driver.start(Thread::new(inputs, prelude, Some(Note::new(Progress::PreludeEnded))));
        let mut sender = Sender { profilers, parent: kernels };
        sender.walk(driver, &application.steps).await?;
        driver.note(&Note::new(Progress::EndOfLaunches), true).await;
        driver.drain().await?;
        driver.end(kernels);
        driver.join().await
    }
}

impl Overlapped {
    /// Work of the prelude: if the prelude only makes arrays, their pages in the requested order.
    fn prelude(&self, driver: &Driver<'_>, application: &Application) -> Vec<Piece> {
        let is_array =
            |step: &HostStep| step.transfer().is_some_and(|it| application.copy_in.contains(&it.part.buffer));
        let steps = || application.prelude.iter().filter(|step| !makes_constant(application, step));
        if !steps().all(is_array) {
            return steps().flat_map(|step| pieces(driver, step, Piece::Busy)).collect();
        }
        self.pages(driver, application).into_iter().map(Piece::Fill).collect()
    }

    /// The pages of the inputs in the order in which they are made.
    fn pages(&self, driver: &Driver<'_>, application: &Application) -> Vec<Move> {
        let arrays = || application.reads().filter(|it| !is_constant(application, it.part.buffer));
        let pages = |transfer: &Transfer| driver.pages_of(*transfer).collect::<Vec<Move>>();
        let all: Vec<Vec<Move>> = arrays().map(pages).collect();
        let bytes = |transfer: &Transfer| transfer.part.bytes;
        match self.params.order {
            Order::Interleaved => in_turn(&all),
            Order::Sequential => all.concat(),
            Order::SmallFirst => {
                let is_small: Vec<bool> = arrays().map(|it| bytes(it) <= self.params.small.get()).collect();
                let (mut small, mut large) = (Vec::new(), Vec::new());
                for (array, is_small) in all.into_iter().zip(is_small) {
                    if is_small { &mut small } else { &mut large }.push(array);
                }
                small.into_iter().flatten().chain(in_turn(&large)).collect()
            }
            Order::Random => shuffled(all, driver).concat(),
            Order::RandomInTurn => in_turn(&shuffled(all, driver)),
        }
    }

    /// The work of the postlude, in its order.
    fn postlude(&self, driver: &Driver<'_>, application: &Application) -> Result<Vec<Piece>, Fault> {
        let mut work = Vec::new();
        let mut makes = false;
        for step in &application.postlude {
            // A file may take what the step before has made.
            if makes && matches!(step, HostStep::Write(_)) {
                work.push(Piece::Busy(SimTime::ZERO));
            }
            makes = matches!(step, HostStep::Read(_));
            let step = match *step {
                HostStep::Write(transfer) => {
                    let buffer = final_meaning(application, &[transfer.part.buffer])?[0];
                    HostStep::Write(Transfer { part: Range { buffer, ..transfer.part }, ..transfer })
                }
                step => step,
            };
            work.extend(pieces(driver, &step, Piece::BusyWithResults));
        }
        Ok(work)
    }
}

/// Pieces of a step. A step that may need results of earlier steps begins with a piece of zero length, which waits for those steps.
fn pieces(driver: &Driver<'_>, step: &HostStep, busy: fn(SimTime) -> Piece) -> Vec<Piece> {
    let waits = std::iter::once(Piece::Busy(SimTime::ZERO));
    match *step {
        HostStep::Read(transfer) => waits.chain(driver.pages_of(transfer).map(Piece::Fill)).collect(),
        HostStep::Write(transfer) => driver.pages_of(transfer).map(Piece::Drain).collect(),
        HostStep::Busy(time) => vec![busy(time)],
    }
}

/// Whether a buffer stands for a constant of a module.
fn is_constant(application: &Application, BufferId(buffer): BufferId) -> bool {
    application.variable_of(buffer as usize).is_some_and(|(variable, _)| variable.constant)
}

/// True for a step whose bytes are then copied to a constant.
fn makes_constant(application: &Application, step: &HostStep) -> bool {
    step.transfer().is_some_and(|transfer| is_constant(application, transfer.part.buffer))
}

/// Makes and copies the constants.
async fn constants(driver: &mut Driver<'_>, application: &Application, run: SpanId) -> Result<(), Fault> {
    for step in application.prelude.iter().filter(|step| makes_constant(application, step)) {
        driver.host(step, Some(run)).await?;
    }
    for &buffer in application.copy_in.iter().filter(|buffer| is_constant(application, **buffer)) {
        let whole = application.whole(buffer);
        let copy = driver.copy_part(Direction::HostToDevice, whole, DEFAULT_STREAM, Some(run)).await?;
        driver.wait(copy).await?;
    }
    Ok(())
}

/// A page of each array in turn, as long as there are any.
fn in_turn(arrays: &[Vec<Move>]) -> Vec<Move> {
    let longest = arrays.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest).flat_map(|page| arrays.iter().filter_map(move |array| array.get(page).copied())).collect()
}

/// The pages of each array in random order (Fisher and Yates).
fn shuffled(mut arrays: Vec<Vec<Move>>, driver: &Driver<'_>) -> Vec<Vec<Move>> {
    for array in &mut arrays {
        for last in (1..array.len()).rev() {
            let other = driver.random() % (last as u64 + 1);
            array.swap(last, other as usize);
        }
    }
    arrays
}

/// The meaning of names when all steps have been done; their buffers are named by the meaning before.
fn final_meaning(application: &Application, names: &[BufferId]) -> Result<Vec<BufferId>, Fault> {
    let mut meaning: Vec<BufferId> = (0..application.buffers.len() as u32).map(BufferId).collect();
    let swaps = |step: &Step| matches!(step, Step::Swap(..));
    let is_open = |step: &Step| matches!(step, Step::Loop { .. }) && step.any(&swaps);
    if application.steps.iter().any(|step| step.any(&is_open)) {
        return Err(Fault::new(
            "`overlapped` prepares copies before kernels run, and cannot tell which buffer a name means behind a loop that \
             swaps and whose rounds nobody knows",
        ));
    }
    let mut cursor = Cursor::new(&application.steps);
    while let Some(next) = cursor.next() {
        match next {
            Next::Swap(a, b) => meaning.swap(a.0 as usize, b.0 as usize),
            Next::Inspect(_) => cursor.looked(true)?,
            Next::Do(_) | Next::Group(_) => {}
        }
    }
    Ok(names.iter().map(|name| meaning[name.0 as usize]).collect())
}

/// True for an application of the paper's kind: it makes whole arrays before its kernels and writes whole ones behind them. Buffers that are
/// not copied may be made and written in parts.
fn is_plain(application: &Application) -> bool {
    let is_whole = |part: &Range| *part == application.whole(part.buffer);
    let is_fit = |copied: &[BufferId], transfer: &Transfer| {
        is_whole(&transfer.part) || !copied.contains(&transfer.part.buffer)
    };
    let before = application.prelude.iter().all(|step| match step {
        HostStep::Read(transfer) => is_fit(&application.copy_in, transfer),
        step => matches!(step, HostStep::Busy(_)),
    });
    let after = application.postlude.iter().all(|step| match step {
        HostStep::Read(transfer) => !application.copy_out.contains(&transfer.part.buffer),
        HostStep::Write(transfer) => is_fit(&application.copy_out, transfer),
        HostStep::Busy(_) => true,
    });
    let is_other = |step: &Step| match step {
        Step::Copy { part, .. } => !is_whole(part) || is_constant(application, part.buffer),
        step => matches!(step, Step::Move { .. } | Step::Host(_)),
    };
    let is_variable = |buffer: usize| application.variable_of(buffer).is_some_and(|(it, _)| !it.constant);
    before
        && after
        && !application.steps.iter().any(|step| step.any(&is_other))
        && !(0..application.buffers.len()).any(is_variable)
}

/// Everything without overlap, as under the runtime `serial`; the device gets to know where the prelude and the launches end.
async fn one_after_another(driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
    driver.note(&Note::new(Progress::PreludeEnded), true).await;
    driver.note(&Note::new(Progress::EndOfLaunches), true).await;
    phases(driver, run, host::Sender::in_one_stream).await
}

fn check(application: &Application) -> Result<(), Fault> {
    if !application.textures.is_empty() || !application.surfaces.is_empty() {
        return Err(Fault::new(
            "`overlapped` cannot run an application with textures or surfaces: their accesses are not tracked (section 4.1)",
        ));
    }
    if application.steps.iter().any(|step| step.any(&|step| matches!(step, Step::Tasks(_)))) {
        return Err(Fault::new(
            "`overlapped` cannot run narrow tasks: it follows the pages of whole buffers, and not what is copied for one task",
        ));
    }
    let mut kernels = application.modules.iter().flat_map(|module| &module.kernels);
    if let Some(kernel) = kernels.find(|kernel| kernel.prints() || kernel.allocates()) {
        return Err(Fault::new(format!(
            "`overlapped` cannot run `{}`, whose module prints or allocates: it follows the pages of buffers, and not those of the \
             device library",
            kernel.name()
        )));
    }
    let filled: BTreeSet<BufferId> = application.reads().map(|transfer| transfer.part.buffer).collect();
    if let Some(buffer) = application.copy_in.iter().find(|buffer| !filled.contains(buffer)) {
        return Err(Fault::new(format!(
            "`overlapped` copies a page when the CPU has written every word of it, and nothing in the prelude writes `{}`",
            application.buffers[buffer.0 as usize].name
        )));
    }
    Ok(())
}

struct Sender {
    profilers: Profilers,
    parent: SpanId,
}

impl Sender {
    async fn launch(&self, driver: &mut Driver<'_>, launch: &LaunchStep) -> Result<(), Fault> {
        let parent = Some(self.parent);
        let Some(kernel) = self.profilers.get(&key(launch)) else {
            // The pages that this launch touches are unknown.
            let extra = Extra::new(Irregular, LineTag::NONE);
            driver.launch_as(launch, DEFAULT_STREAM, (Precedence::Gated, extra), parent).await?;
            return Ok(());
        };
        let profiler = profiler_of(launch, Arc::clone(kernel));
        let helper = (Precedence::Helper(driver.launch_after_next()), Extra::default());
        driver.launch_as(&profiler, DEFAULT_STREAM, helper, parent).await?;
        let gated = (Precedence::Gated, Extra::default());
        driver.launch_as(launch, DEFAULT_STREAM, gated, parent).await?;
        Ok(())
    }
}

#[async_trait(?Send)]
impl Sends for Sender {
    async fn send(&mut self, driver: &mut Driver<'_>, step: Elementary<'_>) -> Result<(), Fault> {
        let parent = Some(self.parent);
        match step {
            Elementary::Launch(launch) => self.launch(driver, launch).await,
            Elementary::Copy { direction, part, .. } => {
                let copy = driver.copy_part(direction, part, DEFAULT_STREAM, parent).await?;
                driver.wait(copy).await
            }
            Elementary::Move { moved, .. } => {
                let moved = driver.move_rows(moved, DEFAULT_STREAM, parent).await?;
                driver.wait(moved).await
            }
            Elementary::Host(step) => driver.host(step, parent).await,
            Elementary::Synchronize(_) => driver.drain().await,
            Elementary::Free(name) => {
                driver.drain().await?;
                driver.free(name)
            }
            // All commands are in one stream.
            Elementary::Record(..) | Elementary::Wait(..) => Ok(()),
        }
    }

    async fn inspect(&mut self, driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault> {
        driver.is_fulfilled(until, DEFAULT_STREAM, Some(self.parent)).await
    }
}

#[async_trait(?Send)]
impl Walks for Sender {
    fn sends(&mut self) -> &mut dyn Sends {
        self
    }
}

/// The key of a kernel of an application.
pub(super) fn key(launch: &LaunchStep) -> String {
    format!("{}.{}", launch.code, launch.kernel.name())
}
