//! Parameters of kernels, and variables with static storage.

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX text.
    pub name: String,
    /// Offset in the parameter bytes.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// Alignment.
    pub align: u32,
    /// The element type without its dot, such as `u64`.
    pub element: String,
}

/// A variable with static storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name in the PTX text.
    pub name: String,
    /// Offset in its space's bytes.
    pub offset: u64,
    /// Bytes; 0 for `.extern .shared x[]`.
    pub size: u64,
    /// The element type without its dot, such as `f32`.
    pub element: String,
    /// Its first bytes, for `.global` and `.const`; short or empty means zeros.
    pub initial: Vec<u8>,
    /// Addresses of variables among these bytes, which hold zeros there.
    pub addresses: Vec<InitialAddress>,
}

/// Eight initial bytes that are the address of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialAddress {
    /// Offset of these bytes in the variable.
    pub at: u64,
    /// Whether the address is in constant memory; otherwise in global memory.
    pub constant: bool,
    /// Offset in that space's bytes.
    pub offset: u64,
}

impl Symbol {
    /// Whether an offset in its space is within the variable; a variable without a size contains all offsets from its own on.
    pub fn holds(&self, offset: u64) -> bool {
        offset.checked_sub(self.offset).is_some_and(|inside| inside < self.size || self.size == 0)
    }

    /// Its first bytes, where global and constant variables begin at these addresses.
    pub fn initial_bytes(&self, global_base: u64, constant_base: u64) -> Vec<u8> {
        let mut bytes = self.initial.clone();
        for address in &self.addresses {
            let base = if address.constant { constant_base } else { global_base };
            let value = base.wrapping_add(address.offset).to_le_bytes();
            if let Some(place) = bytes.get_mut(address.at as usize..address.at as usize + 8) {
                place.copy_from_slice(&value);
            }
        }
        bytes
    }
}
