//! Looking inside: `erts_debug` and `erts_internal` functions that answer for an emulator without the thing asked about.

use myriad_term::{Term, am};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DEBUG = "erts_debug" {
    "instructions" / 0 Plain => |_, _| Ok(Term::NIL);
    "interpreter_size" / 0 Plain => |_, _| Ok(Term::small(0));
    "lcnt_clear" / 0 Plain => |_, _| Ok(Term::atom(am::error));
    "lcnt_collect" / 0 Plain => |_, _| Ok(Term::atom(am::error));
    "lcnt_control" / 1 Plain => |_, _| badarg();
    "lcnt_control" / 2 Plain => |_, _| badarg();
    "disassemble" / 1 Plain => |_, _| Ok(Term::FALSE);
}}

myriad_vm::bifs! { pub INTERNAL_DEBUG = "erts_internal" {
    "process_display" / 2 Plain => process_display_2;
}}

/// Writes the process's own stack to standard error; the Erlang caller makes the target ask this of itself.
fn process_display_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    use std::io::Write;
    if args[0].as_local_pid() != Some(ctx.pid()) {
        return Ok(Term::atom(am::badarg));
    }
    if !args[1].is_am(am::backtrace) {
        return Ok(Term::atom(am::badopt));
    }
    let pair = myriad_vm::info::own_info(ctx, am::backtrace.term(), false);
    let text = pair.as_tuple_of::<2>().and_then(|[_, text]| text.as_binary());
    let _ = std::io::stderr().write_all(&text.unwrap_or_default());
    Ok(Term::TRUE)
}
