//! The contents of device memory from a module: its variables, its constants and its code, as bytes.
//!
//! Every kernel of a module has the same variables at the same offsets, so any kernel describes them. The loader of the
//! module decides their addresses.

use crate::program::{Kernel, Symbol, library};

/// Addresses of the variables of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariableBases {
    /// Address of the variables in global memory.
    pub globals: u64,
    /// Address of the variables in constant memory.
    pub constants: u64,
    /// The device's heap, for a module that [allocates](Kernel::allocates).
    pub heap: u64,
    /// The device's ring of printed records, for a module that [prints](Kernel::prints).
    pub printf: u64,
}

impl Kernel {
    /// Bytes of an instruction in memory: GPGPU-Sim's count for PTX (`ptx_instruction::m_inst_size`,
    /// ptx_ir.cc).
    pub const INSTRUCTION_BYTES: u64 = 8;

    /// Bytes of the kernel's code; the instruction with number `pc` begins at `pc * INSTRUCTION_BYTES`.
    pub fn code_bytes(&self) -> u64 {
        self.instructions.len() as u64 * Kernel::INSTRUCTION_BYTES
    }

    /// Bytes of the module's `.global` variables.
    pub fn global_bytes(&self) -> u64 {
        extent(&self.global_symbols)
    }

    /// Bytes of the module's `.const` variables.
    pub fn constant_bytes(&self) -> u64 {
        extent(&self.constant_symbols)
    }

    /// The module's variables and the address of each, `.global` ones first.
    pub fn variables(&self, bases: VariableBases) -> impl Iterator<Item = (&Symbol, u64)> {
        let placed = |base: u64| move |symbol: &'_ Symbol| base + symbol.offset;
        let (global, constant) = (placed(bases.globals), placed(bases.constants));
        let globals = self.global_symbols.iter().map(move |symbol| (symbol, global(symbol)));
        globals.chain(self.constant_symbols.iter().map(move |symbol| (symbol, constant(symbol))))
    }

    /// Initial contents of the module's `.global` variables.
    pub fn global_image(&self, bases: VariableBases) -> Vec<u8> {
        let mut bytes = image(&self.global_symbols, bases);
        library::point(&self.global_symbols, &mut bytes, bases);
        bytes
    }

    /// Puts the addresses among the first values of the `.global` variables over the present ones, which were
    /// made with the variables elsewhere.
    pub fn point(&self, bytes: &mut [u8], bases: VariableBases) {
        for symbol in &self.global_symbols {
            let initial = symbol.initial_bytes(bases.globals, bases.constants);
            for address in &symbol.addresses {
                let (from, to) = (address.at as usize, (symbol.offset + address.at) as usize);
                bytes[to..to + 8].copy_from_slice(&initial[from..from + 8]);
            }
        }
        library::point(&self.global_symbols, bytes, bases);
    }

    /// The functions whose addresses a variable of the module holds at first, in their order: those that the kernel can reach, and
    /// nothing for other values. `None` if there is no such variable.
    pub fn functions_in(&self, variable: &str) -> Option<Vec<Option<&str>>> {
        let mut symbols = self.global_symbols.iter().chain(&self.constant_symbols);
        let symbol = symbols.find(|symbol| symbol.name == variable)?;
        let function = |bytes: &[u8; 8]| {
            let address = u64::from_le_bytes(*bytes);
            let mut functions = self.functions.iter().skip(1);
            functions.find(|function| function.address == address).map(|function| function.name.as_str())
        };
        Some(symbol.initial.as_chunks().0.iter().map(function).collect())
    }

    /// Contents of the module's `.const` variables.
    pub fn constant_image(&self, bases: VariableBases) -> Vec<u8> {
        image(&self.constant_symbols, bases)
    }
}

fn extent(symbols: &[Symbol]) -> u64 {
    symbols.iter().map(|symbol| symbol.offset + symbol.size).max().unwrap_or(0)
}

fn image(symbols: &[Symbol], bases: VariableBases) -> Vec<u8> {
    let mut bytes = vec![0; extent(symbols) as usize];
    for symbol in symbols {
        let initial = symbol.initial_bytes(bases.globals, bases.constants);
        bytes[symbol.offset as usize..][..initial.len()].copy_from_slice(&initial);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels and a function with variables of their own, besides those of the module.
    const SOURCE: &str = ".version 7.8
.target sm_35
.address_size 64
.global .align 4 .u32 word = 5;
.const .align 8 .u64 back = generic(word);
.global .align 8 .u64 constant = generic(back);
.func helper() { .global .align 4 .u32 calls = 6; ret; }
.visible .entry first() { .global .align 4 .u32 own = 7; .const .align 4 .u32 two = 2; ret; }
.visible .entry second() {
.reg .b32 %r<2>;
.global .align 4 .u32 own = 8;
ld.global.u32 %r1, [own];
ret;
}
";

    fn kernel(name: &str) -> Kernel {
        Kernel::compile(SOURCE, Some(name)).unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    #[test]
    fn kernels_of_a_module_agree_on_its_variables() {
        let (first, second) = (kernel("first"), kernel("second"));
        assert_eq!(first.global_symbols(), second.global_symbols());
        assert_eq!(first.constant_symbols(), second.constant_symbols());
        assert_eq!((first.global_bytes(), first.constant_bytes()), (28, 12));
        assert_eq!((first.code_bytes(), second.code_bytes()), (8, 16));
    }

    #[test]
    fn images_hold_first_values_and_addresses() {
        let bases = VariableBases { globals: 0x1000, constants: 0x2000, ..VariableBases::default() };
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let kernel = kernel("second");
        assert_eq!(kernel.global_image(bases), words(&[5, 0, 0x2000, 0, 6, 7, 8]));
        assert_eq!(kernel.constant_image(bases), words(&[0x1000, 0, 2]));
        let mut changed = words(&[1, 2, 3, 4, 5, 6, 7]);
        kernel.point(&mut changed, bases);
        assert_eq!(changed, words(&[1, 2, 0x2000, 0, 5, 6, 7]), "only the address is put right");
    }

    #[test]
    fn tables_of_functions_name_them() {
        let source = ".version 7.8
.target sm_35
.address_size 64
.func first() { ret; }
.func second() { ret; }
.global .align 8 .u64 table[3] = { second, 7, first };
.visible .entry caller() {
.reg .b64 %rd<2>;
ld.global.u64 %rd1, [table];
prototype: .callprototype ()_ ();
call %rd1, (), prototype;
ret;
}
";
        let kernel = Kernel::compile(source, None).unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(kernel.functions_in("table"), Some(vec![Some("second"), None, Some("first")]));
        assert_eq!(kernel.functions_in("tabel"), None);
    }
}
