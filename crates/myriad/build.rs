//! Exports the functions of the interfaces for NIFs and drivers from the program: libraries that it loads find them there. Chooses the
//! allocator: under `--cfg heap_check` and `--cfg thread_sanitizer` the system's (`system_allocator`).

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(system_allocator)");
    if ["CARGO_CFG_HEAP_CHECK", "CARGO_CFG_THREAD_SANITIZER"].iter().any(|cfg| std::env::var_os(cfg).is_some()) {
        println!("cargo::rustc-cfg=system_allocator");
    }
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
