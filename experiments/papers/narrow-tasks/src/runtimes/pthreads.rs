//! Narrow tasks on the CPU: threads that take one after another, as the PThreads programs that Pagoda is compared with (Yeh et al.,
//! PPoPP 2017, section 6.1), and with one thread the sequential program to which its speed-ups refer.
//!
//! A task's inputs come from host memory, one task's at a time, since the memory has one bus; its kernel is executed without a
//! device, and its thread is busy for the cycles that its core takes for the instructions that were executed (`cores` of the CPU);
//! then the results go back. Nothing is copied to a device.

use std::collections::BTreeMap;
use std::sync::Arc;

use counterpoint::component::{Params, Variant};
use counterpoint::host::program::{
    Application, BufferId, Condition, Elementary, LaunchStep, Moved, Range, Step, Task,
};
use counterpoint::host::{Driver, Memories, Runtime, Sends, Walks, async_trait, postlude, prelude};
use counterpoint::kernel::Fault;
use counterpoint::messages::bus::{Description, Direction};
use counterpoint::ptx::functional::{Grid, Options, Statistics, ctas};
use counterpoint::ptx::{VariableBases, Windows};
use counterpoint::telemetry::{Level, SpanId};
use counterpoint::time::SimTime;

/// Parameters.
#[derive(Clone, Debug, Params)]
pub(super) struct PthreadsParams {
    /// Threads; 0 are as many as the CPU has cores.
    #[param(default = "0", max = "1024")]
    threads: u32,
}

/// The runtime `pthreads`.
pub(super) struct Pthreads {
    params: PthreadsParams,
}

impl Variant<dyn Runtime> for Pthreads {
    const NAME: &'static str = "pthreads";
    const DOC: &'static str = "Narrow tasks on the CPU's cores, a thread each, without a device.";
    type Params = PthreadsParams;

    fn build(params: &PthreadsParams) -> Result<Box<dyn Runtime>, String> {
        Ok(Box::new(Pthreads { params: params.clone() }))
    }
}

#[async_trait(?Send)]
impl Runtime for Pthreads {
    fn prepare(
        &self,
        application: &Arc<Application>,
        _devices: &BTreeMap<u32, Description>,
    ) -> Result<Arc<Application>, Fault> {
        let on_device = |step: &Step| match step {
            Step::Move { moved: Moved::Copy { .. }, .. } => false,
            step => matches!(step, Step::Move { .. }),
        };
        if application.steps.iter().any(|step| step.any(&on_device)) {
            return Err(Fault::new("`pthreads` has no device, whose memory `memset` or `copy` could write"));
        }
        if let Some(launch) = application.steps.iter().find_map(lone_launch) {
            return Err(not_a_task(launch));
        }
        Ok(Arc::clone(application))
    }

    fn launches_tasks(&self) -> bool {
        false
    }

    async fn run(&self, driver: &mut Driver<'_>, run: SpanId) -> Result<(), Fault> {
        let cores = driver.cores().cores();
        if self.params.threads > cores {
            return Err(Fault::new(format!("{} threads on {cores} cores", self.params.threads)));
        }
        let threads = if self.params.threads == 0 { cores } else { self.params.threads };
        let application = driver.application();
        prelude(driver, run).await?;
        let span = driver.begin(Some(run), Level::Phases, "kernels");
        let mut cpu = OnCpu { memory: Image(Memories::new(&application, 0)?), threads, parent: span };
        for &buffer in &application.copy_in {
            cpu.take(driver, application.whole(buffer)).await?;
        }
        cpu.walk(driver, &application.steps).await?;
        for &buffer in &application.copy_out {
            cpu.put(driver, application.whole(buffer)).await?;
        }
        driver.end(span);
        postlude(driver, run).await
    }
}

/// The first launch among a step and those in it that is no task.
fn lone_launch(step: &Step) -> Option<&LaunchStep> {
    match step {
        Step::Launch(launch) => Some(launch),
        step => step.inner().iter().find_map(lone_launch),
    }
}

fn not_a_task(launch: &LaunchStep) -> Fault {
    let kernel = launch.kernel.name();
    Fault::new(format!("`{kernel}` is not a narrow task, and `pthreads` executes nothing else"))
}

/// The memory that tasks see: all buffers, and the variables of all modules.
struct Image(Memories);

impl Image {
    /// The bytes of a part of a buffer, by where that lies.
    fn part(&mut self, application: &Application, place: usize, part: Range) -> Result<&mut [u8], Fault> {
        let address = self.0.addresses[place] + part.offset;
        self.0.bytes(application.space_of(place), address, part.bytes as usize)
    }

    fn execute(&mut self, driver: &Driver<'_>, launch: &LaunchStep) -> Result<Statistics, Fault> {
        let wrong = |error: String| Fault::new(format!("{}: {error}", launch.kernel.name()));
        let application = driver.application();
        let place = |name: BufferId| self.0.addresses[driver.place(name)];
        let options = Options {
            dynamic_shared_bytes: launch.shared,
            stack: application.stack.unwrap_or_default(),
            textures: application.textures_on(launch.device, place),
            windows: if application.is_fixed() { Windows::ABOVE_MEMORY } else { Windows::default() },
            ..Options::default()
        };
        let params = launch.params(place);
        let module = application.place_of(launch);
        let variables = module.map_or_else(VariableBases::default, |place| self.0.variables[place.module]);
        let grid = Grid::new(&launch.kernel, launch.grid, launch.block, &params, variables, &options);
        let mut grid = grid.map_err(|error| wrong(error.message))?;
        let memory = self.0.of(application.space_of_launch(launch))?;
        for ctaid in ctas(launch.grid) {
            let _ = grid.run_cta(ctaid, memory).map_err(|error| wrong(error.to_string()))?;
        }
        driver.printed_in(memory);
        Ok(grid.statistics().clone())
    }
}

/// The CPU as the executor of tasks.
struct OnCpu {
    memory: Image,
    threads: u32,
    parent: SpanId,
}

/// A task that a thread executes.
struct Running {
    task: usize,
    end: SimTime,
    since: SimTime,
    span: Option<SpanId>,
}

impl OnCpu {
    /// Takes a part of a buffer from host memory.
    async fn take(&mut self, driver: &mut Driver<'_>, part: Range) -> Result<(), Fault> {
        let values = driver.read_part(part).await?;
        let (application, place) = (driver.application(), driver.place(part.buffer));
        self.memory.part(&application, place, part)?.copy_from_slice(&values);
        self.memory.0.written(application.space_of(place), place, part.bytes_of())
    }

    /// Puts a part of a buffer into host memory.
    async fn put(&mut self, driver: &mut Driver<'_>, part: Range) -> Result<(), Fault> {
        let (application, place) = (driver.application(), driver.place(part.buffer));
        let values = self.memory.part(&application, place, part)?.to_vec();
        driver.write_part(part, values).await
    }

    /// Copies rows between host memory and the memory that tasks see.
    async fn move_rows(&mut self, driver: &mut Driver<'_>, moved: &Moved) -> Result<(), Fault> {
        let Moved::Copy { direction, host, device } = moved else { return Ok(()) };
        let (application, place) = (driver.application(), driver.place(device.buffer));
        for (on_host, on_device) in host.each().zip(device.each()) {
            let part = |row: std::ops::Range<usize>| Range {
                buffer: device.buffer,
                offset: row.start as u64,
                bytes: row.len() as u64,
            };
            match direction {
                Direction::HostToDevice => {
                    let values = driver.read_part(part(on_host)).await?;
                    self.memory.part(&application, place, part(on_device.clone()))?.copy_from_slice(&values);
                    self.memory.0.written(application.space_of(place), place, on_device)?;
                }
                Direction::DeviceToHost => {
                    let values = self.memory.part(&application, place, part(on_device))?.to_vec();
                    driver.write_part(part(on_host), values).await?;
                }
            }
        }
        Ok(())
    }

    /// A thread takes a task.
    async fn begin(
        &mut self,
        driver: &mut Driver<'_>,
        thread: usize,
        task: usize,
        of: &Task,
    ) -> Result<Running, Fault> {
        let since = driver.now();
        let span = driver.begin_task(self.parent, of.launch.kernel.name(), thread);
        for &part in &of.copy_in {
            self.take(driver, part).await?;
        }
        let Statistics { warp_instructions, thread_instructions, .. } =
            self.memory.execute(driver, &of.launch)?;
        driver.count_task();
        let cycles = driver.cores().cycles(warp_instructions, thread_instructions);
        Ok(Running { task, end: driver.now() + driver.cycles(cycles), since, span })
    }
}

#[async_trait(?Send)]
impl Sends for OnCpu {
    async fn send(&mut self, driver: &mut Driver<'_>, step: Elementary<'_>) -> Result<(), Fault> {
        match step {
            Elementary::Launch(launch) => Err(not_a_task(launch)),
            Elementary::Copy { direction: Direction::HostToDevice, part, .. } => {
                self.take(driver, part).await
            }
            Elementary::Copy { direction: Direction::DeviceToHost, part, .. } => self.put(driver, part).await,
            Elementary::Move { moved, .. } => self.move_rows(driver, moved).await,
            Elementary::Host(step) => driver.host(step, Some(self.parent)).await,
            Elementary::Record(..)
            | Elementary::Wait(..)
            | Elementary::Synchronize(_)
            | Elementary::Free(_) => Ok(()),
        }
    }

    async fn inspect(&mut self, _driver: &mut Driver<'_>, until: &Condition) -> Result<bool, Fault> {
        Err(Fault::new(format!("`pthreads` has no loops: {}", until.words)))
    }
}

#[async_trait(?Send)]
impl Walks for OnCpu {
    fn sends(&mut self) -> &mut dyn Sends {
        self
    }

    async fn group(&mut self, driver: &mut Driver<'_>, group: &Step) -> Result<bool, Fault> {
        let Step::Tasks(tasks) = group else { return Ok(false) };
        let phase = driver.begin(Some(self.parent), Level::Phases, "tasks");
        let mut running: BTreeMap<usize, Running> = BTreeMap::new();
        let mut coming = tasks.iter().enumerate();
        loop {
            // Finished tasks leave before any new one begins, in the order of their ends.
            let due = running.iter().map(|(&thread, running)| (running.end, thread)).min();
            if let Some((end, thread)) = due
                && end <= driver.now()
            {
                if let Some(Running { task, since, span, .. }) = running.remove(&thread) {
                    for &part in &tasks[task].copy_out {
                        self.put(driver, part).await?;
                    }
                    driver.task_done(since, span);
                }
                continue;
            }
            let free = (0..self.threads as usize).find(|thread| !running.contains_key(thread));
            if let Some(thread) = free
                && let Some((task, of)) = coming.next()
            {
                let begun = self.begin(driver, thread, task, of).await?;
                running.insert(thread, begun);
                continue;
            }
            match due {
                Some((end, _)) => driver.event_until(end).await?,
                None => break,
            }
        }
        driver.end(phase);
        Ok(true)
    }
}
