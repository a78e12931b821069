//! Any terms given to a built-in that reads data give a value or an error; what it gives is a term like any other.
//!
//! The input is the external form of `{Module, Function, Arguments}` (more elements are ignored).

use super::process::{built_in, call, in_process};
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Atom, Term, am};
use myriad_vm::Escape;
use std::cell::OnceCell;
use std::collections::HashSet;

/// Tables whose functions depend on their arguments and change nothing but the process's heap.
static PURE: &[&[myriad_vm::BifDef]] = &[
    myriad_bif::binary::BINARY,
    myriad_bif::calendar::CALENDAR,
    myriad_bif::digests::DIGESTS,
    myriad_bif::errors::ERRORS,
    myriad_bif::external::EXTERNAL,
    myriad_bif::guards::GUARDS,
    myriad_bif::guards::OPERATORS,
    myriad_bif::guards::TYPE_TESTS,
    myriad_bif::iolists::IOLISTS,
    myriad_bif::lists::LISTS,
    myriad_bif::lists::LIST_OPERATORS,
    myriad_bif::maps::INTERNAL_MAPS,
    myriad_bif::maps::MAPS,
    myriad_bif::math::MATH,
    myriad_bif::native_names::IO,
    myriad_bif::native_names::PRIM_FILE,
    myriad_bif::numbers::NUMBERS,
    myriad_bif::numbers::STRING_NUMBERS,
    myriad_bif::packet::PACKETS,
    myriad_bif::regex::RE,
    myriad_bif::tuples::TUPLES,
    myriad_bif::unicode::UNICODE,
];

/// What makes as much as a number says: such calls may rightly take gigabytes.
const MAKES_MUCH: [(&str, &str); 6] = [
    ("erlang", "bsl"),
    ("erlang", "bsr"),
    ("erlang", "make_tuple"),
    ("erlang", "*"),
    ("binary", "copy"),
    ("lists", "duplicate"),
];
const MUCH: i64 = 100_000;

thread_local! {
    static ALLOWED: OnceCell<HashSet<(Atom, Atom)>> = const { OnceCell::new() };
}

fn allowed(module: Atom, function: Atom) -> bool {
    let all = || -> HashSet<(Atom, Atom)> {
        let names = PURE.iter().copied().flatten().map(|def| (def.module, def.function));
        names.filter_map(|(m, f)| Some((Atom::new(m).ok()?, Atom::new(f).ok()?))).collect()
    };
    ALLOWED.with(|cell| cell.get_or_init(all).contains(&(module, function)))
}

/// See the file's head.
pub fn bif_call(bytes: &[u8]) {
    in_process(|ctx| {
        let Ok(decoded) = decode(ctx, bytes, DecodeOptions::default()) else { return };
        let Some(parts) = decoded.term.as_tuple() else { return };
        let [module, function, arguments, ..] = *parts.elements() else { return };
        let (Some(module), Some(function)) = (module.as_atom(), function.as_atom()) else { return };
        if arguments.list_length().is_none_or(|n| n > 10) || !allowed(module, function) {
            return;
        }
        let args: Vec<Term> = arguments.list_iter().collect();
        let Some(def) = built_in(ctx, module, function, args.len()) else { return };
        if MAKES_MUCH.contains(&(module.text(), function.text())) && args.iter().any(|a| !little(*a)) {
            return;
        }
        match call(ctx, def, &args) {
            Ok(value) | Err(Escape::Error(value) | Escape::Exit(value) | Escape::Throw(value)) => {
                drop(myriad_term::print::text(value, 1000));
                myriad_term::phash::phash2(value);
            }
            Err(_) => {}
        }
        // What errors say of their arguments is worked out by the library; here only that the cause is a term.
        drop(myriad_term::print::text(ctx.state.error_cause, 1000));
        ctx.state.error_cause = am::none.term();
    });
}

/// Not a number that asks for much.
fn little(term: Term) -> bool {
    !term.is_integer() || term.as_small().is_some_and(|n| (-MUCH..MUCH).contains(&n))
}
