//! An application without time: the same steps as under a runtime, on memories that answer at once.
//!
//! Kernels run on the functional executor of `ptx`, one launch and one CTA after another. Nothing of a machine is
//! asked but that it has the devices; what an application computes, and how many instructions that takes, does not
//! depend on more.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use counterpoint_framework::kernel::Fault;
use counterpoint_framework::telemetry::Meter;
use counterpoint_ptx::functional::{FlatMemory, Grid, Options, ctas};

use crate::journal::Journal;
use crate::program::{Application, BufferId, LaunchStep, Step};

/// What a launch executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The kernel.
    pub kernel: String,
    /// Thread blocks.
    pub ctas: u64,
    /// Instructions, counted once for a warp.
    pub warp_instructions: u64,
    /// Instructions, counted for every lane that executed them.
    pub thread_instructions: u64,
}

/// The host and its devices, without time.
pub struct FunctionalHost<'a> {
    application: &'a Application,
    journal: &'a Journal,
    meter: &'a Meter,
    options: Options,
    /// Per buffer what the host holds.
    host: Vec<Vec<u8>>,
    /// By device.
    memories: BTreeMap<u32, FlatMemory>,
    /// Per buffer where it lies on its device.
    addresses: Vec<u64>,
    /// What each buffer's name means now.
    meaning: Vec<usize>,
    launched: Vec<Launched>,
}

impl<'a> FunctionalHost<'a> {
    /// A host that tells the journal and the meter how far it is, and stops when someone sets the flag.
    /// Memory that nobody has written holds `unwritten` everywhere.
    pub fn new(
        application: &'a Application,
        journal: &'a Journal,
        meter: &'a Meter,
        interrupt: Arc<AtomicBool>,
        unwritten: u8,
    ) -> Self {
        let mut memories = BTreeMap::new();
        let mut addresses = Vec::new();
        let mut host = Vec::new();
        for buffer in &application.buffers {
            host.push(vec![unwritten; buffer.bytes as usize]);
            let memory = memories.entry(buffer.device).or_insert_with(|| FlatMemory::new(0));
            addresses.push(memory.push(&vec![unwritten; buffer.bytes as usize]));
        }
        FunctionalHost {
            application,
            journal,
            meter,
            options: Options { interrupt, ..Options::default() },
            host,
            memories,
            addresses,
            meaning: (0..application.buffers.len()).collect(),
            launched: Vec::new(),
        }
    }

    /// Runs the application from prelude to postlude: `read` gives the files of the prelude in their order, `write`
    /// takes those of the postlude. What is to be looked at goes into the journal. Breaks if it was interrupted.
    ///
    /// # Errors
    /// When a kernel does what it must not, or a loop reaches its limit.
    pub fn run(
        &mut self,
        read: &[&[u8]],
        mut write: impl FnMut(usize, &[u8]),
    ) -> Result<ControlFlow<()>, Fault> {
        let application = self.application;
        for (transfer, contents) in application.prelude.iter().zip(read) {
            let place = self.place(transfer.buffer);
            self.host[place].copy_from_slice(contents);
            self.journal.moved(contents.len() as u64);
        }
        for &buffer in &application.copy_in {
            let place = self.place(buffer);
            let (host, device) = self.both(place)?;
            device.copy_from_slice(host);
            let bytes = host.len() as u64;
            self.journal.moved(bytes);
        }
        if self.steps(&application.steps)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        for &buffer in &application.copy_out {
            let place = self.place(buffer);
            let (host, device) = self.both(place)?;
            host.copy_from_slice(device);
            let bytes = host.len() as u64;
            self.journal.moved(bytes);
        }
        for (index, transfer) in application.postlude.iter().enumerate() {
            let contents = &self.host[self.place(transfer.buffer)];
            write(index, contents);
            self.journal.moved(contents.len() as u64);
        }
        for &buffer in &application.inspect {
            self.journal.result(buffer, self.host[self.place(buffer)].clone());
        }
        Ok(ControlFlow::Continue(()))
    }

    /// What the launches executed, in their order; the last one may not have ended.
    pub fn into_launched(self) -> Vec<Launched> {
        self.launched
    }

    fn place(&self, name: BufferId) -> usize {
        self.meaning[name.0 as usize]
    }

    /// A buffer's bytes on the host and on its device.
    fn both(&mut self, place: usize) -> Result<(&mut [u8], &mut [u8]), Fault> {
        let buffer = &self.application.buffers[place];
        let memory = self.memories.get_mut(&buffer.device);
        let memory = memory.ok_or_else(|| no_buffer(buffer.device))?;
        let start = (self.addresses[place] - memory.base) as usize;
        Ok((&mut self.host[place], &mut memory.bytes[start..start + buffer.bytes as usize]))
    }

    fn steps(&mut self, steps: &[Step]) -> Result<ControlFlow<()>, Fault> {
        for step in steps {
            let flow = match step {
                Step::Launch(launch) => self.launch(launch)?,
                Step::Swap(a, b) => {
                    self.meaning.swap(a.0 as usize, b.0 as usize);
                    ControlFlow::Continue(())
                }
                Step::Repeat(times, steps) => {
                    let mut flow = ControlFlow::Continue(());
                    for _ in 0..*times {
                        flow = self.steps(steps)?;
                        if flow.is_break() {
                            break;
                        }
                    }
                    flow
                }
                Step::Loop { until, most, steps } => {
                    let part = until.offset as usize..until.offset as usize + until.value.len();
                    let mut rounds = 0;
                    loop {
                        let flow = self.steps(steps)?;
                        if flow.is_break() {
                            break flow;
                        }
                        rounds += 1;
                        let place = self.place(until.buffer);
                        let (host, device) = self.both(place)?;
                        host[part.clone()].copy_from_slice(&device[part.clone()]);
                        if host[part.clone()] == *until.value {
                            break flow;
                        }
                        if rounds == *most {
                            return Err(Fault::new(until.never(*most)));
                        }
                    }
                }
            };
            if flow.is_break() || self.options.interrupt.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn launch(&mut self, step: &LaunchStep) -> Result<ControlFlow<()>, Fault> {
        let params = step.params(|name| self.addresses[self.meaning[name.0 as usize]]);
        self.options.dynamic_shared_bytes = step.shared;
        let kernel = step.kernel.name();
        let name = format!("{kernel} #{}", self.launched.len() + 1);
        let memory = self.memories.get_mut(&step.device).ok_or_else(|| no_buffer(step.device))?;
        let grid = Grid::new(&step.kernel, step.grid, step.block, &params, memory, &self.options);
        let mut grid = grid.map_err(|error| Fault::new(format!("{name}: {}", error.message)))?;
        let mut flow = ControlFlow::Continue(());
        let mut failure = None;
        let mut done = 0;
        for ctaid in ctas(step.grid) {
            match grid.run_cta(ctaid, memory) {
                Ok(ControlFlow::Continue(())) => {
                    done += 1;
                    self.meter.add(1);
                }
                Ok(ControlFlow::Break(())) => {
                    flow = ControlFlow::Break(());
                    break;
                }
                Err(error) => {
                    failure = Some(Fault::new(format!("{name}, {error}")));
                    break;
                }
            }
        }
        let statistics = grid.statistics();
        self.launched.push(Launched {
            kernel: kernel.to_owned(),
            ctas: done,
            warp_instructions: statistics.warp_instructions,
            thread_instructions: statistics.thread_instructions,
        });
        if let Some(fault) = failure {
            return Err(fault);
        }
        if flow.is_continue() {
            self.journal.launched();
        }
        Ok(flow)
    }
}

fn no_buffer(device: u32) -> Fault {
    Fault::new(format!("no buffer lies on device {device}"))
}
