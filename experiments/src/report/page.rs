//! The page of a study.

use std::fmt::Write;
use std::path::Path;

use super::chart::Chart;
use super::{NARROW, WIDE, draw};
use crate::output::{MACHINE, MANIFEST};
use crate::study::Study;
use crate::study::store::point_folder;
use crate::study::table::Results;

/// What the page looks like: one column, tables that scroll by themselves, the figure that fits the screen.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1rem;color:#1a1a1a;\
    background:#fff}h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem}svg{max-width:100%;height:auto}\
    .scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\
    td,th{padding:.2rem .7rem;text-align:right;white-space:nowrap}th{border-bottom:2px solid #888}\
    td.label,th.label{text-align:left}tr:nth-child(even){background:#f4f4f4}pre{overflow-x:auto;font-size:.8rem;\
    background:#f4f4f4;padding:.7rem}summary{cursor:pointer}.narrow{display:none}\
    @media(max-width:640px){.wide{display:none}.narrow{display:block}}";

/// The page.
pub(super) fn page(study: &Study, results: &Results, charts: &[Chart], folder: &Path) -> String {
    let name = escaped(&study.name);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{name}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n"
    );
    head(study, results, &mut out);
    for chart in charts {
        figure(chart, &mut out);
    }
    points(results, &mut out);
    manifests(study, results, folder, &mut out);
    out.push_str("</body>\n</html>\n");
    out
}

fn head(study: &Study, results: &Results, out: &mut String) {
    if let Some(description) = &study.description {
        let _ = writeln!(out, "<p>{}</p>", escaped(description));
    }
    let mut facts = vec![format!("{} of {} points are finished", results.rows.len(), study.points.len())];
    if let Some(paper) = &study.paper {
        let figure = paper.figure.as_ref().map(|figure| format!(", {figure}")).unwrap_or_default();
        facts.insert(0, format!("after {}{figure}", paper.title));
    }
    facts.extend(study.chosen.scale.as_ref().map(|scale| format!("scale {scale}")));
    facts.extend(study.chosen.machine.as_ref().map(|machine| format!("on {machine}")));
    let _ = writeln!(out, "<p>{}.</p>", escaped(&facts.join("; ")));
}

fn figure(chart: &Chart, out: &mut String) {
    let _ = writeln!(out, "<section>\n<h2>{}</h2>", escaped(&chart.title));
    // The page has the title as its heading.
    let untitled = Chart { title: String::new(), ..chart.clone() };
    for (class, size) in [("wide", WIDE), ("narrow", NARROW)] {
        let label = escaped(&chart.title);
        let svg = draw::svg(&untitled, size).replacen(
            "<svg",
            &format!("<svg role=\"img\" aria-label=\"{label}\""),
            1,
        );
        let _ = writeln!(out, "<div class=\"{class}\">{}</div>", svg.trim());
    }
    let _ = writeln!(
        out,
        "<details><summary>Numbers</summary><div class=\"scroll\"><table>\n\
         <tr><th class=\"label\">series<th class=\"label\">{}<th>{}",
        escaped(&chart.x_title),
        escaped(&chart.y_title)
    );
    for series in &chart.series {
        for dot in &series.dots {
            let (stack, x) = chart.place(dot.x);
            let name = [stack, &series.name]
                .into_iter()
                .filter(|name| !name.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
            let (name, x) = (escaped(&name), escaped(&x));
            let _ = writeln!(
                out,
                "<tr><td class=\"label\">{name}<td class=\"label\">{x}<td>{}",
                draw::tick(dot.y)
            );
        }
    }
    out.push_str("</table></div></details>\n</section>\n");
}

fn points(results: &Results, out: &mut String) {
    out.push_str("<section>\n<h2>All points</h2>\n<div class=\"scroll\"><table>\n<tr>");
    for name in &results.dimensions {
        let _ = write!(out, "<th class=\"label\">{}", escaped(name));
    }
    for name in &results.names {
        let _ = write!(out, "<th>{}", escaped(name));
    }
    for row in &results.rows {
        out.push_str("\n<tr>");
        for label in &row.labels {
            let _ = write!(out, "<td class=\"label\">{}", escaped(label));
        }
        for name in &results.names {
            let _ = write!(
                out,
                "<td>{}",
                row.values.get(name).map(|value| draw::tick(*value)).unwrap_or_default()
            );
        }
    }
    out.push_str("\n</table></div>\n</section>\n");
}

/// What was run: the study, every machine once, and the manifest of each point.
fn manifests(study: &Study, results: &Results, folder: &Path, out: &mut String) {
    out.push_str("<section>\n<h2>What was run</h2>\n");
    let mut section = |title: &str, text: &str| {
        let (title, text) = (escaped(title), escaped(text));
        let _ = writeln!(out, "<details><summary>{title}</summary><pre>{text}</pre></details>");
    };
    section("The study", &study.text);
    let mut machines: Vec<String> = Vec::new();
    for row in &results.rows {
        let files = point_folder(folder, &row.key);
        let read = |name: &str| std::fs::read_to_string(files.join(name)).ok();
        let machine = read(MACHINE).map(|text| match machines.iter().position(|known| *known == text) {
            Some(number) => number + 1,
            None => {
                machines.push(text);
                machines.len()
            }
        });
        let machine = machine.map(|number| format!(", machine {number}")).unwrap_or_default();
        section(&format!("{}{machine}", row.labels.join(" / ")), &read(MANIFEST).unwrap_or_default());
    }
    for (number, text) in machines.iter().enumerate() {
        section(&format!("Machine {}", number + 1), text);
    }
    out.push_str("</section>\n");
}

/// A text within HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
