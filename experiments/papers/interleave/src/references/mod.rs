//! The results of the kernels, written plainly: one file each, one line here.

mod adjust_weights;
mod align;
mod described;
mod flux;
mod heat;
mod layer_forward;
mod lu_internal;
mod path;
mod track;

use counterpoint::application::Reference;
use counterpoint::component::Registry;

pub(crate) fn register(registry: &mut Registry) {
    for reference in described::REFERENCES {
        registry.add(reference);
    }
    registry.add(Reference { name: "rodinia-bp-1", compute: layer_forward::reference });
    registry.add(Reference { name: "rodinia-bp-2", compute: adjust_weights::reference });
    registry.add(Reference { name: "rodinia-cfd", compute: flux::reference });
    registry.add(Reference { name: "rodinia-hot", compute: heat::reference });
    registry.add(Reference { name: "rodinia-hw", compute: track::reference });
    registry.add(Reference { name: "rodinia-lud", compute: lu_internal::reference });
    registry.add(Reference { name: "rodinia-nw", compute: align::reference });
    registry.add(Reference { name: "rodinia-path", compute: path::reference });
}

fn bytes_of_f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The bytes of whole numbers; of signed ones those of the same bits.
fn bytes_of_u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
