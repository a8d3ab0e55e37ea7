//! Fixed addresses on devices, of buffers and of the variables of modules, and buffers that are such variables.

use std::sync::Arc;

use counterpoint_framework::model::{Diagnostic, Node, Span};
use counterpoint_host_model::modules::Module;
use counterpoint_host_model::program::{Application, Buffer, BufferId, BufferPlace, Variable};
use counterpoint_ptx::{Kernel, Symbol};

use super::code::Codes;
use super::reader::Reader;
use crate::workloads::element::Element;

/// The lowest address that can be fixed: below it a null pointer with a small offset is caught.
const LOWEST: u64 = 1 << 16;
/// Above all memory lie the windows of shared and local memory.
const HIGHEST: u64 = 1 << 46;
const ALIGNMENT: u64 = 256;

impl Reader<'_> {
    pub(super) fn fixed_address(&mut self, node: &Node) -> Option<u64> {
        let text = self.text(node)?;
        let address = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let is_good =
            |address: &u64| address.is_multiple_of(ALIGNMENT) && (LOWEST..HIGHEST).contains(address);
        let good = address.filter(is_good);
        if good.is_none() {
            let diagnostic = Diagnostic::new(node.span, format!("`{text}` cannot be the address of memory"));
            self.diagnostics.report(diagnostic.help("expected a multiple of 256 from 0x10000 up to 2^46"));
        }
        good
    }

    /// Reads a buffer that is a variable of a module: its type and its bytes, unless the file overrides them,
    /// and its address.
    pub(super) fn variable(
        &mut self,
        node: &Node,
        codes: &mut Codes,
    ) -> Option<(Element, u64, Variable, Arc<Kernel>)> {
        let text = self.text(node)?;
        let Some((module, name)) = text.split_once('.') else {
            let diagnostic = Diagnostic::new(node.span, format!("`{text}` does not name a module"));
            self.diagnostics
                .report(diagnostic.help("a variable is `code.variable`, with a name under `code`"));
            return None;
        };
        let kernel = self.any_kernel(node, module, codes)?;
        let find = |symbols: &[Symbol]| symbols.iter().find(|symbol| symbol.name == name).cloned();
        let (constant, found) = match find(kernel.global_symbols()) {
            Some(symbol) => (false, Some(symbol)),
            None => (true, find(kernel.constant_symbols())),
        };
        let Some(symbol) = found else {
            let diagnostic = Diagnostic::new(node.span, format!("`{module}` has no variable `{name}`"));
            let known = kernel.global_symbols().iter().chain(kernel.constant_symbols());
            self.diagnostics.report(diagnostic.suggest(name, known.map(|symbol| &*symbol.name)));
            return None;
        };
        let element = element_of(&symbol.element).unwrap_or(Element::U8);
        let variable = Variable { module: module.into(), constant, offset: symbol.offset };
        Some((element, symbol.size, variable, kernel))
    }

    /// Modules that variables need and no launch does, and the fixed addresses of all.
    pub(super) fn place_modules(&mut self, codes: &Codes) {
        let Application { buffers, modules, .. } = &mut self.application;
        for (buffer, kernel) in &self.variables {
            let Buffer { device, place: BufferPlace::Variable(Variable { module, .. }), .. } =
                &buffers[buffer.0 as usize]
            else {
                continue;
            };
            if !modules.iter().any(|known| known.name == *module && known.device == *device) {
                modules.push(Module {
                    name: Arc::clone(module),
                    device: *device,
                    globals: None,
                    constants: None,
                    kernels: vec![Arc::clone(kernel)],
                });
            }
        }
        for module in modules {
            (module.globals, module.constants) = codes.fixed(&module.name);
        }
        let places = std::mem::take(&mut self.fixed);
        let place = |name: &str| places.iter().find(|(known, _)| known == name).map(|(_, span)| *span);
        for (one, other) in overlaps(&self.application) {
            if let Some(span) = place(&other).or_else(|| place(&one)) {
                self.diagnostics.error(span, format!("{other} and {one} lie at the same addresses"));
            }
        }
    }

    /// Reports a buffer that is a variable of a module where it cannot be one.
    pub(super) fn refuse_variable(&mut self, node: &Node, buffer: BufferId, what: &str) {
        if matches!(self.application.buffers[buffer.0 as usize].place, BufferPlace::Variable(_)) {
            let message =
                format!("`{}` is a variable of a module and cannot be {what}", self.name_of(buffer));
            self.diagnostics.error(node.span, message);
        }
    }

    /// Place in the file of something with a fixed address.
    pub(super) fn note_fixed(&mut self, name: String, span: Span) {
        self.fixed.push((name, span));
    }
}

/// Names of objects with overlapping addresses on a device, in pairs of neighbours.
pub(super) fn overlaps(application: &Application) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for device in application.devices() {
        let mut fixed = application.fixed(device);
        fixed.sort_by_key(|fixed| fixed.range.start);
        let pairs = fixed.windows(2).filter(|pair| pair[0].range.end > pair[1].range.start);
        found.extend(pairs.map(|pair| (pair[0].name.clone(), pair[1].name.clone())));
    }
    found
}

/// The type of a buffer's elements that a type of PTX is.
fn element_of(name: &str) -> Option<Element> {
    Element::parse(name).or(match name {
        "b8" => Some(Element::U8),
        "b16" => Some(Element::U16),
        "b32" => Some(Element::U32),
        "b64" => Some(Element::U64),
        _ => None,
    })
}
