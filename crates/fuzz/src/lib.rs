//! What bytes from outside can reach, as functions of bytes, and inputs for them.
//!
//! Two drivers run the targets: the command of this crate, which needs nothing but stable Rust (seeded mutation of a kept
//! corpus, without coverage; `make test` runs it), and cargo-fuzz (directory `fuzz`; coverage-guided; `make fuzz`).
//!
//! - A target returns for any input. A panic, an abort, a fault, running longer than [`SECONDS_AN_INPUT`] or holding more
//!   than [`BYTES_AN_INPUT`] is a finding.
//! - What a driver does follows from its seed and the corpus alone.

pub mod beam_file;
pub mod external;
pub mod mutate;
pub mod seeds;
pub mod targets;

/// How long one input may take. Generous: builds without optimisation run the targets on shared machines.
pub const SECONDS_AN_INPUT: u64 = 10;
/// How much memory may be held, corpus included.
pub const BYTES_AN_INPUT: usize = 1 << 30;

/// A target.
pub struct Target {
    /// Its name; its corpus is `fuzz/corpus/NAME`.
    pub name: &'static str,
    /// Takes an input.
    pub run: fn(&[u8]),
    /// Makes a new input out of seeds.
    pub mutate: mutate::Mutate,
}

/// All targets.
pub static TARGETS: &[Target] = &[
    Target { name: "beam_load", run: targets::beam_load, mutate: beam_file::mutate },
    Target { name: "term_decode", run: targets::term_decode, mutate: external::mutate },
    Target { name: "match_spec", run: targets::match_spec, mutate: external::mutate },
    Target { name: "bif_call", run: targets::bif_call, mutate: external::mutate },
    Target { name: "inflate", run: targets::inflate, mutate: mutate::bytes },
    Target { name: "regex", run: targets::regex, mutate: mutate::bytes },
    Target { name: "pcre_dialect", run: targets::pcre_dialect, mutate: mutate::bytes },
    Target { name: "crash_dump", run: targets::crash_dump, mutate: mutate::bytes },
    Target { name: "packet", run: targets::packet, mutate: mutate::bytes },
    Target { name: "framing", run: targets::framing, mutate: mutate::bytes },
    Target { name: "inet", run: targets::inet, mutate: mutate::bytes },
    Target { name: "socket_call", run: targets::socket_call, mutate: external::mutate },
];
