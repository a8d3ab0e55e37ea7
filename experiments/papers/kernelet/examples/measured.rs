//! Turns the results of `kernelet-kernels` and of the study of pairs into the tables that queues are replayed from.
//!
//! `cargo run --release -p counterpoint-kernelet --example measured -- KERNELS/results.csv PAIRS/results.csv C2050 FOLDER`

#![allow(clippy::print_stderr, reason = "what is wrong")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// Turns results of studies into the tables that queues are replayed from.
#[derive(Parser)]
struct Arguments {
    /// The results of `kernelet-kernels`.
    kernels: PathBuf,
    /// The results of the study of pairs.
    pairs: PathBuf,
    /// The machine, as these studies call it.
    machine: String,
    /// The folder for `kernels.csv`, `pairs.csv` and `tails.csv`.
    folder: PathBuf,
}

/// A row by the names of its columns.
type Row = BTreeMap<String, String>;

fn main() -> ExitCode {
    match write(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let of_machine = |path: &Path| -> Result<Vec<Row>, Box<dyn Error>> {
        let rows: Vec<Row> = csv::Reader::from_path(path)?.deserialize().collect::<Result<_, _>>()?;
        Ok(rows.into_iter().filter(|row| row["machine"] == arguments.machine).collect())
    };
    let (kernels, pairs) = (of_machine(&arguments.kernels)?, of_machine(&arguments.pairs)?);
    let save = |name: &str, text: String| std::fs::write(arguments.folder.join(name), text);
    std::fs::create_dir_all(&arguments.folder)?;
    save("kernels.csv", kernels_of(&kernels)?)?;
    save("pairs.csv", pairs_of(&pairs)?)?;
    save("tails.csv", tails_of(&pairs)?)?;
    Ok(())
}

fn cell<'a>(row: &'a Row, name: &str) -> Result<&'a str, Box<dyn Error>> {
    let cell = row.get(name).filter(|cell| !cell.is_empty());
    Ok(cell.ok_or_else(|| format!("a row of {} has no `{name}`", row["application"]))?)
}

fn number(row: &Row, name: &str) -> Result<f64, Box<dyn Error>> {
    Ok(cell(row, name)?.parse()?)
}

fn kernels_of(rows: &[Row]) -> Result<String, Box<dyn Error>> {
    let mut text = "kernel,blocks,rate,instructions_per_block,memory_fraction,uncoalesced_fraction,warps_per_block,threads,registers,\
                    shared,pur,mur,minimum_slice\n"
        .to_owned();
    for row in rows.iter().filter(|row| row["run"] == "model") {
        write!(text, "{},{}", row["application"], cell(row, "decided_ctas")?)?;
        write!(text, ",{:.6}", number(row, "ctas_1")? / 1e3)?;
        for column in
            ["instructions", "memory", "uncoalesced", "warps", "threads", "registers", "shared", "pur", "mur"]
        {
            write!(text, ",{}", cell(row, &format!("profile_{column}"))?)?;
        }
        writeln!(text, ",{}", cell(row, "minimum_slice")?)?;
    }
    Ok(text)
}

/// Names of both kernels of a row.
fn names(row: &Row) -> Result<(&str, &str), Box<dyn Error>> {
    Ok(row["application"].split_once('/').ok_or("pairs have names such as `PC/SAD`")?)
}

fn pairs_of(rows: &[Row]) -> Result<String, Box<dyn Error>> {
    let mut text = "first,second,slice_first,slice_second,rate_first,rate_second\n".to_owned();
    let mut seen = BTreeSet::new();
    for row in rows.iter().filter(|row| row["run"] != "base") {
        let (first, second) = names(row)?;
        let slices = [cell(row, "slice_1")?, cell(row, "slice_2")?];
        // Several runs can have the same slices.
        if seen.insert((first, second, slices)) {
            let [own, others] = slices;
            let rates = [number(row, "ctas_1")? / 1e3, number(row, "ctas_2")? / 1e3];
            writeln!(text, "{first},{second},{own},{others},{:.6},{:.6}", rates[0], rates[1])?;
        }
    }
    Ok(text)
}

fn tails_of(rows: &[Row]) -> Result<String, Box<dyn Error>> {
    let mut text = "first,second,both\n".to_owned();
    for row in rows.iter().filter(|row| row["run"] == "base") {
        let (first, second) = names(row)?;
        writeln!(text, "{first},{second},{:.6}", number(row, "queue_time")? * 1e3)?;
    }
    Ok(text)
}
