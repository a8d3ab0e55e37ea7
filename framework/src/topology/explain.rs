//! The documentation of a component kind as text, from the same declarations that read its parameters.

use std::fmt::Write;

use crate::model::families::{Described, VariantInfo};
use crate::model::ports::{PortInfo, PortShape};
use crate::model::{Families, Field, KindInfo};

/// The documentation of a kind: its model, its parameters and its ports.
pub fn explain(kind: &KindInfo, families: &Families) -> String {
    page((kind.name, kind.doc), &kind.fields, &(kind.ports)(), &Described::new(families))
}

/// The documentation of a variant of a family, which parameters choose by its name.
pub fn explain_variant(variant: &VariantInfo, families: &Families) -> String {
    let described = Described::new(families);
    page((variant.name, variant.doc), &variant.fields, &(variant.ports)(), &described)
}

fn page((name, doc): (&str, &str), list: &[Field], ports: &[PortInfo], families: &Described<'_>) -> String {
    let mut out = format!("{name}\n");
    paragraph(&mut out, 1, doc);
    if !list.is_empty() {
        out.push_str("\nParameters\n");
        fields(&mut out, 1, list, families);
    }
    if !ports.is_empty() {
        out.push_str("\nPorts\n");
    }
    describe_ports(&mut out, 1, ports);
    out
}

fn describe_ports(out: &mut String, depth: usize, ports: &[PortInfo]) {
    for port in ports {
        let shape = match port.shape {
            PortShape::In(message) => format!("receives {}", message.name),
            PortShape::Out(message) => format!("sends {}", message.name),
            PortShape::Socket { sends, receives } => {
                format!("socket, sends {} and receives {}", sends.name, receives.name)
            }
        };
        let array = if port.array { "[]" } else { "" };
        let optional = if port.optional { ", optional" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}{}{array}: {shape}{optional}", indent(depth), port.name);
        paragraph(out, depth + 2, port.doc);
    }
}

/// Describes a file that is a map of parameters.
pub fn explain_file(name: &str, doc: &str, keys: &[Field]) -> String {
    let mut out = format!("{name}\n");
    paragraph(&mut out, 1, doc);
    out.push_str("\nKeys\n");
    fields(&mut out, 1, keys, &Described::new(&Families::default()));
    out
}

/// The first sentence of a documentation, in one line.
pub fn first_sentence(doc: &str) -> String {
    let paragraph: Vec<&str> = doc.split("\n\n").next().unwrap_or_default().split_whitespace().collect();
    paragraph.join(" ").split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
}

pub(super) fn fields(out: &mut String, depth: usize, list: &[Field], families: &Described<'_>) {
    for field in list {
        let mut facts = vec![field.kind.description.clone()];
        match (field.bounds.min, field.bounds.max) {
            (Some(min), Some(max)) => facts.push(format!("{min} to {max}")),
            (Some(min), None) => facts.push(format!("at least {min}")),
            (None, Some(max)) => facts.push(format!("at most {max}")),
            (None, None) => {}
        }
        match field.default {
            Some(default) => facts.push(format!("default {default}")),
            None if field.required => facts.push("required".to_owned()),
            None => facts.push("optional".to_owned()),
        }
        let _ = writeln!(out, "{}{}: {}", indent(depth), field.name, facts.join(", "));
        paragraph(out, depth + 2, field.doc);
        fields(out, depth + 2, &field.kind.fields, families);
        for choice in &field.kind.choices {
            let _ = writeln!(out, "{}- {}", indent(depth + 2), choice.name);
            paragraph(out, depth + 4, choice.doc);
        }
        let Some(family) = field.kind.family else { continue };
        let Some(within) = families.within(family) else {
            let _ = writeln!(out, "{}- one of those around it", indent(depth + 2));
            continue;
        };
        for variant in families.variants(family) {
            let _ = writeln!(out, "{}- {}", indent(depth + 2), variant.name);
            paragraph(out, depth + 4, variant.doc);
            fields(out, depth + 4, &variant.fields, &within);
            let ports = (variant.ports)();
            if !ports.is_empty() {
                let _ = writeln!(out, "{}ports that it brings along:", indent(depth + 4));
                describe_ports(out, depth + 5, &ports);
            }
        }
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

/// A documentation text, wrapped.
pub(super) fn paragraph(out: &mut String, depth: usize, text: &str) {
    const WIDTH: usize = 100;
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let mut line = indent(depth);
        for word in block.split_whitespace() {
            if line.len() + word.len() > WIDTH && !line.trim().is_empty() {
                let _ = writeln!(out, "{}", line.trim_end());
                line = indent(depth);
            }
            line.push_str(word);
            line.push(' ');
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
