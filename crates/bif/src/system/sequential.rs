//! `seq_trace/2` and its kin, where no process has a token: the answers without one. Setting one is not supported.

use myriad_term::{Build, Term, am};
use myriad_vm::bif::{NOTSUP, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub SEQUENTIAL = "erlang" {
    "seq_trace" / 2 Plain => seq_trace_2;
    "seq_trace_info" / 1 Plain => seq_trace_info_1;
    "seq_trace_print" / 1 Plain => |_, _| Ok(Term::FALSE);
    "seq_trace_print" / 2 Plain => |_, _| Ok(Term::FALSE);
}}

fn seq_trace_2(_: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_atom() {
        // No token instead of no token.
        Some(am::sequential_trace_token) if args[1].is_nil() => Ok(Term::NIL),
        Some(
            am::send
            | am::receive
            | am::print
            | am::timestamp
            | am::monotonic_timestamp
            | am::strict_monotonic_timestamp,
        ) => match args[1].as_bool() {
            Some(false) => Ok(Term::FALSE),
            Some(true) => Err(NOTSUP),
            None => badarg(),
        },
        Some(am::label | am::serial | am::sequential_trace_token) => Err(NOTSUP),
        _ => badarg(),
    }
}

fn seq_trace_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_atom() {
        Some(
            am::send
            | am::receive
            | am::print
            | am::timestamp
            | am::monotonic_timestamp
            | am::strict_monotonic_timestamp,
        ) => Ok(ctx.tuple(&[args[0], Term::FALSE])),
        Some(am::label | am::serial) => Ok(Term::NIL),
        _ => badarg(),
    }
}
