//! Packs the files that belong to no paper.

fn main() -> std::io::Result<()> {
    let folders = ["topologies", "experiments/applications", "experiments/studies", "experiments/validation"];
    counterpoint_archive::pack("../..", &folders)
}
