//! Functions of CUDA's device library that a module calls and does not have: blocks of the heap of a device, and printed text.

use counterpoint_ptx::functional::{FlatMemory, Grid, Options, run};
use counterpoint_ptx::{Heap, Kernel, VariableBases, decode, parser};

/// Kernels that allocate, free what a pointer in memory says, and free a wrong pointer.
const BLOCKS: &str = "
.version 7.8
.target sm_70
.address_size 64
.extern .func (.param .b64 block) malloc(.param .b64 bytes);
.extern .func free(.param .b64 block);
.visible .entry take(.param .u64 to, .param .u64 bytes)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<6>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	ld.param.u64 %rd1, [to];
	ld.param.u64 %rd2, [bytes];
	mul.wide.u32 %rd3, %r4, 8;
	add.u64 %rd4, %rd1, %rd3;
	{
		.param .b64 size; .param .b64 block;
		st.param.b64 [size], %rd2;
		call.uni (block), malloc, (size);
		ld.param.b64 %rd5, [block];
	}
	st.global.u64 [%rd4], %rd5;
	ret;
}
.visible .entry give(.param .u64 from, .param .u64 plus)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<7>;
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.u32 %r4, %r1, %r2, %r3;
	ld.param.u64 %rd1, [from];
	ld.param.u64 %rd2, [plus];
	mul.wide.u32 %rd3, %r4, 8;
	add.u64 %rd4, %rd1, %rd3;
	ld.global.u64 %rd5, [%rd4];
	add.u64 %rd6, %rd5, %rd2;
	{
		.param .b64 block;
		st.param.b64 [block], %rd6;
		call.uni free, (block);
	}
	ret;
}
";

/// A device with the module of a text, and a place for pointers.
struct Device {
    kernels: Vec<Kernel>,
    variables: VariableBases,
    memory: FlatMemory,
    pointers: u64,
}

const HEAP: u64 = 64 << 10;

impl Device {
    fn new(source: &str, ring: u64) -> Self {
        let module = parser::parse(source).unwrap_or_else(|errors| panic!("{errors:?}"));
        let kernels = decode::decode(&module).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut memory = FlatMemory::new(0);
        // Bytes that nobody has written are no zeros.
        memory.set_library(HEAP, ring, 0xa5);
        let variables = memory.load("module", &kernels[0]);
        let pointers = memory.push(&[0; 8 * 4096]);
        Device { kernels, variables, memory, pointers }
    }

    fn launch(&mut self, kernel: &str, [grid, block]: [u32; 2], argument: u64) -> Result<(), String> {
        let kernel = self.kernels.iter().find(|one| one.name() == kernel).unwrap();
        let params: Vec<u8> = [self.pointers, argument].into_iter().flat_map(u64::to_le_bytes).collect();
        let options = Options { limit: 10_000_000, racecheck: true, ..Options::default() };
        let launch = Grid::new(kernel, [grid, 1, 1], [block, 1, 1], &params, self.variables, &options);
        let mut launch = launch.map_err(|error| error.to_string())?;
        let flow = launch.run_all(&mut self.memory, || {}).map_err(|failure| failure.to_string())?;
        assert!(flow.is_continue());
        assert_eq!(launch.findings(), [], "the library makes no mistakes");
        Ok(())
    }

    fn pointers(&self, count: usize) -> Vec<u64> {
        let start = (self.pointers - self.memory.base) as usize;
        self.memory.bytes[start..].as_chunks().0[..count]
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect()
    }
}

/// Asserts that blocks of a size lie in the heap, apart from each other.
fn assert_apart(device: &Device, blocks: &[u64], bytes: u64) {
    let mut blocks = blocks.to_vec();
    blocks.sort_unstable();
    let (first, last) = (blocks[0], blocks[blocks.len() - 1]);
    let heap = device.variables.heap;
    assert!(first >= heap && last + bytes <= heap + HEAP, "{first:#x} to {last:#x} in {heap:#x}");
    assert!(blocks.iter().all(|block| block % 16 == 0));
    assert!(blocks.windows(2).all(|pair| pair[0] + bytes <= pair[1]), "{blocks:x?}");
}

#[test]
fn blocks_of_all_threads_lie_apart_and_come_back() {
    let mut device = Device::new(BLOCKS, 1024);
    device.launch("take", [4, 48], 40).unwrap();
    let first = device.pointers(192);
    assert_apart(&device, &first, 40);
    // The first launch's blocks stay what they are.
    device.launch("take", [4, 48], 40).unwrap();
    let second = device.pointers(192);
    assert_apart(&device, &[first, second.clone()].concat(), 40);
    // Other threads give them back, in blocks of other sizes; then the same memory serves again.
    device.launch("give", [3, 64], 0).unwrap();
    device.launch("take", [6, 32], 40).unwrap();
    let third = device.pointers(192);
    assert_eq!(sorted(third), sorted(second));
}

fn sorted(mut words: Vec<u64>) -> Vec<u64> {
    words.sort_unstable();
    words
}

#[test]
fn an_exhausted_heap_gives_null_until_something_comes_back() {
    let mut device = Device::new(BLOCKS, 1024);
    device.launch("take", [1, 96], 1000).unwrap();
    let all = device.pointers(96);
    let blocks: Vec<u64> = all.iter().copied().filter(|block| *block != 0).collect();
    // A block and what it is managed by takes at most a quarter more than it has.
    let least = (HEAP - Heap::HEADER_BYTES) / (1016 + 1016 / 4);
    assert!(blocks.len() as u64 >= least && blocks.len() < 65, "{}", blocks.len());
    assert_apart(&device, &blocks, 1000);
    for size in [HEAP, u64::MAX, 1 << 40, 1000] {
        device.launch("take", [1, 1], size).unwrap();
        assert_eq!(device.pointers(1), [0], "{size}");
    }
    // `free` of a null pointer does nothing; of a block that the first thread's pointer is now.
    device.launch("give", [1, 2], 0).unwrap();
    device.launch("take", [1, 1], 300).unwrap();
    assert_eq!(device.pointers(1), [all[1]], "a larger block serves");
    device.launch("take", [1, 1], 0).unwrap();
    assert_eq!(device.pointers(1), [0]);
}

#[test]
fn the_sizes_of_blocks_fit_at_every_boundary() {
    let mut device = Device::new(BLOCKS, 1024);
    let mut blocks: Vec<(u64, u64)> = Vec::new();
    for bytes in (0..8).flat_map(|power| [(16 << power) - 1, 16 << power, (16 << power) + 1, 20 << power]) {
        device.launch("take", [1, 1], bytes).unwrap();
        blocks.push((device.pointers(1)[0], bytes));
    }
    blocks.sort_unstable();
    assert!(blocks[0].0 >= device.variables.heap + Heap::HEADER_BYTES);
    for pair in blocks.windows(2) {
        // Before each block lie 16 bytes that are not the program's.
        assert!(pair[0].0 + pair[0].1 + 16 <= pair[1].0, "{pair:?}");
        assert!(pair[0].0 + pair[0].1 * 5 / 4 + 64 >= pair[1].0, "{pair:?}");
    }
}

#[test]
fn a_pointer_that_is_no_block_is_an_error_with_its_thread() {
    for plus in [16, 8, 1 << 20, 1 << 40] {
        let mut device = Device::new(BLOCKS, 1024);
        device.launch("take", [1, 1], 64).unwrap();
        let error = device.launch("give", [1, 1], plus).unwrap_err();
        assert!(error.contains("`free` is given what `malloc` did not give"), "{error}");
        assert!(error.contains("the device library, `call $bad_free, ();`"), "{error}");
    }
    let mut device = Device::new(BLOCKS, 1024);
    device.launch("take", [1, 1], 64).unwrap();
    device.launch("give", [1, 1], 0).unwrap();
    assert!(device.launch("give", [1, 1], 0).unwrap_err().contains("or what is free already"));
}

/// Prints `thread N of warp A`, where N counts threads of a block and blocks, and its square root, and notes the result of `vprintf`.
const PRINTS: &str = r"
.version 7.8
.target sm_70
.address_size 64
.extern .func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 $format[26] = {116,104,114,101,97,100,32,37,45,50,117,32,111,102,32,37,115,58,32,37,46,50,102,33,10,0};
.global .align 1 .b8 $name[7] = {119,97,114,112,32,65,0};
.visible .entry k(.param .u64 to, .param .u64 unused)
{
	.local .align 8 .b8 depot[24];
	.reg .b32 %r<5>;
	.reg .f64 %fd<3>;
	.reg .b64 %rd<8>;
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %ctaid.x;
	add.u32 %r1, %r3, %r4;
	mov.u64 %rd1, depot;
	cvta.local.u64 %rd2, %rd1;
	mov.u64 %rd3, $name;
	cvta.global.u64 %rd4, %rd3;
	cvt.rn.f64.u32 %fd1, %r1;
	sqrt.rn.f64 %fd2, %fd1;
	st.local.u32 [%rd1], %r1;
	st.local.u64 [%rd1+8], %rd4;
	st.local.f64 [%rd1+16], %fd2;
	mov.u64 %rd5, $format;
	cvta.global.u64 %rd6, %rd5;
	{
		.param .b64 p; .param .b64 q; .param .b32 r;
		st.param.b64 [p], %rd6;
		st.param.b64 [q], %rd2;
		call.uni (r), vprintf, (p, q);
		ld.param.b32 %r2, [r];
	}
	ld.param.u64 %rd7, [to];
	st.global.u32 [%rd7], %r2;
	ret;
}
";

fn line(thread: u32) -> String {
    format!("thread {thread:<2} of warp A: {:.2}!\n", f64::from(thread).sqrt())
}

#[test]
fn texts_and_numbers_are_printed_thread_after_thread() {
    let mut device = Device::new(PRINTS, 1 << 20);
    device.launch("k", [1, 40], 0).unwrap();
    assert_eq!(device.memory.take_printed(), (0..40).map(line).collect::<String>());
    assert_eq!(device.pointers(1), [3]);
    assert_eq!(device.memory.take_printed(), "");
}

#[test]
fn a_full_ring_keeps_the_newest_lines() {
    // A record has 16 bytes, a format of 26 up to 48, arguments of 24, and a text of 7: 80.
    let mut device = Device::new(PRINTS, 1000);
    device.launch("k", [32, 1], 0).unwrap();
    let printed = device.memory.take_printed();
    let kept = printed.lines().count() as u32;
    assert_eq!(kept, 1000 / 80);
    assert_eq!(printed, (32 - kept..32).map(line).collect::<String>());
    // A record that is larger than the ring is not printed.
    let mut device = Device::new(PRINTS, 64);
    device.launch("k", [1, 1], 0).unwrap();
    assert_eq!((device.memory.take_printed(), device.pointers(1)[0] as i32), (String::new(), -2));
}

#[test]
fn functions_of_the_module_come_first_and_other_declarations_are_errors() {
    let own = BLOCKS.replace(
        ".extern .func (.param .b64 block) malloc(.param .b64 bytes);\n.extern .func free(.param .b64 block);",
        ".func (.param .b64 block) malloc(.param .b64 bytes) { .reg .b64 %v; ld.param.u64 %v, [bytes]; st.param.b64 [block], %v; ret; }
.func free(.param .b64 block) { ret; }",
    );
    let mut device = Device::new(&own, 1024);
    device.launch("take", [1, 1], 7).unwrap();
    assert_eq!((device.pointers(1), device.variables.heap), (vec![7], 0));

    let other = BLOCKS.replace("malloc(.param .b64 bytes)", "malloc(.param .b32 bytes)");
    let errors = decode::decode(&parser::parse(&other).unwrap()).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "5:1: `malloc` is declared with other parameters than it has (expected .extern .func (.param .b64 block) malloc(.param \
         .b64 bytes);)"
    );
}

#[test]
fn a_kernel_has_the_text_of_its_file_alone() {
    let kernel = Kernel::compile(PRINTS, None).unwrap();
    assert_eq!(kernel.source(), PRINTS);
    assert!(kernel.prints() && !kernel.allocates());
    let mut memory = FlatMemory::new(4096);
    let params: Vec<u8> = [memory.base, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    run(&kernel, [1; 3], [1; 3], &params, &mut memory, &Options::default()).unwrap();
    assert_eq!(memory.take_printed(), line(0), "memory of its own accord");
}
