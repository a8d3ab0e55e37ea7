//! The results of the kernels, written plainly: one file each, one line here.

mod differences;
mod halves;
mod links;
mod mixture;
mod voxels;

use counterpoint::application::Reference;
use counterpoint::component::Registry;

pub(crate) fn register(registry: &mut Registry) {
    registry.add(Reference { name: "kernelet-mriq", compute: voxels::reference });
    registry.add(Reference { name: "kernelet-pc", compute: links::reference });
    registry.add(Reference { name: "kernelet-test", compute: mixture::reference });
    registry.add(Reference { name: "kernelet-sad", compute: differences::reference });
    registry.add(Reference { name: "kernelet-sad-16", compute: halves::reference });
}
