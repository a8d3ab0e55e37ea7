//! `kernels:`: launches, repetitions and swaps; the loops that a device ends are in `loops`, task pipelines in `pipelines`,
//! narrow tasks in `tasks`, the names of a round in `rounds`, releases in `frees`, copies and fills in `moves`, streams and events in
//! `streams`, steps of the host in `host`.

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_host_model::program::{LaunchStep, Step};
use counterpoint_ptx::Kernel;

use super::buffers::LAST_DEVICE;
use super::code::Codes;
use super::host::HostPhase;
use super::keys::{LaunchKeys, LaunchStepKeys, OnStream, RepeatStep, SwapStep};
use super::loaded::Launched;
use super::reader::Reader;

/// Threads of a block, and its extents, at most (CUDA C programming guide, technical specifications).
const MOST_THREADS: u64 = 1024;
const LARGEST_BLOCK: [u64; 3] = [1024, 1024, 64];
/// Extents of a grid at most (same table).
const LARGEST_GRID: [u64; 3] = [i32::MAX as u64, 65535, 65535];
/// Dynamic shared memory of a block at most; a device may have less and says so when it runs.
const MOST_SHARED: u64 = 1 << 20;
/// Rounds of a repetition with an index at most: each has steps of its own.
pub(super) const MOST_INDEXED: u64 = 1 << 16;

/// Reads a step, whatever its keys are.
type Read = fn(&mut Reader<'_>, &Node, &mut Codes) -> Option<Step>;

/// The kinds of steps, each by the key that identifies it. Tasks come first, since keys that identify other steps may stand beside theirs.
static KINDS: [(&str, Read); 17] = [
    ("tasks", |reader, node, codes| reader.read(node).and_then(|keys| reader.tasks(keys, node, codes))),
    ("launch", |reader, node, codes| {
        reader.read(node).and_then(|keys| reader.launch_step(&keys, node, codes))
    }),
    ("copy_in", |reader, node, _| reader.read(node).and_then(|keys| reader.copy_in(&keys))),
    ("copy_out", |reader, node, _| reader.read(node).and_then(|keys| reader.copy_out(&keys))),
    ("memset", |reader, node, _| reader.read(node).and_then(|keys| reader.memset(&keys))),
    ("copy", |reader, node, _| reader.read(node).and_then(|keys| reader.copy_within(&keys))),
    ("read", |reader, node, _| {
        let step = reader.read(node).and_then(|keys| reader.read_step(&keys, HostPhase::Later));
        step.map(Step::Host)
    }),
    ("compute", |reader, node, _| {
        reader.read(node).and_then(|keys| reader.compute_step(&keys)).map(Step::Host)
    }),
    ("write", |reader, node, _| reader.read(node).and_then(|keys| reader.write_step(&keys)).map(Step::Host)),
    ("record", |reader, node, _| reader.read(node).and_then(|keys| reader.record(&keys))),
    ("wait", |reader, node, _| reader.read(node).and_then(|keys| reader.wait(&keys))),
    ("synchronize", |reader, node, _| reader.read(node).and_then(|keys| reader.synchronize(&keys))),
    ("swap", |reader, node, _| reader.read(node).and_then(|keys| reader.swap(&keys))),
    ("free", |reader, node, _| reader.read(node).and_then(|keys| reader.free(&keys))),
    ("until", |reader, node, codes| reader.read(node).and_then(|keys| reader.until(&keys, node, codes))),
    ("repeat", |reader, node, codes| reader.read(node).and_then(|keys| reader.repeat(&keys, codes))),
    ("pipeline", |reader, node, codes| {
        reader.read(node).and_then(|keys| reader.pipeline(&keys, node, codes))
    }),
];

impl Reader<'_> {
    /// Reads steps; those with problems are left out.
    pub(super) fn read_steps(&mut self, node: Option<&Node>, codes: &mut Codes) -> Vec<Step> {
        let nodes = self.list(node, "steps");
        nodes.iter().filter_map(|node| self.step(node, codes)).collect()
    }

    /// Reads steps that are done several times.
    pub(super) fn read_round(&mut self, node: &Node, codes: &mut Codes) -> Vec<Step> {
        self.rounds += 1;
        let steps = self.read_steps(Some(node), codes);
        self.rounds -= 1;
        steps
    }

    /// Reads a step; `None` if it has a problem.
    pub(super) fn step(&mut self, node: &Node, codes: &mut Codes) -> Option<Step> {
        let Some((_, read)) = KINDS.iter().find(|(key, _)| node.get(key).is_some()) else {
            let keys = KINDS.map(|(key, _)| key);
            let diagnostic = match node.as_map().and_then(<[_]>::first) {
                Some((key, _)) => Diagnostic::new(key.span, format!("there is no step `{}`", key.name))
                    .suggest(&key.name, keys),
                None => Diagnostic::new(node.span, format!("expected a step, found {}", node.shape()))
                    .suggest("", keys),
            };
            self.diagnostics.report(diagnostic);
            return None;
        };
        read(self, node, codes)
    }

    fn repeat(&mut self, RepeatStep { repeat, round, r#do }: &RepeatStep, codes: &mut Codes) -> Option<Step> {
        let is_indexed = round.index.is_some();
        let most = if is_indexed { MOST_INDEXED } else { u32::MAX.into() };
        let times = self.count(repeat, "repeat", 0, most);
        if !is_indexed {
            if let Some(names) = &round.values {
                self.diagnostics
                    .error(names.span, "`let` without `index`: all rounds would have the same values");
            }
            let steps = self.read_round(r#do, codes);
            return Some(Step::Repeat(times? as u32, steps));
        }
        let rounds = self.indexed_rounds(round, times? as u32, r#do, codes)?;
        Some(Step::Repeat(1, rounds.concat()))
    }

    fn swap(&mut self, SwapStep { swap: node }: &SwapStep) -> Option<Step> {
        let pair = self.list(Some(node), "two buffers");
        let [a, b] = pair else {
            self.diagnostics.error(node.span, format!("expected two buffers, found {}", pair.len()));
            return None;
        };
        let (a, b) = (self.buffer(a), self.buffer(b));
        let (a, b) = (a?, b?);
        for (node, buffer) in pair.iter().zip([a, b]) {
            self.refuse_variable(node, buffer, "swapped");
        }
        let of = |index: u32| (&self.application.buffers[index as usize], self.elements[index as usize]);
        let ((left, left_type), (right, right_type)) = (of(a.0), of(b.0));
        if (left.bytes, left.device, left_type) != (right.bytes, right.device, right_type) {
            let message = format!("`{}` and `{}` cannot be swapped", left.name, right.name);
            let help = "buffers that are swapped have one type, one size and one device";
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
        }
        Some(Step::Swap(a, b))
    }

    fn launch_step(&mut self, keys: &LaunchStepKeys, node: &Node, codes: &mut Codes) -> Option<Step> {
        let launch = self.launch(&keys.launch, &keys.on, node, codes)?;
        self.note(node, &launch, false, keys.cooperative.as_deref());
        Some(Step::Launch(launch))
    }

    pub(super) fn launch(
        &mut self,
        keys: &LaunchKeys,
        on: &OnStream,
        node: &Node,
        codes: &mut Codes,
    ) -> Option<LaunchStep> {
        let LaunchKeys { launch, grid, block, shared, arguments, device, registers } = keys;
        let name = self.required(launch.as_deref(), node, "launch", "a launch")?;
        let (code, kernel) = self.kernel(name, codes).unzip();
        let grid_node = self.required(grid.as_deref(), node, "grid", "a launch");
        let grid = grid_node.and_then(|node| self.extent(node, "grid", LARGEST_GRID));
        let block_node = self.required(block.as_deref(), node, "block", "a launch");
        let block = block_node.and_then(|node| self.extent(node, "block", LARGEST_BLOCK));
        let device = device.as_ref().map_or(Some(0), |node| self.count(node, "device", 0, LAST_DEVICE));
        let stream = self.stream_of(on, device.unwrap_or(0) as u32);
        let registers = match (&code, &kernel) {
            (Some(code), Some(kernel)) => self.registers(registers.as_deref(), codes, code, kernel),
            _ => None,
        };
        let shared = shared.as_ref().map_or(Some(0), |node| self.count(node, "shared", 0, MOST_SHARED));
        if let (Some(grid), Some(node)) = (grid, grid_node) {
            let blocks: u128 = grid.iter().map(|&size| u128::from(size)).product();
            if blocks > u128::from(u32::MAX) {
                self.diagnostics.error(node.span, format!("the grid has {blocks} blocks, more than 2^32"));
            }
        }
        if let (Some(block), Some(node)) = (block, block_node) {
            self.check_block(block, node.span, kernel.as_deref());
        }
        let written = arguments.as_deref();
        let nodes = self.list(written, "arguments");
        let arguments = kernel.as_deref().and_then(|kernel| {
            let span = written.unwrap_or(name).span;
            self.arguments(kernel, nodes, span, device.unwrap_or(0) as u32)
        });
        let (arguments, code, kernel) = (arguments?, code?, kernel?);
        Some(LaunchStep {
            arguments,
            registers: registers?,
            kernel,
            code,
            grid: grid?,
            block: block?,
            shared: shared? as u32,
            device: device? as u32,
            stream: stream?,
        })
    }

    /// Notes the position of a launch, or of a task's launch, once for equal launches of several rounds.
    pub(super) fn note(&mut self, node: &Node, launch: &LaunchStep, task: bool, cooperative: Option<&Node>) {
        let is_known = |last: &Launched| last.span == node.span && last.is_like(launch);
        if !self.launched.last().is_some_and(is_known) {
            let cooperative = cooperative.is_some_and(|node| self.switch(node));
            let launch = launch.clone();
            self.launched.push(Launched { span: node.span, launch, task, cooperative });
        }
    }

    /// `on` or `off`.
    fn switch(&mut self, node: &Node) -> bool {
        match node.as_scalar() {
            Some("on" | "true") => true,
            Some("off" | "false") => false,
            _ => {
                self.diagnostics.error(node.span, "expected `on` or `off`");
                false
            }
        }
    }

    fn check_block(&mut self, block: [u32; 3], span: Span, kernel: Option<&Kernel>) {
        let threads: u64 = block.iter().map(|&size| u64::from(size)).product();
        if threads > MOST_THREADS {
            let message = format!("the block has {threads} threads");
            let help = format!("a block has at most {MOST_THREADS} threads");
            self.diagnostics.report(Diagnostic::new(span, message).help(help));
        } else if let Some(kernel) = kernel
            && let Some(bound) = kernel.max_ntid()
        {
            // The manual bounds the product of the extents, not each of them.
            let most: u64 = bound.iter().map(|&size| u64::from(size)).product();
            if kernel.needs_exact_ntid() && block != bound {
                let message = format!("the block is not of the size that `{}` needs", kernel.name());
                let [x, y, z] = bound;
                self.diagnostics
                    .report(Diagnostic::new(span, message).help(format!("its .reqntid is {x}, {y}, {z}")));
            } else if threads > most {
                let message =
                    format!("the block has {threads} threads, more than `{}` allows", kernel.name());
                let help = format!("its .maxntid allows {most} threads");
                self.diagnostics.report(Diagnostic::new(span, message).help(help));
            }
        }
    }

    /// Reads one to three sizes; missing sizes are 1.
    pub(super) fn extent(&mut self, node: &Node, what: &str, most: [u64; 3]) -> Option<[u32; 3]> {
        let single = std::slice::from_ref(node);
        let sizes =
            if node.as_scalar().is_some() { single } else { self.list(Some(node), "one to three numbers") };
        if sizes.is_empty() || sizes.len() > 3 {
            self.diagnostics
                .error(node.span, format!("expected one to three numbers, found {}", sizes.len()));
            return None;
        }
        let mut extent = [Some(1); 3];
        for (axis, size) in sizes.iter().enumerate() {
            let name = format!("{what}, {}", ["x", "y", "z"][axis]);
            extent[axis] = self.count(size, &name, 1, most[axis]);
        }
        Some([extent[0]? as u32, extent[1]? as u32, extent[2]? as u32])
    }
}
