//! The search for files as text, for `counterpoint explain files`.

use std::fmt::Write;

use super::{BUILT_IN, CACHE_VARIABLE, PATH_VARIABLE, Sort};

const SORTS: [Sort; 6] =
    [Sort::Machine, Sort::Module, Sort::Overlay, Sort::Application, Sort::Study, Sort::Validation];

/// Text on the search for files: its order, the folders of each sort of file, and the cache of generated
/// inputs.
pub fn explain() -> String {
    let mut out = format!(
        "files
  A name is looked for in this order; the first file that is there is taken.
  1. as the path of a file
  2. in the folder of the file that names it
  3. in the working directory and the folders above it, at the places below
  4. in each folder of the environment variable {PATH_VARIABLE}, a list as that of PATH: as named, at the places
     below, and at those of extensions
  5. among the files of extensions and those of the program, which are shown as `{BUILT_IN}PATH`

  `counterpoint list SORT --paths` shows which file is taken. A name such as `{BUILT_IN}topologies/systems/tiny.yaml`
  is that file and no other. An application or a machine may include built-in files by name: `include: [gpu, host]`.

  Input files that an application generates lie beside it. Those of a built-in application are kept in
  `counterpoint/inputs` in the folder of the environment variable {CACHE_VARIABLE}, `~/.cache` by default, by what makes
  them and the version of the program. They may be removed at any time.

Places
"
    );
    for sort in SORTS {
        let own = sort.own_place("NAME").map(|own| format!("; in extensions {own}")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {}: {}{own}", sort.word(), sort.places("NAME").join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_has_its_places() {
        let text = explain();
        for line in [
            "  machine: topologies/NAME, topologies/systems/NAME.yaml; in extensions machines/NAME.yaml\n",
            "  application: experiments/applications/NAME/NAME.yaml; in extensions applications/NAME/NAME.yaml\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert!(text.lines().all(|line| line.len() <= 160), "{text}");
    }
}
