//! A machine drawn as SVG.
//!
//! Colours are of Okabe and Ito's palette, which everybody can tell apart, and no information is in colour
//! alone: a kind's family, the word before its slash, is written in its box.

use std::collections::BTreeSet;
use std::fmt::Write;

use counterpoint_framework::topology::picture::{Graph, Layout, Metrics, Rect, Route};
use html_escape::encode_double_quoted_attribute as escape;

/// The sizes of title and text, and what a character of them is wide at most on the average, in DejaVu Sans and narrower
/// fonts.
const TITLE: f64 = 13.0;
const TEXT: f64 = 11.0;
const METRICS: Metrics =
    Metrics { title: [0.70 * TITLE, 17.0], text: [0.62 * TEXT, 14.0], stack: 2.0 * STACK };

/// Strokes and fills of families of kinds, in the order of the families' names.
const COLOURS: [(&str, &str); 7] = [
    ("#0072b2", "#e3eff7"),
    ("#009e73", "#e2f4ee"),
    ("#d55e00", "#fbeadf"),
    ("#cc79a7", "#f9eef4"),
    ("#56b4e9", "#eaf6fc"),
    ("#e69f00", "#fcf3e0"),
    ("#f0e442", "#fdfbe6"),
];

const BORDER: f64 = 10.0;
/// Offset at which the boxes of an array's further elements show behind the first.
const STACK: f64 = 4.0;

/// Draws a machine.
pub(crate) fn svg(graph: &Graph) -> String {
    let layout = Layout::new(graph, &METRICS);
    let whole = layout.groups.first().copied().unwrap_or_default();
    let (width, height) = (whole.width + 2.0 * BORDER, whole.height + 2.0 * BORDER);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{} {} {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"DejaVu Sans, Verdana, Helvetica, sans-serif\" font-size=\"{TEXT}\">\n\
         <title>{}</title>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7.5\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0.5 L8 4 L0 7.5 z\" fill=\"#444\"/></marker></defs>\n\
         <rect x=\"{}\" y=\"{}\" width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n",
        -BORDER,
        -BORDER,
        escape(&graph.name),
        -BORDER,
        -BORDER
    );
    for (depth, (group, rect)) in graph.groups.iter().zip(&layout.groups).enumerate() {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "<g class=\"module\"><title>{}</title>{}",
            escape(if depth == 0 { &graph.name } else { &group.path }),
            boxed(*rect, 6.0, "#999", if depth == 0 { "#fff" } else { "#f7f7f7" })
        );
        text(&mut out, rect.x + 12.0, rect.y + 19.0, "start", TITLE, &group.name);
        out.push_str("</g>\n");
    }
    for (arrow, route) in graph.arrows.iter().zip(&layout.routes) {
        let ends = arrow.ends.map(|end| path_of(graph, end));
        let _ = writeln!(out, "<g class=\"link\"><title>{}</title>", escape(&ends.join(" — ")));
        line(&mut out, route);
        out.push_str("</g>\n");
    }
    let families: BTreeSet<&str> = graph.parts.iter().map(|part| family(&part.kind)).collect();
    for (index, (part, rect)) in graph.parts.iter().zip(&layout.parts).enumerate() {
        let number = families.iter().position(|known| *known == family(&part.kind)).unwrap_or(0);
        let (stroke, fill) = COLOURS[number % COLOURS.len()];
        let _ = writeln!(out, "<g class=\"component\"><title>{}</title>", escape(&path_of(graph, index)));
        let count = part.instances.len().min(3) - 1;
        let behind = if count > 0 { METRICS.stack } else { 0.0 };
        let rect = Rect { width: rect.width - behind, height: rect.height - behind, ..*rect };
        for back in (0..=count).rev().map(|back| behind * back as f64 / count.max(1) as f64) {
            let shifted = Rect { x: rect.x + back, y: rect.y + back, ..rect };
            let _ = writeln!(out, "{}", boxed(shifted, 3.0, stroke, fill));
        }
        let own = layout.routes.iter().zip(&graph.arrows).filter(|(_, arrow)| arrow.ends == [index; 2]);
        let below: f64 = own.map(|(route, _)| route.label.height).sum();
        let lines = METRICS.title[1] + (1 + part.rates.len()) as f64 * METRICS.text[1];
        let middle = rect.x + rect.width / 2.0;
        let mut y = rect.y + (rect.height - lines - below) / 2.0 + TITLE;
        text(&mut out, middle, y, "middle", TITLE, &part.title());
        for fact in [&part.kind].into_iter().chain(&part.rates) {
            y += METRICS.text[1] + 1.0;
            text(&mut out, middle, y, "middle", TEXT, fact);
        }
        out.push_str("</g>\n");
    }
    for (arrow, route) in graph.arrows.iter().zip(&layout.routes) {
        for (number, label) in arrow.labels.iter().enumerate() {
            let y = route.label.y + number as f64 * METRICS.text[1] + TEXT;
            text(&mut out, route.label.x + route.label.width / 2.0, y, "middle", TEXT, label);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The path of a part; an array's has its first and last index.
fn path_of(graph: &Graph, part: usize) -> String {
    let part = &graph.parts[part];
    let group = &graph.groups[part.group].path;
    let dot = if group.is_empty() { "" } else { "." };
    let indices = match part.instances.len() {
        1 => String::new(),
        count => format!("[0..{}]", count - 1),
    };
    format!("{group}{dot}{}{indices}", part.name)
}

fn family(kind: &str) -> &str {
    kind.split('/').next().unwrap_or(kind)
}

fn boxed(rect: Rect, round: f64, stroke: &str, fill: &str) -> String {
    let Rect { x, y, width, height } = rect;
    format!(
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\" stroke=\"{stroke}\" \
         stroke-width=\"1.5\" fill=\"{fill}\"/>"
    )
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, size: f64, text: &str) {
    let weight = if size == TITLE { " font-weight=\"bold\"" } else { "" };
    let text = escape(text);
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\"{weight} fill=\"#222\">{text}</text>"
    );
}

/// The line of an arrow: level where it passes boxes and labels, bent between them.
fn line(out: &mut String, route: &Route) {
    let Some([x, y]) = route.points.first() else { return };
    let mut way = format!("M{x:.1} {y:.1}");
    for pair in route.points.windows(2) {
        let ([from, above], [to, below]) = (pair[0], pair[1]);
        let _ = match above == below {
            true => write!(way, " H{to:.1}"),
            false => {
                let middle = (from + to) / 2.0;
                write!(way, " C{middle:.1} {above:.1} {middle:.1} {below:.1} {to:.1} {below:.1}")
            }
        };
    }
    let mark = |name: &str, wanted: bool| {
        if wanted { format!(" marker-{name}=\"url(#head)\"") } else { String::new() }
    };
    let [start, end] = route.heads;
    let (start, end) = (mark("start", start), mark("end", end));
    let _ =
        writeln!(out, "<path d=\"{way}\" fill=\"none\" stroke=\"#444\" stroke-width=\"1.2\"{start}{end}/>");
}
