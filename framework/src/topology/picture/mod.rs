//! A machine as a drawing: modules as nested groups, components in them, arrays once, and one arrow between two parts
//! that are linked.
//!
//! [`Graph`] is the content of the drawing, [`Layout`] gives its positions. The means of drawing are outside this
//! module.

mod label;
mod layers;
mod layout;
mod place;

use std::collections::{BTreeMap, VecDeque};

use super::machine::{Instance, Machine};
use crate::model::Node;
use crate::time::{BytesPerSecond, Quantity};
use label::{Joint, joints};
pub use layout::{Layout, Metrics, Rect, Route};

/// The picture of a machine.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The machine's name.
    pub name: String,
    /// The modules; the first is the machine itself, and a nested module comes after its enclosing module.
    pub groups: Vec<Group>,
    /// The components, those of an array together, in the order of their paths.
    pub parts: Vec<PicturePart>,
    /// The arrows between them; there is one arrow at most between two.
    pub arrows: Vec<Arrow>,
}

/// Treatment of arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrays {
    /// All elements are one part.
    Together,
    /// Each element is a part, with the number that it has in [`Machine::instances`].
    Apart,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its path; empty for the machine.
    pub path: String,
    /// The last part of its path, or the machine's name.
    pub name: String,
    /// The enclosing module; `None` for the machine.
    pub parent: Option<usize>,
}

/// A component, or an array of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PicturePart {
    /// The last part of its path, without an index if it is an array.
    pub name: String,
    /// Kind of the component.
    pub kind: String,
    /// The enclosing module.
    pub group: usize,
    /// Indices into [`Machine::instances`]; more than one is an array.
    pub instances: Vec<usize>,
    /// Parameters of it that are rates, such as `bandwidth 15.75 GB/s`, if all elements have the same.
    pub rates: Vec<String>,
    /// Steps from the nearest root.
    pub distance: usize,
}

/// The joint between two parts, or the elements of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The parts, the one that is nearer to a root first.
    pub ends: [usize; 2],
    /// Whether messages arrive at each end.
    pub heads: [bool; 2],
    /// Its links, a line for each sort, such as `16 × 8 cycles`.
    pub labels: Vec<String>,
    /// Indices into [`Machine::links`]; a socket has two.
    pub links: Vec<usize>,
}

impl PicturePart {
    /// Title of the component: `sm × 16` for an array.
    pub fn title(&self) -> String {
        match self.instances.len() {
            1 => self.name.clone(),
            count => format!("{} × {count}", self.name),
        }
    }

    /// Key of the order from root to rim: by distance, then by number of neighbours, because a hub comes after the many
    /// parts that link to it.
    fn rank(&self, degree: usize) -> (usize, usize) {
        (self.distance, degree)
    }
}

impl Graph {
    /// The picture of a machine, beginning from the components that are roots, such as its hosts.
    pub fn new(machine: &Machine, arrays: Arrays, is_root: impl Fn(&Instance) -> bool) -> Self {
        let mut graph = Graph {
            name: machine.name.clone(),
            groups: vec![Group { path: String::new(), name: machine.name.clone(), parent: None }],
            parts: Vec::new(),
            arrows: Vec::new(),
        };
        let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut part_of = Vec::new();
        for (index, instance) in machine.instances.iter().enumerate() {
            let (array, name) = match arrays {
                Arrays::Together => array(&instance.path),
                Arrays::Apart => (instance.path.as_str(), ""),
            };
            let part = *places.entry((array, &instance.kind)).or_insert_with(|| {
                let group = graph.group(array);
                graph.parts.push(PicturePart {
                    name: name.to_owned(),
                    kind: instance.kind.clone(),
                    group,
                    instances: Vec::new(),
                    rates: rates(&instance.params),
                    distance: usize::MAX,
                });
                graph.parts.len() - 1
            });
            let found = &mut graph.parts[part];
            found.instances.push(index);
            found.rates.retain(|rate| rates(&instance.params).contains(rate));
            part_of.push(part);
        }
        for part in &mut graph.parts {
            // An array of one keeps its index, by which a user can address it.
            if let [only] = part.instances[..] {
                let path = &machine.instances[only].path;
                part.name = path.rsplit('.').next().unwrap_or(path).to_owned();
            }
        }
        let joints = joints(machine, &part_of);
        graph.measure(machine, &joints, is_root);
        graph.arrows = graph.arrows(joints);
        graph
    }

    /// The group of an array or component with this path; it is made if it is not there.
    fn group(&mut self, path: &str) -> usize {
        let mut group = 0;
        for (at, _) in path.match_indices('.') {
            let known = self.groups.iter().position(|known| known.path == path[..at]);
            group = known.unwrap_or_else(|| {
                let name = path[..at].rsplit('.').next().unwrap_or_default().to_owned();
                self.groups.push(Group { path: path[..at].to_owned(), name, parent: Some(group) });
                self.groups.len() - 1
            });
        }
        group
    }

    /// Notes how far each part is from the roots, along links on which both ends speak: a part that only
    /// sends to another is no nearer to it. A part without links begins at its first component.
    fn measure(
        &mut self,
        machine: &Machine,
        joints: &BTreeMap<[usize; 2], Joint>,
        is_root: impl Fn(&Instance) -> bool,
    ) {
        let of_root =
            |part: &PicturePart| part.instances.iter().any(|&index| is_root(&machine.instances[index]));
        let roots: Vec<usize> = (0..self.parts.len()).filter(|&part| of_root(&self.parts[part])).collect();
        for first in std::iter::once(roots).chain((0..self.parts.len()).map(|part| vec![part])) {
            let mut queue: VecDeque<usize> = VecDeque::new();
            for root in first {
                if self.parts[root].distance == usize::MAX {
                    self.parts[root].distance = 0;
                    queue.push_back(root);
                }
            }
            loop {
                while let Some(part) = queue.pop_front() {
                    let talks = joints.iter().filter(|(_, joint)| joint.goes_both_ways());
                    self.reach(part, talks.map(|(ends, _)| *ends), &mut queue);
                }
                // A part that speaks with none of the placed ones is behind the first that sends to it or
                // receives from it.
                for part in 0..self.parts.len() {
                    if self.parts[part].distance != usize::MAX && queue.is_empty() {
                        self.reach(part, joints.keys().copied(), &mut queue);
                    }
                }
                if queue.is_empty() {
                    break;
                }
            }
        }
    }

    /// Sets the distance of the parts that these joints connect with `part`: one step more than that of `part`.
    fn reach(&mut self, part: usize, joints: impl Iterator<Item = [usize; 2]>, queue: &mut VecDeque<usize>) {
        let next = self.parts[part].distance + 1;
        for [a, b] in joints.filter(|ends| ends.contains(&part)) {
            let other = if a == part { b } else { a };
            if self.parts[other].distance == usize::MAX {
                self.parts[other].distance = next;
                queue.push_back(other);
            }
        }
    }

    fn arrows(&self, joints: BTreeMap<[usize; 2], Joint>) -> Vec<Arrow> {
        let mut degrees = vec![0; self.parts.len()];
        for end in joints.keys().flatten() {
            degrees[*end] += 1;
        }
        let rank = |part: usize| (self.parts[part].rank(degrees[part]), part);
        let arrow = |([a, b], joint): ([usize; 2], Joint)| match rank(a) <= rank(b) {
            true => joint.arrow([a, b]),
            false => joint.turned().arrow([b, a]),
        };
        joints.into_iter().map(arrow).collect()
    }

    /// Number of arrows that meet in a part.
    fn degree(&self, part: usize) -> usize {
        self.arrows.iter().filter(|arrow| arrow.ends.contains(&part)).count()
    }

    /// The groups that a group is in, itself first, the machine last.
    fn enclosing(&self, group: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(group), |&inner| self.groups[inner].parent)
    }
}

/// The path of the array that a component is in, or its own, and the last part of that.
fn array(path: &str) -> (&str, &str) {
    let open = path.strip_suffix(']').and_then(|path| path.rsplit_once('['));
    let array = open.filter(|(_, index)| index.bytes().all(|byte| byte.is_ascii_digit()));
    let array = array.map_or(path, |(array, _)| array);
    (array, array.rsplit('.').next().unwrap_or(array))
}

/// The parameters of a component that are rates.
fn rates(params: &Node) -> Vec<String> {
    let entries = params.as_map().unwrap_or_default().iter();
    let rate = |(key, value): &(crate::model::Key, Node)| {
        let rate = BytesPerSecond::parse(value.as_scalar()?).ok()?;
        Some(format!("{} {rate}", key.name.replace('_', " ")))
    };
    entries.filter_map(rate).collect()
}
