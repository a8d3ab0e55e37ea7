//! Surfaces (CUDA C Programming Guide, "Surface Memory"; PTX ISA 9.7.11): elements in device memory that kernels read and write
//! by their coordinates.
//!
//! A launch binds surfaces by the name of a `.surfref`, or by the 64-bit handle that is the kernel's argument. This module
//! computes the addresses of elements; the access is one to global memory. Rows are consecutive without padding.

use std::collections::BTreeMap;

use super::{CtaEnvironment, ExecError, FaultKind, Warp, fault, fault_of};
use crate::program::{Instruction, Kernel, NONE, Outside, Row, SurfaceField, SurfacePlace};

/// A surface.
#[derive(Clone, Debug, Hash)]
pub struct Surface {
    /// Elements in x, y and z; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// Surfaces of this size, one behind the other, for a surface that is an array of them.
    pub layers: Option<u32>,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// Address of the elements in device memory, x fastest.
    pub elements: u64,
}

/// The surfaces of a launch.
#[derive(Clone, Debug, Default, Hash)]
pub struct Surfaces {
    /// By the name of the `.surfref`.
    pub references: BTreeMap<String, Surface>,
    /// By handle.
    pub objects: BTreeMap<u64, Surface>,
}

impl Surfaces {
    /// Handles of surfaces are counted from here, where neither memory nor handles of textures are.
    pub const FIRST_HANDLE: u64 = 1 << 48;
}

/// The place of an access: x in bytes, y, z, and the layer.
type SurfacePoint = [i64; 4];

impl Surface {
    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.row_bytes() * u64::from(self.size[1]) * u64::from(self.size[2]) * self.layer_count()
    }

    fn row_bytes(&self) -> u64 {
        u64::from(self.size[0]) * u64::from(self.element_bytes)
    }

    fn layer_count(&self) -> u64 {
        self.layers.unwrap_or(1).into()
    }

    /// The last place of an access to some bytes; x is negative if a row has fewer.
    fn last(&self, bytes: u8) -> SurfacePoint {
        let [_, height, depth] = self.size.map(i64::from);
        let x = self.row_bytes() as i64 - i64::from(bytes);
        [x, height - 1, depth - 1, self.layer_count() as i64 - 1]
    }

    /// The address of an access to some bytes; `None` if a part of them is outside.
    fn address(&self, place: SurfacePoint, bytes: u8) -> Option<u64> {
        let last = self.last(bytes);
        let inside = place.iter().zip(last).all(|(at, last)| (0..=last).contains(at));
        let [x, y, z, layer] = place.map(|at| at as u64);
        let [_, height, depth] = self.size.map(u64::from);
        inside.then(|| self.elements + x + self.row_bytes() * (y + height * (z + depth * layer)))
    }

    fn nearest(&self, place: SurfacePoint, bytes: u8) -> SurfacePoint {
        let mut last = self.last(bytes);
        last[0] -= last[0] % i64::from(bytes);
        std::array::from_fn(|axis| place[axis].min(last[axis]).max(0))
    }
}

impl Warp {
    /// The addresses of the elements that lanes access, and the lanes that access one.
    pub(super) fn surface_address(
        &mut self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        instruction: &Instruction,
        form: SurfacePlace,
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        let zeros = Row::ZERO;
        let coordinates = instruction.sources.map(|source| match source {
            NONE => &zeros,
            source => self.row(kernel, source),
        });
        let (mut addresses, mut inside) = ([0; 32], 0);
        self.with_surfaces(kernel, env, instruction, lanes, |lane, surface| {
            let at = |axis: usize| coordinates[axis].0[lane];
            let signed = |axis: usize| i64::from(at(axis) as i32);
            let place = [signed(0), signed(1), signed(2), i64::from(at(3))];
            match (surface.layers, form.layered) {
                (Some(_), false) => {
                    return Err("the surface has layers, and the instruction names none".into());
                }
                (None, true) => return Err("the instruction names a layer, and the surface has none".into()),
                _ => {}
            }
            let place = match form.outside {
                Outside::Nearest => surface.nearest(place, form.bytes),
                Outside::Fault | Outside::Nothing => place,
            };
            if let Some(address) = surface.address(place, form.bytes) {
                addresses[lane] = address;
                inside |= 1 << lane;
            } else if form.outside != Outside::Nothing {
                return Err(beyond(surface, place, form.bytes));
            }
            Ok(())
        })?;
        self.set_wide(instruction.destinations[0], &addresses, lanes);
        if instruction.destinations[1] != NONE {
            self.set_predicate(instruction.destinations[1], inside, lanes);
        }
        Ok(())
    }

    /// `suq`
    pub(super) fn query_surface(
        &mut self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        instruction: &Instruction,
        field: SurfaceField,
        lanes: u32,
    ) -> Result<(), Box<ExecError>> {
        let mut values = [0; 32];
        self.with_surfaces(kernel, env, instruction, lanes, |lane, surface| {
            values[lane] = match field {
                SurfaceField::Size(axis) => surface.size[usize::from(axis)],
                SurfaceField::Layers => surface.layers.unwrap_or_default(),
                // Rows are consecutive.
                SurfaceField::IsLinear => 1,
            };
            Ok(())
        })?;
        self.set_narrow(instruction.destinations[0], &values, lanes);
        Ok(())
    }

    /// Calls a function with each lane and its surface; a message of its becomes a fault of the lane.
    #[inline]
    fn with_surfaces(
        &self,
        kernel: &Kernel,
        env: &CtaEnvironment,
        instruction: &Instruction,
        lanes: u32,
        mut work: impl FnMut(usize, &Surface) -> Result<(), String>,
    ) -> Result<(), Box<ExecError>> {
        let surfaces = &env.textures.surfaces;
        let mut known: Option<(u64, &Surface)> = None;
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let by_name = instruction.address == NONE;
            let handle = if by_name { 0 } else { self.address_of(instruction, lane) };
            let surface = match known {
                Some((last, surface)) if last == handle => surface,
                _ if by_name => {
                    let name = &kernel.global_symbols[instruction.offset as usize].name;
                    surfaces.references.get(name).ok_or_else(|| {
                        fault(instruction, 1 << lane, format!("no surface is bound to `{name}`"))
                    })?
                }
                _ => surfaces.objects.get(&handle).ok_or_else(|| {
                    fault(instruction, 1 << lane, format!("no surface has the handle {handle:#x}"))
                })?,
            };
            known = Some((handle, surface));
            work(lane, surface)
                .map_err(|message| fault_of(FaultKind::IllegalAddress, instruction, 1 << lane, message))?;
        }
        Ok(())
    }
}

#[cold]
fn beyond(surface: &Surface, [x, y, z, layer]: SurfacePoint, bytes: u8) -> String {
    let [_, height, depth] = surface.size;
    let mut place = format!("byte {x} of row {y}");
    let mut has = format!("{height} rows of {} bytes", surface.row_bytes());
    if depth > 1 || z != 0 {
        place += &format!(", plane {z}");
        has += &format!(", {depth} planes");
    }
    if let Some(layers) = surface.layers {
        place += &format!(", layer {layer}");
        has += &format!(", {layers} layers");
    }
    format!("{bytes} bytes at {place} lie outside of the surface, which has {has}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_counts_bytes_and_the_rest_elements() {
        let block = Surface { size: [3, 4, 5], layers: None, element_bytes: 4, elements: 4096 };
        assert_eq!((block.bytes(), block.address([8, 0, 0, 0], 4)), (240, Some(4096 + 8)));
        assert_eq!(block.address([4, 3, 2, 0], 8), Some(4096 + 4 + 12 * (3 + 4 * 2)));
        for outside in [[-1, 0, 0, 0], [9, 0, 0, 0], [0, 4, 0, 0], [0, -1, 0, 0], [0, 0, 5, 0], [0, 0, 0, 1]]
        {
            assert_eq!(block.address(outside, 4), None, "{outside:?}");
        }
        assert_eq!(block.address([0; 4], 16), None, "a row has 12 bytes");
        let planes = Surface { layers: Some(2), size: [3, 4, 1], ..block };
        assert_eq!((planes.bytes(), planes.address([0, 1, 0, 1], 4)), (96, Some(4096 + 48 + 12)));
    }

    #[test]
    fn the_nearest_place_has_room_for_the_access() {
        let plane = Surface { size: [5, 4, 1], layers: None, element_bytes: 4, elements: 0 };
        assert_eq!(plane.nearest([400, 9, 1, 2], 4), [16, 3, 0, 0]);
        assert_eq!(plane.nearest([400, 2, 0, 0], 8), [8, 2, 0, 0], "20 bytes hold two accesses of 8");
        assert_eq!(plane.nearest([-4, -1, -1, 0], 16), [0; 4]);
    }
}
