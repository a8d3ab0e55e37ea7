//! Grids that run slice by slice: every block once, and the memory that the whole launch leaves.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use counterpoint_ptx::functional::{FlatMemory, ctas};
use counterpoint_ptx::slice::{Carry, Dimensions, Options, Slice, plan, sliced};
use proptest::prelude::*;

use crate::runs::{Launch, compile, with_slices, words};

const HEAD: &str = ".version 7.8\n.target sm_35\n.address_size 64\n";

/// Words that a block writes: how often it came, its index and its grid.
const WORDS: usize = 7;

/// Registers of the kernels below, and the number of the block's place in memory, which it has from its index.
const START: &str = "\
	.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<8>;
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;
	mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z;
	mad.lo.u32 %r7, %r3, %r5, %r2; mad.lo.u32 %r7, %r7, %r4, %r1; mul.lo.u32 %r7, %r7, 28;
	cvt.u64.u32 %rd2, %r7;
";

/// Each thread writes one word of its block's; the value has been through shared memory and a barrier.
fn who() -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{\n{START}
	.shared .align 4 .b8 tile[32];
	ld.param.u64 %rd1, [out]; add.s64 %rd1, %rd1, %rd2; mov.u64 %rd3, tile;
	mov.u32 %r8, %tid.x; setp.ne.u32 %p1, %r8, 0; @%p1 bra STORED;
	atom.global.add.u32 %r9, [%rd1], 1;
	st.shared.u32 [%rd3+4], %r1; st.shared.u32 [%rd3+8], %r2; st.shared.u32 [%rd3+12], %r3;
	st.shared.u32 [%rd3+16], %r4; st.shared.u32 [%rd3+20], %r5; st.shared.u32 [%rd3+24], %r6;
STORED:
	bar.sync 0;
	@!%p1 ret;
	mul.wide.u32 %rd4, %r8, 4; add.s64 %rd5, %rd3, %rd4; ld.shared.u32 %r10, [%rd5];
	add.s64 %rd6, %rd1, %rd4; st.global.u32 [%rd6], %r10;
	ret;\n}}\n"
    )
}

/// The same, read late, in a loop, under a predicate and in functions: `index` calls `%nctaid`'s reader, which is declared first.
fn who_in_functions() -> String {
    format!(
        "{HEAD}.func (.param .b32 size) extent(.param .b32 axis);
.func (.reg .b32 %all) index(.reg .b32 %axis)
{{
	.reg .pred %p<3>;
	setp.gt.u32 %p1, %axis, 3; @%p1 bra SIZE;
	setp.eq.u32 %p1, %axis, 1; @%p1 mov.u32 %all, %ctaid.x;
	setp.eq.u32 %p1, %axis, 2; @%p1 mov.u32 %all, %ctaid.y;
	setp.eq.u32 %p1, %axis, 3; @%p1 mov.u32 %all, %ctaid.z;
	ret;
SIZE:
	{{ .param .b32 to; .param .b32 from; st.param.b32 [from], %axis;
	call.uni (to), extent, (from); ld.param.b32 %all, [to]; }}
	ret;
}}
.func (.param .b32 size) extent(.param .b32 axis)
{{
	.reg .pred %p<3>; .reg .b32 %r<3>;
	ld.param.b32 %r1, [axis];
	setp.eq.u32 %p1, %r1, 4; @%p1 mov.u32 %r2, %nctaid.x;
	setp.eq.u32 %p1, %r1, 5; @%p1 mov.u32 %r2, %nctaid.y;
	setp.eq.u32 %p1, %r1, 6; @%p1 mov.u32 %r2, %nctaid.z;
	st.param.b32 [size], %r2;
	ret;
}}
.visible .entry k(.param .u64 out)\n{{\n{START}
	ld.param.u64 %rd1, [out]; add.s64 %rd1, %rd1, %rd2;
	mov.u32 %r8, %tid.x; setp.ne.u32 %p1, %r8, 0; @!%p1 atom.global.add.u32 %r9, [%rd1], 1;
	@!%p1 ret;
	mov.u32 %r11, 0; mov.u32 %r12, 0;
ROUND:
	mov.u32 %r13, %ctaid.x; add.u32 %r12, %r12, %r13; add.u32 %r11, %r11, 1;
	setp.lt.u32 %p2, %r11, %r8; @%p2 bra ROUND;
	mul.lo.u32 %r13, %r8, %r1; sub.u32 %r12, %r12, %r13;
	call (%r10), index, (%r8);
	add.u32 %r10, %r10, %r12;
	mul.wide.u32 %rd4, %r8, 4; add.s64 %rd6, %rd1, %rd4; st.global.u32 [%rd6], %r10;
	ret;\n}}\n"
    )
}

/// The words that a grid's blocks write if each of them came once.
fn expected(grid: [u32; 3]) -> Vec<u32> {
    ctas(grid).flat_map(|[x, y, z]| [1, x, y, z, grid[0], grid[1], grid[2]]).collect()
}

fn grids() -> impl Strategy<Value = [u32; 3]> {
    (1..=7u32, 1..=5u32, 1..=4u32).prop_map(|(x, y, z)| [x, y, z])
}

/// The dimensions that a grid may be sliced with: its own, or more.
fn ways(grid: [u32; 3]) -> impl Iterator<Item = Options> {
    let enough = Dimensions::ALL.into_iter().filter(move |dimensions| *dimensions >= Dimensions::of(grid));
    enough.flat_map(|dimensions| {
        [Carry::Subtract, Carry::Divide].map(|carry| Options { dimensions, carry, kernel: None })
    })
}

fn blocks(grid: [u32; 3]) -> u64 {
    grid.iter().map(|size| u64::from(*size)).product()
}

fn slices(grid: [u32; 3], slice: u32, backwards: bool) -> Vec<Slice> {
    let mut slices: Vec<Slice> = plan(blocks(grid), NonZeroU32::new(slice).unwrap()).collect();
    if backwards {
        slices.reverse();
    }
    slices
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_block_comes_once_and_sees_its_whole_grid(grid in grids(), slice in 1..=141u32, backwards: bool) {
        for text in [who(), who_in_functions()] {
            let plain = compile(&text, "k");
            let mut whole = FlatMemory::new(blocks(grid) as usize * WORDS * 4);
            let params = whole.base.to_le_bytes();
            let empty = whole.clone();
            let launch = Launch { kernel: &plain, grid, block: [7, 1, 1], params: &params };
            launch.run(&mut whole);
            prop_assert_eq!(words(&whole), expected(grid));
            for options in ways(grid) {
                let kernel = compile(&with_slices(&text, &options).text, &sliced("k"));
                let mut parts = empty.clone();
                Launch { kernel: &kernel, ..launch }.run_slices(&slices(grid, slice, backwards), &mut parts);
                prop_assert!(whole.bytes[..] == parts.bytes[..], "{:?}", options);
            }
        }
    }

    #[test]
    fn a_matrix_product_is_the_same(grid in grids(), slice in 1..=141u32, depth in 1..=20u32, backwards: bool) {
        let path = "../../experiments/applications/matmul-tiled/kernel.nvrtc-sm_35.ptx";
        let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let plain = compile(&text, "matmul");
        // The last tiles reach beyond the matrix.
        let (rows, columns) = (16 * grid[1] - 3, 16 * grid[0] - 5);
        let mut whole = FlatMemory::new(0);
        let mut push = |count: u32| {
            let numbers = (0..count).flat_map(|at| (at as f32 * 0.37).sin().to_le_bytes());
            whole.push(&numbers.collect::<Vec<u8>>())
        };
        let arrays = [push(rows * depth), push(depth * columns), push(rows * columns)];
        let mut params: Vec<u8> = arrays.into_iter().flat_map(u64::to_le_bytes).collect();
        params.extend([rows, columns, depth].into_iter().flat_map(u32::to_le_bytes));
        let before = whole.clone();
        let launch = Launch { kernel: &plain, grid, block: [16, 16, 1], params: &params };
        launch.run(&mut whole);
        prop_assert!(whole.bytes[..] != before.bytes[..]);
        for options in ways(grid) {
            let kernel = compile(&with_slices(&text, &options).text, &sliced("matmul"));
            let mut parts = before.clone();
            Launch { kernel: &kernel, ..launch }.run_slices(&slices(grid, slice, backwards), &mut parts);
            prop_assert!(whole.bytes[..] == parts.bytes[..], "{:?}", options);
        }
    }

    #[test]
    fn a_plan_has_every_block_once(blocks in 0..3000u64, size in 1..400u32) {
        let slices: Vec<Slice> = plan(blocks, NonZeroU32::new(size).unwrap()).collect();
        let covered: Vec<u64> =
            slices.iter().flat_map(|slice| slice.first..slice.first + u64::from(slice.blocks)).collect();
        prop_assert!(covered.into_iter().eq(0..blocks));
        let (last, full) = slices.split_last().map_or((None, &[][..]), |(last, full)| (Some(last), full));
        prop_assert!(full.iter().all(|slice| slice.blocks == size));
        prop_assert!(last.is_none_or(|last| (1..=size).contains(&last.blocks)));
    }
}

#[test]
fn the_largest_grid_has_a_plan() {
    let grid = [u32::MAX >> 1, 65_535, 65_535];
    let size = NonZeroU32::new(1 << 31).unwrap();
    let blocks = blocks(grid);
    let last = Slice { first: blocks - blocks % (1 << 31), blocks: (blocks % (1 << 31)) as u32 };
    assert_eq!(plan(blocks, size).nth((blocks / (1 << 31)) as usize), Some(last));
    let [x, y, z, ..] = last.arguments(grid);
    let first = (u64::from(z) * 65_535 + u64::from(y)) * u64::from(grid[0]) + u64::from(x);
    assert_eq!((first, u64::from(last.blocks)), (last.first, blocks - last.first));
}

/// The host's loop of Zhong and He (TPDS 2014, section 3): offsets of the slices; `beyond` compares an offset with the grid.
fn printed_host(grid: [u32; 2], slice: u32, beyond: fn(u32, u32) -> bool) -> Vec<[u32; 2]> {
    let (mut offset, mut launches) = ([0, 0], Vec::new());
    while offset[0] < grid[0] && offset[1] < grid[1] {
        launches.push(offset);
        offset[0] += slice;
        while beyond(offset[0], grid[0]) {
            offset[0] -= grid[0];
            offset[1] += 1;
        }
    }
    launches
}

/// The columns and rows that the blocks of slices see, when the text of the kernel is changed.
fn seen(grid: [u32; 3], slice: u32, change: impl Fn(String) -> String) -> BTreeMap<[u32; 2], u32> {
    // Each block adds one at its index, in rows of 32.
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<5>; .reg .b64 %rd<5>;
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r3, %r2, 32, %r1;
	ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r3, 4; add.s64 %rd3, %rd1, %rd2;
	atom.global.add.u32 %r4, [%rd3], 1; ret;\n}}\n"
    );
    let options = Options { dimensions: Dimensions::Two, ..Options::default() };
    let kernel = compile(&change(with_slices(&text, &options).text), &sliced("k"));
    let mut memory = FlatMemory::new(32 * 32 * 4);
    let params = memory.base.to_le_bytes();
    let launch = Launch { kernel: &kernel, grid, block: [1, 1, 1], params: &params };
    launch.run_slices(&slices(grid, slice, false), &mut memory);
    let counts = words(&memory).into_iter().zip(0..).filter(|(count, _)| *count > 0);
    counts.map(|(count, at)| ([at % 32, at / 32], count)).collect()
}

#[test]
fn a_slice_costs_what_the_module_says() {
    let read = |axes: &[&str]| {
        let reads: String = axes.iter().map(|axis| format!("mov.u32 %r1, %ctaid.{axis}; ")).collect();
        format!("{HEAD}.visible .entry k()\n{{\n.reg .b32 %r<2>; {reads}ret;\n}}\n")
    };
    // The additional cost of a column's last block in a slice of all blocks, over the whole grid.
    let cost = |axes: &[&str], grid: [u32; 3], dimensions, carry| {
        let text = read(axes);
        let plain = compile(&text, "k");
        let kernel =
            compile(&with_slices(&text, &Options { dimensions, carry, kernel: None }).text, &sliced("k"));
        let run = |slices: &[Slice]| {
            let launch = Launch { kernel: &kernel, grid, block: [1, 1, 1], params: &[] };
            launch.run_slices(slices, &mut FlatMemory::new(0))
        };
        let all = blocks(grid) as u32;
        let whole = Launch { kernel: &plain, grid: [1, 1, 1], block: [1, 1, 1], params: &[] };
        let plain = whole.run(&mut FlatMemory::new(0));
        run(&[Slice { first: 0, blocks: all }]) - run(&[Slice { first: 0, blocks: all - 1 }]) - plain
    };
    let (subtract, divide) = (Carry::Subtract, Carry::Divide);
    assert_eq!(cost(&["x"], [9, 1, 1], Dimensions::One, subtract), 3);
    assert_eq!(cost(&["x", "y"], [9, 1, 1], Dimensions::Two, subtract), 7);
    assert_eq!(cost(&["x", "y"], [1, 9, 1], Dimensions::Two, subtract), 7 + 8 * 4);
    assert_eq!(cost(&["x", "y"], [1, 9, 1], Dimensions::Two, divide), 9);
    assert_eq!(cost(&["x", "y", "z"], [9, 1, 1], Dimensions::Three, subtract), 11);
    assert_eq!(cost(&["x", "y", "z"], [1, 1, 9], Dimensions::Three, subtract), 11 + 2 * 8 * 4);
    assert_eq!(cost(&["x", "y", "z"], [1, 1, 9], Dimensions::Three, divide), 15);
    // A column alone is not carried on.
    assert_eq!(cost(&["x"], [9, 1, 1], Dimensions::Three, subtract), 6);
    assert_eq!(cost(&[], [9, 1, 1], Dimensions::Three, subtract), 0);
}

/// The comparison as the paper prints it.
fn as_printed(text: String) -> String {
    let printed = text.replace("setp.ge.u32", "setp.gt.u32").replace("setp.lt.u32", "setp.le.u32");
    assert_ne!(printed, text);
    printed
}

#[test]
fn the_printed_comparison_is_wrong_and_ours_covers_the_papers_example() {
    // 256 x 256 elements in blocks of 16 x 16: 16 x 16 blocks in slices of 8.
    let grid = [16, 16, 1];
    let every: BTreeMap<[u32; 2], u32> = (0..256).map(|at| ([at % 16, at / 16], 1)).collect();
    assert_eq!(plan(256, NonZeroU32::new(8).unwrap()).count(), 32);
    assert_eq!(seen(grid, 8, |text| text), every);

    // The host: an offset of 16 is not greater than 16, so that it stays, and the loop ends with the first row.
    assert_eq!(printed_host([16, 16], 8, |offset, grid| offset > grid), [[0, 0], [8, 0]]);
    let right = printed_host([16, 16], 8, |offset, grid| offset >= grid);
    let planned = slices(grid, 8, false).into_iter().map(|slice| slice.arguments(grid));
    assert!(right.len() == 32 && planned.map(|[x, y, ..]| [x, y]).eq(right));

    // The device: a block behind the end of a row by nothing stays in column 16, beside the grid. Slices of 8 end with rows and
    // have none; those of 6 have one for each row that ends within a slice.
    assert_eq!(seen(grid, 8, as_printed), every);
    let wrong = seen(grid, 6, as_printed);
    let beside: Vec<[u32; 2]> = wrong.keys().copied().filter(|[x, _]| *x >= 16).collect();
    assert!(beside.contains(&[16, 0]) && beside.iter().all(|[x, _]| *x == 16), "{beside:?}");
    assert!(!wrong.contains_key(&[0, 1]), "the first block of the second row never runs");
    assert_eq!(seen(grid, 6, |text| text), every);
}
