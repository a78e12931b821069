//! Exports the functions of the NIF interface from the program: libraries that it loads find them there.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol=enif_*");
}
