//! Check that gated launches that run side by side left each other's pages alone, independent of the
//! mechanism that keeps their order.
//!
//! The run has recorded the time at which each launch first touched a page, and the time at which each block
//! had passed its last store. The pages that a block may touch come from the analysis of the kernel as the
//! user wrote it, so neither the rewritten kernels nor the authority over pages have a part in the verdict. A
//! launch must not touch a page before every block of every older launch that may touch it has ended.
//! Launches without such an analysis are barriers.

use std::collections::BTreeMap;
use std::ops::Range;

use counterpoint_framework::time::SimTime;
use counterpoint_host_model::functional::{Found, KernelRace};
use counterpoint_host_model::program::{Application, LaunchStep, Step};
use counterpoint_protocols::launch::{Launch, LaunchId, Precedence};
use counterpoint_protocols::page_log::{PageLog, PageNotes};
use counterpoint_ptx::analysis::access::{Array, KernelAccesses};
use counterpoint_ptx::analysis::ranges::{self, ranges};
use counterpoint_ptx::functional::ctas;
use counterpoint_ptx::{Kernel, parser};

/// A block that younger launches have to wait for.
#[derive(Clone, Copy)]
struct Latest {
    /// When it ended; [`SimTime::MAX`] if it never did.
    end: SimTime,
    launch: LaunchId,
    block: u32,
}

/// Blocks that a device's launches have to wait for.
#[derive(Default)]
struct Older {
    /// Latest of the blocks that may touch each page.
    pages: BTreeMap<u64, Latest>,
    /// Latest of the blocks that may touch any page.
    anywhere: Option<Latest>,
    /// Latest of all blocks.
    all: Option<Latest>,
}

fn later(a: Option<Latest>, b: Latest) -> Latest {
    a.filter(|a| a.end >= b.end).unwrap_or(b)
}

impl Older {
    /// A launch with the latest block for each page that its blocks may touch.
    fn add(&mut self, noted: &PageNotes, launch: &Launch, blocks: Option<&[Vec<Range<u64>>]>) {
        for block in 0..launch.ctas() {
            let end = noted.ends.get(&(launch.id, block)).copied().unwrap_or(SimTime::MAX);
            let latest = Latest { end, launch: launch.id, block };
            self.all = Some(later(self.all, latest));
            let Some(blocks) = blocks else {
                self.anywhere = Some(later(self.anywhere, latest));
                continue;
            };
            for range in &blocks[block as usize] {
                for page in PageLog::pages(range.start, range.end) {
                    let before = self.pages.get(&page).copied();
                    self.pages.insert(page, later(before, latest));
                }
            }
        }
    }

    /// The block that a launch has to wait for before it touches a page.
    fn before(&self, page: u64, anything: bool) -> Option<Latest> {
        if anything {
            return self.all;
        }
        let own = self.pages.get(&page).copied();
        own.map(|own| later(self.anywhere, own)).or(self.anywhere)
    }
}

/// The kernels of an application as they were written.
struct Kernels {
    /// Accesses of kernels by name, with the file of each.
    by_name: BTreeMap<String, Vec<(String, KernelAccesses)>>,
}

impl Kernels {
    fn new(application: &Application) -> Self {
        let mut by_name: BTreeMap<String, Vec<(String, KernelAccesses)>> = BTreeMap::new();
        for LaunchStep { kernel, .. } in Step::launches(&application.steps) {
            let known = by_name.entry(kernel.name().to_owned()).or_default();
            if known.iter().any(|(origin, _)| origin == kernel.origin()) {
                continue;
            }
            known.extend(accesses(kernel).map(|accesses| (kernel.origin().to_owned(), accesses)));
        }
        Kernels { by_name }
    }

    /// Analysis of the kernel that this one was made from.
    fn of(&self, kernel: &Kernel) -> Option<&KernelAccesses> {
        let known = self.by_name.get(kernel.name())?;
        known.iter().find(|(origin, _)| kernel.origin().starts_with(origin)).map(|(_, accesses)| accesses)
    }
}

fn accesses(kernel: &Kernel) -> Option<KernelAccesses> {
    let module = parser::parse(kernel.source()).ok()?;
    let function = module.functions.iter().find(|it| it.entry && it.name == kernel.name())?;
    Some(KernelAccesses::new(&module, function))
}

/// The bytes that each block of a launch may touch; `None` if nobody can tell.
fn of_blocks(kernel: &KernelAccesses, launch: &Launch) -> Option<Vec<Vec<Range<u64>>>> {
    let (mut params, mut allocations) = (BTreeMap::new(), BTreeMap::new());
    for (index, param) in (0..).zip(launch.kernel.params()) {
        let bytes = launch.params.get(param.offset as usize..)?.get(..param.size as usize)?;
        // The sign is in the last byte.
        let fill = if bytes.last().is_some_and(|last| last & 0x80 != 0) { 0xff } else { 0 };
        let mut wide = [fill; 16];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let value = i128::from_le_bytes(wide);
        params.insert(index, value);
        let array = u64::try_from(value).ok().and_then(|address| launch.memory.containing(address));
        allocations.extend(array.map(|array| (index, array)));
    }
    let symbols = kernel.global().any(|access| matches!(access.array, Some(Array::Symbol(_))));
    let variables = symbols.then(|| launch.memory.containing(launch.variables.globals)).flatten();
    let told =
        ranges::Launch { grid: launch.grid, block: launch.block, params: &params, allocations: &allocations };
    let of_block = |ctaid: [u32; 3]| {
        let given = ranges(kernel, &told, ctaid);
        let arrays =
            given.arrays.values().flat_map(|touched| [touched.read.clone(), touched.written.clone()]);
        let all = arrays.flatten().chain(variables.clone()).filter(|range| !range.is_empty());
        (!given.anywhere).then(|| all.collect())
    };
    ctas(launch.grid).map(of_block).collect()
}

/// Accesses to pages that an older launch still needed.
pub(super) fn races(application: &Application, noted: &PageNotes) -> Vec<Found> {
    let kernels = Kernels::new(application);
    let mut devices: BTreeMap<&str, Older> = BTreeMap::new();
    let mut found: BTreeMap<(LaunchId, LaunchId), KernelRace> = BTreeMap::new();
    // Launches of a kernel with the same arguments touch the same.
    let mut known = BTreeMap::new();
    for (&id, (launch, scheduler)) in &noted.launches {
        let key = (launch.kernel.name(), launch.kernel.origin(), &launch.params, launch.grid, launch.block);
        let blocks = known.entry(key).or_insert_with(|| {
            let kernel = kernels.of(&launch.kernel).filter(|_| launch.precedence == Precedence::Gated);
            kernel.and_then(|kernel| of_blocks(kernel, launch))
        });
        let older = devices.entry(scheduler).or_default();
        for (&(_, page), &time) in noted.accesses.range((id, 0)..=(id, u64::MAX)) {
            let Some(last) = older.before(page, blocks.is_none()).filter(|last| time < last.end) else {
                continue;
            };
            let race = found.entry((id, last.launch)).or_insert_with(|| KernelRace {
                launches: [launch.name().to_string(), noted.launches[&last.launch].0.name().to_string()],
                memory: launch.memory.name_of(page * PageLog::PAGE),
                address: page * PageLog::PAGE,
                time,
                block: last.block,
                ended: Some(last.end).filter(|end| *end < SimTime::MAX),
                pages: 0,
            });
            race.pages += 1;
        }
        older.add(noted, launch, blocks.as_deref());
    }
    found.into_values().map(Found::BetweenKernels).collect()
}
