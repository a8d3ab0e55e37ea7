//! Empty: the system tests are one test binary, `main.rs`.
