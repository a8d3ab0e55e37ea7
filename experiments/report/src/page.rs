//! A page of results in one file of HTML that needs nothing else.

use std::fmt::Write;

use html_escape::encode_double_quoted_attribute as escape;

use crate::chart::Chart;
use crate::draw;

/// The sizes in which a figure is drawn in pixels: for a page on a screen, and for one on a phone.
pub const WIDE: (u32, u32) = (960, 480);
const NARROW: (u32, u32) = (380, 420);

/// The style of the page: one column, tables that scroll by themselves, the figure that fits the screen.
const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:0 auto;padding:1rem;color:#1a1a1a;\
    background:#fff}h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2.5rem}svg{max-width:100%;height:auto}\
    .scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}\
    td,th{padding:.2rem .7rem;text-align:right;white-space:nowrap}th{border-bottom:2px solid #888}\
    td.label,th.label{text-align:left}tr:nth-child(even){background:#f4f4f4}pre{overflow-x:auto;font-size:.8rem;\
    background:#f4f4f4;padding:.7rem}summary{cursor:pointer}.narrow{display:none}\
    @media(max-width:640px){.wide{display:none}.narrow{display:block}}";

/// A page.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// A paragraph below the title.
    pub description: Option<&'a str>,
    /// A sentence below that.
    pub facts: &'a str,
    /// The figures, each with its numbers.
    pub charts: &'a [Chart],
    /// Table of all numbers.
    pub table: &'a Table,
    /// The documents run: titles and texts.
    pub documents: &'a [(String, String)],
}

/// A table of labels and numbers.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Heading of the table.
    pub heading: String,
    /// The names of the columns of labels.
    pub labels: Vec<String>,
    /// The names of the columns of numbers.
    pub names: Vec<String>,
    /// The labels and the numbers of each row; a number may be missing.
    pub rows: Vec<(Vec<String>, Vec<Option<f64>>)>,
}

impl Page<'_> {
    /// The page as HTML.
    pub fn html(&self) -> String {
        let title = escape(self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        if let Some(description) = self.description {
            let _ = writeln!(out, "<p>{}</p>", escape(description));
        }
        let _ = writeln!(out, "<p>{}</p>", escape(self.facts));
        for chart in self.charts {
            figure(chart, &mut out);
        }
        table(self.table, &mut out);
        out.push_str("<section>\n<h2>What was run</h2>\n");
        for (title, text) in self.documents {
            let (title, text) = (escape(title), escape(text));
            let _ = writeln!(out, "<details><summary>{title}</summary><pre>{text}</pre></details>");
        }
        out.push_str("</section>\n</body>\n</html>\n");
        out
    }
}

fn figure(chart: &Chart, out: &mut String) {
    let _ = writeln!(out, "<section>\n<h2>{}</h2>", escape(&chart.title));
    // The page has the title as its heading.
    let chart = &chart.readable();
    let untitled = Chart { title: String::new(), ..chart.clone() };
    for (class, size) in [("wide", WIDE), ("narrow", NARROW)] {
        let label = escape(&chart.title);
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
        escape(&chart.x_title),
        escape(&chart.y_title)
    );
    for series in &chart.series {
        for dot in &series.dots {
            let (stack, x) = chart.place(dot.x);
            let name = [stack, &series.name]
                .into_iter()
                .filter(|name| !name.is_empty())
                .collect::<Vec<_>>()
                .join(", ");
            let (name, x) = (escape(&name), escape(&x));
            let _ = writeln!(
                out,
                "<tr><td class=\"label\">{name}<td class=\"label\">{x}<td>{}",
                draw::tick(dot.y)
            );
        }
    }
    out.push_str("</table></div></details>\n</section>\n");
}

fn table(table: &Table, out: &mut String) {
    let heading = escape(&table.heading);
    let _ = write!(out, "<section>\n<h2>{heading}</h2>\n<div class=\"scroll\"><table>\n<tr>");
    for name in &table.labels {
        let _ = write!(out, "<th class=\"label\">{}", escape(name));
    }
    for name in &table.names {
        let _ = write!(out, "<th>{}", escape(name));
    }
    for (labels, values) in &table.rows {
        out.push_str("\n<tr>");
        for label in labels {
            let _ = write!(out, "<td class=\"label\">{}", escape(label));
        }
        for value in values {
            let _ = write!(out, "<td>{}", value.map(draw::tick).unwrap_or_default());
        }
    }
    out.push_str("\n</table></div>\n</section>\n");
}
