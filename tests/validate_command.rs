//! `counterpoint validate`: the table, the page, and its message where nothing was measured.

use counterpoint_cli::{FAILURE, SUCCESS};

use crate::cli::call;

/// The requested machine. Tests request only its latencies or a small kernel, so that no large kernel runs.
const MACHINE: &str = "kepler-titan";

#[test]
fn figures_stand_beside_ours_in_a_table_and_on_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let called = call(&["validate", MACHINE, "--only", "latency", "--page", &path.display().to_string()]);
    assert_eq!((called.status, called.err.as_str()), (SUCCESS, ""));
    let lines: Vec<&str> = called.out.lines().collect();
    let (rows, last) = (&lines[1..lines.len() - 1], lines[lines.len() - 1]);
    assert!(lines[0].starts_with("machine") && lines[0].ends_with("apart"), "{}", called.out);
    let chase: Vec<&str> = rows.iter().filter(|row| row.contains("chase L2")).copied().collect();
    assert_eq!(chase.len(), 1, "{}", called.out);
    assert!(chase[0].starts_with(&format!("{MACHINE} ")) && chase[0].contains(" 160.0 "), "{}", chase[0]);
    assert!(last.starts_with("kepler-titan: latencies: ") && last.ends_with(" % at worst"), "{last}");

    let page = std::fs::read_to_string(&path).unwrap();
    assert_eq!(page.matches("<tr><td>").count(), rows.len(), "a row of the page is a row of the table");
    assert!(page.contains(&format!("<tr><td>{MACHINE}<td>latency<td>chase L2<td>")), "{page}");
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/page.html").display().to_string();
    let called = call(&["validate", MACHINE, "--only", "reference-histogram", "--page", &path]);
    assert_eq!(called.status, FAILURE);
    assert!(called.err.starts_with(&format!("error: {path}: ")), "{}", called.err);
}

#[test]
fn an_application_without_figures_is_answered_with_the_nearest_one() {
    let called = call(&["validate", "--only", "reference-teas"]);
    assert_eq!((called.status, called.out.as_str()), (FAILURE, ""));
    let expected = "error: no figures are kept of `reference-teas`\n  help: did you mean `reference-tea`?";
    assert!(called.err.starts_with(expected), "{}", called.err);
}

#[test]
fn a_machine_without_figures_is_answered_with_those_that_have_some() {
    for (name, help) in
        [("kepler-tita", "did you mean `kepler-titan`?"), ("xyz", "there are figures of gtx480, ")]
    {
        let called = call(&["validate", name]);
        assert_eq!((called.status, called.out.as_str()), (FAILURE, ""));
        let expected = format!("error: no figures are kept of a machine `{name}`\n  help: {help}");
        assert!(called.err.starts_with(&expected), "{}", called.err);
    }
}
