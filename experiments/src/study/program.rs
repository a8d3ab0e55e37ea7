//! The program that runs a study: results of one build do not count for another, whose policies may have been edited.

use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Version and build of this program, with the extensions that it has: `0.2.0 (build 3f9a5c0e81d25b47)`. Without the build if the program's
/// file cannot be read.
pub fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        match own_file().and_then(|file| std::fs::read(file).ok()) {
            Some(bytes) => {
                // The program compares only its own file with itself: a fast hash suffices.
                let mut hasher = DefaultHasher::new();
                hasher.write(&bytes);
                format!("{version} (build {:016x})", hasher.finish())
            }
            None => version.to_owned(),
        }
    })
}

/// The file of this program, as started: another file may have replaced it since.
fn own_file() -> Option<PathBuf> {
    let started = PathBuf::from("/proc/self/exe");
    if started.exists() { Some(started) } else { std::env::current_exe().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_a_version_and_the_hash_of_a_file() {
        let (version, rest) = build().split_once(' ').expect("two words");
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
        let digits = rest.strip_prefix("(build ").and_then(|rest| rest.strip_suffix(')')).expect("a build");
        assert!(digits.len() == 16 && digits.chars().all(|digit| digit.is_ascii_hexdigit()), "{digits}");
    }
}
