//! Packs the kernels of the libraries into the program.

fn main() -> std::io::Result<()> {
    counterpoint_archive::pack(".", &["kernels"])
}
