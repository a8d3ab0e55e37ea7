//! Results of programs, as Markdown: shares, a row for each program, and those that are left out by reason.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Row, Verdict};

/// How many programs are right, count, and are left out.
pub(super) fn counts(rows: &[Row]) -> [usize; 3] {
    let count = |is: fn(&Verdict) -> bool| rows.iter().filter(|row| is(&row.verdict)).count();
    let left_out = count(|verdict| matches!(verdict, Verdict::LeftOut(_)));
    [count(|verdict| matches!(verdict, Verdict::Right { .. })), rows.len() - left_out, left_out]
}

/// The tables.
pub(super) fn text(rows: &[Row]) -> String {
    let [right, counted, left_out] = counts(rows);
    let share = right * 100 / counted.max(1);
    let mut text =
        format!("{} programs, {left_out} left out: {right} of {counted} ({share} %) run.\n\n", rows.len());
    text.push_str("| program | | s | record |\n| --- | --- | --: | --: |\n");
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Row { name, verdict, seconds, bytes } in rows {
        let said = match verdict {
            Verdict::Right { .. } => "runs".to_owned(),
            Verdict::Wrong { stage, reason } => format!("{stage}: {}", reason.replace('|', "\\|")),
            Verdict::Library(library) => format!("{library} is not supported"),
            Verdict::LeftOut(reason) => {
                others.entry(reason).or_default().push(name);
                continue;
            }
        };
        let ran = *seconds > 0.0;
        let seconds = if ran { format!("{seconds:.1}") } else { String::new() };
        let record = if ran { size(*bytes) } else { String::new() };
        let _ = writeln!(text, "| {name} | {said} | {seconds} | {record} |");
    }
    if !others.is_empty() {
        text.push_str("\n| left out | programs |\n| --- | --- |\n");
    }
    for (reason, names) in others {
        let _ = writeln!(text, "| {reason} | {} |", names.join(", "));
    }
    text
}

/// Bytes in a unit that leaves three digits.
fn size(bytes: u64) -> String {
    let kib = bytes.div_ceil(1024);
    if kib < 1000 { format!("{kib} KiB") } else { format!("{} MiB", kib.div_ceil(1024)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_shares_rows_and_reasons() {
        let row = |name: &str, verdict| Row { name: name.to_owned(), verdict, seconds: 1.26, bytes: 3 << 20 };
        let rows = [
            row("a", Verdict::Right { launches: String::new() }),
            row("b", Verdict::Wrong { stage: "does not run", reason: "a|b".to_owned() }),
            row("c", Verdict::LeftOut("OpenGL".to_owned())),
        ];
        let expected = "3 programs, 1 left out: 1 of 2 (50 %) run.\n\n| program | | s | record |\n| --- | --- | --: | --: |\n\
                        | a | runs | 1.3 | 3 MiB |\n| b | does not run: a\\|b | 1.3 | 3 MiB |\n\n\
                        | left out | programs |\n| --- | --- |\n| OpenGL | c |\n";
        assert_eq!(text(&rows), expected);
        assert_eq!((size(1), size(2000 * 1024)), ("1 KiB".to_owned(), "2 MiB".to_owned()));
    }
}
