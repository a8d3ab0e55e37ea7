//! The kernels of Pagoda and GeMTC on the model of throughput: state machines in the place of code that waits for other blocks and for the
//! host.

mod gemtc;
pub mod pagoda;
mod task;

use counterpoint::component::Registry;

use crate::throughput::state_machine::StateMachine;

/// Registers the state machines.
pub(crate) fn register(registry: &mut Registry) {
    registry.equipped::<dyn StateMachine, pagoda::Masters>();
    registry.variant::<dyn StateMachine, gemtc::Supers>();
}
