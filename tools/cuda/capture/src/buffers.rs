//! The buffers of an application: memory that the program allocated, and variables of its modules.

use std::collections::{BTreeMap, BTreeSet};

use counterpoint_ptx::analysis::access::{Array, KernelAccesses};
use counterpoint_ptx::{Kernel, Symbol, VariableBases, decode, parser};

use crate::record::{Entry, Module, Region, Texels};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// Module and name, if the buffer is a variable.
    pub(crate) variable: Option<(u32, String)>,
    /// Type of its elements, and their size.
    pub(crate) element: Element,
}

/// A type of elements: its name, its bytes, and whether it has a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) bytes: u64,
    pub(crate) floats: bool,
}

const fn element(name: &'static str, bytes: u64, floats: bool) -> Element {
    Element { name, bytes, floats }
}

pub(crate) const BYTE: Element = element("u8", 1, false);

/// Types by the suffix of an access, from the most to the least specific.
const ELEMENTS: [(&str, Element); 10] = [
    ("f64", element("f64", 8, true)),
    ("f32", element("f32", 4, true)),
    ("s64", element("s64", 8, false)),
    ("u64", element("u64", 8, false)),
    ("s32", element("s32", 4, false)),
    ("u32", element("u32", 4, false)),
    ("s16", element("s16", 2, false)),
    ("u16", element("u16", 2, false)),
    ("s8", element("s8", 1, false)),
    ("u8", BYTE),
];

/// A type by its name.
pub(crate) fn named(name: &str) -> Option<Element> {
    ELEMENTS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Whether all bytes of a value are the same.
fn is_uniform(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == value[0])
}

/// A fill as fills of single values of a buffer's elements: one, or one for each byte of a value that has more bytes than an element.
pub(crate) fn fills(region: Region, value: &[u8], element: Element) -> Vec<(Region, Vec<u8>)> {
    let period = value.len() as u64;
    if is_uniform(value) || period <= element.bytes {
        return vec![(region, value.to_vec())];
    }
    let mut fills = Vec::new();
    for start in region.starts() {
        for (index, bytes) in value.chunks(element.bytes as usize).enumerate() {
            let address = start + index as u64 * element.bytes;
            let rows = region.width / period;
            fills.push((Region { address, width: element.bytes, rows, pitch: period }, bytes.to_vec()));
        }
    }
    fills
}

pub(crate) struct Code {
    pub(crate) module: Module,
    pub(crate) kernels: BTreeMap<String, Kernel>,
    /// Types of the accesses through each parameter, by kernel and parameter.
    accesses: BTreeMap<(String, u32), BTreeSet<usize>>,
    /// Some kernel adds floating-point numbers in an undefined order.
    pub(crate) adds_in_any_order: bool,
}

impl Code {
    pub(crate) fn new(module: Module, text: &str) -> Option<Self> {
        let parsed = parser::parse(text).ok()?;
        let kernels = decode::decode(&parsed).ok()?;
        let mut accesses: BTreeMap<(String, u32), BTreeSet<usize>> = BTreeMap::new();
        let mut adds_in_any_order = false;
        for function in
            parsed.functions.iter().filter(|function| kernels.iter().any(|one| one.name() == function.name))
        {
            for access in KernelAccesses::new(&parsed, function).accesses {
                let types = || access.opcode.split('.').rev();
                let kind = ELEMENTS.iter().position(|(suffix, _)| types().any(|part| part == *suffix));
                let Some(kind) = kind else { continue };
                adds_in_any_order |= ELEMENTS[kind].1.floats && access.opcode.starts_with(['a', 'r']);
                if let Some(Array::Param(index)) = access.array {
                    accesses.entry((function.name.clone(), index)).or_default().insert(kind);
                }
            }
        }
        let kernels = kernels.into_iter().map(|kernel| (kernel.name().to_owned(), kernel)).collect();
        Some(Code { module, kernels, accesses, adds_in_any_order })
    }

    /// Variables of the module, and their addresses.
    fn variables(&self) -> impl Iterator<Item = (&Symbol, u64)> {
        let Module { globals, constants, .. } = self.module;
        let bases = VariableBases { globals, constants, ..VariableBases::default() };
        self.kernels.values().take(1).flat_map(move |kernel| kernel.variables(bases))
    }
}

/// All buffers, by address.
pub(crate) struct Buffers {
    all: BTreeMap<u64, Buffer>,
}

impl Buffers {
    pub(crate) fn new(entries: &[Entry], codes: &[Code]) -> Self {
        let mut all: BTreeMap<u64, Buffer> = BTreeMap::new();
        for entry in entries {
            if let Entry::Allocate { address, bytes, .. } = *entry {
                let name = format!("b{}", all.len() + 1);
                all.entry(address).or_insert(Buffer { name, address, bytes, variable: None, element: BYTE });
            }
        }
        let mut buffers = Buffers { all };
        for entry in entries {
            let regions: &[&Region] = match entry {
                Entry::Copy { device, .. } => &[device],
                Entry::Fill { region, .. } => &[region],
                Entry::Move { from, to, .. } => &[from, to],
                _ => &[],
            };
            let bound = entry.bound().map(|elements| elements.address);
            for address in regions.iter().map(|region| region.address).chain(bound) {
                buffers.add_variable(address, codes);
            }
        }
        buffers.infer_types(entries, codes);
        buffers
    }

    fn add_variable(&mut self, address: u64, codes: &[Code]) {
        if self.at(address).is_some() {
            return;
        }
        let of = |code: &Code| {
            let mut variables = code.variables();
            let found = variables.find(|(symbol, start)| (*start..start + symbol.size).contains(&address));
            found.map(|(symbol, start)| (symbol.name.clone(), start, symbol.size, code.module.number))
        };
        if let Some((symbol, address, bytes, module)) = codes.iter().find_map(of) {
            let mut name: String =
                symbol.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if self.all.values().any(|buffer| buffer.name == name)
                || name.starts_with(|c: char| c.is_ascii_digit())
            {
                name = format!("v{}_{name}", self.all.len());
            }
            let variable = Some((module, symbol));
            self.all.insert(address, Buffer { name, address, bytes, variable, element: BYTE });
        }
    }

    /// Types as kernels access them, where all parts that the host names are whole elements.
    fn infer_types(&mut self, entries: &[Entry], codes: &[Code]) {
        let mut kinds: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
        for entry in entries {
            let Entry::Launch { module, kernel, parameters, .. } = entry else { continue };
            let Some(code) = codes.iter().find(|code| code.module.number == *module) else { continue };
            for (index, param) in
                code.kernels.get(kernel).iter().flat_map(|kernel| kernel.params().iter().enumerate())
            {
                let of = code.accesses.get(&(kernel.clone(), index as u32));
                let place = param.offset as usize..(param.offset + param.size) as usize;
                if let (Some(of), Some(Ok(address))) = (of, parameters.get(place).map(<[u8; 8]>::try_from))
                    && let Some((buffer, _)) = self.at(u64::from_le_bytes(address))
                {
                    kinds.entry(buffer.address).or_default().extend(of);
                }
            }
        }
        for (address, kinds) in kinds {
            // The first is the one that tells most.
            if let (Some(kind), Some(buffer)) = (kinds.first(), self.all.get_mut(&address))
                && buffer.bytes.is_multiple_of(ELEMENTS[*kind].1.bytes)
            {
                buffer.element = ELEMENTS[*kind].1;
            }
        }
        for entry in entries {
            // Texels have the type of their channels.
            if let Some(elements) = entry.bound()
                && let Some(kind) = named(&elements.channel)
                && let Some(start) = self.at(elements.address).map(|(buffer, _)| buffer.address)
                && let Some(buffer) = self.all.get_mut(&start)
            {
                buffer.element = kind;
            }
        }
        for entry in entries {
            // A value of several bytes is one element.
            if let Entry::Fill { region, value, .. } = entry
                && !is_uniform(value)
                && let Some((_, kind)) = ELEMENTS
                    .iter()
                    .find(|(name, kind)| name.starts_with('u') && kind.bytes == value.len() as u64)
                && let Some(start) = self.at(region.address).map(|(buffer, _)| buffer.address)
                && let Some(buffer) = self.all.get_mut(&start)
                && buffer.element.bytes < kind.bytes
                && buffer.bytes.is_multiple_of(kind.bytes)
            {
                buffer.element = *kind;
            }
        }
        // A copy may carry the need for bytes from one buffer to another, and so on.
        loop {
            let before: Vec<Element> = self.iter().map(|buffer| buffer.element).collect();
            entries.iter().for_each(|entry| self.fit(entry));
            if self.iter().map(|buffer| buffer.element).eq(before) {
                return;
            }
        }
    }

    /// Makes buffers ones of bytes where something names parts of their elements.
    fn fit(&mut self, entry: &Entry) {
        match entry {
            Entry::Copy { device, .. } => self.must_fit(device),
            Entry::Texture(Texels { elements, .. }) | Entry::Surface(elements) => {
                if let Some(kind) = named(&elements.channel) {
                    self.must_fit(&elements.region(kind.bytes));
                }
            }
            Entry::Fill { region, value, .. } => {
                self.must_fit(region);
                let floats = self.at(region.address).is_some_and(|(buffer, _)| buffer.element.floats);
                if floats && value.iter().any(|byte| *byte != 0) {
                    self.set_bytes(region.address);
                }
            }
            Entry::Move { from, to, .. } => {
                self.must_fit(from);
                self.must_fit(to);
                let element = |region: &Region| self.at(region.address).map(|(buffer, _)| buffer.element);
                if element(from) != element(to) {
                    self.set_bytes(from.address);
                    self.set_bytes(to.address);
                }
            }
            _ => {}
        }
    }

    fn must_fit(&mut self, region: &Region) {
        let Some((buffer, offset)) = self.at(region.address) else { return };
        let is_whole = |bytes: u64| bytes.is_multiple_of(buffer.element.bytes);
        if ![offset, region.width, region.pitch].into_iter().all(is_whole) {
            self.set_bytes(region.address);
        }
    }

    fn set_bytes(&mut self, address: u64) {
        let start = self.at(address).map(|(buffer, _)| buffer.address);
        if let Some(buffer) = start.and_then(|start| self.all.get_mut(&start)) {
            buffer.element = BYTE;
        }
    }

    /// The buffer that contains an address, and the offset in it.
    pub(crate) fn at(&self, address: u64) -> Option<(&Buffer, u64)> {
        let (&start, buffer) = self.all.range(..=address).next_back()?;
        (address - start < buffer.bytes.max(1)).then_some((buffer, address - start))
    }

    /// All buffers, by address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Buffer> {
        self.all.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_more_bytes_than_an_element_is_filled_byte_by_byte() {
        let region = Region::line(16, 8);
        let one = |address| Region { address, width: 1, rows: 2, pitch: 4 };
        let found = fills(region, &[4, 0, 2, 1], BYTE);
        assert_eq!(found, [(one(16), vec![4]), (one(17), vec![0]), (one(18), vec![2]), (one(19), vec![1])]);
        let words = element("u32", 4, false);
        assert_eq!(fills(region, &[4, 0, 2, 1], words), [(region, vec![4, 0, 2, 1])]);
        assert_eq!(fills(region, &[7, 7], BYTE), [(region, vec![7, 7])]);
    }

    #[test]
    fn a_value_of_several_bytes_is_the_element_of_a_buffer_that_has_no_other_type() {
        let entries = |bytes, value: &[u8]| {
            let region = Region::line(512, bytes);
            [
                Entry::Allocate { address: 512, bytes },
                Entry::Fill { region, value: value.to_vec(), stream: 0 },
            ]
        };
        let element = |entries: &[Entry]| {
            let buffers = Buffers::new(entries, &[]);
            buffers.at(512).map(|(buffer, _)| buffer.element.name)
        };
        assert_eq!(element(&entries(8, &[4, 0, 2, 1])), Some("u32"));
        assert_eq!(element(&entries(8, &[0, 0, 0, 0])), Some("u8"));
        assert_eq!(element(&entries(6, &[4, 0, 2, 1])), Some("u8"), "no whole elements");
    }
}
