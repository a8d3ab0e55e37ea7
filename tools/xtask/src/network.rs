//! Loads networks of every topology, up to saturation, beside BookSim: `cargo xtask network [--peer DIR] [--record]`.
//!
//! BookSim 2 is not part of this repository: `git clone https://github.com/booksim/booksim2 DIR`, then `make` in `DIR/src`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::speeds::output;

const PAGE: &str = "experiments/validation/NETWORKS.md";

/// Loads in flits per cycle and source. The last one is beyond every saturation but that of permutations.
const LOADS: [&str; 5] = ["0.05", "0.15", "0.25", "0.35", "1.0"];

/// A network under a pattern.
struct Case {
    name: &'static str,
    /// The component's type and parameters, as lines of a machine file.
    network: &'static str,
    ends: u32,
    pattern: &'static str,
    flits: u32,
    /// Equivalent network of BookSim, if one exists.
    peer: Option<&'static str>,
}

impl Case {
    const fn new(
        (name, network, ends, peer): (&'static str, &'static str, u32, Option<&'static str>),
        pattern: &'static str,
        flits: u32,
    ) -> Self {
        Case { name, network, ends, pattern, flits, peer }
    }
}

type Network = (&'static str, &'static str, u32, Option<&'static str>);

const MESH: Network = (
    "mesh of 8 x 8",
    "type: interconnect/network\n    topology: mesh\n    allocation: any",
    64,
    Some("topology=mesh k=8 n=2 routing_function=dim_order"),
);
const ORDERED: Network =
    ("mesh of 8 x 8, ordered", "type: interconnect/network\n    topology: mesh", 64, None);
const RING: Network = (
    "ring of 16",
    "type: interconnect/network\n    topology: ring\n    allocation: any",
    16,
    Some("topology=torus k=16 n=1 routing_function=dim_order"),
);
const CROSSBAR: Network = (
    "crossbar of 16",
    "type: interconnect/network\n    topology: crossbar\n    allocation: any",
    16,
    Some("topology=fly k=16 n=1 routing_function=dest_tag"),
);
const HIERARCHY: Network = (
    "8 clusters of 8, 2 links each",
    "type: interconnect/network\n    topology: { hierarchy: { clusters: 8, links: 2 } }\n    allocation: any",
    64,
    None,
);
const PLAIN: Network = ("`interconnect/crossbar` of 16", "type: interconnect/crossbar", 16, None);

const CASES: [Case; 15] = [
    Case::new(MESH, "uniform", 1),
    Case::new(MESH, "uniform", 4),
    Case::new(MESH, "transpose", 1),
    Case::new(MESH, "transpose", 4),
    Case::new(ORDERED, "uniform", 4),
    Case::new(ORDERED, "transpose", 4),
    Case::new(RING, "uniform", 1),
    Case::new(RING, "uniform", 4),
    Case::new(RING, "transpose", 1),
    Case::new(RING, "tornado", 1),
    Case::new(CROSSBAR, "uniform", 1),
    Case::new(CROSSBAR, "uniform", 4),
    Case::new(CROSSBAR, "transpose", 4),
    Case::new(HIERARCHY, "uniform", 4),
    Case::new(PLAIN, "uniform", 4),
];

/// Routers of BookSim with the stages of ours: three cycles in all, and four virtual channels of eight flits.
const PEER: &str = "routing_delay=0 vc_alloc_delay=1 sw_alloc_delay=1 num_vcs=4 vc_buf_size=8 injection_rate_uses_flits=1 \
                    latency_thres=100000.0 max_samples=4";

/// Loads networks up to saturation and prints what they accept, with which latency.
#[derive(clap::Args)]
pub(crate) struct NetworkLoads {
    /// A checkout of BookSim 2 whose `src/booksim` is built; it runs the same networks.
    #[arg(long, value_name = "DIR")]
    peer: Option<PathBuf>,
    /// Writes `experiments/validation/NETWORKS.md`.
    #[arg(long)]
    record: bool,
}

impl NetworkLoads {
    pub(crate) fn run(self) -> Result<(), String> {
        let root = crate::tree::root()?;
        let mut page = page_begin();
        for case in &CASES {
            let ours = ours(case, &root)?;
            for (load, ours) in LOADS.into_iter().zip(ours) {
                let theirs = match (&self.peer, case.peer) {
                    (Some(folder), Some(network)) => Some(theirs(case, network, load, folder)?),
                    _ => None,
                };
                let row = row(case, load, &ours, theirs.as_ref());
                crate::report(row.trim_end());
                page.push_str(&row);
            }
        }
        if self.record {
            std::fs::write(root.join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
        }
        Ok(())
    }
}

/// Throughput and latency of a network under a load. Rates are in flits per cycle and source.
struct Figures {
    accepted: f64,
    /// The sources that fare worst and best.
    least: f64,
    most: f64,
    /// Mean cycles from a message being made to it being taken.
    latency: f64,
}

impl Figures {
    /// Cells of the figures in the table. Beyond saturation a mean latency grows with the measured time, and
    /// has no meaning.
    fn cells(&self, load: f64) -> String {
        let is_stable = self.accepted > 0.93 * load;
        let latency = if is_stable { format!("{:.1}", self.latency) } else { "–".to_owned() };
        format!("{:.3} | {:.3} | {:.3} | {latency}", self.accepted, self.least, self.most)
    }
}

fn number(text: Option<&str>, what: &str) -> Result<f64, String> {
    text.and_then(|text| text.parse().ok()).ok_or_else(|| format!("no number for {what}"))
}

/// Runs all loads of a case with the example of the hardware crate.
fn ours(case: &Case, root: &Path) -> Result<Vec<Figures>, String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).args(["run", "--quiet", "-p", "counterpoint-hardware"]);
    command.args(["--example", "network_load", "--", case.network, &case.ends.to_string(), case.pattern]);
    let text = output(command.arg(case.flits.to_string()).args(LOADS))?;
    let figures = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let mut next = |what: &str| number(words.next(), what);
        Ok(Figures {
            accepted: next("the rate")?,
            least: next("the least rate")?,
            most: next("the most rate")?,
            latency: next("the latency")?,
        })
    };
    text.lines().map(figures).collect()
}

/// Runs a load of a case with BookSim.
fn theirs(case: &Case, network: &str, load: &str, folder: &Path) -> Result<Figures, String> {
    let place = tempfile::tempdir().map_err(|error| format!("a folder for BookSim: {error}"))?;
    let file = place.path().join("network.cfg");
    // Beyond saturation BookSim measures throughput alone.
    let kind = if load == "1.0" { "throughput" } else { "latency" };
    let settings = format!(
        "{network} {PEER} traffic={} packet_size={} injection_rate={load} sim_type={kind}",
        case.pattern, case.flits
    );
    let text: String = settings.split_whitespace().map(|setting| format!("{setting};\n")).collect();
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(folder.join("src/booksim"));
    let run = command.arg(&file).output().map_err(|error| format!("{}: {error}", folder.display()))?;
    // BookSim exits with an error for an unstable load, but prints its figures nevertheless.
    let text = String::from_utf8_lossy(&run.stdout);
    let lines: Vec<&str> = text.lines().collect();
    let value = |line: Option<&&str>, what: &str| {
        let words = line.and_then(|line| line.split_once('=')?.1.split_whitespace().next());
        number(words, what).map_err(|error| format!("{error}: {}", lines.last().unwrap_or(&"no output")))
    };
    let find = |name: &str| lines.iter().rposition(|line| line.starts_with(name)).unwrap_or(lines.len());
    // Sinks take what sources inject; only the latter is by source.
    let injected = find("Injected flit rate average");
    Ok(Figures {
        accepted: value(lines.get(find("Accepted flit rate average")), "BookSim's accepted rate")?,
        least: value(lines.get(injected + 1), "BookSim's least rate")?,
        most: value(lines.get(injected + 2), "BookSim's most rate")?,
        latency: value(lines.get(find("Packet latency average")), "BookSim's latency")?,
    })
}

fn row(case: &Case, load: &str, ours: &Figures, theirs: Option<&Figures>) -> String {
    let Case { name, pattern, flits, .. } = case;
    let value = load.parse().unwrap_or(1.0);
    let peer = theirs.map_or("| | |".to_owned(), |theirs| theirs.cells(value));
    format!("| {name} | {pattern} | {flits} | {load} | {} | {peer} |\n", ours.cells(value))
}

fn page_begin() -> String {
    let mut page = String::from(
        "# Networks under load\n\n\
         `cargo xtask network --peer DIR --record` writes this page; `DIR` is a checkout of [BookSim 2](https://github.com/booksim/booksim2) with its\n\
         `src/booksim` built. Each network has as many sources as sinks, and the sources make messages of one packet at random. Rates are in\n\
         flits per cycle and source: the load that is offered, what of it arrives, and that of the sources that fare worst and best. The\n\
         latency is the mean number of cycles from a message being made to it being taken; beyond saturation it grows without end, and `–`\n\
         stands for it. Routers take 3 cycles and links 1, and an input has 4 virtual channels of 8 flits.\n\n\
         A message needs a cycle more in BookSim to leave the network, and links of its rings take 2 cycles. `ordered` keeps the packets of two\n\
         ends in one virtual channel, as memory needs it; BookSim has no such order. Its least and most rates are those at which sources\n\
         inject. Where the least rate is below the offered one, some links are saturated, and the latency depends on the time that is\n\
         measured: 10000 cycles here, up to 4000 there.\n\n",
    );
    let ours = ["accepted", "least", "most", "latency"];
    let head = ["network", "pattern", "flits", "offered"].into_iter().map(str::to_owned);
    let head = head.chain(ours.map(str::to_owned)).chain(ours.map(|name| format!("BookSim: {name}")));
    let head: Vec<String> = head.collect();
    let _ = writeln!(page, "| {} |", head.join(" | "));
    let _ = writeln!(page, "| --- | --- |{}", " ---: |".repeat(head.len() - 2));
    page
}
