//! `counterpoint ptx`: its view of a kernel, and its errors.

use counterpoint_cli::{FAILURE, SUCCESS};

use crate::cli::call;
use crate::support::root;

fn file(name: &str) -> String {
    root().join(format!("experiments/applications/{name}/kernel.nvrtc-sm_35.ptx")).display().to_string()
}

#[test]
fn blocks_and_meeting_points_are_shown() {
    let called = call(&["ptx", "show", &file("vecadd")]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    for part in ["kernel vecadd(", "B0 -> B1, B2", "meets at B2", "ld.global"] {
        assert!(called.out.contains(part), "{part} is missing in\n{}", called.out);
    }
}

#[test]
fn lines_that_become_several_instructions_are_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    let lines = [
        "ld.param.u64 x2, [n];",
        "loop:",
        "cvt.s64.s32 x1, x2;",
        "setp.lt.s64 p, x1, x2;",
        "@p bra loop;",
        "ret;",
    ];
    let text = format!(
        ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u64 n)\n{{\n.reg .pred p;\n.reg .b64 x<3>;\n{}\n}}\n",
        lines.join("\n")
    );
    std::fs::write(&path, text).unwrap();
    let called = call(&["ptx", "show", &path.display().to_string()]);
    assert_eq!((called.status, called.err.as_str()), (SUCCESS, ""), "{}", called.out);
    for (line, times) in [
        ("cvt.s64.s32 x1, x2", 1),
        ("setp.lt.s64 p, x1, x2", 1),
        ("@p bra loop  // meets at B2", 1),
        ("ret", 1),
    ] {
        assert_eq!(called.out.matches(line).count(), times, "{line} in\n{}", called.out);
    }
}

#[test]
fn a_text_of_another_kind_is_one_error() {
    let called = call(&["ptx", "show", &root().join("README.md").display().to_string()]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.ends_with("README.md:1:1: this is not PTX: it has no `.version`\n"), "{}", called.err);
}

#[test]
fn ranges_follow_from_the_launch() {
    let path = file("vecadd");
    let called = call(&["ptx", "analyse", &path, "--grid", "4", "--block", "256", "--set", "3=1000"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    assert!(called.out.contains("class          regular"), "{}", called.out);
    assert!(called.out.contains("reads 1024..2048, writes nothing"), "{}", called.out);
    let formulas = call(&["ptx", "analyse", &path]);
    assert!(formulas.out.contains("4*tid.x"), "{}", formulas.out);
}

#[test]
fn wrong_names_are_answered_with_the_nearest() {
    let path = file("vecadd");
    let called = call(&["ptx", "show", &path, "--kernel", "vecad"]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.contains("did you mean `vecadd`?"), "{}", called.err);
    let called = call(&["ptx", "analyse", &path, "--grid", "4", "--block", "256", "--set", "x=1"]);
    assert!(called.status == FAILURE && called.err.contains("has no parameter `x`"), "{}", called.err);
    let called = call(&["ptx", "show", "nothing.ptx"]);
    assert!(called.status == FAILURE && called.err.contains("nothing.ptx"), "{}", called.err);
}

#[test]
fn described_kernels_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.yaml");
    let text = "counterpoint: 1\napplication: a\ncode:\n  one: { synthetic: { mix: { int: 1 } } }\n  \
                two: { synthetic: { mix: { fp: 1 } } }\n";
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    let called = call(&["ptx", "synth", &path]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    assert!(called.out.contains(".entry one(") && called.out.contains(".entry two("), "{}", called.out);
    let one = call(&["ptx", "synth", &path, "--kernel", "two"]).out;
    assert!(one.contains("fma.rn.f32") && !one.contains(".entry one("), "{one}");
    let shown = folder.path().join("two.ptx");
    std::fs::write(&shown, one).unwrap();
    let called = call(&["ptx", "show", &shown.display().to_string()]);
    assert!(called.status == SUCCESS && called.out.contains("kernel two("), "{}", called.err);
    let called = call(&["ptx", "synth", &path, "--kernel", "tow"]);
    assert!(called.status == FAILURE && called.err.contains("did you mean `two`?"), "{}", called.err);
    let vecadd = root().join("experiments/applications/vecadd/vecadd.yaml").display().to_string();
    let called = call(&["ptx", "synth", &vecadd]);
    assert!(called.err.contains("describes no synthetic kernel"), "{}", called.err);
    let called = call(&["explain", "synthetic"]);
    assert!(called.out.contains("dependence: a count, 1 to 64, default 1"), "{}", called.out);
    assert!(called.out.contains("hot-set"), "{}", called.out);
}

#[test]
fn profilers_are_printed_and_explained() {
    let path = file("vecadd");
    let called = call(&["ptx", "instrument", &path]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    for part in [
        "// kernel vecadd: regular, pre-profiler vecadd__pre",
        ".visible .entry vecadd__pre(",
        "call __claim_range, ",
        "// writes vecadd_param_2: 4*tid.x + 4*ctaid.x*ntid.x + [0, 4)",
        "call __release_range, ",
    ] {
        assert!(called.out.contains(part), "{part} is missing in\n{}", called.out);
    }
    let path = file("bfs");
    let explained = call(&["ptx", "instrument", &path, "--explain"]).out;
    assert!(explained.contains("kernel advance: regular, pre-profiler advance__pre"), "{explained}");
    assert!(
        explained.contains("kernel visit: irregular, no profilers\n  line 81: ld.global.u32"),
        "{explained}"
    );
    assert!(explained.contains("the rounds of the loop at line 81 depend on loaded data"), "{explained}");
    assert!(!explained.contains(".entry"), "{explained}");
    let one = call(&["ptx", "instrument", &path, "--kernel", "visit"]).out;
    assert!(!one.contains("advance__pre") && one.contains("irregular"), "{one}");
    let wrong = call(&["ptx", "instrument", &path, "--kernel", "visits"]);
    assert!(wrong.status == FAILURE && wrong.err.contains("did you mean `visit`?"), "{}", wrong.err);
    let path = file("lu-panel");
    let semi = |how| call(&["ptx", "instrument", &path, "--explain", "--semi", how]).out;
    assert!(semi("irregular").contains("kernel perimeter: semi-regular, no profilers"));
    assert!(semi("enumerate").contains("kernel perimeter: semi-regular, pre-profiler perimeter__pre"));
}

#[test]
fn slices_are_printed() {
    let path = file("hotspot");
    let called = call(&["ptx", "slice", &path]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    for part in [
        "// kernel hotspot: slices run hotspot__slice",
        "// Added: hotspot, run by slices of grids of any dimensions.",
        ".visible .entry hotspot__slice(",
        ".param .u32 hotspot__slice_first_x,",
        "// Added: the index of the block in the grid.",
    ] {
        assert!(called.out.contains(part), "{part} is missing in\n{}", called.out);
    }
    // The output is a module like any other.
    let folder = tempfile::tempdir().unwrap();
    let sliced = folder.path().join("sliced.ptx");
    std::fs::write(&sliced, &called.out).unwrap();
    let sliced = sliced.display().to_string();
    let shown = call(&["ptx", "show", &sliced, "--kernel", "hotspot__slice"]);
    assert!(
        shown.status == SUCCESS && shown.out.contains("setp.ge.u32 %slice_p, %slice_x, %slice_n"),
        "{}",
        shown.err
    );
    let again = call(&["ptx", "slice", &sliced]);
    assert!(
        again.status == FAILURE && again.err.contains("a name that the slices of `hotspot` need"),
        "{}",
        again.err
    );
    let two = call(&["ptx", "slice", &path, "--dimensions", "2", "--carry", "divide"]).out;
    assert!(
        two.contains("div.u32 %slice_q") && !two.contains("rem.u32") && !two.contains("setp.ge.u32 %slice_p"),
        "{two}"
    );
    let one = call(&["ptx", "slice", &path, "--dimensions", "1", "--kernel", "hotspot"]).out;
    assert!(one.contains("of one dimension") && !one.contains("%slice_y"), "{one}");
    let four = call(&["ptx", "slice", &path, "--dimensions", "4"]);
    assert!(four.status != SUCCESS && four.err.contains("4 is not in 1..=3"), "{}", four.err);
    let wrong = call(&["ptx", "slice", &path, "--kernel", "hotspots"]);
    assert!(wrong.status == FAILURE && wrong.err.contains("did you mean `hotspot`?"), "{}", wrong.err);
}

#[test]
fn kernels_that_cannot_be_sliced_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.ptx");
    let kernel =
        |name: &str, body: &str| format!(".visible .entry {name}()\n{{ .reg .b64 %rd<2>;\n{body} ret; }}\n");
    let head = ".version 7.8\n.target sm_70\n.address_size 64\n";
    let text = format!("{head}{}{}", kernel("knows", "mov.u64 %rd1, %gridid;"), kernel("plain", ""));
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    let both = call(&["ptx", "slice", &path]);
    let refused =
        "// kernel knows: not sliced\n//   line 6: mov.u64 %rd1, %gridid;\n//   `%gridid` counts launches";
    assert!(both.status == SUCCESS && both.out.starts_with(refused), "{}", both.out);
    assert!(both.out.contains("plain__slice") && !both.out.contains("knows__slice"), "{}", both.out);
    let one = call(&["ptx", "slice", &path, "--kernel", "knows"]);
    let expected = format!("error: {path}:6: `%gridid` counts launches, and every slice is one\n");
    assert!(one.status == FAILURE && one.err.starts_with(&expected) && one.out.is_empty(), "{}", one.err);
}

#[test]
fn the_width_that_an_old_module_does_not_say_is_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let source = ".version 2.2\n.target sm_20\n.visible .entry k(.param .u64 words)\n{\n.reg .u64 %rd<2>;\n.reg .u32 %r<2>;\n\
                  ld.param.u64 %rd1, [words];\nmov.u32 %r1, 7;\nst.global.u32 [%rd1], %r1;\nexit;\n}\n";
    std::fs::write(folder.path().join("old.ptx"), source).unwrap();
    let application = "counterpoint: 1\napplication: old\ncode: { k: old.ptx }\nbuffers: { words: { type: u32, elements: 1 } }\n\
                       kernels: [ { launch: k.k, grid: 1, block: 1, arguments: [words] } ]\ncopy_out: [words]\n";
    let path = folder.path().join("old.yaml");
    std::fs::write(&path, application).unwrap();
    let (path, out) = (path.display().to_string(), folder.path().join("out").display().to_string());
    let remark = "old.ptx is PTX 2.2, which has no `.address_size`: its addresses have 64 bits, as those that it loads from";
    for words in [
        &["check", "tiny", &path][..],
        &["run", "tiny", &path, "--out", &out],
        &["run", "tiny", &path, "--functional", "--out", &out],
    ] {
        let ran = call(words);
        assert!(ran.status == 0 && (ran.out + &ran.err).contains(remark), "{words:?}: {}", ran.err);
    }
}
