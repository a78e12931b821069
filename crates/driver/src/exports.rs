//! The functions of the interface, under the names by which libraries find them.

mod binaries;
mod data_lock;
mod events;
mod output;
mod ports;
mod queues;
mod system;
mod terms;
mod threads;

use myriad_term::Term;

/// `[]`, for drivers that read it as a variable.
// SAFETY: the name is the interface's, which nothing else in the program has.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is the interface's")]
pub static driver_term_nil: u64 = Term::NIL.raw();

/// The names of the functions that there are, part by part.
const EXPORTED: [&[&str]; 10] = [
    &["driver_term_nil", "erl_drv_thread_exit"],
    binaries::NAMES,
    data_lock::NAMES,
    events::NAMES,
    output::NAMES,
    ports::NAMES,
    queues::NAMES,
    system::NAMES,
    terms::NAMES,
    threads::NAMES,
];

/// The names of those that OTP's emulator exports and this does not: no header has them.
pub const MISSING: &[&str] =
    &["driver_list", "driver_report_exit", "driver_tab", "erl_drv_port_control", "erl_drv_thr_init"];

/// The names of all functions of the interface, there or not.
pub fn names() -> impl Iterator<Item = &'static str> {
    EXPORTED.into_iter().flatten().chain(MISSING).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// As many as the emulator of OTP 25 exports.
    #[test]
    fn each_name_of_the_interface_stands_once() {
        let names: Vec<_> = super::names().collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(names.len(), 117);
    }
}
