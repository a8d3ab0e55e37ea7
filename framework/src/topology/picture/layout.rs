//! The positions of a picture's parts: nested boxes, with arrows routed past them.
//!
//! Each module is laid out for itself, the innermost first, and is a box in the enclosing module. An arrow leaves a
//! module to the side of its other end, and every segment of it leads from left to right. Boxes, labels and arrows thus
//! never overlap by construction: only arrows cross each other, and only between the layers.

use super::Graph;
use super::layers::{Child, Level, Way};

/// The size of text, in the picture's units.
#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    /// Width of a character of a title, and height of its line.
    pub title: [f64; 2],
    /// Width of a character of any other text, and height of its line.
    pub text: [f64; 2],
    /// The offset at which the further elements of an array show behind its box, to the right and below.
    pub stack: f64,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

/// The place of an arrow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// From left to right; empty for an arrow between elements of one array, which is in their box.
    pub points: Vec<[f64; 2]>,
    /// Whether messages arrive at the first point, and at the last.
    pub heads: [bool; 2],
    /// The place of its label.
    pub label: Rect,
}

/// The places of all parts.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Rectangle of each group; the first is the whole picture.
    pub groups: Vec<Rect>,
    /// Rectangle of each part, with the stack behind it for an array.
    pub parts: Vec<Rect>,
    /// Route of each arrow.
    pub routes: Vec<Route>,
}

/// Between the edge of a module and its content; above there is its title, too.
const MARGIN: f64 = 16.0;
/// Between the edge of a component and its text.
const PADDING: f64 = 10.0;

/// A child of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Part(usize),
    Group(usize),
}

impl Rect {
    /// Whether two rectangles have some area in common.
    pub fn overlaps(&self, other: &Rect) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// Whether another rectangle is within this one.
    pub fn contains(&self, other: &Rect) -> bool {
        self.x <= other.x
            && self.y <= other.y
            && other.x + other.width <= self.x + self.width
            && other.y + other.height <= self.y + self.height
    }
}

impl Layout {
    /// Lays a machine out.
    pub fn new(graph: &Graph, metrics: &Metrics) -> Self {
        let count = graph.groups.len();
        let mut builder = Builder {
            graph,
            metrics,
            sizes: vec![[0.0; 2]; count],
            ports: vec![Default::default(); count],
            layout: Layout {
                groups: vec![Rect::default(); count],
                parts: vec![Rect::default(); graph.parts.len()],
                routes: vec![Route::default(); graph.arrows.len()],
            },
            pieces: Vec::new(),
        };
        for group in (0..count).rev() {
            builder.group(group);
        }
        builder.finish()
    }
}

struct Builder<'a> {
    graph: &'a Graph,
    metrics: &'a Metrics,
    /// Size of each group, and how far down arrows leave it.
    sizes: Vec<[f64; 2]>,
    ports: Vec<std::collections::BTreeMap<usize, f64>>,
    /// Layout so far. Until the end, boxes and labels are relative to their group.
    layout: Layout,
    /// The stretch of an arrow in a group.
    pieces: Vec<Piece>,
}

struct Piece {
    arrow: usize,
    group: usize,
    points: Vec<[f64; 2]>,
    labelled: bool,
}

impl Builder<'_> {
    /// The child of a group in which a part is.
    fn item(&self, group: usize, part: usize) -> Option<Item> {
        let own = self.graph.parts[part].group;
        if own == group {
            return Some(Item::Part(part));
        }
        self.graph
            .enclosing(own)
            .find(|&inner| self.graph.groups[inner].parent == Some(group))
            .map(Item::Group)
    }

    /// The order of a module's children: the rank of their part that is nearest to a root.
    fn rank(&self, item: Item) -> ((usize, usize), Item) {
        let rank = |part: usize| self.graph.parts[part].rank(self.graph.degree(part));
        let nearest = match item {
            Item::Part(part) => Some(rank(part)),
            Item::Group(group) => {
                let within = |part: &usize| {
                    self.graph.enclosing(self.graph.parts[*part].group).any(|one| one == group)
                };
                (0..self.graph.parts.len()).filter(within).map(rank).min()
            }
        };
        (nearest.unwrap_or_default(), item)
    }

    /// Index of the left end of an arrow: the end in the earlier child of the innermost module that contains both ends.
    fn left_end(&self, arrow: usize) -> usize {
        let [a, b] = self.graph.arrows[arrow].ends;
        let items = |group: usize| Some([self.item(group, a)?, self.item(group, b)?]);
        let common = self.graph.enclosing(self.graph.parts[a].group).find_map(items);
        common.map_or(0, |[a, b]| usize::from(self.rank(b) < self.rank(a)))
    }

    fn label(&self, arrow: usize) -> [f64; 2] {
        let labels = &self.graph.arrows[arrow].labels;
        let [character, line] = self.metrics.text;
        let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        [longest as f64 * character + PADDING, labels.len() as f64 * line + 4.0]
    }

    /// The size of a component's box: name, kind, rates, and the arrows between its own elements.
    fn part(&self, part: usize) -> [f64; 2] {
        let found = &self.graph.parts[part];
        let own = self.graph.arrows.iter().filter(|arrow| arrow.ends == [part, part]);
        let lines: Vec<&String> = [&found.kind]
            .into_iter()
            .chain(&found.rates)
            .chain(own.flat_map(|arrow| &arrow.labels))
            .collect();
        let width = |text: &str, character: f64| text.chars().count() as f64 * character;
        let title = width(&found.title(), self.metrics.title[0]);
        let widest = lines.iter().map(|line| width(line, self.metrics.text[0])).fold(title, f64::max);
        let height = self.metrics.title[1] + lines.len() as f64 * self.metrics.text[1];
        let stack = if found.instances.len() > 1 { self.metrics.stack } else { 0.0 };
        [widest + 2.0 * PADDING + stack, height + 2.0 * PADDING + stack]
    }

    /// Lays the inside of a module out.
    fn group(&mut self, group: usize) {
        let found = (0..self.graph.parts.len()).filter_map(|part| self.item(group, part));
        let mut items: Vec<_> = found.map(|item| self.rank(item)).collect();
        items.sort_unstable();
        items.dedup();
        let place = |part: usize| {
            let item = self.item(group, part)?;
            items.iter().position(|(_, other)| *other == item)
        };
        let mut ways = Vec::new();
        for (arrow, ends) in self.graph.arrows.iter().map(|arrow| arrow.ends).enumerate() {
            let [a, b] = ends;
            let left = self.left_end(arrow);
            let ends = if left == 0 { [place(a), place(b)] } else { [place(b), place(a)] };
            // An arrow within one child is left to that child.
            if ends[0] != ends[1] {
                let label = (ends[0].is_some() && ends[1].is_some()).then(|| self.label(arrow));
                ways.push(Way { arrow, ends, label });
            }
        }
        let child = |(_, item): &(_, Item)| match *item {
            Item::Part(part) => Child { size: self.part(part), ports: None },
            Item::Group(inner) => Child { size: self.sizes[inner], ports: Some(self.ports[inner].clone()) },
        };
        let level = Level::new(items.iter().map(child).collect(), &ways);
        let top = MARGIN + self.metrics.title[1];
        for (child, (_, item)) in items.iter().enumerate() {
            let ([x, y], [width, height]) = level.child(child);
            let rect = Rect { x: x + MARGIN, y: y + top, width, height };
            match *item {
                Item::Part(part) => self.layout.parts[part] = rect,
                Item::Group(inner) => self.layout.groups[inner] = rect,
            }
        }
        for way in &ways {
            let (points, label) = level.route(way, MARGIN);
            let points: Vec<[f64; 2]> = points.into_iter().map(|[x, y]| [x + MARGIN, y + top]).collect();
            if let (Some([x, y]), Some([width, height])) = (label, way.label) {
                self.layout.routes[way.arrow].label = Rect { x: x + MARGIN, y: y + top, width, height };
            } else if let (Some(first), Some(last)) = (points.first(), points.last()) {
                let port = if way.ends[0].is_none() { first[1] } else { last[1] };
                self.ports[group].insert(way.arrow, port);
            }
            self.pieces.push(Piece { arrow: way.arrow, group, points, labelled: label.is_some() });
        }
        let title = self.graph.groups[group].name.chars().count() as f64 * self.metrics.title[0];
        let [width, height] = level.size;
        self.sizes[group] = [width.max(title) + 2.0 * MARGIN, height + top + MARGIN];
    }

    /// Converts all positions from group coordinates to picture coordinates.
    fn finish(self) -> Layout {
        let Builder { graph, metrics, sizes, mut layout, pieces, .. } = self;
        layout.groups[0] = Rect { x: 0.0, y: 0.0, width: sizes[0][0], height: sizes[0][1] };
        let moved = |rect: Rect, by: Rect| Rect { x: rect.x + by.x, y: rect.y + by.y, ..rect };
        for (group, found) in graph.groups.iter().enumerate() {
            if let Some(parent) = found.parent {
                layout.groups[group] = moved(layout.groups[group], layout.groups[parent]);
            }
        }
        for (rect, part) in layout.parts.iter_mut().zip(&graph.parts) {
            *rect = moved(*rect, layout.groups[part.group]);
        }
        for piece in pieces {
            let (by, route) = (layout.groups[piece.group], &mut layout.routes[piece.arrow]);
            route.points.extend(piece.points.iter().map(|[x, y]| [x + by.x, y + by.y]));
            if piece.labelled {
                route.label = moved(route.label, by);
            }
        }
        for (route, arrow) in layout.routes.iter_mut().zip(&graph.arrows) {
            // Every stretch leads from left to right.
            route.points.sort_by(|a, b| a[0].total_cmp(&b[0]));
            route.points.dedup();
            let [a, b] = arrow.ends;
            let lines = arrow.labels.len() as f64 * metrics.text[1];
            if a == b {
                let Rect { x, y, width, height } = layout.parts[a];
                route.label = Rect { x, y: y + height - PADDING - lines, width, height: lines };
            }
            let swapped = layout.parts[b].x < layout.parts[a].x;
            route.heads = if swapped { [arrow.heads[1], arrow.heads[0]] } else { arrow.heads };
        }
        layout
    }
}
