//! Tests of the store: several processes at one folder.

use super::*;
use crate::study::program::build;

const LONG: Duration = Duration::from_secs(100);

fn part(text: &str) -> Option<StudyPart> {
    Some(text.parse().unwrap())
}

fn result() -> PointResult {
    let values = [("time".to_owned(), 1.0)].into();
    PointResult {
        point: "p".to_owned(),
        outcome: "o".to_owned(),
        verified: true,
        values,
        growths: Vec::new(),
    }
}

#[test]
fn what_an_earlier_run_did_not_finish_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let half = root.path().join(".index.json.h1.partial");
    let point = root.path().join("points/0123.00aa.unfinished");
    let open = || Store::open(root.path(), None, "s", LONG);
    drop(open().unwrap());
    fs::create_dir(&point).unwrap();
    fs::write(&half, "{").unwrap();
    fs::write(root.path().join("claims/0123.1"), "00aa").unwrap();
    let store = open().unwrap();
    assert!(!half.exists() && !point.exists());
    assert!(claims(root.path()).is_empty());
    assert_eq!(store.folder(), root.path());
    let Err(error) = open() else { panic!("a study is at work there") };
    assert!(error.to_string().contains("another `counterpoint study` is at work in this folder"), "{error}");
    let Err(error) = Store::open(root.path(), part("1/2"), "s", LONG) else { panic!("so may no part") };
    assert!(error.to_string().contains("which runs it alone"), "{error}");
}

#[test]
fn parts_share_a_folder_and_keep_each_others_files() {
    let root = tempfile::tempdir().unwrap();
    let key = PointKey("0a".to_owned());
    let open = |number| Store::open(root.path(), part(number), "s", LONG).unwrap();
    let (first, second) = (open("1/2"), open("2/2"));
    assert!(Store::open(root.path(), None, "s", LONG).is_err(), "none runs it alone meanwhile");
    for store in [&first, &second] {
        fs::create_dir(store.unfinished(&key)).unwrap();
        fs::write(store.unfinished(&key).join("stats.txt"), "same").unwrap();
    }
    assert_ne!(first.unfinished(&key), second.unfinished(&key));
    assert!(!first.has(&key));
    // Both processes have run the point: the first result is kept, and the second leaves nothing.
    first.keep(&key, &result(), None, false).unwrap();
    assert!(second.has(&key));
    second.keep(&key, &result(), None, false).unwrap();
    let names = fs::read_dir(root.path().join(POINTS)).unwrap().count();
    assert_eq!(names, 1);
    assert_eq!(super::result(root.path(), &key).unwrap(), Some(result()));
}

/// Processor seconds of this thread.
#[cfg(target_os = "linux")]
fn cpu() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, fields) = text.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap());
    ticks.sum::<f64>() / 100.0
}

#[cfg(target_os = "linux")]
#[test]
fn a_point_takes_little_of_the_processor_however_many_there_are() {
    // The folder is in memory if possible: disk time is not the store's time.
    let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = Store::open(root.path(), part("1/1"), "s", LONG).unwrap();
    let each = 200;
    let batches = [0, 1, 2].map(|batch| {
        let begun = cpu();
        for number in batch * each..(batch + 1) * each {
            let key = PointKey(format!("{number:032x}"));
            assert!(!store.has(&key));
            let Claimed::Own(claim) = store.claim(&key).unwrap() else { panic!("nobody else is there") };
            // Files have the size of those of a short run.
            fs::create_dir(store.unfinished(&key)).unwrap();
            for file in 0..9 {
                fs::write(store.unfinished(&key).join(format!("{file}")), [b'x'; 4096]).unwrap();
            }
            store.keep(&key, &result(), Some(&Speed::default()), false).unwrap();
            drop(claim);
            assert!(store.has(&key));
        }
        1e3 * (cpu() - begun) / f64::from(each)
    });
    assert!(batches.iter().all(|ms| *ms <= 5.0), "{batches:?} ms a point");
    assert!(batches[2] <= 2.0 * batches[0] + 0.5, "{batches:?} ms a point");
}

#[test]
fn the_claim_of_a_process_that_died_behind_its_point_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let key = PointKey("0a".to_owned());
    let store = Store::open(root.path(), part("1/1"), "s", LONG).unwrap();
    fs::create_dir(store.unfinished(&key)).unwrap();
    store.keep(&key, &result(), None, false).unwrap();
    for name in ["0a.1", "0b.1"] {
        fs::write(root.path().join("claims").join(name), "00aa").unwrap();
    }
    drop(store);
    assert_eq!(
        claims(root.path()),
        [(PointKey("0b".to_owned()), "00aa".to_owned())],
        "the other is not finished"
    );
}

#[test]
fn a_point_whose_result_is_gone_is_kept_again() {
    let root = tempfile::tempdir().unwrap();
    let key = PointKey("0a".to_owned());
    let store = Store::open(root.path(), part("1/1"), "s", LONG).unwrap();
    for _ in 0..2 {
        fs::create_dir(store.unfinished(&key)).unwrap();
        store.keep(&key, &result(), None, false).unwrap();
        assert!(store.has(&key) && finished(root.path()).contains(&key));
        fs::remove_file(point_folder(root.path(), &key).join(RESULT)).unwrap();
        fs::write(point_folder(root.path(), &key).join("stats.txt"), "").unwrap();
    }
}

#[test]
fn another_study_of_the_name_and_another_version_are_refused_while_they_are_at_work() {
    let root = tempfile::tempdir().unwrap();
    let open = |study: &str| Store::open(root.path(), part("1/2"), study, LONG);
    let first = open("s").unwrap();
    let put = |token: &str, version: &str, beat: u64| {
        let own = serde_json::to_value(Worker::own("other", None)).unwrap();
        let serde_json::Value::Object(mut own) = own else { panic!("a map") };
        own.insert("place".to_owned(), "another computer".into());
        own.insert("version".to_owned(), version.into());
        own.insert("beat".to_owned(), beat.into());
        // A reader sees the file before or after, as with those of real workers.
        let next = root.path().join("next");
        fs::write(&next, serde_json::to_string(&own).unwrap()).unwrap();
        fs::rename(&next, root.path().join("workers").join(token)).unwrap();
    };
    drop(first);
    for (version, expected) in [
        ("0.0.1", "version 0.0.1 of the command is at work in this folder"),
        (build(), "at a study of the same name"),
    ] {
        put("t", version, 0);
        let changes = std::thread::scope(|scope| {
            let opened = scope.spawn(|| open("s").err().map(|error| error.to_string()));
            for beat in 1.. {
                if opened.is_finished() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
                put("t", version, beat);
            }
            opened.join().unwrap()
        });
        let error = changes.expect("it is at work");
        assert!(error.contains(expected) && error.contains("--out"), "{error}");
    }
    // A dead one is no obstacle.
    put("t", "0.0.1", 1);
    assert!(Store::open(root.path(), part("1/2"), "s", Duration::from_millis(200)).is_ok());
    assert!(!root.path().join("workers/t").exists());
}
