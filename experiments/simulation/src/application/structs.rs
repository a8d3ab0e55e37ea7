//! Arguments of several elements: structs by value and arrays, whose types come from the kernel's loads or
//! from the file.

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_host_model::program::{Argument, BufferId};
use counterpoint_ptx::{Kernel, Param, ParamField};

use super::arguments::number_bytes;
use super::keys::{BitsKeys, ElementKeys, TypedKeys};
use super::reader::Reader;
use crate::workloads::element::Element;

/// Bytes of an address.
const ADDRESS: u32 = 8;

const TYPES: &str = "write types: [{ f32: [1, 2] }, { s32: 7 }], or all bytes in the order of memory: { bytes: \"0000803f\" }";

/// A value that an argument is put together of.
enum Member {
    Bytes(Vec<u8>),
    Address(BufferId, u64),
}

/// The bytes of an argument so far.
#[derive(Default)]
struct Layout {
    bytes: Vec<u8>,
    addresses: Vec<(u32, BufferId, u64)>,
}

impl Layout {
    fn put(&mut self, at: u32, member: Member) {
        let bytes = match member {
            Member::Bytes(bytes) => bytes,
            Member::Address(buffer, offset) => {
                self.addresses.push((at, buffer, offset));
                vec![0; ADDRESS as usize]
            }
        };
        let (start, end) = (at as usize, at as usize + bytes.len());
        self.bytes.resize(end.max(self.bytes.len()), 0);
        self.bytes[start..end].copy_from_slice(&bytes);
    }

    /// Puts a value of this size behind the others, where C does.
    fn push(&mut self, size: u32, member: Member) {
        self.put((self.bytes.len() as u32).next_multiple_of(size), member);
    }

    fn argument(mut self, size: u32) -> Argument {
        self.bytes.resize(size as usize, 0);
        match self.addresses.is_empty() {
            true => Argument::Value(self.bytes.into()),
            false => Argument::Struct { bytes: self.bytes.into(), addresses: self.addresses.into() },
        }
    }
}

impl Reader<'_> {
    pub(super) fn listed(
        &mut self,
        node: &Node,
        kernel: &Kernel,
        param: &Param,
        device: u32,
    ) -> Option<Argument> {
        let nodes = flat(node);
        let is_typed = |node: &&&Node| node.as_map().is_some() && node.get("buffer").is_none();
        if nodes.iter().any(|node| is_typed(&node)) {
            return self.typed(node.span, &nodes, param, device);
        }
        let fields = kernel.param_fields();
        let end = param.offset + param.size;
        let own = fields.into_iter().filter(|field| (param.offset..end).contains(&field.offset));
        let own: Vec<ParamField> =
            own.map(|field| ParamField { offset: field.offset - param.offset, ..field }).collect();
        let Some(fields) = fields_of(&own, param.size) else {
            let message = format!(
                "the loads of `{}` do not tell the elements of `{}`, which has {} bytes",
                kernel.name(),
                param.name,
                param.size
            );
            self.diagnostics.report(Diagnostic::new(node.span, message).help(TYPES));
            return None;
        };
        if fields.len() != nodes.len() {
            let (count, name) = (nodes.len(), &param.name);
            let message = format!("`{name}` has {} elements, found {count}", fields.len());
            let elements: Vec<&str> = fields.iter().map(|field| &*field.element).collect();
            let help = format!("they are: {}", runs(&elements));
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
            return None;
        }
        let mut layout = Layout::default();
        let members: Vec<Option<()>> = nodes
            .iter()
            .zip(&fields)
            .map(|(node, field)| {
                let member = self.field(node, field, param, device)?;
                layout.put(field.offset, member);
                Some(())
            })
            .collect();
        members.into_iter().collect::<Option<Vec<()>>>()?;
        Some(layout.argument(param.size))
    }

    /// A value of a field of a known type.
    fn field(&mut self, node: &Node, field: &ParamField, param: &Param, device: u32) -> Option<Member> {
        if let Some(address) = self.address(node, device) {
            let address = address?;
            if field.size != ADDRESS || field.element.starts_with('f') {
                let message = format!(
                    "an address has 8 bytes, but byte {} of `{}` begins an element of type {}",
                    field.offset, param.name, field.element
                );
                self.diagnostics.error(node.span, message);
            }
            return Some(address);
        }
        let text = self.text(node)?;
        let is_open = field.element.starts_with('b') && field.size >= 4;
        if is_open && !text.starts_with("0x") && number_bytes(&text, "u64", 8).is_ok() {
            let message = format!(
                "the kernel loads byte {} of `{}` as {}: that {text} is whole or a float is not known",
                field.offset, param.name, field.element
            );
            self.diagnostics.report(Diagnostic::new(node.span, message).help(TYPES));
            return None;
        }
        match number_bytes(&text, &field.element, field.size) {
            Ok(bytes) => Some(Member::Bytes(bytes)),
            Err(problem) => {
                let help = format!(
                    "byte {} of `{}` begins an element of type {}",
                    field.offset, param.name, field.element
                );
                self.diagnostics.report(Diagnostic::new(node.span, problem).help(help));
                None
            }
        }
    }

    /// An argument whose values state their types; each value has the offset that C gives it after the
    /// previous value.
    pub(super) fn typed(
        &mut self,
        span: Span,
        nodes: &[&Node],
        param: &Param,
        device: u32,
    ) -> Option<Argument> {
        let mut layout = Layout::default();
        for node in nodes {
            match self.address(node, device) {
                Some(address) => layout.push(ADDRESS, address?),
                None => self.typed_values(node, &mut layout)?,
            }
        }
        let (name, size, found) = (&param.name, param.size, layout.bytes.len());
        if found > size as usize {
            let message = format!("{found} bytes do not fit `{name}`, which has {size}");
            self.diagnostics.error(span, message);
            return None;
        }
        if let [node] = nodes
            && node.get("bytes").is_some()
            && found != size as usize
        {
            let message = format!("`{name}` has {size} bytes, found {found}");
            self.diagnostics.error(span, message);
            return None;
        }
        Some(layout.argument(size))
    }

    /// Values of one type, `{ f32: [1, 2] }`, or bytes.
    fn typed_values(&mut self, node: &Node, layout: &mut Layout) -> Option<()> {
        if node.as_map().is_none() {
            let text = self.text(node)?;
            let message = format!("`{text}` has no type, and others here have one");
            self.diagnostics.report(Diagnostic::new(node.span, message).help(TYPES));
            return None;
        }
        self.read::<TypedKeys>(node)?;
        let Some([(key, values)]) = node.as_map() else {
            self.diagnostics
                .report(Diagnostic::new(node.span, "expected one type with its values").help(TYPES));
            return None;
        };
        if key.name == "bytes" {
            layout.push(1, Member::Bytes(self.hexadecimal(values)?));
            return Some(());
        }
        let element = Element::parse(&key.name)?;
        let size = element.bytes() as u32;
        for value in flat(values) {
            let text = self.text(value)?;
            match number_bytes(&text, element.name(), size) {
                Ok(bytes) => layout.push(size, Member::Bytes(bytes)),
                Err(problem) => {
                    self.diagnostics.error(value.span, problem);
                    return None;
                }
            }
        }
        Some(())
    }

    /// Bytes in the order of memory.
    pub(super) fn hexadecimal(&mut self, node: &Node) -> Option<Vec<u8>> {
        let text = self.text(node)?;
        let digit = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
        let pair = |pair: &[u8]| match *pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(pair).collect();
        if bytes.is_none() {
            let diagnostic =
                Diagnostic::new(node.span, format!("`{text}` are not bytes in hexadecimal digits"));
            self.diagnostics.report(diagnostic.help("two digits are a byte, the first one in memory first"));
        }
        bytes
    }

    /// The value of an element of a buffer: a number, or its bytes.
    pub(super) fn element_value(&mut self, node: &Node, buffer: BufferId) -> Option<Vec<u8>> {
        let element = self.elements[buffer.0 as usize];
        let of = format!("`{}` has elements of type {}", self.name_of(buffer), element.name());
        if node.as_map().is_some() {
            let BitsKeys { bytes: written } = self.read(node)?;
            let bytes = self.hexadecimal(&written)?;
            if bytes.len() != element.bytes() {
                let message = format!("an element has {} bytes, found {}", element.bytes(), bytes.len());
                self.diagnostics.report(Diagnostic::new(written.span, message).help(of));
                return None;
            }
            return Some(bytes);
        }
        let text = self.text(node)?;
        let value = number_bytes(&text, element.name(), element.bytes() as u32);
        value.map_err(|problem| self.diagnostics.report(Diagnostic::new(node.span, problem).help(of))).ok()
    }

    /// The address that a node stands for in a list, if it names a buffer, an element of one, or a texture or surface: its handle.
    fn address(&mut self, node: &Node, device: u32) -> Option<Option<Member>> {
        let (written, is_element) = match node.get("buffer") {
            Some(written) => (written, true),
            None => (node, false),
        };
        let text = written.as_scalar()?;
        let known = |name: &str| self.application.buffers.iter().any(|buffer| buffer.name == name);
        if !is_element {
            if let Some((handle, _)) = self.application.handle_of(text) {
                return Some(Some(Member::Bytes(handle.to_le_bytes().to_vec())));
            }
            let is_name = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
            if !is_name || super::parameters::is_special(text) && !known(text) {
                return None;
            }
        }
        Some(self.buffer_address(node, written, is_element, device))
    }

    fn buffer_address(
        &mut self,
        node: &Node,
        written: &Node,
        is_element: bool,
        device: u32,
    ) -> Option<Member> {
        let keys: Option<ElementKeys> = if is_element { Some(self.read(node)?) } else { None };
        let buffer = self.buffer(written)?;
        let lies_on = self.application.buffers[buffer.0 as usize].device;
        if lies_on != device {
            let name = self.name_of(buffer);
            let message = format!("`{name}` lies on device {lies_on}, the launch is on {device}");
            self.diagnostics.error(written.span, message);
        }
        let element = keys.and_then(|keys| keys.element);
        let offset = self.offset_of_element(element.as_deref(), buffer)?;
        Some(Member::Address(buffer, offset))
    }
}

/// The values of a list, and of lists in it, in their order.
fn flat(node: &Node) -> Vec<&Node> {
    match node.as_list() {
        Some(nodes) => nodes.iter().flat_map(flat).collect(),
        None => vec![node],
    }
}

/// The elements of a parameter of this size, as loads tell them: all of one size, or fields that cover a struct.
fn fields_of(loads: &[ParamField], size: u32) -> Option<Vec<ParamField>> {
    let first = loads.first()?;
    if loads.windows(2).any(|pair| pair[0].offset + pair[0].size > pair[1].offset) {
        // A place that is loaded as two types.
        return None;
    }
    let one_size =
        loads.iter().all(|field| field.size == first.size && field.offset.is_multiple_of(first.size));
    if one_size && size.is_multiple_of(first.size) {
        let one_type = loads.iter().all(|field| field.element == first.element);
        let unloaded = if one_type { first.element.clone() } else { format!("b{}", 8 * first.size) };
        let at = |offset| loads.iter().find(|field| field.offset == offset).cloned();
        let elements = (0..size / first.size).map(|number| {
            let offset = number * first.size;
            at(offset).unwrap_or_else(|| ParamField { offset, size: first.size, element: unloaded.clone() })
        });
        return Some(elements.collect());
    }
    let mut end: u32 = 0;
    for field in loads {
        if end.next_multiple_of(field.size) != field.offset {
            return None;
        }
        end = field.offset + field.size;
    }
    let align = loads.iter().map(|field| field.size).max()?;
    (end.next_multiple_of(align) == size).then(|| loads.to_vec())
}

/// Names of types, where equal ones follow each other with their number.
fn runs(elements: &[&str]) -> String {
    let runs = elements.chunk_by(|one, other| one == other);
    let run = |run: &[&str]| match run.len() {
        1 => run[0].to_owned(),
        count => format!("{count} of {}", run[0]),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(loads: &[(u32, u32, &str)], size: u32) -> Option<Vec<(u32, String)>> {
        let field = |&(offset, size, element): &(u32, u32, &str)| ParamField {
            offset,
            size,
            element: element.to_owned(),
        };
        let loads: Vec<ParamField> = loads.iter().map(field).collect();
        Some(fields_of(&loads, size)?.into_iter().map(|field| (field.offset, field.element)).collect())
    }

    fn told(fields: &[(u32, &str)]) -> Option<Vec<(u32, String)>> {
        Some(fields.iter().map(|(offset, element)| (*offset, (*element).to_owned())).collect())
    }

    #[test]
    fn loads_tell_the_elements() {
        assert_eq!(fields(&[(0, 4, "f32"), (8, 4, "f32")], 12), told(&[(0, "f32"), (4, "f32"), (8, "f32")]));
        let mixed = [(0, 4, "f32"), (4, 4, "u32")];
        assert_eq!(fields(&mixed, 12), told(&[(0, "f32"), (4, "u32"), (8, "b32")]));
        let padded = [(0, 1, "u8"), (8, 8, "f64"), (16, 4, "u32")];
        assert_eq!(fields(&padded, 24), told(&[(0, "u8"), (8, "f64"), (16, "u32")]));
        assert_eq!(fields(&padded[..2], 24), None, "something is behind the last one");
        assert_eq!(fields(&padded[1..], 24), None, "or before the first");
        assert_eq!(fields(&[(0, 4, "f32"), (0, 4, "u32")], 4), None, "two types");
        assert_eq!(fields(&[], 12), None);
    }

    #[test]
    fn equal_types_are_counted() {
        assert_eq!(runs(&["f32", "f32", "u8", "f32"]), "2 of f32, u8, f32");
    }
}
