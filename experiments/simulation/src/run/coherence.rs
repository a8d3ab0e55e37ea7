//! Write-back caches whose contents other caches cannot see: a remark on a valid machine that may give wrong
//! values.

use std::collections::BTreeSet;

use counterpoint_framework::model::{Node, Value};
use counterpoint_framework::topology::{Instance, Machine};
use counterpoint_protocols::roles;

/// Remarks on write-back caches beside each other above one memory. Caches behind one network divide the
/// addresses among them, and need no remark.
pub(super) fn remarks(machine: &Machine) -> Vec<String> {
    let keeping = (0..machine.instances.len()).filter(|&index| keeps_writes(&machine.instances[index]));
    let neighbours = Neighbours::of(machine);
    let caches: Vec<Keeping> = keeping.map(|index| Keeping::new(machine, &neighbours, index)).collect();
    let pairs = caches.iter().enumerate().flat_map(|(place, one)| {
        caches[place + 1..].iter().map(move |other| (one, other)).filter(|(one, other)| one.clashes(other))
    });
    // One pair is enough for the remark.
    let remark = |(one, other): (&Keeping, &Keeping)| {
        let [one, other] = [one, other].map(|cache| &machine.instances[cache.index].path);
        format!(
            "the caches `{one}` and `{other}` keep what is written, and have one memory behind them: what one keeps the other does not \
             see; set `write: through` or `private: on`"
        )
    };
    pairs.take(1).map(remark).collect()
}

/// A write-back cache, with the components before it and those behind it.
struct Keeping {
    index: usize,
    clients: BTreeSet<usize>,
    memory: BTreeSet<usize>,
}

impl Keeping {
    fn new(machine: &Machine, neighbours: &Neighbours, index: usize) -> Self {
        let clients = neighbours.before[index].iter().copied().collect();
        Keeping { index, clients, memory: memory(machine, neighbours, index) }
    }

    /// Whether two caches have one memory, and no network shares its addresses out among them.
    fn clashes(&self, other: &Keeping) -> bool {
        self.clients.is_disjoint(&other.clients) && !self.memory.is_disjoint(&other.memory)
    }
}

/// Whether a cache keeps writes that others beside it cannot see.
fn keeps_writes(one: &Instance) -> bool {
    let write = one.params.get("write").map(|node| match &node.value {
        Value::Map(entries) => entries.first().map_or("", |(key, _)| key.name.as_str()),
        _ => node.as_scalar().unwrap_or_default(),
    });
    [roles::CACHE, roles::L2].contains(&one.role)
        && write.is_none_or(|name| name == "back")
        && one.params.get("private").and_then(Node::as_scalar).is_none_or(|private| private == "off")
}

/// The components to which each component has links, and those from which it has some.
struct Neighbours {
    behind: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl Neighbours {
    fn of(machine: &Machine) -> Self {
        let none = vec![Vec::new(); machine.instances.len()];
        let mut neighbours = Neighbours { behind: none.clone(), before: none };
        for link in &machine.links {
            neighbours.behind[link.from.instance].push(link.to.instance);
            neighbours.before[link.to.instance].push(link.from.instance);
        }
        neighbours
    }
}

/// The components behind a component, beyond networks.
fn memory(machine: &Machine, neighbours: &Neighbours, of: usize) -> BTreeSet<usize> {
    let is_network = |one: usize| machine.instances[one].role == roles::NETWORK;
    let mut found = BTreeSet::new();
    let mut next = vec![of];
    while let Some(at) = next.pop() {
        for &far in &neighbours.behind[at] {
            if found.insert(far) && is_network(far) {
                next.push(far);
            }
        }
    }
    found.retain(|&one| !is_network(one));
    found
}

#[cfg(test)]
mod tests {
    use counterpoint_framework::model::{Diagnostics, SourceMap, yaml};
    use counterpoint_framework::time::Latency;
    use counterpoint_framework::topology::{Endpoint, Link};

    use super::*;
    use crate::results::summary::tests::{instance, machine};

    /// A cache with these parameters.
    fn cache(path: &str, params: &str) -> Instance {
        let (mut sources, mut diagnostics) = (SourceMap::default(), Diagnostics::default());
        let file = sources.add("params.yaml", params);
        let params = yaml::parse(file, &sources, &mut diagnostics).unwrap();
        Instance { params: params.into(), ..instance(path, roles::CACHE) }
    }

    /// A link between two components.
    fn link((from, to): (usize, usize)) -> Link {
        let end = |instance| Endpoint { instance, port: "memory".into(), index: None };
        let none = Latency::Cycles(1);
        Link {
            from: end(from),
            to: end(to),
            latency: none,
            back: none,
            capacity: None,
            bandwidth: None,
            sender_index: 0,
            socket: true,
            faults: Vec::new(),
            added: None,
        }
    }

    /// Remarks on two caches with a network behind them, before a DRAM; in front of them two SMs, or a network.
    fn remarks_on(params: &str, shared: bool) -> Vec<String> {
        let parts = vec![
            instance("sm[0]", roles::SM),
            instance("sm[1]", roles::SM),
            instance("gather", roles::NETWORK),
            cache("near[0]", params),
            cache("near[1]", params),
            instance("network", roles::NETWORK),
            instance("dram", roles::DRAM),
        ];
        let front: &[(usize, usize)] =
            if shared { &[(0, 2), (1, 2), (2, 3), (2, 4)] } else { &[(0, 3), (1, 4)] };
        let links = front.iter().chain(&[(3, 5), (4, 5), (5, 6)]).copied().map(link).collect();
        remarks(&Machine { links, ..machine(parts) })
    }

    #[test]
    fn write_back_caches_beside_each_other_are_remarked_on() {
        let found = remarks_on("{ write: back }", false);
        assert!(found.len() == 1 && found[0].contains("`near[0]` and `near[1]`"), "{found:?}");
        assert_eq!(remarks_on("{ write: { back: { allocate: off } } }", false).len(), 1);
        assert!(remarks_on("{ write: through }", false).is_empty());
        assert!(remarks_on("{ write: back, private: on }", false).is_empty());
        assert!(remarks_on("{ write: back }", true).is_empty(), "one network shares the addresses out");
    }
}
