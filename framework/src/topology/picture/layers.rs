//! The inside of one module in layers from left to right: each child in the layer of the longest path to it, labels and bends
//! of arrows in the layers that they pass, so that nothing overlaps.
//!
//! Children have the odd layers, arrows between them the even ones. An arrow to somewhere outside ends at a
//! port in the first layer or the last. Crossings are avoided by sweeps that order each layer by the middle
//! of its neighbours.

use std::collections::BTreeMap;

use super::place::{Slot, place};

/// A component or a module to be placed.
pub(super) struct Child {
    pub(super) size: [f64; 2],
    /// Of a module: how far down arrows leave it.
    pub(super) ports: Option<BTreeMap<usize, f64>>,
}

/// An arrow, or the part of it that is in this module.
pub(super) struct Way {
    pub(super) arrow: usize,
    /// The children that it joins, the left one first; none is outside.
    pub(super) ends: [Option<usize>; 2],
    /// The size of its label, if that is here.
    pub(super) label: Option<[f64; 2]>,
}

pub(super) struct Level {
    vertices: Vec<Vertex>,
    layers: Vec<Vec<usize>>,
    segments: Vec<Segment>,
    /// Places of the labels of arrows.
    labels: BTreeMap<usize, usize>,
    /// Of each layer its left and right edge.
    edges: Vec<[f64; 2]>,
    pub(super) size: [f64; 2],
}

struct Vertex {
    layer: usize,
    size: [f64; 2],
    top: f64,
    ports: Ports,
}

/// Distance from a vertex's upper edge at which an arrow meets it.
enum Ports {
    /// Spread over the side of a box, in the order of the origins of the arrows.
    Spread,
    At(BTreeMap<usize, f64>),
    All(f64),
}

struct Segment {
    arrow: usize,
    ends: [usize; 2],
}

/// Space between items in a layer; below a box there is the rest of its stack.
const SPACE: f64 = 14.0;
/// Between arrows that leave a box on one side.
const SPREAD: f64 = 16.0;
/// The height of a layer with only a line in it.
const LINE: f64 = 4.0;
/// Between layers: at least, and how much more for lines that climb.
const GAP: [f64; 2] = [18.0, 0.10];
/// Number of sweeps over the layers; after fewer the pictures of all machines stay as they are.
const SWEEPS: usize = 12;

impl Level {
    /// Lays children out; each comes before the children to which it leads.
    pub(super) fn new(children: Vec<Child>, ways: &[Way]) -> Self {
        let mut own = vec![0; children.len()];
        let mut inner: Vec<[usize; 2]> =
            ways.iter().filter_map(|way| Some([way.ends[0]?, way.ends[1]?])).collect();
        inner.sort_unstable();
        for [from, to] in inner {
            own[to] = own[to].max(own[from] + 1);
        }
        let last = own.iter().max().map_or(0, |deepest| 2 * deepest + 2);
        let mut level = Level {
            vertices: Vec::new(),
            layers: vec![Vec::new(); last + 1],
            segments: Vec::new(),
            labels: BTreeMap::new(),
            edges: Vec::new(),
            size: [0.0; 2],
        };
        for (child, layer) in children.into_iter().zip(own) {
            level.add(2 * layer + 1, child.size, child.ports.map_or(Ports::Spread, Ports::At));
        }
        for way in ways {
            level.chain(way, last);
        }
        for vertex in 0..level.vertices.len() {
            if matches!(level.vertices[vertex].ports, Ports::Spread) {
                let most = [0, 1].map(|side| level.at(vertex, side).count()).into_iter().max().unwrap_or(0);
                let height = &mut level.vertices[vertex].size[1];
                *height = height.max(SPREAD * (most + 1) as f64);
            }
        }
        level.order();
        level.tops();
        level.columns();
        level
    }

    fn add(&mut self, layer: usize, size: [f64; 2], ports: Ports) -> usize {
        self.layers[layer].push(self.vertices.len());
        self.vertices.push(Vertex { layer, size, top: 0.0, ports });
        self.vertices.len() - 1
    }

    /// Adds the vertices of an arrow in each layer that it passes.
    fn chain(&mut self, way: &Way, last: usize) {
        let layer = |end: Option<usize>, level: &Level| end.map(|end| level.vertices[end].layer);
        let first = layer(way.ends[0], self).map_or(0, |layer| layer + 1);
        let behind = layer(way.ends[1], self).unwrap_or(last + 1);
        let mut before = way.ends[0];
        for layer in first..behind {
            let label = way.label.filter(|_| layer == first);
            let size = label.unwrap_or([0.0, LINE]);
            let down = if label.is_some() { size[1] - LINE / 2.0 } else { LINE / 2.0 };
            let next = self.add(layer, size, Ports::All(down));
            self.segments.extend(before.map(|before| Segment { arrow: way.arrow, ends: [before, next] }));
            if label.is_some() {
                self.labels.insert(way.arrow, next);
            }
            before = Some(next);
        }
        if let (Some(before), Some(end)) = (before, way.ends[1]) {
            self.segments.push(Segment { arrow: way.arrow, ends: [before, end] });
        }
    }

    /// The segments that meet a vertex from the left (0) or the right (1).
    fn at(&self, vertex: usize, side: usize) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.ends[1 - side] == vertex)
    }

    /// The places of all vertices in their layers.
    fn positions(&self) -> Vec<f64> {
        let mut positions = vec![0.0; self.vertices.len()];
        for layer in &self.layers {
            for (place, &vertex) in layer.iter().enumerate() {
                positions[vertex] = place as f64;
            }
        }
        positions
    }

    /// The position of a segment's end in its layer; an arrow that leaves a module lower comes later.
    fn position(&self, segment: &Segment, end: usize, positions: &[f64]) -> f64 {
        let vertex = segment.ends[end];
        let within = match &self.vertices[vertex].ports {
            Ports::At(ports) => {
                ports.get(&segment.arrow).map_or(0.0, |down| down / self.vertices[vertex].size[1])
            }
            _ => 0.5,
        };
        positions[vertex] + within
    }

    fn order(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..SWEEPS {
            let side = sweep % 2;
            let mut sequence: Vec<usize> = (0..self.layers.len()).collect();
            if side == 1 {
                sequence.reverse();
            }
            for layer in sequence {
                let positions = self.positions();
                let middle = |vertex: usize| {
                    let neighbours = self.at(vertex, side).map(|one| self.position(one, side, &positions));
                    mean(neighbours.map(|place| (place, 1.0))).unwrap_or(positions[vertex])
                };
                let mut order: Vec<(f64, usize)> =
                    self.layers[layer].iter().map(|&vertex| (middle(vertex), vertex)).collect();
                order.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.layers[layer] = order.into_iter().map(|(_, vertex)| vertex).collect();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// Number of pairs of arrows that cross.
    fn crossings(&self) -> usize {
        let positions = self.positions();
        let lines: Vec<(usize, f64, f64)> = self
            .segments
            .iter()
            .map(|one| {
                let at = |end| self.position(one, end, &positions);
                (self.vertices[one.ends[0]].layer, at(0), at(1))
            })
            .collect();
        let cross =
            |a: &(usize, f64, f64), b: &(usize, f64, f64)| a.0 == b.0 && (a.1 - b.1) * (a.2 - b.2) < 0.0;
        lines.iter().enumerate().map(|(index, a)| lines[..index].iter().filter(|b| cross(a, b)).count()).sum()
    }

    /// Distance of a segment's end from the upper edge of its vertex.
    fn down(&self, segment: &Segment, end: usize, positions: &[f64]) -> f64 {
        let vertex = segment.ends[end];
        match &self.vertices[vertex].ports {
            Ports::All(down) => *down,
            Ports::At(ports) => ports.get(&segment.arrow).copied().unwrap_or_default(),
            Ports::Spread => {
                let place = |one: &Segment| (self.position(one, 1 - end, positions), one.arrow);
                let own = place(segment);
                let above = self.at(vertex, 1 - end).filter(|one| place(one) < own).count();
                let count = self.at(vertex, 1 - end).count();
                self.vertices[vertex].size[1] * (above + 1) as f64 / (count + 1) as f64
            }
        }
    }

    fn tops(&mut self) {
        let positions = self.positions();
        for sweep in 0..SWEEPS + 2 {
            // From the left, from the right, and in the end from both.
            let sides: &[usize] = if sweep < SWEEPS { &[[0], [1]][sweep % 2] } else { &[0, 1] };
            let mut sequence: Vec<usize> = (0..self.layers.len()).collect();
            if sides == [1] {
                sequence.reverse();
            }
            for layer in sequence {
                let slot = |&vertex: &usize| {
                    let own = &self.vertices[vertex];
                    let wanted =
                        sides.iter().flat_map(|&side| self.at(vertex, side).map(move |one| (one, side)));
                    let wanted = wanted.map(|(one, side)| {
                        let there = self.vertices[one.ends[side]].top + self.down(one, side, &positions);
                        (there - self.down(one, 1 - side, &positions), 1.0)
                    });
                    let wanted = mean(wanted);
                    // Lines that pass weigh more than boxes, which may be anywhere.
                    let weight = match (&own.ports, wanted) {
                        (_, None) => 0.01,
                        (Ports::All(_), _) => 4.0,
                        _ => 1.0,
                    };
                    Slot { wanted: wanted.unwrap_or(own.top), weight, height: own.size[1] + SPACE }
                };
                let slots: Vec<Slot> = self.layers[layer].iter().map(slot).collect();
                for (vertex, top) in self.layers[layer].iter().zip(place(&slots)) {
                    self.vertices[*vertex].top = top;
                }
            }
        }
        let highest = self.vertices.iter().map(|vertex| vertex.top).fold(f64::INFINITY, f64::min);
        for vertex in &mut self.vertices {
            vertex.top -= highest;
            self.size[1] = self.size[1].max(vertex.top + vertex.size[1]);
        }
    }

    /// Gives each layer its position from left to right.
    fn columns(&mut self) {
        let positions = self.positions();
        let mut left = 0.0;
        for (number, layer) in self.layers.iter().enumerate() {
            let width = layer.iter().map(|&vertex| self.vertices[vertex].size[0]).fold(0.0, f64::max);
            self.edges.push([left, left + width]);
            let behind = self.segments.iter().filter(|one| self.vertices[one.ends[0]].layer == number);
            let climb = behind.map(|one| {
                let [from, to] =
                    [0, 1].map(|end| self.vertices[one.ends[end]].top + self.down(one, end, &positions));
                (to - from).abs()
            });
            let climb = climb.reduce(f64::max);
            left += width + climb.map_or(0.0, |climb| GAP[0] + GAP[1] * climb);
        }
        self.size[0] = self.edges.last().map_or(0.0, |edges| edges[1]);
    }

    /// The place of a child: its left and upper edge, and its size.
    pub(super) fn child(&self, child: usize) -> ([f64; 2], [f64; 2]) {
        let Vertex { layer, size, top, .. } = &self.vertices[child];
        let [left, right] = self.edges[*layer];
        ([left + (right - left - size[0]) / 2.0, *top], *size)
    }

    /// The points of an arrow from left to right, and the left upper edge of its label. An arrow from or to the outside
    /// ends at a distance of `margin`.
    pub(super) fn route(&self, way: &Way, margin: f64) -> (Vec<[f64; 2]>, Option<[f64; 2]>) {
        let positions = self.positions();
        let mut points = Vec::new();
        let mut segments: Vec<&Segment> = self.segments.iter().filter(|one| one.arrow == way.arrow).collect();
        segments.sort_by_key(|one| self.vertices[one.ends[0]].layer);
        for segment in segments {
            for end in [0, 1] {
                let vertex = segment.ends[end];
                let height = self.vertices[vertex].top + self.down(segment, end, &positions);
                let [left, right] = self.edges[self.vertices[vertex].layer];
                let edge = if end == 0 { right } else { left };
                let outer = (Some(vertex) == way.ends[end]).then(|| {
                    let ([left, _], [width, _]) = self.child(vertex);
                    if end == 0 { left + width } else { left }
                });
                let mut own = vec![[edge, height]];
                own.extend(outer.map(|x| [x, height]));
                if end == 0 {
                    own.reverse();
                }
                points.extend(own);
            }
        }
        if way.ends[0].is_none()
            && let Some([_, height]) = points.first().copied()
        {
            points.insert(0, [-margin, height]);
        }
        if way.ends[1].is_none()
            && let Some([_, height]) = points.last().copied()
        {
            points.push([self.size[0] + margin, height]);
        }
        let label = self.labels.get(&way.arrow).map(|&label| {
            let [left, _] = self.edges[self.vertices[label].layer];
            [left, self.vertices[label].top]
        });
        (points, label)
    }
}

/// The mean of values with weights, if there are any.
fn mean(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (sum, weight) =
        values.fold((0.0, 0.0), |(sum, all), (value, weight)| (sum + value * weight, all + weight));
    (weight > 0.0).then(|| sum / weight)
}
