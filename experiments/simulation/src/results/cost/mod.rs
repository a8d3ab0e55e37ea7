//! Storage costs of mechanisms in a machine, computed as in the papers that propose them. Each is a report
//! that an extension registers.

use counterpoint_framework::model::{Node, Registry};
use counterpoint_framework::time::Bytes;
use counterpoint_framework::topology::{Instance, Machine};
use counterpoint_protocols::roles;

/// Cost of a mechanism in a machine.
#[derive(Clone, Copy, Debug)]
pub struct CostReport {
    /// The mechanism.
    pub name: &'static str,
    /// The option that adds the mechanism to a machine without it.
    pub with: &'static str,
    /// Whether a machine has the mechanism.
    pub applies: fn(&Machine) -> bool,
    /// The cost in tables.
    pub tables: fn(&Machine) -> Result<Vec<Table>, String>,
}

/// Lines of columns.
pub type Table = Vec<Vec<String>>;

/// The reports that apply to a machine, with their tables.
///
/// # Errors
/// A sentence that names what a report lacks, or, if no report applies, the reports that exist.
pub fn of(machine: &Machine, registry: &Registry) -> Result<Vec<(&'static str, Vec<Table>)>, String> {
    let reports = || registry.all::<CostReport>();
    let found: Result<Vec<_>, String> = reports()
        .filter(|report| (report.applies)(machine))
        .map(|report| Ok((report.name, (report.tables)(machine)?)))
        .collect();
    let found = found?;
    if found.is_empty() {
        let known: Vec<_> = reports().map(|report| format!("{} ({})", report.name, report.with)).collect();
        return Err(format!(
            "the machine has no mechanism whose cost is known; there are: {}",
            known.join(", ")
        ));
    }
    Ok(found)
}

/// Fields with their bits in a line.
pub fn named(fields: &[FieldBits]) -> String {
    fields.iter().map(|(name, bits)| format!("{name} {bits}")).collect::<Vec<_>>().join(", ")
}

/// A field, and its bits.
pub type FieldBits = (&'static str, u64);

/// The bits of fields together.
pub fn bits(fields: &[FieldBits]) -> u64 {
    fields.iter().map(|(_, bits)| bits).sum()
}

/// Bits of a number that is at most `most`.
pub fn width(most: u64) -> u64 {
    u64::from(u64::BITS - most.leading_zeros())
}

/// The components of a kind.
pub fn of_kind<'m>(machine: &'m Machine, kind: &'m str) -> impl Iterator<Item = &'m Instance> {
    machine.instances.iter().filter(move |one| one.kind == kind)
}

/// The components of a role.
pub fn of_role<'m>(machine: &'m Machine, role: &'m str) -> impl Iterator<Item = &'m Instance> {
    machine.instances.iter().filter(move |one| one.role == role)
}

/// The parameters of the first component of a kind, on a machine with one GPU.
///
/// # Errors
/// If the machine has none, or several GPUs.
pub fn one<'m>(machine: &'m Machine, kind: &'m str) -> Result<&'m Node, String> {
    if of_role(machine, roles::CTA_SCHEDULER).count() > 1 {
        return Err("the machine has several GPUs: what each costs depends on it alone".to_owned());
    }
    let found = of_kind(machine, kind).next().map(|one| &*one.params);
    found.ok_or_else(|| format!("the machine has no component of kind {kind}"))
}

/// Bytes of the whole L2.
///
/// # Errors
/// If a slice does not state its capacity.
pub fn l2(machine: &Machine) -> Result<u64, String> {
    of_role(machine, roles::L2).map(|slice| size(&slice.params, "cache.capacity")).sum()
}

/// Value of a parameter by its path, parsed as `T`.
///
/// # Errors
/// If the parameter is missing, or is not a `T`.
pub fn parameter<T: std::str::FromStr>(params: &Node, path: &str) -> Result<T, String> {
    let found = path.split('.').try_fold(params, |node, name| node.get(name));
    let value = found.and_then(Node::as_scalar).and_then(|text| text.parse().ok());
    value.ok_or_else(|| format!("the machine has no `{path}` that could be read"))
}

/// A parameter that is a size, in bytes.
///
/// # Errors
/// As [`parameter`].
pub fn size(params: &Node, path: &str) -> Result<u64, String> {
    parameter::<Bytes>(params, path).map(Bytes::get)
}
