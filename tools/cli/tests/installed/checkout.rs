//! The program carries what a checkout has, and gives the same names to it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::installed::{Called, WorkFolder, called};

/// The command in the checkout that it comes from.
fn in_checkout(place: &WorkFolder, arguments: &[&str]) -> Called {
    let mut command = place.command(arguments);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    called(command)
}

#[test]
fn it_lists_what_a_checkout_has() {
    let place = WorkFolder::empty();
    for what in ["machines", "modules", "overlays", "applications", "studies"] {
        let checkout = in_checkout(&place, &["list", what]).out;
        assert_eq!(
            place.works(&["list", what]),
            checkout,
            "a new file? Then `touch build.rs` of the crate that packs it"
        );
        let paths = in_checkout(&place, &["list", what, "--paths"]).out;
        assert!(!paths.contains("built-in:"), "{paths}");
    }
}

/// The keys of the points that a study has run.
fn keys(folder: &Path) -> BTreeSet<String> {
    let points = std::fs::read_dir(folder.join("points")).unwrap();
    points.map(|point| point.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_point_is_the_same_in_a_checkout_and_without_one() {
    let place = WorkFolder::empty();
    let study = "counterpoint: 1
study: own
machine: tiny
applications: [vecadd]
vary: { app.n: [100] }
runs: { plain: {} }
";
    place.write("own.yaml", study);
    place.works(&["study", "own.yaml", "--quiet", "--out", "installed"]);
    let (file, out) = (place.path("own.yaml"), place.path("checkout"));
    let ran = in_checkout(
        &place,
        &["study", &file.display().to_string(), "--quiet", "--out", &out.display().to_string()],
    );
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let (installed, checkout) = (keys(&place.path("installed")), keys(&out));
    assert_eq!(installed.len(), 1);
    assert_eq!(installed, checkout);
}
