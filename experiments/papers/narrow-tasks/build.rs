//! Packs the files of the paper.

fn main() -> std::io::Result<()> {
    counterpoint_archive::pack(".", &["machines", "modules", "overlays", "studies"])
}
