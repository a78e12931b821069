//! Tracing: `erlang:trace/3`, `trace_pattern/2,3`, `trace_info/2`, `trace_delivered/1`; `erts_debug:breakpoint/2`.

mod delivered;
mod flags;
mod info;
mod pattern;
mod sequential;

pub use sequential::SEQUENTIAL;

use myriad_term::{Build, Term, am};
use myriad_trace::Tracing;
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

/// What programs see of a tracer: the process or port, or `{Module, State}`; nothing of a module that has ended.
pub(crate) fn tracer_term(ctx: &mut Ctx<'_>, tracer: Term) -> Option<Term> {
    if tracer.as_small().is_none() {
        return Some(tracer);
    }
    let module = Tracing::of(ctx.vm).tracers.get(tracer)?;
    let state = myriad_heap::copy_term(module.state(), ctx);
    Some(ctx.tuple(&[module.module().term(), state]))
}

/// Plain `badarg`.
fn plain() -> BifResult {
    badarg()
}
