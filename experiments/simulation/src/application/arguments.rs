//! Arguments of a launch: buffers, and numbers in the bytes of the kernel's parameters. Those of several elements are in `structs`.

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_framework::topology::expression::Number;
use counterpoint_host_model::program::{Argument, BufferId};
use counterpoint_ptx::{Kernel, Param};

use super::keys::ElementKeys;
use super::parameters::{is_special, parse_float};
use super::reader::Reader;
use crate::workloads::element::Element;

impl Reader<'_> {
    pub(super) fn arguments(
        &mut self,
        kernel: &Kernel,
        nodes: &[Node],
        span: Span,
        device: u32,
    ) -> Option<Vec<Argument>> {
        let params = kernel.params();
        if params.len() != nodes.len() {
            let message =
                format!("`{}` takes {} arguments, found {}", kernel.name(), params.len(), nodes.len());
            let list: Vec<String> =
                params.iter().map(|param| format!("{} ({})", param.name, param.element)).collect();
            self.diagnostics
                .report(Diagnostic::new(span, message).help(format!("they are: {}", list.join(", "))));
        }
        let pairs = nodes.iter().zip(params);
        let arguments: Vec<_> =
            pairs.map(|(node, param)| self.argument(node, kernel, param, device)).collect();
        arguments.into_iter().collect()
    }

    fn argument(&mut self, node: &Node, kernel: &Kernel, param: &Param, device: u32) -> Option<Argument> {
        if node.as_list().is_some() {
            return self.listed(node, kernel, param, device);
        }
        if node.as_map().is_some() && node.get("buffer").is_none() && node.get("element").is_none() {
            return self.typed(node.span, &[node], param, device);
        }
        if node.as_map().is_some() {
            let keys: ElementKeys = self.read(node)?;
            let buffer = self.buffer(&keys.buffer)?;
            let name = self.name_of(buffer);
            self.check_address(&keys.buffer, &name, param, device, buffer);
            let offset = self.offset_of_element(keys.element.as_deref(), buffer)?;
            return Some(Argument::Buffer(buffer, offset));
        }
        let text = self.text(node)?;
        let Param { name, size, element, .. } = param;
        if let Some((handle, buffer)) = self.application.handle_of(&text) {
            self.check_address(node, &text, param, device, buffer);
            return Some(Argument::Value(handle.to_le_bytes().into()));
        }
        let is_buffer = |name: &str| self.application.buffers.iter().any(|buffer| buffer.name == name);
        let is_number = is_special(&text) && (element.starts_with('f') || !is_buffer(&text));
        if !is_number && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let buffer = self.buffer(node)?;
            self.check_address(node, &text, param, device, buffer);
            return Some(Argument::Buffer(buffer, 0));
        }
        match number_bytes(&text, element, *size) {
            Ok(bytes) => Some(Argument::Value(bytes.into())),
            Err(problem) => {
                let diagnostic = Diagnostic::new(node.span, problem);
                self.diagnostics
                    .report(diagnostic.help(format!("`{name}` is of type {element}, {size} bytes")));
                None
            }
        }
    }

    /// Offset of an element in bytes from the beginning of its buffer; of the first element if none is given.
    pub(super) fn offset_of_element(&mut self, element: Option<&Node>, buffer: BufferId) -> Option<u64> {
        let place = &self.application.buffers[buffer.0 as usize];
        let size = self.elements[buffer.0 as usize].bytes() as u64;
        let (count, what) = (place.bytes / size, format!("the element of `{}`", place.name));
        // A buffer without elements has a problem of its own.
        let index = match element {
            Some(node) => self.count(node, &what, 0, count.max(1) - 1)?,
            None => 0,
        };
        Some(index * size)
    }

    /// A parameter that is given a buffer, or a texture or surface of one, takes an address; both are on the launch's device.
    fn check_address(&mut self, node: &Node, text: &str, param: &Param, device: u32, buffer: BufferId) {
        let Param { name, size, element, .. } = param;
        let place = &self.application.buffers[buffer.0 as usize];
        let what = match () {
            () if place.name == text => "a buffer",
            () if self.application.textures.iter().any(|texture| texture.name == text) => "a texture",
            () => "a surface",
        };
        if *size != 8 || element.starts_with('f') {
            let message = format!("`{text}` is {what}, but the parameter `{name}` is not an address");
            let help = format!("`{name}` is of type {element}, {size} bytes");
            self.diagnostics.report(Diagnostic::new(node.span, message).help(help));
        } else if place.device != device {
            let message = format!("`{text}` lies on device {}, the launch is on {device}", place.device);
            self.diagnostics.error(node.span, message);
        }
    }
}

/// A number in the bytes of a parameter, or of an element of a buffer.
pub(super) fn number_bytes(text: &str, element: &str, size: u32) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let special = is_special(text);
    let looks_float = special || !text.starts_with("0x") && text.contains(['.', 'f', 'e', 'E']);
    let named = Element::parse(element);
    let float = match (named, size) {
        (Some(element), _) if element.is_float() => Some(element),
        // `.b32` and `.b64` do not state a type; the form of the number decides.
        (None, 4) if looks_float => Some(Element::F32),
        (None, 8) if looks_float => Some(Element::F64),
        _ => None,
    };
    if let Some(float) = float
        && float.bytes() == size as usize
    {
        // Read as the type itself: a detour through f64 would round twice.
        let digits = text.strip_suffix(['f', 'F']).filter(|_| !special).unwrap_or(text);
        let single = digits.parse::<f32>().ok().filter(|_| float == Element::F32);
        let double = if special { text.parse().ok() } else { parse_float(text) };
        match (double, single) {
            (Some(_), Some(single)) => bytes.extend(single.to_le_bytes()),
            (Some(double), None) => bytes.extend(double.to_le_bytes()),
            (None, _) => return Err(format!("`{text}` is not a number")),
        }
        return Ok(bytes);
    }
    if !matches!(size, 1 | 2 | 4 | 8) || named.is_some_and(|element| element.bytes() != size as usize) {
        return Err("a parameter of several elements cannot be given one number; write a list".to_owned());
    }
    let hexadecimal = text.strip_prefix("0x").and_then(|digits| i128::from_str_radix(digits, 16).ok());
    let decimal = || Number::parse(text).and_then(Number::as_whole).map(i128::from);
    let plain = || text.parse::<i128>().ok();
    let value = hexadecimal.or_else(decimal).or_else(plain);
    let value = value.ok_or_else(|| format!("`{text}` is not a whole number"))?;
    // PTX spells C's `int` as `.u32`, so both ranges are right for either.
    let bits = 8 * size;
    if value < -(1 << (bits - 1)) || value >= 1 << bits {
        return Err(format!("{value} does not fit {size} bytes"));
    }
    bytes.extend(&value.to_le_bytes()[..size as usize]);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_type_of_their_parameter() {
        assert_eq!(number_bytes("512", "u32", 4), Ok(512_u32.to_le_bytes().to_vec()));
        assert_eq!(number_bytes("-1", "u32", 4), Ok(vec![0xff; 4]));
        assert_eq!(number_bytes("0x10", "b64", 8), Ok(16_u64.to_le_bytes().to_vec()));
        assert_eq!(number_bytes("0.2f", "f32", 4), Ok(0.2_f32.to_le_bytes().to_vec()));
        assert_eq!(number_bytes("0.2", "f32", 4), Ok(0.2_f32.to_le_bytes().to_vec()));
        assert_eq!(number_bytes("2", "f64", 8), Ok(2.0_f64.to_le_bytes().to_vec()));
        assert_eq!(number_bytes("1e-3", "f32", 4), Ok(1e-3_f32.to_le_bytes().to_vec()));
        assert_eq!(number_bytes("18446744073709551615", "u64", 8), Ok(vec![0xff; 8]));
        assert_eq!(number_bytes("1.5", "b32", 4), Ok(1.5_f32.to_le_bytes().to_vec()));
    }

    #[test]
    fn numbers_of_a_wrong_kind_are_refused() {
        assert_eq!(number_bytes("0.5", "u32", 4), Err("`0.5` is not a whole number".to_owned()));
        assert_eq!(number_bytes("256", "u8", 1), Err("256 does not fit 1 bytes".to_owned()));
        assert_eq!(number_bytes("4294967296", "s32", 4), Err("4294967296 does not fit 4 bytes".to_owned()));
        assert!(number_bytes("1", "b8", 16).is_err());
        assert!(number_bytes("1", "f32", 16).is_err());
    }
}
