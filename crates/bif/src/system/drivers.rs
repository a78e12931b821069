//! Module `erl_ddll`: drivers in shared libraries, of which none can be loaded.

use myriad_term::{Build, Term, am};
use myriad_vm::bif::{BADARG, Escape, badarg};
use myriad_vm::{BifResult, Ctx};

myriad_vm::bifs! { pub DRIVERS = "erl_ddll" {
    "loaded_drivers" / 0 Plain => |ctx, _| Ok(ctx.tuple(&[Term::OK, Term::NIL]));
    "try_load" / 3 Plain => try_load_3;
    "try_unload" / 2 Plain => try_unload_2;
    "info" / 2 Plain => |_, _| badarg();
    "monitor" / 2 Plain => monitor_2;
    "demonitor" / 1 Plain => |_, a| if a[0].is_reference() { Ok(Term::TRUE) } else { badarg() };
    "format_error_int" / 1 Plain => format_error_int_1;
}}

/// OTP's number for a library that cannot be opened.
const CANNOT_OPEN: i64 = -10;

fn driver_name(term: Term) -> Result<(), Escape> {
    if term.is_atom() || term.is_cons() && crate::unicode::characters(term, 0).is_some() { Ok(()) } else { badarg() }
}

fn try_load_3(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    if crate::iodata::each_run(args[0], |_| {}).is_err() {
        return badarg();
    }
    driver_name(args[1])?;
    let known = |option: Term| {
        let key = option.as_tuple_of::<2>().and_then(|[key, _]| key.as_atom());
        matches!(key, Some(am::driver_options | am::monitor | am::reload))
    };
    let mut options = args[2].list_iter();
    if !options.by_ref().all(known) || !options.tail().is_nil() {
        return badarg();
    }
    let reason = ctx.tuple(&[Term::atom(am::open_error), Term::small(CANNOT_OPEN)]);
    Ok(ctx.tuple(&[Term::atom(am::error), reason]))
}

fn try_unload_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    driver_name(args[0])?;
    if args[1].list_length().is_none() {
        return badarg();
    }
    Ok(ctx.tuple(&[Term::atom(am::error), Term::atom(am::not_loaded)]))
}

/// A driver that is not there never comes and is gone already: the message that says so comes at once.
fn monitor_2(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let Some([name, when]) = args[1].as_tuple_of::<2>() else { return badarg() };
    driver_name(name)?;
    if !args[0].is_am(am::driver) {
        return badarg();
    }
    let reference = ctx.make_ref();
    let message = match when.as_atom() {
        Some(am::loaded) => [am::DOWN.term(), reference, Term::atom(am::driver), name, Term::atom(am::load_cancelled)],
        Some(am::unloaded | am::unloaded_only) => {
            [am::DOWN.term(), reference, Term::atom(am::driver), name, Term::atom(am::unloaded)]
        }
        _ => return badarg(),
    };
    let message = ctx.tuple(&message);
    ctx.send(ctx.pid().term(), message)?;
    Ok(reference)
}

fn format_error_int_1(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let [key, code] = args[0].as_tuple_of::<2>().ok_or(BADARG)?;
    if !key.is_am(am::open_error) || !code.is_small() {
        return badarg();
    }
    Ok(ctx.string(match code.as_small() {
        Some(-1) => "No driver init in dynamic library",
        Some(CANNOT_OPEN) => "Shared libraries cannot be loaded",
        _ => "Unspecified error",
    }))
}
