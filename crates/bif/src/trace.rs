//! Tracing: `erlang:trace/3`, `trace_pattern/2,3`, `trace_info/2`, `trace_delivered/1`; `erts_debug:breakpoint/2`.

mod delivered;
mod flags;
mod info;
mod pattern;
mod sequential;

pub use sequential::SEQUENTIAL;

use myriad_term::{Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub TRACING = "erlang" {
    "trace_info" / 2 Plain => info::trace_info_2;
    "trace_delivered" / 1 Plain => delivered::trace_delivered_1;
}}

myriad_vm::bifs! { pub INTERNAL_TRACING = "erts_internal" {
    "trace" / 3 Plain => flags::trace_3;
    "trace_pattern" / 3 Plain => pattern::trace_pattern_3;
}}

myriad_vm::bifs! { pub BREAKING = "erts_debug" {
    "breakpoint" / 2 Plain => pattern::breakpoint_2;
}}

/// `badarg` whose cause is a bad option.
fn bad_option(ctx: &mut Ctx<'_>) -> BifResult {
    bad(ctx, am::badopt)
}

/// `badarg` with this cause.
fn bad(ctx: &mut Ctx<'_>, cause: myriad_term::Atom) -> BifResult {
    ctx.error_with_cause(Term::atom(am::badarg), cause.term())
}

/// A living process of this node, or an open port.
fn tracer_of(term: Term) -> Option<Term> {
    (term.as_local_pid().is_some() || term.as_local_port().is_some()).then_some(term)
}

/// Plain `badarg`.
fn plain() -> BifResult {
    badarg()
}
