//! Tables of functions that the driver has for NVIDIA's own runtime: a program that is linked with the static runtime asks for them before it
//! calls anything else. Tables, places in them and their meaning are known from public reimplementations of the driver.
//!
//! A table is a list of addresses in memory of the program; the first word is mostly its size in bytes.

use std::ffi::{c_int, c_uint, c_void};

use super::super::entries;
use super::devices::{PCI_ATTRIBUTES, UUID, VERSION};
use super::digest::keyed;
use super::images::{Options, image};
use crate::errors::{Error, Result};
use crate::foreign::{put, read, write};
use crate::made::contexts::{MODULES, Owned, PRIMARY};
use crate::state::State;

/// A table: its number, whether its size comes first, its words, and the functions at places in it; what is at others is refused.
struct Table {
    number: [u8; 16],
    has_size: bool,
    words: usize,
    functions: &'static [(usize, &'static str)],
}

const fn table(number: u128, words: usize, functions: &'static [(usize, &'static str)]) -> Table {
    Table { number: number.to_be_bytes(), has_size: true, words, functions }
}

const RUNTIME: u128 = 0x6bd5fb6c_5bf4e74a_8987d939_12fd9df9;
const CHECK: u128 = 0xd4082055_bde6704b_8d34ba12_3c66e1f2;

static TABLES: &[Table] = &[
    table(
        RUNTIME,
        13,
        &[
            (1, "cuPrivateModule"),
            (2, "cuPrivatePrimaryContext"),
            (6, "cuPrivateModule"),
            (7, "cuPrivateNothing"),
            (8, "cuPrivateModuleOfBinary"),
            (12, "cuPrivateNothing"),
        ],
    ),
    // Hooks of tools, and memory that they have.
    table(0x42d85a81_23f6cb47_8298f6e7_8a3aecdc, 4, &[]),
    table(
        0xa094798c_2e742e74_93f20800_200c0a66,
        7,
        &[(2, "cuPrivateToolMemory"), (6, "cuPrivateToolMemory")],
    ),
    // Values that the runtime keeps for each context.
    Table {
        number: 0xc693336e_1121df11_a8c368f3_55d89593_u128.to_be_bytes(),
        has_size: false,
        words: 4,
        functions: &[(0, "cuPrivatePut"), (1, "cuPrivateDelete"), (2, "cuPrivateGet")],
    },
    table(0x0ca50b8c_1004929a_89a7d0df_10e77286, 2, &[(1, "cuCtxCreate_v2")]),
    table(0x195bcbf4_d67d024a_acc51d29_cea631ae, 3, &[(1, "cuPrivateRecord"), (2, "cuPrivateForget")]),
    table(0xb10541e1_f7c7c74a_9f64f223_be99f1e2, 26, &[(13, "cuPrivateDeviceByte")]),
    table(CHECK, 3, &[(1, "cuPrivateCheck")]),
    table(0x21318c60_97143248_8ca641ff_7324c8f2, 95, &[]),
    table(0x263e8860_7cd26143_92f6bbd5_006dfa7e, 4, &[(2, "cuPrivateCheckContext"), (3, "cuPrivateNothing")]),
];

/// Bytes of a tool's memory.
const TOOL_BYTES: usize = 4096;
/// The key of the check.
const KEY: [u8; 16] =
    [0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f];
/// Results of checks of the versions that have a fixed one, by the last digit of the version.
const FIXED: [[u64; 2]; 2] =
    [[0x3341_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8], [0x1841_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8]];

impl State {
    /// The address of a table in the program, which is put there when it is first asked for.
    fn table(&mut self, number: [u8; 16]) -> Result<Option<u64>> {
        if let Some(&address) = self.tables.get(&number) {
            return Ok(Some(address));
        }
        let Some(table) = TABLES.iter().find(|table| table.number == number) else { return Ok(None) };
        let refused = self.entry_point("cuPrivateUnknown").ok_or(Error::UNKNOWN)?;
        let mut words = vec![refused; table.words];
        if table.has_size {
            words[0] = 8 * table.words as u64;
        }
        for (place, name) in table.functions {
            words[*place] = self.entry_point(name).ok_or(Error::UNKNOWN)?;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = self.room_in_program(bytes.len() as u64)?;
        write(address, &bytes)?;
        self.tables.insert(number, address);
        Ok(Some(address))
    }

    fn private_module(&mut self, module: *mut u64, code: *const c_void) -> Result {
        let none = Options { count: 0, keys: std::ptr::null(), values: std::ptr::null_mut() };
        let binary = self.load_image(image(code, None), none)?;
        self.own(Owned::Module(binary));
        put(module, MODULES + binary as u64)
    }

    fn storage_key(&mut self, context: u64, key: u64) -> Result<(u64, u64)> {
        Ok((if context == 0 { self.current_context()? } else { context }, key))
    }

    /// The words that the runtime compares with its own: a keyed digest of what it has been told.
    fn check_words(&mut self, version: c_uint, seconds: u64) -> Result<[u64; 2]> {
        if let Some(fixed) = FIXED.get((version % 10) as usize) {
            return Ok(*fixed);
        }
        let [of_runtime, own] = [RUNTIME, CHECK].map(|number| self.table(number.to_be_bytes()));
        let (of_runtime, own) = (of_runtime?.unwrap_or(0), own?.unwrap_or(0));
        let function = self.entry_point("cuPrivateCheck").unwrap_or(0);
        let numbers = [VERSION as u32, version, crate::foreign::process() as u32, self.thread_pointer as u32];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend([of_runtime, own, function, seconds].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(UUID);
        bytes.extend(self.attributes(PCI_ATTRIBUTES)?.iter().flat_map(|number| number.to_le_bytes()));
        let digest = keyed(KEY, &bytes);
        let word = |at: usize| u64::from_le_bytes(digest.as_chunks().0[at]);
        Ok([word(0), word(1)])
    }
}

entries! {
    fn cuGetExportTable(place: *mut u64, number: *const c_void) => Always |state| {
        let number: [u8; 16] = read(number.addr() as u64, 16)?.try_into().map_err(|_| Error::INVALID_VALUE)?;
        let found = state.table(number)?;
        put(place, found.unwrap_or(0))?;
        found.map(drop).ok_or(Error::INVALID_VALUE)
    }

    /// Code of the program, in the wrapper of its compiler.
    fn cuPrivateModule(module: *mut u64, wrapper: *const c_void) => Device |state| {
        state.private_module(module, wrapper)
    }

    fn cuPrivateModuleOfBinary(binary: *const c_void, module: *mut u64) => Device |state| {
        state.private_module(module, binary)
    }

    fn cuPrivatePrimaryContext(place: *mut u64, device: c_int) => Device |state| {
        super::super::devices::check_device(device)?;
        state.contexts.is_of_runtime = true;
        put(place, PRIMARY)
    }

    fn cuPrivateNothing() => Always |_state| { Ok(()) }

    fn cuPrivateUnknown() => Always |state| {
        Err(state.refuse("cuGetExportTable", "a private function of the driver is not supported"))
    }

    fn cuPrivateToolMemory(place: *mut u64, bytes: *mut usize) => Always |state| {
        let address = state.room_in_program(TOOL_BYTES as u64)?;
        put(place, address)?;
        put(bytes, TOOL_BYTES / 4)
    }

    fn cuPrivatePut(context: u64, key: u64, value: u64, _end: *const c_void) => Device |state| {
        let key = state.storage_key(context, key)?;
        state.stored.insert(key, value);
        Ok(())
    }

    fn cuPrivateDelete(context: u64, key: u64) => Device |state| {
        let key = state.storage_key(context, key)?;
        state.stored.remove(&key);
        Ok(())
    }

    fn cuPrivateGet(value: *mut u64, context: u64, key: u64) => Device |state| {
        let key = state.storage_key(context, key)?;
        put(value, state.stored.get(&key).copied().ok_or(Error::INVALID_RESOURCE_HANDLE)?)
    }

    /// Notes memory of the runtime's: two words that the driver keeps.
    fn cuPrivateRecord(place: *mut u64, first: u64, second: u64) => Always |state| {
        let address = state.room_in_program(16)?;
        write(address, &first.to_le_bytes())?;
        write(address + 8, &second.to_le_bytes())?;
        put(place, address)
    }

    fn cuPrivateForget(record: u64, second: *mut u64) => Always |_state| {
        if second.is_null() {
            return Ok(());
        }
        let word: [u8; 8] = read(record + 8, 8)?.try_into().map_err(|_| Error::INVALID_VALUE)?;
        put(second, u64::from_le_bytes(word))
    }

    fn cuPrivateDeviceByte(place: u64, device: c_int) => Always |_state| {
        super::super::devices::check_device(device)?;
        write(place, &[0])
    }

    fn cuPrivateCheck(version: c_uint, seconds: u64, words: *mut [u64; 2]) => Always |state| {
        let found = state.check_words(version, seconds)?;
        put(words.cast::<u64>(), found[0])?;
        put(words.cast::<u64>().wrapping_add(1), found[1])
    }

    fn cuPrivateCheckContext(_context: u64, first: *mut c_uint, _second: *mut u64) => Always |_state| { put(first, 0) }
}
