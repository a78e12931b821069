//! Raising exceptions.

use myriad_process::Class;
use myriad_term::{Build, Term, am};
use myriad_vm::bif::Escape;
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub ERRORS = "erlang" {
    "error" / 1 Plain => |ctx, a| error(ctx, a[0], Term::NONE, Term::NONE);
    "error" / 2 Plain => |ctx, a| error(ctx, a[0], arguments(a[1]), Term::NONE);
    "error" / 3 Plain => error_3;
    "nif_error" / 1 Plain => |_, a| Err(Escape::Error(a[0]));
    "nif_error" / 2 Plain => |_, a| Err(Escape::Error(a[0]));
    "raise" / 3 Plain => raise_3;
}}

/// Anything but a list (`none`, for example) is left out of the trace; a list need not be proper.
fn arguments(list: Term) -> Term {
    if list.is_list() { list } else { Term::NONE }
}

fn error(ctx: &mut Ctx<'_>, reason: Term, arguments: Term, info: Term) -> BifResult {
    let exception = &mut ctx.state.exception;
    exception.class = Class::Error;
    exception.reason = reason;
    exception.arguments = arguments;
    exception.info = info;
    exception.trace = Term::NONE;
    exception.frames.clear();
    Err(Escape::Raised)
}

/// Whatever is wrong with the options: the error is raised, without what they say.
fn error_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut info = Term::NONE;
    let mut options = args[2].list_iter();
    let right = options.by_ref().all(|option| match option.as_tuple_of::<2>() {
        Some([key, value]) if key.is_am(am::error_info) && value.is_map() => {
            info = value;
            true
        }
        _ => false,
    });
    if !right || !options.tail().is_nil() {
        info = Term::NONE;
    }
    error(ctx, args[0], arguments(args[1]), info)
}

/// Is this an entry of a stack trace: `{M, F, ArityOrArgs}`, `{Fun, Args}`, each maybe with a location list? Only forms are
/// looked at, as on OTP: what shows the trace sees what is in it.
fn is_trace_entry(entry: Term) -> bool {
    let Some(elements) = entry.as_tuple().map(|t| t.elements()) else { return false };
    match elements {
        [fun, _] => fun.is_fun(),
        [fun, _, location] if fun.is_fun() => location.is_list(),
        [m, f, _] => m.is_atom() && f.is_atom(),
        [m, f, _, location] => m.is_atom() && f.is_atom() && location.is_list(),
        _ => false,
    }
}

/// An entry with a location list, empty if it had none.
fn with_location(ctx: &mut Ctx<'_>, entry: Term) -> Term {
    match entry.as_tuple().map(|t| t.elements()) {
        Some([fun, args]) => ctx.tuple(&[*fun, *args, Term::NIL]),
        Some([m, f, a]) if m.is_atom() => ctx.tuple(&[*m, *f, *a, Term::NIL]),
        _ => entry,
    }
}

/// Raises with a given trace; `badarg` is the value (not an error) if class or trace are wrong.
fn raise_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let mut trace = args[2].list_iter();
    let entries_right = trace.by_ref().all(is_trace_entry) && trace.tail().is_nil();
    let (Some(class), true) = (Class::from_term(args[0]), entries_right) else {
        return Ok(Term::atom(am::badarg));
    };
    let entries = args[2].list_iter().take(ctx.vm.defaults.exception_depth());
    let entries: Vec<Term> = entries.map(|entry| with_location(ctx, entry)).collect();
    let trace = ctx.list(&entries);
    let exception = &mut ctx.state.exception;
    exception.class = class;
    exception.reason = args[1];
    exception.trace = trace;
    exception.arguments = Term::NONE;
    exception.info = Term::NONE;
    exception.frames.clear();
    Err(Escape::Raised)
}
