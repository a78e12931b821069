//! `erlang:seq_trace/2`, `seq_trace_info/1`, `seq_trace_print/1,2`: the process's token.

use myriad_term::{Build, Term, am};
use myriad_trace::sequential::{self, flag};
use myriad_vm::bif::badarg;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub SEQUENTIAL = "erlang" {
    "seq_trace" / 2 Plain => seq_trace_2;
    "seq_trace_info" / 1 Plain => seq_trace_info_1;
    "seq_trace_print" / 1 Plain => |ctx, a| Ok(Term::bool(sequential::print(ctx, None, a[0])));
    "seq_trace_print" / 2 Plain => seq_trace_print_2;
}}

/// Sets a part of the token; gives what it was.
fn seq_trace_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    match args[0].as_atom().and_then(|key| sequential::set_part(ctx, key, args[1])) {
        Some(old) => Ok(old),
        None => badarg(),
    }
}

fn seq_trace_info_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some(key) = args[0].as_atom() else { return badarg() };
    let token = sequential::token(ctx);
    if let Some(bit) = flag(key) {
        let on = token.is_some_and(|t| t.flags & bit != 0);
        return Ok(ctx.tuple(&[key.term(), Term::bool(on)]));
    }
    let value = match (key, token) {
        (am::label | am::serial, None) => return Ok(Term::NIL),
        (am::label, Some(token)) => token.label,
        (am::serial, Some(token)) => ctx.tuple(&[Term::small(token.previous), Term::small(token.serial)]),
        _ => return badarg(),
    };
    Ok(ctx.tuple(&[key.term(), value]))
}

fn seq_trace_print_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    Ok(Term::bool(sequential::print(ctx, Some(args[0]), args[1])))
}
