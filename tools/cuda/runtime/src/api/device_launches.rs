//! Launches by kernels: what kernels have given their device runs when their grid has ended, as a graph behind it. CUDA lets no kernel wait for those
//! that it launches, so this is one of the orders that a GPU has.

use std::collections::BTreeMap;

use counterpoint_cuda_capture::Region;
use counterpoint_ptx::launches::{DeviceLaunch, DeviceWork, NewWork};

use super::copies::ON_DEVICE;
use super::launches::check_sizes;
use crate::errors::{Error, Result};
use crate::graphs::{Graph, KernelCall, Operation};
use crate::made::graphs::Ready;
use crate::pitched::{PitchedAddress, Planes, Shape};
use crate::state::State;

/// Chains of work side by side at most; more have an order.
const CHAINS: u64 = 32;
/// Bytes of the records' header.
const HEADER: u64 = 64;

impl State {
    /// Runs what the kernels of a binary have launched since the last look, behind a grid on a stream.
    pub(crate) fn launch_for_kernels(&mut self, binary: usize, stream: u32) -> Result {
        let Some(work) = self.new_work(binary)? else { return Ok(()) };
        if work.is_lost {
            let message =
                "a grid has launched more kernels than there is room for, which is 1 MiB of parameters";
            return Err(self.fail(Error::LAUNCH_OUT_OF_RESOURCES, message.to_owned()));
        }
        let graph = self.graph_of(binary, work)?;
        let mut ready = std::mem::take(&mut self.graphs.of_kernels);
        ready.plan = graph.plan()?;
        let operations = self.lanes(&mut ready, stream);
        self.graphs.of_kernels = Ready { plan: crate::graphs::Plan::default(), ..ready };
        operations.into_iter().try_for_each(|(stream, operation)| self.perform(operation, stream))
    }

    fn new_work(&mut self, binary: usize) -> Result<Option<NewWork>> {
        let Some(module) = self.modules.module_mut(binary) else { return Ok(None) };
        let Some((address, bytes)) = module.any().and_then(|any| any.launches(module.bases)) else {
            return Ok(None);
        };
        let header = self.device.read(Region::line(address, HEADER))?;
        if !module.launches.has_new(&header) {
            return Ok(None);
        }
        let all = self.device.read(Region::line(address, bytes))?;
        Ok(Some(module.launches.take(&all)))
    }

    /// The work as a graph: that of a block and stream is a chain.
    fn graph_of(&mut self, binary: usize, NewWork { work, is_ordered, .. }: NewWork) -> Result<Graph> {
        let mut graph = Graph::default();
        // The chain of each place, and the last node of each chain.
        let (mut chains, mut ends) = (BTreeMap::<(u64, u64), u64>::new(), BTreeMap::<u64, u64>::new());
        let (tail, others): (Vec<_>, Vec<_>) =
            work.into_iter().partition(|launch| launch.place.1 == DeviceLaunch::TAIL && !is_ordered);
        let mut forgotten = 0;
        for DeviceLaunch { place, work } in others {
            let Some(operation) = self.operation_of(binary, work) else { continue };
            let next = chains.len() as u64;
            let chain = match place.1 {
                _ if is_ordered => 0,
                DeviceLaunch::FORGET => {
                    forgotten += 1;
                    next + forgotten
                }
                _ => *chains.entry(place).or_insert(next),
            };
            let (chain, number) = (chain % CHAINS, self.graphs.next());
            let behind = ends.insert(chain, number);
            graph.add(number, behind.as_slice(), operation)?;
        }
        for launch in tail {
            let Some(operation) = self.operation_of(binary, launch.work) else { continue };
            let number = self.graphs.next();
            let behind: Vec<u64> = std::mem::take(&mut ends).into_values().collect();
            graph.add(number, &behind, operation)?;
            ends.insert(0, number);
        }
        Ok(graph)
    }

    /// An operation for work; none, and a word about it, where the device would not do it either.
    fn operation_of(&mut self, binary: usize, work: DeviceWork) -> Option<Operation> {
        match work {
            DeviceWork::Copy { to, from, bytes } => {
                let place = |address| PitchedAddress { address, pitch: 0 };
                let shape = Shape { width: bytes, rows: 1 };
                Some(Operation::Copy { planes: Planes::one(place(to), place(from)), shape, kind: ON_DEVICE })
            }
            DeviceWork::Fill { to, value, bytes } => {
                let place = PitchedAddress { address: to, pitch: 0 };
                Some(Operation::Fill { place, shape: Shape { width: bytes, rows: 1 }, value: vec![value] })
            }
            DeviceWork::Launch { kernel, grid, block, shared, parameters } => {
                let module = self.modules.module(binary)?;
                let found = module
                    .names()
                    .into_iter()
                    .find(|name| module.kernel(name).is_some_and(|known| known.launch_address() == kernel));
                let name = found.or_else(|| {
                    self.say_once("a kernel launches something that is no kernel of its module");
                    None
                })?;
                if let Err(error) = check_sizes(grid, block) {
                    let (error, [x, y, z], [a, b, c]) =
                        (error.name().to_string_lossy().into_owned(), grid, block);
                    self.say_once(&format!(
                        "a kernel launches {name} with a grid of {x} x {y} x {z} blocks of {a} x {b} x {c} threads: {error}"
                    ));
                    return None;
                }
                let stub = self.modules.handle(binary, &name)? as usize;
                Some(Operation::Kernel(KernelCall {
                    stub,
                    grid,
                    block,
                    shared,
                    cooperative: false,
                    parameters,
                }))
            }
        }
    }
}
