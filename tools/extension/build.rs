//! Packs the files that the extension brings along.

fn main() -> std::io::Result<()> {
    counterpoint_archive::pack(".", &["machines", "overlays", "studies"])
}
