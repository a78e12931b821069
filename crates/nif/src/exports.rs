//! The functions of the interface, under the names by which libraries find them.

mod binaries;
mod maps;
mod processes;
mod resources;
mod system;
mod terms;

/// What `variadic.c` defines.
const VARIADIC: &[&str] =
    &["enif_fprintf", "enif_make_list", "enif_make_tuple", "enif_snprintf", "enif_vfprintf", "enif_vsnprintf"];

/// The names of the functions that there are, part by part.
const EXPORTED: [&[&str]; 7] =
    [VARIADIC, binaries::NAMES, maps::NAMES, processes::NAMES, resources::NAMES, system::NAMES, terms::NAMES];

/// The names of those that the interface has and this does not.
pub const MISSING: &[&str] = &[
    "enif_compare_monitors",
    "enif_cpu_time",
    "enif_demonitor_process",
    "enif_dynamic_resource_call",
    "enif_free_iovec",
    "enif_getenv",
    "enif_init_resource_type",
    "enif_inspect_iovec",
    "enif_ioq_create",
    "enif_ioq_deq",
    "enif_ioq_destroy",
    "enif_ioq_enq_binary",
    "enif_ioq_enqv",
    "enif_ioq_peek",
    "enif_ioq_peek_head",
    "enif_ioq_size",
    "enif_is_port_alive",
    "enif_make_monitor_term",
    "enif_make_resource_binary",
    "enif_make_unique_integer",
    "enif_monitor_process",
    "enif_now_time",
    "enif_open_resource_type_x",
    "enif_port_command",
    "enif_select",
    "enif_select_x",
    "enif_thread_exit",
    "enif_thread_type",
];

/// The names of all functions of the interface, there or not.
pub fn names() -> impl Iterator<Item = &'static str> {
    // What `variadic.c` calls is there, too.
    let there = EXPORTED.into_iter().flatten().filter(|name| name.starts_with("enif_"));
    there.chain(MISSING).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// As many as the emulator of OTP 25 exports.
    #[test]
    fn each_name_of_the_interface_stands_once() {
        let names: Vec<_> = super::names().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(names.len(), 169);
    }
}
