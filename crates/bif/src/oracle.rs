//! The pure built-ins against OTP: the same calls on both, values and errors compared.
//!
//! Runs where `escript` is; `oracle/calls.escript` makes the calls there.

use crate::test_support::in_process;
use myriad_term::equal::eq_exact;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::{Build, Mfa, Term, am};
use myriad_vm::bif::{BifDef, Escape};
use myriad_vm::{BifResult, Ctx};
use std::process::Command;

/// What a call gives: `{ok, Value}` or `{Class, Reason}`, as the escript writes it; `{escape}` for anything else.
fn outcome(ctx: &mut Ctx<'_>, mut result: BifResult) -> Term {
    while matches!(result, Err(Escape::Yield)) {
        let Some(mut rest) = ctx.state.resumption.take() else { break };
        ctx.state.reductions.begin_slice(4000);
        result = (rest.rest)(ctx);
        if matches!(result, Err(Escape::Yield)) && ctx.state.resumption.is_none() {
            ctx.state.resumption = Some(rest);
        }
    }
    let error = |ctx: &mut Ctx<'_>, reason| ctx.tuple(&[Term::atom(am::error), reason]);
    match result {
        Ok(value) => ctx.tuple(&[Term::OK, value]),
        Err(Escape::Error(reason)) => error(ctx, reason),
        Err(Escape::BadMap(term)) => {
            let reason = ctx.tuple(&[Term::atom(am::badmap), term]);
            error(ctx, reason)
        }
        Err(Escape::BadKey(key)) => {
            let reason = ctx.tuple(&[Term::atom(am::badkey), key]);
            error(ctx, reason)
        }
        Err(Escape::Raised) => {
            let (class, reason) = (ctx.state.exception.class.term(), ctx.state.exception.reason);
            ctx.tuple(&[class, reason])
        }
        Err(_) => ctx.tuple(&[Term::atom(am::undefined)]),
    }
}

/// Makes each call that `records` holds and gives what differs, as text; values may differ if `errors_only`.
fn differences(ctx: &mut Ctx<'_>, mut records: &[u8], errors_only: bool) -> (usize, Vec<String>) {
    let (mut calls, mut differences) = (0, Vec::new());
    while let Some((size, rest)) = records.split_first_chunk::<4>() {
        let (record, rest) = rest.split_at(u32::from_be_bytes(*size) as usize);
        records = rest;
        let record = decode(ctx, record, DecodeOptions::default()).expect("an external term").term;
        let [module, function, arguments, expected] = record.as_tuple_of::<4>().expect("a call");
        let args: Vec<Term> = arguments.list_iter().collect();
        let (module, function) = (module.as_atom().expect("a module"), function.as_atom().expect("a function"));
        let def = ctx.vm.bifs.bif(Mfa { module, function, arity: args.len() as u8 }).expect("asked for it");
        ctx.state.reductions.begin_slice(100);
        let result = (def.function_ptr)(ctx, &args);
        let result = outcome(ctx, result);
        calls += 1;
        let both_values =
            || [result, expected].iter().all(|r| r.as_tuple_of::<2>().is_some_and(|[tag, _]| tag.is(Term::OK)));
        let agree = eq_exact(result, expected) || (errors_only && both_values());
        if !agree {
            differences.push(format!(
                "{module:?}:{function:?}{arguments:?} gives {result:?}, OTP {expected:?}",
                module = module.term(),
                function = function.term()
            ));
        }
    }
    (calls, differences)
}

fn compare(tables: &[&[BifDef]], without: &[&str]) {
    compare_results(tables, without, false);
}

fn compare_results(tables: &[&[BifDef]], without: &[&str], errors_only: bool) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/oracle/calls.escript");
    let mut command = Command::new("escript");
    command.arg(script);
    for def in tables.iter().flat_map(|t| t.iter()).filter(|d| d.since <= 25 && !without.contains(&d.function)) {
        command.args([def.module, def.function, &def.arity.to_string()]);
    }
    let Ok(output) = command.output() else {
        eprintln!("no escript here: nothing compared");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (calls, differences) = in_process(|ctx| differences(ctx, &output.stdout, errors_only));
    assert!(calls > 100, "only {calls} calls");
    let shown = &differences[..differences.len().min(40)];
    assert!(differences.is_empty(), "{} of {calls} differ:\n{}", differences.len(), shown.join("\n"));
}

#[test]
fn operators_and_guards() {
    compare(&[crate::guards::OPERATORS, crate::guards::TYPE_TESTS, crate::guards::GUARDS], &[]);
}

#[test]
fn lists_maps_tuples() {
    use crate::{lists, maps, tuples};
    compare(&[lists::LISTS, lists::LIST_OPERATORS, maps::MAPS, maps::INTERNAL_MAPS, tuples::TUPLES], &[]);
}

#[test]
fn numbers_and_math() {
    use crate::{math, numbers};
    compare(&[numbers::NUMBERS, numbers::STRING_NUMBERS, math::MATH], &[]);
}

#[test]
fn atoms_and_identifiers() {
    compare(&[crate::atoms::ATOMS, crate::identifiers::IDENTIFIERS, crate::dyntrace::DYNTRACE], &[]);
}

#[test]
fn digests() {
    // The contexts of MD5 are each one's own.
    compare(&[crate::digests::DIGESTS], &["md5_init", "md5_update", "md5_final"]);
}

#[test]
fn external_terms() {
    compare(&[crate::external::EXTERNAL], &[]);
}

#[test]
fn dates() {
    compare(&[crate::calendar::CALENDAR], &["date", "time", "localtime", "universaltime", "now"]);
}

#[test]
fn forms_of_terms() {
    compare(&[crate::debug::INTERNAL_DEBUG], &["map_hashmap_children"]);
    compare(&[crate::debug::DEBUG], &["same", "display", "get_internal_state", "set_internal_state", "size_shared"]);
}

#[test]
fn errors_and_persistent_terms() {
    use crate::{errors, persistent};
    compare(&[errors::ERRORS, persistent::PERSISTENT_TERM], &["info"]);
}

/// What these give differs from call to call; that they give something, or an error, does not.
#[test]
fn clocks_counters_environment() {
    use crate::{atomics, clock, os::environment};
    let tables = [
        clock::CLOCK,
        clock::OS_CLOCK,
        clock::INTERNAL_CLOCK,
        atomics::ATOMICS,
        atomics::INTERNAL_ATOMICS,
        environment::ENVIRONMENT,
    ];
    compare_results(&tables, &[], true);
}
