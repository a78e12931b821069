//! Compiles the functions of the interface that stable Rust cannot define.

fn main() {
    println!("cargo:rerun-if-changed=src/variadic.c");
    // The whole archive: nothing of the VM refers to them, the libraries that are loaded do.
    cc::Build::new()
        .file("src/variadic.c")
        .warnings(true)
        .extra_warnings(true)
        .cargo_metadata(false)
        .compile("myriad_nif_variadic");
    println!("cargo:rustc-link-search=native={}", std::env::var("OUT_DIR").unwrap_or_default());
    println!("cargo:rustc-link-lib=static:+whole-archive=myriad_nif_variadic");
}
