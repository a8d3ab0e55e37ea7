//! Claims: the process that runs a point, determined without a lock.
//!
//! A claim is the file `claims/KEY.1`, which only one process can create, with the token of that process in it. A process that finds the
//! holder dead creates `KEY.2`, which again only one process can create, and so on: the latest claim is valid. A process thus never removes
//! a claim that another process has just made. At worst a point is run twice, with equal results, and one of the two is kept.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use super::PointKey;
use super::worker::{Presence, Verdict, Watch};

pub(super) const CLAIMS: &str = "claims";

/// A claim of this process, which ends when it is dropped.
pub struct Claim {
    folder: PathBuf,
    key: PointKey,
    generation: u32,
    /// Tokens of the dead processes from which the claim was taken over.
    pub(super) former: Vec<String>,
}

/// Answer to a request for a claim.
pub enum Claimed {
    /// This process holds the claim.
    Own(Claim),
    /// Another process holds the claim.
    By(Verdict),
}

fn place(folder: &Path, key: &PointKey, generation: u32) -> PathBuf {
    folder.join(CLAIMS).join(format!("{key}.{generation}"))
}

/// Claims a point, from a dead process too.
pub(super) fn claim(
    folder: &Path,
    key: &PointKey,
    own: &Presence,
    watch: &Mutex<Watch>,
) -> io::Result<Claimed> {
    let mut generation = 1;
    let mut former = Vec::new();
    loop {
        let path = place(folder, key, generation);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                let claim = Claim { folder: folder.to_owned(), key: key.clone(), generation, former };
                // Dropping the claim removes the file again.
                file.write_all(own.token().as_bytes())?;
                return Ok(Claimed::Own(claim));
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        // The claim may have been released meanwhile.
        let Some(holder) = holder(&path) else { return Ok(Claimed::By(Verdict::Open)) };
        match watch.lock().unwrap_or_else(PoisonError::into_inner).judge(&holder) {
            Verdict::Dead => {
                generation += 1;
                former.push(holder);
            }
            verdict => return Ok(Claimed::By(verdict)),
        }
    }
}

/// The token in a claim. If there is none yet: its name and its time, which no later claim of that name has. Nothing if there is no claim.
fn holder(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    if !text.is_empty() {
        return Some(text);
    }
    let made = fs::metadata(path).and_then(|metadata| metadata.modified()).ok()?;
    let made = made.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(format!("{}-{made}", path.file_name()?.to_str()?))
}

impl Claim {
    /// Whether nobody has taken it over.
    pub fn is_held(&self) -> bool {
        !place(&self.folder, &self.key, self.generation + 1).exists()
            && place(&self.folder, &self.key, self.generation).exists()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The own one last: until then nobody sees that of a dead process as the last.
        for generation in 1..=self.generation {
            let _ = fs::remove_file(place(&self.folder, &self.key, generation));
        }
    }
}

/// All claims: the point, the generation and the holder of each, in the order of their names.
pub(super) fn all(folder: &Path) -> Vec<(PointKey, u32, String)> {
    let entries = fs::read_dir(folder.join(CLAIMS)).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (key, generation) = name.rsplit_once('.')?;
            Some((PointKey(key.to_owned()), generation.parse().ok()?, holder(&entry.path())?))
        })
        .collect();
    found.sort();
    found
}

/// Removes a claim whose holder is dead.
pub(super) fn forget(folder: &Path, key: &PointKey, generation: u32) {
    let _ = fs::remove_file(place(folder, key, generation));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::super::worker::{WORKERS, Worker};
    use super::*;

    struct Scene {
        root: tempfile::TempDir,
        watch: Mutex<Watch>,
    }

    impl Scene {
        fn new(stale_after: Duration) -> Self {
            let root = tempfile::tempdir().unwrap();
            for name in [CLAIMS, WORKERS] {
                fs::create_dir(root.path().join(name)).unwrap();
            }
            let watch = Mutex::new(Watch::new(root.path(), stale_after));
            Scene { root, watch }
        }

        fn presence(&self) -> Presence {
            Presence::begin(self.root.path(), Worker::own("s", None)).unwrap()
        }

        fn claim(&self, own: &Presence) -> Claimed {
            claim(self.root.path(), &PointKey("0a".to_owned()), own, &self.watch).unwrap()
        }

        fn names(&self) -> Vec<String> {
            all(self.root.path())
                .into_iter()
                .map(|(key, generation, _)| format!("{key}.{generation}"))
                .collect()
        }
    }

    #[test]
    fn one_of_many_gets_a_claim_and_gives_it_back() {
        let scene = Scene::new(Duration::from_secs(100));
        let (own, other) = (scene.presence(), scene.presence());
        let Claimed::Own(claim) = scene.claim(&own) else { panic!("nobody else is there") };
        assert!(claim.is_held());
        assert!(matches!(scene.claim(&other), Claimed::By(Verdict::Alive)));
        drop(claim);
        assert!(scene.names().is_empty());
        assert!(matches!(scene.claim(&other), Claimed::Own(_)));
    }

    #[test]
    fn the_claim_of_a_dead_process_is_taken_over_by_one() {
        // The time exceeds the longest pause of a thread on a busy machine.
        let stale_after = Duration::from_millis(500);
        let scene = Scene::new(stale_after);
        for text in ["gone", ""] {
            fs::write(place(scene.root.path(), &PointKey("0a".to_owned()), 1), text).unwrap();
            let own: Vec<Presence> = (0..4).map(|_| scene.presence()).collect();
            assert!(own.iter().all(|own| matches!(scene.claim(own), Claimed::By(Verdict::Open))));
            std::thread::sleep(stale_after + Duration::from_millis(10));
            let claims = Mutex::new(Vec::new());
            let others = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for own in &own {
                    scope.spawn(|| match scene.claim(own) {
                        Claimed::Own(claim) => claims.lock().unwrap().push(claim),
                        Claimed::By(_) => drop(others.fetch_add(1, Ordering::Relaxed)),
                    });
                }
            });
            let mut claims = claims.into_inner().unwrap();
            assert_eq!((claims.len(), others.into_inner()), (1, 3), "`{text}`");
            assert_eq!(scene.names(), ["0a.1", "0a.2"]);
            drop(claims.pop());
            assert!(scene.names().is_empty());
        }
    }

    #[test]
    fn a_claim_without_a_token_is_another_one_than_an_earlier_one_of_its_name() {
        let stale_after = Duration::from_millis(50);
        let scene = Scene::new(stale_after);
        let own = scene.presence();
        let path = place(scene.root.path(), &PointKey("0a".to_owned()), 1);
        for _ in 0..2 {
            fs::write(&path, "").unwrap();
            assert!(matches!(scene.claim(&own), Claimed::By(Verdict::Open)));
            fs::remove_file(&path).unwrap();
            std::thread::sleep(stale_after + Duration::from_millis(10));
        }
    }

    #[test]
    fn a_process_that_was_taken_for_dead_knows_it() {
        let scene = Scene::new(Duration::ZERO);
        let (slow, other) = (scene.presence(), scene.presence());
        let Claimed::Own(first) = scene.claim(&slow) else { panic!("nobody else is there") };
        let Claimed::Own(second) = scene.claim(&other) else { panic!("everybody is stale here") };
        assert!(!first.is_held() && second.is_held());
        // The first process ends later than assumed, and leaves the other's claim as it is.
        drop(first);
        assert_eq!(scene.names(), ["0a.2"]);
    }
}
