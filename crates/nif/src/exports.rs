//! The functions of the interface, under the names by which libraries find them.

mod binaries;
mod maps;
mod processes;
mod queues;
mod resources;
mod selects;
#[allow(clippy::not_unsafe_ptr_arg_deref, reason = "libraries call them, and what they hand over is ABI1's")]
pub mod system;
mod terms;
mod times;

/// What `variadic.c` defines.
const IN_C: &[&str] = &[
    "enif_fprintf",
    "enif_make_list",
    "enif_make_tuple",
    "enif_snprintf",
    "enif_thread_exit",
    "enif_vfprintf",
    "enif_vsnprintf",
];

/// The names of the functions that there are, part by part.
const EXPORTED: [&[&str]; 10] = [
    IN_C,
    binaries::NAMES,
    maps::NAMES,
    processes::NAMES,
    queues::NAMES,
    resources::NAMES,
    selects::NAMES,
    system::NAMES,
    terms::NAMES,
    times::NAMES,
];

/// The names of the functions of the interface.
pub fn names() -> impl Iterator<Item = &'static str> {
    // What `variadic.c` calls is there, too.
    EXPORTED.into_iter().flatten().copied().filter(|name| name.starts_with("enif_"))
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
