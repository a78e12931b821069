//! Built-in functions, by Erlang module.
//!
//! Each file states its functions once, in tables made by [`myriad_vm::bifs!`]; [`TABLES`] lists the tables. What stands for
//! functions of Erlang libraries is apart from them, in [`intrinsics`].

mod argument;
pub mod atomics;
pub mod atoms;
pub mod binary;
pub mod calendar;
pub mod clock;
pub mod code;
pub mod counters;
pub mod debug;
pub mod digests;
pub mod display;
pub mod dyntrace;
pub mod errors;
pub mod external;
pub mod guards;
pub mod identifiers;
pub mod intrinsics;
pub mod iodata;
pub mod iolists;
pub mod libraries;
pub mod lists;
pub mod maps;
pub mod math;
pub mod native_names;
pub mod numbers;
#[cfg(test)]
mod oracle;
pub mod os;
pub mod packet;
pub mod parallel;
pub mod persistent;
pub mod process;
pub mod regex;
pub mod share;
pub mod system;
#[cfg(test)]
mod test_support;
pub mod timer;
pub mod trace;
pub mod tuples;
pub mod unicode;
#[cfg(test)]
mod vectors;
pub mod work;

use myriad_term::Term;
use myriad_vm::BifDef;
use myriad_vm::bif::IntrinsicDef;
use myriad_vm::heap_walk::Visit;
use myriad_vm::subsystem::{Part, Subsystem};

/// All tables of this crate.
pub static TABLES: &[&[BifDef]] = &[
    code::ERLANG,
    code::INTERNAL,
    code::LITERAL_AREA_COLLECTOR,
    code::CODE,
    atomics::ATOMICS,
    atomics::INTERNAL_ATOMICS,
    counters::INTERNAL_COUNTERS,
    atoms::ATOMS,
    binary::BINARY,
    calendar::CALENDAR,
    debug::DEBUG,
    debug::INTERNAL_DEBUG,
    digests::DIGESTS,
    display::DISPLAY,
    dyntrace::DYNTRACE,
    external::EXTERNAL,
    identifiers::IDENTIFIERS,
    numbers::NUMBERS,
    numbers::STRING_NUMBERS,
    os::environment::ENVIRONMENT,
    os::signals::SIGNALS,
    math::MATH,
    packet::PACKETS,
    persistent::PERSISTENT_TERM,
    persistent::INTERNAL_PERSISTENT_TERM,
    clock::CLOCK,
    clock::OS_CLOCK,
    clock::INTERNAL_CLOCK,
    errors::ERRORS,
    guards::OPERATORS,
    guards::TYPE_TESTS,
    guards::GUARDS,
    lists::LISTS,
    lists::LIST_OPERATORS,
    maps::MAPS,
    maps::INTERNAL_MAPS,
    timer::TIMERS,
    iolists::IOLISTS,
    unicode::UNICODE,
    native_names::PRIM_FILE,
    native_names::FILE,
    native_names::IO,
    native_names::ERROR_LOGGER,
    system::INFO,
    system::FLAGS,
    system::INTERNAL_FLAGS,
    system::INSTRUMENT,
    system::STATISTICS,
    system::HALT,
    system::DISTRIBUTION,
    system::INTERNAL_DISTRIBUTION,
    system::NET_KERNEL,
    system::MONITORING,
    trace::SEQUENTIAL,
    trace::TRACING,
    trace::INTERNAL_TRACING,
    trace::BREAKING,
    system::DEBUG,
    system::INTERNAL_DEBUG,
    system::LCNT,
    system::LOCKS,
    parallel::PARALLEL,
    share::SHARE,
    tuples::TUPLES,
    process::PROCESSES,
    regex::RE,
    process::INTERNAL,
    process::GROUP_LEADER,
    process::SPAWN,
    process::INTERNAL_SPAWN,
    process::MONITORS,
    process::NAMES,
    process::DICTIONARY,
    process::FLAGS,
    process::INTERNAL_FLAGS,
    process::INFO,
    process::INTERNAL_INFO,
];

/// What the built-in functions of this crate keep for a VM.
#[derive(Default)]
pub struct Builtins {
    persistent_terms: persistent::PersistentTerms,
    system_state: system::SystemState,
}

impl Subsystem for Builtins {
    fn parts(&'static self) -> Vec<Part> {
        vec![&self.persistent_terms, &self.system_state]
    }

    fn tables(&self) -> &'static [&'static [BifDef]] {
        TABLES
    }

    fn intrinsics(&self) -> &'static [IntrinsicDef] {
        intrinsics::INTRINSICS
    }

    fn each_object(&self, visit: Visit<'_>) {
        self.persistent_terms.each_object(visit);
    }

    fn persistent_terms(&self) -> Vec<(Term, Term)> {
        self.persistent_terms.all()
    }
}
