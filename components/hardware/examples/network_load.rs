//! Prints the performance of networks under load, a line of words for each point. `cargo xtask network` runs it, and documents the
//! words.

use counterpoint_hardware::interconnect::load::measure;

#[allow(clippy::print_stdout, reason = "this is a command")]
fn main() {
    let mut words = std::env::args().skip(1);
    // A network, its number of sources, a pattern, flits of a message, and loads.
    let mut word = |what: &str| words.next().unwrap_or_else(|| panic!("{what} is missing"));
    let network = word("a network");
    let ends = word("the number of ends").parse().expect("a number of ends");
    let (pattern, flits) = (word("a pattern"), word("the flits of a message"));
    for load in words {
        let traffic = format!("pattern: {pattern}, flits: {flits}, load: {load}");
        let figures = measure(&network, ends, &traffic, 10_000);
        println!(
            "{load} {} {} {} {} {}",
            figures.accepted, figures.least, figures.most, figures.latency, figures.missing
        );
    }
}
