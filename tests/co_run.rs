//! Applications that run together on one machine.

use counterpoint_cli::{FAILURE, SUCCESS};
use counterpoint_tests::points::table;

use crate::cli::call;

/// The hash that a run prints.
fn hash(out: &str) -> &str {
    out.lines()
        .find_map(|line| line.trim().strip_prefix("hash"))
        .unwrap_or_else(|| panic!("no hash in {out}"))
}

#[test]
fn each_is_repeated_while_another_has_not_completed_a_round() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let run = |more: &[&str]| {
        let arguments = [
            &["run", "gtx480", "hotspot", "vecadd", "--set", "app.size=small", "--out", &out, "--hash"][..],
            &["--set", "app.vecadd.n=3000", "--set", "gpu.scheduler.policy=concurrent"],
            more,
        ];
        let called = call(&arguments.concat());
        assert_eq!(called.status, SUCCESS, "{}", called.err);
        called.out
    };
    let one = run(&[]);
    for verified in ["hotspot.temperature verified, 1600 elements", "vecadd.c     verified, 3000 elements"] {
        assert!(one.contains(verified), "{one}");
    }
    // A round of hotspot has two launches, one of vecadd one: the shorter one begins again.
    let launches = |name: &str| {
        let line =
            one.lines().find(|line| line.starts_with(&format!("  {name} ")) && line.contains("a round"));
        let count = line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or_else(|| panic!("{one}"));
        count.parse::<u32>().unwrap()
    };
    assert!(launches("hotspot") >= 2 && launches("vecadd") > 1, "{one}");
    assert!(folder.path().join("hotspot/temperature_out.f32").is_file());
    assert_eq!(hash(&one), hash(&run(&["--threads", "2", "--force-threads"])));

    // Without streams each application does one round.
    let serial = run(&["--runtime", "serial"]);
    assert!(
        serial.contains("hotspot.temperature verified") && serial.contains("vecadd.c     verified"),
        "{serial}"
    );
    assert!(
        serial.contains("hotspot#2") && serial.contains("vecadd#3") && !serial.contains("vecadd#4"),
        "{serial}"
    );
}

#[test]
fn a_file_can_name_those_that_run_together_and_a_study_has_their_rates() {
    let folder = tempfile::tempdir().unwrap();
    let root = counterpoint_tests::support::root();
    let path =
        |name: &str| root.join(format!("experiments/applications/{name}/{name}.yaml")).display().to_string();
    let own = format!(
        "counterpoint: 1
application: both
co_run:
  graph: {{ application: {}, set: {{ size: small }} }}
  sum: {{ application: {}, set: {{ n: 500 }} }}
",
        path("bfs"),
        path("vecadd")
    );
    std::fs::write(folder.path().join("both.yaml"), own).unwrap();
    let study = "counterpoint: 1
study: rates
machine: tiny
applications:
  pair: both.yaml
  named: vecadd + vecadd
runs:
  concurrent: { policy: concurrent }
columns:
  both: rate_1 + rate_2
";
    let [file, out] = ["study.yaml", "out"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&file, study.replace("both.yaml", &folder.path().join("both.yaml").display().to_string()))
        .unwrap();
    let called = call(&["study", &file, "--out", &out, "--quiet"]);
    assert_eq!(called.status, SUCCESS, "{}", called.err);
    let rows = table(&std::fs::read_to_string(folder.path().join("out/results.csv")).unwrap());
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let value = |name: &str| row[name].parse::<f64>().unwrap();
        assert!(value("window") > 0.0 && value("rate_1") > 0.0 && value("rate_2") > 0.0);
        assert!((value("both") / (value("rate_1") + value("rate_2")) - 1.0).abs() < 1e-9);
        assert!(value("round_1") >= value("window") || value("round_2") >= value("window"));
    }
}

#[test]
fn what_cannot_run_together_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let fails = |arguments: &[&str], why: &str| {
        let called = call(&[&["run", "tiny"], arguments, &["--out", &out]].concat());
        assert!(called.status == FAILURE && called.err.contains(why), "{}", called.err);
    };
    fails(&["vecadd", "vecad"], "there is no application `vecad`");
    fails(&["vecadd", "hotspot", "--set", "app.size=tall"], "none of the applications has a size `tall`");
    fails(&["vecadd", "hotspot", "--set", "app.m=1"], "none of the applications has a parameter `m`");
    fails(
        &["vecadd", "hotspot", "--set", "app.hotpot.n=1"],
        "there is no application `hotpot` among those that run",
    );
    fails(&["vecadd", "vecadd-two-devices"], "`vecadd-two-devices` uses several devices");
    let texture = "counterpoint: 1
application: texture
buffers: { a: { type: f32, elements: 4 } }
textures: { t: { of: a, size: 4 } }
prelude: [{ read: { file: a.f32, into: a, generate: { ramp: {} } } }]
";
    let file = folder.path().join("texture.yaml").display().to_string();
    std::fs::write(&file, texture).unwrap();
    fails(
        &[&file, &file],
        "`texture-2` has textures or surfaces: of applications that run together only the first may have some",
    );
    let nested = folder.path().join("nested.yaml").display().to_string();
    std::fs::write(
        &nested,
        "counterpoint: 1\napplication: x\nco_run: { a: { application: texture.yaml } }\nbuffers: {}\n",
    )
    .unwrap();
    fails(&[&nested], "unknown key `buffers` in a co-run of applications");
    let former = folder.path().join("former.yaml").display().to_string();
    std::fs::write(
        &former,
        "counterpoint: 1\napplication: x\ntogether: { a: { application: nested.yaml } }\n",
    )
    .unwrap();
    fails(&[&former], "`together` has moved");
    fails(&[&former], "help: it is now `co_run`");
    fails(&[&former, "vecadd"], "`together` has moved");
    fails(&[&nested, "vecadd"], "what runs several applications cannot run together with others");
}
