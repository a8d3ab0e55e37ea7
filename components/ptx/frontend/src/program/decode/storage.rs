//! Variables with storage, and their offsets in their space (PTX ISA 5).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::limits::MOST_CONSTANT_BYTES;
use super::operands::admits;
use crate::program::{InitialAddress, Param, Symbol};
use crate::syntax::ast::{OperandKind, StorageSpace, Variable};
use crate::syntax::error::PtxError;
use crate::syntax::types::{LARGEST, element_size, extent, parameter_place};

/// The variables of one space.
#[derive(Clone, Debug, Default)]
pub(super) struct Area {
    pub(super) symbols: Vec<Symbol>,
    pub(super) bytes: u64,
}

/// All variables a kernel can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Storage {
    pub(super) shared: Area,
    pub(super) local: Area,
    pub(super) global: Area,
    pub(super) constant: Area,
    pub(super) params: Vec<Param>,
    pub(super) param_bytes: u32,
    /// Alignment that dynamic shared memory requires.
    dynamic_align: u64,
    /// Addresses of functions, for initial values that name them.
    pub(super) code: BTreeMap<String, u64>,
    /// Textures and surfaces, with their types.
    opaque: BTreeMap<String, String>,
    /// Addresses of kernels, for launches by kernels.
    pub(super) kernels: BTreeMap<String, u64>,
    /// Variables of other modules: only kernels that name them are refused.
    pub(super) external: BTreeSet<String>,
    places: BTreeMap<String, (StorageSpace, usize)>,
}

impl Storage {
    /// Space and offset of a variable.
    pub(super) fn find(&self, name: &str) -> Option<(StorageSpace, u64)> {
        let &(space, index) = self.places.get(name)?;
        Some((
            space,
            match space {
                StorageSpace::Shared if self.shared.symbols[index].size == 0 => {
                    self.static_shared_bytes() as u64
                }
                StorageSpace::Shared => self.shared.symbols[index].offset,
                StorageSpace::Local => self.local.symbols[index].offset,
                StorageSpace::Global => self.global.symbols[index].offset,
                StorageSpace::Const => self.constant.symbols[index].offset,
                StorageSpace::Param | StorageSpace::Register => self.params[index].offset as u64,
            },
        ))
    }

    /// Position of a `.texref` or `.surfref` among the global variables.
    pub(super) fn opaque(&self, name: &str, element: &str) -> Option<usize> {
        let &(space, index) = self.places.get(name)?;
        let is_such = space == StorageSpace::Global
            && self.opaque.get(&self.global.symbols[index].name).is_some_and(|known| known == element);
        is_such.then_some(index)
    }

    /// Adds the name that a declared variable has in a function.
    pub(super) fn alias(&mut self, variable: &Variable, known: &str) -> Result<(), PtxError> {
        match self.places.get(known) {
            Some(&(space, index)) => self.name(variable, space, index),
            // The problem of the variable has been reported where it was declared.
            None => Ok(()),
        }
    }

    /// The names of all variables.
    pub(super) fn names(&self) -> Vec<String> {
        self.places.keys().cloned().collect()
    }

    /// Static shared bytes, rounded up so that dynamic shared memory behind them is aligned.
    pub(super) fn static_shared_bytes(&self) -> u32 {
        self.shared.bytes.next_multiple_of(self.dynamic_align.max(1)) as u32
    }

    pub(super) fn declare_param(&mut self, variable: &Variable) -> Result<(), PtxError> {
        let (Range { start, end }, align) = parameter_place(self.param_bytes as u64, variable)?;
        if end > 1 << 16 {
            return Err(PtxError::new(variable.span.place, "the parameters take more than 64 KiB"));
        }
        self.param_bytes = end as u32;
        self.name(variable, StorageSpace::Param, self.params.len())?;
        self.params.push(Param {
            name: variable.name.clone(),
            offset: start as u32,
            size: (end - start) as u32,
            align: align as u32,
            element: variable.element.clone(),
        });
        Ok(())
    }

    pub(super) fn declare(&mut self, variable: &Variable) -> Result<(), PtxError> {
        let place = variable.span.place;
        let (size, align) = extent(variable)?;
        if let element @ ("texref" | "surfref") = variable.element.as_str() {
            if variable.space != StorageSpace::Global || !variable.initial.is_empty() {
                let message = format!("a `.{element}` lies in global memory and has no initial value");
                return Err(PtxError::new(place, message).expecting(format!("`.global .{element} name;`")));
            }
            self.opaque.insert(variable.name.clone(), element.to_owned());
        }
        let (initial, addresses) = self.initial_bytes(variable, size)?;
        let area = match variable.space {
            StorageSpace::Shared => &mut self.shared,
            StorageSpace::Local => &mut self.local,
            StorageSpace::Global => &mut self.global,
            StorageSpace::Const => &mut self.constant,
            StorageSpace::Param | StorageSpace::Register => {
                return Err(PtxError::new(place, "a variable of this space cannot stand here")
                    .expecting("`.shared`, `.local`, `.global` or `.const`"));
            }
        };
        if variable.external && variable.space != StorageSpace::Shared {
            self.external.insert(variable.name.clone());
            return Ok(());
        }
        let dynamic = variable.external && size == 0;
        if size == 0 && !dynamic {
            return Err(PtxError::new(place, format!("`{}` has no size", variable.name)));
        }
        let offset = area.bytes.next_multiple_of(align);
        if variable.space == StorageSpace::Const && offset + size > MOST_CONSTANT_BYTES {
            let message = format!(
                "up to here the module has {} bytes of constants, and {MOST_CONSTANT_BYTES} is the most",
                offset + size
            );
            return Err(PtxError::new(place, message).expecting("`.global` for the larger ones"));
        }
        let limit = if variable.space == StorageSpace::Global { LARGEST } else { 1 << 30 };
        if offset + size > limit {
            return Err(PtxError::new(place, format!("`{}` is too large", variable.name)));
        }
        if dynamic {
            self.dynamic_align = self.dynamic_align.max(align);
        } else {
            area.bytes = offset + size;
        }
        let index = area.symbols.len();
        area.symbols.push(Symbol {
            name: variable.name.clone(),
            offset,
            size,
            element: variable.element.clone(),
            initial,
            addresses,
        });
        self.name(variable, variable.space, index)
    }

    /// The initial bytes of a variable, and the addresses of variables among them.
    fn initial_bytes(
        &self,
        variable: &Variable,
        size: u64,
    ) -> Result<(Vec<u8>, Vec<InitialAddress>), PtxError> {
        let element = element_size(&variable.element).unwrap_or(0) as usize;
        let (mut bytes, mut addresses) = (Vec::new(), Vec::new());
        if let (element @ ("f16" | "f16x2"), Some(first)) =
            (variable.element.as_str(), variable.initial.first())
        {
            let message = format!("a variable of type `.{element}` has no initial value");
            return Err(PtxError::new(first.span.place, message).expecting("untyped bits, such as `.b16`"));
        }
        for operand in &variable.initial {
            let value = match (&operand.kind, variable.element.as_str()) {
                (OperandKind::Integer(value), _) => {
                    admits(&variable.element, &operand.kind, operand.span.place)?;
                    *value
                }
                (OperandKind::Float32(bits), "f32" | "b32") => *bits as u64,
                (OperandKind::Float64(bits), "f64" | "b64") => *bits,
                (OperandKind::Float64(bits), "f32") => (f64::from_bits(*bits) as f32).to_bits() as u64,
                (OperandKind::Name(name), "b64" | "u64" | "s64") if self.code.contains_key(name) => {
                    self.code[name]
                }
                (OperandKind::Name(name) | OperandKind::Offset(name, _), "b64" | "u64" | "s64") => {
                    let plus = if let OperandKind::Offset(_, plus) = operand.kind { plus } else { 0 };
                    let at = bytes.len() as u64;
                    let (constant, offset) = match self.find(name) {
                        Some((StorageSpace::Global, offset)) => (false, offset),
                        Some((StorageSpace::Const, offset)) => (true, offset),
                        _ => {
                            let error =
                                PtxError::new(operand.span.place, format!("`{name}` has no address here"));
                            return Err(error.expecting("a function, or a variable declared above"));
                        }
                    };
                    addresses.push(InitialAddress { at, constant, offset: offset.wrapping_add(plus as u64) });
                    0
                }
                _ => {
                    admits(&variable.element, &operand.kind, operand.span.place)?;
                    return Err(PtxError::new(operand.span.place, "this initial value is not supported")
                        .expecting(format!("a number or address that fits `.{}`", variable.element)));
                }
            };
            bytes.extend_from_slice(&value.to_le_bytes()[..element.min(8)]);
        }
        if bytes.len() as u64 > size {
            return Err(PtxError::new(variable.span.place, "more initial values than elements"));
        }
        Ok((bytes, addresses))
    }

    fn name(&mut self, variable: &Variable, space: StorageSpace, index: usize) -> Result<(), PtxError> {
        if variable.range.is_some() {
            return Err(PtxError::new(variable.span.place, "only registers come in ranges"));
        }
        // The first declaration stays: the second has no storage behind it.
        match self.places.entry(variable.name.clone()) {
            Entry::Vacant(free) => {
                free.insert((space, index));
                Ok(())
            }
            Entry::Occupied(_) => {
                Err(PtxError::new(variable.span.place, format!("`{}` is declared twice", variable.name)))
            }
        }
    }
}
