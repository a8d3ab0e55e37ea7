//! The `faults:` of a machine or an overlay: read, and carried to the links that they name.
//!
//! A fault names a link by the port from which its messages leave or at which they arrive, because links have no names
//! of their own and an output has exactly one.

use crate::model::ports::PortInfo;
use crate::model::{Catalogue, Diagnostic, Diagnostics, FaultKind, FaultParams, Node, Params, Reader};

use super::machine::{Instance, Link, port_path};

/// Reads faults and adds each to its links.
pub(super) fn attach(
    entries: &[Node],
    instances: &[Instance],
    links: &mut [Link],
    catalogue: &Catalogue,
    diagnostics: &mut Diagnostics,
) {
    for node in entries {
        let mut reader = Reader::new(&catalogue.families, diagnostics);
        let Some(fault) = FaultParams::read(node, &mut reader) else { continue };
        if let Some((message, help)) = fault.contradiction() {
            diagnostics.report(Diagnostic::new(node.span, message).help(help));
            continue;
        }
        let places: Vec<usize> =
            (0..links.len()).filter(|&at| meets(&fault, &links[at], instances)).collect();
        if places.is_empty() {
            diagnostics.report(nowhere(&fault, node, instances, links));
        }
        for at in places {
            if let Some(problem) = unsuited(fault.fault, node, &links[at], instances, catalogue) {
                diagnostics.report(problem);
                break;
            }
            // The link knows its ends.
            links[at].faults.push(FaultParams { from: None, to: None, ..fault.clone() });
        }
    }
}

fn meets(fault: &FaultParams, link: &Link, instances: &[Instance]) -> bool {
    let suits = |pattern: &Option<String>, path: String| {
        pattern.as_ref().is_none_or(|pattern| matches(pattern, &path))
    };
    suits(&fault.from, from(link, instances)) && suits(&fault.to, to(link, instances))
}

fn from(link: &Link, instances: &[Instance]) -> String {
    port_path(&instances[link.from.instance].path, &link.from.port, link.from.index)
}

fn to(link: &Link, instances: &[Instance]) -> String {
    port_path(&instances[link.to.instance].path, &link.to.port, link.to.index)
}

/// Whether a path matches the pattern, in which `[*]` matches every index.
fn matches(pattern: &str, path: &str) -> bool {
    let mut rest = path;
    for (number, part) in pattern.split("[*]").enumerate() {
        if number > 0 {
            let index = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            match index.filter(|(digits, _)| digits.bytes().all(|byte| byte.is_ascii_digit())) {
                Some((_, behind)) => rest = behind,
                None => return false,
            }
        }
        match rest.strip_prefix(part) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    rest.is_empty()
}

/// The report on a fault that meets no link: which of its ports has none.
fn nowhere(fault: &FaultParams, node: &Node, instances: &[Instance], links: &[Link]) -> Diagnostic {
    type Path = fn(&Link, &[Instance]) -> String;
    let ends = [("from", "leaves", &fault.from, from as Path), ("to", "goes to", &fault.to, to as Path)];
    for (key, verb, pattern, path) in ends {
        let Some(pattern) = pattern else { continue };
        let paths: Vec<String> = links.iter().map(|link| path(link, instances)).collect();
        if paths.iter().any(|path| matches(pattern, path)) {
            continue;
        }
        let span = node.get(key).map_or(node.span, |value| value.span);
        let diagnostic = Diagnostic::new(span, format!("no link {verb} `{pattern}`"));
        let diagnostic = diagnostic.suggest(pattern, paths.iter().map(String::as_str));
        return match diagnostic.suggestion {
            Some(_) => diagnostic,
            None => diagnostic.help("`counterpoint resolve` prints every link of a machine"),
        };
    }
    let diagnostic = Diagnostic::new(node.span, "no link joins these two ports");
    diagnostic.help("a fault needs only one of `from` and `to`")
}

/// The report on a fault that the messages of a link cannot suffer.
fn unsuited(
    fault: FaultKind,
    node: &Node,
    link: &Link,
    instances: &[Instance],
    catalogue: &Catalogue,
) -> Option<Diagnostic> {
    let message = sender(link, instances, catalogue)?.shape.sends()?;
    let what = match fault {
        _ if message.suffers(fault) => return None,
        FaultKind::Duplicate => "cannot be duplicated: its type gives no way to copy it",
        _ => "cannot be corrupted: it carries no values",
    };
    let span = node.get("fault").map_or(node.span, |value| value.span);
    let diagnostic = Diagnostic::new(span, format!("a {} {what}", message.name));
    Some(diagnostic.help(format!("that is what leaves `{}`", from(link, instances))))
}

/// The port from which the messages of a link leave.
pub(super) fn sender(link: &Link, instances: &[Instance], catalogue: &Catalogue) -> Option<PortInfo> {
    let sender = &instances[link.from.instance];
    catalogue.ports(&sender.kind, &sender.params).into_iter().find(|info| info.name == link.from.port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_an_index() {
        assert!(matches("gpu.sm[*].memory", "gpu.sm[13].memory"));
        assert!(matches("gpu[*].l2[*].out[*]", "gpu[0].l2[1].out[2]"));
        assert!(matches("a.out", "a.out"));
        for (pattern, path) in [("a.out", "a.out2"), ("a[*].out", "a.out"), ("a[*].out", "a[1].in")] {
            assert!(!matches(pattern, path), "{pattern} {path}");
        }
    }
}
