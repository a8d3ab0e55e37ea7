//! Cache of generated inputs of built-in applications.
//!
//! A built-in application has no folder of its own to put its inputs in. Generated inputs go to the user's cache folder, below a name that
//! is the hash of their generators. The cache may be removed at any time.

use std::path::PathBuf;

use etcetera::BaseStrategy;

use crate::workloads::verify::Fnv64;

/// The environment variable that names the folder of caches; `~/.cache` if it is not set.
pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";

/// The place of a file that is made, by its name and everything that its bytes depend on but the program's version.
pub(super) fn place(name: &str, made_by: &str) -> Result<PathBuf, String> {
    let base = etcetera::choose_base_strategy()
        .map_err(|error| format!("there is no folder for generated inputs: {error}; set {CACHE_VARIABLE}"))?;
    Ok(base.cache_dir().join("counterpoint/inputs").join(key(made_by, env!("CARGO_PKG_VERSION"))).join(name))
}

/// A name for what makes a file, in a version of the program.
fn key(made_by: &str, version: &str) -> String {
    let mut hash = Fnv64::default();
    hash.add(format!("{version}\n{made_by}").as_bytes());
    format!("{:016x}", hash.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_rules_never_mix() {
        let keys = [key("uniform 7", "0.1.0"), key("uniform 7", "0.2.0"), key("uniform 8", "0.1.0")];
        assert!(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2], "{keys:?}");
        assert_eq!(keys[0], key("uniform 7", "0.1.0"));
    }
}
