//! Writes the application of a record: `write RECORD NAME FOLDER`.
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let mut recorded = counterpoint_cuda_capture::read(arguments[1].as_ref()).expect("a record");
    let folder = std::path::Path::new(&arguments[3]);
    std::fs::create_dir_all(folder).expect("folder");
    let yaml = counterpoint_cuda_capture::write_application(&mut recorded, &arguments[2], folder).expect("application");
    std::fs::write(folder.join("app.yaml"), yaml).expect("yaml");
}
