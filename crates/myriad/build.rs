//! Exports the functions of the interfaces for NIFs and drivers from the program: libraries that it loads find them there.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for names in [
        "enif_*",
        "driver_*",
        "erl_drv_*",
        "add_driver_entry",
        "remove_driver_entry",
        "get_port_flags",
        "set_port_control_flags",
    ] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={names}");
    }
    for name in ["set_busy_port", "erl_errno_id", "null_func"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={name}");
    }
}
