//! What applications should compute, written plainly: one file each, one line in [`REFERENCES`].
//!
//! A reference uses the types of the device program (f32 stays f32) and the order of its operations where that shows in
//! the result; it knows nothing of the simulation.

mod hotspot;
mod vecadd;

use std::collections::BTreeMap;

/// What a reference may look at.
pub struct ReferenceInput<'a> {
    /// The application's parameters.
    pub parameters: &'a BTreeMap<String, f64>,
    /// What the prelude reads, by buffer.
    pub buffers: &'a BTreeMap<String, Vec<u8>>,
    /// The buffer whose final contents are wanted.
    pub wanted: &'a str,
}

impl ReferenceInput<'_> {
    /// A parameter.
    ///
    /// # Errors
    /// If the application has no such parameter.
    pub fn parameter(&self, name: &str) -> Result<f64, String> {
        let value = self.parameters.get(name).copied();
        value.ok_or_else(|| format!("the reference needs a parameter `{name}`"))
    }

    /// The f32 that the prelude reads into a buffer.
    ///
    /// # Errors
    /// If the prelude reads nothing into it.
    pub fn f32s(&self, buffer: &str) -> Result<Vec<f32>, String> {
        let bytes = self.buffers.get(buffer);
        let bytes = bytes.ok_or_else(|| format!("the reference needs an input buffer `{buffer}`"))?;
        let four = bytes.as_chunks::<4>().0;
        Ok(four.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}

/// The bytes of f32.
fn bytes_of_f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A reference: its name, and the function that computes the bytes of the wanted buffer.
pub struct Reference {
    /// The name by which YAML refers to it.
    pub name: &'static str,
    /// Computes the bytes.
    pub compute: fn(&ReferenceInput<'_>) -> Result<Vec<u8>, String>,
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The references by name.
pub const REFERENCES: &[Reference] = &[
    Reference { name: "hotspot", compute: hotspot::reference },
    Reference { name: "vecadd", compute: vecadd::reference },
];

/// The reference of a name.
pub fn named(name: &str) -> Option<&'static Reference> {
    REFERENCES.iter().find(|reference| reference.name == name)
}
