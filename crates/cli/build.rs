//! Linker options of the binary.

fn main() {
    // A position-independent binary is rewritten by the loader at every start: sixteen thousand
    // places, and every page that holds one. `flame` starts for every hook and every command, so on
    // Linux it is linked to a fixed address instead.
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let glibc = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if linux && glibc {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
