//! The built-ins as a process calls them, against recorded calls of OTP 25 (`testdata/record.erl`).
//!
//! Calls run with few reductions in a slice, so that long ones give way and are resumed many times.

use crate::test_support::{call, in_process};
use myriad_term::equal::eq_exact;
use myriad_term::etf::{DecodeOptions, decode};
use myriad_term::print::display;
use myriad_term::{Atom, Build, Term, am};
use myriad_vm::{BifResult, Ctx, Escape};

fn atom(text: &str) -> Term {
    Atom::new(text).expect("room").term()
}

/// The terms of a recorded file.
fn recorded(ctx: &mut Ctx<'_>, mut bytes: &[u8]) -> Vec<Term> {
    let mut terms = Vec::new();
    while let Some((size, rest)) = bytes.split_first_chunk::<4>() {
        let (term, rest) = rest.split_at(u32::from_be_bytes(*size) as usize);
        terms.push(decode(ctx, term, DecodeOptions::default()).expect("a term").term);
        bytes = rest;
    }
    terms
}

fn shown(term: Term) -> String {
    String::from_utf8_lossy(&display(term)).into_owned()
}

/// Calls a function to its end.
fn finished(ctx: &mut Ctx<'_>, module: &str, function: &str, args: &[Term]) -> BifResult {
    ctx.proc.reductions_left = 20;
    let mut result = call(ctx, module, function, args);
    while let Err(Escape::Yield) = result {
        ctx.proc.reductions_left = 20;
        let mut rest = ctx.proc.resumption.take().expect("a resumption");
        result = rest(ctx);
    }
    result
}

/// Terms with `{'$table', N}` for tables and `'$reference'` for other references, as recorded, and back.
struct Tables(Vec<Term>);

impl Tables {
    fn map(&self, ctx: &mut Ctx<'_>, term: Term, one: &dyn Fn(&Self, &mut Ctx<'_>, Term) -> Option<Term>) -> Term {
        if let Some(term) = one(self, ctx, term) {
            return term;
        }
        if let Some(tuple) = term.as_tuple() {
            let elements: Vec<Term> = tuple.elements().iter().map(|e| self.map(ctx, *e, one)).collect();
            return ctx.tuple(&elements);
        }
        if term.is_cons() {
            let mut items = term.list_iter();
            let list: Vec<Term> = items.by_ref().map(|e| self.map(ctx, e, one)).collect();
            let tail = self.map(ctx, items.tail(), one);
            return ctx.list_onto(&list, tail);
        }
        term
    }

    fn real(&self, ctx: &mut Ctx<'_>, term: Term) -> Term {
        self.map(ctx, term, &|tables, _, term| {
            let [tag, n] = term.as_tuple_of::<2>()?;
            tag.is(atom("$table")).then(|| tables.0[n.as_usize().unwrap()])
        })
    }

    fn hidden(&self, ctx: &mut Ctx<'_>, term: Term) -> Term {
        self.map(ctx, term, &|tables, ctx, term| {
            if let Some(n) = tables.0.iter().position(|t| eq_exact(*t, term)) {
                return Some(ctx.tuple(&[atom("$table"), Term::small(n as i64)]));
            }
            term.is_reference().then(|| atom("$reference"))
        })
    }
}

fn chunks(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = args[0].as_atom().expect("a name").text();
    let mut lists = Vec::new();
    let mut got = finished(ctx, "ets", name, &args[1..])?;
    while let Some([list, continuation]) = got.as_tuple_of::<2>() {
        lists.push(list);
        got = finished(ctx, "ets", name, &[continuation])?;
    }
    assert!(got.is_am(am::end_of_table), "{}", shown(got));
    Ok(ctx.list(&lists))
}

fn walk(ctx: &mut Ctx<'_>, args: &[Term]) -> BifResult {
    let name = |term: Term| term.as_atom().expect("a name").text();
    let mut keys = Vec::new();
    let mut key = finished(ctx, "ets", name(args[1]), &args[..1])?;
    while !key.is_am(am::end_of_table) {
        keys.push(key);
        key = finished(ctx, "ets", name(args[2]), &[args[0], key])?;
    }
    Ok(ctx.list(&keys))
}

/// What a call gives, in the form of the record.
fn outcome(ctx: &mut Ctx<'_>, function: &str, args: &[Term]) -> Term {
    ctx.proc.error_cause = Term::NONE;
    let result = match function {
        "chunks" => chunks(ctx, args),
        "walk" => walk(ctx, args),
        _ => finished(ctx, "ets", function, args),
    };
    match result {
        Ok(value) => ctx.tuple(&[atom("value"), value]),
        Err(Escape::Error(reason)) => {
            let cause = ctx.proc.error_cause;
            let cause = if cause.is_none() { atom("none") } else { cause };
            ctx.tuple(&[atom("error"), reason, cause])
        }
        Err(_) => atom("another_escape"),
    }
}

#[test]
fn recorded_calls_give_what_otp_gives() {
    in_process(|ctx| {
        let mut tables = Tables(Vec::new());
        let calls = recorded(ctx, include_bytes!("../testdata/calls.bin"));
        assert!(calls.len() > 3000);
        let mut wrong = 0;
        for (i, record) in calls.into_iter().enumerate() {
            let [function, args, expected] = record.as_tuple_of::<3>().expect("a record");
            let function = function.as_atom().expect("a name").text();
            let real = tables.real(ctx, args);
            let real: Vec<Term> = real.list_iter().collect();
            let got = outcome(ctx, function, &real);
            if function == "new" {
                let [_, table] = got.as_tuple_of::<2>().expect("a table");
                tables.0.push(table);
                continue;
            }
            let got = tables.hidden(ctx, got);
            if !eq_exact(got, expected) {
                wrong += 1;
                println!("{i} {function} {}\n  expected {}\n  got      {}", shown(args), shown(expected), shown(got));
                assert!(wrong < 8);
            }
        }
        assert_eq!(wrong, 0);
    });
}

#[test]
fn recorded_specifications_give_what_otp_gives() {
    in_process(|ctx| {
        let records = recorded(ctx, include_bytes!("../testdata/specs.bin"));
        assert!(records.len() > 200);
        let mut wrong = 0;
        for record in records {
            let [term, spec, dialect, expected] = record.as_tuple_of::<4>().expect("a record");
            let got = match finished(ctx, "erlang", "match_spec_test", &[term, spec, dialect]) {
                Ok(value) => value,
                Err(Escape::Error(reason)) => ctx.tuple(&[atom("EXIT"), reason]),
                Err(_) => atom("another_escape"),
            };
            let (expected, got) = (shown(expected), shown(got).replace(&shown(ctx.pid().term()), "<0.9.0>"));
            if expected != got {
                wrong += 1;
                println!("{} {}\n  expected {expected}\n  got      {got}", shown(term), shown(spec));
            }
        }
        assert_eq!(wrong, 0);
    });
}
