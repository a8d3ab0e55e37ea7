//! Points of a study have the same names wherever the files are that they come from.

use std::collections::BTreeSet;
use std::path::Path;

use crate::{Place, called};

/// The keys of the points that a study has run.
fn keys(folder: &Path) -> BTreeSet<String> {
    let points = std::fs::read_dir(folder.join("points")).unwrap();
    points.map(|point| point.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_point_is_the_same_in_a_checkout_and_without_one() {
    let place = Place::empty();
    let study = "counterpoint: 1
study: own
machine: tiny
applications: [vecadd]
vary: { app.n: [100] }
runs: { plain: {} }
";
    place.write("own.yaml", study);
    place.works(&["study", "own.yaml", "--quiet", "--out", "installed"]);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (file, out) = (place.path("own.yaml"), place.path("checkout"));
    let mut command = place.command(&["study"]);
    command.current_dir(checkout).arg(file).arg("--quiet").arg("--out").arg(&out);
    let ran = called(command);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let (installed, checkout) = (keys(&place.path("installed")), keys(&out));
    assert_eq!(installed.len(), 1);
    assert_eq!(installed, checkout);
}
